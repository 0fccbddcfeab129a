//! Bands about a fitted curve: where the curve is, and where a new observation will be.
//!
//! With g the partials of the model at x by the parameters, the curve at x has the variance gᵀ cov g to
//! first order (delta method; Seber and Wild, Nonlinear Regression, 1989, section 5.1). It is computed
//! as ‖halfᵀg‖² from the factor of the covariance: forming cov first would lose half the digits where
//! parameters are nearly collinear and their errors cancel in the curve.

pub(crate) mod new_point;

use super::Fit;
use super::components::Component;
use super::distributions::{check_level, half_width, joint};
use crate::backend::cpu::linearised::At;
use crate::data::columns::Columns;
use crate::data::sigma::Spread;
use crate::data::values::Values;
use crate::error::Result;
use crate::model::native::Model;
use new_point::NewPoint;

/// A band about a curve; one value per point in each array.
///
/// `lower` and `upper` are −∞ and ∞ where the curve depends on what the data leave undetermined, and
/// NaN where there is no error to give: no degree of freedom is left to measure the scatter with, or
/// the model is not finite there.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The fitted curve.
    pub center: Vec<f64>,
    /// Standard errors of the curve, or standard deviations of new observations about it.
    pub std_errors: Vec<f64>,
    /// Lower ends.
    pub lower: Vec<f64>,
    /// Upper ends.
    pub upper: Vec<f64>,
    /// Probability of the band.
    pub level: f64,
}

impl Band {
    /// `width` deviations to either side.
    fn around(center: Vec<f64>, std_errors: Vec<f64>, width: f64, level: f64) -> Band {
        let ends = |sign: f64| {
            let end = |(value, error): (&f64, &f64)| value + sign * reach(width, *error);
            center.iter().zip(&std_errors).map(end).collect()
        };
        let (lower, upper) = (ends(-1.0), ends(1.0));
        Band { center, std_errors, lower, upper, level }
    }
}

