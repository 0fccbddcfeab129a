//! Tests of whether the data reject the fitted curve.
//!
//! **Chi-square**, if sigma is absolute or y are counts: the probability of a χ² at least as large as the observed one,
//! if curve and sigma are right. For counts χ² is the deviance; the fitted expectations determine its mean and
//! variance.
//!
//! **Autocorrelation** of the residuals r in order of x, for every kind of sigma. A wrong curve leaves a trend, so that
//! neighbouring residuals are similar. Two statistics are tested. For smooth curves their p-values are too large rather
//! than too small:
//!
//! 1. ρ = Σ rᵢrᵢ₊₁ / Σ rᵢ². Except for the first and last residual it equals 1 − d/2 with Durbin and Watson's d.
//!    Without correlation, ρ√(m/(1 − ρ²)) has about Student's t distribution with m = (Σ rᵢ²)²/Σ rᵢ²rᵢ₊₁² degrees of
//!    freedom. m is n for residuals of equal variance, and less if a few large residuals dominate. A fit removes low
//!    frequencies from the residuals, which lowers ρ.
//! 2. The variance of the residuals divided by s² = Σ (rᵢ₋₁ − 2rᵢ + rᵢ₊₁)²/6(n − 2), the variance computed from second
//!    differences. A smooth curve does not change s² (Gasser, Sroka and Jennen-Steinmetz, Biometrika 73, 1986). The
//!    ratio has about an F distribution. It detects smooth residuals of as few as 12 points. The kurtosis of the
//!    differences reduces both degrees of freedom.
//!
//! Simulations covered normal, uniform, exponential, log-normal, Student's and Cauchy's errors, unequal variances and
//! counts, with 2 to 7 smooth regressors and 6 to 1000 points. At most 0.2 of 1000 fits had a p-value below 2e-4 in
//! either statistic. If all regressors had the highest frequencies, such as 7 regressors for 20 points, up to 21 of
//! 1000 fits were rejected.

use super::Fit;
use super::distributions::f_upper;
use super::warning::Warning;
use crate::solver::evaluator::{Evaluator, MeanDeviance, ResidualSample};
use crate::solver::termination::Termination;

/// The probability below which a chi-square rejects a fit.
pub(super) const REJECTED: f64 = 1e-4;
/// The nominal probability below which Student's t of the autocorrelation rejects a fit.
const CORRELATED: f64 = 4e-4;
/// The nominal probability below which the F statistic of second differences rejects a fit.
const SMOOTH: f64 = 2e-4;
/// Factor on the limits of the p-values: a fit with a p-value below this multiple of its limit is suspicious.
const SUSPICIOUS: f64 = 100.0;
/// Autocorrelations up to this value are ignored, even if they are significant: they change standard errors by less
/// than a tenth.
const LEAST_CORRELATION: f64 = 0.1;
/// Residuals below this fraction of y are rounding errors.
const ROUNDING: f64 = 1e-7;
/// Rounding of y to f32 or to integers explains squared residuals up to this multiple of the variance of the rounding.
const ROUNDED: f64 = 4.0;
/// Minimum number of residuals for a test.
const FEWEST: usize = 8;
/// Factor by which the correlation of second differences reduces their degrees of freedom: Σ of squared correlations.
const OVERLAP: f64 = 35.0 / 18.0;

/// The autocorrelation of a sequence of residuals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Correlation {
    /// Durbin and Watson's Σ(rᵢ − rᵢ₋₁)²/Σrᵢ².
    pub(crate) durbin_watson: f64,
    /// The smaller of the two p-values, each divided by its limit (`CORRELATED`, `SMOOTH`): below 1 the data reject the
    /// curve.
    exceeds: f64,
    /// The p-value of the statistic that determines `exceeds`.
    pub(crate) p_value: f64,
}

/// Results of the tests that need the residuals.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResidualTests {
    /// The data set with the most significant autocorrelation, counted from 0. Its `exceeds` (not its `p_value`) is
    /// multiplied by the number of sets.
    worst: Option<(usize, Correlation)>,
    /// Deviance of counts.
    deviance: Option<MeanDeviance>,
    sets: usize,
    /// Number of evaluated residuals.
    tested: usize,
}

impl ResidualTests {
    /// Evaluates and tests the residuals of a fit that ended at `params`. If the pass fails, they are not tested.
    pub(crate) fn of(
        points: &mut dyn Evaluator,
        (params, termination): (&[f64], Termination),
        estimated: usize,
    ) -> ResidualTests {
        let mut tests = ResidualTests::default();
        let is_tested = termination.is_converged() || termination == Termination::AllFixed;
        if !is_tested {
            return tests;
        }
        let mut worst: Option<(usize, Correlation)> = None;
        let (mut sum, mut counts) = (MeanDeviance::default(), 0.0);
        let done = points.residuals(params, &mut |sample| {
            let found = Correlation::of_sample(sample, estimated);
            let is_worse =
                |c: &Correlation| worst.is_none_or(|(_, worst)| c.exceeds < worst.exceeds);
            if let Some(correlation) = found.filter(is_worse) {
                worst = Some((sample.set, correlation));
            }
            if let Some(of_count) = sample.deviance {
                let n = sample.points as f64;
                counts += n;
                sum.mean += n * of_count.mean;
                sum.variance += n * of_count.variance;
                sum.margin += n * of_count.margin;
            }
            tests.sets += 1;
            tests.tested += sample.values.len();
        });
        if done.is_err() {
            // Chi-square needs no residuals.
            return ResidualTests { sets: 1, ..ResidualTests::default() };
        }
        // The smallest p-value of many sets is small by chance; Bonferroni's factor, the number of sets, corrects this.
        let sets = tests.sets as f64;
        tests.worst =
            worst.map(|(set, found)| (set, Correlation { exceeds: found.exceeds * sets, ..found }));
        tests.deviance = (counts > 0.0).then(|| MeanDeviance {
            mean: sum.mean / counts,
            variance: sum.variance / counts,
            margin: sum.margin / counts,
        });
        tests
    }

