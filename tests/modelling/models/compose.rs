//! Models that are put together: values, names, starts, text.

use dualfit::models::{self, Model};
use dualfit::{CurveFit, Data, Start};

fn value(model: &Model, x: &[f64], p: &[f64]) -> f64 {
    model.curve().unwrap().program().unwrap().evaluate(x, p)
}

/// A generator of repeatable noise in ±1.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

fn gauss(x: f64, a: f64, c: f64, s: f64) -> f64 {
    a / (s * (2.0 * std::f64::consts::PI).sqrt()) * (-((x - c) / s).powi(2) / 2.0).exp()
}

#[test]
fn values_are_those_of_the_closure() {
    let model = (models::gaussian("g_") + models::linear("bg_")) * models::lorentzian("l_")
        / (models::constant("k_") - 2.5)
        - 0.5 * models::sine("s_");
    let p = [3.0, 1.0, 0.7, 0.2, 1.5, 2.0, 0.5, 1.2, 7.0, 1.1, 2.0, 0.3];
    assert_eq!(model.parameters().len(), p.len());
    for i in -40..40 {
        let x = 0.11 * f64::from(i);
        let peak = gauss(x, p[0], p[1], p[2]) + (p[3] * x + p[4]);
        let line = p[5] / (std::f64::consts::PI * p[7] * (1.0 + ((x - p[6]) / p[7]).powi(2)));
        let expected = peak * line / (p[8] - 2.5) - 0.5 * (p[9] * (p[10] * x + p[11]).sin());
        let found = value(&model, &[x], &p);
        assert!((found - expected).abs() <= 4e-15 * (1.0 + expected.abs()), "{found} {expected}");
    }
}

#[test]
fn formulas_are_read_back() {
    let all = [
        models::gaussian("a_") + models::gaussian("b_") - models::linear("c_"),
        models::gaussian("a_") - (models::gaussian("b_") - models::linear("c_")),
        models::linear("a_") / (models::linear("b_") / models::linear("c_")),
        models::linear("a_") * (models::linear("b_") + -1.5),
        models::gaussian("a_").of(models::linear("b_") - models::sine("c_")),
        -models::linear("a_") * -2.0,
        models::polynomial(4, "p_").unwrap() + Model::expression("a*x^k", ["x"]).unwrap(),
        models::gaussian2d("spot_") + models::linear("tilt_"),
    ];
    for model in all {
        let variables = model.variables();
        let curve = model.curve().unwrap();
        let again = CurveFit::parse(&model.formula().unwrap(), &variables).unwrap();
        let names = curve.parameters();
        let p: Vec<f64> = (0..names.len()).map(|i| 0.7 + 0.3 * i as f64).collect();
        let place = |n: &String| names.iter().position(|name| name == n).unwrap();
        let ordered: Vec<f64> = again.parameters().iter().map(|n| p[place(n)]).collect();
        for x in [0.3, 1.1, 2.9] {
            let x = [x, 0.4];
            let (a, b) = (
                curve.program().unwrap().evaluate::<f64>(&x[..variables.len()], &p),
                again.program().unwrap().evaluate::<f64>(&x[..variables.len()], &ordered),
            );
            assert_eq!(a.to_bits(), b.to_bits(), "{model}");
        }
    }
}

#[test]
fn differences_and_quotients_keep_their_parentheses() {
    let linear = |prefix| models::linear(prefix);
    let p = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let (a, b, c) = (1.0 + 2.0, 3.0 + 4.0, 5.0 + 6.0);
    let cases = [
        (linear("a") - (linear("b") - linear("c")), a - (b - c)),
        (linear("a") / (linear("b") / linear("c")), a / (b / c)),
        (linear("a") / (linear("b") * linear("c")), a / (b * c)),
        (linear("a") * (linear("b") - linear("c")), a * (b - c)),
        (linear("a") - linear("b") * linear("c"), a - b * c),
        (2.0 - linear("a") / 4.0, 2.0 - a / 4.0),
        (linear("a") + -3.0 - -(linear("b")), a - 3.0 + b),
    ];
    for (model, expected) in cases {
        let p = &p[..model.parameters().len()];
        assert!((value(&model, &[1.0], p) - expected).abs() < 1e-14, "{model}");
        let again = models::parse(&model.to_string()).unwrap();
        assert_eq!(again.formula().unwrap(), model.formula().unwrap(), "{model}");
    }
}

