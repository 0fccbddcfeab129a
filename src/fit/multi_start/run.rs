//! Searches from many starts, and the covariance of the best result.
//!
//! If a pass over the points keeps all threads busy, or runs on a device, the searches run one after the other;
//! otherwise each thread has its own starts. A search has the same result, to the bit, in both cases.

use super::distinct::Nearness;
use super::exchange::Exchange;
use super::{Optima, Optimum, Trial, TrialEnd, chance_of_unseen};
use crate::error::{Error, Result};
use crate::fit::engine::Request;
use crate::fit::point_source::View;
use crate::fit::start_search::TESTED;
use crate::fit::warning::Warning;
use crate::host::Instant;
use crate::math::bits::ascending;
use crate::observe::span;
use crate::solver::outcome::Outcome;
use crate::threads;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// p-value of chi-square below which a fit is suspicious.
const UNLIKELY: f64 = 0.01;

/// The end of a search and its duration.
type Searched = (Outcome, Duration);

/// The trials of several starts, and the ends of the completed searches.
#[derive(Default)]
pub(crate) struct Trials {
    trials: Vec<Trial>,
    /// The position of the trial, its end and its duration.
    ends: Vec<(usize, Outcome, Duration)>,
}

/// Fits `request` from each of `starts` (at least one), instead of its own start. After `stop` is set or the observer
/// has cancelled, no search begins except the first.
///
/// # Errors
/// Errors that no other start would avoid; if no start led to a fit, the error of the first one.
pub(crate) fn from_all(
    request: Request<'_>,
    starts: Vec<Vec<f64>>,
    stop: &AtomicBool,
) -> Result<Optima> {
    let mut all = Trials::default();
    all.add(&request, starts, stop)?;
    let distinct = all.optima(&request);
    let Trials { trials, ends } = all;
    let rank =
        |(_, end, _): &(usize, Outcome, Duration)| (!end.termination.is_converged(), end.cost);
    let order = |a: &_, b: &_| {
        let ((a, cost), (b, other)) = (rank(a), rank(b));
        a.cmp(&b).then(cost.total_cmp(&other))
    };
    let Some((first, outcome, time)) = ends.into_iter().min_by(order) else {
        // The first search always runs. If no search has an end, the first search returned an error.
        return Err(trials.iter().find_map(Trial::error).cloned().unwrap_or(Error::NoParameters));
    };
    let request = Request { start: trials[first].start.clone(), ..request };
    let (mut best, _) = request.ended(outcome, time)?;
    best.warnings.extend(rarely_reached(&distinct));
    Ok(Optima { best, distinct, trials })
}

