//! Search for a start: global search over the nonlinear parameters without a given or guessed value.
//!
//! The search works in rounds. A round draws values of the nonlinear parameters from their natural
//! [`ranges`](mod@ranges), solves for the linear parameters at each draw, on at most 1000 points ([`screen`]), and fits
//! the best candidates. Frequencies are scanned, and the terms of a sum are redrawn one after the other, with the best
//! values of the other terms. The search ends if its best minimum was reached several times and the data do not reject
//! it, or after a fixed number of rounds. The result does not depend on time or on the number of threads.

pub(super) mod batch;
mod by_terms;
mod draws;
pub(crate) mod options;
pub(super) mod ranges;
mod rejected;
mod screen;
mod symmetry;

use super::CurveFit;
use crate::backend::Backend;
use crate::curve_fit::ready::CompleteStart;
use crate::curve_fit::ready::Ready;
use crate::curve_fit::search::draws::Peaks;
use crate::curve_fit::search::ranges::on_sample;
use crate::data::points::Observations;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::fit::engine::{Request, Spent};
use crate::fit::multi_start::run::{Quality, Trials};
use crate::fit::start_search::{REACHED, StartSearch};
use crate::host::Instant;
use crate::model::native::Model;
use crate::solver::observe::{Event, SearchProgress, wants_to_stop};
use crate::solver::options::Options;
use by_terms::ByTerms;
use draws::{Draws, Minimum, Round};
use ranges::{Range, ranges};
use screen::{Candidate, Screen};
use std::sync::atomic::AtomicBool;
use symmetry::Symmetries;

/// Number of draws from which the best determined draws are selected to test symmetries.
const DRAWS_OF_SYMMETRIES: u32 = 12;
/// Number of independent fits that end the search even if the data reject the best minimum: at least this number, and
/// at least half of all fits, must have reached this minimum. For a sum of terms that the data reject, the search
/// always continues until the budget is used up.
const ENOUGH: usize = 12;
/// Number of fits that must have reached the best minimum if its residuals are suspicious ([`Quality::Suspicious`]).
const REACHED_IF_SUSPICIOUS: usize = 8;
/// Number of fits from independent starts that must have reached the best minimum of a sum of several terms. If fewer
/// fits reached it, further rounds without a better minimum are required.
const REACHED_OF_SUM: usize = 6;
/// Relative decrease of the cost below which the cost counts as unchanged.
const UNCHANGED: f64 = 1e-6;
/// Relative difference of costs up to which two minima are equally good.
const EQUAL: f64 = 1e-9;
/// Maximum number of fits per round that are continued after they have used up their evaluations; the fits with the
/// lowest costs are selected.
const CONTINUED: usize = 2;
/// Maximum evaluations of a fit in the search. The final fit has the caller's limits.
const EVALUATIONS: usize = 60;
/// Maximum evaluations of a continued fit.
const LONG_EVALUATIONS: usize = 400;

/// Factor of the number of rounds for a sum of more than two terms. In a test with 300 random sums of three terms, 8
/// searches ended in a wrong minimum with factor 1, and 3 with factor 4.
const ROUNDS_OF_SUM: usize = 4;
/// Budget per permitted round: total number of values and partials, at all points, of all candidates and fits. When
/// the budget is used up, no further round begins.
const WORK_OF_ROUND: usize = 3_000_000;
/// Maximum number of points for screening and for fitting candidates.
const SCREENED_POINTS: usize = 1000;
pub(super) const FITTED_POINTS: usize = 4000;

/// The request for a search.
pub(super) struct Search<'a> {
    /// The model whose minimum is sought.
    pub(super) curve: &'a CurveFit,
    /// The model with only its linear parameters free.
    pub(super) linear: &'a Ready,
    /// One value per parameter: known values, and arbitrary values for the others.
    pub(super) base: Vec<f64>,
    /// Positions of the parameters to be drawn.
    pub(super) unknown: Vec<usize>,
    /// Additional starts that are fitted, with one value per parameter each.
    pub(super) candidates: Vec<Vec<f64>>,
}

