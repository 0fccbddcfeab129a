//! Starting point from a fit of a sample, which saves passes over all points of a stream or of a large fit in memory.
//! Tests over all points reject a start that could change the result of the fit by more than its last digits.
//!
//! Up to 4096 points of the sample are divided into halves, which are fitted in memory from the caller's start. Then the
//! whole sample is fitted from the mean of both results. The result is the candidate for the start. It is used only if
//!
//! 1. both halves converge, determine all parameters, and agree: for their covariances Cₐ and C_b and the difference d
//!    of their parameters, dᵀ(Cₐ + C_b)⁻¹d is at most the chi-square that one case in 10,000 exceeds, with one degree
//!    of freedom per parameter;
//! 2. the cost of all points is lower at the candidate than at the caller's start;
//! 3. the sample represents all points: the mean square of each column of the Jacobian is similar for both, at the
//!    caller's start and at the candidate. A narrow peak between the points of the sample, and a few points with very
//!    large weights, are thus found;
//! 4. all points agree with the sample: the length of the full Gauss-Newton step of all points from the candidate is at
//!    most a limit that follows from the standard errors of the sample. If the sample missed a feature of the data, the
//!    step is longer.
//!
//! The tests at the caller's start need a pass over all points. They are omitted if the sample predicts their result: if
//! each column of the Jacobian at the caller's start has many effective points in the sample, and if the cost per point
//! at the candidate is similar for all points and for the sample, or 0 except for rounding.

use crate::data::sample::{LEAST_SAMPLE, Sample};
use crate::data::summary::{Overview, rounding};
use crate::error::Result;
use crate::fit::Fit;
use crate::normal::small::{cholesky, solve_upper_transposed};
use crate::normal::{Normal, Summary};
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::Fault;
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

/// Minimum ratio of points to sample points for a fit of the sample.
const LEAST_STRETCH: u64 = 4;
/// Quantile of the standard normal distribution that one case in 10,000 exceeds.
const RARE: f64 = 3.719;
/// Factor on the limit of the squared step, because the errors of a sample are estimates.
const SLACK: f64 = 2.0;
/// Maximum ratio of the mean squares of a column of the Jacobian for all points and for the sample.
const SIMILAR: f64 = 4.0;
/// Maximum ratio of the cost per point for all points and for the sample, if the caller's start is not evaluated.
const SIMILAR_COST: f64 = 2.0;
/// Minimum number of effective points of a column of the Jacobian, its sum of squares divided by its largest square, if
/// the caller's start is not evaluated.
const MIN_EFFECTIVE_POINTS: f64 = 16.0;

/// Fits of a sample in memory, given as columns of x, y and sigma (if there is one).
pub(crate) trait FitSample {
    /// Fits the columns from a start.
    fn fit(&self, columns: &[Vec<f64>], start: &[f64]) -> Result<Fit>;

    /// Returns the mean square over the points of each column of the Jacobian, for these parameters; `None` if the pass
    /// fails.
    fn mean_squares(&self, columns: &[Vec<f64>], params: &[f64]) -> Option<Vec<f64>>;

    /// Returns the largest square of each column of the Jacobian, or an upper limit; `None` if the pass fails.
    fn largest_squares(&self, columns: &[Vec<f64>], params: &[f64]) -> Option<Vec<f64>>;
}

/// Totals over all points, for the tests of the candidate.
#[derive(Clone, Copy)]
pub(crate) struct Totals {
    /// Number of points that have weight.
    pub(crate) points: usize,
    /// The power of two by which weighted residuals are multiplied in sums.
    pub(crate) row_unit: f64,
    /// The sum of squares of the weighted response, in row units.
    pub(crate) square: f64,
}

impl Totals {
    pub(crate) fn of(points: &Overview) -> Totals {
        Totals { points: points.used, row_unit: points.units.row, square: points.summary.square }
    }

