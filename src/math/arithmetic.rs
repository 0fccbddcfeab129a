//! Arithmetic that the functions of `math` are written in: numbers, their bits and conditions.
//!
//! With `f64`, a function is the body of a loop that the compiler vectorises. With the number types of a recorder, it
//! produces a list of operations, from which machine code is generated (`backend/cpu/assembly`). Both have the same
//! source and therefore return the same bits.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// A double, or a type that represents one.
pub(crate) trait Lane:
    Copy
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
{
    type Bits: LaneBits<Number = Self>;
    type Truth: Truth<Number = Self>;

    /// Returns self · factor + term, rounded once.
    fn mul_add(self, factor: impl Into<Self>, term: impl Into<Self>) -> Self;
    fn abs(self) -> Self;
    /// Returns the square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Returns the magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    fn to_bits(self) -> Self::Bits;

    // All comparisons are false for NaN.
    fn lt(self, other: impl Into<Self>) -> Self::Truth;
    fn le(self, other: impl Into<Self>) -> Self::Truth;
    fn eq(self, other: impl Into<Self>) -> Self::Truth;
    #[inline(always)]
    fn gt(self, other: impl Into<Self>) -> Self::Truth {
        other.into().lt(self)
    }
    #[inline(always)]
    fn is_nan(self) -> Self::Truth {
        !self.eq(self)
    }

    /// Returns self · 2^k, rounded once. `power`: an integer k in -2044..=2044, in the form that [`nearest`] returns.
    /// `self` · 2^(k/2) must be in the range of normal numbers, so that only the second multiplication rounds.
    #[inline(always)]
    fn scaled(self, power: (Self, Self::Bits)) -> Self {
        self.scaled_by_halves(power)
    }

    /// Computes [`scaled`](Lane::scaled) with two powers of two, neither of which overflows or underflows.
    #[inline(always)]
    fn scaled_by_halves(self, (k, bits): (Self, Self::Bits)) -> Self {
        let (_, half) = nearest(k * 0.5);
        self * power_of_two(half) * power_of_two(bits.less(half))
    }
}

/// The 64 bits of a number, as an unsigned integer.
pub(crate) trait LaneBits:
    Copy
    + From<u64>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    type Number: Lane<Bits = Self>;

    /// Returns the sum modulo 2^64.
    fn plus(self, other: impl Into<Self>) -> Self;
    /// Returns the difference modulo 2^64.
    fn less(self, other: impl Into<Self>) -> Self;
    fn is(self, other: impl Into<Self>) -> <Self::Number as Lane>::Truth;
    /// Returns the number with these bits.
    fn number(self) -> Self::Number;
}

/// A condition, one truth value per lane.
pub(crate) trait Truth:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    type Number: Lane<Truth = Self>;

    /// Selects one of two numbers, both already computed.
    fn select(self, yes: impl Into<Self::Number>, no: impl Into<Self::Number>) -> Self::Number;
}

impl Lane for f64 {
    type Bits = u64;
    type Truth = bool;

    #[inline(always)]
    fn mul_add(self, factor: impl Into<f64>, term: impl Into<f64>) -> f64 {
        f64::mul_add(self, factor.into(), term.into())
    }
    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn copysign(self, sign: f64) -> f64 {
        f64::copysign(self, sign)
    }
    #[inline(always)]
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }
    #[inline(always)]
    fn lt(self, other: impl Into<f64>) -> bool {
        self < other.into()
    }
    #[inline(always)]
    fn le(self, other: impl Into<f64>) -> bool {
        self <= other.into()
    }
    #[inline(always)]
    fn eq(self, other: impl Into<f64>) -> bool {
        self == other.into()
    }
}

impl LaneBits for u64 {
    type Number = f64;

    #[inline(always)]
    fn plus(self, other: impl Into<u64>) -> u64 {
        self.wrapping_add(other.into())
    }
    #[inline(always)]
    fn less(self, other: impl Into<u64>) -> u64 {
        self.wrapping_sub(other.into())
    }
    #[inline(always)]
    fn is(self, other: impl Into<u64>) -> bool {
        self == other.into()
    }
    #[inline(always)]
    fn number(self) -> f64 {
        f64::from_bits(self)
    }
}

impl Truth for bool {
    type Number = f64;

    /// Selects with a blend. With a plain `if`, LLVM may generate branches, which prevent the vectorisation of a whole
    /// loop (`digamma` on AVX2: 18 ns instead of 10).
    #[inline(always)]
    fn select(self, yes: impl Into<f64>, no: impl Into<f64>) -> f64 {
        std::hint::select_unpredictable(self, yes.into(), no.into())
    }
}

/// 1.5 · 2^52. Adding it to a number below 2^51 rounds the number to an integer (to nearest, ties to even) and
/// leaves that integer, in two's complement, in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Rounds `x` to an integer. Returns the integer as a double, and as bits whose low 51 contain the integer in two's
/// complement. Valid for |x| < 2^51. For NaN, returns NaN and arbitrary bits.
#[inline(always)]
pub(super) fn nearest<L: Lane>(x: L) -> (L, L::Bits) {
    let shifted = x + ROUNDER;
    (shifted - ROUNDER, shifted.to_bits())
}

/// Returns 2^n, where the low 12 bits of `n` contain an integer in -1022..=1023.
#[inline(always)]
pub(super) fn power_of_two<B: LaneBits>(n: B) -> B::Number {
    (n.plus(1023) << 52).number()
}
