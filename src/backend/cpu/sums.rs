//! Passes over the points, which compute normal equations and R factors piece by piece.

use super::arrays::{ArrayPass, ArrayRequest, Differences};
use super::assembly::{Assembled, Estimate, Rows, Same, Shared, Table, Weighted, in_a_row};
use super::closest::BlockPoints;
use super::code::BLOCK;
use super::flags::Flags;
use super::gather::{COPY, gather_used};
use super::gram::LANES;
use super::prepared::PassNumbers;
use super::rows::BlockValues;
use super::worker::{Task, Worker};
use super::{Cpu, ITERATION_FLOOR, Pass, PreparedForm};
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Weights;
use crate::data::validate_stream::PIECE;
use crate::data::values::Values;
use crate::model::native::{Calls, Steps};
use crate::normal::{Normal, RFactor, Summary, Tree};
use crate::observe::span;
use crate::solver::outcome::Fault;
use std::sync::OnceLock;

/// Maximum number of pieces that one call of machine code sums.
const AHEAD: usize = 32;

/// Points of a piece as (start, end), and the end of the points of its task.
type Stretch = ((usize, usize), usize);

/// Form in which machine code sums the products of a pass.
struct Form<'f> {
    code: &'f Assembled,
    weighted: Weighted,
    estimate: Estimate,
    same: Same<'f>,
    /// The standard deviations of the points, if each has its own.
    sigma: Option<&'f [f64]>,
}

impl<'f> Form<'f> {
    /// Returns the rows of these arrays: columns, response, sigmas and, if `has_flags`, flags.
    fn rows<'r>(&'r self, arrays: &'r [Values<'r>], has_flags: bool) -> Rows<'r> {
        let Form { weighted, estimate, same, .. } = *self;
        Rows { arrays, has_flags, weighted, estimate, same }
    }
}

