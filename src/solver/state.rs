//! State of a minimisation: the current point, its linear model, and the trial point. The fits of a batch reuse one
//! state and therefore do not allocate.

use super::anderson::Anderson;
use super::bounds::BoundedStep;
use super::linear_model::LinearModel;
use super::outcome::Outcome;
use super::task::{Problem, Task, Work};
use super::termination::Termination;
use crate::normal::{Arrow, Normal, RFactor, Triangular};
use std::sync::Arc;

/// Scaling of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scaling {
    /// Scaling by the largest norm so far (Moré), for badly scaled problems.
    Monotone,
    /// Scaling by the current norm, for distant starting points, where norms are not representative.
    Present,
}

/// The evaluation that a search waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The normal equations at the trial point.
    Evaluation,
    /// The R factor of [J r] at the current point.
    Factor,
    /// No evaluation: the search has ended.
    Nothing(Termination),
}

/// The next phase of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Linear model at the starting point, which has been evaluated.
    Linearise,
    /// First trust region, from the linear model at the starting point.
    FirstRegion,
    /// Test of the current point for termination.
    Look,
    /// Step for the current radius.
    Propose,
    /// Decision about the step after the evaluation of the trial point.
    Judge,
    /// Event for the observer after an accepted step whose linear model is known.
    Accepted,
    /// Refinement: a further step for the last digits.
    Refine,
    /// Decision about the refinement step after its evaluation.
    Refined,
    /// Comparison with the best point of the refinement; the linear model is known.
    Weigh,
    /// End of the refinement: return to its best point.
    Settle,
    /// Termination at the best point.
    Settled,
}

/// The continuation after a phase.
pub(super) enum Transition {
    Go(Phase),
    Wait(Want, Phase),
    End(Termination),
}

/// Convergence measures of the Gauss-Newton step at the current point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prospect {
    /// Decrease of the cost that a full step predicts; infinite if there is no full step.
    pub(super) fall: f64,
    /// The largest change of a parameter relative to its size.
    pub(super) change: f64,
}

/// The state of a minimisation. `q` contains the free parameters, each divided by the power of two in `columns`. The
/// column of a parameter in the Jacobian is multiplied by the same power.
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) scaling: Scaling,
    pub(super) columns: Vec<f64>,
    pub(super) limits: Vec<(f64, f64)>,
    pub(super) params: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) normal: Normal,
    pub(super) model: LinearModel,
    pub(super) moving: Vec<usize>,
    /// The diagonal of D, the scaling of the trust region.
    pub(super) scale: Vec<f64>,
    pub(super) radius: f64,
    pub(super) lambda: f64,
    pub(super) stepper: BoundedStep,
    pub(super) delta: Vec<f64>,
    pub(super) step: Step,
    /// Predicted effect of a full (Gauss-Newton) step at the current point.
    pub(super) prospect: Prospect,
    pub(super) refinement: Refinement,
    pub(super) trial: TriedPoint,
    /// The best point of the refinement.
    pub(super) best: TriedPoint,
    pub(super) mixing: Anderson,
    /// True if the observer stopped the fit.
    pub(super) stopped: bool,
    pub(super) factor: RFactor,
    /// Buffers for the Gauss-Newton problem of the moving parameters.
    pub(super) reduced: Reduced,
    /// True if the step in `reduced` moves all free parameters, and the R factor is regular.
    pub(super) has_full_step: bool,
    /// Linear model and full step at the trial point, if they are already known.
    pub(super) ahead: Ahead,
    pub(super) work: Work,
    /// Sum of squared residuals up to which a fit may be exact.
    pub(super) rounding: f64,
    /// Relative noise of the model values, from the evaluator.
    pub(super) noise: f64,
    /// Accepted steps before this run.
    pub(super) earlier: usize,
    pub(super) effects: Vec<f64>,
    /// For each free parameter, true if it is known not to occur in the model.
    pub(super) unused: Vec<bool>,
    /// Termination of the run, before parameters without effect are considered.
    pub(super) reason: Termination,
}

/// The step being tried, or just accepted.
#[derive(Default)]
pub(super) struct Step {
    /// Number of steps from the current point to points where the model is not finite.
    pub(super) shortenings: usize,
    /// Norm of D δ.
    pub(super) length: f64,
    /// True if a bound cut the step.
    pub(super) cut: bool,
    /// True if the effect of this step predicts the effect of further full steps: no bound cut this step, and it was
    /// not damped (or a full step does not exist).
    pub(super) full: bool,
    /// The damping λ of the step.
    pub(super) damping: f64,
    pub(super) actual: f64,
    pub(super) predicted: f64,
    pub(super) ratio: f64,
    /// The largest factor by which the step changed the length of a column of J. `bend` and `along` are computed only
    /// for accepted steps and only if the option `etol` is set.
    pub(super) bend: f64,
    /// Inner product of the step and the gradient at its end.
    pub(super) along: f64,
    /// Termination if the accepted step is within a tolerance.
    pub(super) small: Option<Termination>,
}

/// The search for the last digits.
pub(super) struct Refinement {
    /// Termination of the fit after the refinement.
    pub(super) reason: Termination,
    pub(super) steps: usize,
    /// `change` of the [`Prospect`] at the previous point of the refinement; 0 at its first point.
    pub(super) change: f64,
    /// `change` of the [`Prospect`] at the best point.
    pub(super) best_change: f64,
    /// Maximum cost of the best point: the cost at the beginning of the refinement plus its noise.
    pub(super) ceiling: f64,
    /// True if the current point is the best point.
    pub(super) at_best: bool,
    /// Number of moving parameters when the last step was taken.
    pub(super) moving: usize,
}

