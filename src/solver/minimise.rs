//! The loop: Levenberg-Marquardt in Moré's trust-region form.

use super::anderson::Anderson;
use super::bounds::{BoundedStep, Limits};
use super::linear_model::LinearModel;
use super::observe::{Observer, Progress};
use super::options::Options;
use super::problem::Problem;
use super::termination::Termination;
use super::trust_region::{gauss_newton, scaled_norm};
use crate::backend::{BadPoint, Evaluator, Fault};
use crate::data::unit_of;
use crate::normal::small::is_regular;
use crate::normal::{Normal, RFactor};
use std::time::Instant;

/// A step is accepted if the cost falls by this part of what was predicted (Moré 1978).
const ACCEPT: f64 = 1e-4;
/// Shortenings of a step into a region where the model is not finite.
const MAX_SHORTENINGS: usize = 30;
/// After the tolerances are met, full steps go on until no parameter changes by more than this part
/// of itself: the cost is flat at its minimum, and says nothing of the last digits.
const LAST_DIGITS: f64 = 1e-8;
/// Evaluations spent on the last digits at most.
const MAX_REFINEMENTS: usize = 8;
/// Rounding of a cost: this many units in the last place of ‖y‖·‖r‖.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// How columns are scaled against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scaling {
    /// By the largest norm seen so far (Moré): protects problems of wild scales.
    Monotone,
    /// By the present norm: lets far starts forget where they came from.
    Present,
}

/// Where a minimisation ended.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// All parameters, free and fixed.
    pub(crate) params: Vec<f64>,
    /// In row units.
    pub(crate) cost: f64,
    pub(crate) termination: Termination,
    /// Evaluations of model and partials.
    pub(crate) evaluations: usize,
    /// Passes that factored the Jacobian.
    pub(crate) factorisations: usize,
    /// Accepted steps.
    pub(crate) iterations: usize,
    /// The power of two that each free parameter's column was multiplied with.
    pub(crate) columns: Vec<f64>,
    /// ‖Jⱼ‖·|pⱼ| of each free parameter at the start.
    pub(crate) effects: Vec<f64>,
    /// Whether a second run, with another scaling or start, was made.
    pub(crate) retried: bool,
}

/// Why there is no outcome.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The model or a partial is not finite at the start.
    Start(BadPoint),
    /// Everything is finite at the start, but its squares are not.
    Overflow,
    /// The backend failed.
    Backend(Fault),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure::Backend(fault)
    }
}

/// Minimises the cost from `problem.start`. A run that ends badly is made once more, with the other
/// scaling of the columns or, if nothing had an effect at the start, from a start beside it; the
/// better of the two is returned.
pub(crate) fn minimise(
    evaluator: &mut dyn Evaluator,
    problem: &Problem,
    options: &Options,
    observer: Option<&Observer>,
    begun: Instant,
) -> Result<Outcome, Failure> {
    let mut search = Search::new(evaluator, problem, options, observer, begun);
    search.begin(&problem.start, Scaling::Monotone)?;
    let termination = search.run()?;
    let first = search.outcome(termination);
    let again = match termination {
        Termination::ZeroGradientAtStart => beside(problem),
        Termination::NoProgress | Termination::Degenerate | Termination::ModelNonFinite => {
            problem.start.clone()
        }
        _ => return Ok(first),
    };
    let second = match search.begin(&again, Scaling::Present) {
        Ok(()) => {
            let termination = search.run()?;
            search.outcome(termination)
        }
        Err(Failure::Start(_) | Failure::Overflow) => first.clone(),
        Err(failure) => return Err(failure),
    };
    let rank = |o: &Outcome| (!o.termination.is_converged(), o.cost);
    let better = if rank(&second) < rank(&first) { &second } else { &first };
    let (evaluations, factorisations) = (second.evaluations, second.factorisations);
    let iterations = first.iterations.max(second.iterations);
    Ok(Outcome { evaluations, factorisations, iterations, retried: true, ..better.clone() })
}

/// A start beside the given one, within the bounds.
fn beside(problem: &Problem) -> Vec<f64> {
    let mut start = problem.start.clone();
    for &k in &problem.free {
        let (lower, upper) = problem.bounds[k];
        let moved = if start[k] == 0.0 { 0.01 } else { start[k] * 1.01 };
        start[k] = moved.clamp(lower, upper);
    }
    start
}

