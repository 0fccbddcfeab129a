//! Tests of convergence at the current point, independent of the step that led to it.

use super::options::Options;
use super::search::Search;
use super::state::{Prospect, Reduced, State};
use super::termination::Termination;
use crate::constants::{CALM_BEND, CALM_NOISE, CALM_RATE, CALM_RATIO, CALM_REST};

impl Search<'_> {
    /// Returns the termination if the current point ends the run without a further step.
    pub(super) fn finished(&self) -> Option<Termination> {
        if 2.0 * self.state.normal.cost <= self.state.rounding {
            return Some(Termination::ExactFit);
        }
        if self.state.model.norms.iter().all(|&norm| norm == 0.0) {
            return Some(if self.is_at_start() {
                Termination::ZeroGradientAtStart
            } else {
                Termination::Degenerate
            });
        }
        let residual = self.residual();
        let cosine = |&j: &usize| {
            self.state.model.gradient[j].abs() / (self.state.model.norms[j] * residual)
        };
        let largest = self.state.moving.iter().map(cosine).fold(0.0, f64::max);
        (largest <= self.task.options.gtol || self.state.moving.is_empty())
            .then_some(Termination::Gradient)
    }

    /// Computes the Gauss-Newton step of the moving parameters and its predicted effect.
    pub(super) fn prospect(&mut self) -> Prospect {
        let m = self.state.moving.len();
        let State { reduced, model, ahead, moving, delta, has_full_step, .. } = &mut *self.state;
        let Reduced { problem, step, work, .. } = reduced;
        let step = &mut step[..m];
        let all = m == model.n;
        *has_full_step = all && model.is_regular();
        if *has_full_step {
            problem.z.clone_from(&model.problem.z);
            match ahead.is_known {
                true => step.copy_from_slice(&ahead.step),
                false => model.problem.gauss_newton(step),
            }
        } else {
            if all {
                problem.copy_from(&model.problem);
            } else {
                delta.fill(0.0);
                model.problem.restrict(moving, delta, problem, work);
            }
            if !all && problem.is_regular() {
                problem.gauss_newton(step);
            } else if !self.basic_step() {
                return Prospect { fall: f64::INFINITY, change: f64::INFINITY };
            }
        }
        let Reduced { problem, step, .. } = &self.state.reduced;
        let (z, step) = (&problem.z[..m], &step[..m]);
        let deviation = self.deviation();
        let relative = |(&j, d): (&usize, &f64)| d.abs() / self.size(j, deviation);
        Prospect {
            fall: 0.5 * z.iter().map(|v| v * v).sum::<f64>(),
            change: self.state.moving.iter().zip(step.iter()).map(relative).fold(0.0, f64::max),
        }
    }

    /// Computes the Gauss-Newton step of a rank-deficient problem in the columns that are not spanned by previous
    /// columns. The other parameters do not move, since their columns are linear combinations of the selected ones.
    /// Returns false if there is no such step.
    fn basic_step(&mut self) -> bool {
        let m = self.state.moving.len();
        let Reduced { problem, step, work, kept, basis, basic, part } = &mut self.state.reduced;
        let (moving, norms) = (&self.state.moving, &self.state.model.norms);
        let least = |i: usize| 8.0 * m as f64 * f64::EPSILON * norms[moving[i]];
        kept.clear();
        let pivots = problem.diagonal().enumerate();
        kept.extend(pivots.filter(|(i, r)| r.abs() > least(*i)).map(|(i, _)| i));
        basis.clear();
        basis.extend(kept.iter().map(|&i| moving[i]));
        let k = basis.len();
        let part = &mut part[..k];
        self.state.delta.fill(0.0);
        self.state.model.problem.restrict(basis, &self.state.delta, basic, work);
        if !basic.is_regular() {
            return false;
        }
        basic.gauss_newton(part);
        problem.z[..k].copy_from_slice(&basic.z);
        problem.z[k..m].fill(0.0);
        step[..m].fill(0.0);
        kept.iter().zip(part.iter()).for_each(|(&i, &d)| step[i] = d);
        true
    }

    /// Returns the termination if a full step would change the cost or the parameters by no more than a tolerance.
    pub(super) fn small(&self, prospect: Prospect) -> Option<Termination> {
        let Options { ftol, xtol, .. } = *self.task.options;
        if ftol > 0.0 && prospect.fall <= (ftol * self.bulk()).max(self.noise()) {
            Some(Termination::Cost)
        } else if prospect.change <= xtol {
            Some(Termination::Step)
        } else {
            None
        }
    }

    /// Returns true if the option `etol` allows the full step to be the last one: it is short relative to the standard
    /// errors, the signal stands out, and the previous step shows that steps shrink.
    pub(super) fn is_within_errors(&self, prospect: Prospect) -> bool {
        let (problem, etol) = (self.task.problem, self.task.options.etol);
        if etol == 0.0 || self.is_at_start() {
            return false;
        }
        let freedom = problem.points.saturating_sub(problem.free.len()).max(1);
        let variance = match problem.absolute {
            true => problem.row_unit * problem.row_unit,
            false => 2.0 * self.bulk() / freedom as f64,
        };
        let (square, tolerance) = (2.0 * prospect.fall, etol * etol * variance);
        square <= tolerance && self.stands_out(variance) && self.steps_shrink(square, tolerance)
    }

    /// Returns true if the standard deviation of a point, √`variance`, is small relative to the signal and no column is
    /// nearly spanned by previous columns. Otherwise the model may bend within the errors of its parameters. Steps then
    /// shrink slowly along some combination of parameters, and only steps along this combination reveal it.
    fn stands_out(&self, variance: f64) -> bool {
        let model = &self.state.model;
        let columns = model.problem.diagonal().zip(&model.norms).filter(|(_, norm)| **norm > 0.0);
        let least = columns.map(|(r, norm)| (r / norm).abs()).fold(1.0, f64::min);
        variance <= CALM_NOISE * CALM_NOISE * (least * least) * self.task.problem.signal
    }

    /// Returns true if the full steps after the current one add up to a small fraction of √`tolerance`. `square` is the
    /// squared length of the current step δ in the metric of JᵀJ. Near the minimum δ = −K d, where d is the previous
    /// step and the matrix K, symmetric in this metric, is the curvature of the model times the residuals. Along δ,
    /// steps shrink by the factor ‖δ‖²/|dᵀJᵀJδ| = `square`/|`along`|, the inverse Rayleigh quotient of K⁻¹. This factor
    /// is also large if d contains no information about the direction of δ.
    fn steps_shrink(&self, square: f64, tolerance: f64) -> bool {
        let step = &self.state.step;
        let rate = square / step.along.abs();
        let rest = rate / (1.0 - rate);
        let is_calm = step.full && (step.ratio - 1.0).abs() <= CALM_RATIO && step.bend <= CALM_BEND;
        is_calm && rate <= CALM_RATE && square * (rest * rest) <= CALM_REST * CALM_REST * tolerance
    }

    /// Returns `Degenerate` instead of a converged `reason`, except `ExactFit`, if a column of the Jacobian has become
    /// zero.
    pub(super) fn unless_degenerate(&self, reason: Termination) -> Termination {
        let lost = |j: usize| self.state.model.norms[j] == 0.0 && !self.state.unused[j];
        let minimum = reason.is_converged() && reason != Termination::ExactFit;
        match minimum && (0..self.state.q.len()).any(lost) {
            true => Termination::Degenerate,
            false => reason,
        }
    }
}