    /// Returns the mean square over the points of each column of the Jacobian. `normal`: sums over all points.
    pub(crate) fn mean_squares(&self, normal: &Normal) -> impl Iterator<Item = f64> {
        let divisor = self.mean_divisor();
        (0..normal.n).map(move |j| normal.jtj(j, j) / divisor)
    }

    /// Returns the number by which sums over all points, in row units, are divided to get means.
    fn mean_divisor(&self) -> f64 {
        self.points as f64 * self.row_unit * self.row_unit
    }

    /// Returns true if the curve passes through all points within rounding.
    fn is_exact(&self, normal: &Normal) -> bool {
        2.0 * normal.cost <= rounding(self.square)
    }
}

/// Starting point from a sample.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SubsampleStart {
    /// The caller's start, with missing values computed from the sample.
    pub(crate) start: Vec<f64>,
    /// Positions of the linear parameters whose start was solved for.
    pub(crate) linear: Vec<usize>,
    /// Starting point that may replace the caller's start.
    pub(crate) candidate: Option<Vec<f64>>,
    /// Mean squares of the columns of the sample's Jacobian, one per free parameter: at the caller's start and at the
    /// candidate.
    pub(crate) seen: [Vec<f64>; 2],
    /// True if each column of the Jacobian at the caller's start has many effective points in the sample.
    pub(crate) is_seen_well: bool,
    /// Cost per point of the sample at the candidate.
    pub(crate) mean_cost: f64,
    /// Number of points per point of the sample.
    pub(crate) stretch: u64,
    /// Indices, among the free parameters, of the parameters that are not on a bound at the candidate.
    pub(crate) inside: Vec<usize>,
    /// Number of points of the sample.
    pub(crate) points: usize,
    /// Upper limit of the memory of the sample and its halves, in bytes.
    pub(crate) bytes: usize,
    /// Part of the sample whose residuals are tested at the end of the fit.
    pub(crate) tested: Option<Sample>,
    /// Reason, as text, why there is no candidate; empty if there is one.
    pub(crate) reason: String,
}

impl SubsampleStart {
    /// Returns a value without candidate. `reason`: why the caller's start is used.
    pub(crate) fn none(points: usize, reason: impl Into<String>) -> SubsampleStart {
        let (stretch, reason) = (1, reason.into());
        SubsampleStart { stretch, points, reason, ..SubsampleStart::default() }
    }

    /// Fits a sample by `work`. `free`: positions of the free parameters.
    pub(crate) fn of(
        sample: &Sample,
        start: &[f64],
        free: &[usize],
        work: &dyn FitSample,
    ) -> SubsampleStart {
        let none = |reason: &str| SubsampleStart::none(sample.len(), reason);
        if sample.stretch() < LEAST_STRETCH {
            return none("the points are too few for a sample of them to save time");
        }
        let step = sample.len().div_ceil(LEAST_SAMPLE).max(1);
        let half = |first| work.fit(&sample.every(2 * step, first), start).ok().filter(is_sound);
        let Some((a, b)) = half(0).and_then(|a| Some((a, half(step)?))) else {
            return none("a half of the sample has no sound fit");
        };
        if !agree(&a, &b, free) {
            return none("the halves of the sample do not agree");
        }
        let columns = sample.columns();
        let mean: Vec<f64> =
            a.params().iter().zip(b.params()).map(|(a, b)| 0.5 * (a + b)).collect();
        let fitted = work.fit(columns, &mean).ok();
        let fitted = fitted.filter(|all| is_sound(all) && all.at_bound == a.at_bound);
        let Some(all) = fitted else { return none("the sample has no sound fit") };
        let first = sample.every(step, 0);
        let at_start = work.mean_squares(&first, start);
        let there = work.mean_squares(columns, all.params());
        let (Some(at_start), Some(there)) = (at_start, there) else {
            return none("the sample has no sound fit");
        };
        let points = first[0].len() as f64;
        let is_seen_well = work.largest_squares(&first, start).is_some_and(|largest| {
            let has_many = |(mean, largest): (&f64, &f64)| {
                *largest > 0.0 && points * mean >= MIN_EFFECTIVE_POINTS * largest
            };
            at_start.iter().zip(&largest).all(has_many)
        });
        SubsampleStart {
            candidate: Some(all.params().to_vec()),
            is_seen_well,
            mean_cost: all.cost() / all.points() as f64,
            seen: [at_start, there],
            stretch: sample.stretch(),
            inside: (0..free.len()).filter(|&j| all.at_bound[free[j]].is_none()).collect(),
            points: sample.len(),
            bytes: 2 * size_of::<f64>() * columns.iter().map(Vec::len).sum::<usize>(),
            ..SubsampleStart::default()
        }
    }

