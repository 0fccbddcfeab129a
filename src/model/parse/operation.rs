//! Operators and functions of a formula: they take operands from a stack and push their result.

use crate::model::op::{Binary, Unary};
use crate::model::var::{Var, VarMask};

/// Action of an operator or a function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// A change of sign, or a function of one value.
    Unary(Unary),
    /// One of the four arithmetic operations, or a function of two values.
    Binary(Binary),
    /// A function of one value that is composed of others.
    One(fn(Var) -> Var),
    /// A function of two values that is composed of others.
    Two(fn([Var; 2]) -> Var),
    /// A function of three values, and the names of its arguments.
    Three(fn([Var; 3]) -> Var, &'static str),
    /// A choice between two values: the first where a condition is true, the second elsewhere.
    Select,
    /// A comparison of two values; the result is a condition.
    Compare(fn(Var, Var) -> VarMask),
    /// The combination of two conditions to one condition: "and" or "or".
    Join(fn(VarMask, VarMask) -> VarMask),
    /// Negation of a condition.
    Not,
}

impl Operation {
    /// Returns every function under each of its names. In a formula `min` and `max` take two or more values and
    /// combine them in pairs from the left.
    pub(super) fn functions() -> impl Iterator<Item = (&'static str, Operation)> {
        let named = |names: &'static [&'static str], operation: Operation| {
            names.iter().map(move |&name| (name, operation))
        };
        let unary =
            Unary::ALL.iter().flat_map(move |op| named(op.facts().text, Operation::Unary(*op)));
        let binary =
            Binary::ALL.iter().flat_map(move |op| named(op.facts().text, Operation::Binary(*op)));
        unary.chain(binary).chain(COMPOSED)
    }
}

/// The functions that are composed of others.
const COMPOSED: [(&str, Operation); 15] = [
    ("lambert_w", Operation::One(|x| x.ln().wright_omega())),
    ("digamma", Operation::Unary(Unary::Polygamma(0))),
    ("sinc", Operation::One(Var::sinc)),
    ("fermi", Operation::One(Var::fermi)),
    ("bose", Operation::One(Var::bose)),
    ("expit", Operation::One(Var::expit)),
    ("radians", Operation::One(Var::to_radians)),
    ("degrees", Operation::One(Var::to_degrees)),
    ("sign", Operation::One(sign)),
    ("ln_gamma_re", Operation::Two(ln_gamma_re)),
    ("clamp", Operation::Three(|[x, low, high]| x.clamp(low, high), "value, lowest, highest")),
    ("voigt", Operation::Three(voigt, "x, sigma, gamma")),
    ("if", Operation::Select),
    ("where", Operation::Select),
    ("select", Operation::Select),
];

/// Operands that wait for their operation. Values and conditions have separate stacks.
#[derive(Default)]
pub(super) struct Stack {
    values: Vec<Var>,
    masks: Vec<VarMask>,
}

impl Stack {
    pub(super) fn push(&mut self, value: Var) {
        self.values.push(value);
    }

    /// Pops the last value, or returns NaN if the stack is empty, which occurs only for a wrong formula. The parser
    /// rejects such a formula later.
    pub(super) fn value(&mut self) -> Var {
        self.values.pop().unwrap_or(Var::from(f64::NAN))
    }

    /// Pops the last condition.
    fn mask(&mut self) -> VarMask {
        self.masks.pop().unwrap_or_else(|| Var::from(f64::NAN).lt(0.0))
    }

    pub(super) fn apply(&mut self, operation: Operation) {
        // The last operand is on top.
        let value = match operation {
            Operation::Unary(function) => function.apply(self.value()),
            Operation::Binary(function) => {
                let right = self.value();
                function.apply(self.value(), right)
            }
            Operation::One(function) => function(self.value()),
            Operation::Two(function) => {
                let second = self.value();
                function([self.value(), second])
            }
            Operation::Three(function, _) => {
                let (third, second) = (self.value(), self.value());
                function([self.value(), second, third])
            }
            Operation::Select => {
                let (no, yes) = (self.value(), self.value());
                self.mask().select(yes, no)
            }
            Operation::Compare(holds) => {
                let right = self.value();
                let mask = holds(self.value(), right);
                return self.masks.push(mask);
            }
            Operation::Join(join) => {
                let right = self.mask();
                let mask = join(self.mask(), right);
                return self.masks.push(mask);
            }
            Operation::Not => {
                let mask = !self.mask();
                return self.masks.push(mask);
            }
        };
        self.values.push(value);
    }
}

