//! The moves of a minimisation: evaluate, take the linear model, go to the trial point or not.

use super::bounds::Limits;
use super::minimise::{Failure, Outcome};
use super::observe::Observer;
use super::options::Options;
use super::problem::Problem;
use super::run::Scaling;
use super::state::State;
use super::termination::Termination;
use super::trust_region::scaled_norm;
use super::work::Work;
use crate::backend::Evaluator;
use crate::data::unit_of;
use crate::normal::Summary;
use std::time::Instant;

/// Rounding of a cost: this many units in the last place of ‖y‖·‖r‖.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A minimisation: what it asks, what it was told, and where it stands.
pub(super) struct Search<'a> {
    pub(super) evaluator: &'a mut dyn Evaluator,
    pub(super) problem: &'a Problem,
    pub(super) options: &'a Options,
    pub(super) observer: Option<&'a Observer>,
    pub(super) begun: Instant,
    pub(super) state: &'a mut State,
}

impl<'a> Search<'a> {
    /// `state` may be that of a fit before this one; `work` is what went before this fit's first run.
    pub(super) fn new(
        evaluator: &'a mut dyn Evaluator,
        problem: &'a Problem,
        options: &'a Options,
        observer: Option<&'a Observer>,
        begun: Instant,
        work: Work,
        state: &'a mut State,
    ) -> Self {
        state.forget(problem, work);
        Search { evaluator, problem, options, observer, begun, state }
    }

    /// Evaluates at `start` and sets up the first trust region.
    pub(super) fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure> {
        self.state.scaling = scaling;
        self.state.earlier = self.state.work.iterations;
        self.state.params.copy_from_slice(start);
        self.state.trial.params.copy_from_slice(start);
        self.evaluate_start()?;
        for (j, &k) in self.problem.free.iter().enumerate() {
            let (lower, upper) = self.problem.bounds[k];
            self.state.limits[j] = (lower / self.state.columns[j], upper / self.state.columns[j]);
            self.state.q[j] = self.state.params[k] / self.state.columns[j];
        }
        self.linearise()?;
        self.state.scale.copy_from_slice(&self.state.model.norms);
        let effect = |(n, q): (&f64, &f64)| n * q.abs();
        self.state.effects.clear();
        self.state.effects.extend(self.state.model.norms.iter().zip(&self.state.q).map(effect));
        let size = scaled_norm(&self.state.q, &self.state.scale);
        // At the origin the residual, which has the same units, says how far a step may go.
        // Nor may a step be so short that the cost cannot tell.
        let residual = (2.0 * self.state.normal.cost).sqrt();
        let size = if size > 0.0 { size.max(1e-6 * residual) } else { residual };
        self.state.radius = self.options.initial_radius * size;
        self.state.lambda = 0.0;
        Ok(())
    }

    /// The normal equations at the trial point; not finite if the point itself is not, whatever the
    /// model makes of infinite parameters.
    pub(super) fn evaluate_trial(&mut self) -> Result<(), Failure> {
        if !self.state.trial.params.iter().all(|p| p.is_finite()) {
            self.state.trial.normal.cost = f64::NAN;
            return Ok(());
        }
        self.evaluator.normal(
            &self.state.trial.params,
            &self.state.columns,
            &mut self.state.trial.normal,
        )?;
        self.state.work.evaluations += 1;
        Ok(())
    }

    /// The normal equations at the start, with columns brought into the range where squares are safe.
    pub(super) fn evaluate_start(&mut self) -> Result<(), Failure> {
        self.evaluator.normal(&self.state.params, &self.state.columns, &mut self.state.normal)?;
        self.state.work.evaluations += 1;
        if self.state.normal.is_finite()
            && (0..self.state.normal.n).all(|j| is_safe(self.state.normal.jtj(j, j)))
        {
            return Ok(());
        }
        self.state.work.other_passes += 1;
        if let Some(point) = self.evaluator.first_bad_point(&self.state.params) {
            return Err(Failure::Start(point));
        }
        let largest = &mut self.state.delta;
        self.evaluator.magnitudes(&self.state.params, largest)?;
        self.state.work.other_passes += 1;
        self.state.columns.iter_mut().zip(&*largest).for_each(|(c, &m)| *c = unit_of(m));
        self.evaluator.normal(&self.state.params, &self.state.columns, &mut self.state.normal)?;
        self.state.work.evaluations += 1;
        if self.state.normal.is_finite() { Ok(()) } else { Err(Failure::Overflow) }
    }

