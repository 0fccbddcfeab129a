//! Names of operations, and what their suffixes say.

use super::tokens::kind;
use crate::program::{Arithmetic, Atomic, Form, Part, Property, Relation, Rounding, Space, Type};

/// An opcode in its parts: `fma`, `rn`, `f64`.
#[derive(Debug)]
pub(super) struct Opcode<'a> {
    pub(super) name: &'a str,
    pub(super) suffixes: Vec<&'a str>,
}

impl<'a> Opcode<'a> {
    pub(super) fn new(word: &'a str) -> Opcode<'a> {
        let mut parts = word.split('.');
        Opcode { name: parts.next().unwrap_or_default(), suffixes: parts.collect() }
    }

    pub(super) fn has(&self, suffix: &str) -> bool {
        self.suffixes.contains(&suffix)
    }

    /// The types among the suffixes.
    pub(super) fn kinds(&self) -> Vec<Type> {
        self.suffixes.iter().filter_map(|suffix| kind(suffix)).collect()
    }

    /// The space that is named, generic if none is.
    pub(super) fn space(&self) -> Space {
        let named = self.suffixes.iter().find_map(|suffix| match *suffix {
            "global" => Some(Space::Global),
            "shared" => Some(Space::Shared),
            "local" => Some(Space::Local),
            "param" => Some(Space::Parameter),
            "const" => Some(Space::Constant),
            _ => None,
        });
        named.unwrap_or(Space::Generic)
    }

    /// How results are rounded, and whether to whole numbers.
    pub(super) fn rounding(&self) -> Option<(Rounding, bool)> {
        self.suffixes.iter().find_map(|suffix| {
            Some(match *suffix {
                "rn" => (Rounding::Nearest, false),
                "rz" => (Rounding::TowardZero, false),
                "rm" => (Rounding::Down, false),
                "rp" => (Rounding::Up, false),
                "rni" => (Rounding::Nearest, true),
                "rzi" => (Rounding::TowardZero, true),
                "rmi" => (Rounding::Down, true),
                "rpi" => (Rounding::Up, true),
                _ => return None,
            })
        })
    }

    pub(super) fn form(&self) -> Form {
        Form {
            part: match () {
                () if self.has("hi") || self.has("shiftamt") => Part::High,
                () if self.has("wide") => Part::Wide,
                () => Part::Low,
            },
            carry_in: matches!(self.name, "addc" | "subc" | "madc"),
            carry_out: self.has("cc"),
            saturate: self.has("sat"),
            flush: self.has("ftz"),
            approximate: self.has("approx"),
            rounding: self.rounding().map_or(Rounding::Nearest, |(rounding, _)| rounding),
        }
    }

    /// The operation, and how many values it takes.
    pub(super) fn arithmetic(&self) -> Option<(Arithmetic, usize)> {
        let clamp = self.has("clamp");
        Some(match self.name {
            "add" | "addc" => (Arithmetic::Add, 2),
            "sub" | "subc" => (Arithmetic::Subtract, 2),
            "mul" => (Arithmetic::Multiply, 2),
            "mad" | "madc" | "fma" => (Arithmetic::MultiplyAdd, 3),
            "div" => (Arithmetic::Divide, 2),
            "rem" => (Arithmetic::Remainder, 2),
            "min" => (Arithmetic::Minimum, 2),
            "max" => (Arithmetic::Maximum, 2),
            "abs" => (Arithmetic::Absolute, 1),
            "neg" => (Arithmetic::Negate, 1),
            "sqrt" => (Arithmetic::SquareRoot, 1),
            "rsqrt" => (Arithmetic::ReciprocalRoot, 1),
            "rcp" => (Arithmetic::Reciprocal, 1),
            "ex2" => (Arithmetic::Exponential, 1),
            "lg2" => (Arithmetic::Logarithm, 1),
            "sin" => (Arithmetic::Sine, 1),
            "cos" => (Arithmetic::Cosine, 1),
            "copysign" => (Arithmetic::CopySign, 2),
            "and" => (Arithmetic::And, 2),
            "or" => (Arithmetic::Or, 2),
            "xor" => (Arithmetic::Xor, 2),
            "not" => (Arithmetic::Not, 1),
            "shl" => (Arithmetic::ShiftLeft, 2),
            "shr" => (Arithmetic::ShiftRight, 2),
            "popc" => (Arithmetic::CountOnes, 1),
            "clz" => (Arithmetic::LeadingZeros, 1),
            "brev" => (Arithmetic::ReverseBits, 1),
            "bfe" => (Arithmetic::ExtractBits, 3),
            "bfi" => (Arithmetic::InsertBits, 4),
            "bfind" => (Arithmetic::FindBit, 1),
            // Other modes than the plain one have a suffix behind the type.
            "prmt" if self.suffixes == ["b32"] => (Arithmetic::PermuteBytes, 3),
            "shf" if self.has("l") => (Arithmetic::FunnelLeft { clamp }, 3),
            "shf" if self.has("r") => (Arithmetic::FunnelRight { clamp }, 3),
            "lop3" => (Arithmetic::Table, 4),
            "selp" => (Arithmetic::Select, 3),
            "testp" => (Arithmetic::Test(self.property()?), 1),
            _ => return None,
        })
    }

    fn property(&self) -> Option<Property> {
        Some(match *self.suffixes.first()? {
            "finite" => Property::Finite,
            "infinite" => Property::Infinite,
            "number" => Property::Number,
            "notanumber" => Property::NotANumber,
            "normal" => Property::Normal,
            "subnormal" => Property::Subnormal,
            _ => return None,
        })
    }

    pub(super) fn relation(&self) -> Option<Relation> {
        Some(match *self.suffixes.first()? {
            "eq" => Relation::Equal,
            "ne" => Relation::NotEqual,
            "lt" | "lo" => Relation::Less,
            "le" | "ls" => Relation::LessEqual,
            "gt" | "hi" => Relation::Greater,
            "ge" | "hs" => Relation::GreaterEqual,
            "equ" => Relation::EqualUnordered,
            "neu" => Relation::NotEqualUnordered,
            "ltu" => Relation::LessUnordered,
            "leu" => Relation::LessEqualUnordered,
            "gtu" => Relation::GreaterUnordered,
            "geu" => Relation::GreaterEqualUnordered,
            "num" => Relation::Ordered,
            "nan" => Relation::Unordered,
            _ => return None,
        })
    }

    /// What a comparison is combined with.
    pub(super) fn combination(&self) -> Option<Arithmetic> {
        match *self.suffixes.get(1)? {
            "and" => Some(Arithmetic::And),
            "or" => Some(Arithmetic::Or),
            "xor" => Some(Arithmetic::Xor),
            _ => None,
        }
    }

    pub(super) fn atomic(&self) -> Option<Atomic> {
        self.suffixes.iter().find_map(|suffix| {
            Some(match *suffix {
                "add" => Atomic::Add,
                "exch" => Atomic::Exchange,
                "min" => Atomic::Minimum,
                "max" => Atomic::Maximum,
                "and" => Atomic::And,
                "or" => Atomic::Or,
                "cas" => Atomic::CompareAndSwap,
                _ => return None,
            })
        })
    }
}
