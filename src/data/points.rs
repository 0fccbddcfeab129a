//! Validated data: the used points, their weights and their sums.

use super::columns::column_name;
use super::correlated::Correlation;
use super::loss::{DARK, Estimator, darkest};
use super::overview::Overview;
use super::scaling::{
    Largest, Tally, exponent, finite, is_ordinary, largest, unit_of, unit_of_exponent,
};
use super::sigma::{Spread, Weights, is_deviation};
use super::summary::{Moments, in_chunks};
use super::values::Values;
use super::x_sigma::XSigma;
use super::{Data, Missing};
use crate::error::{Error, NonFiniteRemedies, Result};
use serde::{Deserialize, Serialize};
use std::ops::{Deref, Range};

/// Validated data for every backend: the used points are finite, and their sigmas are positive.
#[derive(Clone)]
pub(crate) struct Points<'a> {
    pub(crate) columns: ColumnList<'a>,
    pub(crate) y: Values<'a>,
    pub(crate) sigma: Weights<'a>,
    /// The errors of the independent variables.
    pub(crate) x_sigma: XSigma<'a>,
    /// The Cholesky factor L of the covariance of y, if set.
    pub(crate) correlation: Option<Correlation>,
    /// True if some points are skipped. Blocks must then be gathered.
    filtered: bool,
    mask: Option<&'a [bool]>,
    /// True if the mask alone selects the points, because all values at its true elements are valid.
    mask_decides: bool,
    pub(crate) infinite_x: bool,
    /// Noise model of y.
    pub(crate) estimator: Estimator,
    /// Number of used points.
    pub(crate) used: usize,
    /// Number of points left out by the mask or as missing.
    pub(crate) omitted: usize,
    /// Number of points without weight because their sigma is infinite.
    pub(crate) ignored: usize,
    /// Powers of two that keep squares in range.
    pub(crate) units: Units,
    /// Weighted mean and scatter of y.
    pub(crate) summary: Moments,
    /// The largest 1/σ, if each point has its own sigma.
    pub(super) largest_weight: f64,
    /// Lower limit of the expected count f in the weight 1/f of a point without events.
    darkest: f64,
}

/// Powers of two by which y, the weights 1/σ and the weighted residuals (rows) are multiplied so that they are of
/// order 1 and their squares stay in range; all 1 for data of ordinary size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Units {
    pub(crate) y: f64,
    pub(crate) weight: f64,
    pub(crate) row: f64,
}

impl Units {
    /// Units of data of ordinary size.
    pub(crate) const ORDINARY: Units = Units { y: 1.0, weight: 1.0, row: 1.0 };

    /// Returns the units for the largest weight and the largest row, given as binary exponents. `y`: unit of y.
    pub(super) fn of_exponents(y: f64, weight: i32, row: i32) -> Units {
        Units { y, weight: unit_of_exponent(weight), row: unit_of_exponent(row) }
    }
}

/// The independent variables, in order.
#[derive(Clone)]
pub(crate) enum ColumnList<'a> {
    Owned(Vec<Values<'a>>),
    Borrowed(&'a [Values<'a>]),
}

impl<'a> Deref for ColumnList<'a> {
    type Target = [Values<'a>];

    fn deref(&self) -> &[Values<'a>] {
        match self {
            ColumnList::Owned(columns) => columns,
            ColumnList::Borrowed(columns) => columns,
        }
    }
}

/// The arrays of one fit before validation.
pub(crate) struct Given<'a> {
    pub(crate) columns: ColumnList<'a>,
    pub(crate) y: Values<'a>,
    pub(crate) sigma: Weights<'a>,
    pub(crate) mask: Option<&'a [bool]>,
    pub(crate) missing: Missing,
    pub(crate) infinite_x: bool,
    pub(crate) x_sigma: XSigma<'a>,
    /// True if the independent variables are known to be finite.
    pub(crate) known_x: bool,
}

