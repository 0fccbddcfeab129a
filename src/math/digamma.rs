//! ψ(x) = Γ'(x)/Γ(x).
//!
//! - x in [1, 2): ψ(x) = (x - x0) D(x - 3/2) with the zero x0 = 1.4616... in two doubles, D of degree
//!   22 (weighted Remez, `coefficients.py digamma`), so that the relative accuracy is kept near the zero;
//! - x < 8: ψ(x + 1) = ψ(x) + 1/x reduces x to [1, 2); the reciprocals are summed as pairs of doubles;
//! - x >= 8: ln x - 1/(2x) - T(1/x²)/x², T of degree 6 (`coefficients.py digamma_far`; absolute error
//!   2^-63).
//!
//! For negative x the reflection ψ(x) = ψ(1 - x) - π cot πx is used. If a block contains such elements, a second loop
//! recomputes them. For negative x, ψ has one zero between neighbouring poles. Near these zeros the error is absolute:
//! below 2^-52 of the larger of 1 and ψ(1 - x).

use super::bits::{fast_two_sum, polynomial_in_halves, select, two_product, two_sum};
use super::ln::ln_in_parts;
use super::trig::cot_pi;

const PI: f64 = std::f64::consts::PI;
const TWO_52: f64 = 4_503_599_627_370_496.0;

/// Returns 1/d and its rounding error.
#[inline(always)]
fn reciprocal(d: f64) -> (f64, f64) {
    let r = 1.0 / d;
    (r, (-r).mul_add(d, 1.0) * r)
}

/// Returns ψ(x) as hi + lo, for x >= 2^-1000.
#[inline(always)]
fn positive(x: f64) -> (f64, f64) {
    /// x0 - 1.
    const ROOT: f64 = 0.46163214496836236;
    const ROOT_LO: f64 = -1.5522348162858677e-17;
    const D0: f64 = 0.9510558760318328;
    const D0_LO: f64 = 4.330743078649653e-17;
    let below = x < 1.0;
    // ψ(x) = ψ(y) + Σ 1/(x - i) with y in [1, 2); for x < 1, ψ(x) = ψ(x + 1) - 1/x.
    // Each step tests x itself, because chained conditions would be compiled to branches.
    let mut y = x;
    let (mut sum, mut sum_lo) = (0.0, 0.0);
    for steps in [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] {
        let step = x >= steps + 1.0;
        let lower = x - steps;
        let (r, r_lo) = reciprocal(select(step, lower, 1.0));
        let (next, err) = two_sum(sum, select(step, r, 0.0));
        sum = next;
        sum_lo += err + select(step, r_lo, 0.0);
        y = select(step, lower, y);
    }
    let (inverse, inverse_lo) = reciprocal(x);
    let sum = select(below, -inverse, sum);
    let sum_lo = select(below, -inverse_lo, sum_lo);

    let v = select(below, x, y - 1.0); // ψ(1 + v)
    let t = v - 0.5;
    let (d, d_lo) = fast_two_sum(
        D0,
        t * polynomial_in_halves!(t; -0.4236274212814606, 0.24054248424078722, -0.14840492305388028,
        0.09498872445284977, -0.06192213327554247, 0.04076083394339082,
        -0.026975796657632285, 0.017907248235593514, -0.011908220153058894,
        0.007927023327015456, -0.005279936636971803, 0.0035180887100832612,
        -0.002345499829502925, 0.0015635033648922897, -0.0010364320458174823,
        0.000690282276899667, -0.00048603455218437113, 0.0003258804328035476,
        -0.00014465651785959817, 9.329550310889988e-05, -0.00017833328107915613,
        0.00012117310858438019),
    );
    let (offset, offset_err) = two_sum(v, -ROOT);
    let (near, near_err) = two_product(offset, d);
    let near_lo = offset.mul_add(d_lo + D0_LO, (offset_err - ROOT_LO).mul_add(d, near_err));
    let (near, err) = two_sum(near, sum);
    let near_lo = err + (near_lo + sum_lo);

    let u = inverse * inverse;
    let tail = u
        * polynomial_in_halves!(u; 0.08333333333333333, -0.008333333333280431, 0.003968253913288774,
        -0.004166645186570482, 0.007571734391558332, -0.020700529973054816,
        0.06367567188841604);
    let (l, l_lo) = ln_in_parts(x);
    let (main, err) = fast_two_sum(l, -0.5 * inverse);
    let main_lo = err + (l_lo - tail);

    let far = x >= 8.0;
    fast_two_sum(select(far, main, near), select(far, main_lo, near_lo))
}

/// Returns ψ(x) for x > 0, ±0, infinity and NaN.
#[inline(always)]
pub(super) fn digamma_fast(x: f64) -> f64 {
    // For tiny x, ψ(x) rounds to -1/x, which may overflow. At ±0 it is ∓infinity.
    let tiny = x.abs() < 1e-17;
    let (hi, _) = positive(select(tiny, 1.0, x));
    let value = select(tiny, -1.0 / x, hi);
    select(x < f64::INFINITY, value, x)
}

/// Returns true if x needs `digamma_negative`.
#[inline(always)]
pub(super) fn is_negative(x: f64) -> bool {
    x < -1e-17
}

/// Returns ψ(x) for x < -1e-17; NaN at the poles and at -infinity.
#[cold]
#[inline(never)]
pub(super) fn digamma_negative(x: f64) -> f64 {
    let a = -x;
    let fraction = if a < TWO_52 { a - ((a + TWO_52) - TWO_52) } else { 0.0 };
    if fraction == 0.0 {
        return f64::NAN;
    }
    // -cot πx = cot πa
    let (c, c_err) = two_product(PI, cot_pi(fraction));
    let (above, above_lo) = two_sum(1.0, a);
    let (hi, lo) = positive(above);
    let (value, err) = two_sum(c, hi);
    value + (err + (c_err + lo + above_lo / above))
}

/// Returns ψ(x). The maximum measured error is 1.1 ulp for x > 0. ψ(±0) = ∓infinity, NaN at the other poles.
#[inline(always)]
pub(crate) fn digamma(x: f64) -> f64 {
    if is_negative(x) { digamma_negative(x) } else { digamma_fast(x) }
}
