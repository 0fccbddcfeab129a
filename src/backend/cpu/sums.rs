//! Passes over the chunks of the points: normal equations and triangular factors, of all of them
//! together or piece by piece.

use super::arrays::{ArrayPass, ArrayRequest, Differences};
use super::assembly::{Assembled, Rows, Same, Weighted, in_a_row};
use super::closest::ClosestPoints;
use super::machine::Machine;
use super::rows::{BlockRows, BlockValues};
use super::{Cpu, ITERATION_FLOOR, Pass, PreparedForm};
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Weights;
use crate::data::values::Values;
use crate::model::native::{Calls, Steps};
use crate::normal::{Normal, RFactor, Summary, Tree};
use crate::observe::span;
use crate::solver::outcome::Fault;
use std::cell::Cell;

impl Cpu<'_> {
    /// Sums up each chunk by `chunk` into a slot of its own.
    fn sum_up<S: Summary>(
        &self,
        slots: &mut [(S, Option<Fault>)],
        chunk: impl Fn(&mut Worker, (usize, usize), &mut S) -> Result<(), Fault> + Sync,
    ) -> Result<(), Fault> {
        self.chunks.for_each(slots, self.parallel, |start, end, (sums, fault)| {
            let _span = span!(TRACE, "piece", points = end - start);
            *fault = Worker::with(|worker| chunk(worker, (start, end), sums)).err();
        });
        slots.iter_mut().find_map(|(_, fault)| fault.take()).map_or(Ok(()), Err)
    }

    /// The normal equations of each chunk, in order; `merge` is called once more for each if the first
    /// result is not `sound`.
    pub(super) fn normals(
        &mut self,
        params: &[f64],
        columns: &[f64],
        mut merge: impl FnMut(&mut [(Normal, Option<Fault>)]) -> bool,
    ) -> Result<(), Fault> {
        let worthless = std::mem::replace(&mut self.worthless, f64::INFINITY);
        let outputs = self.model.outputs();
        if worthless < f64::INFINITY && self.array_request(params).is_some() {
            self.call_arrays(params, |arrays, request| {
                arrays.clear(outputs);
                arrays.values(request)
            })?;
            self.normal_pass(params, columns, &mut merge)?;
            let cost: f64 = self.scratch.normals.iter().map(|(normal, _)| normal.cost).sum();
            // Nor are partials of use where values are not numbers.
            if cost.is_nan() || cost >= worthless {
                return Ok(());
            }
            self.call_arrays(params, |arrays, request| {
                arrays.partials(request, Differences::Forward)
            })?;
        } else {
            // Last digits, second derivatives and the covariance are made of these.
            self.fill_arrays(params, Differences::Central)?;
        }
        self.normal_pass(params, columns, &mut merge)
    }

    fn normal_pass(
        &mut self,
        params: &[f64],
        columns: &[f64],
        merge: &mut impl FnMut(&mut [(Normal, Option<Fault>)]) -> bool,
    ) -> Result<(), Fault> {
        let mut numbers = std::mem::take(&mut self.scratch.numbers);
        let mut normals = std::mem::take(&mut self.scratch.normals);
        let weighting = self.weighting(columns, ITERATION_FLOOR);
        let squares = self.loss == Loss::Linear && self.points.estimator == Estimator::LeastSquares;
        let outcome = Pass::sound(self.model, params, &mut numbers, |pass| {
            let (kernels, outputs) = (self.kernels, pass.outputs);
            self.sum_up(&mut normals, |worker, (start, end), normal| {
                worker.rows.reserve(outputs.len());
                worker.rows.clear();
                let start = start + self.assembled_sums(pass, (start, end), columns, worker);
                let done = self.blocks(pass, (start, end), worker, |worker, points| {
                    let Worker { machine, rows, .. } = worker;
                    let view = BlockValues { machine, points, outputs };
                    rows.add_products(kernels, &weighting, &view);
                });
                worker.rows.finish(squares, normal);
                done
            })?;
            Ok(merge(&mut normals))
        });
        (self.scratch.numbers, self.scratch.normals) = (numbers, normals);
        outcome
    }

    /// Adds the products of the first of these points by machine code, where they are summed up as they are, and
    /// returns how many these are.
    fn assembled_sums(
        &self,
        pass: Pass<'_>,
        (start, end): (usize, usize),
        scales: &[f64],
        worker: &mut Worker,
    ) -> usize {
        let points = self.points;
        let is_plain = self.loss == Loss::Linear
            && points.estimator == Estimator::LeastSquares
            && !points.is_filtered()
            && points.x_sigma.is_exact()
            && self.most_weight == f64::INFINITY
            && scales.iter().all(|&scale| scale == 1.0);
        let is_wanted = |code: &&Assembled| is_plain && code.is_worthwhile(end - start);
        let Some(code) = pass.code.filter(is_wanted) else { return 0 };
        let (weighted, shared, weights) = match points.sigma {
            Weights::Equal | Weights::Covariance(_) if points.units.row == 1.0 => {
                (Weighted::Not, 1.0, None)
            }
            Weights::Equal | Weights::Covariance(_) | Weights::Constant(_) => {
                (Weighted::Alike, points.weight(0), None)
            }
            Weights::Each { sigma, .. } => (Weighted::BySigma, points.units.row, Some(sigma)),
        };
        let columns = points.columns[..code.columns.min(points.columns.len())].iter();
        let doubles = columns.chain([&points.y]).map(|values| match values {
            Values::F64(values) => Some(&values[start..end]),
            _ => None,
        });
        let arrays = doubles.chain(weights.map(|sigma| Some(&sigma[start..end])));
        let Some(arrays) = in_a_row(arrays) else { return 0 };
        let same = Same::OfOne(pass.uniforms, shared);
        let rows = Rows { arrays: &arrays, weighted, same };
        let Worker { machine, rows: sums, .. } = worker;
        let sums = sums.sums(pass.outputs.len());
        code.add_sums(self.kernels.vectors, &rows, &mut machine.table, sums)
    }

    /// The triangular factor of each chunk, as [`normals`](Cpu::normals).
    pub(super) fn factors(
        &mut self,
        params: &[f64],
        columns: &[f64],
        mut merge: impl FnMut(&mut [(RFactor, Option<Fault>)]) -> bool,
    ) -> Result<(), Fault> {
        self.fill_arrays(params, Differences::Central)?;
        let mut numbers = std::mem::take(&mut self.scratch.numbers);
        let mut factors = std::mem::take(&mut self.scratch.factors);
        let free = self.model.free.len();
        factors.resize_with(self.chunks.count(), || (RFactor::zero(free), None));
        let weighting = self.weighting(columns, 0.0);
        let outcome = Pass::sound(self.model, params, &mut numbers, |pass| {
            let (kernels, outputs) = (self.kernels, pass.outputs);
            self.sum_up(&mut factors, |worker, range, factor| {
                factor.clear();
                worker.rows.clear();
                let done = self.blocks(pass, range, worker, |worker, points| {
                    let Worker { machine, rows, .. } = worker;
                    let view = BlockValues { machine, points, outputs };
                    rows.fold(kernels, &weighting, &view, factor);
                });
                factor.influence = worker.rows.influence();
                done
            })?;
            Ok(merge(&mut factors))
        });
        (self.scratch.numbers, self.scratch.factors) = (numbers, factors);
        outcome
    }

    /// Tries that pieces which are not sound have had before the first pass: a native model has one only.
    fn tries(&self) -> usize {
        usize::from(matches!(self.model.kind, PreparedForm::Native { .. }))
    }

    /// Adds the normal equations of these points, piece by piece.
    pub(crate) fn add_normal(
        &mut self,
        params: &[f64],
        columns: &[f64],
        sums: &mut Tree<Normal>,
    ) -> Result<(), Fault> {
        let mut tries = self.tries();
        self.normals(params, columns, |pieces| add_pieces(pieces, sums, &mut tries))
    }

    /// Adds the triangular factor of these points, piece by piece.
    pub(crate) fn add_factor(
        &mut self,
        params: &[f64],
        columns: &[f64],
        sums: &mut Tree<RFactor>,
    ) -> Result<(), Fault> {
        let mut tries = self.tries();
        self.factors(params, columns, |pieces| add_pieces(pieces, sums, &mut tries))
    }
}