/// Returns the Voigt profile of area 1 at distance `x` from its centre: a Gaussian of standard deviation |σ|
/// convolved with a Lorentzian of half width γ, Re w((x + iγ)/(|σ|√2)) / (|σ|√(2π)) (DLMF 7.19).
///
/// At σ = 0 it is the Lorentzian, at γ = 0 the Gaussian. A negative γ has no physical meaning and
/// yields the analytic continuation. It is smooth through γ = 0, so a fit can return from negative γ.
fn voigt([x, sigma, gamma]: [Var; 3]) -> Var {
    let pure = sigma.eq(0.0);
    let width = pure.select(1.0, sigma.abs());
    let scale = width * std::f64::consts::SQRT_2;
    let profile = (x / scale).faddeeva_re(gamma / scale) / (scale * ROOT_PI);
    let lorentzian = gamma / ((x * x + gamma * gamma) * std::f64::consts::PI);
    pure.select(lorentzian, profile)
}

/// Returns the sign of x: 1, −1, or 0 if x is 0, as in NumPy and MATLAB. In contrast, [`Var::signum`] returns ±1
/// for ±0.
fn sign(x: Var) -> Var {
    x.eq(0.0).select(0.0, x.signum())
}

/// Returns the real part of ln Γ(x + iy), the logarithm of |Γ|, for x > 0: Stirling's series (DLMF 5.11.1) at
/// z + 10, then ten times the recurrence |Γ(z)| = |Γ(z + 1)|/|z|. The error is about 10⁻¹⁵ of the largest term.
fn ln_gamma_re([x, y]: [Var; 2]) -> Var {
    const STEPS: u32 = 10;
    /// B₂ₖ/(2k(2k − 1)), from k = 1.
    const STIRLING: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
    ];
    /// ln(2π)/2
    const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;
    let steps = (0..STEPS).map(|k| (x + f64::from(k)).hypot(y).ln());
    let below = steps.fold(Var::from(0.0), |sum, step| sum + step);
    let u = x + f64::from(STEPS);
    let size = u.hypot(y);
    // 1/(u + iy) and its square.
    let (re, im) = (u / size / size, -(y / size / size));
    let (square_re, square_im) = (re * re - im * im, re * im * 2.0);
    let (mut sum_re, mut sum_im) = (Var::from(0.0), Var::from(0.0));
    for coefficient in STIRLING.into_iter().rev() {
        let real = sum_re * square_re - sum_im * square_im + coefficient;
        (sum_re, sum_im) = (real, sum_re * square_im + sum_im * square_re);
    }
    let series = sum_re * re - sum_im * im;
    (u - 0.5) * size.ln() - y * y.atan2(u) - u + HALF_LN_TAU + series - below
}

/// √π
const ROOT_PI: f64 = 2.0 / std::f64::consts::FRAC_2_SQRT_PI;

#[cfg(test)]
mod tests {
    use crate::model::expression::Expression;
    use crate::model::scalar::Scalar;

    fn value(text: &str, x: f64, y: f64) -> f64 {
        Expression::parse(text, &["x", "y"])
            .unwrap_or_else(|e| panic!("{e}"))
            .evaluate(&[x, y], &[])
    }

