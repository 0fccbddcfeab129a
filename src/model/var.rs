//! The scalar that records operations: a model called with [`Var`]s writes its operations to a tape.
//!
//! Numbers stay numbers until they are combined with a variable, so constants fold while tracing. Only identities
//! that are exact to the last bit are simplified (x·1, x/1, x − 0), because the traced model must equal
//! the untraced one bit for bit.

use super::functions::for_each_function;
use super::op::{Binary, Id, Node, Unary};
use super::scalar::{Mask, Scalar};
use super::tape::{self, TapeId};
use std::iter::{Product, Sum};
use std::ops::{
    Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign,
};

/// A variable of a model while it is traced: `Copy`, with the arithmetic and the functions of `f64`.
/// Either operand can be a number (`2.0 * x`, `x * 2`).
///
/// There is no `PartialOrd`: a branch on a variable does not compile. Write
/// `x.lt(y).select(a, b)` instead. The functions are documented at [`Scalar`].
#[derive(Clone, Copy, Debug)]
pub struct Var(Repr);

#[derive(Clone, Copy, Debug)]
enum Repr {
    Const(f64),
    Node(TapeId, Id),
}

/// The result of comparing [`Var`]s.
#[derive(Clone, Copy, Debug)]
pub struct VarMask(Var);

impl Var {
    pub(crate) fn column(index: u32) -> Var {
        emit(Node::Column(index), &[])
    }

    pub(crate) fn param(index: u32) -> Var {
        emit(Node::Param(index), &[])
    }

    /// Returns the node of this variable on the tape `current`, or `None` if it belongs to another tape.
    pub(crate) fn node(self, current: TapeId) -> Option<Id> {
        match self.0 {
            Repr::Node(tape, id) => (tape == current).then_some(id),
            Repr::Const(value) => Some(tape::push(Node::Const(value.to_bits()), &[])?.1),
        }
    }

    fn known(self) -> Option<f64> {
        match self.0 {
            Repr::Const(value) => Some(value),
            Repr::Node(..) => None,
        }
    }

    /// Returns the variable as an operand: its tape and node. A number is recorded on the topmost tape.
    fn operand(self) -> Option<(TapeId, Id)> {
        match self.0 {
            Repr::Node(tape, id) => Some((tape, id)),
            Repr::Const(value) => tape::push(Node::Const(value.to_bits()), &[]),
        }
    }

    fn unary(self, op: Unary) -> Var {
        match self.0 {
            Repr::Const(value) => Var::from(op.apply(value)),
            Repr::Node(tape, id) => emit(Node::Unary(op, id), &[tape]),
        }
    }

    fn binary(self, op: Binary, other: Var) -> Var {
        if let (Some(a), Some(b)) = (self.known(), other.known()) {
            return Var::from(op.apply(a, b));
        }
        let (Some((s, mut a)), Some((t, mut b))) = (self.operand(), other.operand()) else {
            return Var::from(f64::NAN);
        };
        if op.commutes() && b < a {
            (a, b) = (b, a);
        }
        emit(Node::Binary(op, a, b), &[s, t])
    }

    fn is(self, number: f64) -> bool {
        self.known().is_some_and(|value| value.to_bits() == number.to_bits())
    }
}

/// Returns the variable of a new node. Outside a trace, or if operands belong to other tapes, the
/// variable is NaN; in the latter case the topmost tape is marked.
fn emit(node: Node, operand_tapes: &[TapeId]) -> Var {
    match tape::push(node, operand_tapes) {
        Some((tape, id)) => Var(Repr::Node(tape, id)),
        None => Var::from(f64::NAN),
    }
}

impl From<f64> for Var {
    fn from(value: f64) -> Var {
        Var(Repr::Const(value))
    }
}

impl From<i32> for Var {
    fn from(value: i32) -> Var {
        Var::from(f64::from(value))
    }
}

impl From<u32> for Var {
    fn from(value: u32) -> Var {
        Var::from(f64::from(value))
    }
}

/// Converts the number, rounded beyond 2⁵³.
impl From<usize> for Var {
    fn from(value: usize) -> Var {
        Var::from(value as f64)
    }
}

impl Neg for Var {
    type Output = Var;
    fn neg(self) -> Var {
        self.unary(Unary::Neg)
    }
}

impl Neg for &Var {
    type Output = Var;
    fn neg(self) -> Var {
        -*self
    }
}

/// See [`Scalar::fmod`].
impl Rem for Var {
    type Output = Var;
    fn rem(self, other: Var) -> Var {
        self.fmod(other)
    }
}

impl Add for Var {
    type Output = Var;
    fn add(self, other: Var) -> Var {
        if self.is(-0.0) {
            other
        } else if other.is(-0.0) {
            self
        } else {
            self.binary(Binary::Add, other)
        }
    }
}

impl Sub for Var {
    type Output = Var;
    fn sub(self, other: Var) -> Var {
        if other.is(0.0) { self } else { self.binary(Binary::Sub, other) }
    }
}

