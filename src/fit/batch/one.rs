//! One fit of a batch: what [`Request`](crate::fit::engine::Request) does for a single fit, in room that
//! is kept from fit to fit, with its errors as statuses.

use super::arrays::Part;
use super::engine::BatchRequest;
use super::errors::{About, Errors, Out};
use super::status::FitStatus;
use crate::backend::cpu::{Cpu, Scratch};
use crate::backend::{Begun, Evaluator};
use crate::constants::WELL_CONDITIONED;
use crate::data::batch::BatchSigma;
use crate::data::estimator::Estimator;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::fit::approach::judged;
use crate::normal::{Normal, RFactor, Summary};
use crate::solver::bounds::Limits;
use crate::solver::levels::{inside, last_step, sharpened};
use crate::solver::linear_model::LinearModel;
use crate::solver::minimise::{Failure, Outcome, Room};
use crate::solver::observe::Observer;
use crate::solver::options::Options;
use crate::solver::problem::Problem;
use crate::solver::termination::Termination;
use crate::solver::work::Work;
use std::cmp::Ordering;
use std::time::Instant;

/// All that fits need beside their data. A fit allocates nothing unless its Jacobian is
/// ill-conditioned, it fails, or it has more points than any before it and they must be widened.
pub(super) struct Bench<'a> {
    pub(super) problem: Problem,
    pub(super) room: Room,
    /// When the fit began.
    begun: Instant,
    /// Counts of the stages before.
    pub(super) first: Work,
    /// The normal equations at the start, where `is_known`, in columns without factors.
    pub(super) known: Normal,
    pub(super) is_known: bool,
    pub(super) ones: Vec<f64>,
    scratch: Scratch,
    columns: Vec<Values<'a>>,
    y: Vec<f64>,
    model: LinearModel,
    factor: RFactor,
    /// That with the full weights of heavy points.
    sharpened: Option<RFactor>,
    errors: Errors,
    estimated: Vec<bool>,
    limits: Vec<(f64, f64)>,
    q: Vec<f64>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(request: &BatchRequest<'a>) -> Bench<'a> {
        let free = &request.prepared.free;
        let n = free.len();
        Bench {
            problem: Problem {
                unused: free.iter().map(|&k| request.unused[k]).collect(),
                free: free.clone(),
                start: vec![0.0; request.names.len()],
                bounds: request.bounds.to_vec(),
                square: 0.0,
                points: 0,
                loss: request.loss,
                row_unit: 1.0,
            },
            room: Room::new(request.names.len(), n),
            begun: request.begun,
            first: Work::default(),
            known: Normal::zero(n),
            is_known: false,
            ones: vec![1.0; n],
            scratch: Scratch::default(),
            columns: Vec::with_capacity(request.data.columns.len()),
            y: Vec::new(),
            model: LinearModel::new(n),
            factor: RFactor::zero(n),
            sharpened: None,
            errors: Errors::new(n),
            estimated: vec![true; n],
            limits: Vec::with_capacity(n),
            q: Vec::with_capacity(n),
        }
    }

    /// Makes the `index`-th fit of `out`.
    pub(super) fn fit(&mut self, request: &BatchRequest<'a>, index: usize, out: &mut Part<'_>) {
        out.statuses[index] = self.attempt(request, index, out).unwrap_or_else(|status| status);
    }

    fn attempt(
        &mut self,
        request: &BatchRequest<'a>,
        index: usize,
        out: &mut Part<'_>,
    ) -> Result<FitStatus, FitStatus> {
        self.with_points(request, out.first + index, |bench, points| {
            bench.fit_points(request, points, index, out)
        })
    }

    /// Takes start, bounds and points of a fit, if they can be used, and does `work` with them.
    pub(super) fn with_points<R>(
        &mut self,
        request: &BatchRequest<'a>,
        fit: usize,
        work: impl FnOnce(&mut Self, &Points<'_>) -> Result<R, FitStatus>,
    ) -> Result<R, FitStatus> {
        self.begin(request, fit)?;
        if let BatchSigma::PerFit(sigma) = request.data.sigma
            && !(sigma[fit] > 0.0 && sigma[fit].is_finite())
        {
            return Err(FitStatus::BadData { point: 0 });
        }
        let mut columns = std::mem::take(&mut self.columns);
        let mut y = std::mem::take(&mut self.y);
        let checked =
            Points::check(request.data.fit(fit, &mut columns, &mut y)).and_then(|mut points| {
                if request.estimator == Estimator::Poisson {
                    points.count_events()?;
                }
                Ok(points)
            });
        let result = checked.map_err(FitStatus::from).and_then(|points| {
            self.set_points(request, &points)?;
            work(self, &points)
        });
        (self.columns, self.y) = (columns, y);
        result
    }

    /// Takes the start, if it is one.
    fn begin(&mut self, request: &BatchRequest<'_>, fit: usize) -> Result<(), FitStatus> {
        let start = request.starts.of(fit, request.names.len());
        self.problem.start.copy_from_slice(start);
        if let Some((lower, upper)) = request.starts.bounds_of(fit, request.names.len()) {
            for &parameter in &self.problem.free {
                let (low, high) = (lower[parameter], upper[parameter]);
                // Not a number is in no order.
                if low.partial_cmp(&high) != Some(Ordering::Less) {
                    return Err(FitStatus::BadBounds { parameter });
                }
                self.problem.bounds[parameter] = (low, high);
            }
        }
        for (parameter, value) in self.problem.start.iter_mut().enumerate() {
            let (lower, upper) = self.problem.bounds[parameter];
            let inside = (lower..=upper).contains(value);
            if !value.is_finite() || !(inside || request.clamp_start) {
                return Err(FitStatus::BadStart { parameter });
            }
            *value = value.clamp(lower, upper);
        }
        Ok(())
    }

    /// What the points say of the problem.
    fn set_points(
        &mut self,
        request: &BatchRequest<'_>,
        points: &Points<'_>,
    ) -> Result<(), FitStatus> {
        let n = self.problem.free.len();
        if points.used < n && !request.underdetermined {
            return Err(FitStatus::TooFewPoints { points: points.used });
        }
        let (square, row) = (points.summary.square, points.units.row);
        self.problem.square = square;
        self.problem.points = points.used;
        self.problem.row_unit = row;
        Ok(())
    }

    fn fit_points(
        &mut self,
        request: &BatchRequest<'_>,
        points: &Points<'_>,
        index: usize,
        out: &mut Part<'_>,
    ) -> Result<FitStatus, FitStatus> {
        let n = self.problem.free.len();
        let mut options = *request.options;
        self.begun = request.clock();
        self.first = Work::default();
        let mut ended = None;
        if let Some(first) = request.loss.first() {
            ended = self.first_stage(request, points, first)?;
        }
        options.max_evaluations = Some(options.evaluations(n));
        self.with_evaluator(request, points, request.loss, |bench, evaluator| {
            bench.stage(request, points, (request.loss, evaluator), &options, ended)?;
            if bench.room.ends.best.termination == Termination::Stopped {
                return Err(FitStatus::NotRun);
            }
            if !bench.factor_of_end(request.loss) {
                // What was reached in time gets its errors.
                evaluator.take_time();
                bench.factor_by(evaluator)?;
            }
            bench.sharpen(evaluator)?;
            Ok(bench.write(points.is_absolute(), request.loss, index, out))
        })
    }

    /// Runs `work` with an evaluator of the points, whose scratch is kept.
    pub(super) fn with_evaluator<R>(
        &mut self,
        request: &BatchRequest<'_>,
        points: &Points<'_>,
        loss: Loss,
        work: impl FnOnce(&mut Self, &mut Cpu<'_>) -> Result<R, FitStatus>,
    ) -> Result<R, FitStatus> {
        let scratch = std::mem::take(&mut self.scratch);
        let start = &self.problem.start;
        let evaluator = Cpu::reusing(scratch, request.prepared, points, loss, start);
        let mut evaluator = evaluator.within(request.patience());
        if request.is_wide() {
            evaluator = evaluator.on_one_thread();
        }
        let result = work(self, &mut evaluator);
        self.scratch = evaluator.into_scratch();
        result
    }

    /// As in a single fit: with the loss whose minimum the second stage starts from. Returns why there is
    /// no more to do than to take the cost there.
    fn first_stage(
        &mut self,
        request: &BatchRequest<'_>,
        points: &Points<'_>,
        loss: Loss,
    ) -> Result<Option<Termination>, FitStatus> {
        let n = self.problem.free.len();
        let most = request.options.evaluations(n).saturating_sub(1);
        if n == 0 || most == 0 {
            return Ok(None);
        }
        let options = Options { max_evaluations: Some(most), ..*request.options };
        self.with_evaluator(request, points, loss, |bench, evaluator| {
            bench.stage(request, points, (loss, evaluator), &options, None)
        })?;
        let end = &self.room.ends.best;
        self.first = end.work;
        self.problem.start.clone_from(&end.params);
        Ok(Some(end.termination).filter(|reason| reason.is_limit()))
    }

    pub(super) fn minimise(
        &mut self,
        request: &BatchRequest<'_>,
        evaluator: &mut dyn Evaluator,
        options: &Options,
        ended: Option<Termination>,
    ) -> Result<(), FitStatus> {
        let (problem, work, begun) = (&self.problem, self.first, self.begun);
        match ended {
            Some(reason) => self.room.evaluate(evaluator, problem, options, begun, work, reason),
            None if problem.free.is_empty() => {
                evaluate_only(evaluator, problem, &mut self.room.ends.best)
            }
            None => {
                let watch = request.cancel.map(|token| token as &Observer);
                let (start, known) = (&problem.start, &self.known);
                let mut from = Begun { inner: evaluator, start, known };
                let evaluator: &mut dyn Evaluator =
                    if self.is_known { &mut from } else { &mut *from.inner };
                self.room.minimise(evaluator, problem, options, watch, begun, work)
            }
        }
        .map_err(FitStatus::from)
    }

    /// Takes the factor of [J r] at the end from the normal equations there; false if they are not
    /// good enough.
    pub(super) fn factor_of_end(&mut self, loss: Loss) -> bool {
        let outcome = &self.room.ends.best;
        let sound =
            self.model.set_normal(&outcome.normal) && self.model.least_pivot > WELL_CONDITIONED;
        // The normal equations of a robust fit carry the correction that suits the iteration, and do not
        // know how many points count.
        let good = loss == Loss::Linear && (sound || self.problem.free.is_empty());
        if good {
            self.model.write_factor(&mut self.factor);
        }
        good
    }

    /// Takes the factor of [J r] at the end from a pass over the points.
    fn factor_by(&mut self, evaluator: &mut Cpu<'_>) -> Result<(), FitStatus> {
        let outcome = &self.room.ends.best;
        evaluator
            .factor(&outcome.params, &outcome.columns, &mut self.factor)
            .map_err(|fault| FitStatus::from(Failure::Backend(fault)))
    }

    /// Takes the full weights of heavy points into account, if there are any.
    fn sharpen(&mut self, evaluator: &mut Cpu<'_>) -> Result<(), FitStatus> {
        let end = &mut self.room.ends.best;
        let heavy = evaluator.heavy_rows(&end.params, &end.columns);
        let heavy = heavy.map_err(|fault| FitStatus::from(Failure::Backend(fault)))?;
        self.sharpened = (!heavy.is_empty()).then(|| sharpened(&self.factor, &heavy));
        if let Some(factor) = &self.sharpened {
            let inside = inside(&self.problem, &end.params);
            let step = last_step(factor, &inside, &self.problem, &end.columns, &end.params);
            step.into_iter().flatten().for_each(|(k, to)| end.params[k] = to);
        }
        Ok(())
    }

    /// As [`factor_by`](Bench::factor_by), of a fit that was evaluated beside others.
    pub(super) fn factor_alone(
        &mut self,
        request: &BatchRequest<'a>,
        fit: usize,
    ) -> Result<(), FitStatus> {
        self.with_points(request, fit, |bench, points| {
            bench.with_evaluator(request, points, request.loss, Bench::factor_by)
        })
    }

    /// Errors, active bounds and all other numbers of a fit at its end. `absolute`: whether errors of
    /// the parameters follow from what is known of y's alone.
    pub(super) fn write(
        &mut self,
        absolute: bool,
        loss: Loss,
        index: usize,
        out: &mut Part<'_>,
    ) -> FitStatus {
        let width = out.width;
        let row = index * width..(index + 1) * width;
        self.find_held(row.start, out.sides);
        let sharpened = self.sharpened.take();
        let (problem, outcome) = (&self.problem, &self.room.ends.best);
        let unit = problem.row_unit;
        let row_error = |rank: usize| match problem.points.saturating_sub(rank) {
            _ if absolute => unit,
            0 => f64::NAN,
            degrees => (2.0 * outcome.cost / degrees as f64).sqrt(),
        };
        let about = About {
            free: &problem.free,
            estimated: &self.estimated,
            columns: &outcome.columns,
            points: problem.points,
            row_error: &row_error,
            sharpened: sharpened.as_ref(),
        };
        let square = width * width;
        let covariance = match out.covariances.is_empty() {
            true => &mut [][..],
            false => &mut out.covariances[index * square..(index + 1) * square],
        };
        let errors = &mut out.errors[row.clone()];
        let rank = self.errors.compute(&self.factor, &about, Out { errors, covariance });
        out.params[row.clone()].copy_from_slice(&outcome.params);
        out.costs[index] = outcome.cost / unit / unit;
        out.iterations[index] = saturating(outcome.work.iterations);
        out.evaluations[index] = saturating(outcome.work.evaluations);
        out.points[index] = problem.points;
        out.ranks[index] = saturating(rank);
        let weight = match loss {
            Loss::Linear => problem.points as f64,
            _ => self.factor.weight,
        };
        out.weights[index] = weight;
        let estimated = self.estimated.iter().filter(|&&estimated| estimated).count();
        let reason = judged(outcome.termination, loss, (weight, problem.points), estimated);
        let undetermined = out.errors[row].iter().position(|&e| e == f64::INFINITY);
        FitStatus::of(reason, undetermined)
    }

    /// Says which parameters a bound holds, and on which side; `at`: where those of this fit begin.
    fn find_held(&mut self, at: usize, sides: &mut [Option<crate::solver::bounds::Side>]) {
        let (problem, outcome) = (&self.problem, &self.room.ends.best);
        self.estimated.fill(true);
        if sides.is_empty() {
            return;
        }
        self.limits.clear();
        self.q.clear();
        for (&k, c) in problem.free.iter().zip(&outcome.columns) {
            self.limits.push((problem.bounds[k].0 / c, problem.bounds[k].1 / c));
            self.q.push(outcome.params[k] / c);
        }
        let limits = Limits { limits: &self.limits };
        let bulk = outcome.cost.min(problem.bulk());
        for (j, &k) in problem.free.iter().enumerate() {
            if limits.holds_firmly(&self.q, &self.model, bulk, j) {
                self.estimated[j] = false;
                sides[at + k] = limits.side(&self.q, j);
            }
        }
    }
}

fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The cost with all parameters fixed.
fn evaluate_only(
    evaluator: &mut dyn Evaluator,
    problem: &Problem,
    out: &mut Outcome,
) -> Result<(), Failure> {
    let mut normal = Normal::zero(0);
    evaluator.normal(&problem.start, &[], &mut normal)?;
    if !normal.is_finite()
        && let Some(point) = evaluator.first_bad_point(&problem.start)
    {
        return Err(Failure::Start(point));
    }
    out.params.clone_from(&problem.start);
    out.cost = normal.cost;
    out.normal = normal;
    out.termination = Termination::AllFixed;
    out.work = Work { evaluations: 1, ..Work::default() };
    Ok(())
}