impl Cpu<'_> {
    /// The model's calls, if it is called once for all points.
    pub(super) fn array_request<'r>(&'r self, params: &'r [f64]) -> Option<ArrayRequest<'r>> {
        let PreparedForm::Native { native, bounds, .. } = &self.model.kind else { return None };
        let Calls::Arrays(calls) = &native.calls else { return None };
        let steps = Steps { bounds, least: &self.scratch.least };
        let (free, patience) = (&self.model.free, self.patience);
        Some(ArrayRequest { calls, params, free, steps, patience, parallel: !self.alone })
    }

    /// Calls a model of all points, once for its values or for its partials too.
    pub(super) fn call_arrays(
        &mut self,
        params: &[f64],
        work: impl FnOnce(&mut ArrayPass, ArrayRequest<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut arrays = std::mem::take(&mut self.scratch.arrays);
        let called = match self.array_request(params) {
            Some(request) => work(&mut arrays, request),
            None => Ok(()),
        };
        self.scratch.arrays = arrays;
        called
    }

    /// Values and partials of a model of all points.
    pub(super) fn fill_arrays(
        &mut self,
        params: &[f64],
        differences: Differences,
    ) -> Result<(), Fault> {
        self.call_arrays(params, |arrays, request| {
            arrays.values(request)?;
            arrays.partials(request, differences)
        })
    }
}

