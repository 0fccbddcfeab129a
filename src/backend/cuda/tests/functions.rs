//! Compares every function of generated code with this crate's function over its whole range. The system's
//! mathematics library replaces the device's.

use super::trial::{COLUMNS, Trial};
use crate::backend::cuda::source::{Arithmetic, Spec, Storage, Weighting};
use crate::data::loss::{Estimator, Loss};
use crate::model::op::{Binary, Unary};
use crate::model::program::Program;
use crate::model::scalar::Scalar;
use crate::model::var::Var;
use std::f64::consts::PI;

/// Orders of the polygamma functions that are compared.
const ORDERS: [u32; 5] = [0, 1, 2, 7, 180];

/// C++ declarations of the system's functions, and the CUDA function that the system lacks.
const LENT: &str = concat!(
    "#include <math.h>\n",
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/host/erfcx.h"))
);

const SPECIAL: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MAX,
    5e-324,
    1e22,
    1.4616321449683622, // the zero of digamma
];

/// Returns pairs of arguments that cover the ranges of both numbers.
fn grid() -> Vec<[f64; 2]> {
    let mut first: Vec<f64> = (-3000..3000).map(|i| 0.0113 * f64::from(i)).collect();
    for k in (-1074..=1023).step_by(3) {
        let power = 2f64.powi(k);
        first.extend([power, -power, 1.37 * power, -1.91 * power]);
    }
    let turned = first.iter().cycle().skip(4567).copied();
    let mut pairs: Vec<[f64; 2]> = first.iter().zip(turned).map(|(&a, b)| [a, b]).collect();
    pairs.extend(SPECIAL.iter().flat_map(|&a| SPECIAL.map(|b| [a, b])));
    pairs
}

/// Traces a program whose value is one function; its only partial is 0.
fn program(model: impl FnOnce(&[Var]) -> Var) -> Program {
    let value = Program::trace(COLUMNS, 1, |x, _| model(x)).expect("a trace");
    value.with_partials(&[0]).expect("a replay")
}

/// A function with its name, its program and its reference.
struct Function {
    name: String,
    program: Program,
    value: Box<dyn Fn([f64; 2]) -> f64>,
    /// Magnitude below which the tolerance is absolute, because of zeros between the poles of the gamma family and
    /// zeros of one part of a complex function.
    unit: fn([f64; 2]) -> f64,
    /// Factor of the common tolerance.
    allowance: f64,
}

fn functions() -> Vec<Function> {
    let gamma = |[x, _]: [f64; 2]| if x < 0.0 { 1.0 } else { 0.0 };
    let modulus = |[x, y]: [f64; 2]| x.faddeeva_re(y).hypot(x.faddeeva_im(y));
    let slope = |[x, y]: [f64; 2]| x.faddeeva_slope_re(y).hypot(x.faddeeva_slope_im(y));
    // The errors of the system's functions are relative to the envelope of the oscillation.
    let wave = |[x, _]: [f64; 2]| (2.0 / (PI * x.abs())).sqrt().min(1.0);
    let orders = ORDERS.map(Unary::Polygamma);
    let unary =
        Unary::ALL.iter().filter(|op| **op != Unary::Not).chain(&orders).map(|&op| Function {
            name: format!("{op:?}"),
            program: program(|x| op.apply(x[0])),
            value: Box::new(move |x| op.apply(x[0])),
            unit: match op {
                Unary::LnGamma | Unary::Polygamma(_) => gamma,
                Unary::J0 | Unary::J1 | Unary::Y0 | Unary::Y1 => wave,
                _ => |_| 0.0,
            },
            // n! overflows. Its logarithm is large and costs digits.
            allowance: if op == Unary::Polygamma(180) { 10.0 } else { 1.0 },
        });
    use Binary::{And, Eq, Le, Lt, Or};
    let numbers = |op: &&Binary| !matches!(op, And | Or | Lt | Le | Eq);
    let binary = Binary::ALL.iter().filter(numbers).map(|&op| Function {
        name: format!("{op:?}"),
        program: program(|x| op.apply(x[0], x[1])),
        value: Box::new(move |x| op.apply(x[0], x[1])),
        unit: match op {
            Binary::FaddeevaRe | Binary::FaddeevaIm => modulus,
            Binary::FaddeevaSlopeRe | Binary::FaddeevaSlopeIm => slope,
            _ => |_| 0.0,
        },
        // Both implementations lose up to a factor |z|² in 2i/√π - 2zw by rounding.
        allowance: if op.facts().cuda_file == Some("faddeeva.cuh") { 10.0 } else { 1.0 },
    });
    unary.chain(binary).collect()
}

