//! The arithmetic that a model is written in.
//!
//! A model is generic over [`Scalar`]: over `f64` it is a plain function, over [`Var`](crate::Var) it
//! records itself, over [`Dual`](crate::program::Dual) it carries derivatives. The functions of this crate,
//! not the system's, serve `f64` as well, so that a model called directly and the same model traced
//! give the same bits.

use crate::math;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A real number that a model computes with.
///
/// Arithmetic takes `Self` or `f64` on the right. Comparisons, [`min`](Scalar::min),
/// [`max`](Scalar::max) and [`clamp`](Scalar::clamp) take either. There is no `PartialOrd`: a branch
/// is written `x.lt(y).select(a, b)`, which every meaning of `Scalar` can follow.
///
/// ```
/// use dualfit::Scalar;
/// fn decay<T: Scalar>(x: T, [a, b, c]: [T; 3]) -> T {
///     a * (-b * x).exp() + c
/// }
/// assert_eq!(decay(0.0, [1.0, 2.0, 3.0]), 4.0);
/// ```
pub trait Scalar:
    Copy
    + Debug
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// The result of a comparison.
    type Mask: Mask<Self>;

    /// e to the power of `self`.
    fn exp(self) -> Self;
    /// exp(self) − 1, accurate near 0.
    fn exp_m1(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// ln(1 + self), accurate near 0.
    fn ln_1p(self) -> Self;
    /// Logarithm to base 2.
    fn log2(self) -> Self;
    /// Logarithm to base 10.
    fn log10(self) -> Self;
    /// Square root. At 0, where the derivative is infinite, the partials are 0.
    fn sqrt(self) -> Self;
    /// Cube root. At 0, where the derivative is infinite, the partials are 0.
    fn cbrt(self) -> Self;
    /// Sine of an angle in radians.
    fn sin(self) -> Self;
    /// Cosine of an angle in radians.
    fn cos(self) -> Self;
    /// Tangent of an angle in radians.
    fn tan(self) -> Self;
    /// Arc sine, in radians. At ±1, where the derivative is infinite, the partials are 0.
    fn asin(self) -> Self;
    /// Arc cosine, in radians. At ±1, where the derivative is infinite, the partials are 0.
    fn acos(self) -> Self;
    /// Arc tangent, in radians.
    fn atan(self) -> Self;
    /// Angle of the point (`x`, `self`), in radians. At the origin the partials are 0.
    fn atan2(self, x: impl Into<Self>) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// √(self² + other²) without overflow. At the origin the partials are 0.
    fn hypot(self, other: impl Into<Self>) -> Self;
    /// Error function.
    fn erf(self) -> Self;
    /// Complementary error function, 1 − erf(self) without cancellation.
    fn erfc(self) -> Self;
    /// exp(self²)·erfc(self), which stays in range where erfc underflows; infinite below −26.6.
    fn erfcx(self) -> Self;
    /// Wright's ω, the solution of ω + ln ω = self: Lambert's W(exp(self)) without the overflow.
    fn wright_omega(self) -> Self;
    /// Real part of Faddeeva's function w(z) = exp(−z²)·erfc(−iz) at z = `self` + i`y` (Abramowitz and
    /// Stegun 7.1.3): the Voigt profile, but for its scale. Below the real axis it grows as
    /// exp(y² − x²); there it is NaN where 2·|xy| exceeds 2³⁰ and this is not 0.
    fn faddeeva_re(self, y: impl Into<Self>) -> Self;
    /// Imaginary part of Faddeeva's function at `self` + i`y`; on the real axis (2/√π)·Dawson's integral.
    fn faddeeva_im(self, y: impl Into<Self>) -> Self;
    /// Real part of w′(z) = 2i/√π − 2z·w(z), the derivative of Faddeeva's function, at `self` + i`y`.
    /// It keeps its digits far out, where that difference cancels; its own partials, which are second
    /// derivatives of w, lose them as |z|².
    fn faddeeva_slope_re(self, y: impl Into<Self>) -> Self;
    /// Imaginary part of w′(z); see [`faddeeva_slope_re`](Scalar::faddeeva_slope_re).
    fn faddeeva_slope_im(self, y: impl Into<Self>) -> Self;
    /// Logarithm of the absolute value of the gamma function.
    fn ln_gamma(self) -> Self;
    /// Derivative of order `order` of the digamma function; order 0 is the digamma function.
    fn polygamma(self, order: u32) -> Self;
    /// `self` to a real power. At 0 the partials are their limits where those are finite, else 0.
    fn powf(self, exponent: impl Into<Self>) -> Self;
    /// Absolute value. At 0 the partials are 0.
    fn abs(self) -> Self;
    /// Largest integer not above `self`; its partials are 0.
    fn floor(self) -> Self;
    /// The smaller of two; NaN if either is. At equality the partials are those of `other`.
    fn min(self, other: impl Into<Self>) -> Self;
    /// The larger of two; NaN if either is. At equality the partials are those of `other`.
    fn max(self, other: impl Into<Self>) -> Self;

    /// self < other
    fn lt(self, other: impl Into<Self>) -> Self::Mask;
    /// self ≤ other
    fn le(self, other: impl Into<Self>) -> Self::Mask;
    /// self = other
    fn eq(self, other: impl Into<Self>) -> Self::Mask;

    /// self > other
    fn gt(self, other: impl Into<Self>) -> Self::Mask {
        other.into().lt(self)
    }
    /// self ≥ other
    fn ge(self, other: impl Into<Self>) -> Self::Mask {
        other.into().le(self)
    }
    /// `self` limited to `low..=high`.
    fn clamp(self, low: impl Into<Self>, high: impl Into<Self>) -> Self {
        self.max(low).min(high)
    }
    /// 1 / self
    fn recip(self) -> Self {
        Self::from(1.0) / self
    }

    /// `self` to an integer power, by repeated squaring: the products, in the same order, that
    /// `f64::powi` forms at run time.
    fn powi(self, exponent: i32) -> Self {
        let mut remaining = exponent.unsigned_abs();
        let mut square = self;
        let mut power: Option<Self> = None;
        while remaining > 0 {
            if remaining & 1 == 1 {
                power = Some(power.map_or(square, |p| p * square));
            }
            remaining >>= 1;
            if remaining > 0 {
                square = square * square;
            }
        }
        match power {
            None => Self::from(1.0),
            Some(p) if exponent < 0 => p.recip(),
            Some(p) => p,
        }
    }

    /// Whether this is known to be the number zero, so that a product with it may be left out of a
    /// derivative. A recorded variable is not, whatever value it will have.
    #[doc(hidden)]
    fn is_zero(self) -> bool;
}

