//! Estimators and robust losses, the test whether the points are too far away to start a fit with a loss, and the
//! moments of the deviance of a single count.

use super::loss_formula::LossFormula;
use crate::constants::FAR;
use crate::error::{Error, Result};
use crate::math;
use crate::model::var::Var;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The loss of a weighted residual r (in units of σ if it is set, else in units of y). A fit minimises
/// ½ Σ C² ρ((r/C)²). C is the `scale`: the residual beyond which a point counts as an outlier. The definitions are
/// SciPy's; Tukey's biweight has the same form.
///
/// Cauchy's, arctan's and Tukey's losses redescend: the pull of a point decreases with its distance. A fit that
/// started far from all points would leave out good points together with the outliers. Therefore a fit with arctan's
/// or Tukey's loss starts from the result of a fit with Cauchy's loss of the same scale, which leaves no point out. If
/// the points are typically more than 30 scales away, the fit with Cauchy's loss starts with this distance as its
/// scale, which is reduced from stage to stage. Limits and counts apply to all stages together.
///
/// A scale far below the scatter of the data leaves out nearly all points, and there is a minimum wherever the model
/// passes through a few of them. [`Fit::effective_points`](crate::Fit::effective_points) is the sum of the weights ρ'
/// of the points. A small sum causes a [warning](crate::Warning::FewPointsCount). If the loss redescends and the sum
/// is not above the number of parameters, the fit has [not converged](crate::Termination::BeyondScale).
///
/// Small residuals have the same weight under every loss: ρ(z) = z + O(z²). The covariance comes from the
/// Jacobian with Triggs' correction (Triggs et al., Bundle Adjustment, 2000, section 4.3), limited as in SciPy. With
/// [`Sigma::Unknown`](crate::Sigma::Unknown) and [`Sigma::Relative`](crate::Sigma::Relative) it is a sandwich
/// estimate, scaled by the pull of the points (Huber, Robust Statistics, 1981, section 7.6), and does not depend on the
/// distance of the outliers. SciPy scales by the loss as if it were a sum of squares, which makes the errors too large.
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
        /// Residual beyond which a point is left out.
        scale: f64,
    },
    /// A custom loss: see [`custom`](Loss::custom).
    Custom {
        /// Unit of the residual in the formula.
        scale: f64,
        /// ρ as a function of the residual over the scale.
        formula: LossFormula,
    },
}

impl Loss {
    /// Returns every robust loss with this scale, for tests of the influence of outliers on a result.
    pub const fn robust(scale: f64) -> [Loss; 5] {
        [
            Loss::SoftL1 { scale },
            Loss::Huber { scale },
            Loss::Cauchy { scale },
            Loss::Arctan { scale },
            Loss::Tukey { scale },
        ]
    }

    /// Creates a loss from its formula ρ(u). u = r/C is the residual r = (model − y)/sigma over the `scale` C. The
    /// closure is traced once, like a model, and differentiated exactly; it may treat positive and negative u
    /// differently. A fit minimises ½ Σ C² ρ(u). For a function of z = (r/C)² from SciPy, substitute `u*u` for z.
    ///
    /// ρ must be 0 at 0 and about u² near 0 on at least one side. Then small residuals have the same weight as in least
    /// squares, and errors of parameters have the same meaning as under other losses. ρ must not decrease with growing
    /// |u|; it may be constant.
    ///
    /// If the loss redescends, a fit begins with [`Loss::Cauchy`].
    ///
    /// # Errors
    /// [`Error::BadOption`] for a scale that is not positive and finite, and for a formula that violates these
    /// conditions; [`Error::ModelPanicked`] and [`Error::ForeignVariable`] as for models.
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

    /// Returns the scale C; `None` for least squares.
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

    /// Returns the formula of a custom loss.
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

    /// Returns the largest cost of `points` points whose residuals are at most one scale. `unit`: factor of the
    /// residuals and of the scale. Under a loss that grows without limit, the cost of outliers may be any multiple of
    /// this value. Such a cost contains no information about the distance of the other points or the precision of their
    /// cost; therefore a fraction of it cannot serve as a tolerance. Under other losses, and without a loss, the result
    /// is infinite: the whole cost counts.
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