#[test]
fn text_says_the_same_as_functions() {
    let text = "gaussian(g1_) + 2*lorentzian(g2_) - polynomial(3, bg_)/linear()";
    let expected = models::gaussian("g1_") + 2.0 * models::lorentzian("g2_")
        - models::polynomial(3, "bg_").unwrap() / models::linear("");
    let model = models::parse(text).unwrap();
    assert_eq!(model.formula().unwrap(), expected.formula().unwrap());
    assert_eq!(model.parameters(), expected.parameters());
    assert_eq!(model.bounds(), expected.bounds());
    assert_eq!(model.derived(), expected.derived());
    assert_eq!(models::parse("gaussian").unwrap().to_string(), "gaussian()");
    let nested = models::parse("gaussian(g_) of (linear(a_) + sine(b_))*2").unwrap();
    assert_eq!(nested.to_string(), "gaussian(g_) of (linear(a_) + sine(b_))*2.0");
    let deeper = models::parse("gaussian of linear(a_) of linear(b_)").unwrap();
    assert_eq!(deeper.to_string(), "gaussian() of linear(a_) of linear(b_)");
}

#[test]
fn prefixes_rename_everything() {
    let model = models::gaussian("g_").prefixed("left_");
    assert_eq!(model.parameters(), ["left_g_amplitude", "left_g_center", "left_g_sigma"]);
    let derived = model.derived();
    assert_eq!(derived[0].0, "left_g_fwhm");
    assert_eq!(derived[0].1, "2*sqrt(2*ln(2))*left_g_sigma");
    assert_eq!(model.bounds()[2].0, f64::MIN_POSITIVE);
    let both = models::gaussian("") + models::gaussian("").prefixed("b_");
    assert!(both.curve().is_ok());
}

#[test]
fn a_fit_of_a_model_finds_its_start() {
    let x: Vec<f64> = (0..100).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|&x| gauss(x, 3.0, 5.0, 0.8)).collect();
    let fit = CurveFit::from(models::gaussian("g_"));
    let fit = fit.fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
    assert!((fit.param("g_sigma").unwrap() - 0.8).abs() < 1e-9);
}

/// Two Gaussians that overlap, on a slope: how often of `runs` the guess leads to them.
fn pairs(distance: std::ops::Range<f64>, runs: u64) -> usize {
    let model = models::gaussian("g1_") + models::gaussian("g2_") + models::linear("bg_");
    let curve = CurveFit::from(model);
    let mut good = 0;
    for seed in 0..runs {
        let mut noise = noise(seed + 1);
        let mut uniform = |low: f64, high: f64| low + (high - low) * (noise() + 1.0) / 2.0;
        let (s1, s2) = (uniform(0.6, 1.2), uniform(0.6, 1.2));
        let (h1, h2) = (uniform(1.0, 3.0), uniform(1.0, 3.0));
        let c1 = uniform(6.0, 8.0);
        let c2 = c1 + uniform(distance.start, distance.end) * (s1 + s2) / 2.0;
        let (slope, level) = (uniform(-0.2, 0.2), uniform(-5.0, 5.0));
        let root = (2.0 * std::f64::consts::PI).sqrt();
        let truth = [h1 * s1 * root, c1, s1, h2 * s2 * root, c2, s2, slope, level];
        let x: Vec<f64> = (0..200).map(|i| 0.1 * f64::from(i)).collect();
        let y: Vec<f64> = x
            .iter()
            .map(|&x| {
                gauss(x, truth[0], c1, s1)
                    + gauss(x, truth[3], c2, s2)
                    + slope * x
                    + level
                    + 0.06 * noise()
            })
            .collect();
        let data = || Data::new(&x, &y).unwrap();
        let best = curve.fit(data(), truth).unwrap();
        let fit = curve.fit(data(), Start::Guess).unwrap();
        let same = fit.converged() && fit.cost() <= best.cost() * (1.0 + 1e-6);
        good += usize::from(same);
        if !same {
            let start = curve.start(data(), Start::Guess).unwrap();
            println!("{seed}: {truth:?}\n   {start:?}\n   {:?}", fit.params());
        }
    }
    good
}

#[test]
fn overlapping_peaks_on_a_slope_are_found() {
    let (apart, close) = (pairs(3.0..5.0, 100), pairs(2.2..3.0, 100));
    println!("two Gaussians on a slope: {apart} of 100 apart by 3 to 5 σ, {close} by 2.2 to 3 σ");
    assert!(apart >= 95, "{apart} of 100 pairs that are apart");
    assert!(close >= 85, "{close} of 100 pairs that overlap");
}

