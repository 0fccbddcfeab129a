//! Arithmetic instructions, which compute one value from one to four.

use super::Result;
use super::function::Body;
use super::instructions::Opcode;
use crate::program::{Arithmetic, Form, Operand, Operation, Part, Property, Rounding, Type};

/// Type of an operand or a result, relative to the type of the instruction.
#[derive(Clone, Copy, PartialEq)]
enum Taken {
    /// A value of the instruction's type.
    Same,
    /// An integer of 32 bits: a shift amount, a position, a length, a count.
    Number,
    /// A value with the width of the product to which it is added.
    Product,
    Predicate,
}

/// Syntax of an arithmetic instruction.
struct Rule {
    kind: Arithmetic,
    /// Types that are allowed as the last suffix.
    types: &'static [Type],
    from: &'static [Taken],
    to: Taken,
}

const WHOLE: &[Type] = &[Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64];
const LARGE: &[Type] = &[Type::U32, Type::U64, Type::S32, Type::S64];
const SIGNED: &[Type] = &[Type::S16, Type::S32, Type::S64, Type::F32, Type::F64];
const SINGLE: &[Type] = &[Type::F32];
const FLOATS: &[Type] = &[Type::F32, Type::F64];
const NUMBERS: &[Type] =
    &[Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64, Type::F32, Type::F64];
const BITS: &[Type] = &[Type::B16, Type::B32, Type::B64];
const LARGE_BITS: &[Type] = &[Type::B32, Type::B64];
const WORD: &[Type] = &[Type::B32];
const LOGICAL: &[Type] = &[Type::Pred, Type::B16, Type::B32, Type::B64];
const SHIFTED: &[Type] = &[
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S16,
    Type::S32,
    Type::S64,
];
const SELECTED: &[Type] = &[
    Type::B16,
    Type::B32,
    Type::B64,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
];

const ONE: &[Taken] = &[Taken::Same];
const TWO: &[Taken] = &[Taken::Same; 2];
const SHIFT: &[Taken] = &[Taken::Same, Taken::Number];
const ADDED: &[Taken] = &[Taken::Same, Taken::Same, Taken::Product];
const EXTRACTED: &[Taken] = &[Taken::Same, Taken::Number, Taken::Number];
const INSERTED: &[Taken] = &[Taken::Same, Taken::Same, Taken::Number, Taken::Number];
const THREE_WORDS: &[Taken] = &[Taken::Same, Taken::Same, Taken::Number];
const TABLE: &[Taken] = &[Taken::Same, Taken::Same, Taken::Same, Taken::Number];
const CHOICE: &[Taken] = &[Taken::Same, Taken::Same, Taken::Predicate];

/// Returns the rule of an opcode. Takes the suffixes that determine the kind of the operation.
fn rule(opcode: &mut Opcode) -> Option<Rule> {
    use Arithmetic as A;
    let (kind, types, from) = match opcode.name {
        "add" | "addc" => (A::Add, NUMBERS, TWO),
        "sub" | "subc" => (A::Subtract, NUMBERS, TWO),
        "mul" => (A::Multiply, NUMBERS, TWO),
        "mad" | "madc" => (A::MultiplyAdd, NUMBERS, ADDED),
        "fma" => (A::MultiplyAdd, FLOATS, ADDED),
        "div" => (A::Divide, NUMBERS, TWO),
        "rem" => (A::Remainder, WHOLE, TWO),
        "min" => (A::Minimum, NUMBERS, TWO),
        "max" => (A::Maximum, NUMBERS, TWO),
        "abs" => (A::Absolute, SIGNED, ONE),
        "neg" => (A::Negate, SIGNED, ONE),
        "sqrt" => (A::SquareRoot, FLOATS, ONE),
        "rsqrt" => (A::ReciprocalRoot, FLOATS, ONE),
        "rcp" => (A::Reciprocal, FLOATS, ONE),
        "ex2" => (A::Exponential, SINGLE, ONE),
        "lg2" => (A::Logarithm, SINGLE, ONE),
        "sin" => (A::Sine, SINGLE, ONE),
        "cos" => (A::Cosine, SINGLE, ONE),
        "copysign" => (A::CopySign, FLOATS, TWO),
        "and" => (A::And, LOGICAL, TWO),
        "or" => (A::Or, LOGICAL, TWO),
        "xor" => (A::Xor, LOGICAL, TWO),
        "not" => (A::Not, LOGICAL, ONE),
        "shl" => (A::ShiftLeft, BITS, SHIFT),
        "shr" => (A::ShiftRight, SHIFTED, SHIFT),
        "popc" => (A::CountOnes, LARGE_BITS, ONE),
        "clz" => (A::LeadingZeros, LARGE_BITS, ONE),
        "brev" => (A::ReverseBits, LARGE_BITS, ONE),
        "bfe" => (A::ExtractBits, LARGE, EXTRACTED),
        "bfi" => (A::InsertBits, LARGE_BITS, INSERTED),
        "bfind" => (A::FindBit, LARGE, ONE),
        "prmt" => (A::PermuteBytes, WORD, THREE_WORDS),
        "shf" => (funnel(opcode)?, WORD, THREE_WORDS),
        "lop3" => (A::Table, WORD, TABLE),
        "selp" => (A::Select, SELECTED, CHOICE),
        "testp" => (A::Test(property(opcode)?), FLOATS, ONE),
        _ => return None,
    };
    let to = match kind {
        A::CountOnes | A::LeadingZeros | A::FindBit => Taken::Number,
        A::Multiply | A::MultiplyAdd => Taken::Product,
        A::Test(_) => Taken::Predicate,
        _ => Taken::Same,
    };
    Some(Rule { kind, types, from, to })
}

