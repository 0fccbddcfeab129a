//! Validation of points that are read in chunks: checks the values, counts the used points, and computes magnitudes
//! and sums.
//!
//! Sums are over pieces of a fixed number of points, merged in order. Therefore they do not depend on the size of
//! chunks if chunks consist of whole pieces.

use super::Missing;
use super::loss::Estimator;
use super::loss::darkest;
use super::points::{Given, Points};
use super::scaling::Units;
use super::scaling::{Largest, Tally, exponent, is_ordinary, unit_of};
use super::summary::Moments;
use super::summary::Overview;
use super::tree::{Summary, Tree};
use crate::error::{Error, NonFiniteRemedies, Result};
use crate::threads;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Number of points of a piece.
pub(crate) const PIECE: usize = 4096;

/// Returns the number of pieces of `points` points.
pub(crate) fn pieces_of(points: u64) -> u64 {
    points.div_ceil(PIECE as u64)
}

/// Results of the validation so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Survey {
    tally: Tally,
    largest: Largest,
    /// Approximate exponents of the largest weight and of the largest weighted y.
    exponents: Option<(i32, i32)>,
    sums: Tree<Totals>,
    absolute: bool,
}

/// Sums over points.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Totals {
    moments: Moments,
    /// Sum of the counts.
    events: f64,
}

impl Summary for Totals {
    fn clear(&mut self) {
        *self = Totals::default();
    }

    fn merge(&mut self, other: &mut Totals) {
        self.moments = self.moments.merge(other.moments);
        self.events += other.events;
    }

    fn is_finite(&self) -> bool {
        true
    }
}

impl Survey {
    /// Creates a survey without points. `first`: number of the first piece.
    pub(crate) fn new(first: u64) -> Survey {
        Survey {
            tally: Tally::default(),
            largest: Largest::default(),
            exponents: None,
            sums: Tree::new(first),
            absolute: false,
        }
    }

    /// Returns true if this survey, which was read from bytes, is consistent with the pieces `pieces`.
    pub(crate) fn is_sound(&self, pieces: Range<u64>) -> bool {
        self.sums.is_sound(pieces, |_| true)
    }

    /// Merges the sums of the last pieces, which are too few for a complete group of [`Tree`]. Afterwards no points can
    /// be added.
    pub(crate) fn close(&mut self) {
        self.sums.close();
    }

    /// Returns the number of given points.
    pub(crate) fn given(&self) -> u64 {
        let Tally { used, omitted, ignored } = self.tally;
        [used, omitted, ignored].into_iter().fold(0, |sum, n| sum.saturating_add(n as u64))
    }

    /// Adds the survey of the points that follow the points of this survey.
    ///
    /// # Errors
    /// A message if the points of `other` do not follow.
    pub(crate) fn follow(&mut self, other: Survey) -> std::result::Result<(), String> {
        self.sums.follow(other.sums)?;
        self.tally = self.tally.merge(other.tally);
        self.largest = self.largest.merge(other.largest);
        self.exponents = match (self.exponents, other.exponents) {
            (Some((w, r)), Some((weight, row))) => Some((w.max(weight), r.max(row))),
            (mine, others) => mine.or(others),
        };
        self.absolute |= other.absolute;
        Ok(())
    }

