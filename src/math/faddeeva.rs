//! w(z) = e^(-z²) erfc(-iz), z = x + iy, and its derivative, each as separate real and imaginary parts.
//!
//! All values are computed at a = |x|, b = |y| and then reflected: w(-x + iy) is the conjugate of w(x + iy), and
//! w(z) = 2e^(-z²) - w(-z) below the real axis.
//!
//! - |z| < 10: the trapezoidal rule for (i/π) ∫ e^(-t²)/(z - t) dt with step h = √(π/12), plus the contribution of its
//!   poles (Al Azah and Chandler-Wilde, SIAM J. Numer. Anal. 59, 2021). Summed over both signs of t,
//!
//!   ```text
//!   w = (2h/π) Σ' e^(-t²) (b (r² + t²) + i a (r² - t²)) / |z² - t²|² + 2e^(-z²) / (1 ± e^(-2πiz/h))
//!   ```
//!
//!   with r = |z| and either t = (k + 1/2)h and the plus sign, or t = kh and the minus sign. The variant whose nodes
//!   are farther from a is used. The last term is omitted for b >= π/h, where it is below 1e-16.
//!   The error of the method is e^(-π²/h²) = 4e-17.
//! - |z| >= 10: the asymptotic series (i/√π) Σ (2n-1)!!/2ⁿ z^(-2n-1) to n = 11. Near the real axis
//!   e^(-x²) is added to the real part; at y = 0 it is the whole real part.
//!
//! Every term of the real part is positive, and every term of the imaginary part has the factor a. Therefore
//! each part keeps its relative accuracy even if it is much smaller than the other.
//!
//! The derivative is 2i/√π - 2zw for |z| < 10. For larger |z|, where this difference cancels, it is computed with the
//! series -(2i/√π) z⁻² Σ (2n+1)!!/2ⁿ⁺¹ z^(-2n).

use super::arithmetic::Lane;
use super::bits::{nearest, select, two_product, two_sum};
use super::exp::{exp, exp_parts};
use super::trig::{cos_fast, sin_fast};
use std::f64::consts::FRAC_PI_3;

const STEP_HI: f64 = 0.5116633539732443;
const STEP_LO: f64 = -6.14356957595527e-18;
const INVERSE_STEP: f64 = 1.9544100476116797;
const TWO_PI_OVER_STEP: f64 = 12.279920495357862;
const PI_OVER_STEP: f64 = 6.139960247678931;

const TWO_OVER_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// Limit between the two methods, for |z|.
const NEAR: f64 = 10.0;

/// Limit beyond which powers of |z| leave the range of a double; z is then scaled by `SCALE`.
const LARGE: f64 = 3.273390607896142e150; // 2^500
const SCALE: f64 = 2.409919865102884e-181; // 2^-600

/// Limit of y below which e^(-x²) must be added to the series. Above it, e^(-x²) is negligible.
const NEXT_TO_AXIS: f64 = 1e-10;

/// Largest valid angle of `sin_fast` and `cos_fast`.
const LARGEST_ANGLE: f64 = 1_073_741_824.0;

/// w and w' at one point.
#[derive(Clone, Copy)]
struct Values {
    re: f64,
    im: f64,
    slope_re: f64,
    slope_im: f64,
}

/// Returns e^(b² - a²) and the cosine and sine of 2ab. Cosine and sine are NaN if the angle is too large to be
/// accurate.
#[inline(always)]
fn exponential(a: f64, b: f64) -> (f64, f64, f64) {
    let (difference, d_lo) = two_sum(b, -a);
    let (sum, s_lo) = two_sum(b, a);
    let (square, square_lo) = two_product(difference, sum);
    let lo = difference.mul_add(s_lo, d_lo.mul_add(sum, square_lo));
    let (hi, e_lo, power) = exp_parts(square, lo);
    let (angle, angle_lo) = two_product(2.0 * a, b);
    let flat = (a == 0.0) | (b == 0.0);
    let known = flat | (angle <= LARGEST_ANGLE);
    let angle = select(flat | !known, 0.0, angle);
    let angle_lo = select(flat | !known, 0.0, angle_lo);
    let (c, s) = (cos_fast(angle), sin_fast(angle));
    let cosine = select(known, s.mul_add(-angle_lo, c), f64::NAN);
    let sine = select(known, c.mul_add(angle_lo, s), f64::NAN);
    ((hi + e_lo).scaled(power), cosine, sine)
}

