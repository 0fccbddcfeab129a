//! Values and partials of the model at any points, for confidence bands and leverages.
//!
//! An n × p Jacobian is not stored: a callback receives the value and the partials of each point.

use super::arrays::{ArrayPass, ArrayRequest, Differences};
use super::assembly::Assembled;
use super::code::{BLOCK, Code};
use super::kernels;
use super::machine::{Block, Inputs, Uniforms};
use super::pieces::Pieces;
use super::predict::panicked;
use super::worker::Worker;
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::model::native::{Calls, Model, PointCalls, Steps};
use crate::model::precision::{Precisions, SAMPLE, Signs};
use crate::model::program::panic_message;
use crate::threads::{self, lock};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// Blocks per task.
const TASK: usize = 4;

/// Model, parameters and settings of a linearisation.
pub(crate) struct At<'a> {
    pub(crate) model: &'a Model,
    /// All parameters.
    pub(crate) params: &'a [f64],
    /// Positions of the parameters with respect to which partials are computed, ascending.
    pub(crate) by: &'a [usize],
    /// Bounds of all parameters. Finite differences of a native model stay within them.
    pub(crate) bounds: &'a [(f64, f64)],
    /// Starting point of the fit. It determines the magnitudes of the parameters.
    pub(crate) start: &'a [f64],
}

