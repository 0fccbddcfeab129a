//! Checks of the termination of a search, which can be spurious.
//!
//! In an exact fit, a parameter can be zero except for rounding, while other parameters have an effect only through it.
//! Example: a fit of `a·exp(−r·x) + b` to equal values, such as a saturated pixel, ends with an a of some units in the
//! last place of b. The column of r then consists of rounding, but a covariance from it would show r as determined.
//! With a = 0 and b adjusted, the curve still passes through the points, and the column of r is 0: the data do not
//! determine r.

use super::search::{SearchRequest, Workspace};
use crate::constants::ROUNDING;
use crate::data::loss::Loss;
use crate::normal::{Normal, Triangular, pair};
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::Failure;
use crate::solver::task::Problem;
use crate::solver::termination::Termination;

/// Residuals up to this multiple of the rounding of an exact fit may be near an exact fit.
const NEARLY: f64 = 1e2;
/// A parameter whose effect is below this multiple of rounding may be zero except for rounding.
const FAINT: f64 = 1e8;
/// Terms of the model cancel if the largest exceeds this multiple of ‖y‖.
const CANCELLING: f64 = 1e2;
/// Fraction of the scatter of y that affects R² visibly.
const SHOWN: f64 = 1e-3;
/// x is far from 0 if its distance exceeds this multiple of its range.
const FAR_OFF: f64 = 1e3;

/// Minimum sum of weights of a converged fit, in addition to one per parameter.
const LEAST: f64 = 0.5;
/// Minimum number of effective points per parameter: fewer give a warning.
const FEW: f64 = 5.0;
/// Minimum ratio of effective points to points: a smaller ratio gives a warning for any number of parameters.
const LITTLE: f64 = 0.1;
/// Ratio of effective points to points from which there is no warning.
const MANY: f64 = 0.5;

impl Workspace {
    /// Corrects a spurious termination. Sets parameters that are zero except for rounding to 0.
    /// Rejects convergence if rounding hides the minimum or if too few points keep weight.
    /// Records if columns coincide, which allows another attempt.
    /// Accepts a degenerate end as a minimum if the cost rises from every bound that holds a parameter.
    pub(super) fn verify(
        &mut self,
        request: &SearchRequest<'_>,
        points: &mut dyn Evaluator,
    ) -> Result<(), Failure> {
        let reason = self.outcome().termination;
        if reason.is_converged() {
            self.take_zeros(points)?;
        }
        if self.outcome().termination.is_converged() && self.is_lost_in_rounding(points)? {
            self.outcome_mut().termination = Termination::LostInRounding;
            return Ok(());
        }
        if request.spec.loss.redescends() && reason.is_converged() {
            self.analyse(points)?;
            let counting = (self.end.weight, self.problem.points);
            let reason =
                checked_weight(reason, request.spec.loss, counting, self.end.number_estimated());
            self.outcome_mut().termination = reason;
        }
        if reason.is_converged() && !self.problem.shape.is_full() && !request.linear.is_empty() {
            self.analyse(points)?;
            self.coincides = self.end.coincides();
        }
        if reason == Termination::Degenerate {
            self.analyse(points)?;
            if self.end.determines_all(self.problem.points) && self.rises_from_bounds(points) {
                self.outcome_mut().termination = Termination::Cost;
            }
        }
        Ok(())
    }

    /// Returns true if rounding hides the minimum, in one of two cases. Terms cancel almost completely, and their
    /// rounding changes the cost by a visible fraction of the scatter of y. Or columns of the Jacobian coincide, and x
    /// is so far from 0 that rounding can be the reason.
    fn is_lost_in_rounding(&mut self, points: &mut dyn Evaluator) -> Result<bool, Failure> {
        let (Problem { free, square, scatter, .. }, end) = (&self.problem, self.outcome());
        if end.termination == Termination::ExactFit {
            return Ok(false);
        }
        let lengths = end.normal.lengths_and_slopes().map(|(square, _)| square.sqrt());
        let term =
            |((&k, length), column): ((&usize, f64), &f64)| length * end.params[k].abs() / column;
        let largest = free.iter().zip(lengths).zip(&end.columns).map(term).fold(0.0, f64::max);
        let change = ROUNDING * (2.0 * end.cost).sqrt() * largest;
        // There is no scatter of y for the comparison if all y are equal, or if residuals without data are fitted.
        let varies = *scatter > self.problem.rounding();
        let cancels = varies && largest > CANCELLING * square.sqrt();
        if cancels && 2.0 * change > SHOWN * scatter {
            return Ok(true);
        }
        if !self.end.has_small_pivots(&self.minimiser.ends.best.normal)
            || points.offset() <= FAR_OFF
        {
            return Ok(false);
        }
        // Columns of parameters without effect are 0.
        self.analyse(points)?;
        // Residuals orthogonal to columns that nearly coincide may lie along their difference.
        let outcome = self.outcome();
        let is_orthogonal = outcome.termination == Termination::Gradient;
        let leaves = is_orthogonal && self.end.promised() > SHOWN * outcome.cost;
        Ok(leaves || !self.end.determines_all(self.problem.points))
    }

