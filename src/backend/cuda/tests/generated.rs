//! Snapshots of the generated code of typical models, for reviews.

use super::trial::Trial;
use crate::backend::cuda::source::{
    Arithmetic, Spec, Storage, Summation, Weighting, model_unit, translation_unit,
};
use crate::data::loss::{Estimator, Loss};
use crate::model::program::Program;
use crate::model::scalar::Mask;
use crate::model::var::Var;

/// Traces a model with partials with respect to all parameters.
fn program<const P: usize>(
    columns: &[&str],
    params: [&str; P],
    model: impl FnOnce(&[Var], [Var; P]) -> Var,
) -> Program {
    let mut program =
        Program::trace(columns.len(), P, |x, p| model(x, std::array::from_fn(|i| p[i])))
            .expect("a trace");
    program.columns = columns.iter().map(|&c| c.into()).collect();
    program.params = params.iter().map(|&p| p.into()).collect();
    program.with_partials(&(0..P).collect::<Vec<_>>()).expect("a replay")
}

fn spec(program: &Program) -> Spec<'_> {
    Spec {
        estimator: Estimator::LeastSquares,
        program,
        free: program.partials.len(),
        columns: vec![Storage::F64; program.columns.len()],
        response: Storage::F64,
        weights: Weighting::Same,
        loss: Loss::Linear,
        arithmetic: Arithmetic::Double,
    }
}

/// Returns the part of the text that depends on the model, without the prelude.
fn generated(spec: &Spec<'_>) -> String {
    let unit = model_unit(spec);
    let (constants, rest) = unit.split_once("#line").expect("a prelude");
    let (_, model) = rest.split_once("#line 1 \"model\"\n").expect("a model");
    format!("{constants}\n{model}")
}

fn decay() -> Program {
    program(&["t"], ["amplitude", "rate", "offset"], |x, [a, b, c]| a * (-b * x[0]).exp() + c)
}

#[test]
fn decay_in_double() {
    insta::assert_snapshot!(generated(&spec(&decay())));
}

#[test]
fn decay_in_single() {
    let program = decay();
    let arithmetic = Arithmetic::Single { compensated: true };
    let (columns, response) = (vec![Storage::F32], Storage::F32);
    let loss = Loss::Cauchy { scale: 2.0 };
    insta::assert_snapshot!(generated(&Spec {
        columns,
        response,
        arithmetic,
        loss,
        ..spec(&program)
    }));
}

#[test]
fn gaussian_of_two_variables() {
    let program = program(
        &["x", "y"],
        ["height", "x0", "y0", "width x", "width y", "background"],
        |x, [h, x0, y0, sx, sy, c]| {
            let (u, v) = ((x[0] - x0) / sx, (x[1] - y0) / sy);
            h * (-0.5 * (u.powi(2) + v.powi(2))).exp() + c
        },
    );
    insta::assert_snapshot!(generated(&spec(&program)));
}

#[test]
fn unusual_functions() {
    let program = program(&["x", "unused"], ["a", "b"], |x, [a, b]| {
        let x = x[0];
        let below = Mask::<Var>::not(b.le(x));
        let inside = Mask::<Var>::or(Mask::<Var>::and(x.lt(a), below), a.lt(b));
        let branch: Var = inside.select(x.min(a).erf(), x.max(b).ln_gamma());
        branch + (x * a).polygamma(0) + x.abs().powf(b) + a.floor() * f64::INFINITY
    });
    let arithmetic = Arithmetic::Single { compensated: false };
    insta::assert_snapshot!(generated(&Spec { arithmetic, ..spec(&program) }));
}

#[test]
fn hostile_names() {
    let program = program(
        &["x\n}", "\"\\"],
        ["*/ ??/", "// #define real int\r\n#error", "\u{202e}\u{2028}βλ\\"],
        |x, [a, b, c]| a * x[0] + b * x[1] + c,
    );
    let spec = spec(&program);
    insta::assert_snapshot!(generated(&spec));
    let Some(trial) = Trial::build(std::slice::from_ref(&spec), "#include <math.h>", "", "") else {
        return;
    };
    let found = trial.outputs(0, &spec, &[vec![5.0], vec![7.0]], &[2.0, 3.0, 4.0]);
    assert_eq!(found, [[35.0, 5.0, 7.0, 1.0]]);
}

#[test]
fn equal_programs_give_equal_texts() {
    let (a, b) = (decay(), decay());
    let translation_unit = |spec: &Spec<'_>| translation_unit(spec, Summation::Registers);
    assert_eq!(translation_unit(&spec(&a)), translation_unit(&spec(&b)));
    let other = Spec { loss: Loss::Tukey { scale: 1.0 }, ..spec(&a) };
    assert_ne!(translation_unit(&spec(&a)), translation_unit(&other));
    let scaled = Spec { loss: Loss::Tukey { scale: 2.0 }, ..spec(&a) };
    assert_eq!(translation_unit(&other), translation_unit(&scaled), "the scale is an argument");
}
