//! Dual numbers: values with their partial derivatives. The derivatives of functions are in the table `functions`.
//!
//! A dual number a + Σ aᵢ εᵢ with εᵢεⱼ = 0 carries a value and `K` partial derivatives; every
//! function f acts as f(a) + Σ f'(a) aᵢ εᵢ. A model called with `Dual<Var, K>` ([`Var`](crate::Var)) records the
//! program of its partials. `Dual<f64, K>` is the reference for this program in the tests.
//!
//! Products with a partial that is known to be zero are omitted. Therefore
//! 0 · ∞ does not turn a partial into NaN, and a traced derivative has no dead arithmetic.

use super::functions::for_each_function;
use super::op::Unary;
use super::scalar::{Mask, Scalar};
use std::array::from_fn;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Maximum derivative of functions that overflow. Above this limit every sum of squares overflows anyway.
const LARGEST_SLOPE: f64 = 1e280;

/// A value of type `S` and its derivatives with respect to `K` independent quantities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<S, const K: usize> {
    /// The value.
    pub value: S,
    /// Its `K` partial derivatives.
    pub partials: [S; K],
}

impl<S: Scalar, const K: usize> Dual<S, K> {
    /// Returns the independent quantity number `index`: its partial with respect to itself is 1, the others are 0. If
    /// `index` is `K` or more, it is a constant.
    pub fn variable(value: S, index: usize) -> Self {
        let partials = from_fn(|k| S::from(if k == index { 1.0 } else { 0.0 }));
        Dual { value, partials }
    }

    /// Returns a constant: all partials are 0.
    pub fn constant(value: S) -> Self {
        Dual { value, partials: [S::from(0.0); K] }
    }

    /// Returns the argument of a function that [settles](super::op::Facts::settles). If the argument is infinite, for
    /// example an exponent b·ln x at x = 0, its non-finite partials become 0. Their product with the function's slope 0
    /// would be NaN.
    fn settled(self) -> Self {
        if !self.value.may_be_infinite() {
            return self;
        }
        let infinite = self.value.abs().eq(f64::INFINITY);
        let limit = |e: S| {
            let finite = e.abs().lt(f64::INFINITY);
            if e.is_known_zero() { e } else { infinite.and(finite.not()).select(0.0, e) }
        };
        Dual { value: self.value, partials: self.partials.map(limit) }
    }

    /// Returns f(self), given f and f' at the value.
    fn chain(self, value: S, derivative: S) -> Self {
        Dual { value, partials: self.partials.map(|e| times(e, derivative)) }
    }

    /// Returns f(self, other), given f and its two partial derivatives at the values.
    fn chain2(self, other: Self, value: S, by_self: S, by_other: S) -> Self {
        let partials =
            from_fn(|k| plus(times(self.partials[k], by_self), times(other.partials[k], by_other)));
        Dual { value, partials }
    }
}

/// Returns e · d, or zero if e is known to be zero, even if d is infinite or NaN.
fn times<S: Scalar>(e: S, d: S) -> S {
    if e.is_known_zero() { e } else { e * d }
}

/// Returns a + b without a term that is known to be zero.
fn plus<S: Scalar>(a: S, b: S) -> S {
    if a.is_known_zero() {
        b
    } else if b.is_known_zero() {
        a
    } else {
        a + b
    }
}

/// Returns a − b without a term that is known to be zero.
fn minus<S: Scalar>(a: S, b: S) -> S {
    if b.is_known_zero() {
        a
    } else if a.is_known_zero() {
        -b
    } else {
        a - b
    }
}

/// Returns `derivative`, or zero where `border` is true and the derivative is infinite or undefined.
fn except<S: Scalar>(border: S::Mask, derivative: S) -> S {
    border.select(0.0, derivative)
}

impl<S: Scalar, const K: usize> From<f64> for Dual<S, K> {
    fn from(value: f64) -> Self {
        Dual::constant(S::from(value))
    }
}

impl<S: Scalar, const K: usize> Neg for Dual<S, K> {
    type Output = Self;
    fn neg(self) -> Self {
        Dual {
            value: -self.value,
            partials: self.partials.map(|e| if e.is_known_zero() { e } else { -e }),
        }
    }
}

