//! Number types that record computations as [`Operation`]s.

use super::operation::{Comparison, Id, Operation, Rounding, SIGN};
use crate::math::arithmetic::{Lane, LaneBits, Truth};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

#[derive(Default)]
struct Record {
    operations: Vec<Operation>,
    known: FxHashMap<Operation, Id>,
    /// True if there is an instruction for a · 2^b.
    scales: bool,
}

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

/// Returns the operations that `write` records. `scales`: true if there is an instruction for a · 2^b.
pub(super) fn record(scales: bool, write: impl FnOnce()) -> Vec<Operation> {
    RECORD.set(Record { scales, ..Record::default() });
    write();
    RECORD.take().operations
}

/// Adds an operation and returns its index. An operation without side effects is added only once. Not inlined, like the
/// operators below, because the recorded functions are long.
#[inline(never)]
fn push(operation: Operation) -> Id {
    RECORD.with_borrow_mut(|record| {
        let next = record.operations.len() as Id;
        let id = match operation.acts() {
            true => next,
            false => *record.known.entry(operation).or_insert(next),
        };
        if id == next {
            record.operations.push(operation);
        }
        id
    })
}

fn operation(id: Id) -> Operation {
    RECORD.with_borrow(|record| record.operations[id as usize])
}

fn constant(bits: u64) -> Id {
    push(Operation::Constant(bits))
}

/// Returns the operand if the number is a negation.
fn negative_of(id: Id) -> Option<Id> {
    let Operation::ExclusiveOr(a, sign) = operation(id) else { return None };
    (operation(sign) == Operation::Constant(SIGN)).then_some(a)
}

/// A recorded number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(Id);

/// The bits of a recorded number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits(Id);

/// A recorded truth value, for example the result of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holds(Id);

impl Number {
    /// Records a load from an array.
    pub(super) fn array(index: u16) -> Number {
        Number(push(Operation::Array { array: index, ahead: 0 }))
    }

    /// Records a number that is the same at every point.
    pub(super) fn uniform(index: usize) -> Number {
        Number(push(Operation::Uniform { number: index as u32, ahead: 0 }))
    }

    pub(super) fn floor(self) -> Number {
        Number(push(Operation::Whole(Rounding::Down, self.0)))
    }

    pub(super) fn ceil(self) -> Number {
        Number(push(Operation::Whole(Rounding::Up, self.0)))
    }

    /// Records a store to an array.
    pub(super) fn store(self, array: u16) {
        push(Operation::Store(array, self.0));
    }

    /// Records the addition of `self` · `other` to a sum.
    pub(super) fn sum(self, other: Number, sum: u16) {
        push(Operation::Sum(sum, [self.0, other.0]));
    }

    /// Records that the product of the round is computed from this number.
    pub(super) fn factor(self) {
        push(Operation::Factor(self.0));
    }

    /// Returns the number of the present point from which the product of the round is computed.
    pub(super) fn of_factor() -> Number {
        Number(push(Operation::Kept(0)))
    }

    /// Returns a number of the product of the round.
    pub(super) fn in_product(number: usize) -> Number {
        Number(push(Operation::InProduct(number as u16)))
    }

    /// Records that this number replaces a number of the product of the round.
    pub(super) fn set_in_product(self, number: usize) {
        push(Operation::SetInProduct(number as u16, self.0));
    }

    /// Returns 1 in the lanes where the truth holds, 0 in the others.
    pub(super) fn of(truth: Holds) -> Number {
        truth.select(1.0, 0.0)
    }

    /// Returns the truth value of `self` ≠ 0, which is true for NaN, too.
    pub(super) fn is_true(self) -> Holds {
        let is = |id: Id, number: f64| operation(id) == Operation::Constant(number.to_bits());
        match operation(self.0) {
            Operation::Select { truth, yes, no } if is(yes, 1.0) && is(no, 0.0) => Holds(truth),
            _ => !self.eq(0.0),
        }
    }
}

impl Holds {
    /// Records that the result is invalid if the truth holds in any lane.
    pub(super) fn refuse(self) {
        push(Operation::Refuse(self.0));
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number(constant(value.to_bits()))
    }
}

impl Neg for Number {
    type Output = Number;

    #[inline(never)]
    fn neg(self) -> Number {
        match (operation(self.0), negative_of(self.0)) {
            (Operation::Constant(bits), _) => Number(constant(bits ^ SIGN)),
            (_, Some(positive)) => Number(positive),
            _ => Number(push(Operation::ExclusiveOr(self.0, constant(SIGN)))),
        }
    }
}

macro_rules! arithmetic {
    ($($operator:ident $method:ident: $write:expr;)*) => {$(
        impl $operator for Number {
            type Output = Number;

            #[inline(never)]
            fn $method(self, other: Number) -> Number {
                Number(push($write(self.0, other.0)))
            }
        }

        impl $operator<f64> for Number {
            type Output = Number;

            fn $method(self, other: f64) -> Number {
                self.$method(Number::from(other))
            }
        }
    )*};
}
arithmetic! {
    Add add: |a, b| match negative_of(b) {
        Some(b) => Operation::Subtract(a, b),
        None => Operation::Add(a, b),
    };
    Sub sub: |a, b| match negative_of(b) {
        Some(b) => Operation::Add(a, b),
        None => Operation::Subtract(a, b),
    };
    Mul mul: Operation::Multiply;
    Div div: Operation::Divide;
}

