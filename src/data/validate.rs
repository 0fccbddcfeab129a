//! Validation of the data of one fit: checks every value, selects the used points, and computes units and moments.

use super::columns::column_name;
use super::correlated::Correlation;
use super::loss::{Estimator, darkest};
use super::points::{Given, Points};
use super::scaling::{
    Largest, Tally, Units, exponent, finite, is_ordinary, largest, largest_of_kept, unit_of,
    unit_of_exponent,
};
use super::sigma::{Weights, is_deviation};
use super::summary::Moments;
use super::values::Values;
use super::x_sigma::XSigma;
use super::{Data, Missing};
use crate::data::points::ColumnList;
use crate::error::{Error, NonFiniteRemedies, Result};
use crate::threads;
use std::ops::Range;

/// Number of points per task of a scan over the data.
const CHUNK: usize = 1 << 16;
/// Number of points per step within a task.
const BLOCK: usize = 256;
/// Number of independent partial sums, which let the compiler vectorise the additions.
const LANES: usize = 8;

/// Calls `scan(start, end)` for consecutive parts of `0..n`, in parallel if there are several, and
/// merges the results in order.
fn in_chunks<R: Send>(
    n: usize,
    scan: impl Fn(usize, usize) -> R + Sync,
    merge: impl Fn(R, R) -> R,
) -> R {
    let part = |c: usize| scan(c * CHUNK, n.min((c + 1) * CHUNK));
    if n <= CHUNK {
        return part(0);
    }
    let rest = threads::map(1..n.div_ceil(CHUNK), part);
    rest.into_iter().fold(part(0), merge)
}

