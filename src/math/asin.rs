//! asin and acos.
//!
//! Both are computed from asin w: w = |x| for |x| <= 1/2, else w = √((1 - |x|)/2) with asin |x| = π/2 - 2 asin w. Then
//! z = w² <= 1/4, and asin w = w + w z P(z) with P of degree 12 (weighted Remez, `coefficients.py asin`; error
//! 2^-59.1). The square root is computed together with its rounding error.

use super::arithmetic::{Lane, Truth};
use super::bits::{fast_two_sum, polynomial};

const PI_2: f64 = std::f64::consts::FRAC_PI_2;
const PI_2_LO: f64 = f64::from_bits(0x3c91_a626_3314_5c07);

/// Returns the truth of |x| <= 1/2, then w and tail with asin w = w + tail. w and tail are NaN for |x| > 1.
#[inline(always)]
fn reduced<L: Lane>(x: L) -> (L::Truth, L, L) {
    let a = x.abs();
    let near = a.le(0.5);
    let half = (L::from(1.0) - a) * 0.5; // exact for a >= 1/2
    let root = half.sqrt();
    let root_lo = half.eq(0.0).select(0.0, (-root).mul_add(root, half) / (root + root));
    let z = near.select(a * a, half);
    let w = near.select(a, root);
    let w_lo = near.select(0.0, root_lo);
    let p = polynomial!(z; 0.16666666666666763, 0.07499999999970258, 0.04464285717512397,
        0.03038194268347377, 0.02237221566398179, 0.017351600032312068, 0.013980962093976682,
        0.011397771230060656, 0.010786553369397087, 0.003682957496773443, 0.0217636898748588,
        -0.021077544722249028, 0.03267703860779814);
    (near, w, (w * z).mul_add(p, w_lo))
}

/// Returns asin x, NaN outside [-1, 1]. The maximum measured error is 0.60 ulp.
#[inline(always)]
pub(crate) fn asin<L: Lane>(x: L) -> L {
    let (near, w, tail) = reduced(x);
    let (sum, lost) = fast_two_sum(PI_2, w * -2.0);
    let far = sum + (lost + tail.mul_add(-2.0, PI_2_LO));
    let value = near.select(w + tail, far).copysign(x);
    x.abs().lt(7.450_580_596_923_828e-9).select(x, value) // 2^-27: asin x rounds to x
}

/// Returns acos x, NaN outside [-1, 1]. The maximum measured error is 0.60 ulp.
#[inline(always)]
pub(crate) fn acos<L: Lane>(x: L) -> L {
    let (near, w, tail) = reduced(x);
    let negative = x.lt(0.0);
    // |x| <= 1/2: π/2 - asin x. |x| > 1/2: 2 asin w, or π - 2 asin w if x is negative.
    let base = near.select(PI_2, negative.select(2.0 * PI_2, 0.0));
    let base_lo = near.select(PI_2_LO, negative.select(2.0 * PI_2_LO, 0.0));
    let factor = near.select(negative.select(1.0, -1.0), negative.select(-2.0, 2.0));
    let (sum, lost) = fast_two_sum(base, factor * w);
    sum + (lost + factor.mul_add(tail, base_lo))
}
