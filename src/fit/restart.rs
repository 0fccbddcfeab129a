//! Further attempts after a search that ended without a minimum.
//!
//! 1. Newton steps with second derivatives, if a limit of evaluations ended the search. They reach the minimum of a
//!    curved model with large residuals, where Gauss-Newton steps shrink slowly.
//! 2. A search with the parameters that crept towards a bound set on it, accepted if the cost does not rise. A model
//!    that is even in a parameter, like the Voigt profile in its Gaussian width, has no slope at 0. Steps towards a
//!    minimum there shrink and end in rounding before they arrive.
//! 3. If linear parameters were solved for: a search from the result of variable projection, kept if it is better.
//! 4. A search with a long first step. From a start far below the data, short steps lead an exponential with an offset
//!    into the valley where its rate is 0.
//!
//! Limits set by the caller apply to all attempts together. They disable attempts 1 to 3, whose work is unpredictable.
//!
//! The first search has a limit of evaluations within which most fits end. It continues only after the other attempts,
//! because the remaining fits often follow a curved valley for hundreds of evaluations (figures in design.md). For a
//! joint fit with solved linear parameters the limit is low, as each trial of the
//! nonlinear parameters takes two passes.

use super::search::{PointSource, Rules, View, Workspace};
use super::variable_projection::projected;
use crate::data::loss::Loss;
use crate::normal::Normal;
use crate::solver::evaluator::Evaluator;
use crate::solver::options::Options;
use crate::solver::outcome::Outcome;
use crate::solver::task::{Problem, Task};
use crate::solver::termination::Termination;

/// A parameter creeps towards a bound if its distance to it is below this fraction of the distance at the start.
const CREEPING: f64 = 1e-6;
/// Distance from a bound, as a fraction of the way to the start, at which the cost is compared with its value on the
/// bound.
const INSIDE: f64 = 1e-2;
/// Evaluations of a joint fit before the search in the nonlinear parameters alone.
const PATIENCE: usize = 30;
/// Limit of evaluations of the first attempt of other fits, and of the attempt with a long first step, in units of
/// (free parameters + 1).
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

/// Returns true if the limit of evaluations may have ended the attempt. At the limit there is no second run and no
/// second check.
fn is_cut(end: &Outcome, options: &Options) -> bool {
    options.max_evaluations.is_some_and(|most| end.work.evaluations >= most)
}

/// Returns true if an attempt with a long first step may end better than one with this termination.
pub(super) fn may_need_a_long_step(reason: Termination) -> bool {
    use Termination::{Degenerate, MaxEvaluations, NoProgress};
    matches!(reason, MaxEvaluations | NoProgress | Degenerate)
}

impl Workspace {
    /// Returns true if the search failed, was not stopped, and another attempt is possible.
    pub(super) fn has_another_way(&self, rules: &Rules<'_>) -> bool {
        use Termination::{AllFixed, LostInRounding, Stopped, TimeLimit};
        let end = self.outcome();
        let ended = (end.termination.is_converged() && !self.coincides)
            || matches!(end.termination, Stopped | TimeLimit | AllFixed | LostInRounding);
        let has_other_ways = || !rules.linear.is_empty() || self.on_bounds().is_some();
        !ended
            && end.work.evaluations < rules.options.evaluations(self.problem.free.len())
            && (may_need_a_long_step(end.termination)
                || !rules.options.is_limited() && has_other_ways())
    }

    /// Returns the options of the first attempt.
    pub(super) fn first_options(&self, rules: &Rules<'_>) -> Options {
        let is_joint = !self.problem.shape.is_full() && !rules.linear.is_empty();
        match is_joint && !rules.options.is_limited() {
            true => Options { max_evaluations: Some(PATIENCE), ..*rules.options },
            false => first_options(rules.options, self.problem.free.len()),
        }
    }