/// Adds pieces if they are sound, or however they are if they were made a second time. Returns whether
/// they were sound.
fn add_pieces<S: Summary + Clone>(
    pieces: &mut [(S, Option<Fault>)],
    sums: &mut Tree<S>,
    tries: &mut usize,
) -> bool {
    let sound = pieces.iter().all(|(piece, _)| piece.is_finite());
    *tries += 1;
    if sound || *tries > 1 {
        pieces.iter_mut().for_each(|(piece, _)| sums.add(piece));
    }
    sound
}

/// Merges all chunks into `out`, and says whether that is sound.
pub(super) fn merge_into<S: Summary>(chunks: &mut [(S, Option<Fault>)], out: &mut S) -> bool {
    out.clear();
    chunks.iter_mut().for_each(|(sums, _)| out.merge(sums));
    out.is_finite()
}

/// Registers, row columns and scratch of one thread, kept between chunks and fits so that a pass allocates
/// nothing.
#[derive(Default)]
pub(super) struct Worker {
    pub(super) machine: Machine,
    pub(super) rows: BlockRows,
    /// Indices of a block's points where some points are passed over.
    pub(super) picked: Vec<usize>,
    /// Where x has errors.
    pub(super) closest: Option<Box<ClosestPoints>>,
    /// One point's independent variables, parameters and partials, for native models.
    pub(super) x: Vec<f64>,
    pub(super) p: Vec<f64>,
    pub(super) partials: Vec<f64>,
}

thread_local! {
    static WORKER: Cell<Option<Box<Worker>>> = const { Cell::new(None) };
}

impl Worker {
    /// Runs `work` with this thread's worker. A fit inside a native model finds it taken and gets a
    /// fresh one.
    pub(super) fn with<R>(work: impl FnOnce(&mut Worker) -> R) -> R {
        let mut worker = WORKER.take().unwrap_or_default();
        let result = work(&mut worker);
        WORKER.set(Some(worker));
        result
    }
}
