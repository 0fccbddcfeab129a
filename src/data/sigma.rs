//! What is known of the errors of the data.

use nalgebra::DMatrix;

/// The standard deviations of `y`, and what they mean. The choice is explicit because it decides the
/// error bars: a parameter's standard error is a measured number only if the data's are.
#[derive(Clone, Copy, Debug, Default)]
pub enum Sigma<'a> {
    /// Nothing is known but that all points have the same error, which the scatter about the fit
    /// measures: the covariance is scaled by the reduced chi-square.
    #[default]
    Unknown,
    /// Standard deviations up to a common factor, one per point; the scatter about the fit measures
    /// the factor. SciPy's `absolute_sigma=False`.
    Relative(&'a [f64]),
    /// Standard deviations in the units of y, one per point; the covariance is not scaled.
    Absolute(&'a [f64]),
    /// One standard deviation in the units of y for all points; the covariance is not scaled.
    Constant(f64),
    /// The covariance matrix of y, n × n, symmetric and positive definite, in the units of y². Its
    /// factorisation takes n³/3 operations and n(n + 1)/2 numbers: meant for up to some thousand points.
    Covariance(&'a DMatrix<f64>),
}

/// What is known of how far a single observation scatters, whatever its point.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Spread {
    /// One standard deviation for all, measured by the scatter about the fit.
    Measured,
    /// One standard deviation for all, which was given.
    Constant(#[cfg_attr(feature = "serde", serde(with = "crate::model::exact"))] f64),
    /// That of a count: the root of what is expected.
    Counts,
    /// Each observation has its own.
    Own,
}

impl Sigma<'_> {
    /// What it says of a single observation.
    pub(crate) fn spread(&self) -> Spread {
        match *self {
            Sigma::Unknown => Spread::Measured,
            Sigma::Constant(sigma) => Spread::Constant(sigma),
            Sigma::Relative(_) | Sigma::Absolute(_) | Sigma::Covariance(_) => Spread::Own,
        }
    }

    /// Whether the size of the errors is known, so that the covariance is not scaled by the scatter.
    pub(crate) fn is_absolute(&self) -> bool {
        matches!(self, Sigma::Absolute(_) | Sigma::Constant(_) | Sigma::Covariance(_))
    }
}