    /// Evaluates all points at the candidate and, if needed, at the caller's start, and tests that they agree with the
    /// sample. `there` gets the normal equations at the candidate. Returns the number of passes and the result of the
    /// tests. A pass that fails is a test that fails.
    pub(crate) fn confirm(
        &self,
        points: &mut dyn Evaluator,
        (start, candidate): (&[f64], &[f64]),
        totals: Totals,
        there: &mut Normal,
    ) -> (usize, bool) {
        let columns = vec![1.0; there.n];
        if points.normal(candidate, &columns, there).is_err() {
            return (1, false);
        }
        if !self.needs_start(there, totals) {
            return (1, self.judge(None, there, totals).is_ok());
        }
        let mut at_start = there.clone();
        let evaluated = points.normal(start, &columns, &mut at_start).is_ok();
        (2, evaluated && self.judge(Some(&at_start), there, totals).is_ok())
    }

    /// Returns true if the tests need the normal equations of all points at the caller's start. `there`: those at the
    /// candidate.
    pub(crate) fn needs_start(&self, there: &Normal, totals: Totals) -> bool {
        let mean_cost = there.cost / totals.mean_divisor();
        let is_similar = mean_cost <= SIMILAR_COST * self.mean_cost
            && self.mean_cost <= SIMILAR_COST * mean_cost;
        !(self.is_seen_well && (is_similar || totals.is_exact(there)))
    }

    /// Tests that all points agree with the sample. `at_start` and `there`: normal equations of all points at the
    /// caller's start, if they are [needed](SubsampleStart::needs_start), and at the candidate.
    pub(crate) fn judge(
        &self,
        at_start: Option<&Normal>,
        there: &Normal,
        totals: Totals,
    ) -> std::result::Result<(), &'static str> {
        if !there.is_finite() {
            return Err(
                "with the parameters of the sample's fit, the model is not finite at some points",
            );
        }
        let is_lower = at_start.is_none_or(|start| there.cost < start.cost);
        if !is_lower {
            return Err(
                "the cost of all points is not lower with the parameters of the sample's fit",
            );
        }
        let is_alike_at_start = at_start.is_none_or(|start| self.represents(start, 0, totals));
        if !(is_alike_at_start && self.represents(there, 1, totals)) {
            return Err("the sample does not represent all points");
        }
        let Some(step) = squared_step(there, &self.inside) else {
            return Err(
                "the points do not determine the parameters at the result of the sample's fit",
            );
        };
        let degrees = totals.points.saturating_sub(self.inside.len()).max(1) as f64;
        let variance = 2.0 * there.cost / degrees;
        let likely = SLACK * self.stretch as f64 * rare_chi_square(self.inside.len());
        // Data without noise agree up to rounding.
        match step <= likely * variance || totals.is_exact(there) {
            true => Ok(()),
            false => Err("all points do not agree with the sample"),
        }
    }

    /// Returns true if the columns of the Jacobian have similar mean squares for all points and for the sample. `at`: 0
    /// for the caller's start, 1 for the candidate.
    fn represents(&self, normal: &Normal, at: usize, totals: Totals) -> bool {
        let is_similar = |(of_all, &of_sample): (f64, &f64)| {
            of_all <= SIMILAR * of_sample && of_sample <= SIMILAR * of_all
        };
        totals.mean_squares(normal).zip(&self.seen[at]).all(is_similar)
    }
}

