//! Retry policy: further attempts after a search that ended without a minimum.
//!
//! [`STRATEGIES`] lists the attempts in their order, [`Workspace::applies`] states when each one runs, and [`replaces`]
//! compares its result with the best one so far. The first search has a limit of evaluations within which most fits
//! end. A fit that reaches the limit often follows a curved valley for hundreds of evaluations; therefore other
//! strategies are tried first, and the search is continued as the last one. The limit is low for a joint fit whose
//! linear parameters were solved for, because a search in the nonlinear parameters alone usually needs fewer passes
//! (figures for both in design.md).
//!
//! Limits set by the caller apply to all attempts together. They disable the strategies whose work is unpredictable.

use super::point_source::View;
use super::search::{SearchRequest, Workspace};
use super::variable_projection::projected;
use crate::data::loss::Loss;
use crate::normal::Normal;
use crate::solver::evaluator::Evaluator;
use crate::solver::options::Options;
use crate::solver::outcome::Outcome;
use crate::solver::task::{Problem, Task};
use crate::solver::termination::Termination;

/// A kind of further attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strategy {
    /// Newton steps with second derivatives. They reach the minimum of a curved model with large residuals, where
    /// Gauss-Newton steps shrink slowly.
    NewtonSteps,
    /// A search in which each parameter that crept towards a bound starts exactly on this bound. A model that is even
    /// in a parameter, such as the Voigt profile in its Gaussian width, has no slope at 0. If the minimum is at 0,
    /// steps shrink and end in rounding before they reach it.
    OnBounds,
    /// A search from the result of variable projection, if linear parameters were solved for.
    Projection,
    /// A search with a long first step. From a start far below the data, short steps lead an exponential with an offset
    /// into the valley where its rate is 0.
    LongFirstStep,
    /// Continuation of the best attempt so far.
    Continuation,
}

/// The strategies, in the order in which they are tried.
const STRATEGIES: [Strategy; 5] = [
    Strategy::NewtonSteps,
    Strategy::OnBounds,
    Strategy::Projection,
    Strategy::LongFirstStep,
    Strategy::Continuation,
];

/// The best result so far.
struct Best {
    outcome: Outcome,
    /// True if the attempt was ended by a limit that the caller did not set.
    is_unfinished: bool,
    /// True if columns of the Jacobian nearly coincide at the first result.
    coincides: bool,
}

/// A parameter creeps towards a bound if its distance to the bound is below this fraction of the distance at the start.
const CREEPING: f64 = 1e-6;
/// Distance from a bound, as a fraction of the way to the start, at which the cost is compared with its value on the
/// bound.
const INSIDE: f64 = 1e-2;
/// Evaluations of a joint fit before the search in the nonlinear parameters alone.
const PATIENCE: usize = 30;
/// Limit of evaluations of the first attempt of a fit that is not a joint fit, and of the attempt with a long first
/// step, in units of (free parameters + 1).
const FAIR: usize = 50;
/// Initial radius of the attempt with a long first step, relative to the caller's; with the default it is MINPACK's.
const LONG: f64 = 100.0;
/// Maximum number of parameters on bounds for which the rise of the cost is tested; each takes one pass.
const MOST_HELD: usize = 64;
/// Relative tolerance within which two costs are equal except for rounding, for sums of any length.
const SAME: f64 = 1e-9;

/// Returns the options of the first attempt of a fit that is not a joint fit.
pub(crate) fn first_options(options: &Options, free: usize) -> Options {
    let most = (FAIR * (free + 1)).min(options.evaluations(free));
    Options { max_evaluations: Some(most), ..*options }
}

/// Returns true if the attempt reached the limit of evaluations. The limit may then have shortened the attempt even if
/// its termination names another reason: at the limit, there is no second run with another scaling, and no test by
/// second derivatives.
fn is_cut(end: &Outcome, options: &Options) -> bool {
    options.max_evaluations.is_some_and(|most| end.work.evaluations >= most)
}