#[test]
fn equal_models_are_found_from_left_to_right() {
    let x: Vec<f64> = (0..200).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> =
        x.iter().map(|&x| gauss(x, 1.0, 4.0, 0.5) + gauss(x, 5.0, 12.0, 1.0)).collect();
    let model = models::gaussian("a_") + models::gaussian("b_");
    let start = model.guess(Data::new(&x, &y).unwrap()).unwrap();
    assert!((start[1] - 4.0).abs() < 0.1 && (start[4] - 12.0).abs() < 0.1, "{start:?}");
}

/// A composite, the truth, x, and how far the fit may be from the truth.
#[test]
fn composites_of_all_kinds_find_their_start() {
    let cases: Vec<(Model, Vec<f64>)> = vec![
        (models::lorentzian("") + models::constant("bg_"), vec![5.0, 4.0, 0.7, -3.0]),
        (models::voigt("") + models::quadratic("bg_"), vec![5.0, 4.0, 0.4, 0.3, 0.02, -0.1, 2.0]),
        (models::sine("") + models::constant("bg_"), vec![2.0, 5.0, 0.4, 9.0]),
        (models::sine("a_") + models::sine("b_"), vec![2.0, 5.0, 0.4, 1.0, 11.0, 1.0]),
        (models::step_erf("") + models::constant("bg_"), vec![2.0, 5.5, 0.4, -7.0]),
        (models::step_logistic("s_") + models::gaussian("g_"), vec![2.0, 7.0, 0.2, 3.0, 2.5, 0.5]),
        (models::gaussian("") * 3.0 - 2.0, vec![2.0, 5.5, 0.6]),
        (models::gaussian("g_") * models::linear("l_"), vec![2.0, 5.5, 1.6, 0.2, 1.0]),
        (2.0 - models::gaussian("g_"), vec![2.0, 5.5, 0.6]),
        (
            models::rectangle_erf("") + models::linear("bg_"),
            vec![3.0, 3.0, 0.3, 7.0, 0.4, 0.1, 1.0],
        ),
        (models::damped_sine("") + models::constant("bg_"), vec![3.0, 6.0, 0.3, 4.0, 1.0]),
        (models::gaussian("g_").of(models::linear("axis_")), vec![2.0, 5.5, 0.6, 1.0, 0.0]),
    ];
    let mut failed = Vec::new();
    for (model, truth) in cases {
        let mut curve = CurveFit::from(&model);
        if model.parameters().contains(&"axis_slope".to_owned()) {
            curve = curve.bound("axis_slope", 1.0..=1.0).bound("axis_intercept", 0.0..=0.0);
        }
        if model.parameters().contains(&"l_slope".to_owned()) {
            curve = curve.bound("l_intercept", 1.0..=1.0);
        }
        let program = CurveFit::from(&model).program().unwrap();
        let mut noise = noise(7);
        let x: Vec<f64> = (0..200).map(|i| 0.05 * f64::from((i * 77) % 200)).collect();
        let y: Vec<f64> =
            x.iter().map(|&x| program.evaluate(&[x], &truth) + 0.02 * noise()).collect();
        let data = || Data::new(&x, &y).unwrap();
        let best = curve.fit(data(), &truth).unwrap();
        match curve.fit(data(), Start::Guess) {
            Ok(fit) if fit.cost() <= best.cost() * (1.0 + 1e-6) => {}
            Ok(fit) => failed.push(format!(
                "{model}: {} over {}, {:?} from {:?}",
                fit.cost(),
                best.cost(),
                fit.params(),
                fit.start()
            )),
            Err(error) => failed.push(format!("{model}: {error}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_formula_of_one_s_own_may_bring_its_start() {
    let own = Model::expression("height*exp(-(x/w)^4)", ["x"]).unwrap();
    let x: Vec<f64> = (-50..50).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-(x / 1.5_f64).powi(4)).exp() + 0.3 * x).collect();
    let data = || Data::new(&x, &y).unwrap();
    let without = own.clone() + models::linear("bg_");
    let start = without.guess(data()).unwrap();
    assert!(start[0].is_nan() && start[1].is_nan() && start[2].is_finite());
    let searched = CurveFit::from(&without).fit(data(), Start::Guess).unwrap();
    assert!((searched.param("w").unwrap() - 1.5).abs() < 1e-6, "{searched}");
    assert!(searched.start_search().is_some());
    let with = own.estimate(|_| vec![1.0, 1.0]) + models::linear("bg_");
    let fit = CurveFit::from(with).fit(data(), Start::Guess).unwrap();
    assert!((fit.param("w").unwrap() - 1.5).abs() < 1e-6);
}
