//! A search from each of many starts, and the covariance of the best one's end.
//!
//! Where a pass over the points keeps all threads busy, or a device makes it, starts follow one another;
//! else each thread has starts of its own. A search is the same in either case, and so are its bits.

use super::distinct::Nearness;
use super::exchange::Exchange;
use super::{Optima, Optimum, Trial, TrialEnd, chance_of_unseen};
use crate::error::{Error, Result};
use crate::fit::engine::Request;
use crate::fit::search::View;
use crate::fit::warning::Warning;
use crate::observe::span;
use crate::solver::outcome::Outcome;
use crate::threads;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The end of a search and the time that it took.
type Searched = (Outcome, Duration);

/// The trials of several starts, and where the searches ended that were made.
#[derive(Default)]
pub(crate) struct Trials {
    pub(crate) trials: Vec<Trial>,
    /// The position of the trial, its end and the time that it took.
    ends: Vec<(usize, Outcome, Duration)>,
}

/// Fits `request` from each of `starts`, of which there is at least one, in place of its own. No search
/// begins after `stop` is set or the observer cancelled, but for the first.
///
/// # Errors
/// What ends a fit whatever its start; if no start led to a fit, what the first one's said.
pub(crate) fn from_all(
    request: Request<'_>,
    starts: Vec<Vec<f64>>,
    stop: &AtomicBool,
) -> Result<Optima> {
    let mut trials = Trials::default();
    trials.add(&request, starts, stop)?;
    let distinct = trials.optima(&request);
    let Some(best) = trials.best() else {
        // The first search is always made, so if there is no end there is an error.
        let error = trials.trials.iter().find_map(Trial::error).cloned();
        return Err(error.unwrap_or(Error::NoParameters));
    };
    let (first, outcome, time) = trials.ends.swap_remove(best);
    let request = Request { start: trials.trials[first].start.clone(), ..request };
    let mut best = request.ended(outcome, time)?;
    best.warnings.extend(rarely_reached(&distinct));
    Ok(Optima { best, distinct, trials: trials.trials })
}

impl Trials {
    /// Fits `request` from each of `starts` in place of its own. No search begins after `stop` is set or the observer
    /// cancelled, but for the very first.
    ///
    /// # Errors
    /// What ends a fit whatever its start.
    pub(crate) fn add(
        &mut self,
        request: &Request<'_>,
        starts: Vec<Vec<f64>>,
        stop: &AtomicBool,
    ) -> Result<()> {
        let in_turn = request.supply.is_on_device() || fills_all_threads(request)?;
        let request = Request { on_one_thread: !in_turn, ..request.clone() };
        let before = self.trials.len();
        let search = |(i, start): (usize, &Vec<f64>)| -> Option<Result<Searched>> {
            let i = before + i;
            let cancelled = request.observer.is_some_and(|observer| observer.is_cancelled());
            if i > 0 && (cancelled || stop.load(Relaxed)) {
                return None;
            }
            let _span = span!(DEBUG, "start", number = i);
            let begun = Instant::now();
            // Linear parameters were solved for at the first start only.
            let linear = if i == 0 { request.linear.clone() } else { Vec::new() };
            let request = Request { start: start.clone(), linear, ..request.clone() };
            let outcome = request.search(begun).map(|outcome| (outcome, begun.elapsed()));
            if outcome.as_ref().is_err_and(|error| !is_of_start(error)) {
                stop.store(true, Relaxed);
            }
            Some(outcome)
        };
        let searched: Vec<Option<Result<Searched>>> = match in_turn {
            true => starts.iter().enumerate().map(search).collect(),
            false => threads::map(starts.iter().enumerate(), search),
        };
        let row = request.points.units.row;
        for (start, search) in starts.into_iter().zip(searched) {
            let end = match search {
                None => TrialEnd::NotBegun,
                Some(Err(error)) if is_of_start(&error) => TrialEnd::Failed(error),
                Some(Err(error)) => return Err(error),
                Some(Ok((outcome, time))) => {
                    let end = TrialEnd::Reached {
                        params: outcome.params.clone(),
                        cost: outcome.cost / row / row,
                        termination: outcome.termination,
                        evaluations: outcome.work.evaluations,
                    };
                    self.ends.push((self.trials.len(), outcome, time));
                    end
                }
            };
            self.trials.push(Trial { start, end, searched: 0 });
        }
        Ok(())
    }

    /// The distinct optima, by ascending cost.
    pub(crate) fn optima(&self, request: &Request<'_>) -> Vec<Optimum> {
        optima(request, &self.ends, &self.trials)
    }