impl<'a> Points<'a> {
    /// Checks every value, in parallel.
    ///
    /// # Errors
    /// Errors of a value that is not finite, a sigma that is not positive, no points, or a covariance.
    pub(crate) fn validate(data: &Data<'a>) -> Result<Points<'a>> {
        Points::check(data.given())
    }

    /// Returns points without validation, as if all points were used and of ordinary size. The lengths must agree.
    pub(super) fn unchecked(data: Given<'a>) -> Points<'a> {
        Points {
            used: data.y.len(),
            columns: data.columns,
            y: data.y,
            sigma: data.sigma,
            x_sigma: data.x_sigma,
            correlation: None,
            filtered: false,
            mask: data.mask,
            mask_decides: false,
            infinite_x: data.infinite_x,
            estimator: Estimator::LeastSquares,
            omitted: 0,
            ignored: 0,
            units: Units::ORDINARY,
            summary: Moments::default(),
            largest_weight: 1.0,
            darkest: DARK,
        }
    }

    /// Returns a part of the points whose totals are `whole`.
    pub(crate) fn part(data: Given<'a>, whole: &Overview) -> Points<'a> {
        let mut points = Points::unchecked(data);
        points.estimator = whole.estimator;
        points.units = whole.units;
        points.summary = whole.summary;
        points.darkest = whole.darkest;
        if whole.omitted + whole.ignored > 0 {
            points.filter();
        }
        points
    }

    /// Selects and counts the used points, one by one.
    pub(super) fn filter(&mut self) -> Tally {
        self.filtered = true;
        let tally = self.tally();
        (self.used, self.omitted, self.ignored) = (tally.used, tally.omitted, tally.ignored);
        self.filtered = tally.used < self.len();
        tally
    }

    /// Returns the totals over the points.
    pub(crate) fn overview(&self) -> Overview {
        Overview {
            used: self.used,
            omitted: self.omitted,
            ignored: self.ignored,
            units: self.units,
            summary: self.summary,
            heaviest: self.summary.weights_like(self.largest_weight * self.units.weight),
            estimator: self.estimator,
            absolute: self.is_absolute(),
            darkest: self.darkest,
            errors_in_x: !self.x_sigma.is_exact(),
        }
    }

    /// Validates arrays whose lengths agree, like [`validate`](Points::validate). Allocates nothing for up to
    /// 65,536 points without errors or missing values.
    pub(crate) fn check(data: Given<'a>) -> Result<Points<'a>> {
        let (known_x, missing) = (data.known_x, data.missing);
        if let Weights::Constant(value) = data.sigma
            && !is_deviation(value)
        {
            return Err(Error::SigmaNotPositive { index: 0, value });
        }
        let mut points = Points::unchecked(data);
        let may_be_plain = points.mask.is_none() && points.x_sigma.is_exact();
        let plain = if may_be_plain { points.plain(known_x) } else { None };
        if plain.is_none() {
            points.filtered = true;
            points.check_sigma()?;
            if missing == Missing::Error {
                points.refuse_missing()?;
            }
            let tally = points.tally();
            (points.used, points.omitted, points.ignored) =
                (tally.used, tally.omitted, tally.ignored);
            let kept = points.mask.map_or(points.len(), |m| m.iter().filter(|&&keep| keep).count());
            points.mask_decides = kept == points.used;
        }
        if points.used == 0 {
            return Err(match points.ignored {
                0 => Error::EmptyData { given: points.len(), omitted: points.omitted },
                _ => Error::NoEffectiveData { points: points.len() },
            });
        }
        points.filtered &= points.used < points.len();
        points.x_sigma.check(points.sigma, points.kept())?;
        if let Weights::Covariance { matrix, .. } = points.sigma {
            points.correlation = Some(Correlation::factor(matrix, points.kept())?);
        }
        let largest = plain.map_or_else(|| points.largest(), |(largest, _)| largest);
        points.units = points.units(largest);
        points.largest_weight = largest.weight;
        points.summary = Moments::of(&points, plain.map(|(_, summary)| summary));
        if !points.x_sigma.is_exact() {
            // The scatter about the mean of y is not defined for distances.
            points.summary.scatter = 0.0;
        }
        Ok(points)
    }

    /// Treats y as counts.
    ///
    /// # Errors
    /// [`Error::NegativeCount`]; [`Error::NotForCounts`] if sigma was given.
    pub(crate) fn count_events(&mut self) -> Result<()> {
        if !self.x_sigma.is_exact() {
            return Err(Error::NotForCounts { what: "x_sigma" });
        }
        if !matches!(self.sigma, Weights::Equal) {
            return Err(Error::NotForCounts { what: "sigma" });
        }
        let (mut total, mut negative) = (0.0, None);
        for i in self.kept() {
            let y = self.y.at(i);
            total += y;
            negative = negative.or_else(|| (y < 0.0).then_some((i, y)));
        }
        if let Some((index, value)) = negative {
            return Err(Error::NegativeCount { index, value });
        }
        self.estimator = Estimator::Poisson;
        // Rows are in units of the standard deviation of a count: the sum of squares is the sum of the counts.
        self.units = Units::ORDINARY;
        self.summary.square = total;
        self.summary.scatter = 0.0;
        self.darkest = darkest(total / self.used.max(1) as f64);
        Ok(())
    }

    /// Returns the points for least squares: without errors of x, and counts with equal sigma. Returns `None` if the
    /// points already have this form.
    pub(crate) fn as_measurements(&self) -> Option<Points<'a>> {
        if self.estimator == Estimator::LeastSquares && self.x_sigma.is_exact() {
            return None;
        }
        let mut points = Points {
            estimator: Estimator::LeastSquares,
            x_sigma: XSigma::default(),
            ..self.clone()
        };
        if self.estimator == Estimator::Poisson {
            points.units = points.units(points.largest());
        }
        points.summary = Moments::of(&points, None);
        Some(points)
    }

    /// Returns the lower limit of the expected count f in the weight 1/f of a point without events.
    pub(crate) fn darkest(&self) -> f64 {
        self.darkest
    }

    /// Returns true if `value`, a finite value of the model, is valid at point `i`: if y is a count, it must be
    /// positive, or 0 if the count is 0.
    pub(crate) fn allows(&self, i: usize, value: f64) -> bool {
        self.estimator == Estimator::LeastSquares
            || value > 0.0
            || (value == 0.0 && self.y.at(i) == 0.0)
    }

    /// Returns true if the errors of the parameters are absolute, not scaled by the scatter about the fit.
    pub(crate) fn is_absolute(&self) -> bool {
        self.estimator == Estimator::Poisson || self.sigma.is_absolute()
    }

    /// Returns the scatter of a single observation.
    pub(crate) fn spread(&self) -> Spread {
        match self.estimator {
            Estimator::Poisson => Spread::Counts,
            // The scatter of an observation depends on the slope of the model there.
            Estimator::LeastSquares if !self.x_sigma.is_exact() => Spread::Own,
            Estimator::LeastSquares => self.sigma.spread(),
        }
    }

    /// Returns the number of given points.
    pub(crate) fn len(&self) -> usize {
        self.y.len()
    }

    /// Returns true if some points are skipped.
    pub(crate) fn is_filtered(&self) -> bool {
        self.filtered
    }

    /// Returns true if point `i` is used.
    pub(crate) fn counts(&self, i: usize) -> bool {
        self.mask.is_none_or(|m| m[i]) && (self.mask_decides || self.is_usable(i))
    }

    /// Returns true if all values of point `i` are finite, or infinite if this is allowed.
    fn is_usable(&self, i: usize) -> bool {
        self.y.at(i).is_finite()
            && self.columns.iter().all(|c| self.valid_x(c.at(i)))
            && self.sigma_at(i).is_none_or(f64::is_finite)
            && self.x_sigma.is_finite_at(i)
    }

    /// Returns the indices of the used points.
    pub(crate) fn kept(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|&i| !self.filtered || self.counts(i))
    }

    /// Returns the factor of the residual of point `i`: the row unit over its standard deviation, if that is known.
    pub(crate) fn weight(&self, i: usize) -> f64 {
        match self.sigma {
            Weights::Constant(s) => self.units.row / s,
            _ => self.sigma_at(i).map_or(self.units.row, |s| self.units.row / s),
        }
    }

    /// Returns the standard deviations if there is one per point.
    pub(crate) fn sigmas(&self) -> Option<&'a [f64]> {
        match self.sigma {
            Weights::Each { sigma, .. } => Some(sigma),
            _ => None,
        }
    }

    fn sigma_at(&self, i: usize) -> Option<f64> {
        self.sigmas().map(|s| s[i])
    }

    fn valid_x(&self, x: f64) -> bool {
        x.is_finite() || (self.infinite_x && !x.is_nan())
    }

    /// Returns the largest magnitudes and the summary of y in one scan; `None` if a value or a sigma is invalid.
    fn plain(&self, known_x: bool) -> Option<(Largest, Moments)> {
        let scan = |start: usize, end: usize| {
            let summary = Moments::of_range(self, start, end);
            Some((self.plain_largest(start..end, &[summary], known_x)?, summary))
        };
        in_chunks(self.len(), scan, |all, part| {
            let ((largest, summary), (l, s)) = (all?, part?);
            Some((largest.merge(l), summary.merge(s)))
        })
    }

    /// Returns the largest magnitudes in a range, or `None` if a value is invalid. `summaries`: moments of y in
    /// consecutive parts of the range.
    pub(super) fn plain_largest(
        &self,
        Range { start, end }: Range<usize>,
        summaries: &[Moments],
        known_x: bool,
    ) -> Option<Largest> {
        // If any value is not finite, the mean is not finite.
        let mut all = summaries.iter().all(|summary| summary.mean.is_finite());
        for column in self.columns.iter().filter(|_| !known_x) {
            all &= finite(column, start, end);
        }
        let Some(sigma) = self.sigmas() else {
            let y = largest(&self.y, start, end);
            return all.then_some(Largest { y, weight: 1.0, row: y });
        };
        let mut found = Largest::default();
        for (i, &s) in sigma[start..end].iter().enumerate() {
            all &= (s > 0.0) & (s < f64::INFINITY);
            found.add(self.y.at(start + i).abs(), 1.0 / s);
        }
        all.then_some(found)
    }

    pub(super) fn check_sigma(&self) -> Result<()> {
        let masked_in = |i: usize| self.mask.is_none_or(|m| m[i]);
        let sigma = self.sigmas().unwrap_or_default();
        match sigma.iter().enumerate().find(|&(i, &s)| s <= 0.0 && masked_in(i)) {
            Some((index, &value)) => Err(Error::SigmaNotPositive { index, value }),
            None => Ok(()),
        }
    }

    /// Returns an error for the first array with a value that is not finite at a point where the mask is true.
    pub(super) fn refuse_missing(&self) -> Result<()> {
        let masked_in = |i: usize| self.mask.is_none_or(|m| m[i]);
        // The name is created only for an error: a batch calls this function for every fit.
        type Bad<'b> = &'b dyn Fn(usize) -> Option<f64>;
        let refuse = |what: &dyn Fn() -> String, is_x: bool, bad: Bad<'_>| {
            let mut found =
                (0..self.len()).filter(|&i| masked_in(i)).filter_map(|i| Some((i, bad(i)?)));
            match found.next() {
                None => Ok(()),
                Some((index, value)) => {
                    let count = 1 + found.count();
                    let infinite_x = is_x && !self.infinite_x && value.is_infinite();
                    let remedies = NonFiniteRemedies { mask: true, infinite_x };
                    Err(Error::NonFinite { what: what(), index, value, count, remedies })
                }
            }
        };
        refuse(&|| "y".into(), false, &|i| Some(self.y.at(i)).filter(|y| !y.is_finite()))?;
        for (c, column) in self.columns.iter().enumerate() {
            let name = || column_name(c, self.columns.len());
            refuse(&name, true, &|i| Some(column.at(i)).filter(|&x| !self.valid_x(x)))?;
        }
        refuse(&|| "sigma".into(), false, &|i| self.sigma_at(i).filter(|s| s.is_nan()))?;
        let weighs = |&i: &usize| masked_in(i) && self.sigma_at(i).is_none_or(f64::is_finite);
        self.x_sigma.check(self.sigma, (0..self.len()).filter(weighs))
    }