/// Takes the direction of a funnel shift, and the treatment of amounts of 32 or more.
fn funnel(opcode: &mut Opcode) -> Option<Arithmetic> {
    let is_left = opcode.take("l");
    if !is_left && !opcode.take("r") {
        return None;
    }
    let clamp = opcode.take("clamp");
    if !clamp && !opcode.take("wrap") {
        return None;
    }
    Some(if is_left { Arithmetic::FunnelLeft { clamp } } else { Arithmetic::FunnelRight { clamp } })
}

/// Takes the property that `testp` tests.
fn property(opcode: &mut Opcode) -> Option<Property> {
    opcode.take_one(&[
        ("finite", Property::Finite),
        ("infinite", Property::Infinite),
        ("number", Property::Number),
        ("notanumber", Property::NotANumber),
        ("normal", Property::Normal),
        ("subnormal", Property::Subnormal),
    ])
}

/// Returns the type of the whole product of two values of type `of`.
fn product(of: Type) -> Option<Type> {
    Some(match of {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        _ => return None,
    })
}

/// Takes the rounding mode if there is a suffix for it.
pub(super) fn rounding(opcode: &mut Opcode) -> Option<Rounding> {
    opcode.take_one(&[
        ("rn", Rounding::Nearest),
        ("rz", Rounding::TowardZero),
        ("rm", Rounding::Down),
        ("rp", Rounding::Up),
    ])
}

/// Takes the suffixes that the kind of operation can have. Returns `None` if a required suffix is missing.
fn form(opcode: &mut Opcode, kind: Arithmetic, of: Type) -> Option<Form> {
    use Arithmetic as A;
    let mut form = Form::PLAIN;
    let is_product = matches!(kind, A::Multiply | A::MultiplyAdd);
    let is_sum = matches!(kind, A::Add | A::Subtract | A::MultiplyAdd);
    if !of.is_float() {
        if is_product {
            let parts = [("lo", Part::Low), ("hi", Part::High), ("wide", Part::Wide)];
            form.part = opcode.take_one(&parts)?;
        } else if kind == A::FindBit && opcode.take("shiftamt") {
            form.part = Part::High;
        }
        form.carry_in = opcode.name.ends_with('c') && is_sum;
        form.carry_out = is_sum && form.part != Part::Wide && opcode.take("cc");
        let has_carry = form.carry_in || form.carry_out;
        if has_carry && (of.bytes() < 4 || form.part == Part::Wide) {
            return None;
        }
        let can_saturate = matches!(kind, A::Add | A::Subtract) && of == Type::S32 && !has_carry;
        form.saturate = can_saturate && opcode.take("sat");
        return Some(form);
    }
    if opcode.name == "addc" || opcode.name == "subc" || opcode.name == "madc" {
        return None;
    }
    let is_root = matches!(kind, A::SquareRoot | A::Reciprocal);
    if is_sum || is_root || matches!(kind, A::Multiply | A::Divide) {
        let written = rounding(opcode);
        form.rounding = written.unwrap_or(Rounding::Nearest);
        let may_be_inexact = is_root || kind == A::Divide;
        let has_approximation = of == Type::F32 || kind == A::Reciprocal;
        if may_be_inexact && written.is_none() && has_approximation {
            form.approximate = opcode.take("approx") || (kind == A::Divide && opcode.take("full"));
        }
        let needs_rounding = may_be_inexact || kind == A::MultiplyAdd;
        if needs_rounding && written.is_none() && !form.approximate {
            return None;
        }
    }
    if matches!(kind, A::ReciprocalRoot | A::Exponential | A::Logarithm | A::Sine | A::Cosine) {
        form.approximate = opcode.take("approx");
        if !form.approximate {
            return None;
        }
    }
    let keeps_all = matches!(kind, A::CopySign | A::Select | A::Test(_));
    let can_flush = of == Type::F32 || form.approximate;
    form.flush = can_flush && !keeps_all && opcode.take("ftz");
    let can_saturate = of == Type::F32 && (is_sum || kind == A::Multiply);
    form.saturate = can_saturate && opcode.take("sat");
    Some(form)
}

impl Body<'_, '_> {
    /// Reads the operands of an arithmetic instruction.
    pub(super) fn arithmetic(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        let error = self.reader.tokens.error("the instruction is not understood");
        let rule = rule(opcode).ok_or_else(|| error.clone())?;
        let of = opcode.last_type().filter(|of| rule.types.contains(of));
        let of = of.ok_or_else(|| error.clone())?;
        let form = form(opcode, rule.kind, of).ok_or_else(|| error.clone())?;
        let whole = match form.part {
            Part::Wide => product(of).ok_or(error)?,
            Part::Low | Part::High => of,
        };
        let type_at = |taken: Taken| match taken {
            Taken::Same => of,
            Taken::Number => Type::U32,
            Taken::Product => whole,
            Taken::Predicate => Type::Pred,
        };
        let to = self.destination(type_at(rule.to))?;
        let mut from = Vec::with_capacity(rule.from.len());
        for &taken in rule.from {
            from.push(self.next_operand(type_at(taken))?);
        }
        let is_table = matches!(from.last(), Some(Operand::Constant(0..=255)));
        if rule.kind == Arithmetic::Table && !is_table {
            return Err(self.reader.tokens.error("the table is not a constant of 8 bits"));
        }
        Ok(Operation::Arithmetic { kind: rule.kind, of, to, from, form })
    }
}
