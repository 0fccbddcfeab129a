//! A minimisation, from its start to its outcome: on the device where the evaluator has a loop there,
//! else on the host.

use super::levels::Heavy;
use super::linear_model::LinearModel;
use super::observe::Observer;
use super::options::Options;
use super::phases::Want;
use super::problem::Problem;
use super::resident::minimise_resident;
use super::run::{Ends, Next, Run, Scaling, best_of_runs};
use super::search::Search;
use super::state::State;
use super::termination::Termination;
use super::work::Work;
use crate::backend::cuda::driver::DriverError;
use crate::backend::{BadPoint, Evaluator, Fault};
use crate::data::unit_of;
use crate::normal::{Normal, Summary};
use crate::observe::span;
use std::time::Instant;

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
    /// What no point weighed more than, in row units.
    pub(crate) most_weight: f64,
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
            most_weight: f64::INFINITY,
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
    // Only a loop on a device asks here: the host's looks at the weights itself, which may take a pass.
    let loops =
        evaluator.resident().is_some() && Heavy::of(evaluator, problem.free.len()).is_none();
    let on_device = evaluator
        .resident()
        .filter(|_| loops)
        .map(|fit| minimise_resident(fit, problem, options, observer, begun, work));
    let mut first = None;
    let (start, work) = match on_device {
        None => (problem.start.clone(), work),
        Some(Err(Failure::Device { error, reached })) => {
            evaluator.abandon_device(error)?;
            reached.unwrap_or_else(|| (problem.start.clone(), work))
        }
        Some(Ok(outcome)) if is_for_the_host(&outcome, problem) => {
            let from = (outcome.params.clone(), outcome.work);
            first = Some(outcome);
            from
        }
        Some(outcome) => return outcome,
    };
    let problem = Problem { start, ..problem.clone() };
    let mut room = Room::new(problem.start.len(), problem.free.len());
    room.minimise(evaluator, &problem, options, observer, begun, work)?;
    let last = room.ends.best;
    Ok(match first {
        // A minimum of the device's stays what it is, unless the cost falls from there.
        Some(first) if first.termination.is_converged() && last.cost >= LOWER * first.cost => {
            Outcome { work: last.work, ..first }
        }
        Some(first) => Outcome { effects: first.effects, retried: true, ..last },
        None => last,
    })
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
pub(super) fn minimise_by_the_loop(
    evaluator: &mut dyn Evaluator,
    problem: &Problem,
    options: &Options,
    observer: Option<&Observer>,
    begun: Instant,
) -> Result<Outcome, Failure> {
    let Room { mut state, mut ends } = Room::new(problem.start.len(), problem.free.len());
    let work = Work::default();
    let search = Search::new(problem, options, observer, begun, work, &mut state);
    let mut run = OnHost { looks_again: false, ..OnHost::new(evaluator, search) };
    best_of_runs(&mut run, problem, &mut ends)?;
    Ok(ends.best)
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
        let Room { state, ends } = self;
        let Some(heavy) = Heavy::of(evaluator, problem.free.len()) else {
            let search = Search::new(problem, options, observer, begun, work, state);
            return best_of_runs(&mut OnHost::new(evaluator, search), problem, ends);
        };
        let (mut most, mut level) = (heavy.widest(), problem.clone());
        let mut done = work;
        loop {
            level.square = evaluator.limit_weights(most).unwrap_or(problem.square);
            let search = Search::new(&level, options, observer, begun, done, state);
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
        problem: &Problem,
        options: &Options,
        begun: Instant,
        work: Work,
        termination: Termination,
    ) -> Result<(), Failure> {
        let state = &mut self.state;
        let search = Search::new(problem, options, None, begun, work, state);
        let mut run = OnHost::new(evaluator, search);
        run.begin(&problem.start, Scaling::Monotone)?;
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
                cost = self.search.state.normal.cost / self.search.problem.row_unit.powi(2),
            );
            let want = self.search.advance()?;
            let State { params, columns, trial, factor, normal, .. } = &mut *self.search.state;
            match want {
                Want::Evaluation => {
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
        evaluator.normal(&state.trial.params, &state.columns, &mut state.trial.normal)?;
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