/// The best parameters, with a report on their reliability.
pub(super) struct Found {
    pub(super) values: Vec<f64>,
    pub(super) report: StartSearch,
}

/// Returns the natural ranges of the parameters at the positions `of`, within `bounds` (one pair per parameter).
///
/// # Errors
/// Errors in the model or its ties.
pub(super) fn natural_ranges(
    curve: &CurveFit,
    of: &[usize],
    bounds: &[(f64, f64)],
    points: &Points<'_>,
) -> Result<Vec<Range>> {
    let model = curve.effective_model()?;
    on_sample(points, FITTED_POINTS, |sample| {
        Ok(ranges(&model, of, bounds, &Observations::of(sample)))
    })
}

impl Search<'_> {
    /// Searches for the parameters with the lowest cost. Returns `None` if the model is not finite at any trial.
    ///
    /// # Errors
    /// Errors that do not depend on the starting point.
    pub(super) fn best(&self, points: &Points<'_>) -> Result<Option<Found>> {
        // Errors in x are ignored: otherwise each evaluation would need the closest point of the curve to each point.
        let exact = points.as_measurements().filter(|_| !points.x_sigma.is_exact());
        let points = exact.as_ref().unwrap_or(points);
        on_sample(points, FITTED_POINTS, |fitted| {
            let measured = fitted.as_measurements();
            let measured = measured.as_ref().unwrap_or(fitted);
            on_sample(measured, SCREENED_POINTS, |screened| self.best_of(fitted, screened))
        })
    }

    /// Searches on `points`; `screened`: a sample of the points, as measurements.
    fn best_of(&self, points: &Points<'_>, screened: &Points<'_>) -> Result<Option<Found>> {
        let curve = CurveFit {
            backend: Backend::Cpu,
            observer: None,
            underdetermined: true,
            options: Options { max_evaluations: Some(EVALUATIONS), ..self.curve.options },
            ..self.curve.clone()
        };
        let (prepared, bounds) = (&self.linear.prepared, &self.curve.bounds[..]);
        let screen = Screen { prepared, points: screened, bounds };
        let model = self.curve.effective_model()?;
        let seen = Observations::of(points);
        let ranges = ranges(&model, &self.unknown, &self.curve.bounds, &seen);
        let program = match &model {
            Model::Traced(program) => Some(program.value_only()),
            Model::Native(_) => None,
        };
        let terms = program.as_ref().map_or_else(Vec::new, |p| p.terms(&self.unknown));
        let phases: Vec<usize> = self
            .unknown
            .iter()
            .zip(&ranges)
            .filter(|(_, range)| range.is_phase)
            .map(|(&k, _)| k)
            .collect();
        let seen = Observations::of(screened);
        let along = |range: &Range| range.position.as_ref().map(|along| along.values(&seen));
        let along = ranges.iter().map(along).collect();
        let (peaks, symmetries) = (Peaks::of(&seen.y), Symmetries::default());
        let (base, unknown) = (&self.base[..], &self.unknown[..]);
        let seed = self.curve.search.seed as u32;
        let mut draws = Draws {
            base,
            unknown,
            seed,
            screen,
            ranges,
            along,
            seen,
            peaks,
            program,
            terms,
            symmetries,
        };
        let some: Vec<Vec<f64>> = (0..DRAWS_OF_SYMMETRIES).map(|i| draws.at(i)).collect();
        let some: Vec<Candidate> = draws.screen.each(&some).into_iter().flatten().collect();
        draws.symmetries = Symmetries::of(&draws.screen, base, &some, &draws.terms, &phases);
        let by_terms = ByTerms::new(&curve, points, &draws, &prepared.free)?;
        let start = CompleteStart::given(self.base.clone());
        let request = curve.request(points, start, None, Spent::default())?;
        self.rounds(&request, &draws, by_terms.as_ref())
    }

    /// Draws and fits until the best minimum is certain or the budget is used up.
    fn rounds(
        &self,
        request: &Request<'_>,
        draws: &Draws<'_>,
        by_terms: Option<&ByTerms<'_>>,
    ) -> Result<Option<Found>> {
        let mut evidence = Evidence::default();
        let (rounds, begun) = (self.rounds_at_most(draws), Instant::now());
        for round in 0..rounds {
            let drawn = draws.round(round);
            if round == 0 {
                self.fit(&mut evidence, request, self.candidates.clone(), true)?;
            }
            self.fit_round(&mut evidence, request, drawn, true)?;
            if let Some(by_terms) = by_terms.filter(|_| round % 2 == 1) {
                self.fit_round(
                    &mut evidence,
                    request,
                    by_terms.candidates(draws::first_of(round - 1))?,
                    false,
                )?;
            }
            if let Some(params) = evidence.changed_next(draws) {
                self.fit_round(&mut evidence, request, draws.about(&params, round), false)?;
            }
            let options = Options { max_evaluations: Some(LONG_EVALUATIONS), ..self.curve.options };
            let mut longer = request.clone();
            longer.spec.options = options;
            let open = evidence.trials.best_open(CONTINUED);
            self.fit(&mut evidence, &longer, open, true)?;
            evidence.settle(request, draws, round)?;
            let columns = (draws.screen.prepared.free.len(), request.spec.prepared.free.len());
            let work = evidence.screened * draws.screen.points.used * (1 + columns.0)
                + (evidence.evaluations + evidence.trials.evaluations())
                    * request.points.used
                    * (1 + columns.1);
            let row = request.points.units.row;
            evidence.stopped = self.stops(SearchProgress {
                round: round + 1,
                rounds,
                fits: evidence.independent.len(),
                cost: evidence.least / row / row,
                elapsed: begun.elapsed(),
            })?;
            let is_over = work > rounds.saturating_mul(WORK_OF_ROUND);
            if evidence.settled || is_over || evidence.stopped {
                break;
            }
        }
        let Some(best) = evidence.best(draws, request.points.units.row) else { return Ok(None) };
        let report = evidence.report(request.points.used);
        Ok(Some(Found { values: draws.canonical(best), report }))
    }

    /// Returns the maximum number of rounds.
    fn rounds_at_most(&self, draws: &Draws<'_>) -> usize {
        let of_terms = if draws.terms.len() > 2 { ROUNDS_OF_SUM } else { 1 };
        self.curve.search.rounds.max(1).saturating_mul(of_terms)
    }

    /// Sends the progress to the caller's observer. Returns true if the observer or the token stops the search.
    ///
    /// # Errors
    /// [`Error::ObserverPanicked`] if the observer panics.
    fn stops(&self, progress: SearchProgress) -> Result<bool> {
        let Some(observer) = self.curve.watch() else { return Ok(false) };
        let stops = wants_to_stop(&*observer, Event::Search(progress));
        let stops = stops.map_err(|message| Error::ObserverPanicked { message })?;
        Ok(stops || observer.is_cancelled())
    }

    /// Fits from the candidates of a round. `independent`: see [`Evidence`].
    fn fit_round(
        &self,
        evidence: &mut Evidence,
        request: &Request<'_>,
        round: Round,
        independent: bool,
    ) -> Result<()> {
        evidence.screened += round.screened;
        evidence.evaluations += round.evaluations;
        let starts = round.candidates.into_iter().map(|candidate| candidate.params).collect();
        self.fit(evidence, request, starts, independent)
    }

    /// Fits from these parameters. `independent`: see [`Evidence`].
    fn fit(
        &self,
        evidence: &mut Evidence,
        request: &Request<'_>,
        starts: Vec<Vec<f64>>,
        independent: bool,
    ) -> Result<()> {
        if starts.is_empty() {
            return Ok(());
        }
        let starts = starts.into_iter().map(|params| self.curve.completed(params));
        let starts = starts.collect::<Result<Vec<_>>>()?;
        evidence.independent.extend(starts.iter().map(|_| independent));
        evidence.trials.add(request, starts, &AtomicBool::new(false))
    }
}

