//! The host's side of a minimisation whose loop runs on a device: it says what the fit is, queues
//! launches ahead, looks where the fit stands, and sees to what the device cannot.

use super::driver::DriverError;
use super::interface::{self, Code, Reason, Request, Size, State};
use crate::backend::cpu::ITERATION_FLOOR;
use crate::data::unit_of;
use crate::normal::Normal;
use crate::observe::span;
use crate::solver::observe::{Event, Progress, wants_to_stop};
use crate::solver::outcome::{BadPoint, Failure, Fault, Outcome};
use crate::solver::runs::{Ends, Run, best_of_runs};
use crate::solver::state::Scaling;
use crate::solver::task::{Task, Work};
use crate::solver::termination::Termination;
use std::ops::Range;

/// Launches queued before the host looks: a fit takes about a dozen evaluations, and those that come
/// too many return at once.
const AHEAD: usize = 6;
/// Evaluations queued behind a factor: where one was needed the next accepted step needs one too.
const AHEAD_OF_FACTOR: usize = 2;

/// The termination that a fit on a device reports as `reason`.
pub(crate) fn termination_of(reason: Reason) -> Termination {
    match reason {
        Reason::Gradient => Termination::Gradient,
        Reason::Cost => Termination::Cost,
        Reason::Step => Termination::Step,
        Reason::ExactFit => Termination::ExactFit,
        Reason::MaxEvaluations => Termination::MaxEvaluations,
        Reason::TimeLimit => Termination::TimeLimit,
        Reason::Stopped => Termination::Stopped,
        Reason::ModelNonFinite => Termination::ModelNonFinite,
        Reason::ZeroGradientAtStart => Termination::ZeroGradientAtStart,
        Reason::Degenerate => Termination::Degenerate,
        // No fit that has ended says none, nor what only batches know.
        Reason::NoProgress | Reason::None | Reason::BadData => Termination::NoProgress,
    }
}

/// Makes a minimisation on a device.
pub(crate) fn minimise_resident(
    fit: &mut dyn ResidentFit,
    task: &Task<'_>,
) -> Result<Outcome, Failure> {
    let problem = task.problem;
    let mut run = ResidentRun::new(fit, task);
    let mut ends = Ends::new(problem.start.len(), problem.free.len());
    match best_of_runs(&mut run, problem, &mut ends) {
        Ok(()) => Ok(ends.best),
        Err(Failure::Device { error, .. }) => {
            Err(Failure::Device { error, reached: run.reached() })
        }
        Err(failure) => Err(failure),
    }
}

struct ResidentRun<'a> {
    fit: &'a mut dyn ResidentFit,
    task: &'a Task<'a>,
    /// What the device was last seen to hold.
    state: State,
    columns: Vec<f64>,
    /// Whether the host has a say between evaluations, so that none may be queued ahead.
    is_watched: bool,
    /// What came before this run and beside the device's counts.
    work: Work,
    /// Whether the observer asked to stop.
    stopped: bool,
    /// Accepted steps that the observer was told of.
    told: usize,
}

impl Run for ResidentRun<'_> {
    fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure> {
        self.work = self.work();
        self.told = self.work.iterations;
        self.fill(start, scaling);
        self.write(0..self.state.layout.words)?;
        let ahead = if self.is_watched { 1 } else { AHEAD };
        self.queue(ahead)?;
        if self.request() == Request::Host {
            self.measure_columns(start)?;
            self.queue(ahead)?;
        }
        match self.request() {
            Request::Host => Err(Failure::Overflow),
            _ => Ok(()),
        }
    }

    fn run(&mut self) -> Result<Termination, Failure> {
        loop {
            let _span = span!(TRACE, "step", iteration = self.work().iterations);
            self.tell_observer()?;
            match self.request() {
                Request::Done | Request::Host | Request::Continue => break,
                Request::Factor => {
                    self.fit.factor()?;
                    self.queue(if self.is_watched { 0 } else { AHEAD_OF_FACTOR })?;
                }
                Request::Evaluate => match self.ended_by_host() {
                    None => self.queue(if self.is_watched { 1 } else { AHEAD })?,
                    Some(limit) => self.stop(limit)?,
                },
            }
        }
        self.read(0..self.state.layout.words)?;
        let word = self.state.words[self.state.layout.termination.start];
        Ok(termination_of(Reason::from_word(word).unwrap_or(Reason::None)))
    }

    fn report(&self, termination: Termination, out: &mut Outcome) {
        let layout = &self.state.layout;
        let mut sums = self.state.numbers(&layout.present.sums);
        let cost = sums.pop().unwrap_or(f64::NAN);
        *out = Outcome {
            params: self.state.numbers(&layout.present.params),
            cost,
            normal: Normal { n: layout.z.len(), products: sums, cost },
            termination,
            work: self.work(),
            columns: self.columns.clone(),
            effects: self.state.numbers(&layout.effects),
            retried: false,
            most_weight: f64::INFINITY,
        };
    }

    fn is_interrupted(&self) -> bool {
        self.ended_by_host().is_some() || self.work().evaluations >= self.limit()
    }
}