/// The truth of a comparison between scalars of type `S`.
pub trait Mask<S>: Copy + Debug {
    /// `yes` where the comparison holds, `no` elsewhere; the other branch leaves no trace in value
    /// or derivative, even where it is NaN.
    fn select(self, yes: impl Into<S>, no: impl Into<S>) -> S;
    /// Both hold.
    fn and(self, other: Self) -> Self;
    /// At least one holds.
    fn or(self, other: Self) -> Self;
    /// It does not hold.
    fn not(self) -> Self;
}

impl Mask<f64> for bool {
    fn select(self, yes: impl Into<f64>, no: impl Into<f64>) -> f64 {
        if self { yes.into() } else { no.into() }
    }
    fn and(self, other: bool) -> bool {
        self && other
    }
    fn or(self, other: bool) -> bool {
        self || other
    }
    fn not(self) -> bool {
        !self
    }
}

/// The smaller of two; NaN if either is.
#[inline(always)]
pub(crate) fn minimum(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// The larger of two; NaN if either is.
#[inline(always)]
pub(crate) fn maximum(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// x to the power y, a square as the product that rounds correctly: a traced `powf(2.0)` is recorded
/// as a product, and must equal the untraced one.
#[inline(always)]
pub(crate) fn power(x: f64, y: f64) -> f64 {
    if y == 2.0 { x * x } else { math::pow(x, y) }
}

macro_rules! from_math {
    ($($name:ident),*) => {$(
        fn $name(self) -> f64 {
            math::$name(self)
        }
    )*};
}

impl Scalar for f64 {
    type Mask = bool;

    from_math!(exp, exp_m1, ln, ln_1p, log2, log10, cbrt, sin, cos, tan, asin, acos, atan);
    from_math!(sinh, cosh, tanh, erf, erfc, erfcx, wright_omega, ln_gamma);

    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    fn atan2(self, x: impl Into<f64>) -> f64 {
        math::atan2(self, x.into())
    }
    fn hypot(self, other: impl Into<f64>) -> f64 {
        math::hypot(self, other.into())
    }
    fn faddeeva_re(self, y: impl Into<f64>) -> f64 {
        math::faddeeva_re(self, y.into())
    }
    fn faddeeva_im(self, y: impl Into<f64>) -> f64 {
        math::faddeeva_im(self, y.into())
    }
    fn faddeeva_slope_re(self, y: impl Into<f64>) -> f64 {
        math::faddeeva_slope_re(self, y.into())
    }
    fn faddeeva_slope_im(self, y: impl Into<f64>) -> f64 {
        math::faddeeva_slope_im(self, y.into())
    }
    fn polygamma(self, order: u32) -> f64 {
        math::polygamma(order, self)
    }
    fn powf(self, exponent: impl Into<f64>) -> f64 {
        power(self, exponent.into())
    }
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    fn floor(self) -> f64 {
        f64::floor(self)
    }
    fn min(self, other: impl Into<f64>) -> f64 {
        minimum(self, other.into())
    }
    fn max(self, other: impl Into<f64>) -> f64 {
        maximum(self, other.into())
    }
    fn lt(self, other: impl Into<f64>) -> bool {
        self < other.into()
    }
    fn le(self, other: impl Into<f64>) -> bool {
        self <= other.into()
    }
    fn eq(self, other: impl Into<f64>) -> bool {
        self == other.into()
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
}
