//! Counts over a block: rows whose normal equations are those of the Poisson likelihood.
//!
//! Half the deviance, f − y + y·ln(y/f), has the gradient (1 − y/f)·∂f and the Fisher information
//! ∂f ∂fᵀ/f. Scaling the row by s = 1/√f and taking (1 − y/f)/s for the residual makes both come out of
//! the ordinary normal equations; the cost is summed by itself. The steps are those of Fisher's scoring.
//!
//! The gradient is the same whatever s is, so that s may keep away from what would break the sums where
//! f is far below y or next to 0. An information of 1/f has no limit as f goes to 0: one dark point
//! would outweigh all others and hold a rate where it starts, so s² is at most 1/`darkest`. Where y is
//! above 2²⁰f, s² = 2⁻²⁰y/f² instead keeps the residual at 2¹⁰√y, since √(y²/f) would take the digits
//! from all others.

use super::gram::LANES;
use super::robust::RobustSums;
use crate::math::lane;

/// Of √y/f: the least factor of a row.
const OUTLYING: f64 = 1.0 / 1024.0;
/// Below this |f − y|/(f + y) the cost of a point is a series: its formula would cancel.
const NEAR: f64 = 0.125;
/// 1/19, 1/17, … 1/3: artanh(v)/v³ − 1/v² in powers of v²; the term after is below 1e-18 of the cost.
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

/// Turns values of the model and counts `y` into rows. `darkest`: the expectation below which a point
/// without events weighs no more, that of number i at i modulo the lanes. `value`: f. `residual`: receives (1 − y/f)/s. `row`: receives s. Adds
/// the costs to `sums`. All slices have one length.
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

/// The factor of a row, its residual and its cost: not numbers where f is negative, not finite where
/// something was counted and f is 0.
#[inline(always)]
fn point(f: f64, y: f64, darkest: f64) -> [f64; 3] {
    let d = f - y;
    // Of halves, whose sum does not overflow.
    let v = 0.5 * d / (0.5 * f + 0.5 * y);
    let w = v * v;
    let series = SERIES.iter().fold(0.0, |sum, c| sum * w + c);
    // With ln(f/y) = 2 artanh v and d − 2yv = dv nothing cancels.
    let near = d * v - y * (2.0 * v * w * series);
    let far = d + y * lane::ln(y / f);
    let deviance = if v.abs() < NEAR { near } else { far };
    let usual = 1.0 / (if f < darkest { darkest } else { f }).sqrt();
    let outlying = OUTLYING * y.sqrt() / f;
    let s = if outlying > usual { outlying } else { usual };
    // Where nothing was counted the score is 1, also at f = 0.
    let counted = y > 0.0;
    let score = if counted { d / f } else { 1.0 };
    let cost = if counted { deviance } else { f };
    // The comparisons above would lose a value that is not a number, and take −0.1 for 0.
    let valid = if f >= 0.0 { 1.0 } else { f64::NAN };
    [s * valid, score / s * valid, cost * valid]
}

#[cfg(test)]
mod tests {
    use super::point;

    /// Against the formula by itself; tests/poisson has the recorded costs of ordinary numbers.
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

    /// Whatever bounds the curvature, the gradient is that of the deviance: row times residual is the
    /// score 1 − y/f.
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
                    // No more than Fisher's information, and no residual that drowns the others.
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