    #[test]
    fn every_function_computes_what_its_name_says() {
        let (x, y) = (0.4, 1.3);
        type One = fn(f64) -> f64;
        let one: [(&str, One); 53] = [
            ("exp", Scalar::exp),
            ("expm1 exp_m1", Scalar::exp_m1),
            ("ln log", Scalar::ln),
            ("log1p ln_1p", Scalar::ln_1p),
            ("log2", Scalar::log2),
            ("log10", Scalar::log10),
            ("sqrt", Scalar::sqrt),
            ("cbrt", Scalar::cbrt),
            ("sin", Scalar::sin),
            ("cos", Scalar::cos),
            ("tan", Scalar::tan),
            ("asin arcsin", Scalar::asin),
            ("acos arccos", Scalar::acos),
            ("atan arctan", Scalar::atan),
            ("sinh", Scalar::sinh),
            ("cosh", Scalar::cosh),
            ("tanh", Scalar::tanh),
            ("erf", Scalar::erf),
            ("erfc", Scalar::erfc),
            ("erfcx", Scalar::erfcx),
            ("wright_omega", Scalar::wright_omega),
            ("lambert_w", |x| Scalar::wright_omega(Scalar::ln(x))),
            ("gammaln ln_gamma lgamma", Scalar::ln_gamma),
            ("digamma", |x| Scalar::polygamma(x, 0)),
            ("exp2", Scalar::exp2),
            ("asinh arcsinh", Scalar::asinh),
            ("acosh arccosh", Scalar::acosh),
            ("atanh arctanh", Scalar::atanh),
            ("gamma", Scalar::gamma),
            ("e1 exp1", Scalar::e1),
            ("j0", Scalar::j0),
            ("j1", Scalar::j1),
            ("y0", Scalar::y0),
            ("y1", Scalar::y1),
            ("i0", Scalar::i0),
            ("i1", Scalar::i1),
            ("i0e", Scalar::i0e),
            ("i1e", Scalar::i1e),
            ("k0", Scalar::k0),
            ("k1", Scalar::k1),
            ("k0e", Scalar::k0e),
            ("k1e", Scalar::k1e),
            ("sinc", Scalar::sinc),
            ("fermi", Scalar::fermi),
            ("bose", Scalar::bose),
            ("expit", Scalar::expit),
            ("radians", Scalar::to_radians),
            ("degrees", Scalar::to_degrees),
            ("sign signum", Scalar::signum),
            ("abs", Scalar::abs),
            ("floor", Scalar::floor),
            ("ceil", Scalar::ceil),
            ("round", Scalar::round),
        ];
        for (names, function) in one {
            for name in names.split(' ') {
                let found = value(&format!("{name}(x)"), x, y);
                assert_eq!(found.to_bits(), function(x).to_bits(), "{name}");
                assert_eq!(value(&format!("{name} (0.4)"), 9.0, y).to_bits(), found.to_bits());
            }
        }
        assert_eq!(value("atan2(x, y)", x, y), Scalar::atan2(x, y));
        assert_eq!(value("hypot(x, y)", x, y), Scalar::hypot(x, y));
        assert_eq!(value("fmod(-7.5, y)", x, 2.0), -1.5);
        assert_eq!(value("acosh(y)", x, y), Scalar::acosh(y));
        assert_eq!((value("sign(x)", 0.0, y), value("signum(x)", 0.0, y)), (0.0, 1.0));
        assert_eq!(value("faddeeva_re(x, y)", x, y), Scalar::faddeeva_re(x, y));
        assert_eq!(value("faddeeva_im(x, y)", x, y), Scalar::faddeeva_im(x, y));
        assert_eq!(value("pow(x, y)", x, y), Scalar::powf(x, y));
        assert!((value("ln_gamma_re(x, 0)", x, y) - Scalar::ln_gamma(x)).abs() < 4e-15);
        assert_eq!(value("min(x, y)", x, y), x);
        assert_eq!(value("max(x, y, 1, 7, 2)", x, y), 7.0);
        assert_eq!(value("min(3, 2)*x", 1.0, y), 2.0);
        assert_eq!(value("clamp(x, 1, 2)", 3.0, y), 2.0);
        assert_eq!(value("clamp(x, 1, 2)", 1.5, y), 1.5);
    }

    /// Tests DLMF 5.4.3 and 5.4.4 on the lines x = ½ and x = 1, the recurrence elsewhere, and equality with `ln_gamma`
    /// on the real axis.
    #[test]
    fn the_logarithm_of_gamma_in_the_right_half_plane() {
        let of = |x: f64, y: f64| value("ln_gamma_re(x, y)", x, y);
        let near = |found: f64, expected: f64, size: f64| {
            assert!((found - expected).abs() <= 1e-14 * size.max(1.0), "{found} {expected}");
        };
        for y in [0.0, 1e-9, 0.3, -1.7, 6.0, 25.0, -140.0, 500.0] {
            let t = std::f64::consts::PI * f64::abs(y);
            // ln(cosh t) and ln(sinh(t)/t) without overflow.
            let cosh = t + (-2.0 * t).exp().ln_1p() - 2_f64.ln();
            let sinh = if t == 0.0 { 0.0 } else { t + (-(-2.0 * t).exp_m1() / (2.0 * t)).ln() };
            near(of(0.5, y), (std::f64::consts::PI.ln() - cosh) / 2.0, t);
            near(of(1.0, y), -sinh / 2.0, t);
            for x in [0.01, 0.6, 3.3, 40.0, 999.0] {
                let step = f64::hypot(x, y).ln();
                near(of(x + 1.0, y) - of(x, y), step, 10.0 * of(x, y).abs() + t);
                near(of(x, y), of(x, -y), 0.0);
            }
        }
        for x in [1e-6, 0.2, 1.0, 2.0, 7.5, 130.0, 1e3] {
            near(of(x, 0.0), Scalar::ln_gamma(x), of(x, 0.0).abs());
        }
    }
}