/// A point that may be accepted.
pub(super) struct TriedPoint {
    pub(super) params: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) normal: Normal,
}

pub(super) struct Reduced {
    pub(super) problem: Triangular,
    pub(super) step: Vec<f64>,
    pub(super) work: Vec<f64>,
    /// For a rank-deficient problem: the selected columns, their parameters, and their step.
    pub(super) kept: Vec<usize>,
    pub(super) basis: Vec<usize>,
    pub(super) basic: Triangular,
    pub(super) part: Vec<f64>,
}

/// The linear model at the trial point, if it was computed together with the normal equations.
pub(super) struct Ahead {
    pub(super) is_known: bool,
    pub(super) model: LinearModel,
    /// The Gauss-Newton step of all parameters.
    pub(super) step: Vec<f64>,
}

impl State {
    /// Creates the state for a model with `params` parameters; `shape` is the block structure of the free ones.
    pub(super) fn new(params: usize, shape: &Arc<Arrow>) -> State {
        let n = shape.n();
        let line = vec![0.0; n];
        let trial = || TriedPoint {
            params: vec![0.0; params],
            q: vec![0.0; n],
            normal: Normal::shaped(shape),
        };
        State {
            phase: Phase::Linearise,
            scaling: Scaling::Monotone,
            columns: vec![1.0; n],
            limits: vec![(0.0, 0.0); n],
            params: vec![0.0; params],
            q: line.clone(),
            normal: Normal::shaped(shape),
            model: LinearModel::new(shape),
            moving: Vec::with_capacity(n),
            scale: line.clone(),
            radius: 0.0,
            lambda: 0.0,
            stepper: BoundedStep::new(shape),
            delta: line.clone(),
            step: Step::default(),
            prospect: Prospect::default(),
            refinement: Refinement {
                reason: Termination::NoProgress,
                steps: 0,
                change: 0.0,
                best_change: 0.0,
                ceiling: 0.0,
                at_best: true,
                moving: 0,
            },
            trial: trial(),
            best: trial(),
            mixing: Anderson::new(n),
            stopped: false,
            factor: RFactor::shaped(shape),
            reduced: Reduced {
                problem: Triangular::zero(shape),
                step: line.clone(),
                kept: Vec::with_capacity(n),
                basis: Vec::with_capacity(n),
                basic: Triangular::default(),
                part: line.clone(),
                work: Vec::new(),
            },
            has_full_step: false,
            ahead: Ahead { is_known: false, model: LinearModel::new(shape), step: line },
            work: Work::default(),
            rounding: 0.0,
            noise: 0.0,
            earlier: 0,
            effects: Vec::with_capacity(n),
            unused: vec![false; n],
            reason: Termination::NoProgress,
        }
    }

    /// Resets the fields that are left from a previous fit and that a new run does not set.
    pub(super) fn forget(&mut self, task: &Task<'_>) {
        let Task { problem, work, .. } = *task;
        self.columns.fill(1.0);
        self.limits.clear();
        self.limits.extend(problem.free.iter().map(|&k| problem.bounds[k]));
        self.params.copy_from_slice(&problem.start);
        self.effects.clear();
        self.unused.clone_from(&problem.unused);
        self.stopped = false;
        self.noise = 0.0;
        self.ahead.is_known = false;
        self.work = work;
        self.earlier = work.iterations;
    }
}

impl State {
    /// Sets the linear model of the current point: from `ahead`, if it was computed when this point was still the trial
    /// point; otherwise from the normal equations. Returns true if the model has enough digits.
    pub(super) fn take_model(&mut self) -> bool {
        if self.ahead.is_known {
            std::mem::swap(&mut self.model, &mut self.ahead.model);
            return true;
        }
        self.model.set_normal(&self.normal)
    }

    /// Sets the step to the full step of the moving parameters.
    pub(super) fn aim_at_full_step(&mut self) {
        self.delta.fill(0.0);
        for (&j, &d) in self.moving.iter().zip(&self.reduced.step) {
            self.delta[j] = d;
        }
    }

    /// Moves to the trial point, the end of a full step, without an evaluation: subtracts the predicted decrease from
    /// the cost.
    pub(super) fn go_unseen(&mut self) {
        std::mem::swap(&mut self.params, &mut self.trial.params);
        std::mem::swap(&mut self.q, &mut self.trial.q);
        self.normal.cost = (self.normal.cost - self.prospect.fall).max(0.0);
    }

    /// Returns true if the trial point is the starting point and columns are not scaled.
    pub(super) fn is_as_at_first(&self, problem: &Problem) -> bool {
        self.trial.params == problem.start && self.columns.iter().all(|&c| c == 1.0)
    }

    /// Writes the current state of the search.
    pub(super) fn report(&self, termination: Termination, out: &mut Outcome) {
        out.params.clone_from(&self.params);
        out.cost = self.normal.cost;
        out.normal.clone_from(&self.normal);
        out.termination = termination;
        out.work = self.work;
        out.columns.clone_from(&self.columns);
        out.effects.clone_from(&self.effects);
        out.unused.clone_from(&self.unused);
        out.retried = false;
        out.most_weight = f64::INFINITY;
    }
}

impl TriedPoint {
    pub(super) fn is_finite(&self) -> bool {
        self.q.iter().all(|q| q.is_finite())
    }

    /// Overwrites this point with the given point.
    pub(super) fn keep(&mut self, params: &[f64], q: &[f64], normal: &Normal) {
        self.params.copy_from_slice(params);
        self.q.copy_from_slice(q);
        self.normal.clone_from(normal);
    }
}
