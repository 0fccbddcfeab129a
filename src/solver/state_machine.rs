//! The loop: Levenberg-Marquardt in Moré's trust-region form, as a state machine that can wait for evaluations.
//!
//! The loop requests evaluations instead of calling them. Each phase returns the next phase; if the next phase needs
//! an evaluation or a factorisation, [`advance`](Search::advance) returns this request. Therefore the same loop serves
//! a single fit, which evaluates immediately, and fits that are evaluated together. `kernels/solver.cuh` has the same
//! phases.

use super::observe::{Event, Progress, wants_to_stop};
use super::options::Options;
use super::outcome::Failure;
use super::search::Search;
use super::state::{Phase, Prospect, Refinement, State, Transition, Want};
use super::termination::Termination;
use super::trust_region::scaled_norm;
use crate::constants::{
    ACCEPT, BOLD, FAITHFUL, LAST_CHANGE, LAST_DIGITS, LAST_FALL, LAST_NOISE, MAX_REFINEMENTS,
    MAX_SHORTENINGS,
};
use crate::normal::Summary;

impl Search<'_> {
    /// Runs until an evaluation of the points is needed, or the fit has ended.
    pub(super) fn advance(&mut self) -> Result<Want, Failure> {
        loop {
            let next = match self.state.phase {
                Phase::Linearise => self.linearise(Phase::FirstRegion),
                Phase::FirstRegion => self.first_region(),
                Phase::Look => self.look(),
                Phase::Propose => self.propose(),
                Phase::Judge => self.judge(),
                Phase::Accepted => self.accepted()?,
                Phase::Refine => self.refine(),
                Phase::Refined => self.refined(),
                Phase::Weigh => self.weigh(),
                Phase::Settle => self.settle(),
                Phase::Settled => self.settled(),
            };
            match next {
                Transition::Go(phase) => self.state.phase = phase,
                Transition::Wait(want, phase) => {
                    self.state.phase = phase;
                    return Ok(want);
                }
                Transition::End(reason) => {
                    self.state.reason = reason;
                    return Ok(Want::Nothing(self.unless_degenerate(reason)));
                }
            }
        }
    }

    fn first_region(&mut self) -> Transition {
        let state = &mut *self.state;
        state.scale.copy_from_slice(&state.model.norms);
        let effect = |(n, q): (&f64, &f64)| n * q.abs();
        state.effects.clear();
        state.effects.extend(state.model.norms.iter().zip(&state.q).map(effect));
        let size = scaled_norm(&state.q, &state.scale);
        // The radius is proportional to ‖Dq‖, which has the same unit as ‖r‖. If the starting point is the origin, ‖r‖
        // replaces it. Otherwise 1e-6 ‖r‖ is its lower limit, because the cost does not resolve shorter steps.
        let residual = (2.0 * state.normal.cost).sqrt();
        let size = if size > 0.0 { size.max(1e-6 * residual) } else { residual };
        state.radius = self.task.options.initial_radius * size;
        state.lambda = 0.0;
        state.step.small = None;
        Transition::Go(Phase::Look)
    }

    fn look(&mut self) -> Transition {
        if let Some(reason) = self.finished() {
            return Transition::End(reason);
        }
        let prospect = self.prospect();
        self.state.prospect = prospect;
        if self.is_within_errors(prospect) && self.take_full_step() {
            return Transition::End(Termination::Step);
        }
        let small = self.state.step.small.or_else(|| self.small(prospect));
        let Some(reason) = small else {
            return match self.interrupted() {
                Some(reason) => Transition::End(reason),
                None => {
                    self.state.step.shortenings = 0;
                    Transition::Go(Phase::Propose)
                }
            };
        };
        let ceiling = self.state.normal.cost + self.noise();
        let state = &mut *self.state;
        state.mixing.restart();
        state.best.keep(&state.params, &state.q, &state.normal);
        state.refinement = Refinement {
            reason,
            steps: 0,
            change: 0.0,
            best_change: prospect.change,
            ceiling,
            at_best: true,
            moving: state.moving.len(),
        };
        Transition::Go(Phase::Refine)
    }

    /// Proposes a step. The length of the first step of the run also limits the radius, unless a bound cut the step.
    fn propose(&mut self) -> Transition {
        let first = self.is_at_start() && self.state.step.shortenings == 0;
        let (length, cut) = self.take_step();
        self.state.step.length = length;
        self.state.step.cut = cut;
        if first && !cut {
            self.state.radius = self.state.radius.min(length);
        }
        if self.move_trial() {
            return self.evaluate_trial(Phase::Judge);
        }
        if cut && self.state.radius > self.least_radius() {
            // Bounds reduce this step to 0. With a smaller radius, the step turns towards the gradient.
            self.state.radius *= 0.25;
            return Transition::Go(Phase::Propose);
        }
        Transition::End(match self.state.step.shortenings {
            0 => Termination::NoProgress,
            _ => Termination::ModelNonFinite,
        })
    }

    /// Accepts the step or proposes a shorter one.
    fn judge(&mut self) -> Transition {
        if self.state.trial.normal.is_finite() {
            let state = &mut *self.state;
            let predicted = -state.model.change(&state.delta);
            let actual = state.normal.cost - state.trial.normal.cost;
            let ratio = if predicted > 0.0 { actual / predicted } else { 0.0 };
            let step = &mut state.step;
            (step.predicted, step.actual, step.ratio) = (predicted, actual, ratio);
            step.damping = state.lambda;
            // If a bound cut the step, the set of free parameters changes, and the step predicts nothing about
            // later steps.
            step.full = !step.cut && (state.lambda == 0.0 || state.prospect.fall.is_infinite());
            self.resize();
            if ratio >= ACCEPT {
                self.state.step.bend = self.bend();
                self.exchange();
                self.state.work.iterations += 1;
                return self.linearise(Phase::Accepted);
            }
            if self.state.radius <= self.least_radius() {
                return Transition::End(Termination::NoProgress);
            }
        } else {
            let state = &mut *self.state;
            state.step.shortenings += 1;
            state.radius = 0.25 * state.step.length.min(state.radius);
            state.lambda *= 4.0;
            if state.step.shortenings > MAX_SHORTENINGS {
                return Transition::End(Termination::ModelNonFinite);
            }
        }
        self.interrupted().map_or(Transition::Go(Phase::Propose), Transition::End)
    }

    /// Returns the largest factor by which the length of a column of J changes at the trial point; 1 if the option
    /// `etol` is not set.
    fn bend(&self) -> f64 {
        if self.task.options.etol == 0.0 {
            return 1.0;
        }
        let lengths = self.state.trial.normal.lengths_and_slopes().map(|(square, _)| square.sqrt());
        let factor = |(after, &before): (f64, &f64)| (after / before).max(before / after);
        lengths.zip(&self.state.model.norms).map(factor).fold(1.0, f64::max)
    }

    /// Updates radius and damping by Moré's rules. A good step does not reduce the radius if it was short only because
    /// a bound cut it.
    fn resize(&mut self) {
        let state = &mut *self.state;
        let (length, ratio, actual) = (state.step.length, state.step.ratio, state.step.actual);
        let least = if state.step.cut { state.radius } else { 0.0 };
        if ratio <= 0.25 {
            // The minimum of the parabola through both costs with the slope at the current point.
            let slope: f64 =
                state.model.gradient.iter().zip(&state.delta).map(|(g, d)| g * d).sum();
            let parabola = if actual >= 0.0 { 0.5 } else { 0.5 * slope / (slope + actual) };
            let far = state.trial.normal.cost >= 100.0 * state.normal.cost;
            let factor = if far || parabola.is_nan() { 0.1 } else { parabola.clamp(0.1, 0.5) };
            state.radius = factor * state.radius.min(length / 0.1);
            state.lambda /= factor;
        } else if (ratio - 1.0).abs() <= FAITHFUL {
            state.radius = least.max(BOLD * length);
            state.lambda = 0.0;
        } else if state.lambda == 0.0 || ratio >= 0.75 {
            state.radius = least.max(length / 0.5);
            state.lambda *= 0.5;
        }
    }

    /// Sends an event to the observer, and tests if the step was small enough for convergence.
    fn accepted(&mut self) -> Result<Transition, Failure> {
        if let Some(observer) = self.task.observer {
            let state = &*self.state;
            let progress = Progress {
                iteration: state.work.iterations,
                evaluations: state.work.evaluations,
                params: &state.params,
                cost: state.normal.cost / self.task.problem.row_unit / self.task.problem.row_unit,
                step: scaled_norm(&state.delta, &state.scale) / scaled_norm(&state.q, &state.scale),
                damping: state.step.damping,
                elapsed: self.task.begun.elapsed(),
            };
            let stop = wants_to_stop(observer, Event::Step(progress)).map_err(Failure::Observer)?;
            self.state.stopped |= stop;
        }
        if self.task.options.etol > 0.0 {
            let State { model, delta, step, .. } = &mut *self.state;
            step.along = model.gradient.iter().zip(delta.iter()).map(|(g, d)| g * d).sum();
        }
        let full = self.state.step.full;
        self.state.step.small = if full { self.step_was_small() } else { None };
        Ok(Transition::Go(Phase::Look))
    }

    /// Returns the termination if the last step changed cost or parameters by no more than the tolerances. Called only
    /// for full steps, since other steps do not prove convergence.
    fn step_was_small(&self) -> Option<Termination> {
        let Options { ftol, xtol, .. } = *self.task.options;
        let step = &self.state.step;
        // The tolerance refers to the cost of the previous point, which is higher by the actual decrease.
        let tolerance = ftol * (self.bulk() + step.actual);
        if step.actual <= tolerance && step.predicted <= tolerance && step.ratio <= 2.0 {
            Some(Termination::Cost)
        } else if self.within(xtol) {
            Some(Termination::Step)
        } else {
            None
        }
    }

    /// Takes full steps with Anderson mixing from a point that meets the tolerances, until the last digits of the
    /// parameters no longer change. The cost does not determine these digits, because it is flat near the minimum.
    fn refine(&mut self) -> Transition {
        let cost = self.bulk();
        let state = &mut *self.state;
        let Prospect { fall, change } = state.prospect;
        let still = change <= LAST_DIGITS && fall <= LAST_DIGITS * cost;
        // Under linear convergence with the rate of the previous step, the next change is change² / previous change.
        let swift = change * change <= LAST_CHANGE * state.refinement.change;
        state.refinement.change = change;
        let settled = still || (swift && self.is_known_beyond());
        let state = &*self.state;
        let enough = state.refinement.steps >= MAX_REFINEMENTS || change.is_infinite();
        if (enough && !settled) || self.interrupted().is_some() {
            return Transition::Go(Phase::Settle);
        }
        let state = &mut *self.state;
        state.refinement.steps += 1;
        state.refinement.moving = state.moving.len();
        state.aim_at_full_step();
        state.mixing.mix(&state.q, &mut state.delta, &state.scale);
        let moved = self.move_trial();
        if settled {
            self.take_last_step(moved);
            return Transition::Go(Phase::Settle);
        }
        if !moved {
            return Transition::Go(Phase::Settle);
        }
        self.evaluate_trial(Phase::Refined)
    }

    /// Takes the last step from the best point without an evaluation.
    fn take_last_step(&mut self, moved: bool) {
        let known = self.is_known_beyond();
        if moved && known && self.state.trial.is_finite() && self.state.refinement.at_best {
            self.state.go_unseen();
        }
    }

    /// Takes the full step without an evaluation, unless it crosses a bound. Returns true if it was taken.
    fn take_full_step(&mut self) -> bool {
        self.state.aim_at_full_step();
        self.move_trial();
        let State { trial, q, delta, .. } = &*self.state;
        let goes =
            trial.is_finite() && trial.q.iter().zip(q).zip(delta).all(|((to, q), d)| *to == q + d);
        if goes {
            self.state.go_unseen();
        }
        goes
    }

    /// Returns true if the linear model predicts the cost after a full step well enough without an evaluation.
    fn is_known_beyond(&self) -> bool {
        let cost = self.bulk();
        self.state.prospect.fall <= LAST_FALL * cost && self.noise() <= LAST_NOISE * cost
    }

    fn refined(&mut self) -> Transition {
        let highest = self.state.normal.cost + LAST_DIGITS * self.bulk() + self.noise();
        let trial = &self.state.trial.normal;
        if !(trial.is_finite() && trial.cost <= highest) {
            return Transition::Go(Phase::Settle);
        }
        self.exchange();
        self.linearise(Phase::Weigh)
    }

    /// Ends the refinement if a bound becomes active or steps grow.
    fn weigh(&mut self) -> Transition {
        let prospect = self.prospect();
        let state = &mut *self.state;
        state.prospect = prospect;
        let refinement = &mut state.refinement;
        let at_best =
            prospect.change < refinement.best_change && state.normal.cost <= refinement.ceiling;
        refinement.at_best = at_best;
        if state.moving.len() != refinement.moving || prospect.change > 2.0 * refinement.best_change
        {
            return Transition::Go(Phase::Settle);
        }
        if at_best {
            refinement.best_change = prospect.change;
            state.best.keep(&state.params, &state.q, &state.normal);
        }
        Transition::Go(Phase::Refine)
    }

    /// Returns to the best point of the refinement: the point with the smallest full step among the points whose cost
    /// does not exceed the initial cost beyond rounding.
    fn settle(&mut self) -> Transition {
        let state = &mut *self.state;
        if state.refinement.at_best {
            return Transition::Go(Phase::Settled);
        }
        state.trial.keep(&state.best.params, &state.best.q, &state.best.normal);
        state.ahead.is_known = false;
        self.exchange();
        self.linearise(Phase::Settled)
    }

    fn settled(&mut self) -> Transition {
        let exact = self.finished().filter(|r| *r == Termination::ExactFit);
        Transition::End(exact.unwrap_or(self.state.refinement.reason))
    }

    /// Requests the normal equations at the trial point. If the point itself is not finite, the cost is set to NaN
    /// without an evaluation.
    fn evaluate_trial(&mut self, then: Phase) -> Transition {
        let trial = &mut self.state.trial;
        if trial.is_finite() {
            return Transition::Wait(Want::Evaluation, then);
        }
        trial.normal.cost = f64::NAN;
        Transition::Go(then)
    }

    /// Returns the radius at which a step is lost in the rounding error of the parameters.
    fn least_radius(&self) -> f64 {
        f64::EPSILON * scaled_norm(&self.state.q, &self.state.scale)
    }
}