    /// Returns the largest magnitudes of the used points. Tests for each point if it is used.
    fn largest(&self) -> Largest {
        let scan = |start: usize, end: usize| self.largest_part(start..end);
        in_chunks(self.len(), scan, Largest::merge)
    }

    pub(super) fn largest_part(&self, part: Range<usize>) -> Largest {
        let mut found = Largest::default();
        for i in part.filter(|&i| self.counts(i)) {
            found.add(self.y.at(i).abs(), self.sigma_at(i).map_or(1.0, |s| 1.0 / s));
        }
        found
    }

    fn units(&self, largest: Largest) -> Units {
        let y = unit_of(largest.y);
        if let Some(correlation) = &self.correlation {
            return Units { y, weight: 1.0, row: self.correlated_unit(correlation, y) };
        }
        let scale = self.sigma.constant();
        if is_ordinary(largest.weight * scale) && is_ordinary(largest.row * scale) {
            return Units { y, weight: 1.0, row: 1.0 };
        }
        let (weight, row) = self.exponents(largest.y);
        Units::of_exponents(y, weight, row)
    }

    /// Returns the exponents of the largest weight 1/σ and of the largest |y|/σ. These values can be outside the
    /// range of f64. A y of 0 does not determine the magnitude of its residual: it is replaced by the largest y, or
    /// by 1 if all are 0.
    pub(super) fn exponents(&self, largest: f64) -> (i32, i32) {
        let (mut weight, mut row) = (i32::MIN, i32::MIN);
        let usual = if largest == 0.0 { 0 } else { exponent(largest) };
        for i in self.kept() {
            let sigma = match self.sigma {
                Weights::Constant(s) => s,
                _ => self.sigma_at(i).unwrap_or(1.0),
            };
            let y = self.y.at(i).abs();
            let w = -exponent(sigma);
            weight = weight.max(w);
            row = row.max(w + if y == 0.0 { usual } else { exponent(y) });
        }
        (weight, row)
    }