impl Fit {
    /// The confidence band of the curve at the points `x`, one column per variable as in
    /// [`Data::new`](crate::Data::new): at each single point it covers the true curve with probability
    /// `level`, as far as the model is nearly linear in its parameters within their errors.
    ///
    /// The half width is a standard error times the quantile of Student's t with the fit's degrees of
    /// freedom where the scatter was estimated, and of the normal distribution where sigma is absolute
    /// or y are counts. Fixed parameters add nothing; neither do those held by a bound: the band is
    /// conditional on their staying there, as the other parameters' errors are. It is infinite where the
    /// curve depends on what the data leave undetermined.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let fit = dualfit::curve_fit(|x, [a, b]| a * (-b * x).exp(), &x, &y, [1.0, 1.0])?;
    /// let band = fit.confidence_band(&[0.0, 1.0, 10.0], 0.95)?;
    /// assert!(band.lower[0] < 2.0 && 2.0 < band.upper[0]);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`predict`](Fit::predict); [`Error::BadOption`](crate::Error::BadOption).
    pub fn confidence_band<'a>(&self, x: impl Columns<'a>, level: f64) -> Result<Band> {
        check_level(level)?;
        self.band(x.columns()?, level, half_width(level, self.scatter_freedom()), &|_, _, error| {
            error
        })
    }

    /// The simultaneous confidence band: it covers the whole true curve, at all x together, with
    /// probability `level` at least (Scheffé's method; Working and Hotelling's for a line). With r the
    /// [`rank`](Fit::rank) the half width is √(r F(r, dof)) standard errors, √χ²(r) where sigma is
    /// absolute.
    ///
    /// # Errors
    /// As [`confidence_band`](Fit::confidence_band).
    pub fn simultaneous_band<'a>(&self, x: impl Columns<'a>, level: f64) -> Result<Band> {
        check_level(level)?;
        let rank = self.rank() as f64;
        let width = match self.rank() {
            0 => 0.0,
            _ => joint(level, rank, self.scatter_freedom()).sqrt(),
        };
        self.band(x.columns()?, level, width, &|_, _, error| error)
    }

    /// Returns true if each point of the data had its own standard deviation, known up to a common factor, as with
    /// [`Sigma::Relative`](crate::Sigma::Relative). New points then need one, too: [`NewPoint::Relative`].
    pub fn has_relative_sigma(&self) -> bool {
        self.scaled && self.spread == Spread::Own
    }

    /// The prediction band: at each single point it covers a new observation with probability `level`.
    /// `new` is the scatter of observations about the curve.
    ///
    /// The quantile is the same as in [`confidence_band`](Fit::confidence_band); the variance is the sum of the variances of the
    /// curve and of the observation, which is assumed to be normal.
    ///
    /// # Errors
    /// As [`confidence_band`](Fit::confidence_band);
    /// [`UncertaintyError::NewPointUnknown`](crate::error::UncertaintyError::NewPointUnknown) if the fit does
    /// not have the scatter for [`NewPoint::Fitted`],
    /// [`UncertaintyError::NewPointSigma`](crate::error::UncertaintyError::NewPointSigma) for a deviation that is
    /// not positive, [`Error::LengthMismatch`](crate::Error::LengthMismatch) for another number of them than points.
    pub fn prediction_band<'a>(
        &self,
        x: impl Columns<'a>,
        level: f64,
        new: NewPoint<'_>,
    ) -> Result<Band> {
        check_level(level)?;
        let columns = x.columns()?;
        let points = columns.first().map_or(0, Values::len);
        let deviation = new.deviation(self, points)?;
        let width = half_width(level, self.scatter_freedom());
        self.band(columns, level, width, &|i, value, error| f64::hypot(error, deviation(i, value)))
    }

    /// The confidence bands of the [components](Fit::components) of a sum at the points `x`, in their order: what
    /// [`confidence_band`](Fit::confidence_band) is of the curve. They do not add up to its band, in which the errors of
    /// components mostly cancel.
    ///
    /// # Errors
    /// As [`components`](Fit::components); [`Error::BadOption`](crate::Error::BadOption).
    pub fn component_bands<'a>(&self, x: impl Columns<'a>, level: f64) -> Result<Vec<Band>> {
        check_level(level)?;
        let width = half_width(level, self.scatter_freedom());
        let band = |of: Component| Band::around(of.values, of.std_errors, width, level);
        Ok(self.components(x)?.into_iter().map(band).collect())
    }

    /// The degrees of freedom of the estimated scatter; `None` where the errors are absolute.
    pub(crate) fn scatter_freedom(&self) -> Option<f64> {
        self.scaled.then(|| self.degrees_of_freedom() as f64)
    }

    /// The band of `width` deviations; `deviation` is called with index, value and standard error.
    fn band(
        &self,
        columns: Vec<Values<'_>>,
        level: f64,
        width: f64,
        deviation: &(dyn Fn(usize, f64, f64) -> f64 + Sync),
    ) -> Result<Band> {
        let n = self.points_in(&columns)?;
        self.check_model()?;
        let found = self.linearised(&self.model, &columns, n, |i, value, gradient| {
            (value, deviation(i, value, self.covariance.error_of(gradient)))
        })?;
        let (center, std_errors): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
        Ok(Band::around(center, std_errors, width, level))
    }

    /// Results of `each` for the index, the value of `model` and its partials by the estimated parameters at
    /// every point; partials by the others are 0.
    pub(crate) fn linearised<R: Clone + Default + Send>(
        &self,
        model: &Model,
        columns: &[Values<'_>],
        n: usize,
        each: impl Fn(usize, f64, &[f64]) -> R + Sync,
    ) -> Result<Vec<R>> {
        let units = &self.covariance.units;
        // Tied parameters have units, too, but the model has their formulas in their places.
        let by = |&k: &usize| units[k] != 0.0 && !self.fixed[k];
        let by: Vec<usize> = (0..units.len()).filter(by).collect();
        let Fit { params, bounds, start, .. } = self;
        At { model, params, by: &by, bounds, start }.map(columns, n, each)
    }
}

/// Half-length of an interval of `width` standard errors: 0 for an error of 0, infinite for an infinite
/// error and any width.
pub(crate) fn reach(width: f64, error: f64) -> f64 {
    match error {
        0.0 => 0.0,
        f64::INFINITY => f64::INFINITY,
        _ => width * error,
    }
}
