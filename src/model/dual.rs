//! Dual numbers: the one table of derivatives.
//!
//! A dual number a + Σ aᵢ εᵢ with εᵢεⱼ = 0 carries a value and `K` partial derivatives; every
//! function f acts as f(a) + Σ f'(a) aᵢ εᵢ. Run over [`Var`](crate::Var), `Dual` records the program
//! of a model's partials; run over `f64` it is the oracle that the tests hold that program to.
//!
//! Products with a partial that is known to be zero are left out instead of computed, so that
//! 0 · ∞ does not turn a partial into NaN and a traced derivative carries no dead arithmetic.

use super::scalar::{Mask, Scalar};
use std::array::from_fn;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// The largest derivative of the exponential; beyond it every sum of squares overflows anyway.
const LARGEST_SLOPE: f64 = 1e280;

/// A value of type `S` and its derivatives by `K` independent quantities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<S, const K: usize> {
    /// The value.
    pub value: S,
    /// Its `K` partial derivatives.
    pub partials: [S; K],
}

impl<S: Scalar, const K: usize> Dual<S, K> {
    /// The quantity number `index` itself: partial 1 by that one, 0 by the others. An `index` of `K`
    /// or more gives a constant.
    pub fn variable(value: S, index: usize) -> Self {
        let partials = from_fn(|k| S::from(if k == index { 1.0 } else { 0.0 }));
        Dual { value, partials }
    }

    /// A value that depends on nothing.
    pub fn constant(value: S) -> Self {
        Dual { value, partials: [S::from(0.0); K] }
    }

    /// f(self) from f and f' at the value.
    fn chain(self, value: S, derivative: S) -> Self {
        Dual { value, partials: self.partials.map(|e| times(e, derivative)) }
    }

    /// f(self, other) from f and its two partial derivatives at the values.
    fn chain2(self, other: Self, value: S, by_self: S, by_other: S) -> Self {
        let partials =
            from_fn(|k| plus(times(self.partials[k], by_self), times(other.partials[k], by_other)));
        Dual { value, partials }
    }
}

/// e · d, or zero where e is known to be zero whatever d is.
fn times<S: Scalar>(e: S, d: S) -> S {
    if e.is_zero() { e } else { e * d }
}

/// a + b without a term that is known to be zero.
fn plus<S: Scalar>(a: S, b: S) -> S {
    if a.is_zero() {
        b
    } else if b.is_zero() {
        a
    } else {
        a + b
    }
}

/// a − b without a term that is known to be zero.
fn minus<S: Scalar>(a: S, b: S) -> S {
    if b.is_zero() {
        a
    } else if a.is_zero() {
        -b
    } else {
        a - b
    }
}

/// `derivative`, or zero where `border` holds and the derivative is infinite or undefined.
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
            partials: self.partials.map(|e| if e.is_zero() { e } else { -e }),
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
            if numerator.is_zero() { numerator } else { numerator / other.value }
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

impl<S: Scalar, const K: usize> Scalar for Dual<S, K> {
    type Mask = S::Mask;