    /// Returns the name of the loss in reports.
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
    /// Returns true if the pull of a point decreases with its distance. If nearly all points are far away, for example
    /// at a bad start, the cost is flat or has a minimum wherever the model can pass through a few points.
    pub(crate) fn redescends(self) -> bool {
        match self {
            Loss::Cauchy { .. } | Loss::Arctan { .. } | Loss::Tukey { .. } => true,
            Loss::Custom { formula, .. } => formula.redescends(),
            _ => false,
        }
    }

    /// Returns the loss that is minimised first, to compute the start for this loss: Cauchy's loss of the same scale,
    /// which leaves no point out. Returns `None` if this loss needs no such stage.
    pub(crate) fn first(self) -> Option<Loss> {
        match self {
            Loss::Arctan { scale } | Loss::Tukey { scale } => Some(Loss::Cauchy { scale }),
            Loss::Custom { scale, formula } => {
                formula.redescends().then_some(Loss::Cauchy { scale })
            }
            _ => None,
        }
    }

    /// Returns the scale of Cauchy's loss, whose value measures the [`distance`] of the points; `None` for other
    /// losses.
    pub(crate) fn gauge(self) -> Option<f64> {
        match self {
            Loss::Cauchy { scale } => Some(scale),
            _ => None,
        }
    }
}

/// Returns the typical distance of the points in units of the scale: √(exp(mean of ln(1 + z)) − 1). `cost`: cost under
/// Cauchy's loss of this `scale`, in the unit of the squared scale. This loss has the longest range, and its value
/// measures the distance: the mean of ln(1 + (r/C)²) is the logarithm of a geometric mean, which a few outliers hardly
/// change.
pub(crate) fn distance(cost: f64, scale: f64, points: usize) -> f64 {
    let mean = 2.0 * (cost / scale / scale) / points as f64;
    mean.exp_m1().sqrt()
}

/// Returns true if the points are too far away to start a fit with this loss. `cost`: cost under this loss, with
/// residuals and scale multiplied by `unit`.
pub(crate) fn is_far(loss: Loss, cost: f64, unit: f64, points: usize) -> bool {
    loss.gauge().is_some_and(|scale| distance(cost, scale * unit, points) > FAR)
}

/// The likelihood that a fit maximises.
///
/// # Least squares
/// The residuals are normal with standard deviation σ ([`Sigma`](crate::Sigma)). The default.
///
/// # Poisson
/// Every y is a count whose expectation is the model's value f: photons in a pixel, events in a bin.
/// The fit maximises the Poisson likelihood: it minimises half the deviance,
/// Σ f − y + y·ln(y/f) (f alone if y is 0). Least squares on few counts is biased: with
/// weights 1/y it overweights pixels that are low by chance, without weights it ignores the small errors of low
/// pixels. The likelihood is not biased in this way.
///
/// The variance of a count is its expectation; therefore sigma is not set, and the errors
/// are absolute: they come from the Fisher information Σ ∂f ∂fᵀ/f at the solution.
/// [`chi_square`](crate::Fit::chi_square) is the deviance; divided by the degrees of freedom it is about 1
/// for a correct model and expectations above 5. Its maximum is 1.16 at an expectation of 1.5. It is 1 at an
/// expectation of 0.5 and smaller below: 0.47 at 0.1.
///
/// The model must be positive at points with counts: trial steps that violate this are rejected, and a start that
/// violates it is an error. Use bounds, or the exponential of a parameter, to keep the model positive. It may be 0
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
    /// Minimises the sum of the squares of residual/σ, or of their robust loss.
    #[default]
    LeastSquares,
    /// Maximises the likelihood of counts.
    Poisson,
}

/// The limit that [`darkest`] returns for a mean count of 1 or more, or 0. For a mean between 0 and 1, the limit is
/// this number times the mean.
pub(super) const DARK: f64 = 1.0 / (1u64 << 20) as f64;

