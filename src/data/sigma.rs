//! Errors of the data: sigma, weights and scatter.

use crate::error::{Error, Result};
use nalgebra::DMatrix;

/// The standard deviations of `y`, and what they mean: the same for one fit ([`Data`](crate::Data)), many
/// ([`BatchData`](crate::BatchData)) and streams ([`Stream`](crate::Stream)). The choice is explicit because
/// it decides the error bars: a parameter's standard error is a measured number only if the data's are.
///
/// Under a robust [loss](crate::Loss) a covariance that is not scaled grows with the pull of outliers beyond that of
/// normal errors of the given size.
///
/// An entry refuses what does not suit it with [`Error::UnsuitedSigma`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Sigma<'a> {
    /// Nothing is known but that all points of a fit have the same error, which the scatter about that fit
    /// measures: the covariance is scaled by the reduced chi-square, under a robust
    /// [loss](crate::Loss) by how far the points pull.
    #[default]
    Unknown,
    /// One standard deviation in the units of y for all points; the covariance is not scaled.
    Constant(f64),
    /// One standard deviation per fit of a batch, in the units of y, for all its points; the covariance
    /// is not scaled.
    PerFit(&'a [f64]),
    /// Standard deviations up to a common factor, which the scatter about the fit measures: SciPy's
    /// `absolute_sigma=False`. One per point; in a batch one per point, the same for every fit, or one
    /// per sample.
    Relative(&'a [f64]),
    /// Standard deviations in the units of y; the covariance is not scaled. As many as
    /// [`Relative`](Sigma::Relative) takes.
    Absolute(&'a [f64]),
    /// Standard deviations from the source of a stream, up to a common factor.
    RelativeColumn,
    /// Standard deviations from the source of a stream, in the units of y.
    AbsoluteColumn,
    /// The covariance matrix of y, n × n, symmetric and positive definite, in the units of y². Its
    /// factorisation takes n³/3 operations and n(n + 1)/2 numbers: meant for up to some thousand points.
    Covariance(&'a DMatrix<f64>),
    /// The covariance matrix of y up to a common factor, which the scatter about the fit measures: SciPy's
    /// `absolute_sigma=False`. Its shape is that of [`Covariance`](Sigma::Covariance).
    RelativeCovariance(&'a DMatrix<f64>),
}

/// Weights of the points of a fit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weights<'a> {
    /// One standard deviation for all, which is not known.
    Equal,
    /// One standard deviation for all.
    Constant(f64),
    /// One for each point. `absolute`: whether in the units of y.
    Each { sigma: &'a [f64], absolute: bool },
    /// The covariance matrix of y. `absolute`: whether in the squared units of y.
    Covariance { matrix: &'a DMatrix<f64>, absolute: bool },
}

/// Scatter of a single observation, the same for all points if possible.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Spread {
    /// One standard deviation for all, measured by the scatter about the fit.
    Measured,
    /// One standard deviation for all, which was given.
    Constant(#[cfg_attr(feature = "json", serde(with = "crate::model::exact"))] f64),
    /// Scatter of a count: the square root of its expectation.
    Counts,
    /// Each observation has its own.
    Own,
}

impl Sigma<'_> {
    /// # Errors
    /// [`Error::BadOption`] for a constant that is no standard deviation.
    pub(crate) fn check(&self) -> Result<()> {
        match *self {
            Sigma::Constant(value) if !is_deviation(value) => {
                let requirement = "a positive, finite standard deviation";
                Err(Error::BadOption { name: "sigma", value, requirement })
            }
            _ => Ok(()),
        }
    }

    /// The refusal of a source's column by an `entry` whose points come from no source.
    pub(super) fn without_source(&self, entry: &'static str) -> Error {
        self.unsuited(entry, "give the values with Sigma::Relative or Sigma::Absolute")
    }

    /// Returns true if the size of the errors is known, so that the covariance is not scaled by the scatter.
    pub(crate) fn is_absolute(&self) -> bool {
        !matches!(
            self,
            Sigma::Unknown
                | Sigma::Relative(_)
                | Sigma::RelativeColumn
                | Sigma::RelativeCovariance(_)
        )
    }

    /// The refusal of what `entry` cannot take.
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

/// Returns true if a number can be a standard deviation of one fit or of all.
pub(crate) fn is_deviation(sigma: f64) -> bool {
    sigma > 0.0 && sigma.is_finite()
}

impl Weights<'_> {
    /// Scatter of a single observation.
    pub(crate) fn spread(&self) -> Spread {
        match *self {
            Weights::Equal => Spread::Measured,
            Weights::Constant(sigma) => Spread::Constant(sigma),
            Weights::Each { .. } | Weights::Covariance { .. } => Spread::Own,
        }
    }

    /// Returns true if the size of the errors is known, so that the covariance is not scaled by the scatter.
    pub(crate) fn is_absolute(&self) -> bool {
        match *self {
            Weights::Equal => false,
            Weights::Constant(_) => true,
            Weights::Each { absolute, .. } | Weights::Covariance { absolute, .. } => absolute,
        }
    }

    /// The factor of all rows, where it is one: 1/σ.
    pub(crate) fn constant(&self) -> f64 {
        if let Weights::Constant(sigma) = self { 1.0 / sigma } else { 1.0 }
    }
}