/// Compares every function in `arithmetic` with columns stored as `storage`. `tolerance` is relative;
/// values beyond `range` may be infinite, values below `least` count as 0.
fn compare(arithmetic: Arithmetic, storage: Storage, tolerance: f64, range: f64, least: f64) {
    let functions = functions();
    let spec = |f| Spec {
        estimator: Estimator::LeastSquares,
        program: f,
        free: 1,
        columns: vec![storage; COLUMNS],
        response: Storage::F64,
        weights: Weighting::Same,
        loss: Loss::Linear,
        arithmetic,
    };
    let specs: Vec<Spec<'_>> = functions.iter().map(|f| spec(&f.program)).collect();
    let Some(trial) = Trial::build(&specs, LENT, "", "") else { return };
    let points: Vec<[f64; 2]> = grid()
        .into_iter()
        .map(|p| match storage {
            Storage::F32 => p.map(|v| f64::from(v as f32)),
            _ => p,
        })
        .collect();
    let columns = [0, 1].map(|c| points.iter().map(|p| p[c]).collect());
    let mut failures = Vec::new();
    for (n, (function, spec)) in functions.iter().zip(&specs).enumerate() {
        let found = trial.outputs(n, spec, &columns, &[0.0]);
        let mut worst = (0.0, [0.0; 2]);
        for (&point, found) in points.iter().zip(found) {
            let (found, expected) = (found[0], (function.value)(point));
            let beyond = expected.abs() > range && found.abs() >= range;
            if found.is_nan() && expected.is_nan() || found == expected || beyond {
                continue;
            }
            let scale = expected.abs().max((function.unit)(point)) * function.allowance;
            let error = ((found - expected).abs() - least).max(0.0) / scale;
            if error.is_nan() || error > worst.0 {
                worst = (if error.is_nan() { f64::INFINITY } else { error }, point);
            }
            if error.is_nan() || error > tolerance {
                let text = format!("{} at {point:?}: {found:e}, not {expected:e}", function.name);
                failures.push(text);
            }
        }
        println!("{:14} {:.1e} at {:?}", function.name, worst.0, worst.1);
    }
    let shown = failures.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} failures:\n{shown}", failures.len());
}

#[test]
fn functions_of_doubles_agree_with_the_crate() {
    compare(Arithmetic::Double, Storage::F64, 1e-13, f64::MAX, 1e-323);
}

#[test]
fn functions_of_floats_agree_with_the_crate() {
    let arithmetic = Arithmetic::Single { compensated: false };
    let (range, least) = (f64::from(f32::MAX), f64::from(f32::from_bits(2)));
    compare(arithmetic, Storage::F32, 1e-6, range, least);
}

/// A normal quotient by a parameter has the bits of a division if the dividend is not below 2^-960 and the reciprocal of
/// the divisor is normal. Other quotients differ by at most two units in the last place; those by a number that has no
/// finite reciprocal are too small.
#[test]
fn quotients_by_parameters_are_those_of_a_division() {
    let program = Program::trace(COLUMNS, 1, |x, p| x[0] / p[0]).expect("a trace");
    let program = program.with_partials(&[0]).expect("a replay");
    let spec = Spec {
        estimator: Estimator::LeastSquares,
        program: &program,
        free: 1,
        columns: vec![Storage::F64; COLUMNS],
        response: Storage::F64,
        weights: Weighting::Same,
        loss: Loss::Linear,
        arithmetic: Arithmetic::Double,
    };
    let Some(trial) = Trial::build(std::slice::from_ref(&spec), LENT, "", "") else { return };
    let columns = [0, 1].map(|c| grid().iter().map(|p| p[c]).collect::<Vec<f64>>());
    let order = |v: f64| v.abs().to_bits();
    let (mut unequal, mut small) = (0, 0);
    let divisors = [3.7, -0.3, 1e-110, -7e300, 1e-119, 6e-200, -1e-308, -1e-310];
    for divisor in divisors.into_iter().chain(SPECIAL) {
        for (&x, found) in columns[0].iter().zip(trial.outputs(0, &spec, &columns, &[divisor])) {
            let (found, expected) = (found[0], x / divisor);
            if found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan() {
                continue;
            }
            let what = format!("{x:e} / {divisor:e}: {found:e}, not {expected:e}");
            assert_eq!(found.is_sign_negative(), expected.is_sign_negative(), "{what}");
            if (1.0 / divisor).is_infinite() {
                assert!(found.abs() < expected.abs(), "{what}");
                small += 1;
                continue;
            }
            let normal = (1.0 / divisor).is_normal() && expected.abs() > f64::MIN_POSITIVE;
            let usual = normal && x.abs() >= 2f64.powi(-960);
            assert!(!usual && order(found).abs_diff(order(expected)) <= 2, "{what}");
            unequal += 1;
        }
    }
    assert!(unequal > 0 && small > 0, "{unequal} unusual quotients, {small} too small");
}