    /// Sets parameters that are zero except for rounding to 0 if other parameters then have no effect. Joint fits skip
    /// this, as each parameter would take a pass over all sets.
    fn take_zeros(&mut self, points: &mut dyn Evaluator) -> Result<(), Failure> {
        let (Problem { free, shape, .. }, end) = (&self.problem, self.outcome());
        let is_nearly_exact = 2.0 * end.cost <= (NEARLY * NEARLY) * self.problem.rounding();
        if !is_nearly_exact || !shape.is_full() {
            return Ok(());
        }
        let most = FAINT * self.problem.rounding().sqrt();
        let is_faint = |(j, &k): (usize, &usize)| {
            let length = end.normal.corner()[pair(j, j)].sqrt();
            length * end.params[k].abs() <= most * end.columns[j]
        };
        if !free.iter().enumerate().any(is_faint) || !self.linearise(points) {
            return Ok(());
        }
        for j in 0..self.problem.free.len() {
            let Some(params) = self.with_zero(j) else { continue };
            let mut normal = Normal::shaped(&self.problem.shape);
            let end = self.outcome_mut();
            end.work.other_passes += 1;
            let is_known = points.normal(&params, &end.columns, &mut normal).is_ok();
            let is_better = without_effect(&normal) > without_effect(&end.normal);
            let is_exact = is_known && 2.0 * normal.cost <= self.problem.rounding();
            if is_better && is_exact && points.is_exact(&params)? {
                let end = self.outcome_mut();
                (end.params, end.cost, end.normal) = (params, normal.cost, normal);
                end.termination = Termination::ExactFit;
                if !self.linearise(points) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Computes the linear model at the current end; returns false if this fails.
    fn linearise(&mut self, points: &mut dyn Evaluator) -> bool {
        let (end, outcome) = (&mut self.end, &mut self.minimiser.ends.best);
        if end.model.set_normal(&outcome.normal) {
            return true;
        }
        outcome.work.other_passes += 1;
        let is_known = points.factor(&outcome.params, &outcome.columns, &mut end.factor).is_ok();
        if is_known {
            end.model.set_factor(&end.factor);
        }
        is_known
    }

    /// Returns the parameters with the j-th free parameter set to 0; other parameters whose effect exceeds rounding are
    /// adjusted. `None` if the linear model does not predict an exact fit there.
    fn with_zero(&self, j: usize) -> Option<Vec<f64>> {
        let (problem, outcome) = (&self.problem, &self.minimiser.ends.best);
        let Problem { free, shape, bounds, .. } = problem;
        let (value, (lower, upper)) = (outcome.params[free[j]], bounds[free[j]]);
        if value == 0.0 || !(lower..=upper).contains(&0.0) {
            return None;
        }
        let model = &self.end.model;
        let scaled = |i: usize| outcome.params[free[i]] / outcome.columns[i];
        let most = problem.rounding();
        let others = (0..free.len()).filter(|&i| i != j);
        let others = others.filter(|&i| (model.norms[i] * scaled(i)).powi(2) > most);
        let others: Vec<usize> = others.collect();
        let mut delta = vec![0.0; free.len()];
        delta[j] = -scaled(j);
        let mut reduced = Triangular::zero(shape);
        model.problem.restrict(&others, &delta, &mut reduced, &mut Vec::new());
        let mut step = vec![0.0; others.len()];
        reduced.gauss_newton(&mut step);
        others.iter().zip(&step).for_each(|(&i, &d)| delta[i] = d);
        let promised = outcome.cost + model.problem.change(&delta);
        if promised.is_nan() || 2.0 * promised > most.max(2.0 * outcome.cost) {
            return None;
        }
        let mut params = outcome.params.clone();
        for ((&k, d), column) in free.iter().zip(&delta).zip(&outcome.columns) {
            params[k] = (params[k] + d * column).clamp(bounds[k].0, bounds[k].1);
        }
        params[free[j]] = 0.0;
        Some(params)
    }
}

/// Returns the number of columns of the Jacobian that are 0.
fn without_effect(normal: &Normal) -> usize {
    (0..normal.n).filter(|&j| normal.corner()[pair(j, j)] == 0.0).count()
}

/// Returns the termination of a fit whose `points` have the total `weight`. A redescending loss has a minimum
/// wherever the model passes through one point per parameter. A minimum with no further weight is due to chance and
/// does not count as convergence.
pub(crate) fn checked_weight(
    reason: Termination,
    loss: Loss,
    (weight, points): (f64, usize),
    estimated: usize,
) -> Termination {
    let no_more = weight < estimated as f64 + LEAST && weight < MANY * points as f64;
    match reason.is_converged() && loss.redescends() && no_more {
        true => Termination::BeyondScale,
        false => reason,
    }
}

/// Returns true if the effective points are too few for a reliable result.
pub(crate) fn is_little(weight: f64, points: usize, estimated: usize) -> bool {
    let points = points as f64;
    weight < MANY * points && (weight < FEW * estimated as f64 || weight < LITTLE * points)
}
