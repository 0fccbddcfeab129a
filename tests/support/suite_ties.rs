//! Models with tied parameters beside the same ones written by hand without them.

#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use dualfit::device::Processor;
use dualfit::{Backend, CurveFit, Data, Fit, Sigma};

/// A model with ties, the same with their formulas written in, and a start of the latter.
pub struct Case {
    pub name: &'static str,
    /// The model's text, and its ties.
    pub text: &'static str,
    pub ties: &'static [(&'static str, &'static str)],
    /// The text without the tied parameters, whose names are those of the others.
    pub by_hand: &'static str,
    /// True parameters of the data.
    pub truth: &'static [(&'static str, f64)],
    pub start: &'static [(&'static str, f64)],
}

pub const CASES: [Case; 5] = [
    Case {
        name: "two widths",
        text: "a*exp(-((x-m)/s)^2) + b*exp(-((x-n)/t)^2)",
        ties: &[("t", "2*s")],
        by_hand: "a*exp(-((x-m)/s)^2) + b*exp(-((x-n)/(2*s))^2)",
        truth: &[("a", 3.0), ("m", 2.0), ("s", 0.5), ("b", 1.0), ("n", 6.0)],
        start: &[("a", 2.0), ("m", 1.8), ("s", 0.6), ("b", 1.5), ("n", 6.2)],
    },
    Case {
        name: "a sum",
        text: "c*exp(-x) + a*exp(-k*x) + b",
        ties: &[("c", "10 - a - b")],
        by_hand: "(10 - a - b)*exp(-x) + a*exp(-k*x) + b",
        truth: &[("a", 4.0), ("k", 0.2), ("b", 1.0)],
        start: &[("a", 3.0), ("k", 0.3), ("b", 2.0)],
    },
    Case {
        name: "a nonlinear formula",
        text: "a*exp(-k*x) + c*g",
        ties: &[("k", "exp(g)*sqrt(c)/(1 + a^2)")],
        by_hand: "a*exp(-(exp(g)*sqrt(c)/(1 + a^2))*x) + c*g",
        truth: &[("a", 5.0), ("g", 2.5), ("c", 2.0)],
        start: &[("a", 4.0), ("g", 2.0), ("c", 2.5)],
    },
    Case {
        name: "a tie of a tie",
        text: "w*exp(-v*x) + u*x + a",
        ties: &[("w", "v*u"), ("v", "u + 1/a")],
        by_hand: "(u + 1/a)*u*exp(-(u + 1/a)*x) + u*x + a",
        truth: &[("a", 2.0), ("u", 1.5)],
        start: &[("a", 1.0), ("u", 1.0)],
    },
    Case {
        name: "one value for three",
        text: "a*sin(f*x + p) + b*cos(g*x + q)",
        ties: &[("g", "f"), ("q", "if(p > 0, p, -p)"), ("b", "a")],
        by_hand: "a*sin(f*x + p) + a*cos(f*x + if(p > 0, p, -p))",
        truth: &[("a", 1.5), ("f", 2.0), ("p", 0.4)],
        start: &[("a", 1.0), ("f", 2.05), ("p", 0.5)],
    },
];

impl Case {
    pub fn tied(&self) -> CurveFit {
        let model = CurveFit::parse(self.text, ["x"]).unwrap();
        self.ties.iter().fold(model, |model, (name, formula)| model.tie(name, formula))
    }

    pub fn substituted(&self) -> CurveFit {
        CurveFit::parse(self.by_hand, ["x"]).unwrap()
    }

    /// n points, scattered.
    pub fn points(&self, n: usize) -> (Vec<f64>, Vec<f64>) {
        let x: Vec<f64> = (0..n).map(|i| 9.0 * i as f64 / n as f64).collect();
        let given = |names: &[String]| -> Vec<f64> {
            let value = |n: &String| self.truth.iter().find(|(t, _)| t == n).unwrap().1;
            names.iter().map(value).collect()
        };
        let (model, order) = (self.substituted(), given(self.substituted().parameters()));
        let program = model.program().unwrap();
        let y = x
            .iter()
            .enumerate()
            .map(|(i, &x)| program.evaluate(&[x], &order) + 0.02 * (1.0 + 37.0 * i as f64).sin());
        (x.clone(), y.collect())
    }
}

/// The tied fit has the parameters, errors and statistics of the one by hand, and of the tied ones
/// what that propagates.
pub fn agree(case: &Case, tied: &Fit, by_hand: &Fit, tolerance: f64) {
    let name = case.name;
    assert!(tied.converged() && by_hand.converged(), "{name}: {tied}\n{by_hand}");
    let close = |a: f64, b: f64, what: &str| {
        assert!(
            (a - b).abs() <= tolerance * b.abs().max(1e-3),
            "{name}: {what}: {a} {b}\n{tied}\n{by_hand}"
        );
    };
    for p in by_hand.names() {
        close(tied.param(p).unwrap(), by_hand.param(p).unwrap(), p);
        close(tied.std_error(p).unwrap(), by_hand.std_error(p).unwrap(), p);
    }
    for (p, formula) in case.ties {
        // A tie of a tie is no formula of the model by hand.
        let formula = if *formula == "v*u" { "(u + 1/a)*u" } else { formula };
        let expected = by_hand.propagate(formula).unwrap();
        close(tied.param(p).unwrap(), expected.value, p);
        close(tied.std_error(p).unwrap(), expected.std_error, p);
        // Of sums with others, which correlations enter.
        for q in by_hand.names() {
            let expected = by_hand.propagate(&format!("{formula} - 3*{q}")).unwrap();
            let found = tied.propagate(&format!("{p} - 3*{q}")).unwrap();
            close(found.std_error, expected.std_error, &format!("{p} - 3*{q}"));
            let [i, j] =
                [*p, q.as_str()].map(|n| tied.names().iter().position(|m| m == n).unwrap());
            let c = tied.covariance();
            let square = c[(i, i)] - 6.0 * c[(i, j)] + 9.0 * c[(j, j)];
            close(square.sqrt(), expected.std_error, &format!("covariance of {p} and {q}"));
            let rho = tied.correlation()[(i, j)];
            close(rho, c[(i, j)] / (c[(i, i)] * c[(j, j)]).sqrt(), "correlation");
        }
    }
    close(tied.cost(), by_hand.cost(), "cost");
    assert_eq!(tied.estimated(), by_hand.estimated(), "{name}");
    assert_eq!(tied.degrees_of_freedom(), by_hand.degrees_of_freedom(), "{name}");
}

/// On a device as by hand on the CPU.
pub fn ties(place: &dyn Fn(CurveFit) -> CurveFit) {
    for case in &CASES {
        let (x, y) = case.points(600);
        let data = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(0.02)).unwrap();
        let tied = place(case.tied()).fit(data.clone(), case.start).unwrap();
        assert_eq!(tied.stats().processor, Processor::Cuda, "{}", tied.stats());
        let by_hand = case.substituted().backend(Backend::Cpu).fit(data, case.start).unwrap();
        agree(case, &tied, &by_hand, 1e-7);
    }
}
