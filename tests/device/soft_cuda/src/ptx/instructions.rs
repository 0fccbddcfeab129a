//! Instructions and their suffixes; here the instructions that compare, convert, load, store and move values.

use super::arithmetic::rounding;
use super::function::Body;
use super::operands::Width;
use super::tokens::type_of;
use super::{PtxError, Result};
use crate::program::{
    Arithmetic, Atomic, Combination, Instruction, Operation, Relation, Rounding, Scope, Space, Type,
};

/// Opcode, with the suffixes that were not taken yet.
pub(super) struct Opcode<'a> {
    pub(super) name: &'a str,
    suffixes: Vec<&'a str>,
}

impl<'a> Opcode<'a> {
    /// Splits a word such as `add.rn.f64`.
    fn new(word: &'a str) -> Opcode<'a> {
        let mut parts = word.split('.');
        Opcode { name: parts.next().unwrap_or_default(), suffixes: parts.collect() }
    }

    /// Takes `suffix` if present. Returns true if it was taken.
    pub(super) fn take(&mut self, suffix: &str) -> bool {
        let found = self.suffixes.iter().position(|&other| other == suffix);
        found.map(|at| self.suffixes.remove(at)).is_some()
    }

    /// Takes the first suffix of `meanings` that is present. Returns its meaning.
    pub(super) fn take_one<T: Copy>(&mut self, meanings: &[(&str, T)]) -> Option<T> {
        meanings.iter().find(|(suffix, _)| self.take(suffix)).map(|&(_, meaning)| meaning)
    }

    /// Takes the last suffix if it is a type.
    pub(super) fn last_type(&mut self) -> Option<Type> {
        let of = self.suffixes.last().and_then(|suffix| type_of(suffix))?;
        self.suffixes.pop();
        Some(of)
    }
}

/// Returns true for types that can be loaded and stored.
fn is_in_memory(of: Type) -> bool {
    of != Type::Pred
}

/// Returns true for types that can be moved and compared.
fn is_in_register(of: Type) -> bool {
    of.bytes() > 1 || of == Type::Pred
}

/// State spaces of loads and stores. Without such a suffix the address is generic.
const SPACES: &[(&str, Space)] = &[
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("local", Space::Local),
    ("param", Space::Parameter),
    ("param::entry", Space::Parameter),
    ("param::func", Space::Parameter),
    ("const", Space::Constant),
];

/// Scopes of fences and atomic operations.
pub(super) const SCOPES: &[(&str, Scope)] =
    &[("cta", Scope::Block), ("gpu", Scope::Device), ("sys", Scope::System)];

/// Cache hints of loads, which change no value.
const LOAD_CACHES: &[&str] = &["nc", "ca", "cg", "cs", "lu", "cv"];

/// Cache hints of stores.
const STORE_CACHES: &[&str] = &["wb", "cg", "cs", "wt"];

impl<'a> Body<'_, 'a> {
    /// Reads an instruction up to its semicolon. Errors quote the instruction.
    pub(super) fn instruction(&mut self) -> Result<()> {
        let (line, place) = (self.reader.tokens.line(), self.reader.tokens.place());
        self.whole_instruction(line).map_err(|error| {
            let text = self.reader.tokens.text_from(place);
            PtxError { line, what: format!("{}: `{text}`", error.what) }
        })
    }

    /// Reads a guard, an opcode and its operands.
    fn whole_instruction(&mut self, line: u32) -> Result<()> {
        let guard = self.guard()?;
        let mut opcode = Opcode::new(self.reader.tokens.word()?);
        let operation = self.operation(&mut opcode, line)?;
        if let Some(suffix) = opcode.suffixes.first() {
            let what = format!("the suffix `.{suffix}` is not understood");
            return Err(self.reader.tokens.error(what));
        }
        self.reader.tokens.expect(';')?;
        let source = self.reader.sources.of(&operation);
        self.function.code.push(Instruction { guard, operation, line, source });
        for operation in self.extensions.drain(..) {
            self.function.code.push(Instruction { guard, operation, line, source: Vec::new() });
        }
        Ok(())
    }

