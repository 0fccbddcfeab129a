//! atan and atan2.
//!
//! For a, b >= 0 the angle of (b, a) is a constant plus the arc tangent of a quotient t with |t| <= tan(π/8):
//!
//! - a <= tan(π/8) b: 0 and t = a/b;
//! - tan(π/8) b < a <= tan(3π/8) b: π/4 and t = (a - b)/(a + b);
//! - a > tan(3π/8) b: π/2 and t = -b/a.
//!
//! t is computed together with its rounding error, and atan t = t + t z A(z), z = t², with A of degree 10 (weighted
//! Remez, `coefficients.py atan`; error 2^-58.6).

use super::arithmetic::{Lane, LaneBits, Truth};
use super::bits::{fast_two_sum, polynomial, two_sum};

const TAN_PI_8: f64 = 0.41421356237309503;
const TAN_3_PI_8: f64 = 2.414213562373095;
const PI_4: f64 = std::f64::consts::FRAC_PI_4;
const PI_4_LO: f64 = f64::from_bits(0x3c81_a626_3314_5c07);
const PI_2_LO: f64 = 2.0 * PI_4_LO;
const PI_LO: f64 = 4.0 * PI_4_LO;

/// Returns the angle of (b, a) as hi + lo, for a, b >= 0. The larger of a and b must be so small that a + b does not
/// overflow, and so large that its reciprocal does not overflow.
#[inline(always)]
fn first_quadrant<L: Lane>(a: L, b: L) -> (L, L) {
    let low = a.le(b * TAN_PI_8);
    let high = a.gt(b * TAN_3_PI_8);
    let (sum, sum_err) = two_sum(a, b);
    let (difference, difference_err) = two_sum(a, -b);
    let top = low.select(a, high.select(-b, difference));
    let bottom = low.select(b, high.select(a, sum));
    let top_lo = (low | high).select(0.0, difference_err);
    let bottom_lo = (low | high).select(0.0, sum_err);
    let offset = low.select(0.0, high.select(2.0 * PI_4, PI_4));
    let offset_lo = low.select(0.0, high.select(PI_2_LO, PI_4_LO));

    let inverse = L::from(1.0) / bottom;
    let t = top * inverse;
    let rest = (-t).mul_add(bottom, top) + (-t).mul_add(bottom_lo, top_lo);
    let t_lo = rest * inverse;
    let z = t * t;
    let p = polynomial!(z; -0.333333333333332, 0.19999999999954038, -0.14285714280243897,
        0.11111110785897768, -0.09090897829304596, 0.07692061506116797, -0.06663118853729517,
        0.058479975042537616, -0.050397929179993715, 0.03807695668909549, -0.01792075626438218);
    let (sum, lost) = fast_two_sum(offset, t);
    fast_two_sum(sum, lost + (t * z).mul_add(p, offset_lo + t_lo))
}

/// Returns atan x. The maximum measured error is 0.87 ulp.
#[inline(always)]
pub(crate) fn atan<L: Lane>(x: L) -> L {
    let a = x.abs();
    let bounded = a.gt(1e300).select(1e300, a); // atan rounds to π/2 far below
    let (angle, _) = first_quadrant(bounded, L::from(1.0));
    a.lt(7.450_580_596_923_828e-9).select(x, angle.copysign(x)) // 2^-27: atan x rounds to x
}

/// Returns the angle of the point (x, y) in (-π, π]. The maximum measured error is 0.81 ulp.
#[inline(always)]
pub(crate) fn atan2<L: Lane>(y: L, x: L) -> L {
    let (a, b) = (y.abs(), x.abs());
    // If a coordinate is infinite, infinite coordinates become 1 and finite coordinates 0. Two zeros become (1, 0).
    let infinite = a.eq(f64::INFINITY) | b.eq(f64::INFINITY);
    let a = infinite.select(a.eq(f64::INFINITY).select(1.0, 0.0), a);
    let b = infinite.select(b.eq(f64::INFINITY).select(1.0, 0.0), b);
    let largest = a.gt(b).select(a, b);
    let b = largest.eq(0.0).select(1.0, b);
    // A power of two scales the larger coordinate to 2^-574..=2^524. If this makes the smaller coordinate inexact, the
    // quotient is subnormal.
    let scale = largest.lt(3.054_936_363_499_605e-151).select(3.273_390_607_896_142e150, 1.0); // 2^∓500
    let scale = largest.gt(3.273_390_607_896_142e150).select(3.054_936_363_499_605e-151, scale);
    let (angle, angle_lo) = first_quadrant(a * scale, b * scale);
    let (sum, lost) = fast_two_sum(std::f64::consts::PI, -angle);
    let left = sum + (lost + (L::from(PI_LO) - angle_lo));
    let positive = (x.to_bits() >> 63).is(0);
    let value = positive.select(angle, left).copysign(y);
    (x.is_nan() | y.is_nan()).select(f64::NAN, value)
}
