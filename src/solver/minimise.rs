//! A minimisation, from its start to its outcome: on the device where the evaluator has a loop there,
//! else on the host.

use super::evaluator::Evaluator;
use super::levels::Heavy;
use super::linear_model::LinearModel;
use super::outcome::{Failure, Fault, Outcome};
use super::runs::{Ends, Next, Run, best_of_runs};
use super::search::Search;
use super::state::{Scaling, State, Want};
use super::task::{Problem, Task};
use super::termination::Termination;
use crate::data::unit_of;
use crate::normal::Summary;
use crate::observe::span;

/// Makes a minimisation, on the device where the evaluator has a loop there. Where the device fails and may
/// be done without, the host goes on from the best parameters that it saw.
pub(crate) fn minimise(evaluator: &mut dyn Evaluator, task: &Task<'_>) -> Result<Outcome, Failure> {
    let mut minimiser = Minimiser::of(task);
    minimiser.minimise(evaluator, task)?;
    Ok(minimiser.ends.best)
}

/// A cost below this part of another is lower by more than rounding.
const LOWER: f64 = 1.0 - 1e-9;

/// Whether the loop on a device came to an end that second derivatives, which the host has, may decide.
fn is_for_the_host(outcome: &Outcome, problem: &Problem) -> bool {
    use Termination::{Cost, Degenerate, Gradient, NoProgress, Step};
    let on_bound = |&k: &usize| {
        let (lower, upper) = problem.bounds[k];
        outcome.params[k] == lower || outcome.params[k] == upper
    };
    match outcome.termination {
        NoProgress | Degenerate => true,
        Gradient | Cost | Step => {
            problem.free.iter().any(on_bound)
                || !LinearModel::new(outcome.normal.n).set_normal(&outcome.normal)
        }
        _ => false,
    }
}

/// What the loop alone finds on the host: what a loop on a device is held to.
#[cfg(test)]
pub(crate) fn minimise_by_the_loop(
    evaluator: &mut dyn Evaluator,
    task: &Task<'_>,
) -> Result<Outcome, Failure> {
    let Minimiser { mut state, mut ends } = Minimiser::of(task);
    let search = Search::new(task, &mut state);
    let mut run = OnHost { looks_again: false, ..OnHost::new(evaluator, search) };
    best_of_runs(&mut run, task.problem, &mut ends)?;
    Ok(ends.best)
}

/// Evaluates at the start and takes no step: where a fit ends that was ended before this stage, for the
/// given reason.
pub(crate) fn evaluate(
    evaluator: &mut dyn Evaluator,
    task: &Task<'_>,
    termination: Termination,
) -> Result<Outcome, Failure> {
    let mut minimiser = Minimiser::of(task);
    minimiser.evaluate(evaluator, task, termination)?;
    Ok(minimiser.ends.best)
}

/// What minimisations need and leave behind, for any number of them one after another: on the host no further
/// one allocates, however it ends.
pub(crate) struct Minimiser {
    state: State,
    pub(crate) ends: Ends,
}

impl Minimiser {
    /// For a model of `params` parameters, `free` of them free.
    pub(crate) fn new(params: usize, free: usize) -> Minimiser {
        Minimiser { state: State::new(params, free), ends: Ends::new(params, free) }
    }

    fn of(task: &Task<'_>) -> Minimiser {
        Minimiser::new(task.problem.start.len(), task.problem.free.len())
    }

    /// As [`minimise`]; the outcome is then in `ends.best`.
    pub(crate) fn minimise(
        &mut self,
        evaluator: &mut dyn Evaluator,
        task: &Task<'_>,
    ) -> Result<(), Failure> {
        // Only a loop on a device asks here: the host's looks at the weights itself, which may take a pass.
        let n = task.problem.free.len();
        let on_device = match evaluator.device_loop().is_some() && Heavy::of(evaluator, n).is_none()
        {
            true => evaluator.device_loop().map(|device| device.minimise(task)),
            false => None,
        };
        let (first, start, work) = match on_device {
            None => return self.minimise_on_host(evaluator, task),
            Some(Err(Failure::Device { error, reached })) => {
                evaluator.abandon_device(error)?;
                let (start, work) =
                    reached.unwrap_or_else(|| (task.problem.start.clone(), task.work));
                (None, start, work)
            }
            Some(Ok(outcome)) if is_for_the_host(&outcome, task.problem) => {
                let (start, work) = (outcome.params.clone(), outcome.work);
                (Some(outcome), start, work)
            }
            Some(outcome) => {
                self.ends.best = outcome?;
                return Ok(());
            }
        };
        let problem = Problem { start, ..task.problem.clone() };
        let rest = Task { problem: &problem, work, known: None, ..*task };
        self.minimise_on_host(evaluator, &rest)?;
        let last = &mut self.ends.best;
        if let Some(first) = first {
            // A minimum of the device's stays what it is, unless the cost falls from there.
            if first.termination.is_converged() && last.cost >= LOWER * first.cost {
                *last = Outcome { work: last.work, ..first };
            } else {
                (last.effects, last.retried) = (first.effects, true);
            }
        }
        Ok(())
    }

