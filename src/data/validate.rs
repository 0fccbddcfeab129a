//! Validation of the data of one fit: checks every value, selects the used points, and computes units and moments.

use super::columns::column_name;
use super::correlated::Correlation;
use super::loss::{Estimator, darkest};
use super::points::{Given, Points};
use super::scaling::{Largest, Tally, Units, exponent, is_ordinary, unit_of, unit_of_exponent};
use super::scan::Scan;
use super::sigma::{Weights, is_deviation};
use super::summary::Moments;
use super::values::Values;
use super::x_sigma::XSigma;
use super::{Data, Missing};
use crate::data::points::ColumnList;
use crate::error::{Error, NonFiniteRemedies, Result};
use crate::threads;

/// Number of points per task of a scan over the data.
const CHUNK: usize = 1 << 16;

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
        // If all values are valid, the mask alone selects the points.
        (points.filtered, points.mask_decides) = (points.mask.is_some(), points.mask.is_some());
        let mut scan = points.scan(known_x);
        if !scan.is_invalid && points.x_sigma.is_exact() {
            (points.used, points.omitted) = (scan.used, points.len() - scan.used);
        } else {
            (points.filtered, points.mask_decides) = (true, false);
            points.check_sigma()?;
            if missing == Missing::Error {
                points.refuse_missing()?;
            }
            let tally = points.tally();
            (points.used, points.omitted, points.ignored) =
                (tally.used, tally.omitted, tally.ignored);
            let kept = points.mask.map_or(points.len(), |m| m.iter().filter(|&&keep| keep).count());
            points.mask_decides = kept == points.used;
            scan = points.scan(true);
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
        points.units = points.units(scan.largest);
        points.largest_weight = scan.largest.weight;
        points.summary = points.moments(Some(scan.moments));
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
        let (total, is_negative) = in_chunks(
            self.len(),
            |start, end| self.events(start..end),
            |all, part| (all.0 + part.0, all.1 | part.1),
        );
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
            points.units = points.units(points.scan(true).largest);
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

    /// Scans the used points, in parallel.
    fn scan(&self, known_x: bool) -> Scan {
        in_chunks(self.len(), |start, end| self.scan_part(start..end, known_x), Scan::merge)
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

    /// Returns the moments of the used points. `scanned`: their moments with units of 1, which are returned if the units
    /// of the points are 1.
    fn moments(&self, scanned: Option<Moments>) -> Moments {
        if let Some(correlation) = &self.correlation {
            return self.moments_of_correlated(correlation);
        }
        let units = self.units;
        let total = match scanned {
            Some(scanned) if units == Units::ORDINARY => scanned,
            _ => {
                let range = |start, end| self.moments_of_range(start..end);
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
