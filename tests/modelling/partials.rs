//! Partial derivatives: what a model's program prints equals dual numbers over `f64` bit for bit, equals
//! extrapolated differences where the function is smooth, and is what the documentation says where not.

use crate::support::{listing, number, tree};
use dualfit::program::{Dual, Program};
use dualfit::{CurveFit, Mask, Scalar};
use number::Number;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::f64::consts::PI;
use tree::{Binary, COLUMNS, PARAMS, Tree, Unary, ordinary, same};

type Numbers<const K: usize> = [Dual<f64, K>; K];

fn variables<const K: usize>(p: [f64; K]) -> Numbers<K> {
    std::array::from_fn(|k| Dual::variable(p[k], k))
}

fn traced(tree: &Tree) -> Program {
    let model = CurveFit::dynamic_multivariate(COLUMNS, PARAMS, |x, p| tree.evaluate(x, p));
    model.program().expect("a trace")
}

/// Equal bits, or zeros of either sign: which zero depends on which terms were left out.
fn equal(a: f64, b: f64) -> bool {
    same(a, b) || (a == 0.0 && b == 0.0)
}

/// The tree without the two operations whose dual numbers are computed differently from the recorded operations:
/// powers by products, which are differentiated as products.
fn without_powers(tree: &Tree) -> Tree {
    let one = |tree: &Tree| Box::new(without_powers(tree));
    match tree {
        Tree::Powi(a, exponent) => Tree::Powi(one(a), exponent.rem_euclid(3)),
        Tree::Binary(Binary::Powf, ab) if matches!(ab[1], Tree::Number(2.0)) => *one(&ab[0]),
        Tree::Unary(op, a) => Tree::Unary(*op, one(a)),
        Tree::Binary(op, ab) => Tree::Binary(*op, Box::new(ab.each_ref().map(without_powers))),
        Tree::Twice(op, a) => Tree::Twice(*op, one(a)),
        Tree::Clamp(abc) => Tree::Clamp(Box::new(abc.each_ref().map(without_powers))),
        Tree::Select(condition, ab) => {
            Tree::Select(condition.clone(), Box::new(ab.each_ref().map(without_powers)))
        }
        Tree::X(_) | Tree::P(_) | Tree::Number(_) => tree.clone(),
    }
}