/// The fits of a search, and the evidence that their best minimum is the global minimum.
#[derive(Default)]
struct Evidence {
    trials: Trials,
    /// One value per fit: true if its start does not derive from an earlier fit.
    independent: Vec<bool>,
    screened: usize,
    /// Evaluations of fits of partial sums; see [`ByTerms`].
    evaluations: usize,
    /// The distinct minima of all fits, by ascending cost; updated after each round.
    minima: Vec<Minimum>,
    /// The lowest cost so far; `steady`: number of rounds since it was reached.
    least: f64,
    steady: usize,
    settled: bool,
    stopped: bool,
}

impl Evidence {
    fn fits(&self) -> usize {
        self.independent.iter().filter(|independent| **independent).count()
    }

    /// Returns the parameters from which this round derives candidates: the parameters of the best fit. Exception: if
    /// the last rounds did not lower the cost of a sum of more than two terms, the next minima are returned in turn,
    /// because most changes of a deep minimum lead back to this minimum.
    fn changed_next(&self, draws: &Draws<'_>) -> Option<Vec<f64>> {
        let turn = if draws.terms.len() > 2 { self.steady } else { 0 };
        let next = self.minima.get(turn).filter(|_| turn > 0);
        next.map_or_else(|| self.trials.best_params(), |next| Some(next.params.clone()))
    }

