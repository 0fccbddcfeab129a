//! Refits of a profile: fits in which one or two parameters are held and all others are free.

use super::interval::ProfileNode;
use super::scattered::Scattered;
use crate::curve_fit::CurveFit;
use crate::curve_fit::lost_model::check_same_fit;
use crate::data::Data;
use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;
use crate::fit::Fit;
use crate::math::order::sort_few;
use crate::solver::options::Options;
use crate::solver::termination::Termination;

/// Tolerances of refits. The profile uses differences of costs, therefore each cost must be accurate.
const FTOL: f64 = 1e-14;
const XTOL: f64 = 1e-12;
/// Maximum number of times that a refit without convergence continues from its last point.
const CONTINUED: usize = 4;
/// A refit without convergence counts as finished if a continuation reduces its excess, (S − Ŝ)/s², by at most this
/// fraction of 1 + excess. S and Ŝ are the sums of squares of the refit and of the best fit.
const SETTLED: f64 = 1e-3;
/// Minimum decrease of the excess below zero that counts as a better minimum instead of rounding.
const BETTER: f64 = 1e-6;

/// Number of scattered starts that are refitted: those with the lowest cost.
const REFITTED: usize = 4;

/// A model with held parameters, the data, and the fit to which they belong.
pub(super) struct Refits<'a> {
    held: CurveFit,
    free: CurveFit,
    data: Data<'a>,
    /// The fit, refined with the tolerances of refits.
    best: Fit,
    /// s², the unit in which the excess is measured, in squares of row units.
    unit: f64,
    /// Positions of the held parameters.
    positions: Vec<usize>,
    scattered: Scattered,
}