    /// Reads the operands of an instruction and returns its operation.
    fn operation(&mut self, opcode: &mut Opcode<'a>, line: u32) -> Result<Operation> {
        match opcode.name {
            "mov" => self.movement(opcode),
            "ld" => self.load(opcode),
            "st" => self.store(opcode),
            "atom" | "red" => self.atomic(opcode),
            "cvta" => self.address_conversion(opcode),
            "cvt" => self.conversion(opcode),
            "setp" => self.comparison(opcode),
            "bra" => {
                opcode.take("uni");
                let label = self.reader.tokens.name()?;
                self.branch_later(label, line);
                Ok(Operation::Branch { target: 0 })
            }
            "call" => self.call(opcode),
            "ret" => {
                opcode.take("uni");
                Ok(Operation::Return)
            }
            "exit" => Ok(Operation::Return),
            "trap" => Ok(Operation::Trap),
            "bar" | "barrier" => self.barrier(opcode),
            "membar" | "fence" => self.fence(opcode),
            "shfl" => self.shuffle(opcode),
            "vote" => self.vote(opcode),
            "mma" => self.matrix(opcode),
            "activemask" => {
                self.typed(opcode, |of| of == Type::B32)?;
                Ok(Operation::ActiveLanes { to: self.destination(Type::B32)? })
            }
            _ => self.arithmetic(opcode),
        }
    }

    /// Creates the error for an unknown combination of opcode and suffixes.
    pub(super) fn unknown(&self) -> PtxError {
        self.reader.tokens.error("the instruction is not understood")
    }

    /// Takes the type of an instruction, for which `fits` must be true.
    pub(super) fn typed(&self, opcode: &mut Opcode, fits: impl Fn(Type) -> bool) -> Result<Type> {
        opcode.last_type().filter(|&of| fits(of)).ok_or_else(|| self.unknown())
    }

    /// Takes one of the suffixes of `meanings`, which must be present. Returns its meaning.
    pub(super) fn meant<T: Copy>(&self, opcode: &mut Opcode, meanings: &[(&str, T)]) -> Result<T> {
        opcode.take_one(meanings).ok_or_else(|| self.unknown())
    }

    /// Reads `mov` of a value, or between a value and its parts.
    fn movement(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        let of = self.typed(opcode, is_in_register)?;
        if self.reader.tokens.accept('{') {
            let part = self.part(of)?;
            let to = self.list(|body| body.optional(part))?;
            self.check_parts(of, part, to.len())?;
            let from = self.next_operand(of)?;
            return Ok(Operation::Unpack { of, to, from });
        }
        let to = self.destination(of)?;
        self.reader.tokens.expect(',')?;
        if self.reader.tokens.accept('{') {
            let part = self.part(of)?;
            let from = self.list(|body| body.operand(part))?;
            self.check_parts(of, part, from.len())?;
            return Ok(Operation::Pack { of, to, from });
        }
        Ok(Operation::Move { of, to, from: self.operand(of)? })
    }

    /// Returns the type of the parts in the braces that follow.
    fn part(&self, of: Type) -> Result<Type> {
        let is_pair = self.reader.tokens.commas_in_braces() == 1;
        match (of, is_pair) {
            (Type::B64, true) => Ok(Type::B32),
            (Type::B64, false) | (Type::B32, true) => Ok(Type::B16),
            (Type::B32, false) | (Type::B16, true) => Ok(Type::B8),
            _ => Err(self.unknown()),
        }
    }

    /// Checks that `count` parts of type `part` have the size of `of`.
    fn check_parts(&self, of: Type, part: Type, count: usize) -> Result<()> {
        if part.bytes() * count == of.bytes() { Ok(()) } else { Err(self.unknown()) }
    }

