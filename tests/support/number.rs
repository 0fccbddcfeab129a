//! A number that remembers what it was computed from.
//!
//! Dual numbers omit partials that are known to be zero. Over `f64` this is every zero, over `Var` only partials that
//! do not depend on the variables. `Number` follows `Var`, so that its duals equal the recorded ones. In the same way it knows
//! if it may be infinite.

use super::functions::for_each_function;
use dualfit::{Mask, Scalar};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Origin {
    /// Constants of the model alone.
    known: bool,
    /// Independent variables, among others.
    column: bool,
    /// The logarithm of something with an independent variable in it, among others.
    logarithm: bool,
}

/// A value and its origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub(crate) value: f64,
    origin: Origin,
}

/// A truth value and its origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth {
    holds: bool,
    origin: Origin,
}

impl Origin {
    const CONSTANT: Origin = Origin { known: true, column: false, logarithm: false };

    /// That of the result of an operation on two operands.
    fn with(self, other: Origin) -> Origin {
        Origin {
            known: self.known && other.known,
            column: self.column || other.column,
            logarithm: self.logarithm || other.logarithm,
        }
    }

    /// That of a function of one operand.
    fn through(self, function: &str) -> Origin {
        let logarithm = ["ln", "ln_1p", "log2", "log10"].contains(&function) && self.column;
        Origin { logarithm: self.logarithm || logarithm, ..self }
    }
}

impl Number {
    /// A parameter.
    pub(crate) fn parameter(value: f64) -> Number {
        Number { value, origin: Origin { known: false, ..Origin::CONSTANT } }
    }

    /// An independent variable.
    pub(crate) fn column(value: f64) -> Number {
        Number { value, origin: Origin { known: false, column: true, logarithm: false } }
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number { value, origin: Origin::CONSTANT }
    }
}

impl Neg for Number {
    type Output = Number;
    fn neg(self) -> Number {
        Number { value: -self.value, ..self }
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident),*) => {$(
        impl $trait for Number {
            type Output = Number;
            fn $method(self, other: Number) -> Number {
                let value = $trait::$method(self.value, other.value);
                Number { value, origin: self.origin.with(other.origin) }
            }
        }
        impl $trait<f64> for Number {
            type Output = Number;
            fn $method(self, other: f64) -> Number {
                $trait::$method(self, Number::from(other))
            }
        }
        impl $assign for Number {
            fn $assign_method(&mut self, other: Number) {
                *self = $trait::$method(*self, other);
            }
        }
    )*};
}
arithmetic!(Add add AddAssign add_assign, Sub sub SubAssign sub_assign, Mul mul MulAssign mul_assign,
    Div div DivAssign div_assign);

macro_rules! functions {
    (one { $($one:ident $One:ident),* } two { $($two:ident $Two:ident),* }) => {
        impl Scalar for Number {
            type Mask = Truth;
            $(
                fn $one(self) -> Number {
                    let origin = self.origin.through(stringify!($one));
                    Number { value: Scalar::$one(self.value), origin }
                }
            )*
            $(
                fn $two(self, other: impl Into<Number>) -> Number {
                    let other = other.into();
                    let value = Scalar::$two(self.value, other.value);
                    Number { value, origin: self.origin.with(other.origin) }
                }
            )*
            fn lt(self, other: impl Into<Number>) -> Truth {
                Truth::of(self, other.into(), |a, b| a < b)
            }
            fn le(self, other: impl Into<Number>) -> Truth {
                Truth::of(self, other.into(), |a, b| a <= b)
            }
            fn eq(self, other: impl Into<Number>) -> Truth {
                Truth::of(self, other.into(), |a, b| a == b)
            }
            fn polygamma(self, order: u32) -> Number {
                Number { value: self.value.polygamma(order), ..self }
            }
            fn is_known_zero(self) -> bool {
                self.origin.known && self.value == 0.0
            }
            fn may_be_infinite(self) -> bool {
                match self.origin.known {
                    true => self.value.is_infinite(),
                    false => self.origin.logarithm,
                }
            }
        }
    };
}
for_each_function!(functions);

impl Truth {
    fn of(a: Number, b: Number, holds: fn(f64, f64) -> bool) -> Truth {
        Truth { holds: holds(a.value, b.value), origin: a.origin.with(b.origin) }
    }
}

impl Mask<Number> for Truth {
    fn select(self, yes: impl Into<Number>, no: impl Into<Number>) -> Number {
        let (yes, no) = (yes.into(), no.into());
        let chosen = if self.holds { yes } else { no };
        match self.origin.known {
            true => chosen,
            false => Number { origin: self.origin.with(yes.origin).with(no.origin), ..chosen },
        }
    }
    fn and(self, other: Truth) -> Truth {
        Truth { holds: self.holds && other.holds, origin: self.origin.with(other.origin) }
    }
    fn or(self, other: Truth) -> Truth {
        Truth { holds: self.holds || other.holds, origin: self.origin.with(other.origin) }
    }
    fn not(self) -> Truth {
        Truth { holds: !self.holds, ..self }
    }
}
