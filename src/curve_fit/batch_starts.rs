//! Starting points of the fits of a batch.
//!
//! In a large batch, the results of a few fits serve as templates for the starting points of all other fits
//! ([`Templates`]). If the model comes without an initial guess, these few fits start from a search. If it comes with
//! one, they start from the guess, or, for a sum of terms, from a search with the guess as one candidate; templates
//! are then used only if they do as well as the guess. In a small batch, each starting point is computed as for a
//! single fit.

use super::CurveFit;
use super::search::batch::{FitEnd, SEARCHED, Templates};
use super::start::Finder;
use crate::backend::Backend;
use crate::curve_fit::ready::CompleteStart;
use crate::curve_fit::search::options::SearchWhen;
use crate::data::batch::Starts;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::Result;
use crate::fit::batch::request::BatchRequest;
use crate::fit::batch::status::FitStatus;
use crate::fit::engine::Spent;
use crate::host::Instant;
use crate::threads;

/// Number of fits whose starts a thread computes at a time.
const PORTION: usize = 64;
/// Number of fits above which the initial guess that comes with a model is compared with templates. For a sum of
/// terms, whose initial guess is uncertain, the threshold is [`SEARCHED`].
const MANY: usize = 240;
/// Relative difference of costs up to which two results count as the same minimum.
const SAME: f64 = 1e-6;
/// Maximum ratio of the evaluations of fits from templates to those of fits from initial guesses. Templates may need
/// more evaluations because the computation of a guess takes about as long as a fit or longer.
const MORE: f64 = 1.5;

