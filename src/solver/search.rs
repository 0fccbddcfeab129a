//! Operations of a minimisation: begin, update the linear model, compute a step, move to the trial point.

use super::bounds::Limits;
use super::state::{Phase, Scaling, State, Transition, TriedPoint, Want};
use super::task::{Problem, Task};
use super::termination::Termination;
use super::trust_region::{is_within, scaled_norm};
use crate::constants::ROUNDING;
use crate::normal::Summary;
use crate::solver::observe::Stop;

/// A minimisation: its input and its state, which includes the results of evaluations.
pub(super) struct Search<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) state: &'a mut State,
}

/// Differences of the cost must exceed this number of standard deviations of its noise.
const NOISES: f64 = 3.0;

impl<'a> Search<'a> {
    /// Creates a minimisation. `state` may be reused from an earlier fit.
    pub(super) fn new(task: &'a Task<'a>, state: &'a mut State) -> Self {
        state.forget(task);
        Search { task, state }
    }

    /// Sets the trial point to `start`, which must then be evaluated.
    pub(super) fn set_out(&mut self, start: &[f64], scaling: Scaling) {
        self.state.scaling = scaling;
        self.state.rounding = self.task.problem.rounding();
        self.state.earlier = self.state.work.iterations;
        self.state.params.copy_from_slice(start);
        self.state.trial.params.copy_from_slice(start);
    }

    /// Returns true if the normal equations at the starting point are finite and far enough from overflow and underflow
    /// that those of later points are safe, too.
    pub(super) fn start_is_safe(&self) -> bool {
        let normal = &self.state.trial.normal;
        normal.is_finite() && normal.lengths_and_slopes().all(|(square, _)| is_safe(square))
    }

    /// Begins the iteration after the evaluation of the starting point. The scaling of the columns is final now.
    pub(super) fn begin(&mut self) {
        let state = &mut *self.state;
        for (j, &k) in self.task.problem.free.iter().enumerate() {
            let (lower, upper) = self.task.problem.bounds[k];
            state.limits[j] = (lower / state.columns[j], upper / state.columns[j]);
            state.trial.q[j] = state.trial.params[k] / state.columns[j];
        }
        state.scale.fill(0.0);
        self.exchange();
        self.state.phase = Phase::Linearise;
    }

    /// Returns the cost from which the requested trial point is certain to be rejected.
    pub(super) fn rejected_from(&self) -> f64 {
        if self.state.phase == Phase::Judge { self.state.normal.cost } else { f64::INFINITY }
    }

    /// Records the evaluation of the normal equations at the trial point.
    /// `noise`: as [`Evaluator::noise`](super::evaluator::Evaluator::noise).
    pub(super) fn evaluated(&mut self, noise: f64) {
        self.state.work.evaluations += 1;
        self.state.noise = noise;
    }

    /// Continues the run after a false indication of an exact fit: a few large values dominate the sum of squares, and
    /// the model misses another point by more than the rounding of this point. The test for an exact fit is repeated at
    /// a quarter of the current cost.
    pub(super) fn go_on_below(&mut self) {
        self.state.rounding = 0.5 * self.state.normal.cost;
        self.state.phase = Phase::Look;
    }

    /// Records that an evaluation was stopped. The fit ends at the current point.
    pub(super) fn stopped(&mut self, stop: Stop) -> Termination {
        self.state.stopped = true;
        stop.into()
    }

    /// Updates the linear model with the R factor at the current point.
    pub(super) fn factored(&mut self) {
        self.state.work.other_passes += 1;
        self.state.model.set_factor(&self.state.factor);
        self.relinearised();
    }

    /// Updates the linear model at the current point, and continues with `then`; requests the R factor if necessary.
    pub(super) fn linearise(&mut self, then: Phase) -> Transition {
        if !self.state.take_model() {
            return Transition::Wait(Want::Factor, then);
        }
        self.relinearised();
        Transition::Go(then)
    }

    /// Updates the scale and the moving parameters after the linear model has changed.
    fn relinearised(&mut self) {
        let State { scale, model, scaling, limits, q, moving, .. } = &mut *self.state;
        for (scale, &norm) in scale.iter_mut().zip(&model.norms) {
            *scale = match scaling {
                Scaling::Monotone => scale.max(norm),
                Scaling::Present => norm,
            };
        }
        Limits { limits }.moving(q, model, moving);
    }

    /// Computes the step for the current radius. Returns its scaled length, and true if a bound cut it. If the full
    /// step of all parameters is known and lies within the trust region and the bounds, the full step is used.
    pub(super) fn take_step(&mut self) -> (f64, bool) {
        let state = &mut *self.state;
        if state.has_full_step {
            let length = scaled_norm(&state.reduced.step, &state.scale);
            let limits = state.limits.iter().zip(&state.q).zip(&state.reduced.step);
            let inside = |((limits, q), d): ((&(f64, f64), &f64), &f64)| {
                (limits.0..=limits.1).contains(&(q + d))
            };
            if is_within(length, state.radius) && { limits }.all(inside) {
                state.delta.copy_from_slice(&state.reduced.step);
                state.lambda = 0.0;
                return (length, false);
            }
        }
        let cut;
        (state.lambda, cut) = state.stepper.step(
            &state.model,
            &Limits { limits: &state.limits },
            &state.q,
            &state.moving,
            &state.scale,
            state.radius,
            state.lambda,
            &mut state.delta,
        );
        (scaled_norm(&state.delta, &state.scale), cut)
    }