impl Mul for Var {
    type Output = Var;
    fn mul(self, other: Var) -> Var {
        if self.is(1.0) {
            other
        } else if other.is(1.0) {
            self
        } else if self.is(-1.0) {
            -other
        } else if other.is(-1.0) {
            -self
        } else {
            self.binary(Binary::Mul, other)
        }
    }
}

impl Div for Var {
    type Output = Var;
    fn div(self, other: Var) -> Var {
        match other.known() {
            Some(1.0) => self,
            Some(-1.0) => -self,
            // A power of two has an exact reciprocal, and a product is cheaper than a quotient.
            Some(d) if is_power_of_two(d) && (1.0 / d).is_normal() => self * Var::from(1.0 / d),
            _ => self.binary(Binary::Div, other),
        }
    }
}

/// Returns true if `d` is ± a normal power of two: the stored bits of its mantissa are 0.
fn is_power_of_two(d: f64) -> bool {
    d.is_normal() && d.to_bits() << 12 == 0
}

/// Defines the operators for a number of type `$number` on either side. Among the integers only `i32` has them;
/// otherwise the compiler could not infer the type of `(x / 2).exp()`.
macro_rules! with_number {
    ($number:ty: $($trait:ident $method:ident $assign:ident $assign_method:ident),*) => {$(
        impl $trait<$number> for Var {
            type Output = Var;
            fn $method(self, other: $number) -> Var {
                $trait::$method(self, Var::from(other))
            }
        }
        impl $trait<$number> for &Var {
            type Output = Var;
            fn $method(self, other: $number) -> Var {
                $trait::$method(*self, Var::from(other))
            }
        }
        impl $trait<Var> for $number {
            type Output = Var;
            fn $method(self, other: Var) -> Var {
                $trait::$method(Var::from(self), other)
            }
        }
        impl $trait<&Var> for $number {
            type Output = Var;
            fn $method(self, other: &Var) -> Var {
                $trait::$method(Var::from(self), *other)
            }
        }
        impl $assign<$number> for Var {
            fn $assign_method(&mut self, other: $number) {
                *self = $trait::$method(*self, other);
            }
        }
    )*};
}

/// Defines the operators for references, and the assigning operators.
macro_rules! with_references {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident),*) => {
        $(
            impl $trait<&Var> for Var {
                type Output = Var;
                fn $method(self, other: &Var) -> Var {
                    $trait::$method(self, *other)
                }
            }
            impl $trait<Var> for &Var {
                type Output = Var;
                fn $method(self, other: Var) -> Var {
                    $trait::$method(*self, other)
                }
            }
            impl $trait for &Var {
                type Output = Var;
                fn $method(self, other: &Var) -> Var {
                    $trait::$method(*self, *other)
                }
            }
            impl $assign for Var {
                fn $assign_method(&mut self, other: Var) {
                    *self = $trait::$method(*self, other);
                }
            }
            impl $assign<&Var> for Var {
                fn $assign_method(&mut self, other: &Var) {
                    *self = $trait::$method(*self, *other);
                }
            }
        )*
        with_number!(f64: $($trait $method $assign $assign_method),*);
        with_number!(i32: $($trait $method $assign $assign_method),*);
    };
}
with_references!(
    Add add AddAssign add_assign,
    Sub sub SubAssign sub_assign,
    Mul mul MulAssign mul_assign,
    Div div DivAssign div_assign,
    Rem rem RemAssign rem_assign
);

impl Sum for Var {
    fn sum<I: Iterator<Item = Var>>(terms: I) -> Var {
        terms.fold(Var::from(-0.0), |sum, term| sum + term)
    }
}

impl<'a> Sum<&'a Var> for Var {
    fn sum<I: Iterator<Item = &'a Var>>(terms: I) -> Var {
        terms.copied().sum()
    }
}

impl<'a> Product<&'a Var> for Var {
    fn product<I: Iterator<Item = &'a Var>>(factors: I) -> Var {
        factors.copied().product()
    }
}

impl Product for Var {
    fn product<I: Iterator<Item = Var>>(factors: I) -> Var {
        factors.fold(Var::from(1.0), |product, factor| product * factor)
    }
}