    /// Returns true if the autocorrelation of residuals rejects the curve.
    pub(crate) fn are_correlated(&self) -> bool {
        self.correlated().is_some()
    }

    /// Returns the data set whose autocorrelation rejects the curve most significantly, if any.
    fn correlated(&self) -> Option<(usize, Correlation)> {
        self.worst.filter(|(_, found)| found.exceeds < 1.0)
    }

    /// Returns true if at most about one of 50 fits with the right curve has such residuals.
    pub(crate) fn are_suspicious(&self) -> bool {
        self.worst.is_some_and(|(_, found)| found.exceeds < SUSPICIOUS)
    }

    /// Returns true if residuals were available. The residuals of a stream are tested separately, by a sample.
    pub(super) fn are_made(&self) -> bool {
        self.sets > 0
    }

    /// Adds to `fit` the distribution of its deviance, if y are counts, and warnings if the data reject the curve.
    pub(crate) fn apply(&self, fit: &mut Fit) {
        let is_part = self.tested < fit.points;
        fit.deviance = self.deviance.map(|MeanDeviance { mean, variance, margin }| {
            [if is_part { mean + margin } else { mean }, variance]
        });
        let rejected = fit.chi_square_p_value().filter(|&p| p < REJECTED && fit.is_tested());
        let rejected = rejected.map(|p_value| Warning::Rejected {
            chi_square: fit.chi_square(),
            degrees_of_freedom: fit.degrees_of_freedom(),
            p_value,
        });
        let correlated = self.correlated().map(|(set, found)| Warning::CorrelatedResiduals {
            durbin_watson: found.durbin_watson,
            p_value: found.p_value,
            set: (self.sets > 1).then_some(set),
        });
        fit.warnings.extend(rejected.into_iter().chain(correlated));
    }
}

impl Fit {
    /// Returns true if the termination of the fit permits a test of its curve.
    fn is_tested(&self) -> bool {
        self.converged() || self.termination == Termination::AllFixed
    }
}

impl Correlation {
    /// Tests a sample in the given order and, if available, in the order of x. Returns the more significant
    /// correlation; `None` if there are too few residuals or if they are rounding errors.
    fn of_sample(sample: &ResidualSample, estimated: usize) -> Option<Correlation> {
        let ResidualSample { values, by_x, square, rounding, .. } = sample;
        let squares: f64 = values.iter().map(|r| r * r).sum();
        let is_rounding = squares <= ROUNDING * ROUNDING * square || squares <= ROUNDED * rounding;
        if is_rounding {
            return None;
        }
        let given = Correlation::of(values, estimated)?;
        let Some(order) = by_x else { return Some(given) };
        let ordered: Vec<f64> = order.iter().map(|&p| values[p]).collect();
        let ordered = Correlation::of(&ordered, estimated)?;
        let stronger = if ordered.exceeds < given.exceeds { ordered } else { given };
        // The p-value is doubled, because it is the smaller of two.
        Some(Correlation {
            exceeds: 2.0 * stronger.exceeds,
            p_value: 2.0 * stronger.p_value,
            ..stronger
        })
    }

    /// Computes the statistics of residuals in this order, for a fit of `estimated` parameters; `None` if there are too
    /// few residuals.
    fn of(residuals: &[f64], estimated: usize) -> Option<Correlation> {
        let n = residuals.len();
        if n < FEWEST.max(estimated + 3) {
            return None;
        }
        let mean = residuals.iter().sum::<f64>() / n as f64;
        let squares: f64 = residuals.iter().map(|r| (r - mean) * (r - mean)).sum();
        let (mut products, mut product_squares, mut changes) = (0.0, 0.0, 0.0);
        for pair in residuals.windows(2) {
            let product = (pair[0] - mean) * (pair[1] - mean);
            products += product;
            product_squares += product * product;
            changes += (pair[1] - pair[0]).powi(2);
        }
        let (mut bends, mut bend_fourths) = (0.0, 0.0);
        for three in residuals.windows(3) {
            let bend = (three[0] - 2.0 * three[1] + three[2]).powi(2);
            bends += bend;
            bend_fourths += bend * bend;
        }
        let correlation = products / squares;
        if correlation.is_nan() || correlation <= LEAST_CORRELATION {
            let durbin_watson = changes / squares;
            return Some(Correlation { durbin_watson, exceeds: f64::INFINITY, p_value: 1.0 });
        }
        let count = n as f64;
        let freedom = (squares * squares / product_squares).min(count);
        let t2 = correlation * correlation * freedom / (1.0 - correlation * correlation);
        let by_t = 0.5 * f_upper(t2, 1.0, freedom);
        let even = (3.0 * bends * bends / bend_fourths / (count - 2.0)).min(1.0);
        let (over, under) = (count - estimated as f64, count - 2.0);
        let ratio = squares / over / (bends / (6.0 * under));
        let by_f = f_upper(ratio, (over * even).max(1.0), (under * even / OVERLAP).max(1.0));
        let (exceeds, p_value) = match by_t / CORRELATED < by_f / SMOOTH {
            true => (by_t / CORRELATED, by_t),
            false => (by_f / SMOOTH, by_f),
        };
        // NaN is not significant.
        let exceeds = if exceeds.is_nan() { f64::INFINITY } else { exceeds };
        Some(Correlation { durbin_watson: changes / squares, exceeds, p_value })
    }
}
