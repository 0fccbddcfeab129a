//! ψ⁽ⁿ⁾(x), the n-th derivative of the digamma function, n >= 1. It is a scalar function without vectorised form.
//!
//! For x > 0, |ψ⁽ⁿ⁾(x)| = n! ζ(n + 1, x). With s = n + 1 the Hurwitz zeta function is summed by the Euler-Maclaurin
//! formula (DLMF 25.11.5), relative to its first term: for b = x + M,
//!
//! ```text
//! xˢ ζ(s, x) = Σ_{i<M} (x/(x+i))ˢ + (x/b)ˢ (b/(s-1) + 1/2 + Σ_k B_2k/(2k)! s(s+1)...(s+2k-2) / b^(2k-1))
//! ```
//!
//! where b >= s + 10 makes each term of the last sum smaller than its predecessor by a factor of 6². For x < 0 the
//! terms 1/(x + i)ˢ to the left of the origin are mirrored, and their sum is a difference of two such sums. This avoids
//! derivatives of cot πx.
//!
//! The measured error for 0 < x < 30 is 5 ulp for n <= 4, 8 for n <= 20, 10 for n <= 170. For larger n, where n!
//! overflows, it is the error of e^(ln n! - s ln x): 92 ulp at n = 200, x = 40. For x < 0 and even n it is
//! relative to the largest of the three sums, not to the result, because ψ⁽ⁿ⁾ has zeros there.

use super::scalar::{digamma, exp, ln, ln_gamma, pow};

/// B_2k / (2k)! for k = 1, 2, ... (Bernoulli numbers: DLMF 24.2).
const EULER_MACLAURIN: [f64; 13] = [
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
    8.586062056277845e-15,
    -2.174868698558062e-16,
    5.5090028283602295e-18,
    -1.3954464685812522e-19,
    3.534707039629467e-21,
];

const TWO_52: f64 = 4_503_599_627_370_496.0;

/// Returns z^s by repeated squaring.
fn power(z: f64, s: u64) -> f64 {
    let (mut base, mut left, mut result) = (z, s, 1.0);
    while left > 0 {
        if left & 1 == 1 {
            result *= base;
        }
        base *= base;
        left >>= 1;
    }
    result
}

/// Returns xˢ ζ(s, x) for x > 0, s >= 2.
fn relative_zeta(s: u64, x: f64) -> f64 {
    let s_real = s as f64;
    let mut sum = 0.0;
    let mut b = x;
    let mut i = 0.0;
    while b < s_real + 10.0 {
        let term = power(x / b, s);
        sum += term;
        // The terms after this one sum to less than term · b/(s-1).
        if term * (1.0 + b / (s_real - 1.0)) < 1e-18 * sum {
            return sum;
        }
        i += 1.0;
        b = x + i;
    }
    let mut tail = 0.0;
    let mut factor = s_real / b;
    let mut next = s_real;
    for c in EULER_MACLAURIN {
        tail += c * factor;
        factor *= ((next + 1.0) / b) * ((next + 2.0) / b);
        next += 2.0;
    }
    sum + power(x / b, s) * (b / (s_real - 1.0) + (0.5 + tail))
}

/// Returns n! ζ(n + 1, x) for x > 0.
fn magnitude(n: u32, x: f64) -> f64 {
    let s = u64::from(n) + 1;
    if n > 170 {
        let log = ln_gamma(s as f64) - s as f64 * ln(x);
        return exp(log) * relative_zeta(s, x);
    }
    let factorial = (2..=n).fold(1.0, |product, k| product * f64::from(k));
    let first = pow(x, -(s as f64));
    let zeta = relative_zeta(s, x);
    if (1e-290..1e290).contains(&first) {
        return first * zeta * factorial;
    }
    // x^-s alone may overflow or underflow although the result does not.
    let root = pow(x, -0.5 * s as f64);
    root * zeta * factorial * root
}

/// Returns ψ⁽ⁿ⁾(x); n = 0 is the digamma function. At the poles x = 0, -1, ... the result is infinity for odd n, and
/// NaN for even n, except ∓infinity at ±0. At -infinity it is NaN.
pub(crate) fn polygamma(n: u32, x: f64) -> f64 {
    if n == 0 {
        return digamma(x);
    }
    let odd = n % 2 == 1;
    let sign = if odd { 1.0 } else { -1.0 };
    if x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return sign * 0.0;
    }
    if x > 0.0 {
        return sign * magnitude(n, x);
    }
    if x == 0.0 {
        return if odd { f64::INFINITY } else { -1.0 / x };
    }
    // -x = whole + below, 0 <= below < 1; the terms to the left of the origin start at -below.
    let a = -x;
    let whole = if a < TWO_52 { a.floor() } else { a };
    let below = a - whole;
    if below == 0.0 {
        return if odd { f64::INFINITY } else { f64::NAN };
    }
    let right = magnitude(n, 1.0 - below);
    let left = magnitude(n, below);
    let beyond = magnitude(n, 1.0 + a);
    if odd { right + (left - beyond) } else { (left - right) - beyond }
}