    /// Updates the minima, and sets `settled` if the best minimum was reached often enough.
    fn settle(&mut self, request: &Request<'_>, draws: &Draws<'_>, round: usize) -> Result<()> {
        self.minima = draws.merged(self.trials.optima(request), &self.independent);
        let (before, least) = (self.least, self.trials.least_cost());
        let is_lower = least < before * (1.0 - UNCHANGED);
        self.steady = if round == 0 || is_lower { 0 } else { self.steady + 1 };
        self.least = least;
        let reached = self.reached();
        // For several terms, `reached` alone is not sufficient: a draw rarely matches all terms at once, and a better
        // minimum is often found only when terms are redrawn one by one.
        let terms = draws.terms.len();
        let by_most = terms <= 1 && reached >= ENOUGH && 2 * reached >= self.fits();
        let returned = match self.minima.first() {
            Some(best) if terms > 1 && self.steady >= terms => best.fits,
            _ => 0,
        };
        let found = reached.max(returned);
        let is_rare = reached < REACHED_OF_SUM;
        let tried = terms <= 1 || self.steady > if is_rare { terms } else { 0 };
        self.settled = by_most
            || found >= REACHED
                && match self.trials.quality(request)? {
                    Quality::Rejected => false,
                    Quality::Suspicious => round > 0 && found >= REACHED_IF_SUSPICIOUS,
                    Quality::Good => tried,
                };
        Ok(())
    }

    /// Returns the best parameters. Of equally good minima, the one with the fewest negative parameters is chosen,
    /// apart from phases. `None` if no fit has ended.
    fn best(&self, draws: &Draws<'_>, row_unit: f64) -> Option<Vec<f64>> {
        let most = self.trials.least_cost() / row_unit / row_unit * (1.0 + EQUAL);
        let equal = self.minima.iter().take_while(|minimum| minimum.cost <= most);
        let best = equal.min_by_key(|minimum| draws.negative(&minimum.params));
        best.map(|best| best.params.clone()).or_else(|| self.trials.best_params())
    }

    /// Returns the number of independent fits that reached the best minimum.
    fn reached(&self) -> usize {
        self.minima.first().map_or(0, |best| best.reached)
    }

    fn report(&self, points: usize) -> StartSearch {
        let next = self.minima.get(1).map(|next| next.cost / self.minima[0].cost);
        StartSearch {
            screened: self.screened,
            fits: self.fits(),
            reached: self.reached(),
            next_cost_ratio: next.filter(|ratio| ratio.is_finite()),
            points,
            settled: self.settled,
            stopped: self.stopped,
        }
    }
}
