//! A number that remembers whether it was known while a model was traced.
//!
//! Dual numbers leave out what is known to be zero. Over `f64` that is every zero, over `Var` only what
//! does not depend on the variables; `Number` does as `Var`, so that its duals are the recorded ones.

use super::functions::for_each_function;
use dualfit::{Mask, Scalar};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A value, and whether it is a constant of the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub(crate) value: f64,
    known: bool,
}

/// A truth value, and whether it is a constant of the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth {
    holds: bool,
    known: bool,
}

impl Number {
    /// A variable or a parameter.
    pub(crate) fn variable(value: f64) -> Number {
        Number { value, known: false }
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number { value, known: true }
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
                Number { value, known: self.known && other.known }
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
                    Number { value: Scalar::$one(self.value), ..self }
                }
            )*
            $(
                fn $two(self, other: impl Into<Number>) -> Number {
                    let other = other.into();
                    let value = Scalar::$two(self.value, other.value);
                    Number { value, known: self.known && other.known }
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
                self.known && self.value == 0.0
            }
        }
    };
}
for_each_function!(functions);

impl Truth {
    fn of(a: Number, b: Number, holds: fn(f64, f64) -> bool) -> Truth {
        Truth { holds: holds(a.value, b.value), known: a.known && b.known }
    }
}

impl Mask<Number> for Truth {
    fn select(self, yes: impl Into<Number>, no: impl Into<Number>) -> Number {
        let chosen = if self.holds { yes.into() } else { no.into() };
        Number { known: self.known && chosen.known, ..chosen }
    }
    fn and(self, other: Truth) -> Truth {
        Truth { holds: self.holds && other.holds, known: self.known && other.known }
    }
    fn or(self, other: Truth) -> Truth {
        Truth { holds: self.holds || other.holds, known: self.known && other.known }
    }
    fn not(self) -> Truth {
        Truth { holds: !self.holds, ..self }
    }
}
