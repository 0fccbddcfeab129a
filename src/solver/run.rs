//! A minimisation as one run or two: a run that ends badly is made once more.

use super::minimise::{Failure, Outcome};
use super::problem::Problem;
use super::termination::Termination;

/// How columns are scaled against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scaling {
    /// By the largest norm seen so far (Moré): protects problems of wild scales.
    Monotone,
    /// By the present norm: lets far starts forget where they came from.
    Present,
}

/// Something that minimises from a start, on the host or on a device. What it counts goes on from run
/// to run.
pub(super) trait Run {
    /// Evaluates at `start`.
    fn begin(&mut self, start: &[f64], scaling: Scaling) -> Result<(), Failure>;

    /// Goes on from there to an end.
    fn run(&mut self) -> Result<Termination, Failure>;

    /// Where the run stands.
    fn outcome(&self, termination: Termination) -> Outcome;

    /// Whether a limit or the observer forbids another run.
    fn is_interrupted(&self) -> bool;
}

/// Minimises from `problem.start`. A run that ends badly is made once more, with the other scaling of
/// the columns or, if nothing had an effect at the start, from a start beside it; the better of the
/// two is returned.
pub(super) fn best_of_runs(run: &mut dyn Run, problem: &Problem) -> Result<Outcome, Failure> {
    run.begin(&problem.start, Scaling::Monotone)?;
    let termination = run.run()?;
    let first = run.outcome(termination);
    let again = match termination {
        Termination::ZeroGradientAtStart => beside(problem),
        Termination::NoProgress | Termination::Degenerate | Termination::ModelNonFinite => {
            problem.start.clone()
        }
        _ => return Ok(first),
    };
    if run.is_interrupted() {
        return Ok(first);
    }
    let (second, work) = match run.begin(&again, Scaling::Present) {
        Ok(()) => {
            let termination = run.run()?;
            let second = run.outcome(termination);
            let work = second.work;
            (second, work)
        }
        Err(Failure::Start(_) | Failure::Overflow) => {
            (first.clone(), run.outcome(termination).work)
        }
        Err(failure) => return Err(failure),
    };
    let rank = |o: &Outcome| (!o.termination.is_converged(), o.cost);
    let better = if rank(&second) < rank(&first) { second } else { first };
    Ok(Outcome { work, retried: true, ..better })
}

/// A start beside the given one, within the bounds.
fn beside(problem: &Problem) -> Vec<f64> {
    let mut start = problem.start.clone();
    for &k in &problem.free {
        start[k] = moved(start[k], problem.bounds[k]);
    }
    start
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
