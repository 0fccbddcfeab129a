//! Poisson data over a block: rows that yield the normal equations of the Poisson likelihood.
//!
//! Half the deviance, f − y + y·ln(y/f), has the gradient (1 − y/f)·∂f and the Fisher information ∂f ∂fᵀ/f. Normal
//! equations sum these products directly; the cost is summed separately. The steps are the steps of Fisher scoring. With
//! rows scaled by s = 1/√f and the residual (1 − y/f)/s, an R factor contains the same gradient and information.
//!
//! The gradient does not depend on s, so s may be limited if f is close to 0 or far below y. The information 1/f is
//! unbounded as f approaches 0: one point with f near 0 would outweigh all others, and the parameters that determine
//! its f would stay at their starting values. Therefore s² is the larger of 1/max(f, `darkest`) and 2⁻²⁰y/f². The
//! second value limits the residual to 2¹⁰√y. Without this limit, residuals of about y/√f would dominate the sums, and
//! the digits of the other points would be lost.

use super::costs::BlockCosts;
use super::gram::LANES;
use super::robust::GROUP;
use crate::math::arithmetic::{Lane, Truth};
use crate::math::ln::{artanh_series, split};
use std::f64::consts::LN_2;

/// Lower limit of s², in units of y/f².
const OUTLYING: f64 = 1.0 / 1_048_576.0;
/// Terms of one count. Score and cost are NaN if f is negative, and not finite if y is positive and f is 0.
pub(super) struct CountTerms<L> {
    /// 1 − y/f.
    pub(super) score: L,
    /// Two factors of s². Their product can overflow if f is close to 0, where ∂f is close to 0, too; therefore they
    /// multiply ∂f one after the other.
    pub(super) factors: [L; 2],
    pub(super) cost: L,
}

/// Returns the terms of the count `y` with the expectation `f`. `most`: 1/`darkest`.
#[inline(always)]
pub(super) fn terms<L: Lane>(f: L, y: L, most: L) -> CountTerms<L> {
    let one = L::from(1.0);
    // The magnitude, since 1/−0 is −∞.
    let (d, inverse) = (f - y, one / f.abs());
    // y/f = 2^k m with m near 1, and ln(f/y) = 2 artanh v − k ln 2 with v = (f − y/2^k)/(f + y/2^k).
    let ratio = y * inverse;
    let (m, k) = split(ratio);
    let is_near = k.eq(0.0);
    let part = is_near.select(y, m * f);
    let v = (f - part) / (f + part);
    let rest = v * artanh_series(v * v);
    // In the first form, d − 2yv = dv avoids cancellation.
    let near = d * v - y * rest;
    let far = y * (k * LN_2 - (v + v + rest)) + d;
    // The product is NaN if y/f is infinite.
    let deviance = is_near.select(near, far) + ratio * 0.0;
    let usual = inverse.lt(most).select(inverse, most);
    let bound = y * OUTLYING * inverse;
    let is_outlying = bound.gt(usual * f);
    // If y is 0, the score 1 − y/f is 1, also at f = 0.
    let counted = y.gt(0.0);
    let score = counted.select(d * inverse, one);
    let cost = counted.select(deviance, f);
    // Without this factor, a negative f would count as `darkest`, and a NaN would be dropped if y is 0.
    let valid = L::from(0.0).le(f).select(one, f64::NAN);
    CountTerms {
        score: score * valid,
        factors: [is_outlying.select(inverse, usual), is_outlying.select(bound, one)],
        cost: cost * valid,
    }
}

/// Model values and counts of a block, and their weights in the sums.
#[derive(Clone, Copy)]
pub(super) struct Counts<'a> {
    pub(super) value: &'a [f64],
    pub(super) y: &'a [f64],
    /// 1 or 0 per point; `None` if all are 1.
    pub(super) weights: Option<&'a [f64]>,
    /// 1/`darkest`; point i uses element i mod [`LANES`].
    pub(super) most: &'a [f64; LANES],
}

