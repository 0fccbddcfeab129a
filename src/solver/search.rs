//! The state of a minimisation: where it stands, what it knows there, where it might go.

use super::anderson::Anderson;
use super::bounds::{BoundedStep, Limits};
use super::linear_model::LinearModel;
use super::minimise::{Failure, Outcome};
use super::observe::Observer;
use super::options::Options;
use super::problem::Problem;
use super::run::Scaling;
use super::termination::Termination;
use super::trust_region::scaled_norm;
use super::work::Work;
use crate::backend::Evaluator;
use crate::data::unit_of;
use crate::normal::{Normal, RFactor, Summary};
use std::time::Instant;

/// Rounding of a cost: this many units in the last place of ‖y‖·‖r‖.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// The state of a minimisation. `q` are the free parameters in units of the columns' powers of two.
pub(super) struct Search<'a> {
    pub(super) evaluator: &'a mut dyn Evaluator,
    pub(super) problem: &'a Problem,
    pub(super) options: &'a Options,
    pub(super) observer: Option<&'a Observer>,
    pub(super) begun: Instant,
    pub(super) scaling: Scaling,
    pub(super) columns: Vec<f64>,
    pub(super) limits: Vec<(f64, f64)>,
    pub(super) params: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) normal: Normal,
    pub(super) model: LinearModel,
    pub(super) moving: Vec<usize>,
    /// The diagonal of D.
    pub(super) scale: Vec<f64>,
    pub(super) radius: f64,
    pub(super) lambda: f64,
    pub(super) stepper: BoundedStep,
    pub(super) delta: Vec<f64>,
    pub(super) trial: Trial,
    /// The best point of the refinement.
    pub(super) best: Trial,
    pub(super) mixing: Anderson,
    /// Whether the observer asked to stop.
    pub(super) stopped: bool,
    pub(super) factor: RFactor,
    /// Room for the Gauss-Newton problem of the moving parameters.
    pub(super) reduced: Reduced,
    pub(super) work: Work,
    /// Accepted steps before this run.
    pub(super) earlier: usize,
    pub(super) effects: Vec<f64>,
}

/// A point that may be accepted.
pub(super) struct Trial {
    pub(super) params: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) normal: Normal,
}

