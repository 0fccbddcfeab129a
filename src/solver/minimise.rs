//! The loop: Levenberg-Marquardt in Moré's trust-region form.

use super::bounds::Limits;
use super::convergence::Prospect;
use super::observe::{Observer, Progress, wants_to_stop};
use super::options::Options;
use super::problem::Problem;
use super::resident::minimise_resident;
use super::run::{Ends, Run, Scaling, best_of_runs};
use super::search::Search;
use super::state::State;
use super::termination::Termination;
use super::trust_region::scaled_norm;
use super::work::Work;
use crate::backend::cuda::driver::DriverError;
use crate::backend::{BadPoint, Evaluator, Fault};
use crate::normal::{Normal, Summary};
use std::time::Instant;

/// A step is accepted if the cost falls by this part of what was predicted (Moré 1978).
const ACCEPT: f64 = 1e-4;
/// Where the cost fell as predicted to this part, the model is linear and the region grows
/// by [`BOLD`]: a linear model far from its start takes three evaluations instead of twenty.
const FAITHFUL: f64 = 1e-9;
const BOLD: f64 = 100.0;
/// Shortenings of a step into a region where the model is not finite.
const MAX_SHORTENINGS: usize = 30;
/// After the tolerances are met, full steps go on until no parameter changes by more than this part
/// of its size: the cost is flat at its minimum, and says nothing of the last digits.
const LAST_DIGITS: f64 = 1e-8;
/// Evaluations spent on the last digits at most.
const MAX_REFINEMENTS: usize = 8;

/// Where a minimisation ended.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// All parameters, free and fixed.
    pub(crate) params: Vec<f64>,
    /// In row units.
    pub(crate) cost: f64,
    /// The normal equations at the parameters.
    pub(crate) normal: Normal,
    pub(crate) termination: Termination,
    /// Of all runs together.
    pub(crate) work: Work,
    /// The power of two that each free parameter's column was multiplied with.
    pub(crate) columns: Vec<f64>,
    /// ‖Jⱼ‖·|pⱼ| of each free parameter at the start.
    pub(crate) effects: Vec<f64>,
    /// Whether a second run, with another scaling or start, was made.
    pub(crate) retried: bool,
}

impl Outcome {
    /// Of no run yet, with room for the numbers of any.
    pub(crate) fn new(params: usize, free: usize) -> Outcome {
        Outcome {
            params: vec![f64::NAN; params],
            cost: f64::NAN,
            normal: Normal::zero(free),
            termination: Termination::AllFixed,
            work: Work::default(),
            columns: vec![1.0; free],
            effects: Vec::with_capacity(free),
            retried: false,
        }
    }
}

/// Why there is no outcome.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The model or a partial is not finite at the start.
    Start(BadPoint),
    /// Everything is finite at the start, but its squares are not.
    Overflow,
    /// The backend failed.
    Backend(Fault),
    /// The device failed, after this was reached.
    Device { error: DriverError, reached: Option<(Vec<f64>, Work)> },
    /// The observer panicked, with this message.
    Observer(String),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure::Backend(fault)
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        Failure::Device { error, reached: None }
    }
}

/// Minimises the cost from `problem.start`, on the device where the evaluator has a loop there. Where
/// the device fails and may be done without, the host goes on from the best parameters that it saw.
/// `work` is what an earlier stage has done; counts and limits go on from there.
pub(crate) fn minimise(
    evaluator: &mut dyn Evaluator,
    problem: &Problem,
    options: &Options,
    observer: Option<&Observer>,
    begun: Instant,
    work: Work,
) -> Result<Outcome, Failure> {
    let on_device = evaluator
        .resident()
        .map(|fit| minimise_resident(fit, problem, options, observer, begun, work));
    let (start, work) = match on_device {
        None => (problem.start.clone(), work),
        Some(Err(Failure::Device { error, reached })) => {
            evaluator.abandon_device(error)?;
            reached.unwrap_or_else(|| (problem.start.clone(), work))
        }
        Some(outcome) => return outcome,
    };
    let problem = Problem { start, ..problem.clone() };
    let mut room = Room::new(problem.start.len(), problem.free.len());
    room.minimise(evaluator, &problem, options, observer, begun, work)?;
    Ok(room.ends.best)
}

