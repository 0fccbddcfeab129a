//! Comparison of models: tests of whether a larger model is justified.

use super::Fit;
use super::distributions::{chi_square_upper, f_upper};
use crate::data::loss::Estimator;
use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;
use crate::math;

/// Maximum relative difference of two sums of squares of the same data.
const SAME: f64 = 1e-9;

/// Test of a model against a larger model that contains it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FTest {
    /// F = ((S₀ − S₁)/(k₁ − k₀))/(S₁/(n − k₁)), or the chi-square S₀ − S₁ if errors are absolute. S is the sum of
    /// squared weighted residuals and k the rank, with index 0 for the smaller and 1 for the larger model.
    pub statistic: f64,
    /// k₁ − k₀, the degrees of freedom of the numerator or of chi-square.
    pub extra: usize,
    /// n − k₁, the degrees of freedom of the denominator; `None` for the chi-square test.
    pub residual: Option<usize>,
    /// Probability of a statistic at least as large if the smaller model is right.
    pub p_value: f64,
}

/// Information criteria of one of several models of the same data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Akaike {
    /// [`Fit::aic`].
    pub aic: f64,
    /// [`Fit::aicc`].
    pub aicc: f64,
    /// Akaike weight of the model: exp(−Δ/2) divided by the sum of these terms over all models, where Δ is the AIC
    /// minus the smallest AIC.
    pub weight: f64,
    /// Akaike weight computed from AICc; preferable unless there are more than 40 points per parameter.
    pub corrected_weight: f64,
}

impl Fit {
    /// Akaike's criterion corrected for few points, AIC + 2K(K + 1)/(n − K − 1) (Hurvich and Tsai, 1989). K is the
    /// [`rank`](Fit::rank), plus 1 if the scatter was estimated. Infinite if n ≤ K + 1.
    pub fn aicc(&self) -> f64 {
        let k = self.fitted_rank() as f64 + f64::from(u8::from(self.scaled));
        let rest = self.points as f64 - k - 1.0;
        if rest > 0.0 { self.aic() + 2.0 * k * (k + 1.0) / rest } else { f64::INFINITY }
    }
}

/// Tests the model of `small` against the model of `large`, which must contain it: `large` is `small` with additional
/// free parameters. The test is the F test if the scatter was estimated, and the chi-square test of the likelihood
/// ratio if sigma is absolute or y are counts. It is exact for linear models, and for others in the limit of many
/// points.
///
/// # Errors
/// [`UncertaintyError::NotComparable`] if a fit did not converge; if points, loss or kind of sigma of the fits differ;
/// if `large` does not have more parameters, has a higher cost, or has no degree of freedom; and for robust losses,
/// because their sums do not have these distributions.
pub fn compare_nested(small: &Fit, large: &Fit) -> Result<FTest> {
    comparable(small, large)?;
    if small.loss.scale().is_some() {
        let loss = || small.loss.name().to_owned();
        return refuse("the loss", [loss(), loss()], "fit both by least squares");
    }
    let (k0, k1) = (small.fitted_rank(), large.fitted_rank());
    if k0 >= k1 {
        let ranks = [k0.to_string(), k1.to_string()];
        let remedy = "give the fit with fewer parameters first";
        return refuse("the number of parameters determined", ranks, remedy);
    }
    let gain = 2.0 * (small.cost - large.cost);
    if gain < -SAME * small.cost.max(large.cost) {
        let costs = [small.cost().to_string(), large.cost().to_string()];
        let remedy = "a model that contains another fits no worse: start the larger from the smaller's parameters";
        return refuse("the cost", costs, remedy);
    }
    let (gain, extra) = (gain.max(0.0), k1 - k0);
    if !large.scaled {
        let statistic = gain / large.row_unit / large.row_unit;
        let p_value = chi_square_upper(statistic, extra as f64);
        return Ok(FTest { statistic, extra, residual: None, p_value });
    }
    let dof = large.degrees_of_freedom();
    if dof == 0 {
        let freedoms = [small, large].map(|fit| fit.degrees_of_freedom().to_string());
        return refuse("the degrees of freedom", freedoms, "the larger model needs more points");
    }
    let statistic = match gain {
        0.0 => 0.0,
        gain => gain / extra as f64 / (2.0 * large.cost / dof as f64),
    };
    let p_value = f_upper(statistic, extra as f64, dof as f64);
    Ok(FTest { statistic, extra, residual: Some(dof), p_value })
}