    /// Sets the trial point to the current point plus the step. Returns true if a parameter changed.
    pub(super) fn move_trial(&mut self) -> bool {
        let Problem { free, bounds, .. } = self.task.problem;
        let State { trial, columns, limits, q, delta, .. } = &mut *self.state;
        let TriedPoint { params, q: to, .. } = trial;
        let from = q.iter().zip(delta).zip(columns).zip(limits);
        let mut moved = false;
        for (((((&q, &mut d), &mut column), &mut (low, high)), to), &k) in from.zip(to).zip(free) {
            let (lower, upper) = bounds[k];
            let wanted = (q + d) * column;
            // A step onto a bound ends exactly on the bound. If a rounding error remained between them, the parameter
            // would not count as held by the bound, but the next step could not move it.
            params[k] = match wanted.clamp(lower, upper) {
                _ if lower == f64::NEG_INFINITY && upper == f64::INFINITY => wanted,
                to if d == low - q || is_beside(to, lower) => lower,
                to if d == high - q || is_beside(to, upper) => upper,
                to => to,
            };
            *to = params[k] / column;
            moved |= *to != q;
        }
        moved
    }

    /// Exchanges the current point and the trial point.
    pub(super) fn exchange(&mut self) {
        std::mem::swap(&mut self.state.params, &mut self.state.trial.params);
        std::mem::swap(&mut self.state.q, &mut self.state.trial.q);
        std::mem::swap(&mut self.state.normal, &mut self.state.trial.normal);
    }

    /// Returns the termination if a limit or the observer ends the fit here.
    pub(super) fn interrupted(&self) -> Option<Termination> {
        if self.state.stopped {
            return Some(Termination::Stopped);
        }
        self.task.ended_outside().or_else(|| {
            let most = self.task.options.evaluations(self.state.q.len());
            (self.state.work.evaluations >= most).then_some(Termination::MaxEvaluations)
        })
    }

    /// Returns true if the last step changed no parameter by more than this fraction of its size. The scaled length
    /// ‖Dδ‖ is not used because D depends on the effects that parameters had at earlier points.
    pub(super) fn within(&self, tolerance: f64) -> bool {
        let deviation = self.deviation();
        let small = |&j: &usize| self.state.delta[j].abs() <= tolerance * self.size(j, deviation);
        self.state.moving.iter().all(small)
    }

    /// Returns true if no step of this run has been accepted yet.
    pub(super) fn is_at_start(&self) -> bool {
        self.state.work.iterations == self.state.earlier
    }

    /// Returns the cost, limited to [`Problem::bulk`].
    pub(super) fn bulk(&self) -> f64 {
        self.state.normal.cost.min(self.task.problem.bulk())
    }

    /// Returns the norm ‖r‖ that corresponds to [`bulk`](Search::bulk).
    pub(super) fn residual(&self) -> f64 {
        (2.0 * self.bulk()).sqrt()
    }

    /// Returns the root mean square of the residuals, √(2C/n).
    pub(super) fn deviation(&self) -> f64 {
        self.residual() / (self.task.problem.points.max(1) as f64).sqrt()
    }

    /// Returns the scale for changes of q[j]: |q[j]| or, if larger, the standard error √(2C/n)/‖Jⱼ‖ of a fit in which
    /// this parameter alone is free. The second value is needed for parameters whose best value is 0.
    pub(super) fn size(&self, j: usize, deviation: f64) -> f64 {
        self.state.q[j].abs().max(deviation / self.state.model.norms[j])
    }

    /// Returns the uncertainty of the cost due to rounding of the model values or, if larger, due to their noise.
    /// Rounding has the same sign at many points; noise with standard deviation σ is independent from point to point
    /// and changes the cost by σ‖r‖ and nσ²/2.
    pub(super) fn noise(&self) -> f64 {
        let residual = self.residual();
        let effect = |j: usize| self.state.model.norms[j] * self.state.q[j].abs();
        let terms = (0..self.state.q.len()).map(effect).fold(0.0, f64::max);
        let values = residual * (self.task.problem.square.sqrt() + residual).max(terms);
        let rounding = ROUNDING * values.max(self.state.normal.cost);
        match self.state.noise {
            0.0 => rounding,
            noise => {
                let all = noise * self.task.problem.square.sqrt();
                let each = all / (self.task.problem.points.max(1) as f64).sqrt();
                rounding.max(NOISES * each * residual + 0.5 * all * all)
            }
        }
    }
}

/// Returns true if a value is within rounding of a finite bound.
fn is_beside(value: f64, bound: f64) -> bool {
    (value - bound).abs() < 2.0 * f64::EPSILON * bound.abs()
}

/// Returns true if a sum of squares is far from the limits of the range.
fn is_safe(square: f64) -> bool {
    (1e-200..=1e200).contains(&square)
}