impl<S: Scalar, const K: usize> Add for Dual<S, K> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let partials = from_fn(|k| plus(self.partials[k], other.partials[k]));
        Dual { value: self.value + other.value, partials }
    }
}

impl<S: Scalar, const K: usize> Sub for Dual<S, K> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        let partials = from_fn(|k| minus(self.partials[k], other.partials[k]));
        Dual { value: self.value - other.value, partials }
    }
}

impl<S: Scalar, const K: usize> Mul for Dual<S, K> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.chain2(other, self.value * other.value, other.value, self.value)
    }
}

impl<S: Scalar, const K: usize> Div for Dual<S, K> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let quotient = self.value / other.value;
        let partials = from_fn(|k| {
            let numerator = minus(self.partials[k], times(other.partials[k], quotient));
            if numerator.is_known_zero() { numerator } else { numerator / other.value }
        });
        Dual { value: quotient, partials }
    }
}

macro_rules! with_number {
    ($($trait:ident $method:ident),*) => {$(
        impl<S: Scalar, const K: usize> $trait<f64> for Dual<S, K> {
            type Output = Self;
            fn $method(self, other: f64) -> Self {
                $trait::$method(self, Self::from(other))
            }
        }
    )*};
}
with_number!(Add add, Sub sub, Mul mul, Div div);

macro_rules! assign {
    ($($trait:ident $method:ident $op:tt),*) => {$(
        impl<S: Scalar, const K: usize> $trait for Dual<S, K> {
            fn $method(&mut self, other: Self) {
                *self = *self $op other;
            }
        }
    )*};
}
assign!(AddAssign add_assign +, SubAssign sub_assign -, MulAssign mul_assign *, DivAssign div_assign /);

macro_rules! by_derivatives {
    (
        one { $($(#[$doc:meta])* $one:ident = $One:ident {
            $($fact:ident: $known:expr),* $(; |$x:pat_param, $f:pat_param| $derivative:expr)?
        })* }
        two { $($(#[$doc2:meta])* $two:ident($other:ident) = $Two:ident {
            $($fact2:ident: $known2:expr),*
            $(; |$a:pat_param, $b:pat_param, $g:pat_param| $derivatives:expr)?
        })* }
    ) => {
        $($(
            fn $one(self) -> Self {
                let value = self.value.$one();
                let ($x, $f) = (self.value, value);
                let argument = if Unary::$One.facts().settles { self.settled() } else { self };
                argument.chain(value, $derivative)
            }
        )?)*
        $($(
            fn $two(self, $other: impl Into<Self>) -> Self {
                let other = $other.into();
                let value = self.value.$two(other.value);
                let ($a, $b, $g) = (self.value, other.value, value);
                let (by_self, by_other) = $derivatives;
                self.chain2(other, value, by_self, by_other)
            }
        )?)*
    };
}

impl<S: Scalar, const K: usize> Scalar for Dual<S, K> {
    type Mask = S::Mask;

    for_each_function!(by_derivatives);