impl<'a> ResidentRun<'a> {
    fn new(fit: &'a mut dyn ResidentFit, task: &'a Task<'a>) -> Self {
        let (params, free) = (task.problem.start.len(), task.problem.free.len());
        let state = State::new(Size { columns: 0, params, free });
        let columns = vec![1.0; free];
        let mut run = ResidentRun {
            fit,
            task,
            state,
            columns,
            is_watched: task.observer.is_some() || task.options.max_time.is_some(),
            work: task.work,
            stopped: false,
            told: 0,
        };
        run.set_counts();
        run
    }

    /// The best parameters that the host has seen, and what they cost.
    fn reached(&self) -> Option<(Vec<f64>, Work)> {
        let params = self.state.numbers(&self.state.layout.present.params);
        let whole = params.iter().all(|p| p.is_finite());
        whole.then(|| (params, self.work()))
    }

    /// Says what the fit is and where it begins.
    fn fill(&mut self, start: &[f64], scaling: Scaling) {
        let Task { problem, options, .. } = *self.task;
        let limit = self.limit();
        let layout = self.state.layout.clone();
        let state = &mut self.state;
        state.words.fill(0);
        state.set(&layout.present.params, start.iter().copied());
        state.set(&layout.trial.params, start.iter().copied());
        state.set(&layout.limit, [limit]);
        state.set(&layout.earlier, [self.work.iterations]);
        let scaling = match scaling {
            Scaling::Monotone => interface::Scaling::Monotone,
            Scaling::Present => interface::Scaling::Present,
        };
        state.set(&layout.scaling, [scaling]);
        state.set(&layout.points_counted, [problem.points]);
        state.set(&layout.ftol, [options.ftol]);
        state.set(&layout.xtol, [options.xtol]);
        state.set(&layout.gtol, [options.gtol]);
        state.set(&layout.etol, [options.etol]);
        let row_error = if problem.absolute { problem.row_unit } else { 0.0 };
        state.set(&layout.row_error, [row_error]);
        state.set(&layout.initial_radius, [options.initial_radius]);
        state.set(&layout.rounding, [problem.rounding()]);
        state.set(&layout.square, [problem.square]);
        state.set(&layout.bulk, [problem.bulk()]);
        state.set(&layout.floor, [ITERATION_FLOOR]);
        state.set(&layout.columns, self.columns.iter().copied());
        state.set(&layout.lower, problem.free.iter().map(|&k| problem.bounds[k].0));
        state.set(&layout.upper, problem.free.iter().map(|&k| problem.bounds[k].1));
        state.set(&layout.free, problem.free.iter().copied());
        state.set(&layout.unused, problem.unused.iter().copied());
        self.set_counts();
        self.set_request(Request::Evaluate);
    }

    fn set_counts(&mut self) {
        let layout = self.state.layout.clone();
        self.state.set(&layout.evaluations, [self.work.evaluations]);
        self.state.set(&layout.iterations, [self.work.iterations]);
        self.state.set(&layout.reported, [self.work.iterations]);
        self.state.set(&layout.factorisations, [0_usize]);
    }

    fn set_request(&mut self, request: Request) {
        let at = self.state.layout.request.clone();
        self.state.set(&at, [request]);
    }

    fn request(&self) -> Request {
        let word = self.state.words[self.state.layout.request.start];
        Request::from_word(word).unwrap_or(Request::Done)
    }

    /// What all runs have cost so far.
    fn work(&self) -> Work {
        let layout = &self.state.layout;
        Work {
            evaluations: self.state.count(&layout.evaluations),
            other_passes: self.work.other_passes + self.state.count(&layout.factorisations),
            iterations: self.state.count(&layout.iterations),
        }
    }

