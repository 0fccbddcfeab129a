//! Poisson data over a block: rows that yield the normal equations of the Poisson likelihood.
//!
//! Half the deviance, f − y + y·ln(y/f), has the gradient (1 − y/f)·∂f and the Fisher information ∂f ∂fᵀ/f. With rows
//! scaled by s = 1/√f and the residual (1 − y/f)/s, the ordinary normal equations contain this gradient and this
//! information; the cost is summed separately. The steps are the steps of Fisher scoring.
//!
//! The gradient does not depend on s, so s may be limited if f is close to 0 or far below y. The information 1/f is
//! unbounded as f approaches 0: one point with f near 0 would outweigh all others, and the parameters that determine
//! its f would stay at their starting values. Therefore s² is the larger of 1/max(f, `darkest`) and 2⁻²⁰y/f². The second
//! value limits the residual to 2¹⁰√y. Without this limit, residuals of about y/√f would dominate the sums, and the
//! digits of the other points would be lost.

use super::gram::LANES;
use super::robust::RobustSums;
use crate::math::lane;

/// Lower limit of the factor s of a row, in units of √y/f.
const OUTLYING: f64 = 1.0 / 1024.0;
/// |f − y|/(f + y) below which the cost of a point is computed with a series, since the formula suffers from
/// cancellation.
const NEAR: f64 = 0.125;
/// 1/19, 1/17, … 1/3: coefficients of artanh(v)/v³ − 1/v² in powers of v². The first omitted term is below 1e-18 of the
/// cost.
const SERIES: [f64; 9] = [
    1.0 / 19.0,
    1.0 / 17.0,
    1.0 / 15.0,
    1.0 / 13.0,
    1.0 / 11.0,
    1.0 / 9.0,
    1.0 / 7.0,
    1.0 / 5.0,
    1.0 / 3.0,
];

/// Computes rows from the values of the model and the counts `y`, and adds the costs to `sums`. All slices have the
/// same length.
///
/// - `darkest`: lower limit of f in the factor s; point i uses element i mod [`LANES`].
/// - `value`: f.
/// - `residual`: receives (1 − y/f)/s.
/// - `row`: receives s.
#[inline(always)]
pub(super) fn weigh(
    darkest: &[f64; LANES],
    value: &[f64],
    y: &[f64],
    residual: &mut [f64],
    row: &mut [f64],
    sums: &mut RobustSums,
) {
    for (i, ((&f, &y), (r, s))) in
        value.iter().zip(y).zip(residual.iter_mut().zip(row.iter_mut())).enumerate()
    {
        let cost;
        [*s, *r, cost] = point(f, y, darkest[i % LANES]);
        sums.costs[i % LANES] += cost;
    }
}

/// Returns the factor, the residual and the cost of a row. All three are NaN if f is negative. Residual and cost are
/// not finite if y is positive and f is 0.
#[inline(always)]
fn point(f: f64, y: f64, darkest: f64) -> [f64; 3] {
    let d = f - y;
    // The sum of the halves does not overflow.
    let v = 0.5 * d / (0.5 * f + 0.5 * y);
    let w = v * v;
    let series = SERIES.iter().fold(0.0, |sum, c| sum * w + c);
    // ln(f/y) = 2 artanh v and d − 2yv = dv avoid cancellation.
    let near = d * v - y * (2.0 * v * w * series);
    let far = d + y * lane::ln(y / f);
    let deviance = if v.abs() < NEAR { near } else { far };
    let usual = 1.0 / (if f < darkest { darkest } else { f }).sqrt();
    let outlying = OUTLYING * y.sqrt() / f;
    let s = if outlying > usual { outlying } else { usual };
    // If y is 0, the score 1 − y/f is 1, also at f = 0.
    let counted = y > 0.0;
    let score = if counted { d / f } else { 1.0 };
    let cost = if counted { deviance } else { f };
    // Without this factor the comparisons above would drop NaN, and a negative f would count as `darkest`.
    let valid = if f >= 0.0 { 1.0 } else { f64::NAN };
    [s * valid, score / s * valid, cost * valid]
}

#[cfg(test)]
mod tests {
    use super::point;

    /// Compares costs with the formula. `tests/accuracy/poisson` compares costs of ordinary numbers with recorded
    /// values.
    #[test]
    fn costs_hold_at_the_ends_of_the_range() {
        for (f, y, exact) in [
            (1.7e308, 1e308, 1e308 * (0.7 - 1.7f64.ln())),
            (1.1e308, 1e308, 1e308 * (0.1 - 1.1f64.ln())),
            (1e-300, 1.0, 300.0 * 10f64.ln() - 1.0),
            (3e-300, 2e-300, 2e-300 * (0.5 - 1.5f64.ln())),
        ] {
            let [_, _, cost] = point(f, y, 1e-9);
            assert!((cost / exact - 1.0).abs() < 1e-13, "{f:e}, {y:e}: {cost:e}, not {exact:e}");
        }
        assert_eq!(point(5e-324, 5e-324, 1e-9)[2], 0.0);
    }

    /// Tests that the limits of s do not change the gradient: s times the residual is the score 1 − y/f everywhere.
    #[test]
    fn rows_have_the_score_everywhere_and_the_information_where_it_is_bounded() {
        let darkest = 2f64.powi(-20);
        for y in [0.0, 1e-3, 1.0, 7.0, 1e4, 1e12] {
            for exponent in -120..60 {
                let f = 1.7 * 2f64.powi(exponent);
                let [s, r, _] = point(f, y, darkest);
                let score = 1.0 - y / f;
                assert!((s * r - score).abs() <= 4e-16 * (1.0 + y / f), "{f:e}, {y}: {s:e} {r:e}");
                if f >= darkest && y <= 2f64.powi(20) * f {
                    assert!((s * s * f - 1.0).abs() < 1e-15, "{f:e}, {y}: {s:e}");
                } else {
                    // At most the Fisher information, and a residual within its limit.
                    assert!(
                        s * s <= 1.0 / darkest * 1.0001 || s * s <= y / f / f * 1e-6,
                        "{f:e} {y}"
                    );
                    assert!(r.abs() <= 1024.0 * y.sqrt().max(1.0), "{f:e}, {y}: {r:e}");
                }
            }
        }
        let [s, r, cost] = point(0.0, 0.0, darkest);
        assert_eq!((s * r, cost), (1.0, 0.0));
    }

    #[test]
    fn what_cannot_be_expected_is_not_a_number() {
        for (f, y) in [(-1.0, 2.0), (-1.0, 0.0), (f64::NAN, 1.0), (f64::NAN, 0.0)] {
            let [s, r, cost] = point(f, y, 1e-6);
            assert!(s.is_nan() && r.is_nan() && cost.is_nan(), "{f}, {y}: {r}, {cost}");
        }
        let [_, r, cost] = point(0.0, 2.0, 1e-6);
        assert!(!r.is_finite() && !cost.is_finite());
    }
}