/// Evaluates at `problem.start` and takes no step: where a fit ends that was ended before this stage,
/// for the given reason.
pub(crate) fn evaluate(
    evaluator: &mut dyn Evaluator,
    problem: &Problem,
    options: &Options,
    begun: Instant,
    work: Work,
    termination: Termination,
) -> Result<Outcome, Failure> {
    let mut room = Room::new(problem.start.len(), problem.free.len());
    room.evaluate(evaluator, problem, options, begun, work, termination)?;
    Ok(room.ends.best)
}

/// What minimisations on the host need and leave behind, for any number of them one after another: no
/// further one allocates, however it ends.
pub(crate) struct Room {
    state: State,
    pub(crate) ends: Ends,
}

impl Room {
    /// For a model of `params` parameters, `free` of them free.
    pub(crate) fn new(params: usize, free: usize) -> Room {
        Room { state: State::new(params, free), ends: Ends::new(params, free) }
    }

    /// As [`minimise`] on the host; the outcome is then in `ends.best`.
    pub(crate) fn minimise(
        &mut self,
        evaluator: &mut dyn Evaluator,
        problem: &Problem,
        options: &Options,
        observer: Option<&Observer>,
        begun: Instant,
        work: Work,
    ) -> Result<(), Failure> {
        let state = &mut self.state;
        let mut search = Search::new(evaluator, problem, options, observer, begun, work, state);
        best_of_runs(&mut search, problem, &mut self.ends)
    }

    /// As [`evaluate`]; the outcome is then in `ends.best`.
    pub(crate) fn evaluate(
        &mut self,
        evaluator: &mut dyn Evaluator,
        problem: &Problem,
        options: &Options,
        begun: Instant,
        work: Work,
        termination: Termination,
    ) -> Result<(), Failure> {
        let state = &mut self.state;
        let mut search = Search::new(evaluator, problem, options, None, begun, work, state);
        search.begin(&problem.start, Scaling::Monotone)?;
        search.report(termination, &mut self.ends.best);
        Ok(())
    }
}

impl Run for Search<'_> {
    fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure> {
        self.begin(start, scaling)
    }

    fn run(&mut self) -> Result<Termination, Failure> {
        self.run()
    }

    fn report(&self, termination: Termination, out: &mut Outcome) {
        self.report(termination, out);
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted().is_some()
    }
}