    /// Validates a chunk. `first`: number of its first point. Returns its points, with all units 1.
    ///
    /// # Errors
    /// Errors of [`Points::validate`]. The index in an error is the index among all points; the count of values that
    /// are not finite includes only this chunk.
    pub(crate) fn add<'a>(
        &mut self,
        chunk: Given<'a>,
        first: u64,
        estimator: Estimator,
    ) -> Result<Points<'a>> {
        let missing = chunk.missing;
        let mut points = Points::unchecked(chunk);
        let shifted = |error| at_offset(error, first as usize);
        let mut scans = pieces(&points, |piece| points.scan_part(piece, false));
        if scans.iter().any(|scan| scan.is_invalid) {
            points.check_sigma().map_err(shifted)?;
            if missing == Missing::Error {
                points.refuse_missing().map_err(shifted)?;
            }
            self.tally = self.tally.merge(points.filter());
            scans = pieces(&points, |piece| points.scan_part(piece, true));
        } else {
            self.tally.used += points.len();
        }
        let mut largest = Largest::default();
        let counts = estimator == Estimator::Poisson;
        if counts {
            points.count_events().map_err(shifted)?;
        }
        let events =
            if counts { pieces(&points, |piece| points.events(piece).0) } else { Vec::new() };
        let mut events = events.into_iter();
        for scan in scans {
            largest = largest.merge(scan.largest);
            let events = events.next().unwrap_or(0.0);
            self.sums.add(&mut Totals { moments: scan.moments, events });
        }
        self.largest = self.largest.merge(largest);
        if points.used > 0 {
            let (w, r) = exponents(&points, largest);
            let (weight, row) = self.exponents.unwrap_or((w, r));
            self.exponents = Some((weight.max(w), row.max(r)));
        }
        self.absolute = points.is_absolute();
        Ok(points)
    }

    /// Returns the units for all points: powers of two that keep squares in range.
    pub(crate) fn units(&self) -> Units {
        let y = unit_of(self.largest.y);
        match self.exponents {
            Some((weight, row)) => Units::of_exponents(y, weight, row),
            None => Units { y, ..Units::ORDINARY },
        }
    }

    /// Returns true if the sums need another pass with [`add_again`](Survey::add_again) for every chunk, because the
    /// points are not of ordinary size.
    pub(crate) fn wants_sums(&self, estimator: Estimator) -> bool {
        estimator == Estimator::LeastSquares && self.units() != Units::ORDINARY
    }

    /// Replaces the sums by the sums of `other`, the survey of a second pass.
    pub(crate) fn take_sums(&mut self, other: Survey) {
        self.sums = other.sums;
    }

    /// Adds the sums of a chunk in these units.
    pub(crate) fn add_again(&mut self, chunk: Given<'_>, units: Units) {
        let mut points = Points::unchecked(chunk);
        points.units = units;
        points.filter();
        for moments in pieces(&points, |piece| points.moments_of_range(piece)) {
            self.sums.add(&mut Totals { moments, events: 0.0 });
        }
    }

    /// Returns the overview after all points have been validated.
    ///
    /// # Errors
    /// [`Error::EmptyData`] or [`Error::NoEffectiveData`].
    pub(crate) fn overview(&self, estimator: Estimator) -> Result<Overview> {
        let Tally { used, omitted, ignored } = self.tally;
        if used == 0 {
            return Err(match ignored {
                0 => Error::EmptyData { given: omitted, omitted },
                _ => Error::NoEffectiveData { points: omitted + ignored },
            });
        }
        let counts = estimator == Estimator::Poisson;
        let units = if counts { Units::ORDINARY } else { self.units() };
        let Totals { moments, events } = self.sums.clone().sum().unwrap_or_default();
        let mut summary = moments.into_row_units(units);
        if counts {
            (summary.square, summary.scatter) = (events, 0.0);
        }
        Ok(Overview {
            used,
            omitted,
            ignored,
            units,
            summary,
            heaviest: summary.weights_like(self.largest.weight * units.weight),
            estimator,
            absolute: self.absolute,
            errors_in_x: false,
            darkest: darkest(if counts { events / used as f64 } else { 1.0 }),
        })
    }
}

/// Calls `of` for each piece, in parallel, and returns the results in order.
fn pieces<R: Send>(points: &Points<'_>, of: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let piece = |c: usize| of(c * PIECE..points.len().min((c + 1) * PIECE));
    threads::map(0..points.len().div_ceil(PIECE), piece)
}

/// Returns the exponents of the largest weight and of the largest weighted y of a chunk.
fn exponents(points: &Points<'_>, largest: Largest) -> (i32, i32) {
    let scale = points.sigma.constant();
    let (weight, row) = (largest.weight * scale, largest.row * scale);
    match is_ordinary(weight) && is_ordinary(row) {
        true => (exponent(weight), exponent(row)),
        false => points.exponents(largest.y),
    }
}

/// Converts the index in an error from an index within the chunk to an index among all points.
fn at_offset(error: Error, first: usize) -> Error {
    match error {
        Error::NonFinite { what, index, value, count, remedies } => {
            let remedies = NonFiniteRemedies { mask: false, ..remedies };
            Error::NonFinite { what, index: index + first, value, count, remedies }
        }
        Error::SigmaNotPositive { index, value } => {
            Error::SigmaNotPositive { index: index + first, value }
        }
        Error::NegativeCount { index, value } => {
            Error::NegativeCount { index: index + first, value }
        }
        other => other,
    }
}
