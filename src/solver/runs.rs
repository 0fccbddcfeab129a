//! A minimisation as one run or two: a run that ends badly is repeated.

use super::outcome::{Failure, Fault, Outcome};
use super::state::Scaling;
use super::task::Problem;
use super::termination::Termination;
use crate::normal::Arrow;
use std::sync::Arc;

/// A minimisation from a start. Its counts continue from run
/// to run.
pub(crate) trait Run {
    /// Evaluates at `start`.
    fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure>;

    /// Iterates from there to a termination.
    fn run(&mut self) -> Result<Termination, Failure>;

    /// Classifies this end by the second derivatives if the linear model does not decide.
    fn second_look(&mut self, reason: Termination) -> Result<Next, Failure> {
        Ok(Next::End(reason))
    }

    /// Writes the current state of the run.
    fn report(&self, termination: Termination, out: &mut Outcome);

    /// Returns true if a limit or the observer forbids another run.
    fn is_interrupted(&self) -> bool;
}

/// Continuation of a run after its end.
pub(crate) enum Next {
    /// It has ended so.
    End(Termination),
    /// From these parameters, where the cost is lower: the end was a saddle.
    From(Vec<f64>),
}

/// Saddles that a run leaves at most.
const SADDLES: usize = 3;

/// Iterates from the beginning of `run` to an end that is not a saddle.
fn to_the_end(run: &mut dyn Run) -> Result<Termination, Failure> {
    let mut reason = run.run()?;
    for _ in 0..SADDLES {
        match run.second_look(reason)? {
            Next::End(reason) => return Ok(reason),
            Next::From(below) => run.begin(&below, Scaling::Present)?,
        }
        reason = run.run()?;
    }
    Ok(reason)
}

/// Results of the runs of a minimisation, reused without allocation.
pub(crate) struct Ends {
    /// The better of the two.
    pub(crate) best: Outcome,
    second: Outcome,
    /// Start of the second run.
    again: Vec<f64>,
}

impl Ends {
    pub(crate) fn new(params: usize, shape: &Arc<Arrow>) -> Ends {
        let outcome = || Outcome::new(params, shape);
        Ends { best: outcome(), second: outcome(), again: Vec::with_capacity(params) }
    }
}

/// Minimises from `problem.start`. A run that ends badly is repeated, with the other scaling of
/// the columns or, if nothing had an effect at the start, from a start beside it; the better of the
/// two is left in `ends.best`.
pub(crate) fn best_of_runs(
    run: &mut dyn Run,
    problem: &Problem,
    ends: &mut Ends,
) -> Result<(), Failure> {
    let Ends { best, second, again } = ends;
    run.begin(&problem.start, Scaling::Monotone)?;
    let termination = to_the_end(run)?;
    run.report(termination, best);
    again.clone_from(&problem.start);
    if !is_worth_another_run(termination) || run.is_interrupted() {
        return Ok(());
    }
    if termination == Termination::ZeroGradientAtStart {
        go_beside(again, problem);
    }
    match run.begin(again, Scaling::Present) {
        Ok(()) => {
            let termination = to_the_end(run)?;
            run.report(termination, second);
            let rank = |o: &Outcome| (!o.termination.is_converged(), o.cost);
            if rank(second) < rank(best) {
                std::mem::swap(best, second);
            } else {
                best.work = second.work;
            }
        }
        Err(Failure::Start(_) | Failure::Overflow) => {
            run.report(termination, second);
            best.work = second.work;
        }
        // It was broken off before its first evaluation was done.
        Err(Failure::Backend(Fault::Stopped(stop))) => best.termination = stop.into(),
        Err(failure) => return Err(failure),
    }
    best.retried = true;
    Ok(())
}

/// Returns true if a run with this termination is repeated.
pub(super) fn is_worth_another_run(termination: Termination) -> bool {
    use Termination::{Degenerate, ModelNonFinite, NoProgress, ZeroGradientAtStart};
    matches!(termination, ZeroGradientAtStart | NoProgress | Degenerate | ModelNonFinite)
}

/// Moves a start beside itself, within the bounds.
fn go_beside(start: &mut [f64], problem: &Problem) {
    for &k in &problem.free {
        start[k] = moved(start[k], problem.bounds[k]);
    }
}

/// A value a hundredth away from `p`, outwards or, where a bound is in the way, inwards; halfway to
/// the farther bound if both are near.
fn moved(p: f64, (lower, upper): (f64, f64)) -> f64 {
    let step = if p == 0.0 { 0.01 } else { 0.01 * p };
    let inside = |v: &f64| v.is_finite() && (lower..=upper).contains(v);
    let halfway =
        if upper - p >= p - lower { p + 0.5 * (upper - p) } else { p - 0.5 * (p - lower) };
    [p + step, p - step].into_iter().find(inside).unwrap_or(halfway)
}