/// Returns w by the trapezoidal rule for 0 <= a, b and |z| < 10, given e^(b² - a²) and the cosine and sine of 2ab.
#[inline(always)]
fn near(a: f64, b: f64, (e, cosine, sine): (f64, f64, f64)) -> (f64, f64) {
    let (n, _) = nearest(a * INVERSE_STEP);
    let fraction = n.mul_add(-STEP_LO, n.mul_add(-STEP_HI, a));
    let turn = fraction * TWO_PI_OVER_STEP;
    let (c, s) = (cos_fast(turn), sin_fast(turn));
    let halves = c >= 0.0;

    let product = a * b;
    let crossed = 4.0 * product * product;
    let difference = (a - b) * (a + b);
    let square = a.mul_add(a, b * b);
    let (mut re, mut im): (f64, f64) = (0.0, 0.0);
    // t² and (2h/π) e^(-t²) of the nodes (k + 1/2)h, then of the nodes kh; half the weight at t = 0.
    macro_rules! add {
        ($(($half:expr, $half_weight:expr, $whole:expr, $whole_weight:expr);)*) => {$(
            let t2 = select(halves, $half, $whole);
            let p = difference - t2;
            let q = select(halves, $half_weight, $whole_weight) / p.mul_add(p, crossed);
            re = q.mul_add(square + t2, re);
            im = q.mul_add(square - t2, im);
        )*};
    }
    add! {
        (40.9061543436171, 5.591744625227979e-19, 37.69911184307752, 1.381491414254464e-17);
        (34.62296903643751, 2.9943325866350354e-16, 31.677725923697082, 5.693808656908772e-15);
        (28.863382504856226, 9.498536269129225e-14, 26.179938779914945, 1.390149435273149e-12);
        (23.627394748873236, 1.7849139143299767e-11, 21.205750411731103, 2.0105924521441884e-10);
        (18.915005768488548, 1.9869265173884656e-09, 16.755160819145566, 1.722624220227915e-08);
        (14.726215563702155, 1.3102382619123278e-07, 12.828170002158322, 8.743010328483478e-07);
        (11.061024134514064, 5.118264087700047e-06, 9.42477796076938, 2.628665799613643e-05);
        (7.9194314809242705, 0.0001184401760668592, 6.544984694978736, 0.0004681809075069735);
        (5.301437602932776, 0.001623601108607448, 4.188790204786391, 0.004939647571913581);
        (3.2070425005395804, 0.013184497283710203, 2.356194490192345, 0.03087323729106693);
        (1.636246173744684, 0.06342372596268704, FRAC_PI_3, 0.1143068661759066);
        (0.5890486225480862, 0.1807356685638489, 0.26179938779914946, 0.250706969245996);
        (0.06544984694978737, 0.30509839916005094, 0.0, 0.16286750396763996);
    }

    // 2e^(-z²) / (1 ± E): numerator and denominator are divided by the square of g = |E|. The sign ± turns the cosine c
    // into |c|.
    let inverse = exp(-TWO_PI_OVER_STEP * b);
    let (c, s) = (c.abs(), select(halves, s, -s));
    let down = inverse.mul_add(inverse, (2.0 * inverse).mul_add(c, 1.0));
    let size = select(b < PI_OVER_STEP, 2.0 * e * inverse / down, 0.0);
    let along = inverse + c;
    let pole_re = size * cosine.mul_add(along, sine * s);
    let pole_im = size * cosine.mul_add(s, -(sine * along));
    (b.mul_add(re, pole_re), a.mul_add(im, pole_im))
}