/// Returns true if the result `other` of a strategy is better than the best one.
fn replaces(strategy: Strategy, other: &Outcome, best: &Best) -> bool {
    let Best { outcome: best, is_unfinished, coincides } = best;
    let has_arrived = other.termination.is_converged();
    // A search that the caller stopped replaces the best result, so that the fit reports the stop.
    let is_lower = other.cost < best.cost || other.termination == Termination::Stopped;
    match strategy {
        Strategy::NewtonSteps => has_arrived && other.cost <= best.cost,
        Strategy::OnBounds => has_arrived && other.cost <= best.cost * (1.0 + SAME),
        Strategy::Projection if *is_unfinished && !best.termination.is_converged() => is_lower,
        Strategy::Projection => {
            // If columns coincide at the first result, another result must be better by more than rounding.
            let bar = if *coincides { 1.0 - SAME } else { 1.0 };
            (!has_arrived, other.cost) < (!best.termination.is_converged(), bar * best.cost)
        }
        // A higher minimum does not count if a limit ended the previous attempt.
        Strategy::LongFirstStep => has_arrived && !is_unfinished || is_lower,
        Strategy::Continuation => true,
    }
}

/// Returns true if an attempt with a long first step may end better than one with this termination.
pub(super) fn may_need_a_long_step(reason: Termination) -> bool {
    use Termination::{Degenerate, MaxEvaluations, NoProgress};
    matches!(reason, MaxEvaluations | NoProgress | Degenerate)
}

impl Workspace {
    /// Returns true if the search failed, was not stopped, and another attempt is possible.
    pub(super) fn has_another_way(&self, options: &Options, linear: &[usize]) -> bool {
        use Termination::{AllFixed, LostInRounding, Stopped, TimeLimit};
        let end = self.outcome();
        let ended = (end.termination.is_converged() && !self.coincides)
            || matches!(end.termination, Stopped | TimeLimit | AllFixed | LostInRounding);
        let has_other_ways = || !linear.is_empty() || self.on_bounds().is_some();
        !ended
            && end.work.evaluations < options.evaluations(self.problem.free.len())
            && (may_need_a_long_step(end.termination) || !options.is_limited() && has_other_ways())
    }

    /// Returns the options of the first attempt.
    pub(super) fn first_options(&self, request: &SearchRequest<'_>) -> Options {
        let is_joint = !self.problem.shape.is_full() && !request.linear.is_empty();
        match is_joint && !request.options.is_limited() {
            true => Options { max_evaluations: Some(PATIENCE), ..request.options },
            false => first_options(&request.options, self.problem.free.len()),
        }
    }

    /// Runs the further attempts. The best result becomes the outcome, with the work of all attempts.
    pub(super) fn retry(&mut self, request: &SearchRequest<'_>) {
        let request = &SearchRequest { refined: false, sample: None, ..*request };
        let start = self.problem.start.clone();
        let first = self.outcome().clone();
        self.earlier = first.work;
        // Effects of the parameters (‖Jⱼ‖·|pⱼ|) at the start of the first attempt.
        let effects = first.effects.clone();
        let mut best = Best {
            is_unfinished: is_cut(&first, &self.first_options(request)),
            coincides: self.coincides,
            outcome: first,
        };
        for strategy in STRATEGIES {
            if !self.applies(strategy, request, &best) {
                continue;
            }
            let options = match strategy {
                Strategy::LongFirstStep => self.with_a_long_step(&request.options),
                _ => request.options,
            };
            let request = &SearchRequest { options, ..*request };
            let other = match strategy {
                Strategy::NewtonSteps => self.by_newton_steps(request, &best.outcome),
                Strategy::OnBounds => {
                    self.on_bounds().and_then(|from| self.search_from(request, &from))
                }
                Strategy::Projection => {
                    let from = self.projected(request, &start);
                    from.and_then(|from| self.search_from(request, &from))
                }
                Strategy::LongFirstStep => self.search_from(request, &start),
                Strategy::Continuation => self.search_from(request, &best.outcome.params),
            };
            let Some(outcome) = other.filter(|other| replaces(strategy, other, &best)) else {
                continue;
            };
            best.is_unfinished = match strategy {
                Strategy::NewtonSteps => false,
                Strategy::LongFirstStep => is_cut(&outcome, &options),
                _ => best.is_unfinished,
            };
            best.outcome = outcome;
        }
        let mut best = best.outcome;
        (best.work, best.retried, best.effects) = (self.earlier, true, effects);
        self.problem.start = start;
        self.problem.loss = request.spec.loss;
        self.end.forget();
        *self.outcome_mut() = best;
    }

