//! Values of the model at any points, without partials. They are identical to the values in the fit, bit for bit.

use super::arrays::{ArrayPass, ArrayRequest};
use super::assembly::Assembled;
use super::code::{BLOCK, Code};
use super::kernels;
use super::machine::{Block, Inputs, Uniforms};
use super::worker::Worker;
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::model::native::{Calls, Model, Steps};
use crate::model::program::panic_message;
use crate::solver::outcome::Fault;
use crate::threads;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Blocks per task.
const TASK: usize = 16;

/// Returns one value per point for the parameters `params`. `columns`: one per variable, `n` values each.
///
/// # Errors
/// Returns [`Error::ModelPanicked`] if a native model panics.
pub(crate) fn values(
    model: &Model,
    columns: &[Values<'_>],
    n: usize,
    params: &[f64],
) -> Result<Vec<f64>> {
    let mut out = vec![0.0; n];
    match model {
        Model::Traced(program) => {
            let code = Assembled::from(Code::compile(program));
            let mut uniforms = Vec::new();
            code.uniforms(params, &mut uniforms);
            let tasks = out.chunks_mut(TASK * BLOCK).enumerate();
            threads::map(tasks, |(t, part)| {
                Worker::with(|worker| {
                    run(&code, &uniforms, columns, t * TASK * BLOCK, worker, part)
                });
            });
        }
        Model::Native(native) => match &native.calls {
            Calls::Arrays(calls) => {
                let mut arrays = ArrayPass::of(columns, n, 1);
                let steps = Steps { bounds: &[], least: &[], precisions: &[] };
                let request = ArrayRequest::new(calls, params, &[], steps);
                arrays.values(request).map_err(panicked)?;
                out = arrays.outputs.swap_remove(0);
            }
            Calls::Points(calls) => {
                for (i, value) in out.iter_mut().enumerate() {
                    let x: Vec<f64> = columns.iter().map(|c| c.at(i)).collect();
                    let call = AssertUnwindSafe(|| (calls.value)(&x, params));
                    *value = catch_unwind(call).map_err(|panic| Error::ModelPanicked {
                        message: panic_message(&*panic),
                        place: format!("point {i} of a prediction"),
                    })?;
                }
            }
        },
    }
    Ok(out)
}

/// Converts a fault of a model that is called with all points at once into the error of a prediction.
pub(super) fn panicked(fault: Fault) -> Error {
    match fault {
        Fault::Panicked { message, .. } => {
            Error::ModelPanicked { message, place: "all points of a prediction".into() }
        }
        // These faults do not occur: a prediction cannot be stopped, and it reads no stream.
        Fault::Points(error) => error,
        Fault::Device(_) | Fault::Stopped(_) => Error::StoppedInFirstPass,
    }
}

/// Evaluates `out.len()` points from `first` on.
fn run(
    code: &Assembled,
    uniforms: &[f64],
    columns: &[Values<'_>],
    first: usize,
    worker: &mut Worker,
    out: &mut [f64],
) {
    let machine = &mut worker.machine;
    machine.reserve(code.registers, columns.len());
    machine.broadcast(code, Uniforms::OfOne(uniforms), out.len());
    for (b, part) in out.chunks_mut(BLOCK).enumerate() {
        let inputs = Inputs::new(columns, Block::Run(first + b * BLOCK), part.len());
        machine.load(&inputs);
        machine.run(code, kernels::detect(), Uniforms::OfOne(uniforms), &inputs);
        part.copy_from_slice(machine.source(code.outputs[0], &inputs));
    }
}