/// Computes the terms of normal equations from the values of the model and the counts: the scores and the two factors of
/// s². Adds the costs to `costs`, in the order of [`super::robust`]. All slices have the same length.
#[inline(always)]
pub(super) fn weigh(
    counts: &Counts<'_>,
    score: &mut [f64],
    factors: [&mut [f64]; 2],
    costs: &mut [f64; LANES],
) {
    let [first, second] = factors;
    let n = score.len();
    let most: [f64; GROUP] = std::array::from_fn(|i| counts.most[i % LANES]);
    let mut block = BlockCosts::of_points(1.0);
    for begin in (0..n).step_by(GROUP) {
        let len = GROUP.min(n - begin);
        let part = begin..begin + len;
        // The numbers after the end of the block are not used.
        let (mut f, mut y, mut weight) = ([1.0; GROUP], [1.0; GROUP], [1.0; GROUP]);
        f[..len].copy_from_slice(&counts.value[part.clone()]);
        y[..len].copy_from_slice(&counts.y[part.clone()]);
        if let Some(weights) = counts.weights {
            weight[..len].copy_from_slice(&weights[part.clone()]);
        }
        let [mut scores, mut firsts, mut seconds, mut point_costs] = [[0.0; GROUP]; 4];
        for i in 0..GROUP {
            let terms = terms(f[i], y[i], most[i]);
            scores[i] = terms.score * weight[i];
            firsts[i] = terms.factors[0];
            seconds[i] = terms.factors[1] * weight[i];
            point_costs[i] = terms.cost * weight[i];
        }
        score[part.clone()].copy_from_slice(&scores[..len]);
        first[part.clone()].copy_from_slice(&firsts[..len]);
        second[part].copy_from_slice(&seconds[..len]);
        block.add(&point_costs[..len]);
    }
    block.add_to(costs);
}

/// Sets the rows of an R factor from the terms that [`weigh`] computed. The scores are replaced by score/s, and the
/// first factors by s.
#[inline(always)]
pub(super) fn rows_of(score: &mut [f64], first: &mut [f64], second: &[f64]) {
    for ((score, s), second) in score.iter_mut().zip(first).zip(second) {
        *s = s.sqrt() * second.sqrt();
        *score /= *s;
    }
}

#[cfg(test)]
mod tests {
    /// Returns s, the residual (1 − y/f)/s and the cost.
    fn point(f: f64, y: f64, darkest: f64) -> [f64; 3] {
        let terms = super::terms(f, y, 1.0 / darkest);
        let s = terms.factors[0].sqrt() * terms.factors[1].sqrt();
        [s, terms.score / s, terms.cost]
    }

    /// Compares costs with the formula. `tests/accuracy/poisson` compares costs of ordinary numbers with recorded
    /// values.
    #[test]
    fn costs_hold_at_the_ends_of_the_range() {
        for (f, y, exact) in [
            (1.7e307, 1e307, 1e307 * (0.7 - 1.7f64.ln())),
            (1.1e307, 1e307, 1e307 * (0.1 - 1.1f64.ln())),
            (1e-300, 1.0, 300.0 * 10f64.ln() - 1.0),
            (3e-300, 2e-300, 2e-300 * (0.5 - 1.5f64.ln())),
        ] {
            let [_, _, cost] = point(f, y, 1e-9);
            assert!((cost / exact - 1.0).abs() < 1e-13, "{f:e}, {y:e}: {cost:e}, not {exact:e}");
        }
        assert_eq!(point(f64::MIN_POSITIVE, f64::MIN_POSITIVE, 1e-9)[2], 0.0);
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
                    let most = 1024.0 * y.sqrt().max(1.0) * (1.0 + 1e-15);
                    assert!(r.abs() <= most, "{f:e}, {y}: {r:e}");
                }
            }
        }
        for zero in [0.0, -0.0] {
            let [s, r, cost] = point(zero, 0.0, darkest);
            assert_eq!((s * r, cost), (1.0, 0.0));
        }
    }

    #[test]
    fn what_cannot_be_expected_is_not_a_number() {
        for (f, y) in [(-1.0, 2.0), (-1.0, 0.0), (f64::NAN, 1.0), (f64::NAN, 0.0)] {
            let [_, r, cost] = point(f, y, 1e-6);
            assert!(r.is_nan() && cost.is_nan(), "{f}, {y}: {r}, {cost}");
        }
        for (f, y) in [(0.0, 2.0), (-0.0, 2.0), (1e-300, 1e15)] {
            let [_, r, cost] = point(f, y, 1e-6);
            assert!(!r.is_finite() && !cost.is_finite(), "{f:e}, {y:e}: {r:e}, {cost:e}");
        }
    }
}