    fn polygamma(self, order: u32) -> Self {
        self.chain(self.value.polygamma(order), self.value.polygamma(order + 1))
    }
    fn powf(self, exponent: impl Into<Self>) -> Self {
        let exponent = exponent.into();
        let (x, y) = (self.value, exponent.value);
        let power = x.powf(y);
        // ∂/∂x = y·xʸ/x. At x = 0 it is the limit for y ≥ 1 (0 for y > 1, 1 for y = 1), and by convention 0 for y < 1.
        let at_zero = y.eq(1.0).select(1.0, 0.0);
        let by_base = x.eq(0.0).select(at_zero, y * power / x);
        // ∂/∂y = xʸ·ln x → 0 for x → 0 if the power itself is finite. As a function of y the power settles, like exp.
        let slope = if y.may_be_infinite() { capped(power) } else { power };
        let by_exponent = except(x.eq(0.0), slope * x.ln());
        self.chain2(exponent.settled(), power, by_base, by_exponent)
    }
    fn powi(self, exponent: i32) -> Self {
        let power = self.value.powi(exponent);
        if exponent == 0 {
            return Dual::constant(power);
        }
        let derivative = match exponent.checked_sub(1) {
            Some(less) => self.value.powi(less) * f64::from(exponent),
            None => power * f64::from(exponent) / self.value,
        };
        self.chain(power, derivative)
    }
    fn abs(self) -> Self {
        let zero = S::from(0.0);
        let negative = self.value.lt(zero).select(-1.0, 0.0);
        self.chain(self.value.abs(), zero.lt(self.value).select(1.0, negative))
    }
    fn floor(self) -> Self {
        Dual::constant(self.value.floor())
    }
    fn ceil(self) -> Self {
        Dual::constant(self.value.ceil())
    }
    fn round(self) -> Self {
        Dual::constant(self.value.round())
    }
    fn signum(self) -> Self {
        Dual::constant(self.value.signum())
    }
    fn min(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        let value = self.value.min(other.value);
        pick(self.value.lt(other.value), self, other, value)
    }
    fn max(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        let value = self.value.max(other.value);
        pick(other.value.lt(self.value), self, other, value)
    }
    fn lt(self, other: impl Into<Self>) -> S::Mask {
        self.value.lt(other.into().value)
    }
    fn le(self, other: impl Into<Self>) -> S::Mask {
        self.value.le(other.into().value)
    }
    fn eq(self, other: impl Into<Self>) -> S::Mask {
        self.value.eq(other.into().value)
    }
    fn may_be_infinite(self) -> bool {
        self.value.may_be_infinite()
    }
    fn is_known_zero(self) -> bool {
        self.value.is_known_zero() && self.partials.iter().all(|e| e.is_known_zero())
    }
}

impl<S: Scalar, const K: usize, M: Mask<S>> Mask<Dual<S, K>> for M {
    fn select(self, yes: impl Into<Dual<S, K>>, no: impl Into<Dual<S, K>>) -> Dual<S, K> {
        let (yes, no) = (yes.into(), no.into());
        let value = Mask::<S>::select(self, yes.value, no.value);
        pick(self, yes, no, value)
    }
    fn and(self, other: Self) -> Self {
        Mask::<S>::and(self, other)
    }
    fn or(self, other: Self) -> Self {
        Mask::<S>::or(self, other)
    }
    fn not(self) -> Self {
        Mask::<S>::not(self)
    }
}

/// Returns `value` with the partials of `yes` where `mask` is true and the partials of `no` elsewhere.
fn pick<S: Scalar, const K: usize, M: Mask<S>>(
    mask: M,
    yes: Dual<S, K>,
    no: Dual<S, K>,
    value: S,
) -> Dual<S, K> {
    let partials = from_fn(|k| {
        let (a, b) = (yes.partials[k], no.partials[k]);
        if a.is_known_zero() && b.is_known_zero() { a } else { mask.select(a, b) }
    });
    Dual { value, partials }
}

/// Limits a positive derivative to a finite value where the function overflows: 1/f is a finite 0 there, and its
/// derivative must not become 0·∞.
fn capped<S: Scalar>(derivative: S) -> S {
    derivative.min(LARGEST_SLOPE)
}

/// Returns 1/√(1 − x²), and 0 at ±1.
fn arc_derivative<S: Scalar>(x: S) -> S {
    let root = ((S::from(1.0) - x) * (x + 1.0)).sqrt();
    except(root.eq(0.0), root.recip())
}

/// Returns the real and imaginary part of w″ = −2(w + z·w′).
fn faddeeva_curvature<S: Scalar>(x: S, y: S) -> (S, S) {
    let (slope_re, slope_im) = (x.faddeeva_slope_re(y), x.faddeeva_slope_im(y));
    let re = x.faddeeva_re(y) + (x * slope_re - y * slope_im);
    let im = x.faddeeva_im(y) + (x * slope_im + y * slope_re);
    (re * -2.0, im * -2.0)
}

/// Returns (2/√π)·exp(−x²).
fn gauss<S: Scalar>(x: S) -> S {
    (-(x * x)).exp() * std::f64::consts::FRAC_2_SQRT_PI
}
