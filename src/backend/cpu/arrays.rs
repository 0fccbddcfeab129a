//! Values and partials of native models that are called with all points at once. Passes copy them block by block.

use super::machine::{Block, Machine};
use crate::data::values::Values;
use crate::model::native::{ArrayCalls, ArrayJacobian, Precision, Steps};
use crate::model::precision::{Moves, Precisions, Signs, Suspicion};
use crate::model::program::panic_message;
use crate::solver::observe::Patience;
use crate::solver::outcome::Fault;
use crate::threads;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Finite differences that replace partials if the model does not supply them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Differences {
    /// One call per parameter, with a relative error of about 1e-8, which does not matter for intermediate steps.
    Forward,
    /// Two calls per parameter.
    Central,
}

/// Arguments and results of a model: columns of the points, values and partials.
#[derive(Default)]
pub(super) struct ArrayPass {
    columns: Vec<Vec<f64>>,
    /// Indices of the points with finite coordinates, if not all are finite. The model receives only these points.
    seen: Option<Vec<usize>>,
    points: usize,
    /// Precision of the values with respect to each parameter, which sets the steps of finite differences.
    pub(super) precisions: Precisions,
    /// Values, then partials with respect to the free parameters; NaN at points that the model does not receive.
    pub(super) outputs: Vec<Vec<f64>>,
}

/// Settings of a call of the model: parameters, steps of differences and limits.
#[derive(Clone, Copy)]
pub(super) struct ArrayRequest<'a> {
    pub(super) calls: &'a ArrayCalls,
    pub(super) params: &'a [f64],
    /// Positions of the parameters with respect to which partials are computed, ascending.
    pub(super) free: &'a [usize],
    pub(super) steps: Steps<'a>,
    pub(super) patience: Patience<'a>,
    /// If true, several threads may call the model.
    pub(super) parallel: bool,
}

impl<'a> ArrayRequest<'a> {
    /// Creates the request for a prediction: on all threads, without a time limit.
    pub(super) fn new(
        calls: &'a ArrayCalls,
        params: &'a [f64],
        free: &'a [usize],
        steps: Steps<'a>,
    ) -> ArrayRequest<'a> {
        let patience = Patience::default();
        ArrayRequest { calls, params, free, steps, patience, parallel: true }
    }

    /// Returns the same request with steps for values of these precisions.
    fn with(self, precisions: &'a [Precision]) -> ArrayRequest<'a> {
        ArrayRequest { steps: Steps { precisions, ..self.steps }, ..self }
    }
}