/// Returns the lower limit of the expected count f in the weight 1/f of a point without events. `mean`: mean count.
/// The limit is 2⁻²⁰ events, or 2⁻²⁰ times the mean if the mean is below 1.
pub(super) fn darkest(mean: f64) -> f64 {
    if mean > 0.0 && mean < 1.0 { DARK * mean } else { DARK }
}

/// Minimum expectation μ for the series in 1/μ, whose error is at most 1e-4 there.
const LARGE: f64 = 20.0;
/// Number of intervals of the table, of equal length in √μ, for μ up to `LARGE`. Linear interpolation of the moments
/// has an error of 1e-3.
const INTERVALS: usize = 512;
/// Excess over the expectation up to which counts are summed: larger counts have a probability below 1e-20.
const BEYOND: f64 = 70.0;

/// Maximum mean and maximum variance over all expectations.
pub(crate) const LARGEST_DEVIANCE: [f64; 2] = [1.1605, 2.4058];

/// Returns mean and variance of the deviance d = 2(μ − k + k·ln(k/μ)) of a Poisson variable k of expectation μ = `mu`.
/// For large expectations they approach 1 and 2, the moments of chi-square with one degree of freedom. For an
/// expectation of 0 they are 0.
///
/// The series for large μ come from the central moments of k, which are polynomials of μ.
pub(crate) fn expected_deviance(mu: f64) -> [f64; 2] {
    static TABLE: OnceLock<Vec<[f64; 2]>> = OnceLock::new();
    if mu >= LARGE {
        let u = mu.recip();
        let mean = 1.0 + u * (1.0 / 6.0 + u * (1.0 / 6.0 + u * (19.0 / 60.0)));
        return [mean, 2.0 + u * (2.0 / 3.0 + u * (4.0 / 3.0))];
    }
    let step = LARGE.sqrt() / INTERVALS as f64;
    let node = |i: usize| summed((i as f64 * step).powi(2));
    let table = TABLE.get_or_init(|| (0..=INTERVALS).map(node).collect());
    let place = mu.max(0.0).sqrt() / step;
    let i = (place as usize).min(INTERVALS - 1);
    let part = place - i as f64;
    [0, 1].map(|k| table[i][k] + part * (table[i + 1][k] - table[i][k]))
}

/// Computes mean and variance of the deviance as sums over k.
fn summed(mu: f64) -> [f64; 2] {
    if mu == 0.0 {
        return [0.0; 2];
    }
    let (mut mean, mut square) = (0.0, 0.0);
    let mut probability = math::exp(-mu);
    let mut k = 0.0;
    while k < mu + BEYOND {
        let log = if k == 0.0 { 0.0 } else { k * math::ln(k / mu) };
        let deviance = 2.0 * (mu - k + log);
        mean += probability * deviance;
        square += probability * deviance * deviance;
        k += 1.0;
        probability *= mu / k;
    }
    [mean, square - mean * mean]
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

#[cfg(test)]
mod deviance_tests {
    use super::expected_deviance;

    /// Compares with sums over the probabilities of SciPy 1.17.1 (`scipy.stats.poisson.pmf`).
    #[test]
    fn moments_are_those_of_the_distribution() {
        let recorded = [
            (1e-3, 0.013816896564699945, 0.13967563547875983),
            (0.01, 0.09224174603916087, 0.5242636707538878),
            (0.1, 0.4740978476599372, 0.8604017637471463),
            (0.5, 1.0070175690293757, 0.7296691168169196),
            (1.0, 1.1468056182452404, 1.3646018792800885),
            (3.0, 1.094585089529006, 2.405684666708107),
            (10.0, 1.0188285396938768, 2.087687493957343),
            (20.0, 1.0087966524606844, 2.037279725673999),
            (50.0, 1.0034026894797654, 2.013900476916305),
            (1000.0, 1.0001668336505762, 2.0006680039092926),
        ];
        for (mu, mean, variance) in recorded {
            let [m, v] = expected_deviance(mu);
            assert!((m - mean).abs() < 1e-3 && (v - variance).abs() < 1e-2, "{mu}: {m} {v}");
        }
        assert_eq!(expected_deviance(0.0), [0.0; 2]);
    }
}