/// Computes the Akaike weights of several models of the same data, in the given order. The models need not be nested.
///
/// # Errors
/// [`UncertaintyError::NotComparable`] if a fit did not converge, or if points, loss or kind of sigma of two fits
/// differ; [`UncertaintyError::NoFits`] for an empty list.
pub fn akaike_weights(fits: &[&Fit]) -> Result<Vec<Akaike>> {
    let Some(first) = fits.first() else { return Err(UncertaintyError::NoFits.into()) };
    fits.iter().try_for_each(|fit| comparable(first, fit))?;
    let aic: Vec<f64> = fits.iter().map(|fit| fit.aic()).collect();
    let aicc: Vec<f64> = fits.iter().map(|fit| fit.aicc()).collect();
    let (weight, corrected) = (weights(&aic), weights(&aicc));
    let one = |i: usize| Akaike {
        aic: aic[i],
        aicc: aicc[i],
        weight: weight[i],
        corrected_weight: corrected[i],
    };
    Ok((0..fits.len()).map(one).collect())
}

/// Returns exp(−Δ/2), normalised to the sum 1. An exact fit, with a criterion of −∞, has the whole weight.
fn weights(criteria: &[f64]) -> Vec<f64> {
    let least = criteria.iter().copied().fold(f64::INFINITY, f64::min);
    let likelihood = |c: &f64| if *c == least { 1.0 } else { math::exp(-0.5 * (c - least)) };
    let likelihoods: Vec<f64> = criteria.iter().map(likelihood).collect();
    let sum: f64 = likelihoods.iter().sum();
    likelihoods.iter().map(|l| l / sum).collect()
}

/// Checks that two fits are comparable: both converged, with the same data and the same cost.
fn comparable(a: &Fit, b: &Fit) -> Result<()> {
    if !(a.converged() && b.converged()) {
        let ends = [a, b].map(|fit| match fit.converged() {
            true => "converged".to_owned(),
            false => format!("not converged ({:?})", fit.termination),
        });
        let remedy =
            "a cost that is not the least says nothing of a model: fit again from another start";
        return refuse("the result", ends, remedy);
    }
    let same = "fit both to the same points";
    if a.points != b.points {
        return refuse("the number of points", [a.points.to_string(), b.points.to_string()], same);
    }
    if a.estimator != b.estimator {
        let names = [a, b].map(|fit| match fit.estimator {
            Estimator::LeastSquares => "least squares".to_owned(),
            Estimator::Poisson => "Poisson".to_owned(),
        });
        return refuse("the estimator", names, "fit both with the same one");
    }
    if a.loss != b.loss {
        let names = [a, b].map(|fit| format!("{:?}", fit.loss));
        return refuse("the loss", names, "fit both with the same one");
    }
    if a.scaled != b.scaled {
        let names = [a, b].map(|fit| if fit.scaled { "relative" } else { "absolute" }.to_owned());
        return refuse("sigma", names, "say the same of sigma in both");
    }
    let scatter = |fit: &Fit| (fit.scatter, fit.row_unit);
    let ((s, unit), (t, other)) = (scatter(a), scatter(b));
    if unit != other || (s - t).abs() > SAME * s.max(t) {
        let names = [(s, unit), (t, other)].map(|(s, unit)| (s.sqrt() / unit).to_string());
        return refuse("the scatter of y about its mean", names, same);
    }
    Ok(())
}

fn refuse<T>(what: &'static str, [first, second]: [String; 2], remedy: &'static str) -> Result<T> {
    Err(UncertaintyError::NotComparable { what, first, second, remedy }.into())
}