impl ArrayPass {
    /// Creates a pass over the `n` points of `columns` with `outputs` arrays of zeros.
    pub(super) fn of(columns: &[Values<'_>], n: usize, outputs: usize) -> ArrayPass {
        let mut arrays = ArrayPass::default();
        arrays.load(columns, n);
        arrays.clear(outputs);
        arrays
    }

    /// Copies the coordinates of `n` points. The model is called with all points of finite coordinates, including
    /// points that the fit leaves out, since its value at a point may depend on the other points.
    pub(super) fn load(&mut self, columns: &[Values<'_>], n: usize) {
        let finite = |i: usize| columns.iter().all(|column| column.at(i).is_finite());
        let whole = columns.iter().all(Values::is_finite);
        self.seen = (!whole).then(|| (0..n).filter(|&i| finite(i)).collect());
        self.points = n;
        self.columns.resize_with(columns.len(), Vec::new);
        for (column, values) in self.columns.iter_mut().zip(columns) {
            column.resize(self.seen.as_ref().map_or(n, Vec::len), 0.0);
            match &self.seen {
                Some(seen) => values.pick(seen, column),
                None => values.copy_to(0, column),
            }
        }
    }

    /// Sets the outputs to `outputs` arrays of zeros.
    pub(super) fn clear(&mut self, outputs: usize) {
        self.outputs.resize_with(outputs, Vec::new);
        for output in &mut self.outputs {
            output.clear();
            output.resize(self.points, 0.0);
        }
    }

    /// Computes the values.
    pub(super) fn values(&mut self, request: ArrayRequest<'_>) -> Result<(), Fault> {
        let mut values = std::mem::take(&mut self.outputs[0]);
        let called = self.call(request, request.params, &mut values);
        self.outputs[0] = values;
        called
    }

    /// Computes the partials. The values must have been computed.
    pub(super) fn partials(
        &mut self,
        request: ArrayRequest<'_>,
        differences: Differences,
    ) -> Result<(), Fault> {
        let mut outputs = std::mem::take(&mut self.outputs);
        let (values, partials) = outputs.split_at_mut(1);
        let made = match &request.calls.jacobian {
            Some(jacobian) => self.given(request, &**jacobian, partials),
            None => self.numerical(request, &values[0], partials, differences),
        };
        self.outputs = outputs;
        made
    }

    /// Computes the partials with the Jacobian function of the model.
    fn given(
        &self,
        request: ArrayRequest<'_>,
        jacobian: &ArrayJacobian,
        partials: &mut [Vec<f64>],
    ) -> Result<(), Fault> {
        request.patience.check()?;
        let columns = self.seen_columns();
        let n = self.seen.as_ref().map_or(self.points, Vec::len);
        // A partial that the model does not set must not keep the number of a previous call.
        let mut all = vec![vec![f64::NAN; n]; request.params.len()];
        let mut rows: Vec<&mut [f64]> = all.iter_mut().map(Vec::as_mut_slice).collect();
        guarded(request, || jacobian(&columns, request.params, &mut rows))?;
        for (&k, partial) in request.free.iter().zip(partials) {
            self.spread(&all[k], partial);
        }
        Ok(())
    }

    /// Computes the partials by finite differences, whose steps depend on the precision of the values.
    fn numerical(
        &mut self,
        request: ArrayRequest<'_>,
        values: &[f64],
        partials: &mut [Vec<f64>],
        differences: Differences,
    ) -> Result<(), Fault> {
        let mut precisions = std::mem::take(&mut self.precisions);
        let done = self.measured(request, (values, partials), differences, &mut precisions);
        self.precisions = precisions;
        done
    }

    /// Computes finite differences. Repeats the differences whose steps are too short for the precision of the values.
    fn measured(
        &self,
        request: ArrayRequest<'_>,
        (values, partials): (&[f64], &mut [Vec<f64>]),
        differences: Differences,
        precisions: &mut Precisions,
    ) -> Result<(), Fault> {
        let ArrayRequest { params, free, steps, .. } = request;
        let first = differences == Differences::Central && !precisions.are_examined();
        let at = request.with(precisions.by());
        let one = |((j, &k), partial): ((usize, &usize), &mut Vec<f64>)| -> Result<Seen, Fault> {
            match differences {
                Differences::Forward => {
                    Ok((None, self.forward(at, k, values, partial)?.suspicion()))
                }
                Differences::Central => {
                    let mut signs = first.then(|| Signs::new(free.len()));
                    self.central(at, (j, k), values, partial, signs.as_mut())?;
                    Ok((signs, None))
                }
            }
        };
        let each = free.iter().enumerate().zip(partials.iter_mut());
        let seen: Vec<Seen> = if request.parallel && request.calls.parallel && free.len() > 1 {
            threads::map(each, one).into_iter().collect::<Result<_, Fault>>()?
        } else {
            each.map(one).collect::<Result<_, Fault>>()?
        };
        let suspicions: Vec<Option<Suspicion>> = if first {
            let mut all = Signs::new(free.len());
            seen.iter().filter_map(|(signs, _)| signs.as_ref()).for_each(|signs| all.merge(signs));
            all.suspicions()
        } else {
            seen.into_iter().map(|(_, suspicion)| suspicion).collect()
        };
        let at = (params, free);
        let changed = precisions.examine(&suspicions, steps, at, |p| self.values_at(request, p))?;
        if changed.is_empty() {
            return Ok(());
        }
        let at = request.with(precisions.by());
        for (j, (&k, partial)) in free.iter().zip(partials).enumerate() {
            match differences {
                _ if !changed.contains(&k) => {}
                Differences::Forward => drop(self.forward(at, k, values, partial)?),
                Differences::Central => self.central(at, (j, k), values, partial, None)?,
            }
        }
        Ok(())
    }

    /// Measures the noise of the values along all parameters for which the precision was not measured yet.
    pub(super) fn look_for_noise(&mut self, request: ArrayRequest<'_>) -> Result<(), Fault> {
        if request.calls.jacobian.is_some() {
            return Ok(());
        }
        let ArrayRequest { params, free, steps, .. } = request;
        let mut precisions = std::mem::take(&mut self.precisions);
        let (suspicions, at) = (vec![Some(Suspicion::OF_NOISE); free.len()], (params, free));
        let done = precisions.examine(&suspicions, steps, at, |p| self.values_at(request, p));
        self.precisions = precisions;
        done.map(drop)
    }

    /// Computes forward differences with respect to parameter `k`. `partial`: contains the previous partials, and is
    /// overwritten.
    fn forward(
        &self,
        request: ArrayRequest<'_>,
        k: usize,
        values: &[f64],
        partial: &mut [f64],
    ) -> Result<Moves, Fault> {
        let before = partial.to_vec();
        let step = self.moved(request, k, request.steps.beside(request.params, k), partial)?;
        let mut moves = Moves::default();
        for ((p, &value), before) in partial.iter_mut().zip(values).zip(before) {
            let change = *p - value;
            moves.see(value, change, before * step);
            *p = change / step;
        }
        Ok(moves)
    }

    /// Computes central differences with respect to parameter `k`, which is free parameter number `j`.
    fn central(
        &self,
        request: ArrayRequest<'_>,
        (j, k): (usize, usize),
        values: &[f64],
        partial: &mut [f64],
        mut signs: Option<&mut Signs>,
    ) -> Result<(), Fault> {
        let ArrayRequest { params, steps, .. } = request;
        let (above, below) = steps.around(params, k);
        let mut lower = vec![f64::NAN; self.points];
        self.moved(request, k, below, &mut lower)?;
        self.moved(request, k, above, partial)?;
        let whole = steps.is_whole(params, k);
        for ((p, lower), &value) in partial.iter_mut().zip(lower).zip(values) {
            if let Some(signs) = &mut signs {
                signs.see(j, [lower, value, *p], whole);
            }
            *p = (*p - lower) / (above - below);
        }
        Ok(())
    }

    /// Writes the values with parameter `k` set to `to` into `out`. Returns the change of the parameter.
    fn moved(
        &self,
        request: ArrayRequest<'_>,
        k: usize,
        to: f64,
        out: &mut [f64],
    ) -> Result<f64, Fault> {
        let mut moved = request.params.to_vec();
        moved[k] = to;
        self.call(request, &moved, out)?;
        Ok(to - request.params[k])
    }

    /// Returns the values at other parameters.
    fn values_at(&self, request: ArrayRequest<'_>, params: &[f64]) -> Result<Vec<f64>, Fault> {
        let mut out = vec![f64::NAN; self.points];
        self.call(request, params, &mut out).map(|()| out)
    }

    /// Calls the model.
    fn call(
        &self,
        request: ArrayRequest<'_>,
        params: &[f64],
        out: &mut [f64],
    ) -> Result<(), Fault> {
        request.patience.check()?;
        let columns = self.seen_columns();
        let request = ArrayRequest { params, ..request };
        // A value that the model does not set must not keep the number of a previous call.
        match &self.seen {
            None => {
                out.fill(f64::NAN);
                guarded(request, || (request.calls.value)(&columns, params, out))
            }
            Some(seen) => {
                let mut found = vec![f64::NAN; seen.len()];
                guarded(request, || (request.calls.value)(&columns, params, &mut found))?;
                self.spread(&found, out);
                Ok(())
            }
        }
    }

    /// Returns the coordinates of the points that the model receives.
    fn seen_columns(&self) -> Vec<&[f64]> {
        self.columns.iter().map(Vec::as_slice).collect()
    }

    /// Copies the numbers of the points that the model received to the positions of these points. Sets all other
    /// positions to NaN.
    fn spread(&self, found: &[f64], out: &mut [f64]) {
        match &self.seen {
            None => out.copy_from_slice(found),
            Some(seen) => {
                out.fill(f64::NAN);
                seen.iter().zip(found).for_each(|(&i, &v)| out[i] = v);
            }
        }
    }

    /// Copies the outputs of a block to the first registers.
    pub(super) fn copy(&self, block: Block<'_>, len: usize, machine: &mut Machine) {
        for (output, register) in self.outputs.iter().zip(&mut machine.registers) {
            let Some(lanes) = register else { continue };
            let out = &mut lanes.0[..len];
            match block {
                Block::Run(start) => out.copy_from_slice(&output[start..start + len]),
                Block::Picked(index) => {
                    out.iter_mut().zip(index).for_each(|(o, &i)| *o = output[i]);
                }
            }
        }
    }
}

/// Evidence that the values are imprecise, from the differences with respect to one parameter: `Signs` (counts of
/// conspicuous changes) from the first central differences, or a `Suspicion` from forward differences.
type Seen = (Option<Signs>, Option<Suspicion>);

/// Calls the user's code, and converts a panic into a fault.
fn guarded(request: ArrayRequest<'_>, call: impl FnOnce()) -> Result<(), Fault> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| Fault::Panicked {
        message: panic_message(&*panic),
        point: None,
        params: request.params.to_vec(),
    })
}
