//! Passes over the points: normal equations and triangular factors, piece by piece.

use super::arrays::{ArrayPass, ArrayRequest, Differences};
use super::assembly::{Assembled, Rows, Same, Table, Weighted, in_a_row};
use super::closest::ClosestPoints;
use super::gram::LANES;
use super::machine::Machine;
use super::prepared::PassNumbers;
use super::rows::{BlockRows, BlockValues};
use super::{Cpu, ITERATION_FLOOR, Pass, PreparedForm};
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Weights;
use crate::data::validate_stream::PIECE;
use crate::data::values::Values;
use crate::model::native::{Calls, Steps};
use crate::model::precision::Signs;
use crate::normal::{Normal, RFactor, Summary, Tree, pair};
use crate::observe::span;
use crate::solver::outcome::Fault;
use std::cell::Cell;
use std::sync::OnceLock;

/// Pieces that machine code sums up at a time.
const AHEAD: usize = 32;

/// The points of a piece, and where those end whose turn it is next.
type Stretch = ((usize, usize), usize);

/// Some pieces that one thread sums up, one after another.
pub(super) struct Task<S> {
    sums: Tree<S>,
    piece: S,
    fault: Option<Fault>,
}

/// The tasks of passes that sum up an `S`, and the sum of all, kept from pass to pass.
pub(super) struct Tasks<S> {
    tasks: Vec<Task<S>>,
    all: Tree<S>,
}

impl<S> Default for Tasks<S> {
    fn default() -> Tasks<S> {
        Tasks { tasks: Vec::new(), all: Tree::default() }
    }
}

impl<S> Tasks<S> {
    /// Summaries that there is room for.
    pub(super) fn rooms(&self) -> usize {
        2 * self.tasks.len()
    }
}

impl<S: Summary + Clone> Tasks<S> {
    /// Puts the sum of all tasks into `out`.
    fn sum_into(&mut self, out: &mut S) {
        self.all.restart(0);
        self.tasks.iter_mut().for_each(|task| self.all.take(&mut task.sums));
        self.all.sum_into(out);
    }

    /// Adds all tasks to `sums`, which they follow.
    fn add_to(&mut self, sums: &mut Tree<S>) {
        self.tasks.iter_mut().for_each(|task| sums.take(&mut task.sums));
    }
}

