//! Estimators and robust losses, and the distance from which a fit with a loss may start.

use super::loss_formula::LossFormula;
use crate::constants::FAR;
use crate::error::{Error, Result};
use crate::model::var::Var;
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
/// in SciPy. With [`Sigma::Unknown`](crate::Sigma::Unknown) and [`Sigma::Relative`](crate::Sigma::Relative) it is
/// a sandwich, scaled by how far the points pull (Huber, Robust Statistics, 1981, section 7.6), so that it does not depend on
/// how far away the outliers are; SciPy takes the loss for squares there, which makes errors too long.
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
    /// One of the caller's own: see [`custom`](Loss::custom).
    Custom {
        /// Residual of which the formula has multiples.
        scale: f64,
        /// ρ by the residual over the scale.
        formula: LossFormula,
    },
}

impl Loss {
    /// Every robust loss, of one scale: to try what outliers do to a result.
    pub const fn robust(scale: f64) -> [Loss; 5] {
        [
            Loss::SoftL1 { scale },
            Loss::Huber { scale },
            Loss::Cauchy { scale },
            Loss::Arctan { scale },
            Loss::Tukey { scale },
        ]
    }

    /// A loss by its formula ρ(u), with u = r/C the residual, model − y over sigma, over the `scale`. The closure is
    /// traced once, like a model, and differentiated exactly; it may treat the two sides differently. A fit
    /// minimises ½ Σ C² ρ(u). SciPy's functions of z = (r/C)² are those of `u*u` here.
    ///
    /// ρ must be 0 at 0 and about u² near it on one side at least, so that small residuals count as they do in
    /// least squares and errors of parameters are what they are under other losses. It must not fall where |u|
    /// grows, and may be flat.
    ///
    /// A fit with a loss that pulls less on points that are far away begins with [`Loss::Cauchy`].
    ///
    /// # Errors
    /// [`Error::BadOption`] for a scale that is not positive and finite, and for a formula that is not as said
    /// above; [`Error::ModelPanicked`] and [`Error::ForeignVariable`] as for models.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, Loss};
    /// // Welsch's loss, and a line below peaks: points above it count a hundredth of those below.
    /// let welsch = Loss::custom(2.985, |u| 1.0 - (-(u * u)).exp())?;
    /// assert_eq!(welsch.scale(), Some(2.985));
    /// let below = Loss::custom(1.0, |u| u * u * u.lt(0.0).select(0.01, 1.0))?;
    /// let x: Vec<f64> = (0..200).map(f64::from).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 3.0 + 0.1 * x + 40.0 * (-((x - 80.0) / 6.0).powi(2)).exp()).collect();
    /// let line = CurveFit::new(|x, [a, b]| a + b * x).loss(below);
    /// let fit = line.fit(Data::new(&x, &y)?, [0.0, 0.0])?;
    /// assert!((fit.params()[1] - 0.1).abs() < 0.01);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn custom(scale: f64, formula: impl FnOnce(Var) -> Var) -> Result<Loss> {
        let loss = Loss::Custom { scale, formula: LossFormula::trace(formula)? };
        loss.validate().map(|()| loss)
    }

    /// The scale C, or `None` for least squares.
    pub fn scale(self) -> Option<f64> {
        match self {
            Loss::Linear => None,
            Loss::SoftL1 { scale }
            | Loss::Huber { scale }
            | Loss::Cauchy { scale }
            | Loss::Arctan { scale }
            | Loss::Tukey { scale }
            | Loss::Custom { scale, .. } => Some(scale),
        }
    }

    /// The formula of a loss of the caller's own.
    pub(crate) fn formula(self) -> Option<LossFormula> {
        match self {
            Loss::Custom { formula, .. } => Some(formula),
            _ => None,
        }
    }

    /// Returns true if the cost of an outlier grows without limit while its pull does not shrink.
    pub(crate) fn grows(self) -> bool {
        match self {
            Loss::SoftL1 { .. } | Loss::Huber { .. } => true,
            Loss::Custom { formula, .. } => !formula.redescends(),
            _ => false,
        }
    }

    /// The largest cost of `points` points that are at most a scale away, in units in which the scale is
    /// multiplied by `unit`. Under a loss that grows without limit the cost of outliers may be any multiple of
    /// this; it says nothing about the distance of the other points or the precision of their cost, and a fraction of
    /// it is not a tolerance. Under other losses, and without a loss, the result is infinite: the whole cost counts.
    pub(crate) fn bulk(self, points: usize, unit: f64) -> f64 {
        match self.scale() {
            Some(scale) if self.grows() => 0.5 * points as f64 * (scale * unit).powi(2),
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
    pub fn name(self) -> &'static str {
        match self {
            Loss::Linear => "least squares",
            Loss::SoftL1 { .. } => "soft L1",
            Loss::Huber { .. } => "Huber",
            Loss::Cauchy { .. } => "Cauchy",
            Loss::Arctan { .. } => "arctan",
            Loss::Tukey { .. } => "Tukey",
            Loss::Custom { .. } => "custom",
        }
    }
}

impl Loss {
    /// Returns true if the pull of a point decreases with its distance. If nearly all points are far, as from a
    /// bad start, such a loss is flat or has a minimum at every few points that the model can pass through.
    pub(crate) fn redescends(self) -> bool {
        match self {
            Loss::Cauchy { .. } | Loss::Arctan { .. } | Loss::Tukey { .. } => true,
            Loss::Custom { formula, .. } => formula.redescends(),
            _ => false,
        }
    }