    /// Returns true if the strategy may improve the best result.
    fn applies(&self, strategy: Strategy, request: &SearchRequest<'_>, best: &Best) -> bool {
        let Best { outcome, is_unfinished, coincides } = best;
        let is_limited = request.options.is_limited();
        let converged = outcome.termination.is_converged();
        let is_lost = may_need_a_long_step(outcome.termination);
        match strategy {
            // Not used for a robust loss, which can have a minimum for each subset of the points, and not for points
            // with very large weights, whose narrow valley `levels.rs` treats. If parameters are linear, a search in
            // the other parameters needs fewer passes.
            Strategy::NewtonSteps => {
                *is_unfinished
                    && !is_limited
                    && request.spec.loss == Loss::Linear
                    && outcome.most_weight == f64::INFINITY
                    && request.linear.is_empty()
            }
            Strategy::OnBounds => !is_limited && !converged,
            Strategy::Projection => {
                !is_limited && !request.linear.is_empty() && (!converged || *coincides)
            }
            Strategy::LongFirstStep => is_lost,
            Strategy::Continuation => {
                *is_unfinished
                    && is_lost
                    && self.earlier.evaluations
                        < request.options.evaluations(self.problem.free.len())
            }
        }
    }

    /// Returns the options of an attempt with a long first step.
    fn with_a_long_step(&self, options: &Options) -> Options {
        let (free, spent) = (self.problem.free.len(), self.earlier.evaluations);
        let left = options.evaluations(free).saturating_sub(spent);
        // The other half of the evaluations is kept for the continuation.
        let most = spent + (FAIR * (free + 1)).min(left.div_ceil(2));
        let initial_radius = LONG * options.initial_radius;
        Options { initial_radius, max_evaluations: Some(most), ..*options }
    }

    /// Searches from other parameters; returns `None` if the search fails.
    fn search_from(&mut self, request: &SearchRequest<'_>, start: &[f64]) -> Option<Outcome> {
        self.problem.start.copy_from_slice(start);
        self.attempt(request).ok()?;
        self.earlier = self.outcome().work;
        Some(self.outcome().clone())
    }

    /// Makes Newton steps from the end of an attempt; returns `None` if they fail.
    fn by_newton_steps(&mut self, request: &SearchRequest<'_>, cut: &Outcome) -> Option<Outcome> {
        let problem =
            Problem { start: cut.params.clone(), loss: request.spec.loss, ..self.problem.clone() };
        let task = Task { work: self.earlier, ..Task::new(&problem, &request.options) };
        let view = View::of(request.spec.loss, &problem.start);
        let done = self
            .evaluator(request, &view)
            .and_then(|mut points| self.minimiser.take_newton_steps(&mut *points, &task));
        self.earlier = self.outcome().work;
        done.is_ok().then(|| self.outcome().clone())
    }

    /// Returns the result of a search in the nonlinear parameters alone.
    fn projected(&mut self, request: &SearchRequest<'_>, start: &[f64]) -> Option<Vec<f64>> {
        let problem = Problem { start: start.to_vec(), loss: Loss::Linear, ..self.problem.clone() };
        let view = View { plain: true, ..View::of(Loss::Linear, start) };
        let mut points = self.evaluator(request, &view).ok()?;
        let (params, passes) = projected(&mut *points, &problem, request).ok()?;
        self.earlier.evaluations += passes;
        Some(params)
    }

    /// Returns the final parameters, but each parameter that crept towards a bound has the value of the bound; `None`
    /// if no parameter crept.
    fn on_bounds(&self) -> Option<Vec<f64>> {
        let (mut params, problem) = (self.outcome().params.clone(), &self.problem);
        for &k in &problem.free {
            let (lower, upper) = problem.bounds[k];
            for bound in [lower, upper] {
                let left = (params[k] - bound).abs();
                if bound.is_finite() && left < CREEPING * (problem.start[k] - bound).abs() {
                    params[k] = bound;
                }
            }
        }
        (params != self.outcome().params).then_some(params)
    }

    /// Returns true if the cost rises from each bound that holds a parameter. Then the point is a minimum, even if the
    /// slope is 0.
    pub(super) fn rises_from_bounds(&self, points: &mut dyn Evaluator) -> bool {
        let (end, problem) = (self.outcome(), &self.problem);
        let ones = vec![1.0; problem.free.len()];
        let mut normal = Normal::shaped(&problem.shape);
        let mut rises = |k: usize| {
            let mut inside = end.params.clone();
            inside[k] += INSIDE * (problem.start[k] - inside[k]);
            inside[k] != end.params[k]
                && points.normal(&inside, &ones, &mut normal).is_ok()
                && normal.cost.is_finite()
                && normal.cost > end.cost
        };
        let held = problem.free.iter().zip(&self.end.sides).filter(|(_, side)| side.is_some());
        let held: Vec<usize> = held.map(|(&k, _)| k).collect();
        held.len() <= MOST_HELD && held.into_iter().all(&mut rises)
    }
}
