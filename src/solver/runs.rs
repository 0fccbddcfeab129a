//! Minimisation in at most two runs: a run that ends without a usable minimum is repeated.

use super::outcome::{Failure, Fault, Outcome};
use super::state::Scaling;
use super::task::Problem;
use super::termination::Termination;
use crate::normal::Arrow;
use std::sync::Arc;

/// The iteration from a starting point to a termination. Its counts of iterations and evaluations include all earlier
/// runs.
pub(crate) trait Run {
    /// Evaluates at `start`.
    fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure>;

    /// Iterates from the start of [`begin`](Self::begin) to a termination.
    fn run(&mut self) -> Result<Termination, Failure>;

    /// Classifies the end of a run by second derivatives, if first derivatives cannot distinguish a minimum from a
    /// saddle.
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
    /// No continuation: the termination is final.
    End(Termination),
    /// Continuation from these parameters, where the cost is lower, because the end was a saddle.
    From(Vec<f64>),
}

/// Maximum number of saddles from which a run continues.
const SADDLES: usize = 3;

/// Iterates `run` until it ends at a point that is not a saddle, or until it has left [`SADDLES`] saddles.
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
    /// Result of the better run.
    pub(crate) best: Outcome,
    second: Outcome,
    /// Starting point of the second run.
    again: Vec<f64>,
}

impl Ends {
    pub(crate) fn new(params: usize, shape: &Arc<Arrow>) -> Ends {
        let outcome = || Outcome::new(params, shape);
        Ends { best: outcome(), second: outcome(), again: Vec::with_capacity(params) }
    }
}

/// Minimises from `problem.start`. If the run ends without a usable minimum, a second run uses the scaling
/// [`Scaling::Present`]. If no parameter had an effect at the starting point, the second run begins at a shifted
/// starting point. The better result is stored in `ends.best`.
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
        // The second run was stopped before the end of its first evaluation.
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

/// Shifts the free parameters of a start by a small step, within the bounds.
fn go_beside(start: &mut [f64], problem: &Problem) {
    for &k in &problem.free {
        start[k] = moved(start[k], problem.bounds[k]);
    }
}

/// Returns `p` shifted by 1 % (by 0.01 if it is 0), away from 0 or, if a bound prevents this, towards 0. If bounds
/// prevent both, returns the middle between `p` and the farther bound.
fn moved(p: f64, (lower, upper): (f64, f64)) -> f64 {
    let step = if p == 0.0 { 0.01 } else { 0.01 * p };
    let inside = |v: &f64| v.is_finite() && (lower..=upper).contains(v);
    let halfway =
        if upper - p >= p - lower { p + 0.5 * (upper - p) } else { p - 0.5 * (p - lower) };
    [p + step, p - step].into_iter().find(inside).unwrap_or(halfway)
}
