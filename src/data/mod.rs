//! The data of one fit: the caller's arrays, and the points after validation.

#[cfg(feature = "ndarray")]
mod arrays;
pub(crate) mod batch;
pub(crate) mod columns;
pub(crate) mod correlated;
mod heaviest;
pub(crate) mod loss;
pub(crate) mod loss_formula;
pub(crate) mod matrix;
pub(crate) mod pick;
pub(crate) mod points;
pub(crate) mod raw;
pub(crate) mod sample;
pub(crate) mod scaling;
pub(crate) mod scan;
pub(crate) mod sigma;
pub(crate) mod source;
pub(crate) mod start;
pub(crate) mod stream;
pub(crate) mod summary;
pub(crate) mod tree;
mod validate;
pub(crate) mod validate_stream;
pub(crate) mod values;
#[cfg(feature = "nalgebra")]
mod vectors;
pub(crate) mod x_sigma;

pub(crate) use scaling::unit_of;

use crate::error::{Error, Result};
use columns::{Columns, expect_columns, expect_length};
use sigma::{Sigma, Weights};
use values::Values;
use x_sigma::XSigma;

/// Treatment of points with a NaN or an infinity in x, y, sigma or x_sigma.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// Return an error with the index of the first such point.
    #[default]
    Error,
    /// Leave such points out; [`Fit::omitted`](crate::Fit::omitted) counts them.
    Omit,
}

/// The points of one fit: independent variables, response and sigma.
///
/// All arrays are borrowed; nothing is copied. Lengths are checked here; values are checked when
/// the fit begins, after [`missing`](Data::missing) and [`mask`](Data::mask) are applied.
///
/// ```
/// use dualfit::{Data, Missing, Sigma};
/// let (x, y, s) = (vec![0.0, 1.0, 2.0], vec![1.0, f64::NAN, 3.0], vec![0.1, 0.1, 0.2]);
/// let data = Data::new(&x, &y)?.sigma(Sigma::Absolute(&s))?.missing(Missing::Omit);
/// assert_eq!(data.len(), 3);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Data<'a> {
    pub(crate) columns: Vec<Values<'a>>,
    pub(crate) y: Values<'a>,
    pub(crate) sigma: Weights<'a>,
    pub(crate) mask: Option<&'a [bool]>,
    pub(crate) missing: Missing,
    pub(crate) infinite_x: bool,
    pub(crate) x_sigma: XSigma<'a>,
}

impl<'a> Data<'a> {
    /// Creates the data of a fit. `x`: one column per independent variable (`&x` or `[&x, &y]`), `y`: the response, all
    /// with one value per point, in f64, f32 or integers of up to 32 bits.
    ///
    /// # Errors
    /// [`Error::EmptyData`] without points, [`Error::LengthMismatch`] if the length of a column differs from the length
    /// of y, an error for an array of `ndarray` that is not contiguous.
    pub fn new(
        x: impl Columns<'a>,
        y: impl TryInto<Values<'a>, Error: Into<Error>>,
    ) -> Result<Self> {
        let (columns, y) = (x.columns()?, y.try_into().map_err(Into::into)?);
        if y.is_empty() && columns.iter().all(Values::is_empty) {
            return Err(Error::EmptyData { given: 0, omitted: 0 });
        }
        // The first column determines the number of points; y and the other columns must match it.
        let expected = columns.first().map_or(y.len(), Values::len);
        expect_columns(&columns, expected)?;
        if columns.len() > 1 && columns.len() == y.len() && expected != y.len() {
            expect_columns(&columns, y.len())?;
        }
        expect_length("y".into(), y.len(), expected, "one value per point")?;
        Ok(Data {
            columns,
            y,
            sigma: Weights::Equal,
            mask: None,
            missing: Missing::Error,
            infinite_x: false,
            x_sigma: XSigma::default(),
        })
    }

    /// Sets the sigma of y; [`Sigma::Unknown`] by default.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there is not one value (or row and column) per point,
    /// [`Error::BadOption`] for a constant that is not positive, [`Error::UnsuitedSigma`] for the variants
    /// for batches and streams.
    pub fn sigma(mut self, sigma: Sigma<'a>) -> Result<Self> {
        sigma.check()?;
        let n = self.len();
        self.sigma = match sigma {
            Sigma::Unknown => Weights::Equal,
            Sigma::Constant(value) => Weights::Constant(value),
            Sigma::Relative(each) | Sigma::Absolute(each) => {
                let remedy = "one standard deviation per point";
                expect_length("sigma".into(), each.len(), n, remedy)?;
                Weights::Each { sigma: each, absolute: sigma.is_absolute() }
            }
            Sigma::Covariance(matrix) | Sigma::RelativeCovariance(matrix) => {
                let remedy = "the covariance matrix has one row and one column per point";
                expect_length("rows of sigma".into(), matrix.rows(), n, remedy)?;
                expect_length("columns of sigma".into(), matrix.columns(), n, remedy)?;
                Weights::Covariance { matrix, absolute: sigma.is_absolute() }
            }
            Sigma::PerFit(_) => {
                return Err(sigma.unsuited("one fit", "use Sigma::Constant for all its points"));
            }
            Sigma::RelativeColumn | Sigma::AbsoluteColumn => {
                return Err(sigma.without_source("a fit in memory"));
            }
        };
        Ok(self)
    }