    /// Reads a list up to its closing brace. The opening brace is already taken.
    pub(super) fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.reader.tokens.accept(',') {
            all.push(one(self)?);
        }
        self.reader.tokens.expect('}')?;
        Ok(all)
    }

    /// Takes the suffixes of a load or store. Returns the state space, the type, and the number of values.
    fn access(&mut self, opcode: &mut Opcode, caches: &[&str]) -> Result<(Space, Type, usize)> {
        let of = self.typed(opcode, is_in_memory)?;
        let space = opcode.take_one(SPACES).unwrap_or(Space::Generic);
        let count = opcode.take_one(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        if opcode.take("relaxed") {
            self.meant(opcode, SCOPES)?;
        } else if !opcode.take("volatile") {
            opcode.take("weak");
        }
        opcode.suffixes.retain(|suffix| !caches.contains(suffix));
        Ok((space, of, count))
    }

    /// Reads one value, or a list of `count` values in braces if `count` is greater than 1.
    fn values<T>(
        &mut self,
        count: usize,
        mut one: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        if count == 1 {
            return Ok(vec![one(self)?]);
        }
        self.reader.tokens.expect('{')?;
        let all = self.list(one)?;
        if all.len() == count { Ok(all) } else { Err(self.unknown()) }
    }

    /// Reads `ld`.
    fn load(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        let (space, of, count) = self.access(opcode, LOAD_CACHES)?;
        let to = self.values(count, |body| body.wide_destination(of))?;
        self.reader.tokens.expect(',')?;
        let address = self.address(space, of.bytes() * count)?;
        Ok(Operation::Load { space, of, to, address })
    }

    /// Reads `st`.
    fn store(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        let (space, of, count) = self.access(opcode, STORE_CACHES)?;
        if space == Space::Constant {
            return Err(self.unknown());
        }
        let address = self.address(space, of.bytes() * count)?;
        self.reader.tokens.expect(',')?;
        let from = self.values(count, |body| body.value(of, Width::AtLeast))?;
        Ok(Operation::Store { space, of, from, address })
    }

    /// Reads `atom` or `red`.
    fn atomic(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        use Type::{B32, B64, F32, F64, S32, S64, U32, U64};
        let spaces = [("global", Space::Global), ("shared", Space::Shared)];
        let space = opcode.take_one(&spaces).unwrap_or(Space::Generic);
        opcode.take("relaxed");
        let _ = opcode.take_one(SCOPES);
        let kinds = [
            ("add", Atomic::Add),
            ("exch", Atomic::Exchange),
            ("min", Atomic::Minimum),
            ("max", Atomic::Maximum),
            ("and", Atomic::And),
            ("or", Atomic::Or),
            ("cas", Atomic::CompareAndSwap),
        ];
        let kind = self.meant(opcode, &kinds)?;
        let of = self.typed(opcode, |of| match kind {
            Atomic::Add => matches!(of, U32 | S32 | U64 | S64 | F32 | F64),
            Atomic::Minimum | Atomic::Maximum => matches!(of, U32 | S32 | U64 | S64),
            _ => matches!(of, B32 | B64),
        })?;
        let mut to = None;
        if opcode.name == "atom" {
            to = self.optional(of)?;
            self.reader.tokens.expect(',')?;
        } else if matches!(kind, Atomic::Exchange | Atomic::CompareAndSwap) {
            return Err(self.unknown());
        }
        let address = self.address(space, of.bytes())?;
        let operand = self.next_operand(of)?;
        let second = match kind {
            Atomic::CompareAndSwap => Some(self.next_operand(of)?),
            _ => None,
        };
        Ok(Operation::Atomic { kind, space, of, to, address, operand, second })
    }

    /// Reads `cvta`.
    fn address_conversion(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        self.typed(opcode, |of| of == Type::U64)?;
        let is_from_generic = opcode.take("to");
        let space = self.meant(opcode, SPACES)?;
        if space == Space::Parameter {
            return Err(self.unknown());
        }
        let to = self.destination(Type::U64)?;
        let from = self.next_operand(Type::U64)?;
        Ok(if is_from_generic {
            Operation::FromGeneric { space, to, from }
        } else {
            Operation::ToGeneric { space, to, from }
        })
    }

    /// Reads `cvt`.
    fn conversion(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        let is_number =
            |of| !matches!(of, Type::Pred | Type::B8 | Type::B16 | Type::B32 | Type::B64);
        let of = self.typed(opcode, is_number)?;
        let into = self.typed(opcode, is_number)?;
        let to_whole = opcode.take_one(&[
            ("rni", Rounding::Nearest),
            ("rzi", Rounding::TowardZero),
            ("rmi", Rounding::Down),
            ("rpi", Rounding::Up),
        ]);
        let to_integral = to_whole.is_some();
        let rounding = to_whole.or_else(|| rounding(opcode));
        let fits = match (of.is_float(), into.is_float()) {
            (false, false) => rounding.is_none(),
            (false, true) => rounding.is_some() && !to_integral,
            (true, false) => to_integral,
            (true, true) if of == into => rounding.is_none() || to_integral,
            (true, true) if of == Type::F64 => rounding.is_some() && !to_integral,
            (true, true) => rounding.is_none(),
        };
        if !fits {
            return Err(self.unknown());
        }
        let flush = (of == Type::F32 || into == Type::F32) && opcode.take("ftz");
        let saturate = opcode.take("sat");
        let to = self.wide_destination(into)?;
        self.reader.tokens.expect(',')?;
        let from = self.value(of, Width::AtLeast)?;
        Ok(Operation::Convert { into, of, to, from, rounding, to_integral, saturate, flush })
    }

    /// Reads `setp`.
    fn comparison(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        let of = self.typed(opcode, |of| is_in_register(of) && of != Type::Pred)?;
        let relation = relation(opcode, of).ok_or_else(|| self.unknown())?;
        let flush = of == Type::F32 && opcode.take("ftz");
        let with = opcode.take_one(&[
            ("and", Arithmetic::And),
            ("or", Arithmetic::Or),
            ("xor", Arithmetic::Xor),
        ]);
        let to = self.destination(Type::Pred)?;
        let opposite = match self.reader.tokens.accept('|') {
            true => self.optional(Type::Pred)?,
            false => None,
        };
        let left = self.next_operand(of)?;
        let right = self.next_operand(of)?;
        let combination = match with {
            Some(with) => {
                self.reader.tokens.expect(',')?;
                let (predicate, negated) = self.predicate()?;
                Some(Combination { with, predicate, negated })
            }
            None => None,
        };
        Ok(Operation::Compare { relation, of, to, opposite, left, right, combination, flush })
    }
}