    fn limit(&self) -> usize {
        self.task.options.evaluations(self.columns.len())
    }

    /// Whether the observer or the clock ends the fit.
    fn ended_by_host(&self) -> Option<Reason> {
        let ended = self.stopped.then_some(Termination::Stopped);
        match ended.or_else(|| self.task.ended_outside())? {
            Termination::TimeLimit => Some(Reason::TimeLimit),
            _ => Some(Reason::Stopped),
        }
    }

    fn write(&mut self, at: Range<usize>) -> Result<(), DriverError> {
        self.fit.write(at.start, &self.state.words[at])
    }

    fn read(&mut self, at: Range<usize>) -> Result<(), DriverError> {
        self.fit.read(at.clone(), &mut self.state.words[at])
    }

    /// Waits for the device and looks where it stands.
    fn look(&mut self) -> Result<(), DriverError> {
        self.read(self.state.layout.head())
    }

    /// Queues evaluations and looks where they lead.
    fn queue(&mut self, evaluations: usize) -> Result<(), DriverError> {
        self.fit.iterate(evaluations)?;
        self.look()
    }

    /// Ends the fit while it waits for an evaluation.
    fn stop(&mut self, reason: Reason) -> Result<(), DriverError> {
        let at = self.state.layout.stopped.clone();
        self.state.set(&at, [reason]);
        self.write(at)?;
        self.fit.stop()?;
        self.look()
    }

    /// What the host does about a start whose sums are not finite or not safe.
    fn measure_columns(&mut self, start: &[f64]) -> Result<(), Failure> {
        self.work.other_passes += 1;
        if let Some(point) = self.fit.first_bad_point(start) {
            return Err(Failure::Start(point));
        }
        let mut largest = vec![0.0; self.columns.len()];
        self.fit.magnitudes(start, &mut largest)?;
        self.work.other_passes += 1;
        self.columns.iter_mut().zip(&largest).for_each(|(c, &m)| *c = unit_of(m));
        let layout = self.state.layout.clone();
        self.state.set(&layout.columns, self.columns.iter().copied());
        self.state.set(&layout.rescaled, [true]);
        self.set_request(Request::Evaluate);
        for at in [layout.columns, layout.rescaled, layout.request] {
            self.write(at)?;
        }
        Ok(())
    }

    /// Tells the observer of a step that it does not know of.
    fn tell_observer(&mut self) -> Result<(), Failure> {
        let layout = &self.state.layout;
        let iteration = self.state.count(&layout.reported);
        let (Some(observer), true) = (self.task.observer, iteration > self.told) else {
            return Ok(());
        };
        self.told = iteration;
        let params = self.state.numbers(&layout.present.params);
        let progress = Progress {
            iteration,
            evaluations: self.state.count(&layout.evaluations),
            params: &params,
            cost: self.state.number(&layout.cost)
                / self.task.problem.row_unit
                / self.task.problem.row_unit,
            step: self.state.number(&layout.step),
            damping: self.state.number(&layout.damping),
            elapsed: self.task.begun.elapsed(),
        };
        self.stopped |=
            wants_to_stop(observer, Event::Step(progress)).map_err(Failure::Observer)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;

/// A fit on a device: its points, its state and the kernels that work on them. Calls take effect in
/// their order; only [`read`](Self::read) waits.
pub(crate) trait ResidentFit {
    /// Writes words of the state, from word `at` on.
    fn write(&mut self, at: usize, words: &[u64]) -> Result<(), DriverError>;

    /// Waits for what was queued and reads words of the state.
    fn read(&mut self, at: Range<usize>, words: &mut [u64]) -> Result<(), DriverError>;

    /// Queues evaluations over all points, each with the step that follows it; those that find no
    /// evaluation wanted do nothing.
    fn iterate(&mut self, launches: usize) -> Result<(), DriverError>;

    /// Queues the factor at the present parameters and the step that goes on with it.
    fn factor(&mut self) -> Result<(), DriverError>;

    /// Queues a step, which ends a fit whose `stopped` is set.
    fn stop(&mut self) -> Result<(), DriverError>;

    /// As [`Evaluator::first_bad_point`](crate::solver::evaluator::Evaluator::first_bad_point).
    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint>;

    /// As [`Evaluator::magnitudes`](crate::solver::evaluator::Evaluator::magnitudes).
    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault>;
}