macro_rules! functions {
    (
        ($($number:ident $Number:ident)*), ($($truth:ident $Truth:ident)*), ($($composed:ident)*),
        one { $($(#[$doc:meta])* $one:ident = $One:ident $entry:tt)* }
        two { $($(#[$doc2:meta])* $two:ident($other:ident) = $Two:ident $entry2:tt)* }
    ) => {
        functions! {
            unary $($one $One)*; binary $($two $Two)* $($number $Number)*; compare $($truth $Truth)*;
            composed $($composed)*
        }
    };
    (unary $($one:ident $One:ident)*; binary $($two:ident $Two:ident)*; compare $($truth:ident $Truth:ident)*;
     composed $($composed:ident)*) => {
        /// The functions of [`Scalar`], callable without importing the trait.
        impl Var {
            $(
                #[doc = concat!("See [`Scalar::", stringify!($one), "`].")]
                pub fn $one(self) -> Var {
                    self.unary(Unary::$One)
                }
            )*
            $(
                #[doc = concat!("See [`Scalar::", stringify!($two), "`].")]
                pub fn $two(self, other: impl Into<Var>) -> Var {
                    self.binary(Binary::$Two, other.into())
                }
            )*
            $(
                #[doc = concat!("See [`Scalar::", stringify!($truth), "`].")]
                pub fn $truth(self, other: impl Into<Var>) -> VarMask {
                    VarMask(self.binary(Binary::$Truth, other.into()))
                }
            )*
            /// See [`Scalar::gt`].
            pub fn gt(self, other: impl Into<Var>) -> VarMask {
                Scalar::gt(self, other)
            }
            /// See [`Scalar::ge`].
            pub fn ge(self, other: impl Into<Var>) -> VarMask {
                Scalar::ge(self, other)
            }
            /// See [`Scalar::clamp`].
            pub fn clamp(self, low: impl Into<Var>, high: impl Into<Var>) -> Var {
                Scalar::clamp(self, low, high)
            }
            /// See [`Scalar::powi`].
            pub fn powi(self, exponent: i32) -> Var {
                Scalar::powi(self, exponent)
            }
            /// See [`Scalar::powf`].
            pub fn powf(self, exponent: impl Into<Var>) -> Var {
                let exponent = exponent.into();
                // Every scalar computes a square as a product, so recording it as a product changes no bit.
                if exponent.is(2.0) { self * self } else { self.binary(Binary::Pow, exponent) }
            }
            $(
                #[doc = concat!("See [`Scalar::", stringify!($composed), "`].")]
                pub fn $composed(self) -> Var {
                    Scalar::$composed(self)
                }
            )*
            /// See [`Scalar::sin_cos`].
            pub fn sin_cos(self) -> (Var, Var) {
                Scalar::sin_cos(self)
            }
            /// See [`Scalar::mul_add`].
            pub fn mul_add(self, factor: impl Into<Var>, term: impl Into<Var>) -> Var {
                Scalar::mul_add(self, factor, term)
            }
            /// See [`Scalar::polygamma`].
            pub fn polygamma(self, order: u32) -> Var {
                self.unary(Unary::Polygamma(order))
            }
        }

        impl Scalar for Var {
            type Mask = VarMask;
            $(fn $one(self) -> Var { Var::$one(self) })*
            $(fn $two(self, other: impl Into<Var>) -> Var { Var::$two(self, other) })*
            $(fn $truth(self, other: impl Into<Var>) -> VarMask { Var::$truth(self, other) })*
            fn powf(self, exponent: impl Into<Var>) -> Var {
                Var::powf(self, exponent)
            }
            fn polygamma(self, order: u32) -> Var {
                Var::polygamma(self, order)
            }
            fn is_known_zero(self) -> bool {
                self.known() == Some(0.0)
            }
            fn may_be_infinite(self) -> bool {
                match self.0 {
                    Repr::Const(value) => value.is_infinite(),
                    Repr::Node(_, id) => tape::has_logarithm_of_column(id),
                }
            }
        }
    };
}
for_each_function!(
    functions,
    (min Min max Max),
    (lt Lt le Le eq Eq),
    (recip to_radians to_degrees sinc fermi bose expit)
);

impl VarMask {
    /// Returns `yes` where the comparison is true, `no` elsewhere.
    pub fn select(self, yes: impl Into<Var>, no: impl Into<Var>) -> Var {
        let (yes, no) = (yes.into(), no.into());
        if let Some(truth) = self.0.known() {
            return if truth != 0.0 { yes } else { no };
        }
        let (Some((r, m)), Some((s, a)), Some((t, b))) =
            (self.0.operand(), yes.operand(), no.operand())
        else {
            return Var::from(f64::NAN);
        };
        emit(Node::Select(m, a, b), &[r, s, t])
    }

    /// Returns true where both are true.
    pub fn and(self, other: VarMask) -> VarMask {
        VarMask(self.0.binary(Binary::And, other.0))
    }

    /// Returns true where at least one is true.
    pub fn or(self, other: VarMask) -> VarMask {
        VarMask(self.0.binary(Binary::Or, other.0))
    }
}

/// Negates the comparison.
impl std::ops::Not for VarMask {
    type Output = VarMask;
    fn not(self) -> VarMask {
        VarMask(self.0.unary(Unary::Not))
    }
}

impl Mask<Var> for VarMask {
    fn select(self, yes: impl Into<Var>, no: impl Into<Var>) -> Var {
        VarMask::select(self, yes, no)
    }
    fn and(self, other: VarMask) -> VarMask {
        VarMask::and(self, other)
    }
    fn or(self, other: VarMask) -> VarMask {
        VarMask::or(self, other)
    }
    fn not(self) -> VarMask {
        !self
    }
}

/// Returns the variables as an array; missing variables are NaN.
pub(crate) fn array<const N: usize>(p: &[Var]) -> [Var; N] {
    std::array::from_fn(|i| p.get(i).copied().unwrap_or(Var::from(f64::NAN)))
}