/// Returns w and w' by the asymptotic series, 0 <= a, b and |z| >= 10; `e` is e^(b² - a²).
#[inline(always)]
fn far(a: f64, b: f64, e: f64) -> Values {
    const INVERSE_SQRT_PI: f64 = 0.5 * TWO_OVER_SQRT_PI;
    let scale = select((a > LARGE) | (b > LARGE), SCALE, 1.0);
    // Infinite values are limited, so that the inverse is 0 and not NaN.
    let (x, y) = (a * scale, b * scale);
    let (x, y) = (select(x > LARGE, LARGE, x), select(y > LARGE, LARGE, y));
    let inverse = 1.0 / x.mul_add(x, y * y);
    // 1/z = p - iq, u = 1/z²
    let (p, q) = (x * inverse * scale, y * inverse * scale);
    let (u, v) = ((p - q) * (p + q), -2.0 * p * q);
    let (mut re, mut im): (f64, f64) = (6713530.554199219, 0.0);
    let (mut slope_re, mut slope_im): (f64, f64) = (77205601.37329102, 0.0);
    // (2n-1)!!/2ⁿ, from n = 10
    macro_rules! add {
        ($($c:literal, $next:literal;)*) => {$(
            (re, im) = (re.mul_add(u, (-im).mul_add(v, $c)), re.mul_add(v, im * u));
            (slope_re, slope_im) =
                (slope_re.mul_add(u, (-slope_im).mul_add(v, $next)), slope_re.mul_add(v, slope_im * u));
        )*};
    }
    add! {
        639383.8623046875, 6713530.554199219;
        67303.564453125, 639383.8623046875;
        7918.06640625, 67303.564453125;
        1055.7421875, 7918.06640625;
        162.421875, 1055.7421875;
        29.53125, 162.421875;
        6.5625, 29.53125;
        1.875, 6.5625;
        0.75, 1.875;
        0.5, 0.75;
        1.0, 0.5;
    }
    let beside = select(b < NEXT_TO_AXIS, e, 0.0);
    let (p, q) = (p * INVERSE_SQRT_PI, q * INVERSE_SQRT_PI);
    // w = (q + ip)(re + i im), w' = -2i u Σ / √π. (p, q) include the factor 1/√π, (u, v) the factor 2/√π.
    let (u, v) = (2.0 * u * INVERSE_SQRT_PI, 2.0 * v * INVERSE_SQRT_PI);
    let at_axis = select(beside == 0.0, 0.0, -2.0 * a * beside);
    Values {
        re: q.mul_add(re, -(p * im)) + beside,
        im: p.mul_add(re, q * im),
        slope_re: u.mul_add(slope_im, v * slope_re) + at_axis,
        slope_im: v.mul_add(slope_im, -(u * slope_re)),
    }
}

/// Returns e · t, and 0 instead of NaN for 0 · infinity.
#[inline(always)]
fn times(e: f64, t: f64) -> f64 {
    select((e == 0.0) | (t == 0.0), 0.0, e * t)
}

/// Returns w and w' at any point.
#[inline(always)]
fn values(x: f64, y: f64) -> Values {
    let (a, b) = (x.abs(), y.abs());
    let is_near = (a < NEAR) & (b < NEAR) & (a.mul_add(a, b * b) < NEAR * NEAR);
    let (e, cosine, sine) = exponential(a, b);
    let (near_a, near_b) = (select(is_near, a, 1.0), select(is_near, b, 1.0));
    let (re, im) = near(near_a, near_b, (e, cosine, sine));
    let far = far(a, b, e);
    let slope_re = -2.0 * near_a.mul_add(re, -(near_b * im));
    let slope_im = (-2.0f64).mul_add(near_a.mul_add(im, near_b * re), TWO_OVER_SQRT_PI);
    let (re, im) = (select(is_near, re, far.re), select(is_near, im, far.im));
    let slope_re = select(is_near, slope_re, far.slope_re);
    let slope_im = select(is_near, slope_im, far.slope_im);

    let below = y < 0.0;
    let cross = times(e, sine);
    let straight = times(e, cosine);
    let re = select(below, 2.0f64.mul_add(straight, -re), re);
    let im = select(below, 2.0f64.mul_add(cross, im), im);
    let turned_re = times(a, straight) + times(b, cross);
    let turned_im = times(a, cross) - times(b, straight);
    let slope_re = select(below, (-4.0f64).mul_add(turned_re, -slope_re), slope_re);
    let slope_im = select(below, (-4.0f64).mul_add(turned_im, slope_im), slope_im);

    let sign = 1f64.copysign(x);
    let unknown = x.is_nan() | y.is_nan();
    Values {
        re: select(unknown, f64::NAN, re),
        im: select(unknown, f64::NAN, sign * im),
        slope_re: select(unknown, f64::NAN, sign * slope_re),
        slope_im: select(unknown, f64::NAN, slope_im),
    }
}

/// Returns Re w(x + iy). The maximum measured error is 2.2e-15, above the axis relative to Re w, below relative to |w|.
#[inline(always)]
pub(crate) fn faddeeva_re(x: f64, y: f64) -> f64 {
    values(x, y).re
}

/// Returns Im w(x + iy). The maximum measured error is 3.5e-15, above the axis relative to Im w, below relative to |w|.
#[inline(always)]
pub(crate) fn faddeeva_im(x: f64, y: f64) -> f64 {
    values(x, y).im
}

/// Returns Re w'(x + iy). The maximum measured error is 2.7e-14 of |w'|.
#[inline(always)]
pub(crate) fn faddeeva_slope_re(x: f64, y: f64) -> f64 {
    values(x, y).slope_re
}

/// Returns Im w'(x + iy). The maximum measured error is 9e-14 of |w'|.
#[inline(always)]
pub(crate) fn faddeeva_slope_im(x: f64, y: f64) -> f64 {
    values(x, y).slope_im
}