    fn exp(self) -> Self {
        // Capped, so that e·u' stays finite where e overflows: 1/(1 + exp(u)) is a finite 0 there, and
        // its derivative must not become 0·∞.
        let e = self.value.exp();
        self.chain(e, e.min(LARGEST_SLOPE))
    }
    fn exp_m1(self) -> Self {
        self.chain(self.value.exp_m1(), self.value.exp())
    }
    fn ln(self) -> Self {
        self.chain(self.value.ln(), self.value.recip())
    }
    fn ln_1p(self) -> Self {
        self.chain(self.value.ln_1p(), (self.value + 1.0).recip())
    }
    fn log2(self) -> Self {
        self.chain(self.value.log2(), S::from(std::f64::consts::LOG2_E) / self.value)
    }
    fn log10(self) -> Self {
        self.chain(self.value.log10(), S::from(std::f64::consts::LOG10_E) / self.value)
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, except(root.eq(0.0), S::from(0.5) / root))
    }
    fn cbrt(self) -> Self {
        let root = self.value.cbrt();
        self.chain(root, except(root.eq(0.0), root / (self.value * 3.0)))
    }
    fn sin(self) -> Self {
        self.chain(self.value.sin(), self.value.cos())
    }
    fn cos(self) -> Self {
        self.chain(self.value.cos(), -self.value.sin())
    }
    fn tan(self) -> Self {
        let t = self.value.tan();
        self.chain(t, t * t + 1.0)
    }
    fn asin(self) -> Self {
        self.chain(self.value.asin(), arc_derivative(self.value))
    }
    fn acos(self) -> Self {
        self.chain(self.value.acos(), -arc_derivative(self.value))
    }
    fn atan(self) -> Self {
        self.chain(self.value.atan(), (self.value * self.value + 1.0).recip())
    }
    fn atan2(self, x: impl Into<Self>) -> Self {
        let x = x.into();
        let (y, x_value) = (self.value, x.value);
        // ∂/∂y = x/h², ∂/∂x = −y/h²; divided by h twice, since h² may overflow where h does not.
        let h = y.hypot(x_value);
        let by_y = except(h.eq(0.0), x_value / h / h);
        let by_x = except(h.eq(0.0), -(y / h / h));
        self.chain2(x, y.atan2(x_value), by_y, by_x)
    }
    fn sinh(self) -> Self {
        self.chain(self.value.sinh(), self.value.cosh())
    }
    fn cosh(self) -> Self {
        self.chain(self.value.cosh(), self.value.sinh())
    }
    fn tanh(self) -> Self {
        // 1 − tanh² cancels where tanh is near ±1; (1 − t)(1 + t) does so by one rounding less.
        let t = self.value.tanh();
        self.chain(t, (S::from(1.0) - t) * (t + 1.0))
    }
    fn hypot(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        let h = self.value.hypot(other.value);
        let by_self = except(h.eq(0.0), self.value / h);
        let by_other = except(h.eq(0.0), other.value / h);
        self.chain2(other, h, by_self, by_other)
    }
    fn erf(self) -> Self {
        self.chain(self.value.erf(), gauss(self.value))
    }
    fn erfc(self) -> Self {
        self.chain(self.value.erfc(), -gauss(self.value))
    }
    fn erfcx(self) -> Self {
        // erfcx y = w(iy), whose derivative iw′(iy) does not cancel as 2y·erfcx y − 2/√π does.
        let slope = -S::from(0.0).faddeeva_slope_im(self.value);
        self.chain(self.value.erfcx(), slope)
    }
    fn wright_omega(self) -> Self {
        // ω/(1 + ω), and 1 where ω is infinite.
        let omega = self.value.wright_omega();
        self.chain(omega, (omega.recip() + 1.0).recip())
    }
    // w = u + iv is analytic: ∂u/∂x = ∂v/∂y = Re w′ and ∂v/∂x = −∂u/∂y = Im w′; so are its derivatives.
    fn faddeeva_re(self, y: impl Into<Self>) -> Self {
        let (x, y) = (self.value, y.into());
        let (by_x, by_y) = (x.faddeeva_slope_re(y.value), -x.faddeeva_slope_im(y.value));
        self.chain2(y, x.faddeeva_re(y.value), by_x, by_y)
    }
    fn faddeeva_im(self, y: impl Into<Self>) -> Self {
        let (x, y) = (self.value, y.into());
        let (by_x, by_y) = (x.faddeeva_slope_im(y.value), x.faddeeva_slope_re(y.value));
        self.chain2(y, x.faddeeva_im(y.value), by_x, by_y)
    }
    fn faddeeva_slope_re(self, y: impl Into<Self>) -> Self {
        let y = y.into();
        let (re, im) = faddeeva_curvature(self.value, y.value);
        self.chain2(y, self.value.faddeeva_slope_re(y.value), re, -im)
    }
    fn faddeeva_slope_im(self, y: impl Into<Self>) -> Self {
        let y = y.into();
        let (re, im) = faddeeva_curvature(self.value, y.value);
        self.chain2(y, self.value.faddeeva_slope_im(y.value), im, re)
    }
    fn ln_gamma(self) -> Self {
        self.chain(self.value.ln_gamma(), self.value.polygamma(0))
    }
    fn polygamma(self, order: u32) -> Self {
        self.chain(self.value.polygamma(order), self.value.polygamma(order + 1))
    }
    fn powf(self, exponent: impl Into<Self>) -> Self {
        let exponent = exponent.into();
        let (x, y) = (self.value, exponent.value);
        let power = x.powf(y);
        // ∂/∂x = y·xʸ/x; at x = 0 its limit: 0 for y > 1, 1 for y = 1, else the convention 0.
        let at_zero = y.eq(1.0).select(1.0, 0.0);
        let by_base = x.eq(0.0).select(at_zero, y * power / x);
        // ∂/∂y = xʸ·ln x → 0 for x → 0 wherever the power itself is finite.
        let by_exponent = except(x.eq(0.0), power * x.ln());
        self.chain2(exponent, power, by_base, by_exponent)
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
    fn is_zero(self) -> bool {
        self.value.is_zero() && self.partials.iter().all(|e| e.is_zero())
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

/// `value` with the partials of `yes` where `mask` holds and those of `no` elsewhere.
fn pick<S: Scalar, const K: usize, M: Mask<S>>(
    mask: M,
    yes: Dual<S, K>,
    no: Dual<S, K>,
    value: S,
) -> Dual<S, K> {
    let partials = from_fn(|k| {
        let (a, b) = (yes.partials[k], no.partials[k]);
        if a.is_zero() && b.is_zero() { a } else { mask.select(a, b) }
    });
    Dual { value, partials }
}

/// 1/√(1 − x²), and 0 at ±1.
fn arc_derivative<S: Scalar>(x: S) -> S {
    let root = ((S::from(1.0) - x) * (x + 1.0)).sqrt();
    except(root.eq(0.0), root.recip())
}

/// Real and imaginary part of w″ = −2(w + z·w′).
fn faddeeva_curvature<S: Scalar>(x: S, y: S) -> (S, S) {
    let (slope_re, slope_im) = (x.faddeeva_slope_re(y), x.faddeeva_slope_im(y));
    let re = x.faddeeva_re(y) + (x * slope_re - y * slope_im);
    let im = x.faddeeva_im(y) + (x * slope_im + y * slope_re);
    (re * -2.0, im * -2.0)
}

/// (2/√π)·exp(−x²)
fn gauss<S: Scalar>(x: S) -> S {
    (-(x * x)).exp() * std::f64::consts::FRAC_2_SQRT_PI
}