pub(super) struct Reduced {
    pub(super) r: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) step: Vec<f64>,
    pub(super) work: Vec<f64>,
    /// Of a deficient problem: the columns that are kept, their parameters, and their step.
    pub(super) kept: Vec<usize>,
    pub(super) basis: Vec<usize>,
    pub(super) part: Vec<f64>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        evaluator: &'a mut dyn Evaluator,
        problem: &'a Problem,
        options: &'a Options,
        observer: Option<&'a Observer>,
        begun: Instant,
        work: Work,
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
            best: Trial { params: problem.start.clone(), q: line.clone(), normal: Normal::zero(n) },
            mixing: Anderson::new(n),
            stopped: false,
            factor: RFactor::zero(n),
            reduced: Reduced {
                r: vec![0.0; n * n],
                z: line.clone(),
                step: line.clone(),
                kept: Vec::with_capacity(n),
                basis: Vec::with_capacity(n),
                part: line,
                work: vec![0.0; (n + 1) * (2 * n + 1)],
            },
            work,
            earlier: work.iterations,
            effects: Vec::new(),
        }
    }

    /// Evaluates at `start` and sets up the first trust region.
    pub(super) fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure> {
        self.scaling = scaling;
        self.earlier = self.work.iterations;
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
        // Nor may a step be so short that the cost cannot tell.
        let residual = (2.0 * self.normal.cost).sqrt();
        let size = if size > 0.0 { size.max(1e-6 * residual) } else { residual };
        self.radius = self.options.initial_radius * size;
        self.lambda = 0.0;
        Ok(())
    }

    /// The normal equations at the trial point; not finite if the point itself is not, whatever the
    /// model makes of infinite parameters.
    pub(super) fn evaluate_trial(&mut self) -> Result<(), Failure> {
        if !self.trial.params.iter().all(|p| p.is_finite()) {
            self.trial.normal.cost = f64::NAN;
            return Ok(());
        }
        self.evaluator.normal(&self.trial.params, &self.columns, &mut self.trial.normal)?;
        self.work.evaluations += 1;
        Ok(())
    }

    /// The normal equations at the start, with columns brought into the range where squares are safe.
    pub(super) fn evaluate_start(&mut self) -> Result<(), Failure> {
        self.evaluator.normal(&self.params, &self.columns, &mut self.normal)?;
        self.work.evaluations += 1;
        if self.normal.is_finite() && (0..self.normal.n).all(|j| is_safe(self.normal.jtj(j, j))) {
            return Ok(());
        }
        self.work.other_passes += 1;
        if let Some(point) = self.evaluator.first_bad_point(&self.params) {
            return Err(Failure::Start(point));
        }
        let mut largest = vec![0.0; self.columns.len()];
        self.evaluator.magnitudes(&self.params, &mut largest)?;
        self.work.other_passes += 1;
        self.columns.iter_mut().zip(&largest).for_each(|(c, &m)| *c = unit_of(m));
        self.evaluator.normal(&self.params, &self.columns, &mut self.normal)?;
        self.work.evaluations += 1;
        if self.normal.is_finite() { Ok(()) } else { Err(Failure::Overflow) }
    }

    /// Brings the linear model to the present point.
    pub(super) fn linearise(&mut self) -> Result<(), Failure> {
        if !self.model.set_normal(&self.normal) {
            self.evaluator.factor(&self.params, &self.columns, &mut self.factor)?;
            self.work.other_passes += 1;
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

    /// Sets the trial to the present point plus the step. Returns whether anything moved.
    pub(super) fn move_trial(&mut self) -> bool {
        let mut moved = false;
        for (j, &k) in self.problem.free.iter().enumerate() {
            let (lower, upper) = self.problem.bounds[k];
            let (low, high) = self.limits[j];
            let (q, d) = (self.q[j], self.delta[j]);
            // A step onto a bound ends on it, not a rounding beside it, where it would not be held.
            self.trial.params[k] = match ((q + d) * self.columns[j]).clamp(lower, upper) {
                _ if d == low - q => lower,
                _ if d == high - q => upper,
                to => to,
            };
            self.trial.q[j] = self.trial.params[k] / self.columns[j];
            moved |= self.trial.q[j] != self.q[j];
        }
        moved
    }

    /// Exchanges the present point with the trial.
    pub(super) fn exchange(&mut self) {
        std::mem::swap(&mut self.params, &mut self.trial.params);
        std::mem::swap(&mut self.q, &mut self.trial.q);
        std::mem::swap(&mut self.normal, &mut self.trial.normal);
    }

    /// Whether no step of this run has been accepted yet.
    pub(super) fn is_at_start(&self) -> bool {
        self.work.iterations == self.earlier
    }

    /// What a change of q[j] is compared with: q[j] itself or, if that is larger, the standard error
    /// that it would have alone in the model, √(2C/n)/‖Jⱼ‖. A parameter whose best value is 0 has no
    /// size of its own, and no change is small beside it.
    pub(super) fn size(&self, j: usize) -> f64 {
        let deviation = (2.0 * self.normal.cost / self.problem.points.max(1) as f64).sqrt();
        self.q[j].abs().max(deviation / self.model.norms[j])
    }

    /// The uncertainty of the cost by rounding of the model's values.
    pub(super) fn noise(&self) -> f64 {
        let residual = (2.0 * self.normal.cost).sqrt();
        let effect = |j: usize| self.model.norms[j] * self.q[j].abs();
        let terms = (0..self.q.len()).map(effect).fold(0.0, f64::max);
        ROUNDING * residual * (self.problem.square.sqrt() + residual).max(terms)
    }

    pub(super) fn outcome(&self, termination: Termination) -> Outcome {
        Outcome {
            params: self.params.clone(),
            cost: self.normal.cost,
            normal: self.normal.clone(),
            termination,
            work: self.work,
            columns: self.columns.clone(),
            effects: self.effects.clone(),
            retried: false,
        }
    }
}

impl Trial {
    /// Becomes a copy of the given point.
    pub(super) fn keep(&mut self, params: &[f64], q: &[f64], normal: &Normal) {
        self.params.copy_from_slice(params);
        self.q.copy_from_slice(q);
        self.normal.clone_from(normal);
    }
}

/// Whether a sum of squares is so far from the ends of the range that others of its kind are too.
fn is_safe(square: f64) -> bool {
    (1e-200..=1e200).contains(&square)
}
