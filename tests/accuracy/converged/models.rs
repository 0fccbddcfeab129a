//! The models of the cases: for the crate a closure, for the judge a value with partials by hand.

use crate::converged::dd::Dd;
use dualfit::CurveFit;

/// A model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Line,
    Cubic,
    Decay,
    Peak,
    Rational,
    /// A peak at 0 as wide as an instrument and a width of its own: even in the width.
    Width,
    /// A line whose slope and offset are squares: even in both.
    Squares,
    /// Even in the second parameter.
    Cosh,
    TwoDecays,
    Logistic,
}

pub(crate) const KINDS: [Kind; 10] = [
    Kind::Line,
    Kind::Cubic,
    Kind::Decay,
    Kind::Peak,
    Kind::Rational,
    Kind::Width,
    Kind::Squares,
    Kind::Cosh,
    Kind::TwoDecays,
    Kind::Logistic,
];

/// Tie of the last parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tie {
    /// Half the first.
    Half,
    /// The product of the first and the second.
    Product,
    /// The first less the second.
    Difference,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The instrument's variance.
pub(crate) const INSTRUMENT: f64 = 0.52 * 0.52;

impl Kind {
    pub(crate) fn names(self) -> &'static [&'static str] {
        &NAMES[..self.params()]
    }

    pub(crate) fn params(self) -> usize {
        match self {
            Kind::Line | Kind::Width | Kind::Squares | Kind::Cosh => 2,
            Kind::Decay | Kind::Rational | Kind::Logistic => 3,
            Kind::Cubic | Kind::Peak | Kind::TwoDecays => 4,
        }
    }

    /// The crate's model.
    pub(crate) fn curve(self) -> CurveFit {
        let curve = match self {
            Kind::Line => CurveFit::new(|x, [a, b]| a * x + b),
            Kind::Cubic => CurveFit::new(|x, [a, b, c, d]| ((d * x + c) * x + b) * x + a),
            Kind::Decay => CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c),
            Kind::Peak => {
                CurveFit::new(|x, [a, m, s, c]| a * (((x - m) / s).powi(2) * -0.5).exp() + c)
            }
            Kind::Rational => CurveFit::new(|x, [a, b, c]| (a + b * x) / (c * x + 1.0)),
            Kind::Width => {
                CurveFit::new(|x, [a, s]| a * (-(x * x) / ((s.powi(2) + INSTRUMENT) * 2.0)).exp())
            }
            Kind::Squares => CurveFit::new(|x, [a, b]| a.powi(2) * x + b.powi(2)),
            Kind::Cosh => CurveFit::new(|x, [a, d]| a * (d * x).cosh()),
            Kind::TwoDecays => {
                CurveFit::new(|x, [a, b, c, d]| a * (-b * x).exp() + c * (-d * x).exp())
            }
            Kind::Logistic => CurveFit::new(|x, [a, k, m]| a / ((-(k * (x - m))).exp() + 1.0)),
        };
        curve.names(self.names())
    }

    /// The value at `x`; `slopes`: the partials by each parameter.
    pub(crate) fn value(self, x: f64, p: &[Dd], slopes: &mut [Dd]) -> Dd {
        let x = Dd::from(x);
        match self {
            Kind::Line => {
                (slopes[0], slopes[1]) = (x, Dd::ONE);
                p[0] * x + p[1]
            }
            Kind::Cubic => {
                let mut power = Dd::ONE;
                let mut sum = Dd::ZERO;
                for (slope, &coefficient) in slopes.iter_mut().zip(p) {
                    *slope = power;
                    sum += coefficient * power;
                    power = power * x;
                }
                sum
            }
            Kind::Decay => {
                let e = (-(p[1] * x)).exp();
                (slopes[0], slopes[1], slopes[2]) = (e, -(p[0] * x * e), Dd::ONE);
                p[0] * e + p[2]
            }
            Kind::Peak => {
                let z = (x - p[1]) / p[2];
                let e = (z.squared() * Dd::from(-0.5)).exp();
                let steep = p[0] * e * z / p[2];
                (slopes[0], slopes[1], slopes[2], slopes[3]) = (e, steep, steep * z, Dd::ONE);
                p[0] * e + p[3]
            }
            Kind::Rational => {
                let below = Dd::ONE / (p[2] * x + Dd::ONE);
                let value = (p[0] + p[1] * x) * below;
                (slopes[0], slopes[1], slopes[2]) = (below, x * below, -(value * x * below));
                value
            }
            Kind::Width => {
                let variance = p[1].squared() + Dd::from(INSTRUMENT);
                let u = x.squared() / (variance + variance);
                let e = (-u).exp();
                (slopes[0], slopes[1]) = (e, p[0] * e * u * (p[1] + p[1]) / variance);
                p[0] * e
            }
            Kind::Squares => {
                (slopes[0], slopes[1]) = ((p[0] + p[0]) * x, p[1] + p[1]);
                p[0].squared() * x + p[1].squared()
            }
            Kind::Cosh => {
                let (up, down) = ((p[1] * x).exp(), (-(p[1] * x)).exp());
                let half = Dd::from(0.5);
                let (cosh, sinh) = ((up + down) * half, (up - down) * half);
                (slopes[0], slopes[1]) = (cosh, p[0] * x * sinh);
                p[0] * cosh
            }
            Kind::TwoDecays => {
                let (e, f) = ((-(p[1] * x)).exp(), (-(p[3] * x)).exp());
                (slopes[0], slopes[1]) = (e, -(p[0] * x * e));
                (slopes[2], slopes[3]) = (f, -(p[2] * x * f));
                p[0] * e + p[2] * f
            }
            Kind::Logistic => {
                let z = p[1] * (x - p[2]);
                // By whichever exponential does not overflow.
                let e = (-z.abs()).exp();
                let (small, large) = (e / (Dd::ONE + e), Dd::ONE / (Dd::ONE + e));
                let (s, rest) = if z.f64() < 0.0 { (small, large) } else { (large, small) };
                let steep = p[0] * s * rest;
                (slopes[0], slopes[1], slopes[2]) = (s, steep * (x - p[2]), -(steep * p[1]));
                p[0] * s
            }
        }
    }
}

impl Tie {
    pub(crate) fn formula(self) -> &'static str {
        match self {
            Tie::Half => "0.5*a",
            Tie::Product => "a*b",
            Tie::Difference => "a - b",
        }
    }

    /// The tied value and its partials by the first two parameters.
    pub(crate) fn value(self, a: Dd, b: Dd) -> (Dd, [Dd; 2]) {
        let half = Dd::from(0.5);
        match self {
            Tie::Half => (half * a, [half, Dd::ZERO]),
            Tie::Product => (a * b, [b, a]),
            Tie::Difference => (a - b, [Dd::ONE, -Dd::ONE]),
        }
    }
}