impl Cpu<'_> {
    /// Sums up each piece by `piece`, of which the first has the number `first`; once more in a pass without collected factors where
    /// the sums are not finite.
    fn sum_up<S: Summary + Clone>(
        &self,
        (tasks, empty): (&mut Vec<Task<S>>, impl Fn() -> S),
        (params, numbers): (&[f64], &mut PassNumbers),
        first: u64,
        piece: impl Fn(Pass<'_>, &mut Worker, Stretch, &mut S) -> Result<(), Fault> + Sync,
    ) -> Result<(), Fault> {
        let of_task = self.pieces.of_task(self.parallel);
        tasks.resize_with(self.pieces.count().div_ceil(of_task), || Task {
            sums: Tree::default(),
            piece: empty(),
            fault: None,
        });
        let pass = Pass::new(self.model, params, numbers);
        let plain = OnceLock::new();
        self.pieces.for_each((tasks, of_task), self.parallel, |pieces, task| {
            let _span = span!(TRACE, "pieces", count = pieces.len());
            task.sums.restart(first + pieces.start as u64);
            let until = self.pieces.end(pieces.end);
            let done = Worker::with(|worker| {
                worker.ahead.forget();
                for points in self.pieces.points_of(pieces) {
                    piece(pass, worker, (points, until), &mut task.piece)?;
                    if !task.piece.is_finite()
                        && let Some(plain) = Pass::once_more(self.model, params, &plain)
                    {
                        worker.ahead.forget();
                        piece(plain, worker, (points, points.1), &mut task.piece)?;
                        worker.ahead.forget();
                    }
                    task.sums.add(&mut task.piece);
                }
                Ok(())
            });
            task.fault = done.err();
        });
        tasks.iter_mut().find_map(|task| task.fault.take()).map_or(Ok(()), Err)
    }

    /// The normal equations of all pieces, in the scratch.
    fn normals(&mut self, params: &[f64], columns: &[f64], first: u64) -> Result<(), Fault> {
        let worthless = std::mem::replace(&mut self.worthless, f64::INFINITY);
        let outputs = self.model.outputs();
        if worthless < f64::INFINITY && self.array_request(params).is_some() {
            self.call_arrays(params, |arrays, request| {
                arrays.clear(outputs);
                arrays.values(request)
            })?;
            self.normal_pass(params, columns, first)?;
            let tasks = &self.scratch.normals.tasks;
            let cost: f64 =
                tasks.iter().flat_map(|task| task.sums.sums()).map(|sums| sums.cost).sum();
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
        self.normal_pass(params, columns, first)
    }

    fn normal_pass(&mut self, params: &[f64], columns: &[f64], first: u64) -> Result<(), Fault> {
        let mut numbers = std::mem::take(&mut self.scratch.numbers);
        let mut normals = std::mem::take(&mut self.scratch.normals);
        let weighting = self.weighting(columns, ITERATION_FLOOR);
        let squares = self.loss == Loss::Linear && self.points.estimator == Estimator::LeastSquares;
        let free = self.model.free.len();
        let outcome = self.sum_up(
            (&mut normals.tasks, || Normal::zero(free)),
            (params, &mut numbers),
            first,
            |pass, worker, stretch, normal| {
                let ((start, end), _) = stretch;
                let (kernels, outputs) = (self.kernels, pass.outputs);
                worker.rows.reserve(outputs.len());
                worker.rows.clear();
                let start = start + self.assembled_sums(pass, stretch, columns, worker);
                let done = self.blocks(pass, (start, end), worker, |worker, points| {
                    let Worker { machine, rows, .. } = worker;
                    let view = BlockValues { machine, points, outputs };
                    rows.add_products(kernels, &weighting, &view);
                });
                worker.rows.finish(squares, normal);
                done
            },
        );
        (self.scratch.numbers, self.scratch.normals) = (numbers, normals);
        outcome?;
        if self.settle_steps(params)? {
            return self.normal_pass(params, columns, first);
        }
        Ok(())
    }

    /// Begins the sums of a piece with those of its first points that machine code has made, where they are summed up as they
    /// are, and returns how many these are. Machine code makes those of the pieces that follow, up to point `until`, too: the
    /// processor knows what to fetch as long as nothing else is done between.
    fn assembled_sums(
        &self,
        pass: Pass<'_>,
        ((start, end), until): ((usize, usize), usize),
        scales: &[f64],
        worker: &mut Worker,
    ) -> usize {
        let sums = LANES * pair(0, pass.outputs.len());
        if !worker.ahead.has(start) {
            let mut ahead = std::mem::take(&mut worker.ahead);
            let until = until.min(start + AHEAD * PIECE);
            ahead.begin = start;
            ahead.sums.clear();
            ahead.sums.resize(sums * (until - start).div_ceil(PIECE), 0.0);
            let table = &mut worker.machine.table;
            ahead.end =
                start + self.assembled_run(pass, (start, until), scales, table, &mut ahead.sums);
            worker.ahead = ahead;
        }
        let Worker { rows, ahead, .. } = worker;
        let done = ahead.end.min(end).saturating_sub(start);
        if done > 0 {
            let piece = (start - ahead.begin) / PIECE;
            rows.sums(pass.outputs.len()).copy_from_slice(&ahead.sums[piece * sums..][..sums]);
        }
        done
    }

    /// Adds the products of the first of these points by machine code to the sums of their pieces, and returns how many these
    /// are.
    fn assembled_run(
        &self,
        pass: Pass<'_>,
        (start, end): (usize, usize),
        scales: &[f64],
        table: &mut Table,
        sums: &mut [f64],
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
            Weights::Equal | Weights::Covariance { .. } if points.units.row == 1.0 => {
                (Weighted::Not, 1.0, None)
            }
            Weights::Equal | Weights::Covariance { .. } | Weights::Constant(_) => {
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
        code.add_sums(self.kernels.vectors, &rows, table, sums)
    }

    /// The triangular factor of all pieces, in the scratch.
    fn factors(&mut self, params: &[f64], columns: &[f64], first: u64) -> Result<(), Fault> {
        self.fill_arrays(params, Differences::Central)?;
        let mut numbers = std::mem::take(&mut self.scratch.numbers);
        let mut factors = std::mem::take(&mut self.scratch.factors);
        let weighting = self.weighting(columns, 0.0);
        let free = self.model.free.len();
        let outcome = self.sum_up(
            (&mut factors.tasks, || RFactor::zero(free)),
            (params, &mut numbers),
            first,
            |pass, worker, (range, _), factor| {
                let (kernels, outputs) = (self.kernels, pass.outputs);
                factor.clear();
                worker.rows.clear();
                let done = self.blocks(pass, range, worker, |worker, points| {
                    let Worker { machine, rows, .. } = worker;
                    let view = BlockValues { machine, points, outputs };
                    rows.fold(kernels, &weighting, &view, factor);
                });
                factor.influence = worker.rows.influence();
                done
            },
        );
        (self.scratch.numbers, self.scratch.factors) = (numbers, factors);
        outcome?;
        if self.settle_steps(params)? {
            return self.factors(params, columns, first);
        }
        Ok(())
    }

    /// Puts the normal equations of all points into `out`.
    pub(super) fn normal_of_all(
        &mut self,
        params: &[f64],
        columns: &[f64],
        out: &mut Normal,
    ) -> Result<(), Fault> {
        self.normals(params, columns, 0)?;
        self.scratch.normals.sum_into(out);
        Ok(())
    }

    /// Puts the triangular factor of all points into `out`.
    pub(super) fn factor_of_all(
        &mut self,
        params: &[f64],
        columns: &[f64],
        out: &mut RFactor,
    ) -> Result<(), Fault> {
        self.factors(params, columns, 0)?;
        self.scratch.factors.sum_into(out);
        Ok(())
    }

    /// Adds the normal equations of these points, which follow.
    pub(crate) fn add_normal(
        &mut self,
        params: &[f64],
        columns: &[f64],
        sums: &mut Tree<Normal>,
    ) -> Result<(), Fault> {
        self.normals(params, columns, sums.next())?;
        self.scratch.normals.add_to(sums);
        Ok(())
    }

    /// Adds the triangular factor of these points, which follow.
    pub(crate) fn add_factor(
        &mut self,
        params: &[f64],
        columns: &[f64],
        sums: &mut Tree<RFactor>,
    ) -> Result<(), Fault> {
        self.factors(params, columns, sums.next())?;
        self.scratch.factors.add_to(sums);
        Ok(())
    }
}

impl Cpu<'_> {
    /// The model's calls, if it is called once for all points.
    pub(super) fn array_request<'r>(&'r self, params: &'r [f64]) -> Option<ArrayRequest<'r>> {
        let PreparedForm::Native { native, bounds, .. } = &self.model.kind else { return None };
        let Calls::Arrays(calls) = &native.calls else { return None };
        let steps = Steps { bounds, least: &self.scratch.least, precisions: &[] };
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

/// Registers, row columns and scratch of one thread, kept between pieces and fits so that a pass allocates
/// nothing.
#[derive(Default)]
pub(super) struct Worker {
    pub(super) machine: Machine,
    ahead: Ahead,
    pub(super) rows: BlockRows,
    /// Indices of a block's points where some points are passed over.
    pub(super) picked: Vec<usize>,
    /// Where x has errors.
    pub(super) closest: Option<Box<ClosestPoints>>,
    /// One point's independent variables, parameters and partials, for native models.
    pub(super) x: Vec<f64>,
    pub(super) p: Vec<f64>,
    pub(super) partials: Vec<f64>,
    /// Of the precision of their values.
    pub(super) signs: Signs,
    /// Room for residuals and for the points that they are of.
    pub(super) residuals: Vec<f64>,
    pub(super) sampled: Vec<usize>,
}

/// Sums of pieces that machine code has made, eight lanes each.
#[derive(Default)]
struct Ahead {
    /// The points that are in them.
    begin: usize,
    end: usize,
    sums: Vec<f64>,
}

impl Ahead {
    fn has(&self, point: usize) -> bool {
        (self.begin..self.end).contains(&point)
    }

    fn forget(&mut self) {
        self.end = self.begin;
    }
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