/// Returns `a` · `b` + `term`, rounded once.
#[inline(never)]
fn fused(a: Number, b: Number, term: Number) -> Number {
    let sign = |id: Id| negative_of(id).map_or((id, false), |positive| (positive, true));
    let [(a, a_negated), (b, b_negated), (term, less)] = [a, b, term].map(|number| sign(number.0));
    let negated = a_negated != b_negated;
    Number(push(Operation::Fused { negated, less, factors: [a, b], term }))
}

/// Returns `yes` in the lanes where the truth holds, `no` in the others.
#[inline(never)]
fn selected(truth: Id, yes: Id, no: Id) -> Number {
    Number(match operation(truth) {
        _ if yes == no => yes,
        Operation::Not(truth) => return selected(truth, no, yes),
        Operation::Compare(Comparison::Less, a, b) if (a, b) == (yes, no) => {
            push(Operation::Least(a, b))
        }
        Operation::Compare(Comparison::Less, a, b) if (b, a) == (yes, no) => {
            push(Operation::Most(b, a))
        }
        _ => push(Operation::Select { truth, yes, no }),
    })
}

impl Lane for Number {
    type Bits = Bits;
    type Truth = Holds;

    fn mul_add(self, factor: impl Into<Number>, term: impl Into<Number>) -> Number {
        fused(self, factor.into(), term.into())
    }

    fn abs(self) -> Number {
        Number(push(Operation::And(self.0, constant(!SIGN))))
    }

    fn sqrt(self) -> Number {
        Number(push(Operation::Root(self.0)))
    }

    fn copysign(self, sign: Number) -> Number {
        let sign = Operation::And(sign.0, constant(SIGN));
        Number(push(Operation::Or(self.abs().0, push(sign))))
    }

    fn to_bits(self) -> Bits {
        Bits(self.0)
    }

    fn lt(self, other: impl Into<Number>) -> Holds {
        Holds(push(Operation::Compare(Comparison::Less, self.0, other.into().0)))
    }

    fn le(self, other: impl Into<Number>) -> Holds {
        Holds(push(Operation::Compare(Comparison::NotMore, self.0, other.into().0)))
    }

    fn eq(self, other: impl Into<Number>) -> Holds {
        Holds(push(Operation::Compare(Comparison::Equal, self.0, other.into().0)))
    }

    fn scaled(self, (k, bits): (Number, Bits)) -> Number {
        match RECORD.with_borrow(|record| record.scales) {
            true => Number(push(Operation::Scale(self.0, k.0))),
            false => self.scaled_by_halves((k, bits)),
        }
    }
}

impl From<u64> for Bits {
    fn from(bits: u64) -> Bits {
        Bits(constant(bits))
    }
}

macro_rules! of_bits {
    ($($operator:ident $method:ident $operation:ident;)*) => {$(
        impl $operator for Bits {
            type Output = Bits;

            fn $method(self, other: Bits) -> Bits {
                Bits(push(Operation::$operation(self.0, other.0)))
            }
        }
    )*};
}
of_bits! {
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor ExclusiveOr;
}

impl Shl<u32> for Bits {
    type Output = Bits;

    fn shl(self, by: u32) -> Bits {
        Bits(push(Operation::ShiftLeft(self.0, by as u8)))
    }
}

impl Shr<u32> for Bits {
    type Output = Bits;

    fn shr(self, by: u32) -> Bits {
        Bits(push(Operation::ShiftRight(self.0, by as u8)))
    }
}

impl LaneBits for Bits {
    type Number = Number;

    fn plus(self, other: impl Into<Bits>) -> Bits {
        let other = other.into();
        match operation(other.0) {
            Operation::Constant(0) => self,
            _ => Bits(push(Operation::AddBits(self.0, other.0))),
        }
    }

    fn less(self, other: impl Into<Bits>) -> Bits {
        Bits(push(Operation::SubtractBits(self.0, other.into().0)))
    }

    fn is(self, other: impl Into<Bits>) -> Holds {
        Holds(push(Operation::Compare(Comparison::SameBits, self.0, other.into().0)))
    }

    fn number(self) -> Number {
        Number(self.0)
    }
}

impl BitAnd for Holds {
    type Output = Holds;

    fn bitand(self, other: Holds) -> Holds {
        Holds(push(Operation::Both(self.0, other.0)))
    }
}

impl BitOr for Holds {
    type Output = Holds;

    fn bitor(self, other: Holds) -> Holds {
        Holds(push(Operation::Either(self.0, other.0)))
    }
}

impl Not for Holds {
    type Output = Holds;

    fn not(self) -> Holds {
        match operation(self.0) {
            Operation::Not(positive) => Holds(positive),
            _ => Holds(push(Operation::Not(self.0))),
        }
    }
}

impl Truth for Holds {
    type Number = Number;

    fn select(self, yes: impl Into<Number>, no: impl Into<Number>) -> Number {
        selected(self.0, yes.into().0, no.into().0)
    }
}