impl Search<'_> {
    fn run(&mut self) -> Result<Termination, Failure> {
        let mut step_was_small = None;
        loop {
            if let Some(reason) = self.finished() {
                return Ok(self.unless_degenerate(reason));
            }
            let prospect = self.prospect();
            if let Some(reason) = step_was_small.or_else(|| self.small(prospect)) {
                self.refine(prospect)?;
                let exact = self.finished().filter(|r| *r == Termination::ExactFit);
                return Ok(self.unless_degenerate(exact.unwrap_or(reason)));
            }
            if let Some(reason) = self.interrupted() {
                return Ok(reason);
            }
            match self.advance(prospect)? {
                Advance::Accepted(reason) => step_was_small = reason,
                Advance::Stuck(reason) => return Ok(self.unless_degenerate(reason)),
            }
        }
    }

    /// Tries steps until one is accepted.
    fn advance(&mut self, prospect: Prospect) -> Result<Advance, Failure> {
        let mut shortenings = 0;
        loop {
            let (length, cut) = self.propose(shortenings == 0);
            if !self.move_trial() {
                if cut
                    && self.state.radius
                        > f64::EPSILON * scaled_norm(&self.state.q, &self.state.scale)
                {
                    // Bounds leave nothing of this step; a shorter one goes down the gradient.
                    self.state.radius *= 0.25;
                    continue;
                }
                return Ok(Advance::Stuck(match shortenings {
                    0 => Termination::NoProgress,
                    _ => Termination::ModelNonFinite,
                }));
            }
            self.evaluate_trial()?;
            if self.state.trial.normal.is_finite() {
                let predicted = -self.state.model.change(&self.state.delta);
                let actual = self.state.normal.cost - self.state.trial.normal.cost;
                let ratio = if predicted > 0.0 { actual / predicted } else { 0.0 };
                let damping = self.state.lambda;
                // A step that a bound cut says nothing of those that the new bounds leave free.
                let full = !cut && (damping == 0.0 || prospect.fall.is_infinite());
                self.resize(actual, ratio, length, cut);
                if ratio >= ACCEPT {
                    self.accept(damping)?;
                    let small = self.step_was_small(actual, predicted, ratio);
                    return Ok(Advance::Accepted(small.filter(|_| full)));
                }
                if self.state.radius <= f64::EPSILON * scaled_norm(&self.state.q, &self.state.scale)
                {
                    return Ok(Advance::Stuck(Termination::NoProgress));
                }
            } else {
                shortenings += 1;
                self.state.radius = 0.25 * length.min(self.state.radius);
                self.state.lambda *= 4.0;
                if shortenings > MAX_SHORTENINGS {
                    return Ok(Advance::Stuck(Termination::ModelNonFinite));
                }
            }
            if let Some(reason) = self.interrupted() {
                return Ok(Advance::Stuck(reason));
            }
        }
    }

    /// Sets the step for the present radius, and returns its scaled length and whether a bound cut
    /// it. The first step of all also says how large the region is.
    fn propose(&mut self, unshortened: bool) -> (f64, bool) {
        let cut;
        (self.state.lambda, cut) = self.state.stepper.step(
            &self.state.model,
            &Limits { limits: &self.state.limits },
            &self.state.q,
            &self.state.moving,
            &self.state.scale,
            self.state.radius,
            self.state.lambda,
            &mut self.state.delta,
        );
        let length = scaled_norm(&self.state.delta, &self.state.scale);
        if self.is_at_start() && unshortened && !cut {
            self.state.radius = self.state.radius.min(length);
        }
        (length, cut)
    }

    /// Moré's rules for the next radius and damping. A good step does not shorten the radius if it was
    /// a bound that kept it short.
    fn resize(&mut self, actual: f64, ratio: f64, length: f64, cut: bool) {
        let least = if cut { self.state.radius } else { 0.0 };
        if ratio <= 0.25 {
            // The minimum of the parabola through both costs and the slope at the present point.
            let slope: f64 =
                self.state.model.gradient.iter().zip(&self.state.delta).map(|(g, d)| g * d).sum();
            let parabola = if actual >= 0.0 { 0.5 } else { 0.5 * slope / (slope + actual) };
            let far = self.state.trial.normal.cost >= 100.0 * self.state.normal.cost;
            let factor = if far || parabola.is_nan() { 0.1 } else { parabola.clamp(0.1, 0.5) };
            self.state.radius = factor * self.state.radius.min(length / 0.1);
            self.state.lambda /= factor;
        } else if (ratio - 1.0).abs() <= FAITHFUL {
            self.state.radius = least.max(BOLD * length);
            self.state.lambda = 0.0;
        } else if self.state.lambda == 0.0 || ratio >= 0.75 {
            self.state.radius = least.max(length / 0.5);
            self.state.lambda *= 0.5;
        }
    }

    /// Moves to the trial point by a step of this damping and tells the observer.
    fn accept(&mut self, damping: f64) -> Result<(), Failure> {
        self.exchange();
        self.state.work.iterations += 1;
        self.linearise()?;
        let progress = Progress {
            iteration: self.state.work.iterations,
            evaluations: self.state.work.evaluations,
            params: &self.state.params,
            cost: self.state.normal.cost * self.problem.cost_unit,
            step: scaled_norm(&self.state.delta, &self.state.scale)
                / scaled_norm(&self.state.q, &self.state.scale),
            damping,
            elapsed: self.begun.elapsed(),
        };
        if let Some(observer) = self.observer {
            self.state.stopped |= wants_to_stop(observer, &progress).map_err(Failure::Observer)?;
        }
        Ok(())
    }

    /// Whether the step just taken changed cost or parameters by no more than the tolerances. Only a
    /// full step says that no more is to be had.
    fn step_was_small(&self, actual: f64, predicted: f64, ratio: f64) -> Option<Termination> {
        let Options { ftol, xtol, .. } = *self.options;
        // The cost is that of the new point; that of the old one is larger by the actual fall.
        let tolerance = ftol * (self.state.normal.cost + actual);
        if actual <= tolerance && predicted <= tolerance && ratio <= 2.0 {
            Some(Termination::Cost)
        } else if self.within(xtol) {
            Some(Termination::Step)
        } else {
            None
        }
    }

    /// Whether the last step changed no parameter by more than this part of its size: a length in
    /// terms of D would call a step small beside effects that parameters had long ago.
    fn within(&self, tolerance: f64) -> bool {
        self.state.moving.iter().all(|&j| self.state.delta[j].abs() <= tolerance * self.size(j))
    }

    /// Full steps, mixed, from a point where the tolerances are met, until the parameters' last digits
    /// stand still: the cost is flat there and says nothing of them. Ends at the point from which a
    /// full step is smallest, of those whose cost is no higher than at first, to rounding.
    fn refine(&mut self, first: Prospect) -> Result<(), Failure> {
        self.state.mixing.restart();
        self.state.best.keep(&self.state.params, &self.state.q, &self.state.normal);
        let (mut best, mut prospect) = (first.change, first);
        let ceiling = self.state.normal.cost + self.noise();
        let mut at_best = true;
        for _ in 0..MAX_REFINEMENTS {
            let settled = prospect.change <= LAST_DIGITS
                && prospect.fall <= LAST_DIGITS * self.state.normal.cost;
            if settled || prospect.change.is_infinite() || self.interrupted().is_some() {
                break;
            }
            let moving = self.state.moving.len();
            self.state.delta.fill(0.0);
            for (&j, &d) in self.state.moving.iter().zip(&self.state.reduced.step) {
                self.state.delta[j] = d;
            }
            self.state.mixing.mix(&self.state.q, &mut self.state.delta, &self.state.scale);
            if !self.move_trial() {
                break;
            }
            self.evaluate_trial()?;
            let highest = self.state.normal.cost * (1.0 + LAST_DIGITS) + self.noise();
            let acceptable =
                self.state.trial.normal.is_finite() && self.state.trial.normal.cost <= highest;
            if !acceptable {
                break;
            }
            self.exchange();
            self.linearise()?;
            prospect = self.prospect();
            at_best = prospect.change < best && self.state.normal.cost <= ceiling;
            // A bound that becomes active, or steps that grow, end the refinement.
            if self.state.moving.len() != moving || prospect.change > 2.0 * best {
                break;
            }
            if at_best {
                best = prospect.change;
                self.state.best.keep(&self.state.params, &self.state.q, &self.state.normal);
            }
        }
        if !at_best {
            self.state.trial.keep(
                &self.state.best.params,
                &self.state.best.q,
                &self.state.best.normal,
            );
            self.exchange();
            self.linearise()?;
        }
        Ok(())
    }

    /// Whether a limit or the observer ends the fit here.
    fn interrupted(&self) -> Option<Termination> {
        if self.state.stopped {
            Some(Termination::Stopped)
        } else if self.state.work.evaluations >= self.options.evaluations(self.state.q.len()) {
            Some(Termination::MaxEvaluations)
        } else if self.options.max_time.is_some_and(|limit| self.begun.elapsed() >= limit) {
            Some(Termination::TimeLimit)
        } else {
            None
        }
    }
}

/// What became of an attempt to step.
enum Advance {
    /// A step was taken, and perhaps it was so small that the fit has converged.
    Accepted(Option<Termination>),
    /// No step can be taken.
    Stuck(Termination),
}