    fn minimise_on_host(
        &mut self,
        evaluator: &mut dyn Evaluator,
        task: &Task<'_>,
    ) -> Result<(), Failure> {
        let Minimiser { state, ends } = self;
        let Some(heavy) = Heavy::of(evaluator, task.problem.free.len()) else {
            let search = Search::new(task, state);
            return best_of_runs(&mut OnHost::new(evaluator, search), task.problem, ends);
        };
        let (mut most, mut level, mut done) = (heavy.widest(), task.problem.clone(), task.work);
        loop {
            level.square = evaluator.limit_weights(most).unwrap_or(task.problem.square);
            // What is known of the start has the weights as they were.
            let at_level = Task { problem: &level, work: done, known: None, ..*task };
            let search = Search::new(&at_level, state);
            best_of_runs(&mut OnHost::new(evaluator, search), &level, ends)?;
            ends.best.most_weight = most;
            if ends.best.termination.is_limit() {
                return Ok(());
            }
            let Some(next) = heavy.after(evaluator, &level, &ends.best)? else { return Ok(()) };
            (most, done) = (next, ends.best.work);
            level.start.clone_from(&ends.best.params);
        }
    }

    /// As [`evaluate`]; the outcome is then in `ends.best`.
    pub(crate) fn evaluate(
        &mut self,
        evaluator: &mut dyn Evaluator,
        task: &Task<'_>,
        termination: Termination,
    ) -> Result<(), Failure> {
        let unwatched = Task { observer: None, ..*task };
        let search = Search::new(&unwatched, &mut self.state);
        let mut run = OnHost::new(evaluator, search);
        run.begin(&task.problem.start, Scaling::Monotone)?;
        run.report(termination, &mut self.ends.best);
        Ok(())
    }
}

/// A search that has its evaluator at hand.
pub(super) struct OnHost<'a> {
    pub(super) evaluator: &'a mut dyn Evaluator,
    pub(super) search: Search<'a>,
    /// Whether second derivatives may decide what the loop does not.
    looks_again: bool,
}

impl Run for OnHost<'_> {
    fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure> {
        self.search.set_out(start, scaling);
        self.evaluate_start()?;
        self.search.begin();
        Ok(())
    }

    fn run(&mut self) -> Result<Termination, Failure> {
        loop {
            let _span = span!(
                TRACE,
                "step",
                iteration = self.search.state.work.iterations,
                cost = self.search.state.normal.cost / self.search.task.problem.row_unit.powi(2),
            );
            let want = self.search.advance()?;
            let rejected_from = self.search.rejected_from();
            let State { params, columns, trial, factor, normal, .. } = &mut *self.search.state;
            match want {
                Want::Evaluation => {
                    self.evaluator.expect_below(rejected_from);
                    match self.evaluator.normal(&trial.params, columns, &mut trial.normal) {
                        Err(Fault::Stopped(stop)) => return Ok(self.search.stopped(stop)),
                        outcome => outcome?,
                    }
                    self.search.evaluated();
                }
                Want::Factor => {
                    match self.evaluator.factor(params, columns, factor) {
                        Err(Fault::Stopped(stop)) => return Ok(self.search.stopped(stop)),
                        outcome => outcome?,
                    }
                    self.search.factored();
                }
                Want::Nothing(Termination::ExactFit)
                    if normal.cost > 0.0 && !self.evaluator.is_exact(params)? =>
                {
                    self.search.go_on_below();
                }
                Want::Nothing(termination) => return Ok(termination),
            }
        }
    }

    fn second_look(&mut self, reason: Termination) -> Result<Next, Failure> {
        if self.looks_again { self.look_again(reason) } else { Ok(Next::End(reason)) }
    }

    fn report(&self, termination: Termination, out: &mut Outcome) {
        self.search.state.report(termination, out);
    }

    fn is_interrupted(&self) -> bool {
        self.search.interrupted().is_some()
    }
}

impl<'a> OnHost<'a> {
    fn new(evaluator: &'a mut dyn Evaluator, search: Search<'a>) -> Self {
        OnHost { evaluator, search, looks_again: true }
    }

    /// The normal equations at the start, with columns brought into the range where squares are safe.
    fn evaluate_start(&mut self) -> Result<(), Failure> {
        let (evaluator, search) = (&mut *self.evaluator, &mut self.search);
        let state = &mut *search.state;
        match search.task.known.filter(|_| state.is_as_at_first(search.task.problem)) {
            Some(known) => state.trial.normal.clone_from(known),
            None => {
                let (params, normal) = (&state.trial.params, &mut state.trial.normal);
                evaluator.normal(params, &state.columns, normal)?;
            }
        }
        search.evaluated();
        if search.start_is_safe() {
            return Ok(());
        }
        let State { trial, columns, delta, work, .. } = &mut *search.state;
        work.other_passes += 1;
        if let Some(point) = evaluator.first_bad_point(&trial.params) {
            return Err(Failure::Start(point));
        }
        evaluator.magnitudes(&trial.params, delta)?;
        work.other_passes += 1;
        columns.iter_mut().zip(&*delta).for_each(|(c, &m)| *c = unit_of(m));
        evaluator.normal(&trial.params, columns, &mut trial.normal)?;
        search.evaluated();
        if search.state.trial.normal.is_finite() { Ok(()) } else { Err(Failure::Overflow) }
    }
}