/// The state of a minimisation. `q` are the free parameters in units of the columns' powers of two.
struct Search<'a> {
    evaluator: &'a mut dyn Evaluator,
    problem: &'a Problem,
    options: &'a Options,
    observer: Option<&'a Observer>,
    begun: Instant,
    scaling: Scaling,
    columns: Vec<f64>,
    limits: Vec<(f64, f64)>,
    params: Vec<f64>,
    q: Vec<f64>,
    normal: Normal,
    model: LinearModel,
    moving: Vec<usize>,
    /// The diagonal of D.
    scale: Vec<f64>,
    radius: f64,
    lambda: f64,
    stepper: BoundedStep,
    delta: Vec<f64>,
    trial: Trial,
    factor: RFactor,
    /// Room for the Gauss-Newton problem of the moving parameters.
    reduced: Reduced,
    evaluations: usize,
    factorisations: usize,
    iterations: usize,
    effects: Vec<f64>,
}

/// A point that may be accepted.
struct Trial {
    params: Vec<f64>,
    q: Vec<f64>,
    normal: Normal,
}

struct Reduced {
    r: Vec<f64>,
    z: Vec<f64>,
    step: Vec<f64>,
    work: Vec<f64>,
}

/// What the Gauss-Newton step at the present point says about convergence.
#[derive(Clone, Copy, Debug, Default)]
struct Prospect {
    /// The fall of the cost that a full step promises; infinite if there is no full step.
    fall: f64,
    /// The largest change of a parameter relative to itself.
    change: f64,
}

impl<'a> Search<'a> {
    fn new(
        evaluator: &'a mut dyn Evaluator,
        problem: &'a Problem,
        options: &'a Options,
        observer: Option<&'a Observer>,
        begun: Instant,
    ) -> Self {
        let n = problem.free.len();
        let line = vec![0.0; n];
        Search {
            evaluator,
            problem,
            options,
            observer,
            begun,
            scaling: Scaling::Monotone,
            columns: vec![1.0; n],
            limits: problem.free.iter().map(|&k| problem.bounds[k]).collect(),
            params: problem.start.clone(),
            q: line.clone(),
            normal: Normal::zero(n),
            model: LinearModel::new(n),
            moving: Vec::with_capacity(n),
            scale: line.clone(),
            radius: 0.0,
            lambda: 0.0,
            stepper: BoundedStep::new(n),
            delta: line.clone(),
            trial: Trial {
                params: problem.start.clone(),
                q: line.clone(),
                normal: Normal::zero(n),
            },
            factor: RFactor::zero(n),
            reduced: Reduced {
                r: vec![0.0; n * n],
                z: line.clone(),
                step: line,
                work: vec![0.0; (n + 1) * (2 * n + 1)],
            },
            evaluations: 0,
            factorisations: 0,
            iterations: 0,
            effects: Vec::new(),
        }
    }

    /// Evaluates at `start` and sets up the first trust region.
    fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure> {
        self.scaling = scaling;
        self.iterations = 0;
        self.params.copy_from_slice(start);
        self.trial.params.copy_from_slice(start);
        self.evaluate_start()?;
        for (j, &k) in self.problem.free.iter().enumerate() {
            let (lower, upper) = self.problem.bounds[k];
            self.limits[j] = (lower / self.columns[j], upper / self.columns[j]);
            self.q[j] = self.params[k] / self.columns[j];
        }
        self.linearise()?;
        self.scale.copy_from_slice(&self.model.norms);
        self.effects = self.model.norms.iter().zip(&self.q).map(|(n, q)| n * q.abs()).collect();
        let size = scaled_norm(&self.q, &self.scale);
        // At the origin the residual, which has the same units, says how far a step may go.
        let size = if size > 0.0 { size } else { (2.0 * self.normal.cost).sqrt() };
        self.radius = self.options.initial_radius * size;
        self.lambda = 0.0;
        Ok(())
    }

