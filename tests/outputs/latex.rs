//! Models and fits as LaTeX: the text, and that it is well-formed.

use dualfit::{CurveFit, Data, Sigma, Var};

fn text(formula: &str) -> String {
    let latex = CurveFit::parse(formula, ["x"]).expect(formula).latex().expect(formula);
    balanced(&latex);
    latex.strip_prefix("f(x) = ").map_or(latex.clone(), str::to_owned)
}

/// Braces close, and every fence and environment has its end.
fn balanced(latex: &str) {
    let mut depth = 0;
    let mut escape = false;
    for c in latex.chars() {
        match (escape, c) {
            (false, '{') => depth += 1,
            (false, '}') => depth -= 1,
            _ => {}
        }
        escape = c == '\\' && !escape;
        assert!(depth >= 0, "{latex}");
    }
    let count = |part: &str| latex.matches(part).count();
    assert_eq!(depth, 0, "{latex}");
    assert_eq!(count("\\left"), count("\\right"), "{latex}");
    assert_eq!(count("\\begin"), count("\\end"), "{latex}");
}

#[test]
fn models_read_as_a_person_would_write_them() {
    let cases = [
        ("a*x*x + b*x + c - 1", r"a x^{2} + b x + c - 1"),
        ("a*x + b", r"a x + b"),
        ("a - (b - x)", r"x + a - b"),
        ("a*(x - b)", r"a (x - b)"),
        ("-(x - a)^2/(2*sigma^2)", r"-\frac{(x - a)^{2}}{2 \sigma^{2}}"),
        ("A*exp(-k*x) + c", r"A \exp(-k x) + c"),
        (
            "amplitude/(sigma*sqrt(2*pi))*exp(-((x - mu)/sigma)^2/2)",
            r"\frac{\mathrm{amplitude}}{\sigma \sqrt{2 \pi}} \exp\!\left(-\frac{(x - \mu)^{2}}{2 \sigma^{2}}\right)",
        ),
        ("V_max*x/(K_m + x)", r"\frac{V_{\mathrm{max}} x}{x + K_{m}}"),
        ("a*x^n/(k^n + x^n)", r"\frac{a x^{n}}{x^{n} + k^{n}}"),
        ("(a*x)^(b + 1)", r"(a x)^{b + 1}"),
        ("2*pi*nu*x", r"2 \pi \nu x"),
        ("a*sin(2*pi*x + phi)", r"a \sin(2 \pi x + \phi)"),
        (
            "a*(1 + erf(x/(w*sqrt(2))))/2",
            r"\frac{a \left(1 + \operatorname{erf}\!\left(\frac{x}{w \sqrt{2}}\right)\right)}{2}",
        ),
        ("sqrt(a^2 + x^2)", r"\sqrt{x^{2} + a^{2}}"),
        ("x^0.5 + x^(-2) + x^1.5", r"\sqrt{x} + \frac{1}{x^{2}} + x^{1.5}"),
        ("a*1e-9*x + 2.5e10", r"10^{-9} a x + 2.5 \times 10^{10}"),
        (
            "if(x < t0, a, b*x)",
            r"\begin{cases} a & \text{if } x < t_{0} \\ b x & \text{otherwise} \end{cases}",
        ),
        (
            "c*if(x < t0, a, b)",
            r"c \left(\begin{cases} a & \text{if } x < t_{0} \\ b & \text{otherwise} \end{cases}\right)",
        ),
        ("abs(x - a)*log10(x)", r"\left| x - a \right| \log_{10}(x)"),
        (
            "g1_center + g1_sigma*x + p0",
            r"\sigma_{\mathrm{g1}} x + p_{0} + \mathrm{center}_{\mathrm{g1}}",
        ),
        ("rate_1*x*width", r"\mathrm{rate}_{1} \, \mathrm{width} \, x"),
        ("a - -x", r"x + a"),
        ("a - x", r"a - x"),
        ("(a + b)^3*(a - x)", r"(a + b)^{3} (a - x)"),
        ("3*2^x", r"3 \cdot 2^{x}"),
        ("1/(1 + x/a)", r"\frac{1}{1 + \frac{x}{a}}"),
    ];
    let wrong: Vec<String> = cases
        .into_iter()
        .filter(|(formula, latex)| text(formula) != *latex)
        .map(|(formula, latex)| format!("{formula}\n  is     {}\n  not {latex}", text(formula)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn symbols_differ_where_names_do() {
    let latex = text("g1*x + g_1 + u + σ*sigma");
    assert_eq!(latex, r"\mathrm{g1} \, x + u + \mathrm{g\_1} + \mathrm{σ} \, \mathrm{sigma}");
}

#[test]
fn what_is_large_and_shared_gets_a_name() {
    let shared = CurveFit::new(|x, [a, b, u]| {
        let z = (a * x + b).sin() * (b * x - a).cos() / (u + x * x);
        z.exp() + z.sqrt()
    });
    let latex = shared.names(["a", "b", "u"]).latex().unwrap();
    balanced(&latex);
    assert!(latex.contains(r"f(x) &= \exp(v_{1}) + \sqrt{v_{1}} \\"), "{latex}");
    assert!(
        latex.contains(r"\text{where}\quad v_{1} &= \frac{\sin(a x + b) \cos(b x - a)}{x^{2} + u}"),
        "{latex}"
    );

    // 2^200 terms if it were written out; and 20 000 nested functions.
    let doubling = CurveFit::new(|x, [a, b]| (0..200).fold(a * x, |v, _| (v + b).sin() + v));
    let nested = CurveFit::new(|x, [a, b]| (0..20_000).fold(a * x, |v, _| (v + b).sin()));
    let sum = CurveFit::dynamic(20_000, |x, p| p.iter().fold(Var::from(0.0), |v, &p| v + p * x));
    for model in [doubling, nested, sum] {
        let latex = model.latex().unwrap();
        balanced(&latex);
        assert!(latex.len() < 1_500_000, "{}", latex.len());
    }
}

#[test]
fn a_native_model_has_no_formula() {
    let native = CurveFit::native(1, |x, p| p[0] * x);
    assert_eq!(native.latex(), Err(dualfit::Error::NotTraced));
}

#[test]
fn tables_round_to_the_error_and_say_what_has_none() {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> =
        x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5 + 0.01 * (40.0 * x).sin()).collect();
    let sigma = vec![0.01; 60];
    let model = CurveFit::parse("amplitude*exp(-k_1*x) + offset + g1_width*0*x", ["x"]).unwrap();
    let model = model.bound("offset", 0.6..).fix("g1_width");
    let data = || Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let fit = model.fit(data(), [1.0, 1.0, 1.0, 0.25]).unwrap();
    let table = fit.latex_table();
    balanced(&table);
    for part in [
        "\\begin{tabular}{ll}\n\\toprule\n",
        "$\\mathrm{amplitude}$ & $2.4",
        "$k_{1}$ & $1.",
        "$\\mathrm{offset}$ & $0.600000$ (at lower bound) \\\\",
        "$\\mathrm{width}_{\\mathrm{g1}}$ & $0.250000$ (fixed) \\\\",
        "points & $60$ \\\\",
        "degrees of freedom & $58$ \\\\",
        "$\\chi^2$ & $",
        "\\bottomrule\n\\end{tabular}",
    ] {
        assert!(table.contains(part), "{part} is not in\n{table}");
    }
    // The text in parentheses is the error in units of the last place.
    let written = fit.param_text("k_1").unwrap();
    let (value, error) = written.trim_end_matches(')').split_once('(').unwrap();
    let unit = 10f64.powi(-(value.split('.').nth(1).unwrap().len() as i32));
    assert!((value.parse::<f64>().unwrap() - fit.params()[1]).abs() <= 0.5 * unit, "{written}");
    let error: f64 = error.parse().unwrap();
    assert!((error * unit - fit.std_errors()[1]).abs() <= 0.5 * unit, "{written}");
    assert_eq!(fit.param_text("offset").as_deref(), Some("0.600000 (at lower bound)"));
    assert_eq!(fit.param_text("nothing"), None);

    let degenerate = CurveFit::parse("(a + b)*x", ["x"]).unwrap();
    let fit = degenerate.fit(data(), [1.0, 1.0]).unwrap();
    assert!(fit.latex_table().contains("(undetermined)"), "{}", fit.latex_table());
}
