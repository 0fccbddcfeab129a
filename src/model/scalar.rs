//! The arithmetic that a model is written in.
//!
//! A model is generic over [`Scalar`]: over `f64` it is a plain function, over [`Var`](crate::Var) it
//! records itself, over [`Dual`](crate::program::Dual) it carries derivatives. The functions of this crate,
//! not the system's, serve `f64` as well, so that a model called directly and the same model traced
//! give the same bits.

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

/// ±1/(2k + 1)! for k = 0, 1, …: sin(x)/x by powers of x².
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

    for_each_function!(methods);

    /// Derivative of order `order` of the digamma function; order 0 is the digamma function.
    fn polygamma(self, order: u32) -> Self;
    /// `self` to a real power. At 0 the partials are their limits where those are finite, else 0.
    fn powf(self, exponent: impl Into<Self>) -> Self;
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

    /// `self`·`factor` + `term`, both operations rounded.
    fn mul_add(self, factor: impl Into<Self>, term: impl Into<Self>) -> Self {
        self * factor.into() + term.into()
    }
    /// Sine and cosine of an angle in radians.
    fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }
    /// Degrees to radians.
    fn to_radians(self) -> Self {
        self * (PI / 180.0)
    }
    /// Radians to degrees.
    fn to_degrees(self) -> Self {
        self * (180.0 / PI)
    }
    /// sin(π·self)/(π·self), and 1 at 0: the `sinc` of NumPy and MATLAB.
    fn sinc(self) -> Self {
        let angle = self * PI;
        let square = angle * angle;
        // Near 0 as a series, so that the derivative does not cancel.
        let series = INVERSE_ODD_FACTORIALS.into_iter().rev();
        let series = series.fold(Self::from(0.0), |sum, c| sum * square + c);
        square.lt(0.25).select(series, angle.sin() / angle)
    }
    /// 1/(exp(self) + 1): the occupation by fermions of a state that is `self`·kT above their potential.
    fn fermi(self) -> Self {
        (self.exp() + 1.0).recip()
    }
    /// 1/(exp(self) − 1): the occupation by bosons of a state that is `self`·kT above their potential.
    fn bose(self) -> Self {
        self.exp_m1().recip()
    }
    /// 1/(1 + exp(−self)): the logistic function.
    fn expit(self) -> Self {
        (-self).fermi()
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
    fn is_known_zero(self) -> bool;

    /// Whether this can be infinite at a point where the model is finite. Of a recorded variable that is taken to be so if it
    /// contains the logarithm of an independent variable, which is −∞ at 0.
    #[doc(hidden)]
    fn may_be_infinite(self) -> bool;
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