    /// The normal equations at the start, with columns brought into the range where squares are safe.
    fn evaluate_start(&mut self) -> Result<(), Failure> {
        self.evaluator.normal(&self.params, &self.columns, &mut self.normal)?;
        self.evaluations += 1;
        if self.normal.is_finite() && (0..self.normal.n).all(|j| is_safe(self.normal.jtj(j, j))) {
            return Ok(());
        }
        if let Some(point) = self.evaluator.first_bad_point(&self.params) {
            return Err(Failure::Start(point));
        }
        let mut largest = vec![0.0; self.columns.len()];
        self.evaluator.magnitudes(&self.params, &mut largest)?;
        self.columns.iter_mut().zip(&largest).for_each(|(c, &m)| *c = unit_of(m));
        self.evaluator.normal(&self.params, &self.columns, &mut self.normal)?;
        self.evaluations += 1;
        if self.normal.is_finite() { Ok(()) } else { Err(Failure::Overflow) }
    }

    /// Brings the linear model to the present point.
    fn linearise(&mut self) -> Result<(), Failure> {
        if !self.model.set_normal(&self.normal) {
            self.evaluator.factor(&self.params, &self.columns, &mut self.factor)?;
            self.factorisations += 1;
            self.model.set_factor(&self.factor);
        }
        for (scale, &norm) in self.scale.iter_mut().zip(&self.model.norms) {
            *scale = match self.scaling {
                Scaling::Monotone => scale.max(norm),
                Scaling::Present => norm,
            };
        }
        Limits { limits: &self.limits }.moving(&self.q, &self.model, &mut self.moving);
        Ok(())
    }

    fn run(&mut self) -> Result<Termination, Failure> {
        let mut converged: Option<Termination> = None;
        loop {
            if let Some(reason) = self.finished() {
                return Ok(self.unless_degenerate(reason));
            }
            let prospect = self.prospect();
            converged = converged.or_else(|| self.small(prospect));
            if let Some(reason) = converged {
                self.refine(prospect)?;
                return Ok(self.unless_degenerate(reason));
            }
            match self.advance()? {
                Advance::Accepted(reason) => converged = reason,
                Advance::Stuck(reason) => return Ok(self.unless_degenerate(reason)),
            }
            if let Some(reason) = self.interrupted() {
                return Ok(converged.unwrap_or(reason));
            }
        }
    }

    /// Full steps, mixed, from a point where the tolerances are met, until the parameters' last digits
    /// stand still: the cost is flat there and says nothing of them. Ends at the point from which a
    /// full step is smallest.
    fn refine(&mut self, first: Prospect) -> Result<(), Failure> {
        let mut mixing = Anderson::new(self.moving.len());
        let mut best = first;
        let mut prospect = first;
        for _ in 0..MAX_REFINEMENTS {
            let settled =
                prospect.change <= LAST_DIGITS && prospect.fall <= LAST_DIGITS * self.normal.cost;
            if settled || prospect.change.is_infinite() || self.interrupted().is_some() {
                break;
            }
            let (moving, step) = (self.moving.clone(), &mut self.reduced.step[..self.moving.len()]);
            let pick = |from: &[f64]| moving.iter().map(|&j| from[j]).collect::<Vec<f64>>();
            mixing.mix(&pick(&self.q), step, &pick(&self.scale));
            self.delta.fill(0.0);
            moving.iter().zip(step.iter()).for_each(|(&j, &d)| self.delta[j] = d);
            if !self.move_trial() {
                break;
            }
            self.evaluator.normal(&self.trial.params, &self.columns, &mut self.trial.normal)?;
            self.evaluations += 1;
            if !(self.trial.normal.cost <= self.normal.cost * (1.0 + LAST_DIGITS) + self.noise()) {
                break;
            }
            self.exchange();
            self.linearise()?;
            prospect = self.prospect();
            // A set of active bounds that changes, or steps that grow, end the refinement.
            if self.moving != moving || !(prospect.change < 2.0 * best.change) {
                break;
            }
            if prospect.change < best.change {
                best = prospect;
            }
        }
        Ok(())
    }

    /// Exchanges the present point with the trial.
    fn exchange(&mut self) {
        std::mem::swap(&mut self.params, &mut self.trial.params);
        std::mem::swap(&mut self.q, &mut self.trial.q);
        std::mem::swap(&mut self.normal, &mut self.trial.normal);
    }