impl<'a> Refits<'a> {
    /// Prepares refits around `fit`.
    ///
    /// # Errors
    /// [`UncertaintyError::OtherFit`], [`UncertaintyError::NoProfile`], and errors of a fit.
    pub(super) fn new(
        curve: &CurveFit,
        fit: &Fit,
        data: Data<'a>,
        positions: &[usize],
    ) -> Result<Refits<'a>> {
        check_same_fit(curve, fit, &data)?;
        let mut free = curve.clone();
        free.observer = None;
        free.options = Options {
            ftol: free.options.ftol.min(FTOL),
            xtol: free.options.xtol.min(XTOL),
            etol: 0.0,
            ..free.options
        };
        let settled = free.fit(&data, &fit.params)?;
        let best = if settled.cost <= fit.cost { settled } else { fit.clone() };
        let unit = fit.cost_unit;
        if !(unit > 0.0 && unit.is_finite()) {
            let name =
                positions.iter().map(|&k| curve.names[k].as_str()).collect::<Vec<_>>().join(", ");
            let reason = "the fit leaves no scatter that costs could be compared with";
            let remedy = "give absolute sigmas";
            return Err(UncertaintyError::NoProfile { name, reason, remedy }.into());
        }
        let mut held = free.clone().changed();
        positions.iter().for_each(|&k| held.fixed[k] = true);
        let scattered = Scattered::about(&best, &held)?;
        Ok(Refits { held, free, data, best, unit, positions: positions.to_vec(), scattered })
    }

    /// Returns the names of the held parameters.
    pub(super) fn names(&self) -> Vec<String> {
        self.positions.iter().map(|&k| self.held.names[k].clone()).collect()
    }

    pub(super) fn position(&self, which: usize) -> usize {
        self.positions[which]
    }

    /// Returns the best value of a held parameter.
    pub(super) fn best_value(&self, which: usize) -> f64 {
        self.best.params[self.positions[which]]
    }

    /// Returns the bounds of a held parameter.
    pub(super) fn bounds(&self, which: usize) -> (f64, f64) {
        self.held.bounds[self.positions[which]]
    }

    /// Returns the standard error of a held parameter, if it is positive and finite.
    pub(super) fn error(&self, which: usize) -> Option<f64> {
        let error = self.best.covariance.errors[self.positions[which]];
        (error > 0.0 && error.is_finite()).then_some(error)
    }

    /// Returns the best fit as a node.
    pub(super) fn center(&self) -> ProfileNode {
        let params = self.best.params.clone();
        ProfileNode { value: params[self.positions[0]], excess: 0.0, params }
    }

    /// Fits with the held parameters at `values`. Returns the result from the first of the `starts` that leads to a
    /// minimum. If no start does, for example because the best value of a parameter is at infinity, returns the lowest
    /// result, including fits from the best fit and from scattered starts. `None` if all fits fail.
    pub(super) fn at(&self, values: &[f64], starts: &[&[f64]]) -> Option<ProfileNode> {
        let mut lowest: Option<ProfileNode> = None;
        for start in starts.iter().copied().chain([self.best.params.as_slice()]) {
            let start = self.moved(values, start);
            // Linear parameters can change by orders of magnitude far from the best value, so that extrapolation fails.
            let solved = || match self.is_stopped() {
                true => None,
                false => self.scattered.linear.fit(&self.data, &start).ok(),
            };
            let ends = [self.attempt(values, &start)]
                .into_iter()
                .chain(std::iter::once_with(|| self.attempt(values, &solved()?.params)));
            for (node, converged) in ends.flatten() {
                if converged {
                    return Some(node);
                }
                lowest = lower(lowest, node);
            }
        }
        match self.elsewhere(values, usize::MAX) {
            Some(node) => lower(lowest, node),
            None => lowest,
        }
    }

    /// Fits from all of these starts and returns the lowest result.
    pub(super) fn lowest(&self, values: &[f64], starts: &[&[f64]]) -> Option<ProfileNode> {
        let ends = starts.iter().filter_map(|start| self.along(values, start));
        ends.min_by(|a, b| a.excess.total_cmp(&b.excess))
    }

    /// Fits from this start only.
    pub(super) fn along(&self, values: &[f64], start: &[f64]) -> Option<ProfileNode> {
        let found = self.attempt(values, &self.moved(values, start));
        found.map(|(node, _)| node)
    }

    /// Solves for the linear parameters at each of at most `count` scattered starts, fits from the best of these
    /// starts, and returns the lowest result. `None` if there are no scattered starts or all fits fail.
    pub(super) fn elsewhere(&self, values: &[f64], count: usize) -> Option<ProfileNode> {
        let starts = self.scattered.starts.iter().take(count);
        let solved = starts.take_while(|_| !self.is_stopped()).filter_map(|start| {
            let start = self.moved(values, start);
            let fit = self.scattered.linear.fit(&self.data, &start).ok()?;
            fit.cost.is_finite().then_some((fit.cost, fit.params))
        });
        let mut solved: Vec<(f64, Vec<f64>)> = solved.collect();
        sort_few(&mut solved, |a, b| a.0.total_cmp(&b.0));
        let ends = solved.iter().take(REFITTED).filter_map(|(_, start)| self.along(values, start));
        ends.min_by(|a, b| a.excess.total_cmp(&b.excess))
    }

    /// Returns `start` moved inside the bounds, with the held parameters at `values`.
    fn moved(&self, values: &[f64], start: &[f64]) -> Vec<f64> {
        let inside = start.iter().zip(&self.held.bounds);
        let mut start: Vec<f64> =
            inside.map(|(value, &(lower, upper))| value.clamp(lower, upper)).collect();
        for (&k, &value) in self.positions.iter().zip(values) {
            start[k] = value;
        }
        start
    }

    /// Returns true if the fits are stopped and no further fit may begin.
    fn is_stopped(&self) -> bool {
        self.held.cancel.as_ref().is_some_and(|token| token.is_cancelled())
    }

    /// Fits from `start`. Returns the last point, and true if the fit has converged. A fit without convergence
    /// continues from its last point. If its cost still decreases significantly after the last continuation, it is not
    /// near its minimum, and the result is `None`.
    fn attempt(&self, values: &[f64], start: &[f64]) -> Option<(ProfileNode, bool)> {
        use Termination::{AllFixed, Degenerate, MaxEvaluations, NoProgress};
        let mut fit = self.refitted(start)?;
        let is_minimum = |fit: &Fit| fit.converged() || fit.termination == AllFixed;
        let mut settled = is_minimum(&fit);
        for _ in 0..CONTINUED {
            let ended = matches!(fit.termination, NoProgress | Degenerate | MaxEvaluations);
            if settled || !ended {
                break;
            }
            let more = self.refitted(&fit.params)?;
            let gained = self.excess(fit.cost) - self.excess(more.cost);
            settled = is_minimum(&more) || gained <= SETTLED * (1.0 + self.excess(fit.cost));
            if more.cost <= fit.cost {
                fit = more;
            }
        }
        let converged = is_minimum(&fit);
        let excess = self.excess(fit.cost);
        let node = ProfileNode { value: values[0], excess, params: fit.params };
        (settled && excess.is_finite()).then_some((node, converged))
    }

    /// Fits from a start; `None` if the fit fails or the fits are stopped.
    fn refitted(&self, start: &[f64]) -> Option<Fit> {
        if self.is_stopped() { None } else { self.held.fit(&self.data, start).ok() }
    }

    /// Returns the excess (S − Ŝ)/s² of a fit with this cost.
    fn excess(&self, cost: f64) -> f64 {
        2.0 * (cost - self.best.cost) / self.unit
    }

    /// Fits with all parameters free from the lowest node. Returns the result if its cost is lower than that of the
    /// best fit.
    pub(super) fn better(&self, nodes: &[ProfileNode]) -> Result<Option<Fit>> {
        let least = nodes.iter().min_by(|a, b| a.excess.total_cmp(&b.excess));
        let rounding = 1e-13 * 2.0 * self.best.cost / self.unit;
        let Some(node) = least.filter(|node| node.excess < -BETTER - rounding) else {
            return Ok(None);
        };
        let fit = self.free.fit(&self.data, &node.params)?;
        Ok((fit.cost < self.best.cost).then_some(fit))
    }
}

/// Returns the node with the lower cost.
fn lower(node: Option<ProfileNode>, other: ProfileNode) -> Option<ProfileNode> {
    match node {
        Some(node) if node.excess <= other.excess => Some(node),
        _ => Some(other),
    }
}
