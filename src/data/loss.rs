//! Robust losses: how much a residual counts.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The loss of a weighted residual r (in units of σ where one is given, else in units of y). A fit
/// minimises ½ Σ C² ρ((r/C)²) with C the `scale`, the residual beyond which a point counts as an
/// outlier; the definitions are SciPy's, and Tukey's biweight in the same form.
///
/// Cauchy's, arctan's and Tukey's losses redescend: the farther a point is, the less it pulls. From a
/// start that is far from all points they would leave out the good ones with the outliers. So a fit
/// with arctan's or Tukey's begins from the end of one with Cauchy's of the same scale, which leaves none out; and where the
/// points are typically more than 30 scales away, that one begins with Cauchy's loss on the scale of
/// that distance, narrowed from stage to stage. Limits and counts are those of all stages together.
///
/// A scale far below the scatter of the data leaves out nearly all points, and there is a minimum
/// wherever the model passes through a few of them. [`Fit::effective_points`](crate::Fit::effective_points) is
/// the sum of ρ', by which each point counts. Where it is small there is a
/// [warning](crate::Warning::FewPointsCount); where, under a loss that redescends, no more count than there are
/// parameters, the fit has [not converged](crate::Termination::BeyondScale).
///
/// Small residuals count alike under every loss: ρ(z) = z + O(z²). The covariance comes from the
/// Jacobian with Triggs' correction (Triggs et al., Bundle Adjustment, 2000, section 4.3), limited as
/// in SciPy. With [`Sigma::Unknown`](crate::Sigma::Unknown) the outliers' loss is part of the scatter
/// that scales it and widens the error bars, as in SciPy; say sigma if you know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Loss {
    /// ρ(z) = z: least squares.
    #[default]
    Linear,
    /// ρ(z) = 2(√(1 + z) − 1): a smooth absolute value.
    SoftL1 {
        /// Residual beyond which a point counts as an outlier.
        scale: f64,
    },
    /// ρ(z) = z for z ≤ 1, else 2√z − 1: squares inside, absolute values outside.
    Huber {
        /// Residual beyond which a point counts as an outlier.
        scale: f64,
    },
    /// ρ(z) = ln(1 + z): outliers lose most of their influence.
    Cauchy {
        /// Residual beyond which a point counts as an outlier.
        scale: f64,
    },
    /// ρ(z) = atan(z): the loss of a point is bounded.
    Arctan {
        /// Residual beyond which a point counts as an outlier.
        scale: f64,
    },
    /// ρ(z) = (1 − (1 − z)³)/3 for z < 1, else 1/3: outliers are left out.
    Tukey {
        /// Residual from which on a point is left out.
        scale: f64,
    },
}

impl Loss {
    /// The scale C, or `None` for least squares.
    pub fn scale(self) -> Option<f64> {
        match self {
            Loss::Linear => None,
            Loss::SoftL1 { scale }
            | Loss::Huber { scale }
            | Loss::Cauchy { scale }
            | Loss::Arctan { scale }
            | Loss::Tukey { scale } => Some(scale),
        }
    }

    /// The largest cost of so many points that are at most a scale away, in units in which the scale is
    /// multiplied by `unit`. Under a loss that grows without end outliers' cost may be any number of times
    /// that; it tells neither how far the other points are nor how well their cost is known, and a part of
    /// it is no tolerance. Under other losses, and under none, all of the cost counts: infinite.
    pub(crate) fn bulk(self, points: usize, unit: f64) -> f64 {
        match self {
            Loss::SoftL1 { scale } | Loss::Huber { scale } => {
                0.5 * points as f64 * (scale * unit).powi(2)
            }
            _ => f64::INFINITY,
        }
    }

    /// Checks that the scale is a positive number.
    ///
    /// # Errors
    /// [`Error::BadOption`] otherwise.
    pub(crate) fn validate(self) -> Result<()> {
        match self.scale() {
            Some(value) if !(value > 0.0 && value.is_finite()) => Err(Error::BadOption {
                name: "loss scale",
                value,
                requirement: "positive and finite",
            }),
            _ => Ok(()),
        }
    }

    /// Name of the loss, as reports print it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Loss::Linear => "least squares",
            Loss::SoftL1 { .. } => "soft L1",
            Loss::Huber { .. } => "Huber",
            Loss::Cauchy { .. } => "Cauchy",
            Loss::Arctan { .. } => "arctan",
            Loss::Tukey { .. } => "Tukey",
        }
    }
}
