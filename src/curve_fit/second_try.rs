//! A fit that did not converge, tried once more from where its end says that there may be more.

use super::CurveFit;
use super::start::Found;
use crate::data::points::Points;
use crate::error::Result;
use crate::fit::Fit;
use crate::fit::engine::{Request, Spent};
use crate::fit::projected::projected;
use crate::solver::termination::Termination;
use std::time::Instant;

/// A parameter that came this much nearer to a bound than it was at the start creeps there.
const CREEPING: f64 = 1e-6;
/// How far from a bound, on the way to the start, the cost is looked at to see whether it rises.
const INSIDE: f64 = 1e-2;
/// A cost that is no higher but for rounding, of sums of any length.
const SAME: f64 = 1e-9;

impl CurveFit {
    /// The fit that `make` makes from a start. If it did not converge, one more with the parameters that
    /// crept towards a bound set on it, where that costs nothing; and if linear parameters were solved
    /// for, one from where a search in the nonlinear ones alone leads, if it is better.
    ///
    /// A model that is even in a parameter, as Voigt's profile in its Gaussian width, has no slope at 0:
    /// steps towards a minimum there get ever smaller and end in rounding before they arrive.
    pub(super) fn fit_from(
        &self,
        found: Found,
        points: &Points<'_>,
        make: impl Fn(Vec<f64>) -> Result<Fit>,
    ) -> Result<Fit> {
        let Found { values, solved, .. } = found;
        let make = |start| make(start).map(|fit| self.settled(fit, points));
        let mut first = make(values.clone())?;
        if !self.may_try_again(&first) {
            return Ok(first);
        }
        let start = first.start.clone();
        if let Some(from) = on_bounds(&first)
            && let Ok(second) = make(self.completed(from)?)
        {
            let arrived = second.converged() && second.cost <= first.cost * (1.0 + SAME);
            if arrived {
                return Ok(counting(second, &first, 0, &start));
            }
            first = counting(first, &second, 0, &start);
        }
        if solved.is_empty() {
            return Ok(first);
        }
        let counts = points.as_measurements();
        let measured = counts.as_ref().unwrap_or(points);
        let inner = self.plain();
        let begun = Instant::now();
        let searched = inner.request(measured, values, None, Spent::default(), |request| {
            projected(&request, &solved, &self.scales)
        });
        first.stats.start_seconds += begun.elapsed().as_secs_f64();
        let Ok((from, passes)) = searched else { return Ok(first) };
        let Ok(second) = make(from) else { return Ok(first) };
        let worth = |fit: &Fit| (!fit.converged(), fit.cost);
        Ok(match worth(&second) < worth(&first) {
            true => counting(second, &first, passes, &start),
            false => counting(first, &second, passes, &start),
        })
    }

    /// `fit`, converged if all that is wrong with it is that parameters on their bounds have no slope
    /// there, and the cost rises from each bound: that is a minimum.
    fn settled(&self, mut fit: Fit, points: &Points<'_>) -> Fit {
        if fit.termination != Termination::Degenerate || !fit.undetermined().is_empty() {
            return fit;
        }
        let rises = |i: usize| {
            let mut inside = fit.params.clone();
            inside[i] += INSIDE * (fit.start[i] - inside[i]);
            let moved = inside[i] != fit.params[i];
            moved && self.cost_at(inside, points).is_some_and(|cost| cost > fit.cost)
        };
        if (0..fit.params.len()).filter(|&i| fit.at_bound[i].is_some()).all(rises) {
            fit.termination = Termination::Cost;
        }
        fit
    }

    /// The cost at complete parameters, where the model has a value.
    fn cost_at(&self, params: Vec<f64>, points: &Points<'_>) -> Option<f64> {
        let fixed = vec![true; params.len()];
        let all_fixed = CurveFit { fixed, observer: None, ..self.clone() }.changed();
        let params = self.completed(params).ok()?;
        let fit = |request: Request<'_>| request.fit();
        let fit = all_fixed.request(points, params, None, Spent::default(), fit);
        fit.ok().map(|fit| fit.cost).filter(|cost| cost.is_finite())
    }

    /// Whether a fit ended for want of a way, and not because it was told to.
    fn may_try_again(&self, fit: &Fit) -> bool {
        use Termination::{Stopped, TimeLimit};
        let ended = fit.converged() || matches!(fit.termination(), Stopped | TimeLimit);
        let limited = self.options.max_evaluations.is_some() || self.options.max_time.is_some();
        !ended && !limited
    }
}

/// The parameters of a fit, those on their bounds that crept towards one; `None` if none did.
fn on_bounds(fit: &Fit) -> Option<Vec<f64>> {
    let mut params = fit.params.clone();
    for (i, value) in params.iter_mut().enumerate().filter(|&(i, _)| !fit.fixed[i]) {
        let (lower, upper) = fit.bounds[i];
        for bound in [lower, upper] {
            let (left, begun) = ((*value - bound).abs(), (fit.start[i] - bound).abs());
            if bound.is_finite() && left < CREEPING * begun {
                *value = bound;
            }
        }
    }
    (params != fit.params).then_some(params)
}

/// `fit` with the work of both and the `start` of the first. `passes`: those that led from one to the
/// other.
fn counting(mut fit: Fit, other: &Fit, passes: usize, start: &[f64]) -> Fit {
    fit.start = start.to_vec();
    let (all, more) = (&mut fit.stats, &other.stats);
    all.start_seconds = all.start_seconds.max(more.start_seconds);
    all.evaluations += more.evaluations + passes;
    all.passes += more.passes + passes;
    all.iterations += more.iterations;
    all.retried = true;
    all.prepare_seconds += more.prepare_seconds;
    all.upload_seconds += more.upload_seconds;
    all.compile_seconds += more.compile_seconds;
    all.solve_seconds += more.solve_seconds;
    all.covariance_seconds += more.covariance_seconds;
    fit
}