/// Returns true if the fit of the sample is a valid starting point.
fn is_sound(fit: &Fit) -> bool {
    fit.converged() && fit.undetermined().is_empty() && fit.degrees_of_freedom() > 0
}

/// Returns true if two fits of different points agree within their errors.
fn agree(a: &Fit, b: &Fit, free: &[usize]) -> bool {
    if a.at_bound != b.at_bound {
        return false;
    }
    let inside: Vec<usize> = free.iter().copied().filter(|&i| a.at_bound[i].is_none()).collect();
    let n = inside.len();
    let (of_a, of_b) = (a.correlation(), b.correlation());
    let (errors_a, errors_b) = (a.std_errors(), b.std_errors());
    // Parameters are divided by the errors of their differences, so that their units do not matter.
    let (mut share_a, mut share_b, mut apart) = (Vec::new(), Vec::new(), Vec::new());
    for &i in &inside {
        let error = errors_a[i].hypot(errors_b[i]);
        share_a.push(errors_a[i] / error);
        share_b.push(errors_b[i] / error);
        apart.push((a.params()[i] - b.params()[i]) / error);
    }
    let covariance = DMatrix::from_fn(n, n, |k, l| {
        let (i, j) = (inside[k], inside[l]);
        of_a[(i, j)] * share_a[k] * share_a[l] + of_b[(i, j)] * share_b[k] * share_b[l]
    });
    let apart = DVector::from_vec(apart);
    covariance
        .cholesky()
        .is_some_and(|factor| apart.dot(&factor.solve(&apart)) <= rare_chi_square(n))
}

/// Returns gᵀH⁻¹g for the parameters `inside`: the square of the full step in the metric of H = JᵀJ; `None` if H is
/// singular.
fn squared_step(normal: &Normal, inside: &[usize]) -> Option<f64> {
    let n = inside.len();
    let length = |j: usize| normal.jtj(j, j).sqrt();
    let (mut h, mut g, mut r) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n * n]);
    for (b, &j) in inside.iter().enumerate() {
        for (a, &i) in inside[..=b].iter().enumerate() {
            h[b * n + a] = normal.jtj(i, j) / (length(i) * length(j));
        }
        g[b] = normal.jtr(j) / length(j);
    }
    cholesky(&h, n, &mut r).ok()?;
    solve_upper_transposed(&r, n, &mut g);
    let square: f64 = g.iter().map(|v| v * v).sum();
    square.is_finite().then_some(square)
}

/// Returns the chi-square that one case in 10,000 exceeds (approximation of Wilson and Hilferty, 1931): 7 % too large
/// for one degree of freedom, less for more degrees.
fn rare_chi_square(degrees: usize) -> f64 {
    let k = degrees.max(1) as f64;
    let part = 2.0 / (9.0 * k);
    k * (1.0 - part + RARE * part.sqrt()).powi(3)
}

/// Returns the reason to reject the candidate if the model panicked there; any other fault remains an error.
pub(crate) fn forgiven(fault: Fault) -> std::result::Result<&'static str, Fault> {
    match fault {
        Fault::Panicked { .. } => Ok("the model panics with the parameters of the sample's fit"),
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::rare_chi_square;

    #[test]
    fn rare_chi_squares_are_those_of_tables() {
        // 0.9999 quantiles of chi-square.
        for (degrees, quantile) in
            [(1, 15.137), (2, 18.421), (3, 21.108), (10, 35.564), (30, 67.633)]
        {
            let found = rare_chi_square(degrees);
            assert!(
                (0.0..0.08).contains(&(found / quantile - 1.0)),
                "{degrees}: {found}, not {quantile}"
            );
        }
    }
}