impl Cpu<'_> {
    /// Computes the sums of each piece with `piece`. If the sums of a piece are not finite, they are computed again
    /// with the program as traced: the program whose constant factors are collected (`model/collect.rs`) may have left
    /// the range of f64. `first`: number of the first piece.
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
                worker.flags.forget();
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

    /// Computes the normal equations of all pieces and stores them in the scratch.
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
            // Partials are not needed if the cost is too high or NaN.
            if cost.is_nan() || cost >= worthless {
                return Ok(());
            }
            self.call_arrays(params, |arrays, request| {
                arrays.partials(request, Differences::Forward)
            })?;
        } else {
            // The last digits of the solution, second derivatives and the covariance need central differences.
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
                let mut flags = std::mem::take(&mut worker.flags);
                let used = self.flags_in_place(pass, stretch, &mut flags);
                let (kernels, outputs) = (self.kernels, pass.outputs);
                worker.rows.reserve(outputs.len());
                worker.rows.clear();
                let form = self.assembled_form(pass, columns);
                let form = form.as_ref();
                let form_in_place = form.filter(|_| !self.picks_used(used));
                let done = form_in_place
                    .map_or(0, |form| self.assembled_sums(form, stretch, used, worker));
                let used = used.map(|used| &used[done..end - start]);
                let start = start + done;
                let assembled = |worker: &mut Worker, points: (usize, usize)| {
                    let used = used.map(|used| &used[points.0 - start..]);
                    form.map_or(points.0, |form| self.assembled_piece(form, points, used, worker))
                };
                let products = |worker: &mut Worker, points: BlockPoints<'_>| {
                    let Worker { machine, rows, .. } = worker;
                    let view = BlockValues { machine, points, outputs };
                    rows.add_products(kernels, &weighting, &view);
                };
                let points = (start, end);
                let done = self.remaining_blocks(pass, points, used, worker, assembled, products);
                worker.rows.finish(squares, normal);
                worker.flags = flags;
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

    /// Returns the flags of the points of a piece and of following ones, if the pass evaluates the model at the points to
    /// leave out, too, and replaces their rows by 0. A custom loss may have no second derivative at the residual 0.
    fn flags_in_place<'f>(
        &self,
        pass: Pass<'_>,
        ((start, _), until): Stretch,
        flags: &'f mut Flags,
    ) -> Option<&'f [u8]> {
        let points = self.points;
        let is_possible = points.is_filtered()
            && pass.code.is_some()
            && points.x_sigma.is_exact()
            && !matches!(self.loss, Loss::Custom { .. });
        let until = until.min(start + AHEAD * PIECE);
        is_possible.then(|| flags.of_pieces(points, (start, until))).flatten()
    }

    /// Initialises the sums of a piece with machine code, if machine code supports this pass. Returns the number of
    /// leading points that the sums include. One call of machine code also sums the following pieces, up to point
    /// `until`, because the processor can prefetch memory as long as the loop is not interrupted.
    fn assembled_sums(
        &self,
        form: &Form<'_>,
        ((start, end), until): Stretch,
        used: Option<&[u8]>,
        worker: &mut Worker,
    ) -> usize {
        let k = form.code.outputs.len();
        let sums = LANES * form.estimate.sums(k);
        if !worker.ahead.has(start) {
            let mut ahead = std::mem::take(&mut worker.ahead);
            let until = until.min(used.map_or(start + AHEAD * PIECE, |used| start + used.len()));
            ahead.begin = start;
            ahead.sums.clear();
            let whole = (until - start) / LANES * LANES;
            ahead.sums.resize(sums * whole.div_ceil(PIECE), 0.0);
            let table = &mut worker.machine.table;
            let run = (start, until);
            ahead.end = start + self.assembled_run(form, run, used, table, &mut ahead.sums);
            worker.ahead = ahead;
        }
        let Worker { rows, ahead, .. } = worker;
        let done = ahead.end.min(end).saturating_sub(start);
        if done > 0 {
            let piece = (start - ahead.begin) / PIECE;
            rows.set_sums(k, &ahead.sums[piece * sums..][..sums]);
        }
        done
    }

    /// Adds the products of points to the sums of their pieces with machine code, if it supports the number types of the
    /// arrays. `used`: the flags of the points, if some are left out. Returns the number of leading points that were added.
    fn assembled_run(
        &self,
        form: &Form<'_>,
        (start, end): (usize, usize),
        used: Option<&[u8]>,
        table: &mut Table,
        sums: &mut [f64],
    ) -> usize {
        let points = self.points;
        let columns = points.columns[..form.code.columns.min(points.columns.len())].iter();
        if !form.code.is_worthwhile(end - start) {
            return 0;
        }
        let sigma = form.sigma.map(Values::F64);
        let values = columns.chain([&points.y]).chain(&sigma);
        let flags = used.map(|used| Values::U8(&used[..end - start]));
        let values = values.map(|values| values.part(start..end)).chain(flags);
        let Some(arrays) = in_a_row(values.map(Some)) else { return 0 };
        form.code.add_sums(self.kernels.vectors, &form.rows(&arrays, used.is_some()), table, sums)
    }

    /// Adds the products of the used points of `start..end`, a part of a piece, to the sums of the worker with machine
    /// code. Their values are copied in f64, and those of points to leave out, too, if `used` contains the flags.
    /// Returns the point at which to continue: the first one that was not added, or `end`.
    fn assembled_piece(
        &self,
        form: &Form<'_>,
        (start, end): (usize, usize),
        used: Option<&[u8]>,
        worker: &mut Worker,
    ) -> usize {
        let vectors = self.kernels.vectors;
        if end - start < LANES
            || !form.code.is_worthwhile(BLOCK.min(end - start))
            || !form.code.can_add_sums(vectors, &form.rows(&[], used.is_some()))
        {
            return start;
        }
        let points = self.points;
        let Worker { machine, rows, sums, gathered, .. } = worker;
        let columns = points.columns[..form.code.columns.min(points.columns.len())].iter();
        let sigma = form.sigma.map(Values::F64);
        let values = columns.chain([&points.y]).chain(&sigma);
        let Some(values) = in_a_row(values.copied().map(Some)) else { return start };
        gathered.resize(values.len() * COPY, 0.0);
        let picks = self.picks_used(used);
        let len = if picks {
            gather_used(vectors, points, (start, end), &values, gathered)
        } else {
            let copies = values.iter().zip(gathered.chunks_mut(COPY));
            copies.for_each(|(values, copy)| values.copy_to(start, &mut copy[..end - start]));
            end - start
        };
        let whole = len / LANES * LANES;
        let arrays = gathered.chunks(COPY).map(|array| Values::F64(&array[..whole]));
        let arrays = arrays.chain(used.map(|used| Values::U8(&used[..whole])));
        let Some(arrays) = in_a_row(arrays.map(Some)) else { return start };
        let k = form.code.outputs.len();
        rows.copy_sums(k, form.estimate.has_costs(), sums);
        let of_piece = form.rows(&arrays, used.is_some());
        let done = form.code.add_sums(vectors, &of_piece, &mut machine.table, sums);
        if done > 0 {
            rows.set_sums(k, sums);
        }
        if picks { points.last_used(end, len - done) } else { start + done }
    }

    /// Returns the form in which machine code sums the products of this pass; `None` if it does not support the pass.
    fn assembled_form<'f>(&'f self, pass: Pass<'f>, scales: &[f64]) -> Option<Form<'f>> {
        let points = self.points;
        let is_supported = points.x_sigma.is_exact()
            && self.most_weight == f64::INFINITY
            && scales.iter().all(|&scale| scale == 1.0);
        let code = pass.code.filter(|_| is_supported)?;
        let estimate = Estimate::of(self.loss, points.estimator)?;
        let (weighted, weight, sigma) = match points.sigma {
            _ if estimate == Estimate::Counts => (Weighted::Not, 1.0, None),
            Weights::Equal | Weights::Covariance { .. } if points.units.row == 1.0 => {
                (Weighted::Not, 1.0, None)
            }
            Weights::Equal | Weights::Covariance { .. } | Weights::Constant(_) => {
                (Weighted::Alike, points.weight(0), None)
            }
            Weights::Each { sigma, .. } => (Weighted::BySigma, points.units.row, Some(sigma)),
        };
        let most = points.darkest().recip();
        let shared = Shared::of(weight, self.loss, points.estimator, most);
        Some(Form { code, weighted, estimate, same: Same::OfOne(pass.uniforms, shared), sigma })
    }

    /// Computes the R factors of all pieces and stores them in the scratch.
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

    /// Writes the normal equations of all points to `out`.
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

    /// Writes the R factor of all points to `out`.
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

    /// Appends the normal equations of all points to `sums`. These points follow the points that `sums` contains.
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

    /// Appends the R factors of all points to `sums`. These points follow the points that `sums` contains.
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
    /// Returns the request for a model that is called with all points at once; `None` for other models.
    pub(super) fn array_request<'r>(&'r self, params: &'r [f64]) -> Option<ArrayRequest<'r>> {
        let PreparedForm::Native { native, bounds, .. } = &self.model.kind else { return None };
        let Calls::Arrays(calls) = &native.calls else { return None };
        let steps = Steps { bounds, least: &self.scratch.least, precisions: &[] };
        let (free, patience) = (&self.model.free, self.patience);
        Some(ArrayRequest { calls, params, free, steps, patience, parallel: !self.alone })
    }

    /// Runs `work` if the model is called with all points at once.
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

    /// Computes values and partials of a model that is called with all points at once.
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