impl CurveFit {
    /// Computes the starting point of each fit from its own points. If this fails for a fit, the fit gets an error
    /// status.
    ///
    /// # Errors
    /// Errors in the given values or the initial guess that concern all fits.
    pub(super) fn found_starts<'s>(
        &self,
        request: &BatchRequest<'s>,
        start: &Start,
        statuses: &mut [FitStatus],
    ) -> Result<Starts<'s>> {
        let silent = self.silent();
        let mut finder = Finder::new(&silent, start)?;
        finder.on_one_thread = request.spec.on_one_thread;
        let unknown = || CompleteStart::given(vec![f64::NAN; self.names.len()]);
        let find = |fit: usize| -> Result<(CompleteStart, Option<FitStatus>)> {
            let (mut columns, mut y) = (Vec::new(), Vec::new());
            let points = match request.points(fit, &mut columns, Some(&mut y)) {
                Ok(points) => points,
                Err(status) => return Ok((unknown(), Some(status))),
            };
            let begin = finder.begin(&points)?;
            let Some(&parameter) = begin.unknown.first() else {
                // If the model fails at the starting point, the fit reports the error.
                let solved = finder.solved(&begin, &points);
                let start = solved.unwrap_or_else(|_| CompleteStart::given(begin.values));
                return Ok((start, None));
            };
            // The guess can leave parameters unknown for the points of some fits. Only these fits then fail.
            let searched = match self.guess {
                Some(_) => None,
                None => match finder.searched(begin, &points) {
                    Err(error) if self.search.when == SearchWhen::Never => return Err(error),
                    found => found.ok(),
                },
            };
            Ok(match searched {
                Some(start) => (start, None),
                None => (unknown(), Some(FitStatus::BadStart { parameter })),
            })
        };
        let found = in_portions(statuses.len(), find)?;
        let (mut sets, mut which) = (Vec::<Vec<usize>>::new(), Vec::with_capacity(found.len()));
        let mut values = Vec::with_capacity(found.len() * self.names.len());
        for (fit, (start, status)) in found.into_iter().enumerate() {
            let CompleteStart { values: mut own, solved, .. } = start;
            statuses[fit] = status.unwrap_or(statuses[fit]);
            clamp(&mut own, request.starts.bounds_of(fit, self.names.len()));
            values.extend(own);
            which.push(sets.iter().position(|set| *set == solved).unwrap_or_else(|| {
                sets.push(solved);
                sets.len() - 1
            }));
        }
        Ok(request.starts.found(values, (sets, which)))
    }

    /// Returns the starting points of all fits in the two cases in which those of [`found_starts`](Self::found_starts)
    /// would be worse:
    ///
    /// - Large batch: they are adapted from the results of a few fits, which start from a search or from the initial
    ///   guess that comes with the model.
    /// - Small batch of a sum of terms: they are found by a search, with the initial guess as one candidate.
    ///
    /// Returns `None` for other small batches, if only linear parameters are missing, or if adapted starting points do
    /// worse than the initial guess.
    ///
    /// # Errors
    /// If the given values or the model are invalid for all fits.
    pub(super) fn batch_starts<'s>(
        &self,
        request: &BatchRequest<'s>,
    ) -> Result<Option<Starts<'s>>> {
        let (fits, guesses) = (request.data.n_fits(), self.guess.is_some());
        let given = request.starts.sought().filter(|_| !self.guessed_by_caller);
        let Some(start) = given.filter(|_| self.search.when != SearchWhen::Never) else {
            return Ok(None);
        };
        let silent = self.silent();
        let finder = Finder::new(&silent, start)?;
        let is_uncertain = finder.is_uncertain()?;
        if is_uncertain && fits <= SEARCHED {
            return self.searched_starts(request, &finder).map(Some);
        }
        let least = if guesses && !is_uncertain { MANY } else { SEARCHED };
        if fits <= least {
            return Ok(None);
        }
        let mut rooms: Vec<(Vec<_>, Vec<f64>)> = vec![Default::default(); SEARCHED];
        let some = rooms.iter_mut().enumerate().filter_map(|(k, (columns, y))| {
            request.points(k * (fits - 1) / (SEARCHED - 1), columns, Some(y)).ok()
        });
        let (mut ends, mut searched) = (Vec::new(), None);
        for points in some {
            let begin = finder.begin(&points)?;
            let sought = finder.sought(&begin);
            if sought.is_empty() {
                return Ok(None);
            }
            if searched.is_none() {
                searched = Some((begin.linear()?.clone(), sought));
            }
            let Ok(start) = finder.found_from(begin, &points) else { continue };
            ends.extend(self.end(points, start.values)?);
        }
        // Templates from some fits are compared with the initial guesses of other fits.
        let enough = ends.len() > usize::from(guesses);
        let Some((linear, sought)) = searched.filter(|_| enough) else {
            return Ok(None);
        };
        if guesses {
            let (learnt, tested) = ends.split_at(ends.len() / 2);
            let templates = Templates::of(self, (linear.clone(), &sought), learnt, fits)?;
            let are_good = match is_uncertain {
                true => self.lose_no_more(&templates, tested, &finder)?,
                false => self.do_as_well(&templates, tested)?,
            };
            if !are_good {
                return Ok(None);
            }
        }
        let templates = Templates::of(self, (linear, &sought), &ends, fits)?;
        let start = |points: Option<Points<'_>>| {
            let adapted = points.and_then(|points| templates.start(&points));
            Ok(adapted.unwrap_or_else(|| ends[0].params.clone()))
        };
        self.starts_by(request, start).map(Some)
    }

    /// Searches for the starting point of each fit with its own points. If the search fails, the values are missing.
    ///
    /// # Errors
    /// Errors in the given values or the initial guess that concern all fits.
    fn searched_starts<'s>(
        &self,
        request: &BatchRequest<'s>,
        finder: &Finder<'_>,
    ) -> Result<Starts<'s>> {
        self.starts_by(request, |points| {
            let found = match points {
                Some(points) => finder.found_from(finder.begin(&points)?, &points).ok(),
                None => None,
            };
            Ok(found.map_or_else(|| vec![f64::NAN; self.names.len()], |found| found.values))
        })
    }

    /// Computes each starting point with `start` from the points of the fit, and moves it into the fit's own bounds.
    /// For invalid data, `start` receives `None`; the fit later reports the error as its status.
    ///
    /// # Errors
    /// Errors of `start`.
    fn starts_by<'s>(
        &self,
        request: &BatchRequest<'s>,
        start: impl Fn(Option<Points<'_>>) -> Result<Vec<f64>> + Sync,
    ) -> Result<Starts<'s>> {
        let start_of = |fit: usize| -> Result<Vec<f64>> {
            let (mut columns, mut y) = (Vec::new(), Vec::new());
            let mut own = start(request.points(fit, &mut columns, Some(&mut y)).ok())?;
            clamp(&mut own, request.starts.bounds_of(fit, self.names.len()));
            self.completed(own)
        };
        let values = in_portions(request.data.n_fits(), start_of)?.concat();
        Ok(request.starts.found(values, Default::default()))
    }

    /// Returns true if fits from templates reach the costs of fits from the initial guess, with at most [`MORE`] times
    /// the evaluations.
    fn do_as_well(&self, templates: &Templates<'_>, tested: &[FitEnd<'_>]) -> Result<bool> {
        let (mut own, mut adapted) = (0, 0);
        for end in tested {
            let Some(evaluations) = self.reaching(end, templates.start(&end.points))? else {
                return Ok(false);
            };
            own += end.evaluations;
            adapted += evaluations;
        }
        Ok(adapted as f64 <= MORE * own as f64)
    }

    /// Compares templates with the initial guess. The standard is the cost of each tested fit, which started from a
    /// search. Returns true if fits from templates reach this cost at least as often as fits from the guess.
    fn lose_no_more(
        &self,
        templates: &Templates<'_>,
        tested: &[FitEnd<'_>],
        finder: &Finder<'_>,
    ) -> Result<bool> {
        let (mut adapted, mut guessed) = (0, 0);
        for end in tested {
            let points = &end.points;
            let guess = finder.begin(points).and_then(|begin| finder.solved(&begin, points)).ok();
            let from_guess = self.reaching(end, guess.map(|guess| guess.values))?;
            guessed += usize::from(from_guess.is_some());
            adapted += usize::from(self.reaching(end, templates.start(points))?.is_some());
        }
        Ok(adapted >= guessed)
    }

    /// Fits the points of `end` from `start`. Returns the number of evaluations if the fit reaches the cost of `end`.
    fn reaching(&self, end: &FitEnd<'_>, start: Option<Vec<f64>>) -> Result<Option<usize>> {
        let Some(start) = start else { return Ok(None) };
        let other = self.end(end.points.clone(), start)?;
        let same = other.filter(|other| other.cost <= end.cost * (1.0 + SAME));
        Ok(same.map(|other| other.evaluations))
    }

    /// Returns a copy without the observer, which receives only events of the batch.
    fn silent(&self) -> CurveFit {
        CurveFit { observer: None, ..self.clone() }
    }

    /// Fits these points from a starting point; returns `None` if the model has no finite value there.
    ///
    /// # Errors
    /// Errors that do not depend on the starting point.
    fn end<'p>(&self, points: Points<'p>, start: Vec<f64>) -> Result<Option<FitEnd<'p>>> {
        let start = CompleteStart::given(self.completed(start)?);
        let alone = CurveFit { backend: Backend::Cpu, ..self.silent() };
        let request = alone.request(&points, start, None, Spent::default());
        let searched = request.and_then(|request| request.search(Instant::now()));
        match searched {
            Ok(end) => {
                let (params, cost, evaluations) = (end.params, end.cost, end.work.evaluations);
                Ok(Some(FitEnd { points, params, cost, evaluations }))
            }
            Err(error) if error.is_at_start() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Moves the starting point of a fit into the fit's own bounds. Ignores bounds with lower > upper.
fn clamp(own: &mut [f64], bounds: Option<(&[f64], &[f64])>) {
    let Some((lower, upper)) = bounds else { return };
    let ends = lower.iter().zip(upper).map(|(&lower, &upper)| (lower, upper));
    let ordered = own.iter_mut().zip(ends).filter(|(_, (lower, upper))| lower <= upper);
    ordered.for_each(|(value, (lower, upper))| *value = value.clamp(lower, upper));
}

/// Returns the results of `work` for each fit, in order. A thread processes [`PORTION`] fits at a time.
///
/// # Errors
/// The first error of `work`.
fn in_portions<R: Send>(fits: usize, work: impl Fn(usize) -> Result<R> + Sync) -> Result<Vec<R>> {
    let portion = |first: usize| -> Result<Vec<R>> {
        (first..fits.min(first + PORTION)).map(&work).collect()
    };
    let portions = threads::map((0..fits).step_by(PORTION), portion);
    Ok(portions.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
