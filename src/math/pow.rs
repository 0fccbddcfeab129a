//! x^y = e^(y ln |x|) with ln |x| and the product in double-double.
//!
//! |y ln x| goes up to 745 and its absolute error becomes the relative error of the result, so the
//! logarithm needs 2^-64 (`ln_in_two`). Signs, integers and the special cases of C99 F.9.4.4 are
//! selects around that.

use super::bits::{select, two_product};
use super::exp::exp_of_sum;
use super::ln::ln_in_two;

const TWO_52: f64 = 4_503_599_627_370_496.0;

/// Whether |y| = `a` is an integer (every double from 2^52 on is).
#[inline(always)]
fn is_integer(a: f64) -> bool {
    let rounded = select(a < TWO_52, (a + TWO_52) - TWO_52, a);
    rounded == a
}

/// x^y; max error measured 0.76 ulp. Branch-free.
#[inline(always)]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    let a = x.abs();
    let finite = a < f64::INFINITY;
    let (hi, lo) = ln_in_two(a);
    let hi = select(finite, hi, a); // infinity and NaN are their own logarithms
    let hi = select(a == 0.0, f64::NEG_INFINITY, hi);
    let (product, product_lo) = two_product(y, hi);
    let magnitude = exp_of_sum(product, y.mul_add(lo, product_lo));
    // ln 1 = 0, but 0 · ∞ is not.
    let magnitude = select((a == 1.0) & !y.is_nan(), 1.0, magnitude);

    let y_abs = y.abs();
    let integer = is_integer(y_abs);
    let odd = integer & !is_integer(0.5 * y_abs);
    let sign = if odd { x.to_bits() & (1 << 63) } else { 0 };
    let value = f64::from_bits(magnitude.to_bits() | sign);
    let value = select((x < 0.0) & finite & !integer, f64::NAN, value);
    select((y == 0.0) | (x == 1.0), 1.0, value)
}
