//! The arithmetic of models.
//!
//! A model is generic over [`Scalar`]: with `f64` it is a plain function, with [`Var`](crate::Var) it
//! records itself, with [`Dual`](crate::program::Dual) it carries derivatives. `f64` also uses the functions of this
//! crate, not the system functions. Therefore a model called directly and the same model traced give the same bits.

use super::functions::for_each_function;
use crate::math;
use std::f64::consts::PI;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

macro_rules! methods {
    (
        one { $($(#[$doc:meta])* $one:ident = $One:ident $entry:tt)* }
        two { $($(#[$doc2:meta])* $two:ident($other:ident) = $Two:ident $entry2:tt)* }
    ) => {
        $($(#[$doc])* fn $one(self) -> Self;)*
        $($(#[$doc2])* fn $two(self, $other: impl Into<Self>) -> Self;)*
    };
}

/// ±1/(2k + 1)! for k = 0, 1, …: coefficients of sin(x)/x in powers of x².
const INVERSE_ODD_FACTORIALS: [f64; 8] = [
    1.0,
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
];

/// A real number that a model computes with.
///
/// Arithmetic operators accept `Self` or `f64` as the right operand. Comparisons, [`min`](Scalar::min),
/// [`max`](Scalar::max) and [`clamp`](Scalar::clamp) accept either. There is no `PartialOrd`: a branch
/// is written `x.lt(y).select(a, b)`, which every type of `Scalar` supports.
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

    for_each_function!(methods);

    /// Returns the derivative of order `order` of the digamma function; order 0 is the digamma function.
    fn polygamma(self, order: u32) -> Self;
    /// Returns `self` to a real power. At 0 the partials are their limits if these are finite, else 0.
    fn powf(self, exponent: impl Into<Self>) -> Self;
    /// Returns the smaller of two values; NaN if either is NaN. If both are equal, it has the partials of `other`.
    fn min(self, other: impl Into<Self>) -> Self;
    /// Returns the larger of two values; NaN if either is NaN. If both are equal, it has the partials of `other`.
    fn max(self, other: impl Into<Self>) -> Self;

    /// Returns true where self < other.
    fn lt(self, other: impl Into<Self>) -> Self::Mask;
    /// Returns true where self ≤ other.
    fn le(self, other: impl Into<Self>) -> Self::Mask;
    /// Returns true where self = other.
    fn eq(self, other: impl Into<Self>) -> Self::Mask;

    /// Returns true where self > other.
    fn gt(self, other: impl Into<Self>) -> Self::Mask {
        other.into().lt(self)
    }
    /// Returns true where self ≥ other.
    fn ge(self, other: impl Into<Self>) -> Self::Mask {
        other.into().le(self)
    }
    /// Limits `self` to `low..=high`.
    fn clamp(self, low: impl Into<Self>, high: impl Into<Self>) -> Self {
        self.max(low).min(high)
    }
    /// Returns 1 / self.
    fn recip(self) -> Self {
        Self::from(1.0) / self
    }

    /// Returns `self`·`factor` + `term`, with two roundings (not fused).
    fn mul_add(self, factor: impl Into<Self>, term: impl Into<Self>) -> Self {
        self * factor.into() + term.into()
    }
    /// Returns the sine and cosine of an angle in radians.
    fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }
    /// Converts degrees to radians.
    fn to_radians(self) -> Self {
        self * (PI / 180.0)
    }
    /// Converts radians to degrees.
    fn to_degrees(self) -> Self {
        self * (180.0 / PI)
    }
    /// Returns sin(π·self)/(π·self), and 1 at 0: the `sinc` of NumPy and MATLAB.
    fn sinc(self) -> Self {
        let angle = self * PI;
        let square = angle * angle;
        // Near 0 a series replaces the quotient, because the derivative of the quotient suffers from cancellation.
        let series = INVERSE_ODD_FACTORIALS.into_iter().rev();
        let series = series.fold(Self::from(0.0), |sum, c| sum * square + c);
        square.lt(0.25).select(series, angle.sin() / angle)
    }
    /// Returns 1/(exp(self) + 1): the mean number of fermions in a state `self`·kT above the chemical potential.
    fn fermi(self) -> Self {
        (self.exp() + 1.0).recip()
    }
    /// Returns 1/(exp(self) − 1): the mean number of bosons in a state `self`·kT above the chemical potential.
    fn bose(self) -> Self {
        self.exp_m1().recip()
    }
    /// Returns 1/(1 + exp(−self)): the logistic function.
    fn expit(self) -> Self {
        (-self).fermi()
    }

    /// Returns `self` to an integer power, by repeated squaring: the same products in the same order as
    /// `f64::powi` at run time.
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

    /// Returns true if the scalar is known to be zero; a product with it can be omitted from a
    /// derivative. It is false for a recorded variable, whose value is unknown.
    #[doc(hidden)]
    fn is_known_zero(self) -> bool;

    /// Returns true if the scalar can be infinite at a point where the model is finite. For a recorded variable it is
    /// true if the variable depends on the logarithm of an independent variable, which is −∞ at 0.
    #[doc(hidden)]
    fn may_be_infinite(self) -> bool;
}

/// The result of a comparison between scalars of type `S`.
pub trait Mask<S>: Copy + Debug {
    /// Returns `yes` where the comparison is true, `no` elsewhere. The branch that is not selected affects neither
    /// value nor derivative, even if it is NaN.
    fn select(self, yes: impl Into<S>, no: impl Into<S>) -> S;
    /// Returns true where both are true.
    fn and(self, other: Self) -> Self;
    /// Returns true where at least one is true.
    fn or(self, other: Self) -> Self;
    /// Returns true where the comparison is false.
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

/// Returns the smaller of two values; NaN if either is NaN.
#[inline(always)]
pub(crate) fn minimum(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// Returns the larger of two values; NaN if either is NaN.
#[inline(always)]
pub(crate) fn maximum(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// Returns x to the power y. A square is computed as a product, which is correctly rounded: a traced `powf(2.0)` is
/// recorded as a product and must equal the untraced one.
#[inline(always)]
pub(crate) fn power(x: f64, y: f64) -> f64 {
    if y == 2.0 { x * x } else { math::pow(x, y) }
}

macro_rules! from_math {
    (
        one { $($(#[$doc:meta])* $one:ident = $One:ident $entry:tt)* }
        two { $($(#[$doc2:meta])* $two:ident($other:ident) = $Two:ident $entry2:tt)* }
    ) => {
        $(
            fn $one(self) -> f64 {
                math::$one(self)
            }
        )*
        $(
            fn $two(self, $other: impl Into<f64>) -> f64 {
                math::$two(self, $other.into())
            }
        )*
    };
}

impl Scalar for f64 {
    type Mask = bool;

    for_each_function!(from_math);

    fn polygamma(self, order: u32) -> f64 {
        math::polygamma(order, self)
    }
    fn powf(self, exponent: impl Into<f64>) -> f64 {
        power(self, exponent.into())
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
    fn is_known_zero(self) -> bool {
        self == 0.0
    }
    fn may_be_infinite(self) -> bool {
        self.is_infinite()
    }
}
