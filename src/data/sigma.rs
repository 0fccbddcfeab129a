//! Errors of the data: sigma, weights and scatter.

use super::matrix::Matrix;
use crate::error::{Error, Result};

/// The standard deviations of `y` and their meaning, for one fit ([`Data`](crate::Data)), batches
/// ([`BatchData`](crate::BatchData)) and streams ([`Stream`](crate::Stream)). The choice is explicit because it
/// determines the standard errors of the parameters: they are absolute only if the standard deviations of the data are.
///
/// Under a robust [loss](crate::Loss), even an unscaled covariance grows if outliers pull the curve more than
/// normally distributed errors of the given sigma would.
///
/// A function that does not support a variant returns [`Error::UnsuitedSigma`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Sigma<'a> {
    /// All points of a fit have the same unknown error, which is estimated from the scatter about the fit: the
    /// covariance is scaled by the reduced chi-square, or, under a robust [loss](crate::Loss), by the pull of the
    /// points.
    #[default]
    Unknown,
    /// One standard deviation in the units of y for all points; the covariance is not scaled.
    Constant(f64),
    /// One standard deviation per fit of a batch, in the units of y, for all its points; the covariance
    /// is not scaled.
    PerFit(&'a [f64]),
    /// Standard deviations up to a common factor, which is estimated from the scatter about the fit: SciPy's
    /// `absolute_sigma=False`. One per point; in a batch one per point (the same for every fit) or one
    /// per sample.
    Relative(&'a [f64]),
    /// Standard deviations in the units of y; the covariance is not scaled. Same length as for
    /// [`Relative`](Sigma::Relative).
    Absolute(&'a [f64]),
    /// Standard deviations from the source of a stream, up to a common factor.
    RelativeColumn,
    /// Standard deviations from the source of a stream, in the units of y.
    AbsoluteColumn,
    /// The covariance matrix of y, n × n, symmetric and positive definite, in the units of y². Its
    /// factorisation needs n³/3 operations and stores n(n + 1)/2 numbers: suitable for up to some thousand points.
    Covariance(&'a Matrix),
    /// The covariance matrix of y up to a common factor, which is estimated from the scatter about the fit: SciPy's
    /// `absolute_sigma=False`. Same shape as for [`Covariance`](Sigma::Covariance).
    RelativeCovariance(&'a Matrix),
}

/// Weights of the points of a fit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weights<'a> {
    /// One unknown standard deviation for all points.
    Equal,
    /// One standard deviation for all points.
    Constant(f64),
    /// One standard deviation per point. `absolute`: true if in the units of y.
    Each { sigma: &'a [f64], absolute: bool },
    /// The covariance matrix of y. `absolute`: true if in the squared units of y.
    Covariance { matrix: &'a Matrix, absolute: bool },
}

/// Scatter of a single observation: one value for all points, if possible.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Spread {
    /// One standard deviation for all, estimated from the scatter about the fit.
    Measured,
    /// One given standard deviation for all.
    Constant(#[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))] f64),
    /// Scatter of a count: the square root of its expectation.
    Counts,
    /// A different scatter for each observation.
    Own,
}

impl Sigma<'_> {
    /// Checks the value of a constant.
    ///
    /// # Errors
    /// [`Error::BadOption`] for a constant that is not a valid standard deviation.
    pub(crate) fn check(&self) -> Result<()> {
        match *self {
            Sigma::Constant(value) if !is_deviation(value) => {
                let requirement = "a positive, finite standard deviation";
                Err(Error::BadOption { name: "sigma", value, requirement })
            }
            _ => Ok(()),
        }
    }

    /// Returns the error for `RelativeColumn` or `AbsoluteColumn` in `entry`, which has no source.
    pub(super) fn without_source(&self, entry: &'static str) -> Error {
        self.unsuited(entry, "give the values with Sigma::Relative or Sigma::Absolute")
    }

    /// Returns true if the errors are known absolutely. The covariance is then not scaled by the scatter.
    pub(crate) fn is_absolute(&self) -> bool {
        !matches!(
            self,
            Sigma::Unknown
                | Sigma::Relative(_)
                | Sigma::RelativeColumn
                | Sigma::RelativeCovariance(_)
        )
    }

    /// Returns the error for a variant that `entry` does not support.
    pub(super) fn unsuited(&self, entry: &'static str, remedy: &'static str) -> Error {
        let given = match self {
            Sigma::Unknown => "Unknown",
            Sigma::Constant(_) => "Constant",
            Sigma::PerFit(_) => "PerFit",
            Sigma::Relative(_) => "Relative",
            Sigma::Absolute(_) => "Absolute",
            Sigma::RelativeColumn => "RelativeColumn",
            Sigma::AbsoluteColumn => "AbsoluteColumn",
            Sigma::Covariance(_) => "Covariance",
            Sigma::RelativeCovariance(_) => "RelativeCovariance",
        };
        Error::UnsuitedSigma { given, entry, remedy }
    }
}

/// Returns true if `sigma` is a valid constant standard deviation: positive and finite.
pub(crate) fn is_deviation(sigma: f64) -> bool {
    sigma > 0.0 && sigma.is_finite()
}

impl<'a> Weights<'a> {
    /// Returns weights of the same meaning with the standard deviations of other points, one per point.
    pub(crate) fn with_values<'s>(self, sigma: Option<&'s [f64]>) -> Weights<'s>
    where
        'a: 's,
    {
        match (self, sigma) {
            (Weights::Each { absolute, .. }, Some(sigma)) => Weights::Each { sigma, absolute },
            (same, _) => same,
        }
    }

    /// Returns the scatter of a single observation.
    pub(crate) fn spread(&self) -> Spread {
        match *self {
            Weights::Equal => Spread::Measured,
            Weights::Constant(sigma) => Spread::Constant(sigma),
            Weights::Each { .. } | Weights::Covariance { .. } => Spread::Own,
        }
    }

    /// Returns true if the errors are known absolutely. The covariance is then not scaled by the scatter.
    pub(crate) fn is_absolute(&self) -> bool {
        match *self {
            Weights::Equal => false,
            Weights::Constant(_) => true,
            Weights::Each { absolute, .. } | Weights::Covariance { absolute, .. } => absolute,
        }
    }

    /// Returns the common factor of all rows, 1/σ, if σ is constant; otherwise 1.
    pub(crate) fn constant(&self) -> f64 {
        if let Weights::Constant(sigma) = self { 1.0 / sigma } else { 1.0 }
    }
}