    /// Sets the standard deviations of x, in the units of x, for independent normal errors: one column per
    /// independent variable, in the order of x, each with one value per point or one for all points (`&[0.1]`);
    /// 0 if x is exact.
    ///
    /// The fit is then an orthogonal distance regression: it minimises Σ dᵢ²/2, or the sum of the losses of dᵢ².
    /// dᵢ² is the minimum over ξ of ((f(ξ) − yᵢ)/σᵢ)² + Σₖ((ξₖ − xᵢₖ)/σₓᵢₖ)²: dᵢ is the distance of the point from
    /// the curve in units of its errors (Boggs, Byrd and Schnabel, SIAM J. Sci. Stat. Comput. 8 (1987)
    /// 1052). [`Fit::closest`](crate::Fit::closest) returns the points ξ. Errors of x are compared with errors of y,
    /// so [`sigma`](Data::sigma) must be set, too; if it is relative, x_sigma has the same unknown factor.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, Sigma};
    /// let x = [0.9, 2.1, 2.9, 4.1, 5.0];
    /// let y = [2.1, 3.9, 6.2, 7.9, 10.1];
    /// let data = Data::new(&x, &y)?.sigma(Sigma::Constant(0.1))?.x_sigma(&[0.1])?;
    /// let fit = CurveFit::new(|x, [a, b]| a * x + b).fit(data, [1.0, 0.0])?;
    /// assert!(fit.converged());
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a wrong number of columns or values. When the fit begins,
    /// [`Error::BadXSigma`] for a value that is negative, or that is not finite unless such points are left out.
    pub fn x_sigma(mut self, sigma: impl Columns<'a>) -> Result<Self> {
        self.x_sigma = XSigma::new(sigma.columns()?, self.columns.len())?;
        self.x_sigma
            .expect(&[self.len()], "one standard deviation per point, or one for all points")?;
        Ok(self)
    }

    /// Sets the treatment of points that are not finite; [`Missing::Error`] by default.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Selects the points to be fitted: those where `mask` is true.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if there is not one value per point.
    pub fn mask(mut self, mask: &'a [bool]) -> Result<Self> {
        expect_length("mask".into(), mask.len(), self.len(), "one value per point")?;
        self.mask = Some(mask);
        Ok(self)
    }

    /// If true, infinite values of x are valid, for models that have a limit there. NaN stays an error.
    #[must_use]
    pub fn allow_infinite_x(mut self, allow: bool) -> Self {
        self.infinite_x = allow;
        self
    }

    /// Returns the number of given points, including masked and missing points.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Returns true if there are no points; [`new`](Data::new) rejects such data.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// Returns the independent variables: one column per variable, n values each.
    pub fn x_columns(&self) -> &[Values<'a>] {
        &self.columns
    }

    /// Returns the response: n values.
    pub fn y_values(&self) -> Values<'a> {
        self.y
    }

    /// Returns the standard deviations of the response.
    pub fn y_sigma(&self) -> Sigma<'a> {
        match self.sigma {
            Weights::Equal => Sigma::Unknown,
            Weights::Constant(sigma) => Sigma::Constant(sigma),
            Weights::Each { sigma, absolute: true } => Sigma::Absolute(sigma),
            Weights::Each { sigma, absolute: false } => Sigma::Relative(sigma),
            Weights::Covariance { matrix, absolute: true } => Sigma::Covariance(matrix),
            Weights::Covariance { matrix, absolute: false } => Sigma::RelativeCovariance(matrix),
        }
    }

    /// Returns the [`mask`](Data::mask), if set: true for points that are fitted.
    pub fn mask_values(&self) -> Option<&'a [bool]> {
        self.mask
    }
}

impl<'a> From<&Data<'a>> for Data<'a> {
    /// Returns the same points, borrowed again.
    fn from(data: &Data<'a>) -> Data<'a> {
        data.clone()
    }
}