impl Trials {
    /// Fits `request` from each of `starts` instead of its own start. After `stop` is set or the observer
    /// has cancelled, no search begins except the very first.
    ///
    /// # Errors
    /// Errors that no other start would avoid.
    pub(crate) fn add(
        &mut self,
        request: &Request<'_>,
        starts: Vec<Vec<f64>>,
        stop: &AtomicBool,
    ) -> Result<()> {
        let in_turn = request.source.is_on_device() || fills_all_threads(request)?;
        let mut request = request.clone();
        request.spec.on_one_thread = !in_turn;
        let before = self.trials.len();
        let search = |(i, start): (usize, &Vec<f64>)| -> Option<Result<Searched>> {
            let i = before + i;
            if i > 0 && (request.spec.is_cancelled() || stop.load(Relaxed)) {
                return None;
            }
            let _span = span!(DEBUG, "start", number = i);
            let begun = Instant::now();
            // `request.linear` applies only to the first start, whose linear parameters are a least-squares solution.
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

    /// Returns the distinct optima, by ascending cost.
    pub(crate) fn optima(&self, request: &Request<'_>) -> Vec<Optimum> {
        optima(request, &self.ends, &self.trials)
    }

    /// Returns the total number of evaluations of all fits.
    pub(crate) fn evaluations(&self) -> usize {
        self.ends.iter().map(|(_, end, _)| end.work.evaluations).sum()
    }

    /// Returns the least cost of all ends, converged or not; infinite if there is no end.
    pub(crate) fn least_cost(&self) -> f64 {
        self.least().map_or(f64::INFINITY, |(_, end, _)| end.cost)
    }

    /// Returns the end with the least cost, converged or not.
    fn least(&self) -> Option<&(usize, Outcome, Duration)> {
        self.ends.iter().min_by(|(_, a, _), (_, b, _)| a.cost.total_cmp(&b.cost))
    }

    /// Returns the parameters of the end with the least cost, converged or not.
    pub(crate) fn best_params(&self) -> Option<Vec<f64>> {
        self.least().map(|(_, end, _)| end.params.clone())
    }

    /// Returns the parameters of ends that did not converge and whose cost is below the cost of all converged ends. At
    /// most `most` ends, by ascending cost; of several ends with equal cost only one.
    pub(crate) fn best_open(&self, most: usize) -> Vec<Vec<f64>> {
        let end = |k: usize| &self.ends[k].1;
        let mut order =
            ascending(&self.ends.iter().map(|(_, end, _)| end.cost).collect::<Vec<f64>>());
        order.dedup_by(|later, k| end(*later).cost == end(*k).cost);
        let open = order.into_iter().take_while(|&k| !end(k).termination.is_converged());
        open.take(most).map(|k| end(k).params.clone()).collect()
    }

    /// Judges the result with the least cost as a description of the data.
    ///
    /// # Errors
    /// Errors of the last passes of a fit.
    pub(crate) fn quality(&self, request: &Request<'_>) -> Result<Quality> {
        let least = self.least().filter(|(_, end, _)| end.termination.is_converged());
        let Some((_, outcome, time)) = least else { return Ok(Quality::Rejected) };
        let (fit, residuals) = request.ended(outcome.clone(), *time)?;
        if !fit.is_convincing() {
            return Ok(Quality::Rejected);
        }
        let unlikely = fit.chi_square_p_value().is_some_and(|p| p < UNLIKELY);
        let untested = fit.degrees_of_freedom() < TESTED;
        Ok(match untested || residuals.are_suspicious() || unlikely {
            true => Quality::Suspicious,
            false => Quality::Good,
        })
    }
}

/// Quality of a fit as a description of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quality {
    /// The fit did not converge, or the data reject its curve.
    Rejected,
    /// The residuals are improbable for the right curve, or too few for a test.
    Suspicious,
    Good,
}

/// Groups the ends of trials into distinct optima.
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
        options: &request.spec.options,
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

/// Returns the warning if only one of n > 1 starts reached the best optimum. If a start reaches another optimum with
/// probability 1/n, n starts miss it with probability (1 − 1/n)ⁿ, about a third, and 3n further starts with
/// probability e⁻³ = 5 %. The warning therefore recommends 3n further starts.
fn rarely_reached(distinct: &[Optimum]) -> Option<Warning> {
    let starts: usize = distinct.iter().map(Optimum::hits).sum();
    let unseen = chance_of_unseen(distinct)?;
    let is_rare = starts > 1 && distinct.first()?.hits() == 1;
    is_rare.then_some(Warning::ReachedOnce { starts, unseen, more: 3 * starts })
}

/// Returns true if a pass over the points has work for every thread.
pub(super) fn fills_all_threads(request: &Request<'_>) -> Result<bool> {
    let threads = request.evaluator(&View::of(request.spec.loss, &request.start))?.threads();
    Ok(threads > 1 && threads >= threads::count())
}

/// Returns true if another start may avoid the error.
fn is_of_start(error: &Error) -> bool {
    let ended = matches!(error, Error::ModelPanicked { .. } | Error::StoppedInFirstPass);
    ended || error.is_at_start()
}