    /// Whether the present point is an end whatever a step would do.
    fn finished(&self) -> Option<Termination> {
        if 2.0 * self.normal.cost <= self.problem.rounding {
            return Some(Termination::ExactFit);
        }
        if self.model.norms.iter().all(|&norm| norm == 0.0) {
            let start = self.iterations == 0;
            return Some(if start {
                Termination::ZeroGradientAtStart
            } else {
                Termination::Degenerate
            });
        }
        let residual = (2.0 * self.normal.cost).sqrt();
        let cosine = |&j: &usize| self.model.gradient[j].abs() / (self.model.norms[j] * residual);
        let largest = self.moving.iter().map(cosine).fold(0.0, f64::max);
        (largest <= self.options.gtol || self.moving.is_empty()).then_some(Termination::Gradient)
    }

    /// What the Gauss-Newton step of the moving parameters promises.
    fn prospect(&mut self) -> Prospect {
        let m = self.moving.len();
        let Reduced { r, z, step, work } = &mut self.reduced;
        let (r, z, step) = (&mut r[..m * m], &mut z[..m], &mut step[..m]);
        if m == self.model.n {
            r.copy_from_slice(&self.model.r);
            z.copy_from_slice(&self.model.z);
        } else {
            self.delta.fill(0.0);
            self.model.restrict(&self.moving, &self.delta, r, z, work);
        }
        if !is_regular(r, m) {
            return Prospect { fall: f64::INFINITY, change: f64::INFINITY };
        }
        gauss_newton(r, z, step);
        let relative = |(&j, d): (&usize, &f64)| d.abs() / self.q[j].abs();
        Prospect {
            fall: 0.5 * z.iter().map(|v| v * v).sum::<f64>(),
            change: self.moving.iter().zip(step.iter()).map(relative).fold(0.0, f64::max),
        }
    }

    /// Whether a full step would change the cost, or the parameters, by no more than the tolerances.
    fn small(&self, prospect: Prospect) -> Option<Termination> {
        let Options { ftol, xtol, .. } = *self.options;
        if ftol > 0.0 && prospect.fall <= (ftol * self.normal.cost).max(self.noise()) {
            Some(Termination::Cost)
        } else if prospect.change <= xtol {
            Some(Termination::Step)
        } else {
            None
        }
    }

    /// The uncertainty of the cost by rounding of the model's values.
    fn noise(&self) -> f64 {
        let residual = (2.0 * self.normal.cost).sqrt();
        ROUNDING * residual * (self.problem.square.sqrt() + residual)
    }

    /// Tries steps until one is accepted.
    fn advance(&mut self) -> Result<Advance, Failure> {
        let mut shortenings = 0;
        loop {
            let limits = Limits { limits: &self.limits };
            self.lambda = self.stepper.step(
                &self.model,
                &limits,
                &self.q,
                &self.moving,
                &self.scale,
                self.radius,
                self.lambda,
                &mut self.delta,
            );
            let length = scaled_norm(&self.delta, &self.scale);
            if self.iterations == 0 && shortenings == 0 {
                self.radius = self.radius.min(length);
            }
            if !self.move_trial() {
                return Ok(Advance::Stuck(Termination::NoProgress));
            }
            self.evaluator.normal(&self.trial.params, &self.columns, &mut self.trial.normal)?;
            self.evaluations += 1;
            if !self.trial.normal.is_finite() {
                shortenings += 1;
                self.radius = 0.25 * length.min(self.radius);
                self.lambda *= 4.0;
                if shortenings > MAX_SHORTENINGS {
                    return Ok(Advance::Stuck(Termination::ModelNonFinite));
                }
                if let Some(reason) = self.interrupted() {
                    return Ok(Advance::Stuck(reason));
                }
                continue;
            }
            let predicted = -self.model.change(&self.delta);
            let actual = self.normal.cost - self.trial.normal.cost;
            let ratio = if predicted > 0.0 { actual / predicted } else { 0.0 };
            self.resize(actual, predicted, ratio, length);
            if ratio >= ACCEPT {
                let reason = self.accept(actual, predicted, ratio, length)?;
                return Ok(Advance::Accepted(reason));
            }
            let size = scaled_norm(&self.q, &self.scale);
            if self.radius <= f64::EPSILON * size {
                return Ok(Advance::Stuck(Termination::NoProgress));
            }
            if let Some(reason) = self.interrupted() {
                return Ok(Advance::Stuck(reason));
            }
        }
    }

