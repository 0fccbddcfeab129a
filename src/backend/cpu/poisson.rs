//! Counts over a block: rows whose normal equations are those of the Poisson likelihood.
//!
//! Half the deviance, f − y + y·ln(y/f), has the gradient (1 − y/f)·∂f and the Fisher information
//! ∂f ∂fᵀ/f. Scaling the row by 1/√f and taking (f − y)/√f for the residual makes both come out of the
//! ordinary normal equations; the cost is summed by itself. The steps are those of Fisher's scoring.

use super::gram::LANES;
use super::robust::RobustSums;
use crate::math::lane;

/// Below this |f/y − 1| the cost of a point is a series: its formula would cancel.
const NEAR: f64 = 0.2;

/// Turns values of the model, in `residual` less the counts `y`, into rows. `value`: f. `residual`:
/// receives (f − y)/√f. `row`: receives 1/√f. Adds the costs to `sums`. All slices have one length.
#[inline(always)]
pub(super) fn weigh(
    value: &[f64],
    y: &[f64],
    residual: &mut [f64],
    row: &mut [f64],
    sums: &mut RobustSums,
) {
    for (i, ((&f, &y), (r, s))) in
        value.iter().zip(y).zip(residual.iter_mut().zip(row.iter_mut())).enumerate()
    {
        // Where nothing is expected and nothing was counted, nothing is learnt.
        let silent = (f == 0.0) & (y == 0.0);
        // The root of a negative expectation is not a number, and with it all sums.
        let root = f.sqrt();
        *s = if silent { 0.0 } else { 1.0 / root };
        *r = if silent { 0.0 } else { (f - y) / root };
        sums[i % LANES] += if y == 0.0 { f + 0.0 * root } else { cost(f, y) };
    }
}

/// f − y + y·ln(y/f) for y > 0.
#[inline(always)]
fn cost(f: f64, y: f64) -> f64 {
    let t = (f - y) / y;
    // t − ln(1 + t) = t²/(2 + t) − 2(u³/3 + u⁵/5 + …) with u = t/(2 + t), where the logarithm is
    // 2 artanh u; at |t| < 0.2 the term after the last is below 1e-17 of the sum.
    let u = t / (2.0 + t);
    let v = u * u;
    let series = [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 0.2];
    let tail = series.iter().fold(1.0 / 19.0, |sum, c| sum * v + c);
    let near = t * t / (2.0 + t) - 2.0 * u * v * (tail * v + 1.0 / 3.0);
    // Of the ratio itself: 1 + t has lost the digits of an f far below y.
    let far = t - lane::ln(f / y);
    y * if t.abs() < NEAR { near } else { far }
}

#[cfg(test)]
mod tests {
    use super::weigh;

    /// Against the formula with the logarithm of the nearest double-double: y·h(t), h by its power
    /// series Σ (−t)ᵏ/k from k = 2 on where that converges fast, and plainly where nothing cancels.
    fn cost(f: f64, y: f64) -> f64 {
        let t = (f - y) / y;
        if t.abs() < 0.01 {
            (2..30).map(|k| (-t).powi(k) / f64::from(k)).sum::<f64>() * y
        } else {
            (f - y) + y * (y / f).ln()
        }
    }

    fn of(f: f64, y: f64) -> (f64, f64, f64) {
        let (mut r, mut s, mut sums) = ([0.0], [0.0], [0.0; 8]);
        weigh(&[f], &[y], &mut r, &mut s, &mut sums);
        (r[0], s[0], sums[0])
    }

    #[test]
    fn costs_keep_their_digits_near_and_far() {
        for y in [0.3, 1.0, 5.0, 1e3, 1e9] {
            for ratio in [
                1e-200,
                1e-9,
                0.01,
                0.5,
                0.79,
                0.81,
                0.9,
                0.999,
                1.0 + 1e-9,
                1.01,
                1.1,
                1.19,
                1.21,
                2.0,
                1e9,
            ] {
                let f = ratio * y;
                let (r, s, found) = of(f, y);
                let expected = cost(f, y);
                assert!(
                    (found - expected).abs() <= 4e-13 * expected,
                    "{f}, {y}: {found:e}, {expected:e}"
                );
                assert!(
                    (r - (f - y) * s).abs() <= 1e-15 * r.abs() && (s * s * f - 1.0).abs() < 1e-15
                );
            }
            assert_eq!(of(y, y).2, 0.0);
        }
        assert_eq!(of(3.0, 0.0).2, 3.0);
        assert_eq!(of(0.0, 0.0), (0.0, 0.0, 0.0));
    }

    #[test]
    fn what_cannot_be_expected_is_not_a_number() {
        for (f, y) in [(-1.0, 2.0), (-1.0, 0.0), (f64::NAN, 1.0), (f64::NAN, 0.0)] {
            let (r, _, cost) = of(f, y);
            assert!(r.is_nan() && cost.is_nan(), "{f}, {y}: {r}, {cost}");
        }
        let (r, _, cost) = of(0.0, 2.0);
        assert!(!r.is_finite() && !cost.is_finite());
    }
}
