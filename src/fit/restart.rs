//! A search that ended without a minimum, made once more from where its end says that there may be one.
//!
//! First by Newton's steps with second derivatives, if a limit of evaluations ended it: they reach the minimum of a curved
//! model that leaves large residuals, where Gauss-Newton steps shrink slowly. Then with the parameters that crept towards a bound set on it, where that costs nothing: a model that is even
//! in a parameter, as Voigt's profile in its Gaussian width, has no slope at 0, and steps towards a minimum there
//! get ever smaller and end in rounding before they arrive. Then, if linear parameters were solved for, from where
//! a search in the nonlinear ones alone leads, if that is better. Then with a first step that may be long: short ones
//! from a start far below the data lead an exponential with an offset into the valley where its rate is 0. Limits that
//! the caller set hold for all attempts together, and forbid the first two, whose work cannot be foreseen.
//!
//! The first attempt ends after some evaluations, by which most fits have ended, and the others come before it goes on:
//! those that have not ended would often follow a curved valley for hundreds (design.md has the figures). Of a joint fit
//! whose linear parameters were solved for these are few, as each trial in the nonlinear ones takes two passes.

use super::search::{PointSource, Rules, View, Workspace};
use super::variable_projection::projected;
use crate::data::loss::Loss;
use crate::normal::Normal;
use crate::solver::evaluator::Evaluator;
use crate::solver::options::Options;
use crate::solver::outcome::Outcome;
use crate::solver::task::{Problem, Task};
use crate::solver::termination::Termination;

/// A parameter that came this much nearer to a bound than it was at the start creeps there.
const CREEPING: f64 = 1e-6;
/// How far from a bound, on the way to the start, the cost is looked at to see whether it rises.
const INSIDE: f64 = 1e-2;
/// Evaluations of a joint fit before the nonlinear parameters are sought alone.
const PATIENCE: usize = 30;
/// Evaluations of another fit, for each free parameter and one more, before it is tried with a long first step; and of
/// that attempt.
const FAIR: usize = 50;
/// The first radius of that attempt, in those that the caller set: MINPACK's, for the default.
const LONG: f64 = 100.0;
/// Held parameters at which that is looked at, each by a pass.
const MOST_HELD: usize = 64;
/// A cost that is no higher but for rounding, of sums of any length.
const SAME: f64 = 1e-9;

/// The options of the first attempt of a fit that is not joint.
pub(crate) fn first_options(options: &Options, free: usize) -> Options {
    let most = (FAIR * (free + 1)).min(options.evaluations(free));
    Options { max_evaluations: Some(most), ..*options }
}

/// Whether the limit of an attempt may have ended it: at it no second run is made, and nothing is looked at twice.
fn is_cut(end: &Outcome, options: &Options) -> bool {
    options.max_evaluations.is_some_and(|most| end.work.evaluations >= most)
}

/// Whether an attempt with a long first step may end better than one that ended so.
pub(super) fn may_need_a_long_step(reason: Termination) -> bool {
    use Termination::{Degenerate, MaxEvaluations, NoProgress};
    matches!(reason, MaxEvaluations | NoProgress | Degenerate)
}

impl Workspace {
    /// Whether the search ended for want of a way, and not because it was told to, and there is one more.
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

    /// The options of the first attempt.
    pub(super) fn first_options(&self, rules: &Rules<'_>) -> Options {
        let is_joint = !self.problem.shape.is_full() && !rules.linear.is_empty();
        match is_joint && !rules.options.is_limited() {
            true => Options { max_evaluations: Some(PATIENCE), ..*rules.options },
            false => first_options(rules.options, self.problem.free.len()),
        }
    }

    /// Makes the search once more; the better end is left as the outcome, with the work of all.
    pub(super) fn restart(&mut self, rules: &Rules<'_>, source: &dyn PointSource) {
        let rules = Rules { refined: false, ..*rules };
        let start = self.problem.start.clone();
        let (mut best, coincides) = (self.outcome().clone(), self.coincides);
        self.earlier = best.work;
        // What parameters did at the first start of all.
        let effects = best.effects.clone();
        let is_limited = rules.options.is_limited();
        // By a limit that was not the caller's.
        let mut unfinished = is_cut(&best, &self.first_options(&rules));
        // A robust loss has minima at some of the points, heavy points a valley of their own; and where parameters are linear, a
        // search in the others alone takes fewer passes.
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
            // An end at which nothing coincides must be better by more than rounding.
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
            // Where the attempt before would go on, another minimum that is higher is none.
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

    /// The options of an attempt with a long first step.
    fn with_a_long_step(&self, options: &Options) -> Options {
        let (free, spent) = (self.problem.free.len(), self.earlier.evaluations);
        let left = options.evaluations(free).saturating_sub(spent);
        // The other half is for going on.
        let most = spent + (FAIR * (free + 1)).min(left.div_ceil(2));
        let initial_radius = LONG * options.initial_radius;
        Options { initial_radius, max_evaluations: Some(most), ..*options }
    }

    /// The end of a search from other parameters, if it came to one.
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

    /// The minimum to which Newton's steps lead from where an attempt was cut, if they lead to one.
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

    /// Where a search in the nonlinear parameters alone leads.
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

    /// The parameters at the end, those on their bounds that crept towards one; `None` if none did.
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

    /// Whether the cost rises from each bound that holds a parameter: that is a minimum, also where there is
    /// no slope.
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