    /// Sets the trial to the present point plus the step. Returns whether anything moved.
    fn move_trial(&mut self) -> bool {
        let mut moved = false;
        for (j, &k) in self.problem.free.iter().enumerate() {
            let (lower, upper) = self.problem.bounds[k];
            let to = (self.q[j] + self.delta[j]) * self.columns[j];
            self.trial.params[k] = to.clamp(lower, upper);
            self.trial.q[j] = self.trial.params[k] / self.columns[j];
            moved |= self.trial.q[j] != self.q[j];
        }
        moved
    }

    /// Moré's rules for the next radius and damping.
    fn resize(&mut self, actual: f64, predicted: f64, ratio: f64, length: f64) {
        if ratio <= 0.25 {
            // The minimum of the parabola through both costs and the slope at the present point.
            let slope = -predicted - self.curvature();
            let parabola = if actual >= 0.0 { 0.5 } else { 0.5 * slope / (slope + actual) };
            let far = self.trial.normal.cost >= 100.0 * self.normal.cost;
            let factor = if far || parabola.is_nan() { 0.1 } else { parabola.clamp(0.1, 0.5) };
            self.radius = factor * self.radius.min(length / 0.1);
            self.lambda /= factor;
        } else if self.lambda == 0.0 || ratio >= 0.75 {
            self.radius = length / 0.5;
            self.lambda *= 0.5;
        }
    }

    /// ½‖Rδ‖², so that the slope along the step is −(fall) − this.
    fn curvature(&self) -> f64 {
        let slope: f64 = self.model.gradient.iter().zip(&self.delta).map(|(g, d)| g * d).sum();
        self.model.change(&self.delta) - slope
    }

    /// Moves to the trial point. Returns a reason to stop if the step itself was within a tolerance.
    fn accept(
        &mut self,
        actual: f64,
        predicted: f64,
        ratio: f64,
        length: f64,
    ) -> Result<Option<Termination>, Failure> {
        let before = self.normal.cost;
        self.exchange();
        self.iterations += 1;
        self.linearise()?;
        let Options { ftol, xtol, .. } = *self.options;
        let size = scaled_norm(&self.q, &self.scale);
        // Only a full step, or one that the radius did not cut short, says that no more is to be had.
        let free = self.lambda == 0.0 || length < 0.9 * self.radius;
        if actual <= ftol * before && predicted <= ftol * before && ratio <= 2.0 && free {
            Ok(Some(Termination::Cost))
        } else if length <= xtol * size && free {
            Ok(Some(Termination::Step))
        } else {
            Ok(None)
        }
    }

    /// Whether a limit or the observer ends the fit here.
    fn interrupted(&self) -> Option<Termination> {
        let size = scaled_norm(&self.q, &self.scale);
        let progress = Progress {
            iteration: self.iterations,
            evaluations: self.evaluations,
            params: &self.params,
            cost: self.normal.cost * self.problem.cost_unit,
            step: scaled_norm(&self.delta, &self.scale) / size,
            damping: self.lambda,
            elapsed: self.begun.elapsed(),
        };
        if self.observer.is_some_and(|observe| observe(&progress).is_break()) {
            Some(Termination::Stopped)
        } else if self.evaluations >= self.options.evaluations(self.q.len()) {
            Some(Termination::MaxEvaluations)
        } else if self.options.max_time.is_some_and(|limit| progress.elapsed >= limit) {
            Some(Termination::TimeLimit)
        } else {
            None
        }
    }

    /// A minimum at which a parameter has lost all effect is none.
    fn unless_degenerate(&self, reason: Termination) -> Termination {
        let lost = |j: usize| self.model.norms[j] == 0.0 && self.scale[j] > 0.0;
        match reason.is_converged() && (0..self.q.len()).any(lost) {
            true => Termination::Degenerate,
            false => reason,
        }
    }

    fn outcome(&self, termination: Termination) -> Outcome {
        Outcome {
            params: self.params.clone(),
            cost: self.normal.cost,
            termination,
            evaluations: self.evaluations,
            factorisations: self.factorisations,
            iterations: self.iterations,
            columns: self.columns.clone(),
            effects: self.effects.clone(),
            retried: false,
        }
    }
}

/// What became of an attempt to step.
enum Advance {
    /// A step was taken, and perhaps it was so small that the fit has converged.
    Accepted(Option<Termination>),
    /// No step can be taken.
    Stuck(Termination),
}

/// Whether a sum of squares is so far from the ends of the range that others of its kind are too.
fn is_safe(square: f64) -> bool {
    (1e-200..=1e200).contains(&square)
}
