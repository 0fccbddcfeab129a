//! Operations on vectors, from which machine code is generated. The operands of an operation are earlier operations.

/// Index of an operation in its list.
pub(super) type Id = u32;

/// Sign bit of a double.
pub(super) const SIGN: u64 = 1 << 63;

/// One operation on all lanes of a vector. A truth is a vector of booleans. With AVX2, each lane has either all bits
/// set or all bits clear; with AVX-512, each lane is one bit of a mask register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    /// The numbers of an array at the points of a vector, `ahead` vectors after the current one.
    Array {
        array: u16,
        ahead: u8,
    },
    /// A number that is the same at every point of a fit. For fits in lanes, those of the vector are used.
    Uniform {
        number: u32,
        ahead: u8,
    },
    /// A constant, given by its bits.
    Constant(u64),
    Add(Id, Id),
    Subtract(Id, Id),
    Multiply(Id, Id),
    Divide(Id, Id),
    /// The first operand if it is less than the second, else the second. `Most` selects the first operand if it is
    /// greater.
    Least(Id, Id),
    Most(Id, Id),
    /// ±(a · b) ± c, rounded once.
    Fused {
        negated: bool,
        less: bool,
        factors: [Id; 2],
        term: Id,
    },
    Root(Id),
    /// The number rounded down or up to an integer.
    Whole(Rounding, Id),
    /// a · 2^b for an integer b.
    Scale(Id, Id),
    And(Id, Id),
    Or(Id, Id),
    ExclusiveOr(Id, Id),
    /// Sum of the bits as integers, modulo 2^64. `SubtractBits` is the difference.
    AddBits(Id, Id),
    SubtractBits(Id, Id),
    ShiftLeft(Id, u8),
    ShiftRight(Id, u8),
    /// The truth of a comparison of numbers or of their bits.
    Compare(Comparison, Id, Id),
    Both(Id, Id),
    Either(Id, Id),
    Not(Id),
    /// `yes` in the lanes where the truth holds, `no` in the others.
    Select {
        truth: Id,
        yes: Id,
        no: Id,
    },
    /// Writes a number to an array.
    Store(u16, Id),
    /// Writes a number of the rows of a vector.
    Keep {
        number: u16,
        ahead: u8,
        value: Id,
    },
    /// A number of the rows of the current vector.
    Kept(u16),
    /// Adds a product to a sum.
    Sum(u16, [Id; 2]),
    /// Makes a number of a point number 0 of its row, for the product of the round
    /// ([`Product`](crate::backend::cpu::costs::Product)).
    Factor(Id),
    /// A number of the product of a round. No operation may read it after its replacement by `SetInProduct`.
    InProduct(u16),
    SetInProduct(u16, Id),
    /// Marks the result as invalid if a truth holds in any lane.
    Refuse(Id),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rounding {
    Down,
    Up,
}

/// Comparison operators. Comparisons of numbers are false for NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Comparison {
    Less,
    NotMore,
    Equal,
    SameBits,
}

impl Operation {
    /// Returns the operation with its operands mapped by `id`.
    pub(super) fn map(self, mut id: impl FnMut(Id) -> Id) -> Operation {
        use Operation::{
            Add, AddBits, And, Array, Both, Compare, Constant, Divide, Either, ExclusiveOr, Factor,
            Fused, InProduct, Keep, Kept, Least, Most, Multiply, Not, Or, Refuse, Root, Scale,
            Select, SetInProduct, ShiftLeft, ShiftRight, Store, Subtract, SubtractBits, Sum,
            Uniform, Whole,
        };
        match self {
            Array { .. } | Uniform { .. } | Constant(_) | Kept(_) | InProduct(_) => self,
            Add(a, b) => Add(id(a), id(b)),
            Subtract(a, b) => Subtract(id(a), id(b)),
            Multiply(a, b) => Multiply(id(a), id(b)),
            Divide(a, b) => Divide(id(a), id(b)),
            Least(a, b) => Least(id(a), id(b)),
            Most(a, b) => Most(id(a), id(b)),
            Fused { negated, less, factors, term } => {
                Fused { negated, less, factors: factors.map(&mut id), term: id(term) }
            }
            Root(a) => Root(id(a)),
            Whole(rounding, a) => Whole(rounding, id(a)),
            Scale(a, b) => Scale(id(a), id(b)),
            And(a, b) => And(id(a), id(b)),
            Or(a, b) => Or(id(a), id(b)),
            ExclusiveOr(a, b) => ExclusiveOr(id(a), id(b)),
            AddBits(a, b) => AddBits(id(a), id(b)),
            SubtractBits(a, b) => SubtractBits(id(a), id(b)),
            ShiftLeft(a, by) => ShiftLeft(id(a), by),
            ShiftRight(a, by) => ShiftRight(id(a), by),
            Compare(comparison, a, b) => Compare(comparison, id(a), id(b)),
            Both(a, b) => Both(id(a), id(b)),
            Either(a, b) => Either(id(a), id(b)),
            Not(a) => Not(id(a)),
            Select { truth, yes, no } => Select { truth: id(truth), yes: id(yes), no: id(no) },
            Store(array, a) => Store(array, id(a)),
            Keep { number, ahead, value } => Keep { number, ahead, value: id(value) },
            Sum(sum, factors) => Sum(sum, factors.map(id)),
            Factor(a) => Factor(id(a)),
            SetInProduct(number, a) => SetInProduct(number, id(a)),
            Refuse(a) => Refuse(id(a)),
        }
    }

    pub(super) fn for_each_operand(self, mut visit: impl FnMut(Id)) {
        self.map(|id| {
            visit(id);
            id
        });
    }

    /// Returns the number of the sum that the operation changes, if there is one.
    pub(super) fn sum(self) -> Option<u16> {
        match self {
            Operation::Sum(sum, _) => Some(sum),
            _ => None,
        }
    }

    /// Returns the operation with another sum, if it changes one.
    pub(super) fn with_sum(self, sum: u16) -> Operation {
        match self {
            Operation::Sum(_, factors) => Operation::Sum(sum, factors),
            other => other,
        }
    }

    /// Returns true if the operation has a side effect.
    pub(super) fn acts(self) -> bool {
        use Operation::{Factor, Keep, Refuse, SetInProduct, Store, Sum};
        matches!(self, Store(..) | Keep { .. } | Sum(..) | Factor(_) | SetInProduct(..) | Refuse(_))
    }

    /// Returns true if instructions can read the number directly from a table in memory.
    pub(super) fn lies_in_memory(self) -> bool {
        matches!(self, Operation::Uniform { .. } | Operation::Constant(_))
    }
}

/// Removes operations on which no side effect depends, and renumbers the others.
pub(super) fn without_dead(operations: &[Operation]) -> Vec<Operation> {
    let mut live: Vec<bool> = operations.iter().map(|operation| operation.acts()).collect();
    for (i, operation) in operations.iter().enumerate().rev() {
        if live[i] {
            operation.for_each_operand(|id| live[id as usize] = true);
        }
    }
    let mut renumbered = vec![0; operations.len()];
    let mut kept = Vec::with_capacity(operations.len());
    for (i, operation) in operations.iter().enumerate().filter(|&(i, _)| live[i]) {
        renumbered[i] = kept.len() as Id;
        kept.push(operation.map(|id| renumbered[id as usize]));
    }
    kept
}