fn config() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(20_240_608);
    ProptestConfig { cases: 3000, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

fn points() -> impl Strategy<Value = Vec<([f64; COLUMNS], [f64; PARAMS])>> {
    let point = ([ordinary(), ordinary()], [ordinary(), ordinary(), ordinary()]);
    proptest::collection::vec(point, 4)
}

proptest! {
    #![proptest_config(config())]

    /// The printed partials against duals sent through the recorded program: the same arithmetic.
    #[test]
    fn printed_partials_are_dual_numbers(tree in tree::tree(5, ordinary()), points in points()) {
        let program = traced(&tree);
        for (x, p) in points {
            let parameter = |k| Dual::<_, PARAMS>::variable(Number::parameter(p[k]), k);
            let columns = x.map(|v| Dual::constant(Number::column(v)));
            let dual = program.evaluate(&columns, &std::array::from_fn::<_, PARAMS, _>(parameter));
            let plain = program.evaluate(&x.map(Dual::constant), &variables(p));
            let printed = listing::run(&program, &x, &p);
            prop_assert_eq!(printed.len(), 1 + PARAMS);
            prop_assert!(same(dual.value.value, printed[0].1));
            for (k, (name, partial)) in printed[1..].iter().enumerate() {
                let expected = dual.partials[k].value;
                prop_assert_eq!(name, &format!("df/dp{k}"));
                prop_assert!(
                    same(expected, *partial),
                    "{expected:e}, printed {name} = {partial:e} at {x:?} {p:?}\n{program}"
                );
                // Over f64 more zeros are known, which matters where they meet an infinity.
                prop_assert!(equal(expected, plain.partials[k]) || !expected.is_finite());
            }
        }
    }

    /// Duals sent through the closure against duals sent through the program.
    #[test]
    fn recording_changes_no_dual(tree in tree::tree(5, ordinary()), points in points()) {
        let tree = without_powers(&tree);
        let program = traced(&tree);
        for (x, p) in points {
            let (x, p) = (x.map(Dual::constant), variables(p));
            let (direct, replayed) = (tree.evaluate(&x, &p), program.evaluate(&x, &p));
            prop_assert!(same(direct.value, replayed.value));
            let partials = direct.partials.iter().zip(&replayed.partials);
            prop_assert!(
                !direct.value.is_finite() || partials.clone().all(|(a, b)| equal(*a, *b)),
                "{direct:?} {replayed:?}\n{program}"
            );
        }
    }
}

#[test]
fn powers_have_their_derivative_to_a_few_roundings() {
    for exponent in (-9..=12).chain([31, -31, i32::MAX, i32::MIN]) {
        let program = CurveFit::new(|_, [a]| a.powi(exponent)).program().unwrap();
        for a in [0.3, -0.7, 1.1, -2.5, 17.0, 1.000_000_1] {
            let [dual] = variables([a]);
            let n = f64::from(exponent);
            // Exact to one rounding of the power: the logarithm of a number near 1 has 1e-7 of its size.
            let expected =
                if exponent.unsigned_abs() < 40 { n * a.powi(exponent - 1) } else { continue };
            // Each of the products, at most two for a bit of the exponent, rounds value and partial.
            let allowed = 4.0 * f64::EPSILON * (2.0 * n.abs().log2().max(1.0)) * expected.abs();
            for found in
                [dual.powi(exponent).partials[0], listing::run(&program, &[0.0], &[a])[1].1]
            {
                assert!((found - expected).abs() <= allowed, "{a}^{exponent}: {found} {expected}");
            }
        }
        let least = variables([1.0])[0].powi(exponent);
        assert_eq!((least.value, least.partials[0]), (1.0, f64::from(exponent)));
    }
}

/// The derivative of `f` at `x` by Ridders' extrapolation of central differences to step 0, with an
/// estimate of its error (Ridders 1982; the scheme of Numerical Recipes, section 5.7).
fn ridders(f: impl Fn(f64) -> f64, x: f64, first: f64) -> (f64, f64) {
    const SHRINK: f64 = 1.4;
    const ROUNDS: usize = 24;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let (mut best, mut error) = (f64::NAN, f64::INFINITY);
    let mut step = first;
    for i in 0..ROUNDS {
        // The step that the numbers really have.
        let (above, below) = (x + step, x - step);
        let mut row = vec![(f(above) - f(below)) / (above - below)];
        let mut factor = SHRINK * SHRINK;
        for j in 1..=i {
            let better = (row[j - 1] * factor - rows[i - 1][j - 1]) / (factor - 1.0);
            factor *= SHRINK * SHRINK;
            let change = (better - row[j - 1]).abs().max((better - rows[i - 1][j - 1]).abs());
            if change <= error {
                (best, error) = (better, change);
            }
            row.push(better);
        }
        rows.push(row);
        step /= SHRINK;
    }
    (best, error)
}

/// Asserts that the partials of `f` at `p`, by duals and as printed, are those of differences.
fn check<const K: usize>(
    name: &str,
    p: [f64; K],
    dual: impl Fn(&Numbers<K>) -> Dual<f64, K>,
    value: impl Fn(&[f64; K]) -> f64,
    program: &Program,
) {
    let direct = dual(&variables(p));
    let printed = listing::run(program, &[], &p);
    for k in 0..K {
        let along = |v: f64| {
            let mut p = p;
            p[k] = v;
            value(&p)
        };
        let (difference, error) = ridders(along, p[k], 0.05 * p[k].abs().clamp(0.02, 1.0));
        // Differences of f resolve its derivative to about ε·|f|/|p| at best.
        // The slopes of w are differences of terms of size 1, and are known to so much times |z|².
        let least = if name.starts_with("FaddeevaSlope") { 10.0 } else { 0.0 };
        let size = direct.value.abs().max(least);
        let floor = 1e-11 * (size / p[k].abs().max(0.1) + difference.abs());
        let allowed = 20.0 * error + floor;
        assert!(
            allowed <= 1e-6 * (1.0 + difference.abs()),
            "{name} at {p:?}: no oracle, {error:e}"
        );
        for found in [direct.partials[k], printed[1 + k].1] {
            let off = (found - difference).abs();
            assert!(
                off <= allowed,
                "{name} by {k} at {p:?}: {found}, differences {difference} ± {error:e}"
            );
        }
    }
}

#[test]
fn every_function_has_the_derivative_of_its_differences() {
    const LINE: &[f64] = &[-3.3, -1.7, -0.6, -0.01, 0.02, 0.4, 0.9, 1.3, 2.6, 6.1];
    for &op in Unary::ALL {
        let domain: &dyn Fn(f64) -> bool = match op {
            Unary::Sqrt | Unary::Ln | Unary::Log2 | Unary::Log10 => &|v| v > 0.0,
            Unary::LnGamma | Unary::Digamma | Unary::Trigamma => &|v| v > 0.3,
            Unary::Ln1p => &|v| v > -0.9,
            Unary::Asin | Unary::Acos | Unary::Atanh => &|v| v.abs() < 0.95,
            Unary::Acosh => &|v| v > 1.1,
            Unary::Gamma => &|v| v > 0.3,
            Unary::E1 | Unary::Y0 | Unary::Y1 => &|v| v > 0.0,
            Unary::K0 | Unary::K1 | Unary::K0e | Unary::K1e => &|v| v > 0.0,
            _ => &|_| true,
        };
        let program = CurveFit::new(|_, [a]| op.apply(a)).program().unwrap();
        for &v in LINE.iter().filter(|&&v| domain(v)) {
            check(&format!("{op:?}"), [v], |[a]| op.apply(*a), |[a]| op.apply(*a), &program);
        }
    }
    for &op in Binary::ALL {
        let program = CurveFit::new(|_, [a, b]| op.apply(a, b)).program().unwrap();
        for a in [-2.3, -0.4, 0.7, 3.1] {
            for b in [-1.9, -0.8, 0.6, 2.0, 2.7] {
                if op == Binary::Powf && a < 0.0 {
                    continue;
                }
                let (dual, value) =
                    (|p: &Numbers<2>| op.apply(p[0], p[1]), |p: &[f64; 2]| op.apply(p[0], p[1]));
                check(&format!("{op:?}"), [a, b], dual, value, &program);
            }
        }
    }
}

/// Models of several parameters, at parameters where they are smooth.
#[test]
fn models_have_the_derivative_of_their_differences() {
    fn peaks<T: Scalar>(x: T, p: &[T; 4]) -> T {
        let [a, c, s, d] = *p;
        a * (-((x - c) / s).powi(2) / 2.0).exp() + a / (((x - c) / s).powi(2) + 1.0) + d
    }
    fn logistic<T: Scalar>(x: T, p: &[T; 4]) -> T {
        let [low, high, mid, slope] = *p;
        low + (high - low) / ((x / mid).powf(slope) + 1.0)
    }
    fn voigt_like<T: Scalar>(x: T, p: &[T; 4]) -> T {
        let [a, c, s, t] = *p;
        let u = (s * s / t - (x - c)) / (s * std::f64::consts::SQRT_2);
        a * (s * s / (t * t) * 0.5 - (x - c) / t).exp() * u.erfc()
    }
    fn pieces<T: Scalar>(x: T, p: &[T; 4]) -> T {
        let [a, b, edge, k] = *p;
        let left = a * (x - edge).abs().powf(1.5) + b;
        let right = b * (k * (x - edge)).tanh().cbrt() - (a * x).hypot(k).ln_1p();
        x.lt(edge).select(left, right) + (a * x).atan2(b).max(a.min(k)).clamp(-1.5, 1.5)
    }
    fn each(
        name: &str,
        model: fn(f64, &[f64; 4]) -> f64,
        dual: fn(Dual<f64, 4>, &Numbers<4>) -> Dual<f64, 4>,
        program: impl Fn(f64) -> Program,
        p: [f64; 4],
    ) {
        for x in [0.31, 0.83, 1.7, 2.9] {
            let program = program(x);
            check(&format!("{name} x = {x}"), p, |p| dual(x.into(), p), |p| model(x, p), &program);
        }
    }
    macro_rules! each {
        ($model:ident, $p:expr) => {
            let program =
                |v: f64| CurveFit::new(move |_, p| $model(v.into(), &p)).program().unwrap();
            each(stringify!($model), $model::<f64>, $model::<Dual<f64, 4>>, program, $p);
        };
    }
    each!(peaks, [2.5, 1.3, 0.7, 0.4]);
    each!(logistic, [0.2, 2.9, 1.4, 1.8]);
    each!(voigt_like, [1.7, 1.1, 0.6, 0.9]);
    each!(pieces, [0.8, 0.6, 1.2, 2.1]);
}

/// ∂f/∂a at (a, b) by duals, which the printed partial must equal.
fn partial(
    name: &str,
    f: fn(Dual<f64, 2>, Dual<f64, 2>) -> Dual<f64, 2>,
    program: Program,
    p: [f64; 2],
) -> [f64; 2] {
    let [a, b] = variables(p);
    let dual = f(a, b).partials;
    let printed = listing::run(&program, &[0.0], &p);
    assert!(
        (0..2).all(|k| equal(dual[k], printed[1 + k].1)),
        "{name} at {p:?}: {dual:?} {printed:?}"
    );
    dual
}

macro_rules! partials {
    (|$a:ident, $b:ident| $f:expr; $($p:expr => $expected:expr),* $(,)?) => {$(
        let program = CurveFit::new(|_, [$a, $b]| $f).program().unwrap();
        let found = partial(stringify!($f), |$a, $b| $f, program, $p);
        let expected: [f64; 2] = $expected;
        let near = |a: f64, b: f64| equal(a, b) || (a - b).abs() <= 4.0 * f64::EPSILON * b.abs();
        assert!((0..2).all(|k| near(found[k], expected[k])), "{} at {:?}: {found:?}", stringify!($f), $p);
    )*};
}

#[test]
fn kinks_and_borders_have_the_documented_partials() {
    partials!(|a, _b| a.sqrt(); [0.0, 0.0] => [0.0, 0.0], [-0.0, 0.0] => [0.0, 0.0], [4.0, 0.0] => [0.25, 0.0]);
    partials!(|a, b| (a * b).sqrt(); [0.0, 3.0] => [0.0, 0.0], [0.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.cbrt(); [0.0, 0.0] => [0.0, 0.0], [-0.0, 0.0] => [0.0, 0.0], [8.0, 0.0] => [2.0 / 24.0, 0.0]);
    partials!(|a, _b| a.asin(); [1.0, 0.0] => [0.0, 0.0], [-1.0, 0.0] => [0.0, 0.0], [0.0, 0.0] => [1.0, 0.0]);
    partials!(|a, _b| a.acos(); [1.0, 0.0] => [0.0, 0.0], [-1.0, 0.0] => [0.0, 0.0], [0.0, 0.0] => [-1.0, 0.0]);
    partials!(|a, _b| a.abs(); [0.0, 0.0] => [0.0, 0.0], [-0.0, 0.0] => [0.0, 0.0],
        [2.0, 0.0] => [1.0, 0.0], [-2.0, 0.0] => [-1.0, 0.0], [5e-324, 0.0] => [1.0, 0.0]);
    partials!(|a, _b| a.floor(); [2.0, 0.0] => [0.0, 0.0], [-0.5, 0.0] => [0.0, 0.0]);
    partials!(|a, b| a.hypot(b); [0.0, 0.0] => [0.0, 0.0], [3.0, 0.0] => [1.0, 0.0], [0.0, -4.0] => [0.0, -1.0],
        [3.0, 4.0] => [0.6, 0.8], [3e200, 4e200] => [0.6, 0.8]);
    partials!(|a, b| a.atan2(b); [0.0, 0.0] => [0.0, 0.0], [-0.0, -0.0] => [0.0, 0.0], [0.0, 2.0] => [0.5, 0.0],
        [2.0, 0.0] => [0.0, -0.5], [0.0, 2e200] => [0.5e-200, 0.0]);
    partials!(|a, b| a.ceil() + b.round(); [2.5, 0.5] => [0.0, 0.0], [2.0, -0.5] => [0.0, 0.0]);
    partials!(|a, _b| a.signum(); [0.0, 0.0] => [0.0, 0.0], [-3.0, 0.0] => [0.0, 0.0]);
    partials!(|a, b| a.fmod(b); [5.5, 2.0] => [1.0, -2.0], [-5.5, 2.0] => [1.0, 2.0], [5.5, -2.0] => [1.0, 2.0],
        [1.0, 2.0] => [1.0, 0.0]);
    partials!(|a, _b| a.acosh(); [1.0, 0.0] => [0.0, 0.0], [1.25, 0.0] => [4.0 / 3.0, 0.0]);
    partials!(|a, _b| a.j1(); [0.0, 0.0] => [0.5, 0.0]);
    partials!(|a, _b| a.i1(); [0.0, 0.0] => [0.5, 0.0]);
    partials!(|a, _b| a.sinc(); [0.0, 0.0] => [0.0, 0.0], [1e-9, 0.0] => [-1e-9 * PI * PI / 3.0, 0.0],
        [1.0, 0.0] => [-1.0, 0.0], [0.5, 0.0] => [-4.0 / PI, 0.0]);
    // Where the function overflows, 1/f is a finite 0, and so are its partials.
    partials!(|a, _b| a.exp().recip(); [800.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.exp2().recip(); [1100.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.exp_m1().recip(); [800.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.cosh().recip(); [800.0, 0.0] => [0.0, 0.0], [-800.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.sinh().recip(); [800.0, 0.0] => [0.0, 0.0], [-800.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.gamma().recip(); [180.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.fermi(); [0.0, 0.0] => [-0.25, 0.0], [800.0, 0.0] => [0.0, 0.0], [-800.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.bose(); [800.0, 0.0] => [0.0, 0.0], [-800.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.expit(); [0.0, 0.0] => [0.25, 0.0], [-800.0, 0.0] => [0.0, 0.0]);
    // At equality the partials are those of the second.
    partials!(|a, b| a.min(b); [1.0, 1.0] => [0.0, 1.0], [1.0, 2.0] => [1.0, 0.0], [2.0, 1.0] => [0.0, 1.0]);
    partials!(|a, b| a.max(b); [1.0, 1.0] => [0.0, 1.0], [1.0, 2.0] => [0.0, 1.0], [2.0, 1.0] => [1.0, 0.0]);
    partials!(|a, b| (b * 2.0).max(a); [2.0, 1.0] => [1.0, 0.0]);
    partials!(|a, _b| a.max(0.0); [0.0, 0.0] => [0.0, 0.0], [-0.0, 0.0] => [0.0, 0.0], [1.0, 0.0] => [1.0, 0.0]);
    partials!(|a, b| a.clamp(0.0, b); [-1.0, 2.0] => [0.0, 0.0], [1.0, 2.0] => [1.0, 0.0], [3.0, 2.0] => [0.0, 1.0],
        [0.0, 2.0] => [0.0, 0.0], [2.0, 2.0] => [0.0, 1.0]);
    // xʸ at 0: the limits where they are finite, else 0.
    partials!(|a, b| a.powf(b); [0.0, 2.0] => [0.0, 0.0], [0.0, 1.0] => [1.0, 0.0], [0.0, 0.5] => [0.0, 0.0],
        [0.0, 3.7] => [0.0, 0.0], [-0.0, 1.5] => [0.0, 0.0], [0.0, 0.0] => [0.0, 0.0], [2.0, 2.0] => [4.0, 4.0 * Scalar::ln(2.0)]);
    partials!(|a, _b| a.powf(1.0); [0.0, 0.0] => [1.0, 0.0]);
    partials!(|a, _b| a.powf(2.0); [0.0, 0.0] => [0.0, 0.0], [3.0, 0.0] => [6.0, 0.0]);
    partials!(|a, _b| a.powi(2); [0.0, 0.0] => [0.0, 0.0]);
    partials!(|a, _b| a.powi(1); [0.0, 0.0] => [1.0, 0.0]);
    partials!(|a, _b| a.powi(0); [0.0, 0.0] => [0.0, 0.0]);
    // A negative base has real powers for whole exponents, and those have a partial by the base.
    partials!(|a, _b| a.powf(3.0); [-2.0, 0.0] => [12.0, 0.0]);
    // The branch that is not taken leaves no trace, even where it is not a number.
    partials!(|a, b| a.le(0.0).select(b, b * a.ln()); [0.0, 3.0] => [0.0, 1.0], [-1.0, 3.0] => [0.0, 1.0], [1.0, 3.0] => [3.0, 0.0]);
    partials!(|a, b| a.gt(0.0).select(a.sqrt() * b, a * b); [-1.0, 3.0] => [3.0, -1.0], [4.0, 3.0] => [0.75, 2.0]);
}

/// An exponent with the logarithm of a dose is infinite at dose 0, and so is its slope; the response and its partials have limits.
#[test]
fn responses_to_no_dose_have_the_partials_of_the_limit() {
    fn response<T: Scalar>(x: T, [b, c, d, e]: [T; 4]) -> T {
        c + (d - c) / ((b * (x.ln() - e.ln())).exp() + 1.0)
    }
    fn step<T: Scalar>(x: T, [b, c, d, e]: [T; 4]) -> T {
        c + (d - c) * (T::from(1.0) - (b * 0.5 * (x / e).ln()).tanh()) * 0.5
    }
    fn wave<T: Scalar>(x: T, [b, c, d, e]: [T; 4]) -> T {
        c + (d - c) * ((b * (x * e).log10()).exp2() + 1.0).recip()
    }
    fn power<T: Scalar>(x: T, [b, c, d, e]: [T; 4]) -> T {
        c + (d - c) / (T::from(10.0).powf(b * (x / e).log10()) + 1.0)
    }
    // For b > 0 the response without a dose is d, for b < 0 it is c.
    let cases = [(1.3, [0.0, 0.0, 1.0, 0.0]), (-1.3, [0.0, 1.0, 0.0, 0.0])];
    for (b, expected) in cases {
        let p = [b, 2.0, 10.0, 4.0];
        macro_rules! check {
            ($model:ident) => {
                let dual: Dual<f64, 4> = $model(0.0.into(), variables(p));
                let program = CurveFit::new($model).program().unwrap();
                let printed = listing::run(&program, &[0.0], &p);
                let name = stringify!($model);
                let value = if b > 0.0 { p[2] } else { p[1] };
                assert_eq!((dual.value, printed[0].1), (value, value), "{name}, b = {b}");
                for (k, limit) in expected.into_iter().enumerate() {
                    assert_eq!(printed[1 + k].1, limit, "{name}, b = {b}, partial {k}");
                    assert_eq!(dual.partials[k], limit, "{name}, b = {b}, dual {k}");
                }
                // And near it the limits are approached, where no power overflows.
                let near: Dual<f64, 4> = $model(1e-200.into(), variables(p));
                let off = |k: usize| (near.partials[k] - expected[k]).abs();
                assert!((0..4).all(|k| off(k) < 1e-70), "{name}, b = {b}: {near:?}");
            };
        }
        check!(response);
        check!(step);
        check!(wave);
        check!(power);
    }
}

/// A sigmoid whose exponential overflows far from its edge is 0 there, and so are its partials.
#[test]
fn a_saturated_sigmoid_has_partials() {
    partials!(|a, b| (((b - 1000.0) / a).exp() + 1.0).recip(); [1.0, 1000.0] => [0.0, -0.25], [1.0, 100.0] => [0.0, 0.0]);
    partials!(|a, b| (((-b + 1000.0) / a).exp() + 1.0).recip(); [1.0, 100.0] => [0.0, 0.0]);
}