    /// The parameters of the least cost, whether or not that fit converged.
    pub(crate) fn best_params(&self) -> Option<Vec<f64>> {
        let best = self.ends.iter().min_by(|(_, a, _), (_, b, _)| a.cost.total_cmp(&b.cost));
        best.map(|(_, end, _)| end.params.clone())
    }

    /// The ends that used up their evaluations and have the least cost of all: at most `most`, the least first.
    pub(crate) fn best_open(&self, most: usize) -> Vec<Vec<f64>> {
        let mut open: Vec<Vec<f64>> = Vec::new();
        let mut bound = f64::NEG_INFINITY;
        // The few least ones, one after the other.
        while open.len() < most {
            let later = self.ends.iter().filter(|(_, end, _)| end.cost > bound);
            let least = later.min_by(|(_, a, _), (_, b, _)| a.cost.total_cmp(&b.cost));
            let Some((_, end, _)) = least.filter(|(_, end, _)| !end.termination.is_converged())
            else {
                break;
            };
            bound = end.cost;
            open.push(end.params.clone());
        }
        open
    }

    /// Returns true if the end of the least cost converged and the data do not reject it.
    ///
    /// # Errors
    /// Those of a fit's last passes.
    pub(crate) fn is_convincing(&self, request: &Request<'_>) -> Result<bool> {
        let best = self.ends.iter().min_by(|(_, a, _), (_, b, _)| a.cost.total_cmp(&b.cost));
        let Some((_, outcome, time)) = best else { return Ok(false) };
        Ok(outcome.termination.is_converged()
            && request.ended(outcome.clone(), *time)?.is_convincing())
    }

    /// Position of the end with the least cost, of those that converged if there are any.
    fn best(&self) -> Option<usize> {
        let rank =
            |(_, end, _): &(usize, Outcome, Duration)| (!end.termination.is_converged(), end.cost);
        let order = |&a: &usize, &b: &usize| {
            let ((a, cost), (b, other)) = (rank(&self.ends[a]), rank(&self.ends[b]));
            a.cmp(&b).then(cost.total_cmp(&other))
        };
        (0..self.ends.len()).min_by(order)
    }
}

/// The distinct optima among the ends of trials.
fn optima(
    request: &Request<'_>,
    ends: &[(usize, Outcome, Duration)],
    trials: &[Trial],
) -> Vec<Optimum> {
    let problem = request.problem();
    let points = &request.points;
    let exchange = Exchange::new(request, &problem.free, trials);
    let nearness = Nearness {
        exchanges: &|order| exchange.changes_nothing(order),
        options: request.options,
        free: &problem.free,
        variance: points.absolute.then(|| points.units.row.powi(2)),
        degrees: points.used.saturating_sub(problem.free.len()).max(1) as f64,
        square: problem.square,
        rounding: problem.rounding(),
    };
    let converged = ends.iter().filter(|(_, end, _)| end.termination.is_converged());
    let (positions, converged): (Vec<usize>, Vec<&Outcome>) =
        converged.map(|(i, end, _)| (*i, end)).unzip();
    let optimum = |group: Vec<usize>| {
        let (least, row) = (converged[group[0]], points.units.row);
        Optimum {
            params: least.params.clone(),
            cost: least.cost / row / row,
            termination: least.termination,
            trials: group.into_iter().map(|k| positions[k]).collect(),
        }
    };
    nearness.distinct(&converged).into_iter().map(optimum).collect()
}

/// What is doubtful where a single start reached the best optimum. One that is as hard to reach is missed by n starts
/// with a probability of (1 − 1/n)ⁿ, more than a third, and by 3n further ones with e⁻³ = 5 %.
fn rarely_reached(distinct: &[Optimum]) -> Option<Warning> {
    let starts: usize = distinct.iter().map(Optimum::hits).sum();
    let unseen = chance_of_unseen(distinct)?;
    let is_rare = starts > 1 && distinct.first()?.hits() == 1;
    is_rare.then_some(Warning::ReachedOnce { starts, unseen, more: 3 * starts })
}

/// Whether a pass over the points has work for every thread.
pub(super) fn fills_all_threads(request: &Request<'_>) -> Result<bool> {
    let threads = request.evaluator(View::of(request.loss, &request.start))?.threads();
    Ok(threads > 1 && threads >= threads::count())
}

/// Whether another start may do better.
fn is_of_start(error: &Error) -> bool {
    matches!(
        error,
        Error::ModelNonFiniteAtStart { .. }
            | Error::PartialNonFiniteAtStart { .. }
            | Error::ModelNotPositiveAtStart { .. }
            | Error::OverflowAtStart { .. }
            | Error::ModelPanicked { .. }
            | Error::StoppedInFirstPass
    )
}