    /// Runs the further attempts. The best result becomes the outcome, with the work of all attempts.
    pub(super) fn restart(&mut self, rules: &Rules<'_>, source: &dyn PointSource) {
        let rules = Rules { refined: false, ..*rules };
        let start = self.problem.start.clone();
        let (mut best, coincides) = (self.outcome().clone(), self.coincides);
        self.earlier = best.work;
        // Effects of the parameters at the start of the first attempt.
        let effects = best.effects.clone();
        let is_limited = rules.options.is_limited();
        // True if a limit ended the attempt that the caller did not set.
        let mut unfinished = is_cut(&best, &self.first_options(&rules));
        // A robust loss has minima at subsets of the points, and heavy points have their own valley. If parameters are
        // linear, a search in the other parameters takes fewer passes.
        let is_plain = rules.loss == Loss::Linear
            && best.most_weight == f64::INFINITY
            && rules.linear.is_empty();
        if unfinished
            && !is_limited
            && is_plain
            && let Some(minimum) = self.by_newton_steps(&rules, source, &best)
        {
            (unfinished, best) = (false, minimum);
        }
        if !is_limited
            && !best.termination.is_converged()
            && let Some(from) = self.on_bounds()
            && let Some(second) = self.from(&rules, source, &from)
        {
            let arrived =
                second.termination.is_converged() && second.cost <= best.cost * (1.0 + SAME);
            best = if arrived { second } else { best };
        }
        if (!best.termination.is_converged() || coincides)
            && !is_limited
            && !rules.linear.is_empty()
            && let Some(from) = self.projected(&rules, source, &start)
            && let Some(second) = self.from(&rules, source, &from)
        {
            let worth = |end: &Outcome| (!end.termination.is_converged(), end.cost);
            // If columns coincide at the first result, the second must be better by more than rounding.
            let bar = if coincides { 1.0 - SAME } else { 1.0 };
            let better = match unfinished && !best.termination.is_converged() {
                true => second.cost < best.cost || second.termination == Termination::Stopped,
                false => worth(&second) < (worth(&best).0, bar * best.cost),
            };
            best = if better { second } else { best };
        }
        let long = self.with_a_long_step(rules.options);
        if may_need_a_long_step(best.termination)
            && let Some(second) = self.from(&Rules { options: &long, ..rules }, source, &start)
        {
            // A higher minimum does not count if the previous attempt was cut by its limit.
            let arrived = second.termination.is_converged() && !unfinished;
            let better = second.cost < best.cost || second.termination == Termination::Stopped;
            if arrived || better {
                unfinished = is_cut(&second, &long);
                best = second;
            }
        }
        if unfinished
            && may_need_a_long_step(best.termination)
            && self.earlier.evaluations < rules.options.evaluations(self.problem.free.len())
            && let Some(last) = self.from(&rules, source, &best.params)
        {
            best = last;
        }
        (best.work, best.retried, best.effects) = (self.earlier, true, effects);
        self.problem.start = start;
        self.problem.loss = rules.loss;
        self.end.forget();
        *self.outcome_mut() = best;
    }

    /// Returns the options of an attempt with a long first step.
    fn with_a_long_step(&self, options: &Options) -> Options {
        let (free, spent) = (self.problem.free.len(), self.earlier.evaluations);
        let left = options.evaluations(free).saturating_sub(spent);
        // The other half is kept for continuing.
        let most = spent + (FAIR * (free + 1)).min(left.div_ceil(2));
        let initial_radius = LONG * options.initial_radius;
        Options { initial_radius, max_evaluations: Some(most), ..*options }
    }

    /// Searches from other parameters; returns `None` if the search fails.
    fn from(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        start: &[f64],
    ) -> Option<Outcome> {
        self.problem.start.copy_from_slice(start);
        self.attempt(rules, source, &mut |_, _| Ok(())).ok()?;
        self.earlier = self.outcome().work;
        Some(self.outcome().clone())
    }

    /// Takes Newton steps from the end of a cut attempt; returns `None` unless they reach a minimum.
    fn by_newton_steps(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        cut: &Outcome,
    ) -> Option<Outcome> {
        let problem =
            Problem { start: cut.params.clone(), loss: rules.loss, ..self.problem.clone() };
        let task = Task { work: self.earlier, ..Task::new(&problem, rules.options) };
        let view = View::of(rules.loss, &problem.start);
        let done =
            source.with_points(view, &mut |points| self.minimiser.take_newton_steps(points, &task));
        self.earlier = self.outcome().work;
        let end = self.outcome();
        let arrived = done.is_ok() && end.termination.is_converged() && end.cost <= cut.cost;
        arrived.then(|| end.clone())
    }

    /// Returns the result of a search in the nonlinear parameters alone.
    fn projected(
        &mut self,
        rules: &Rules<'_>,
        source: &dyn PointSource,
        start: &[f64],
    ) -> Option<Vec<f64>> {
        let problem = Problem { start: start.to_vec(), loss: Loss::Linear, ..self.problem.clone() };
        let view = View { plain: true, ..View::of(Loss::Linear, start) };
        let mut found = None;
        let searched = source.with_points(view, &mut |points| {
            found = Some(projected(points, &problem, rules)?);
            Ok(())
        });
        let (params, passes) = searched.ok().and(found)?;
        self.earlier.evaluations += passes;
        Some(params)
    }

    /// Returns the final parameters with those that crept towards a bound set on it; `None` if no parameter did.
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