    /// Brings the linear model to the present point.
    pub(super) fn linearise(&mut self) -> Result<(), Failure> {
        if !self.state.model.set_normal(&self.state.normal) {
            self.evaluator.factor(
                &self.state.params,
                &self.state.columns,
                &mut self.state.factor,
            )?;
            self.state.work.other_passes += 1;
            self.state.model.set_factor(&self.state.factor);
        }
        for (scale, &norm) in self.state.scale.iter_mut().zip(&self.state.model.norms) {
            *scale = match self.state.scaling {
                Scaling::Monotone => scale.max(norm),
                Scaling::Present => norm,
            };
        }
        Limits { limits: &self.state.limits }.moving(
            &self.state.q,
            &self.state.model,
            &mut self.state.moving,
        );
        Ok(())
    }

    /// Sets the trial to the present point plus the step. Returns whether anything moved.
    pub(super) fn move_trial(&mut self) -> bool {
        let mut moved = false;
        for (j, &k) in self.problem.free.iter().enumerate() {
            let (lower, upper) = self.problem.bounds[k];
            let (low, high) = self.state.limits[j];
            let (q, d) = (self.state.q[j], self.state.delta[j]);
            // A step onto a bound ends on it, not a rounding beside it, where it would not be held.
            self.state.trial.params[k] = match ((q + d) * self.state.columns[j]).clamp(lower, upper)
            {
                _ if d == low - q => lower,
                _ if d == high - q => upper,
                to => to,
            };
            self.state.trial.q[j] = self.state.trial.params[k] / self.state.columns[j];
            moved |= self.state.trial.q[j] != self.state.q[j];
        }
        moved
    }

    /// Exchanges the present point with the trial.
    pub(super) fn exchange(&mut self) {
        std::mem::swap(&mut self.state.params, &mut self.state.trial.params);
        std::mem::swap(&mut self.state.q, &mut self.state.trial.q);
        std::mem::swap(&mut self.state.normal, &mut self.state.trial.normal);
    }

    /// Whether no step of this run has been accepted yet.
    pub(super) fn is_at_start(&self) -> bool {
        self.state.work.iterations == self.state.earlier
    }

    /// What a change of q[j] is compared with: q[j] itself or, if that is larger, the standard error
    /// that it would have alone in the model, √(2C/n)/‖Jⱼ‖. A parameter whose best value is 0 has no
    /// size of its own, and no change is small beside it.
    pub(super) fn size(&self, j: usize) -> f64 {
        let deviation = (2.0 * self.state.normal.cost / self.problem.points.max(1) as f64).sqrt();
        self.state.q[j].abs().max(deviation / self.state.model.norms[j])
    }

    /// The uncertainty of the cost by rounding of the model's values.
    pub(super) fn noise(&self) -> f64 {
        let residual = (2.0 * self.state.normal.cost).sqrt();
        let effect = |j: usize| self.state.model.norms[j] * self.state.q[j].abs();
        let terms = (0..self.state.q.len()).map(effect).fold(0.0, f64::max);
        ROUNDING * residual * (self.problem.square.sqrt() + residual).max(terms)
    }

    /// Where the search stands.
    pub(super) fn report(&self, termination: Termination, out: &mut Outcome) {
        let state = &*self.state;
        out.params.clone_from(&state.params);
        out.cost = state.normal.cost;
        out.normal.clone_from(&state.normal);
        out.termination = termination;
        out.work = state.work;
        out.columns.clone_from(&state.columns);
        out.effects.clone_from(&state.effects);
        out.retried = false;
    }
}

/// Whether a sum of squares is so far from the ends of the range that others of its kind are too.
fn is_safe(square: f64) -> bool {
    (1e-200..=1e200).contains(&square)
}