    /// The loss whose minimum is the start for this one, if it is not the caller's: that of the same
    /// scale which leaves no point out.
    pub(crate) fn first(self) -> Option<Loss> {
        match self {
            Loss::Arctan { scale } | Loss::Tukey { scale } => Some(Loss::Cauchy { scale }),
            Loss::Custom { scale, formula } => {
                formula.redescends().then_some(Loss::Cauchy { scale })
            }
            _ => None,
        }
    }

    /// The scale, if the value of this loss says how far the points are.
    pub(crate) fn gauge(self) -> Option<f64> {
        match self {
            Loss::Cauchy { scale } => Some(scale),
            _ => None,
        }
    }
}

/// Typical distance of the points in scales: √(exp(mean of ln(1 + z)) − 1). `cost`: under Cauchy's loss of
/// this `scale`, in its units. This loss has the longest range, and its value measures the distance: the
/// mean of ln(1 + (r/C)²) is the logarithm of a mean that a few outliers hardly change.
pub(crate) fn distance(cost: f64, scale: f64, points: usize) -> f64 {
    let mean = 2.0 * (cost / scale / scale) / points as f64;
    mean.exp_m1().sqrt()
}

/// Returns true if the points are too far away to start a fit with this loss. `cost`: under this loss,
/// in units in which its scale is multiplied by `unit`.
pub(crate) fn is_far(loss: Loss, cost: f64, unit: f64, points: usize) -> bool {
    loss.gauge().is_some_and(|scale| distance(cost, scale * unit, points) > FAR)
}

/// The likelihood that a fit maximises.
///
/// # Least squares
/// The residuals are normal with standard deviation σ ([`Sigma`](crate::Sigma)). The default.
///
/// # Poisson
/// Every y is a count with the model's value f as its expectation: photons in a pixel, events in a bin.
/// The fit maximises the Poisson likelihood: it minimises half the deviance,
/// Σ f − y + y·ln(y/f) (f alone if y is 0). Least squares on few counts is biased: with
/// weights 1/y it overweights pixels that are low by chance, without weights it ignores the small errors of low
/// pixels. The likelihood is not biased in this way.
///
/// The variance of a count is its expectation; therefore sigma is not set, and the errors
/// are absolute: they come from the Fisher information Σ ∂f ∂fᵀ/f at the solution.
/// [`chi_square`](crate::Fit::chi_square) is the deviance; divided by the degrees of freedom it is about 1
/// for a right model and expectations above 5. It is up to 1.16 at an expectation of 1.5, where it is largest, 1 at 0.5, and less
/// below: 0.47 at 0.1.
///
/// The model must be positive at points with counts: other trial steps are rejected, and another start
/// is an error. Use bounds, or the exponential of a parameter, to keep it positive. The model may be 0
/// at points without counts.
///
/// ```
/// use dualfit::{CurveFit, Data, Estimator};
/// let x: Vec<f64> = (0..60).map(f64::from).collect();
/// // A decay of 20 counts on a background of 2.
/// let counts = [
///     23., 17., 20., 14., 16., 9., 13., 14., 12., 8., 9., 11., 6., 8., 5., 9., 4., 6., 3., 6., 5., 4., 4., 2.,
///     5., 3., 1., 5., 3., 4., 2., 2., 4., 1., 3., 2., 0., 4., 2., 3., 2., 1., 3., 2., 1., 2., 4., 1., 2., 2.,
///     0., 3., 2., 1., 3., 2., 2., 1., 4., 2.,
/// ];
/// let decay = CurveFit::new(|t, [a, k, b]| a * (-k * t).exp() + b).estimator(Estimator::Poisson);
/// let fit = decay.fit(Data::new(&x, &counts)?, [15.0, 0.05, 1.0])?;
/// assert!(fit.converged());
/// // The score equation of the background: as many counts are expected as there were.
/// let expected: f64 = fit.predict(&x)?.iter().sum();
/// assert!((expected - counts.iter().sum::<f64>()).abs() < 1e-6);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Estimator {
    /// The sum of squared residuals over σ, or of a robust loss of them.
    #[default]
    LeastSquares,
    /// The likelihood of counts.
    Poisson,
}

/// Expectations below this fraction of the usual ones are dark.
pub(super) const DARK: f64 = 1.0 / (1u64 << 20) as f64;

/// The expected count that is dark where counts have this mean: 2⁻²⁰ of one event, or of the mean where
/// that is less.
pub(super) fn darkest(mean: f64) -> f64 {
    if mean > 0.0 && mean < 1.0 { DARK * mean } else { DARK }
}

#[cfg(test)]
mod tests {
    use super::{FAR, distance, is_far};
    use crate::data::loss::Loss;

    #[test]
    fn a_few_outliers_do_not_make_a_start_far() {
        let scale = 0.5;
        let cost = |residuals: &[f64]| -> f64 {
            let each = residuals.iter().map(|r| (r / scale).powi(2).ln_1p());
            0.5 * scale * scale * each.sum::<f64>()
        };
        let mut residuals = vec![7.0 * scale; 100];
        assert!((distance(cost(&residuals), scale, 100) - 7.0).abs() < 1e-12);
        residuals[..5].fill(1e8 * scale);
        let loss = Loss::Cauchy { scale };
        assert!(!is_far(loss, cost(&residuals), 1.0, 100));
        residuals.fill(1.001 * FAR * scale);
        assert!(is_far(loss, cost(&residuals), 1.0, 100));
        assert!(is_far(loss, 16.0 * cost(&residuals), 4.0, 100));
        assert!(!is_far(Loss::Huber { scale }, cost(&residuals), 1.0, 100));
    }
}
