//! Confidence bands of a fitted curve, prediction bands of new observations, and values and standard errors of the
//! terms of a fitted sum.
//!
//! Let g be the partials of the model at x with respect to the parameters. To first order, the curve at x has the
//! variance gᵀ cov g (delta method; Seber and Wild, Nonlinear Regression, 1989, section 5.1). It is computed as
//! ‖halfᵀg‖², with cov = half halfᵀ: if parameters are nearly collinear and their errors cancel in the curve, the
//! product with cov would lose half of the digits.

pub(crate) mod new_point;

use super::Fit;
use super::distributions::{check_level, half_width, joint};
use crate::backend::cpu::linearised::At;
use crate::data::columns::Columns;
use crate::data::sigma::Spread;
use crate::data::values::Values;
use crate::error::Result;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use new_point::NewPoint;

/// A band about a curve; one value per point in each array.
///
/// `lower` and `upper` are −∞ and ∞ at points where the curve depends on a direction that the data do not determine.
/// They are NaN if the error is not defined: the scatter cannot be estimated without degrees of freedom, or the model
/// is not finite at the point.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The fitted curve.
    pub center: Vec<f64>,
    /// Standard errors of the curve, or standard deviations of new observations about it.
    pub std_errors: Vec<f64>,
    /// Lower limits.
    pub lower: Vec<f64>,
    /// Upper limits.
    pub upper: Vec<f64>,
    /// Probability of the band.
    pub level: f64,
}

impl Band {
    /// Creates the band center ± `width`·std_errors.
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
    /// Returns the pointwise confidence band of the curve at the points `x`, one column per variable as in
    /// [`Data::new`](crate::Data::new). At each single point it covers the true curve with probability `level`, if the
    /// model is nearly linear in its parameters within their errors.
    ///
    /// The half width is the standard error times a quantile. If the scatter was estimated, it is a quantile of
    /// Student's t with the fit's degrees of freedom; if sigma is absolute or y are counts, of the normal distribution.
    /// Fixed parameters and parameters at a bound contribute nothing: the band, like the errors of the other
    /// parameters, is conditional on their values. The band is infinite at points where the curve depends on a
    /// direction that the data do not determine.
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
    /// The errors of [`predict`](Fit::predict), and [`Error::BadOption`](crate::Error::BadOption).
    pub fn confidence_band<'a>(&self, x: impl Columns<'a>, level: f64) -> Result<Band> {
        check_level(level)?;
        self.band(x.columns()?, level, half_width(level, self.scatter_freedom()), &|_, _, error| {
            error
        })
    }

    /// Returns the simultaneous confidence band: it covers the whole true curve, at all x together, with a probability
    /// of at least `level` (Scheffé's method; for a line, the method of Working and Hotelling). With the
    /// [`rank`](Fit::rank) r, the half width in standard errors is √(r F(r, dof)), or √χ²(r) if sigma is absolute.
    ///
    /// # Errors
    /// The errors of [`confidence_band`](Fit::confidence_band).
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
    /// [`Sigma::Relative`](crate::Sigma::Relative). New points then need their own relative standard deviations:
    /// [`NewPoint::Relative`].
    pub fn has_relative_sigma(&self) -> bool {
        self.scaled && self.spread == Spread::Own
    }

    /// Returns the prediction band: at each single point it covers a new observation with probability `level`.
    /// `new` is the scatter of observations about the curve.
    ///
    /// The quantile is the same as in [`confidence_band`](Fit::confidence_band). The variance is the sum of the
    /// variances of the curve and of the observation. The error of the observation is assumed to be normal.
    ///
    /// # Errors
    /// The errors of [`confidence_band`](Fit::confidence_band);
    /// [`UncertaintyError::NewPointUnknown`](crate::error::UncertaintyError::NewPointUnknown) if the fit does
    /// not determine the scatter that `new` needs,
    /// [`UncertaintyError::NewPointSigma`](crate::error::UncertaintyError::NewPointSigma) for a standard deviation that
    /// is not positive and finite, [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the numbers of standard
    /// deviations and points differ.
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

    /// Returns the pointwise [confidence bands](Fit::confidence_band) of the [components](Fit::components) of a sum at
    /// the points `x`, in the order of the components. Their widths do not add up to the width of the curve's band, in
    /// which the errors of components mostly cancel.
    ///
    /// # Errors
    /// The errors of [`components`](Fit::components), and [`Error::BadOption`](crate::Error::BadOption).
    pub fn component_bands<'a>(&self, x: impl Columns<'a>, level: f64) -> Result<Vec<Band>> {
        check_level(level)?;
        let width = half_width(level, self.scatter_freedom());
        let band = |of: Component| Band::around(of.values, of.std_errors, width, level);
        Ok(self.components(x)?.into_iter().map(band).collect())
    }

    /// Returns the degrees of freedom of the estimated scatter; `None` if the errors are absolute.
    pub(crate) fn scatter_freedom(&self) -> Option<f64> {
        self.scaled.then(|| self.degrees_of_freedom() as f64)
    }

    /// Computes the band of `width` standard deviations. `deviation` is called with index, value and standard error.
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

    /// Calls `each` at every point with its index, the value of `model` and the partials, and returns the results.
    /// Partials with respect to parameters that are not estimated are 0.
    pub(crate) fn linearised<R: Clone + Default + Send>(
        &self,
        model: &Model,
        columns: &[Values<'_>],
        n: usize,
        each: impl Fn(usize, f64, &[f64]) -> R + Sync,
    ) -> Result<Vec<R>> {
        let units = &self.covariance.units;
        // Tied parameters have units, too, but the model contains their formulas instead.
        let by = |&k: &usize| units[k] != 0.0 && !self.fixed[k];
        let by: Vec<usize> = (0..units.len()).filter(by).collect();
        let Fit { params, bounds, start, .. } = self;
        At { model, params, by: &by, bounds, start }.map(columns, n, each)
    }
}

