//! The starts of the fits of a batch.
//!
//! In a batch of many fits of a model without a guess the starts of a few are searched for, and are templates for all others
//! ([`Templates`]).

use super::CurveFit;
use super::search::batch::{SEARCHED, Templates};
use super::search::options::SearchWhen;
use super::start::{CompleteStart, Finder};
use crate::data::batch::Starts;
use crate::data::start::Start;
use crate::error::Result;
use crate::fit::batch::engine::BatchRequest;
use crate::fit::batch::status::FitStatus;
use crate::threads;

/// Fits whose starts a thread finds at a time.
const PORTION: usize = 64;

impl CurveFit {
    /// The starts of all fits, each found in its own points. A fit of which none can be found has a status.
    ///
    /// # Errors
    /// Errors in the start or the guess that concern all fits.
    pub(super) fn found_starts<'s>(
        &self,
        request: &BatchRequest<'s>,
        start: &Start,
        statuses: &mut [FitStatus],
    ) -> Result<Starts<'s>> {
        let mut finder = Finder::new(self, start)?;
        finder.on_one_thread = request.is_wide();
        let unknown = || CompleteStart::given(vec![f64::NAN; self.names.len()]);
        let find = |(fit, status): (usize, &mut FitStatus)| -> Result<CompleteStart> {
            let (mut columns, mut y) = (Vec::new(), Vec::new());
            let points = match request.points(fit, &mut columns, &mut y) {
                Ok(points) => points,
                Err(found) => {
                    *status = found;
                    return Ok(unknown());
                }
            };
            let begin = finder.begin(&points)?;
            let Some(&parameter) = begin.unknown.first() else {
                // If the model fails at the start, the fit reports the error.
                let values = begin.values.clone();
                let solved = finder.solved(begin, &points);
                return Ok(solved.unwrap_or_else(|_| CompleteStart::given(values)));
            };
            // A guess may know nothing of these points.
            let searched = match self.guess {
                Some(_) => None,
                None => match finder.searched(begin, &points) {
                    Err(error) if self.search.when == SearchWhen::Never => return Err(error),
                    found => found.ok(),
                },
            };
            Ok(searched.unwrap_or_else(|| {
                *status = FitStatus::BadStart { parameter };
                unknown()
            }))
        };
        let portion = |(first, statuses): (usize, &mut [FitStatus])| -> Result<Vec<_>> {
            (first * PORTION..).zip(statuses).map(find).collect()
        };
        let mut found = Vec::with_capacity(statuses.len());
        for portion in threads::map(statuses.chunks_mut(PORTION).enumerate(), portion) {
            found.append(&mut portion?);
        }
        let (mut sets, mut which) = (Vec::<Vec<usize>>::new(), Vec::with_capacity(found.len()));
        let mut values = Vec::with_capacity(found.len() * self.names.len());
        for (fit, CompleteStart { values: mut own, solved, .. }) in found.into_iter().enumerate() {
            clamp(&mut own, request.starts.bounds_of(fit, self.names.len()));
            values.extend(own);
            which.push(sets.iter().position(|set| *set == solved).unwrap_or_else(|| {
                sets.push(solved);
                sets.len() - 1
            }));
        }
        Ok(request.starts.found(values, (sets, which)))
    }

    /// The starts of all fits of a batch of a model without a guess, adapted from full searches of a few; `None` for few fits, or
    /// if only linear parameters are missing.
    ///
    /// # Errors
    /// A start or a model that is wrong for all fits.
    pub(super) fn searched_starts<'s>(
        &self,
        request: &BatchRequest<'s>,
    ) -> Result<Option<Starts<'s>>> {
        let fits = request.data.n_fits();
        let given = request.starts.sought().filter(|_| fits > SEARCHED && self.guess.is_none());
        let Some(start) = given.filter(|_| self.search.when != SearchWhen::Never) else {
            return Ok(None);
        };
        let finder = Finder::new(self, start)?;
        let mut rooms: Vec<(Vec<_>, Vec<f64>)> = vec![Default::default(); SEARCHED];
        let some = rooms.iter_mut().enumerate().filter_map(|(k, (columns, y))| {
            request.points(k * (fits - 1) / (SEARCHED - 1), columns, y).ok()
        });
        let (mut found, mut searched) = (Vec::new(), None);
        for points in some {
            let begin = finder.begin(&points)?;
            if begin.unknown.is_empty() {
                return Ok(None);
            }
            if searched.is_none() {
                searched = Some((begin.linear()?, begin.unknown.clone()));
            }
            if let Ok(start) = finder.searched(begin, &points) {
                found.push((points, start.values));
            }
        }
        let Some((linear, unknown)) = searched.filter(|_| !found.is_empty()) else {
            return Ok(None);
        };
        let templates = Templates::of(self, (linear, &unknown), &found, fits)?;
        let start_of = |fit: usize| -> Result<Vec<f64>> {
            let (mut columns, mut y) = (Vec::new(), Vec::new());
            // Wrong data become the status of the fit when it is made.
            let own = match request.points(fit, &mut columns, &mut y) {
                Ok(points) => templates.start(&points),
                Err(_) => None,
            };
            let mut own = own.unwrap_or_else(|| found[0].1.clone());
            clamp(&mut own, request.starts.bounds_of(fit, self.names.len()));
            self.completed(own)
        };
        let portion = |first: usize| -> Result<Vec<Vec<f64>>> {
            (first..fits.min(first + PORTION)).map(start_of).collect()
        };
        let mut values = Vec::with_capacity(fits * self.names.len());
        for portion in threads::map((0..fits).step_by(PORTION), portion) {
            values.extend(portion?.concat());
        }
        Ok(Some(request.starts.found(values, Default::default())))
    }
}

/// Moves the start of a fit into the fit's own bounds, if it has any in order.
fn clamp(own: &mut [f64], bounds: Option<(&[f64], &[f64])>) {
    let Some((lower, upper)) = bounds else { return };
    let ends = lower.iter().zip(upper).map(|(&lower, &upper)| (lower, upper));
    let ordered = own.iter_mut().zip(ends).filter(|(_, (lower, upper))| lower <= upper);
    ordered.for_each(|(value, (lower, upper))| *value = value.clamp(lower, upper));
}