impl<'a> Points<'a> {
    /// Checks every value, in parallel.
    ///
    /// # Errors
    /// An error if a value is not finite, a sigma is not positive, no points remain, or a covariance is invalid.
    pub(crate) fn validate(data: &Data<'a>) -> Result<Points<'a>> {
        Points::check(data.given())
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
        let (plain, masked) = match points.mask {
            _ if !points.x_sigma.is_exact() => (None, None),
            None => (points.plain(known_x), None),
            Some(mask) => (None, points.masked(mask, known_x)),
        };
        if let Some((_, used)) = masked {
            (points.filtered, points.mask_decides) = (true, true);
            (points.used, points.omitted) = (used, points.len() - used);
        } else if plain.is_none() {
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
        let known = plain.map(|(largest, _)| largest).or(masked.map(|(largest, _)| largest));
        let largest = known.unwrap_or_else(|| points.largest());
        points.units = points.units(largest);
        points.largest_weight = largest.weight;
        points.summary = points.moments(plain.map(|(_, summary)| summary));
        if !points.x_sigma.is_exact() {
            // With errors in x, residuals are distances, for which a scatter of y about its mean is not defined.
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
        let scan = |start: usize, end: usize| {
            let (mut total, mut is_negative) = (0.0, false);
            let used = (start..end).filter(|&i| !self.filtered || self.counts(i));
            self.y.visit(used, |_, y| {
                total += y;
                is_negative |= y < 0.0;
            });
            (total, is_negative)
        };
        let sum = |all: (f64, bool), part: (f64, bool)| (all.0 + part.0, all.1 | part.1);
        let (total, is_negative) = in_chunks(self.len(), scan, sum);
        let negative = || self.kept().map(|i| (i, self.y.at(i))).find(|&(_, y)| y < 0.0);
        if let Some((index, value)) = is_negative.then(negative).flatten() {
            return Err(Error::NegativeCount { index, value });
        }
        self.estimator = Estimator::Poisson;
        // The unit of a row is the standard deviation √y of a count: the sum of squares is the sum of the counts.
        self.units = Units::ORDINARY;
        self.summary.square = total;
        self.summary.scatter = 0.0;
        self.darkest = darkest(total / self.used.max(1) as f64);
        Ok(())
    }

    /// Returns the points for ordinary least squares: errors of x are left out, and counts become measurements with
    /// equal sigma. Returns `None` if the points already have this form.
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
        points.summary = points.moments(None);
        Some(points)
    }

    /// Returns the same points with another response, one value per given point. A covariance is not factored again.
    pub(crate) fn responding<'b>(&'b self, y: &'b [f64]) -> Points<'b> {
        let mut points: Points<'b> = self.clone();
        points.y = Values::F64(y);
        points.summary = points.moments(None);
        points
    }

    /// Returns the largest magnitudes and the summary of y in one scan; `None` if a value or a sigma is invalid.
    fn plain(&self, known_x: bool) -> Option<(Largest, Moments)> {
        let scan = |start: usize, end: usize| {
            let summary = self.moments_of_range(start, end);
            Some((self.plain_largest(start..end, &[summary], known_x)?, summary))
        };
        in_chunks(self.len(), scan, |all, part| {
            let ((largest, summary), (l, s)) = (all?, part?);
            Some((largest.merge(l), summary.merge(s)))
        })
    }

    /// Returns the largest magnitudes of the points where the mask is true, and their number; `None` if a value or a sigma
    /// of these points is invalid.
    fn masked(&self, mask: &[bool], known_x: bool) -> Option<(Largest, usize)> {
        let scan = |start: usize, end: usize| {
            let mask = &mask[start..end];
            let used = mask.iter().map(|&keep| usize::from(keep)).sum();
            let unknown = self.columns.iter().filter(|_| !known_x);
            let mut columns = unknown.map(|column| largest_of_kept(column, start, mask));
            if !columns.all(|largest| largest.is_some()) {
                return None;
            }
            let y = largest_of_kept(&self.y, start, mask)?;
            let Some(sigma) = self.sigmas() else {
                return Some((Largest { y, weight: f64::from(u8::from(used > 0)), row: y }, used));
            };
            let mut largest = Largest::default();
            let kept = (start..end).filter(|i| mask[i - start]);
            for i in kept {
                let s = sigma[i];
                if !(s > 0.0 && s < f64::INFINITY) {
                    return None;
                }
                largest.add(self.y.at(i).abs(), 1.0 / s);
            }
            Some((largest, used))
        };
        in_chunks(self.len(), scan, |all: Option<(Largest, usize)>, part| {
            let ((largest, used), (l, u)) = (all?, part?);
            Some((largest.merge(l), used + u))
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

    /// Returns the row unit (a power of two) for the largest element of L⁻¹y, or of L⁻¹1 if y is 0. L is the factor of
    /// the covariance L Lᵀ, and 1 the vector of ones. `unit`: unit of y.
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

    /// Selects and counts the used points, one by one.
    pub(super) fn filter(&mut self) -> Tally {
        self.filtered = true;
        let tally = self.tally();
        (self.used, self.omitted, self.ignored) = (tally.used, tally.omitted, tally.ignored);
        self.filtered = tally.used < self.len();
        tally
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

    /// Returns the moments of the used points. `scanned`: result of [`moments_of_range`](Self::moments_of_range) for
    /// all points with units of 1, which is reused if the units of the points are 1.
    fn moments(&self, scanned: Option<Moments>) -> Moments {
        if let Some(correlation) = &self.correlation {
            return self.moments_of_correlated(correlation);
        }
        let units = self.units;
        let total = match scanned {
            Some(scanned) if units == Units::ORDINARY => scanned,
            _ => {
                let range = |start, end| self.moments_of_range(start, end);
                in_chunks(self.len(), range, Moments::merge)
            }
        };
        total.into_row_units(units)
    }

    /// Returns the moments of correlated points. Like the residuals, they are whitened: L⁻¹ y replaces w y, and k L⁻¹ 1
    /// replaces the weights w, where k is a power of two.
    fn moments_of_correlated(&self, correlation: &Correlation) -> Moments {
        let unit = self.units.row;
        let mut y: Vec<f64> = correlation.index.iter().map(|&i| self.y.at(i) * unit).collect();
        let mut one = vec![1.0; y.len()];
        correlation.whiten(&mut y);
        correlation.whiten(&mut one);
        // The row unit scales L⁻¹ y, not L⁻¹ 1, which therefore needs its own factor k.
        let k = unit_of(one.iter().fold(0.0, |m: f64, o| m.max(o.abs())));
        one.iter_mut().for_each(|o| *o *= k);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let weight = dot(&one, &one);
        let mean = dot(&one, &y) / weight;
        let scatter = y.iter().zip(&one).map(|(y, o)| (y - mean * o).powi(2)).sum();
        let least = f64::MIN_POSITIVE * unit / k;
        let square = dot(&y, &y) + weight * least * least;
        Moments { weight, mean: mean * k / unit, scatter, square }
    }

    /// Returns the moments of the points `start..end`, in the current units of the points.
    pub(super) fn moments_of_range(&self, start: usize, end: usize) -> Moments {
        let mut block = [0.0; BLOCK];
        let mut total = Moments::default();
        for from in (start..end).step_by(BLOCK) {
            let to = end.min(from + BLOCK);
            let y = match self.y {
                Values::F64(v) => &v[from..to],
                _ => {
                    let y = &mut block[..to - from];
                    self.y.copy_to(from, y);
                    y
                }
            };
            total = total.merge(self.moments_of_block(from, y));
        }
        total
    }

    /// Returns the moments of a block. The sums are over y − shift, where shift is a value of y. This avoids
    /// cancellation if y is far from 0.
    fn moments_of_block(&self, from: usize, y: &[f64]) -> Moments {
        let unit = self.units.y;
        let first = (0..y.len()).find(|&i| !self.is_filtered() || self.counts(from + i));
        let Some(shift) = first.map(|i| y[i] * unit) else {
            return Moments::default();
        };
        let (mut weight, mut sum, mut square) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let mut add = |lane: usize, w: f64, v: f64| {
            let d = v * unit - shift;
            weight[lane] += w * w;
            sum[lane] += w * w * d;
            square[lane] += (w * d) * (w * d);
        };
        if !self.is_filtered() && matches!(self.sigma, Weights::Equal) {
            let (whole, rest) = y.as_chunks::<LANES>();
            for values in whole {
                (0..LANES).for_each(|lane| add(lane, 1.0, values[lane]));
            }
            rest.iter().enumerate().for_each(|(lane, &v)| add(lane, 1.0, v));
        } else {
            let to_unit = self.units.weight / self.units.row;
            for (i, &v) in y.iter().enumerate() {
                if !self.is_filtered() || self.counts(from + i) {
                    add(i % LANES, self.weight(from + i) * to_unit, v);
                }
            }
        }
        let (weight, sum): (f64, f64) = (weight.iter().sum(), sum.iter().sum());
        let scatter = square.iter().sum::<f64>() - sum * sum / weight;
        Moments { weight, mean: shift + sum / weight, scatter: scatter.max(0.0), square: 0.0 }
    }
}

impl<'a> Data<'a> {
    /// Returns the arrays and settings as input of the validation.
    pub(crate) fn given(&self) -> Given<'a> {
        Given {
            columns: ColumnList::Owned(self.columns.clone()),
            y: self.y,
            sigma: self.sigma,
            mask: self.mask,
            missing: self.missing,
            infinite_x: self.infinite_x,
            x_sigma: self.x_sigma.clone(),
            known_x: false,
        }
    }
}