/// Returns the half-length of an interval of `width` standard errors: 0 for an error of 0, infinite for an infinite
/// error and any width.
pub(crate) fn reach(width: f64, error: f64) -> f64 {
    match error {
        0.0 => 0.0,
        f64::INFINITY => f64::INFINITY,
        _ => width * error,
    }
}

/// One term of a fitted sum of models, such as a peak of a spectrum. Arrays have one value per point.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The prefix of the model, such as `g_`; the model's name if the prefix is empty; prefix and name if two terms
    /// have the same prefix. For a product, a quotient or a nested model it is the text of its models.
    pub name: String,
    /// The values, with their sign in the sum. The values of all components add up to the curve.
    pub values: Vec<f64>,
    /// Standard errors of the values, from the covariance of all parameters. As in a [`Band`](crate::result::Band),
    /// they are infinite if the data do not determine the value, and NaN if the error is not defined. The errors of
    /// components do not add up to the error of the curve, in which they mostly cancel.
    pub std_errors: Vec<f64>,
}

impl Fit {
    /// Evaluates the terms of the outermost sum of a composite of [`models`](crate::models) at the points `x`, one
    /// column per variable as in [`Data::new`](crate::Data::new). The terms are in the order of the sum. A product, a
    /// quotient or a nested model is one term; a number before a sum is a factor of each term. Tied parameters have the
    /// values of their formulas.
    ///
    /// A single library model is its only component. A closure, a formula, and the stacked model of a joint fit have no
    /// components; use [`JointFit::set`](crate::JointFit::set) for the sets of a joint fit.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, Start, models};
    /// let x: Vec<f64> = (0..120).map(|i| 0.1 * f64::from(i)).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 3.0 * (-(x - 5.0f64).powi(2)).exp() + 0.2 * x + 1.0).collect();
    /// let model = models::gaussian("peak_") + models::linear("bg_");
    /// let fit = CurveFit::from(model).fit(Data::new(&x, &y)?, Start::Guess)?;
    /// let parts = fit.components(&[5.0])?;
    /// assert_eq!([&*parts[0].name, &*parts[1].name], ["peak_", "bg_"]);
    /// assert!((parts[0].values[0] - 3.0).abs() < 1e-6 && (parts[1].values[0] - 2.0).abs() < 1e-6);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) or [`Error::LengthMismatch`](crate::Error::LengthMismatch) if
    /// the columns do not fit the model.
    pub fn components<'a>(&self, x: impl Columns<'a>) -> Result<Vec<Component>> {
        let columns = x.columns()?;
        let n = self.points_in(&columns)?;
        let Model::Traced(whole) = &self.model else { return Ok(Vec::new()) };
        let component = |component: &ComponentModel| {
            let model = component.within(whole, &self.ties)?;
            let found = self.linearised(&model, &columns, n, |_, value, gradient| {
                (value, self.covariance.error_of(gradient))
            })?;
            let (values, std_errors) = found.into_iter().unzip();
            Ok(Component { name: component.name.clone(), values, std_errors })
        };
        self.components.iter().map(component).collect()
    }
}
