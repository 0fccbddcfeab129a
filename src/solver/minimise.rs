//! Minimisation, from the starting point to the outcome.

use super::evaluator::Evaluator;
use super::levels::Heavy;
use super::outcome::{Failure, Fault, Outcome};
use super::runs::{Ends, Next, Run, best_of_runs};
use super::search::Search;
use super::state::{Scaling, State, Want};
use super::task::Task;
use super::termination::Termination;
use crate::data::unit_of;
use crate::normal::{Arrow, Summary};
use crate::observe::span;
use std::sync::Arc;

/// Performs a minimisation.
pub(crate) fn minimise(evaluator: &mut dyn Evaluator, task: &Task<'_>) -> Result<Outcome, Failure> {
    let mut minimiser = Minimiser::of(task);
    minimiser.minimise(evaluator, task)?;
    Ok(minimiser.ends.best)
}

/// Minimises with the loop only, without second derivatives and without weight limits for heavy points
/// ([`levels`](super::levels)), as a reference for the solver of the kernels.
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

/// Evaluates at the starting point without a step, for a fit that ended before this stage with the given termination.
pub(crate) fn evaluate(
    evaluator: &mut dyn Evaluator,
    task: &Task<'_>,
    termination: Termination,
) -> Result<Outcome, Failure> {
    let mut minimiser = Minimiser::of(task);
    minimiser.evaluate(evaluator, task, termination)?;
    Ok(minimiser.ends.best)
}

/// State and results of minimisations. They are reused for any number of minimisations without further allocation.
pub(crate) struct Minimiser {
    state: State,
    pub(crate) ends: Ends,
}

impl Minimiser {
    /// Creates a minimiser for a model with `params` parameters; `shape` is the block structure of the free parameters.
    pub(crate) fn new(params: usize, shape: &Arc<Arrow>) -> Minimiser {
        Minimiser { state: State::new(params, shape), ends: Ends::new(params, shape) }
    }

    fn of(task: &Task<'_>) -> Minimiser {
        Minimiser::new(task.problem.start.len(), &task.problem.shape)
    }

    /// Minimises like [`minimise`] and writes the outcome to `ends.best`.
    pub(crate) fn minimise(
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
            // Known normal equations at the starting point were computed with the previous weights.
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

    /// Performs Newton steps with second derivatives from `task.problem.start`. The outcome in `ends.best` has
    /// converged if the steps reached a minimum.
    pub(crate) fn take_newton_steps(
        &mut self,
        evaluator: &mut dyn Evaluator,
        task: &Task<'_>,
    ) -> Result<(), Failure> {
        let search = Search::new(task, &mut self.state);
        let mut run = OnHost::new(evaluator, search);
        run.begin(&task.problem.start, Scaling::Monotone)?;
        let reason = run.newton_from_start()?;
        run.report(reason, &mut self.ends.best);
        Ok(())
    }

    /// Evaluates like [`evaluate`] and writes the outcome to `ends.best`.
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

/// A search with its evaluator, on the host.
pub(super) struct OnHost<'a> {
    pub(super) evaluator: &'a mut dyn Evaluator,
    pub(super) search: Search<'a>,
    /// True if second derivatives classify terminations that the loop does not decide.
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
                    self.search.evaluated(self.evaluator.noise());
                }
                Want::Factor => {
                    match self.evaluator.factor(params, columns, factor) {
                        Err(Fault::Stopped(stop)) => return Ok(self.search.stopped(stop)),
                        outcome => outcome?,
                    }
                    self.search.factored();
                }
                Want::Nothing(Termination::NoProgress) => return self.without_progress(),
                Want::Nothing(Termination::ExactFit)
                    if normal.cost > 0.0 && !self.evaluator.is_exact(params)? =>
                {
                    self.search.go_on_below();
                }
                Want::Nothing(Termination::Degenerate) if self.finds_unused()? => {
                    return Ok(self.search.unless_degenerate(self.search.state.reason));
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

    /// Ends a run that found no lower cost. If noise of the model values is the reason, this function estimates the
    /// noise, and the next run adapts its steps to the noise.
    fn without_progress(&mut self) -> Result<Termination, Failure> {
        match self.evaluator.look_for_noise(&self.search.state.params) {
            Err(Fault::Stopped(stop)) => Ok(self.search.stopped(stop)),
            looked => Ok(looked.map(|()| Termination::NoProgress)?),
        }
    }

    /// Evaluates the normal equations at the starting point. If squares are not safe from overflow and underflow,
    /// columns are scaled first.
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
        search.evaluated(evaluator.noise());
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
        search.evaluated(evaluator.noise());
        if search.state.trial.normal.is_finite() { Ok(()) } else { Err(Failure::Overflow) }
    }
}