    /// Returns the row unit for the largest element of L⁻¹y, or of L⁻¹1 if y is 0. `unit`: unit of y.
    fn correlated_unit(&self, correlation: &Correlation, unit: f64) -> f64 {
        let size = |of: &dyn Fn(usize) -> f64| {
            let mut v: Vec<f64> = correlation.index.iter().map(|&i| of(i)).collect();
            correlation.whiten(&mut v);
            v.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
        };
        let (largest, unit) = match size(&|i| self.y.at(i) * unit) {
            0.0 => (size(&|_| 1.0), 1.0),
            largest => (largest, unit),
        };
        match largest.is_finite() && largest > 0.0 {
            true => unit_of_exponent(exponent(largest) - exponent(unit)),
            false => 1.0,
        }
    }

    fn tally(&self) -> Tally {
        in_chunks(self.len(), |start, end| self.tally_part(start..end), Tally::merge)
    }

    pub(super) fn tally_part(&self, part: Range<usize>) -> Tally {
        let mut tally = Tally::default();
        for i in part {
            if self.counts(i) {
                tally.used += 1;
            } else if self.sigma_at(i) == Some(f64::INFINITY) && self.mask.is_none_or(|m| m[i]) {
                tally.ignored += 1;
            } else {
                tally.omitted += 1;
            }
        }
        tally
    }
}