/// Takes the comparison operator of `setp` for values of type `of`.
fn relation(opcode: &mut Opcode, of: Type) -> Option<Relation> {
    let equality = [("eq", Relation::Equal), ("ne", Relation::NotEqual)];
    let order = [
        ("lt", Relation::Less),
        ("le", Relation::LessEqual),
        ("gt", Relation::Greater),
        ("ge", Relation::GreaterEqual),
    ];
    let unsigned = [
        ("lo", Relation::Less),
        ("ls", Relation::LessEqual),
        ("hi", Relation::Greater),
        ("hs", Relation::GreaterEqual),
    ];
    let unordered = [
        ("equ", Relation::EqualUnordered),
        ("neu", Relation::NotEqualUnordered),
        ("ltu", Relation::LessUnordered),
        ("leu", Relation::LessEqualUnordered),
        ("gtu", Relation::GreaterUnordered),
        ("geu", Relation::GreaterEqualUnordered),
        ("num", Relation::Ordered),
        ("nan", Relation::Unordered),
    ];
    let is_bits = matches!(of, Type::B16 | Type::B32 | Type::B64);
    let found = opcode.take_one(&equality);
    let found = found.or_else(|| if is_bits { None } else { opcode.take_one(&order) });
    found.or_else(|| match (of.is_float(), of.is_signed() || is_bits) {
        (true, _) => opcode.take_one(&unordered),
        (false, true) => None,
        (false, false) => opcode.take_one(&unsigned),
    })
}
