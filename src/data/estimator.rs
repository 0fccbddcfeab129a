//! What is maximised: how likely the data are under the model.

use serde::{Deserialize, Serialize};

/// The likelihood that a fit maximises.
///
/// # Least squares
/// The residuals are normal with standard deviation σ ([`Sigma`](crate::Sigma)). The default.
///
/// # Poisson
/// Every y is a count with the model's value f as its expectation: photons in a pixel, events in a bin.
/// The fit maximises the Poisson likelihood, which is to minimise half the deviance,
/// Σ f − y + y·ln(y/f) (just f where y is 0). Least squares on counts is biased when they are few: with
/// weights 1/y it believes pixels that happen to be low, without weights it ignores that low pixels
/// are certain. The likelihood is not.
///
/// The variance of a count is its expectation, so there is nothing to be said of sigma, and the errors
/// are absolute: they come from the Fisher information Σ ∂f ∂fᵀ/f at the solution.
/// [`chi_square`](crate::Fit::chi_square) is the deviance; divided by the degrees of freedom it is about 1
/// for a right model and counts well above 1, less for few counts.
///
/// The model must be positive where anything was counted: a trial where it is not is rejected, a start
/// where it is not is an error. Bounds, or the exponential of a parameter, keep it so. A model may be 0
/// where nothing was counted.
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