impl At<'_> {
    /// Calls `each` with the index, the value and the partials of every point, and returns the results.
    /// `columns`: one per variable, `n` values each. Partials with respect to parameters not in `by` are 0.
    ///
    /// # Errors
    /// Returns [`Error::ModelPanicked`] if a native model panics.
    pub(crate) fn map<R: Clone + Default + Send>(
        &self,
        columns: &[Values<'_>],
        n: usize,
        each: impl Fn(usize, f64, &[f64]) -> R + Sync,
    ) -> Result<Vec<R>> {
        match self.model {
            Model::Traced(program) => {
                let code = Assembled::from(Code::compile(&program.with_partials(self.by)?));
                let mut uniforms = Vec::new();
                code.uniforms(self.params, &mut uniforms);
                let mut out = vec![R::default(); n];
                let tasks = out.chunks_mut(TASK * BLOCK).enumerate();
                threads::map(tasks, |(t, part)| {
                    Worker::with(|worker| {
                        let first = t * TASK * BLOCK;
                        self.run((&code, &uniforms), columns, first, worker, &each, part);
                    });
                });
                Ok(out)
            }
            Model::Native(native) => {
                let least: Vec<f64> = native.least_sizes(self.start).collect();
                let steps = Steps { bounds: self.bounds, least: &least, precisions: &[] };
                match &native.calls {
                    Calls::Points(calls) => self.by_calls(calls, steps, (columns, n), &each),
                    Calls::Arrays(calls) => {
                        let mut arrays = ArrayPass::of(columns, n, 1 + self.by.len());
                        let request = ArrayRequest::new(calls, self.params, self.by, steps);
                        arrays.values(request).map_err(panicked)?;
                        arrays.partials(request, Differences::Central).map_err(panicked)?;
                        let one = |i: usize| {
                            let mut partials = vec![0.0; self.params.len()];
                            let found = self.by.iter().zip(&arrays.outputs[1..]);
                            found.for_each(|(&k, output)| partials[k] = output[i]);
                            Ok(each(i, arrays.outputs[0][i], &partials))
                        };
                        of_points(n, one)
                    }
                }
            }
        }
    }

    /// Evaluates `out.len()` points from `first` on.
    fn run<R>(
        &self,
        (code, uniforms): (&Assembled, &[f64]),
        columns: &[Values<'_>],
        first: usize,
        worker: &mut Worker,
        each: &impl Fn(usize, f64, &[f64]) -> R,
        out: &mut [R],
    ) {
        let machine = &mut worker.machine;
        machine.reserve(code.registers, columns.len());
        machine.broadcast(code, Uniforms::OfOne(uniforms), out.len());
        let mut partials = vec![0.0; self.params.len()];
        for (b, part) in out.chunks_mut(BLOCK).enumerate() {
            let start = first + b * BLOCK;
            let inputs = Inputs::new(columns, Block::Run(start), part.len());
            machine.load(&inputs);
            machine.run(code, kernels::detect(), Uniforms::OfOne(uniforms), &inputs);
            let lanes: Vec<&[f64]> =
                code.outputs.iter().map(|&source| machine.source(source, &inputs)).collect();
            for (i, slot) in part.iter_mut().enumerate() {
                for (&k, lane) in self.by.iter().zip(&lanes[1..]) {
                    partials[k] = lane[i];
                }
                *slot = each(start + i, lanes[0][i], &partials);
            }
        }
    }

    /// Implements [`map`](At::map) for a model that is called with single points. If the steps of the finite
    /// differences are too short for the precision of the values, repeats the evaluation with longer steps.
    fn by_calls<R: Send>(
        &self,
        calls: &PointCalls,
        steps: Steps<'_>,
        (columns, n): (&[Values<'_>], usize),
        each: &(impl Fn(usize, f64, &[f64]) -> R + Sync),
    ) -> Result<Vec<R>> {
        let signs = Mutex::new(Signs::new(self.by.len()));
        let with = |steps: Steps<'_>, signs: Option<&Mutex<Signs>>| {
            of_points(n, |i| {
                let (value, partials) = self.call(calls, steps, columns, i, signs)?;
                Ok(each(i, value, &partials))
            })
        };
        let first = with(steps, Some(&signs))?;
        if calls.jacobian.is_some() {
            return Ok(first);
        }
        let signs = signs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut precisions = Precisions::default();
        let at = (self.params, self.by);
        let changed = precisions.examine(&signs.suspicions(), steps, at, |p| {
            let stride = n.div_ceil(SAMPLE).max(1);
            let value = |i: usize| {
                let x: Vec<f64> = columns.iter().map(|c| c.at(i)).collect();
                guarded(i, || (calls.value)(&x, p))
            };
            (0..n).step_by(stride).map(value).collect()
        })?;
        if changed.is_empty() {
            return Ok(first);
        }
        with(Steps { precisions: precisions.by(), ..steps }, None)
    }

    /// Returns the value and the partials of a native model at point `i`.
    fn call(
        &self,
        calls: &PointCalls,
        steps: Steps<'_>,
        columns: &[Values<'_>],
        i: usize,
        signs: Option<&Mutex<Signs>>,
    ) -> Result<(f64, Vec<f64>)> {
        let x: Vec<f64> = columns.iter().map(|c| c.at(i)).collect();
        let count = self.params.len();
        guarded(i, || {
            let value = (calls.value)(&x, self.params);
            let mut partials = vec![0.0; count];
            if let Some(jacobian) = &calls.jacobian {
                let mut all = vec![f64::NAN; count];
                jacobian(&x, self.params, &mut all);
                self.by.iter().for_each(|&k| partials[k] = all[k]);
            } else {
                let (mut work, mut found) = (vec![0.0; count], vec![0.0; self.by.len()]);
                let mut seen = signs.map(|_| Signs::new(self.by.len()));
                let at = (&*calls.value, &x[..], value);
                let by = (self.params, self.by);
                steps.differences(at, by, &mut work, &mut found, |j, values, whole| {
                    if let Some(seen) = &mut seen {
                        seen.see(j, values, whole);
                    }
                });
                if let (Some(signs), Some(seen)) = (signs, seen) {
                    lock(signs).merge(&seen);
                }
                self.by.iter().zip(found).for_each(|(&k, partial)| partials[k] = partial);
            }
            (value, partials)
        })
    }
}

/// Calls the user's code for point `i` of a prediction, and converts a panic into an error.
fn guarded<R>(i: usize, call: impl FnOnce() -> R) -> Result<R> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| Error::ModelPanicked {
        message: panic_message(&*panic),
        place: format!("point {i} of a prediction"),
    })
}

/// Returns the result of `one` for each of `n` points. Each thread processes several points at a time.
fn of_points<R: Send>(n: usize, one: impl Fn(usize) -> Result<R> + Sync) -> Result<Vec<R>> {
    let of_piece = |points: Range<usize>| points.map(&one).collect::<Result<Vec<R>>>();
    let mut all = Vec::with_capacity(n);
    for made in threads::map(Pieces::of_calls(n).ranges(), of_piece) {
        all.append(&mut made?);
    }
    Ok(all)
}
