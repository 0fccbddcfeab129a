//! Instructions.

use super::Result;
use super::names::{Names, special};
use super::opcodes::Opcode;
use super::tokens::Tokens;
use crate::program::{
    Address, Combination, Module, Operand, Operation, Register, Scope, Shuffle, Space, Type, Vote,
};

/// The predicate of an instruction, what it does, and the label that it branches to.
type Read = (Option<(Register, bool)>, Operation, Option<String>);

/// Reads an instruction to its semicolon.
pub(super) fn read(tokens: &mut Tokens<'_>, names: &mut Names, module: &Module) -> Result<Read> {
    let mut guard = None;
    if tokens.accept("@") {
        let negated = tokens.accept("!");
        guard = Some((names.register(tokens)?, negated));
    }
    let opcode = Opcode::new(tokens.word()?);
    let mut reader = Reader { tokens, names, module };
    let (operation, label) = match opcode.name {
        "bra" => (Operation::Branch { target: 0 }, Some(reader.tokens.word()?.to_string())),
        _ => (reader.operation(&opcode)?, None),
    };
    reader.tokens.expect(";")?;
    Ok((guard, operation, label))
}

struct Reader<'r, 't> {
    tokens: &'r mut Tokens<'t>,
    names: &'r mut Names,
    module: &'r Module,
}

impl Reader<'_, '_> {
    fn unknown<T>(&self, opcode: &Opcode<'_>) -> Result<T> {
        let suffixes = opcode.suffixes.join(".");
        Err(self.tokens.error(format!("`{}.{suffixes}` is not known here", opcode.name)))
    }

    fn operation(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        Ok(match opcode.name {
            "ret" | "exit" => Operation::Return,
            "trap" => Operation::Trap,
            "bar" | "barrier" if opcode.has("warp") => {
                Operation::WarpBarrier { lanes: self.operand(Type::B32)? }
            }
            "bar" | "barrier" if opcode.has("sync") => {
                self.tokens.expect("0")?;
                Operation::Barrier
            }
            "membar" | "fence" => Operation::Fence {
                scope: match () {
                    () if opcode.has("cta") => Scope::Block,
                    () if opcode.has("gl") || opcode.has("gpu") => Scope::Device,
                    () if opcode.has("sys") => Scope::System,
                    () => return self.unknown(opcode),
                },
            },
            "activemask" => Operation::ActiveLanes { to: self.register()? },
            "call" => self.call()?,
            "ld" | "ldu" | "st" => self.memory(opcode)?,
            "atom" | "red" => self.atomic(opcode)?,
            "shfl" => self.shuffle(opcode)?,
            "vote" => self.vote(opcode)?,
            "setp" => self.compare(opcode)?,
            "cvta" => self.address_of_space(opcode)?,
            "cvt" => self.convert(opcode)?,
            "mov" => self.moved(opcode)?,
            _ => self.arithmetic(opcode)?,
        })
    }

    fn register(&mut self) -> Result<Register> {
        self.names.register(self.tokens)
    }

    fn comma(&mut self) -> Result<()> {
        self.tokens.expect(",")
    }

    /// The type of an opcode that has one.
    fn kind(&self, opcode: &Opcode<'_>) -> Result<Type> {
        opcode.kinds().last().copied().map_or_else(|| self.unknown(opcode), Ok)
    }

    /// A register, a number of a type, or an address.
    fn operand(&mut self, of: Type) -> Result<Operand> {
        let next = self.tokens.peek().unwrap_or_default();
        if next == "-" || next.starts_with(|first: char| first.is_ascii_digit()) {
            let bits = self.tokens.number()?;
            let bytes = of.bytes();
            let kept = if bytes == 8 { bits } else { bits & ((1 << (8 * bytes)) - 1) };
            return Ok(Operand::Constant(kept));
        }
        let word = self.tokens.word()?;
        if let Some(register) = self.names.find(word) {
            return Ok(Operand::Register(register));
        }
        if let Some(special) = special(word) {
            return Ok(Operand::Special(special));
        }
        let base = self.names.address(word, self.module);
        let base = base.ok_or_else(|| self.tokens.error(format!("`{word}` is not known here")))?;
        let more = if self.tokens.accept("+") { self.tokens.number()? as i64 } else { 0 };
        Ok(match base {
            Operand::Variable(number, offset) => {
                Operand::Variable(number, offset.wrapping_add(more))
            }
            Operand::Local(offset) => Operand::Local(offset.wrapping_add(more)),
            other => other,
        })
    }

    /// `[%rd1+8]`, `[name]`.
    fn address(&mut self, space: Space) -> Result<Address> {
        self.tokens.expect("[")?;
        let place = match space {
            Space::Parameter => self.tokens.peek().and_then(|name| self.names.places.get(name)),
            _ => None,
        };
        let base = match place.copied() {
            Some(place) => {
                self.tokens.next();
                Operand::Constant(place.offset as u64)
            }
            None if space == Space::Parameter => {
                self.tokens.next();
                return Err(self.tokens.error("there is no such parameter"));
            }
            None => self.operand(Type::U64)?,
        };
        let offset = if self.tokens.accept("+") { self.tokens.number()? as i64 } else { 0 };
        self.tokens.expect("]")?;
        Ok(Address { base, offset })
    }

    fn memory(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let (space, of) = (opcode.space(), self.kind(opcode)?);
        let count = match () {
            () if opcode.has("v4") => 4,
            () if opcode.has("v2") => 2,
            () => 1,
        };
        if opcode.name == "st" {
            let address = self.address(space)?;
            self.comma()?;
            let from = self.several(count, |reader| reader.operand(of))?;
            return Ok(Operation::Store { space, of, from, address });
        }
        let to = self.several(count, Reader::register)?;
        self.comma()?;
        Ok(Operation::Load { space, of, to, address: self.address(space)? })
    }

    /// One, or as many as said in braces.
    fn several<T>(
        &mut self,
        count: usize,
        mut one: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let braced = self.tokens.accept("{");
        if braced != (count > 1) {
            return Err(self.tokens.error(format!("{count} values are expected")));
        }
        let mut all = vec![one(self)?];
        while all.len() < count {
            self.comma()?;
            all.push(one(self)?);
        }
        if braced {
            self.tokens.expect("}")?;
        }
        Ok(all)
    }

    fn call(&mut self) -> Result<Operation> {
        let mut result = None;
        if self.tokens.accept("(") {
            result = Some(self.place()?);
            self.tokens.expect(")")?;
            self.comma()?;
        }
        let name = self.tokens.word()?;
        let function = self.module.functions.iter().position(|one| one.name == name);
        let function =
            function.ok_or_else(|| self.tokens.error(format!("there is no function {name}")))?;
        let mut arguments = Vec::new();
        if self.tokens.accept(",") {
            self.tokens.expect("(")?;
            while !self.tokens.accept(")") {
                arguments.push(self.place()?);
                if self.tokens.peek() != Some(")") {
                    self.comma()?;
                }
            }
        }
        let callee = &self.module.functions[function];
        // Each fits, so that a frame is never left.
        let same =
            |mine: &crate::program::Place, its: &crate::program::Place| mine.bytes >= its.bytes;
        let fits = arguments.len() == callee.parameters.len()
            && arguments.iter().zip(&callee.parameters).all(|(mine, its)| same(mine, its))
            && match (&result, &callee.result) {
                (None, _) => true,
                (Some(mine), Some(its)) => same(mine, its),
                (Some(_), None) => false,
            };
        if !fits {
            return Err(self.tokens.error(format!("{name} has other parameters")));
        }
        let arguments = arguments.iter().map(|place| place.offset).collect();
        Ok(Operation::Call { function, arguments, result: result.map(|place| place.offset) })
    }

    fn place(&mut self) -> Result<crate::program::Place> {
        let name = self.tokens.word()?;
        let place = self.names.places.get(name).copied();
        place.ok_or_else(|| self.tokens.error(format!("there is no parameter {name}")))
    }

    fn atomic(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let (space, of) = (opcode.space(), self.kind(opcode)?);
        let Some(kind) = opcode.atomic() else { return self.unknown(opcode) };
        let mut to = None;
        if opcode.name == "atom" {
            to = self.names.register_or_none(self.tokens)?;
            self.comma()?;
        }
        let address = self.address(space)?;
        self.comma()?;
        let operand = self.operand(of)?;
        let second = if self.tokens.accept(",") { Some(self.operand(of)?) } else { None };
        Ok(Operation::Atomic { kind, space, of, to, address, operand, second })
    }

    fn shuffle(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let kind = match () {
            () if opcode.has("bfly") => Shuffle::Butterfly,
            () if opcode.has("idx") => Shuffle::Index,
            () if opcode.has("up") => Shuffle::Up,
            () if opcode.has("down") => Shuffle::Down,
            () => return self.unknown(opcode),
        };
        let to = self.register()?;
        let in_range = if self.tokens.accept("|") { Some(self.register()?) } else { None };
        let mut from = [Operand::Constant(0); 4];
        for operand in &mut from {
            self.comma()?;
            *operand = self.operand(Type::B32)?;
        }
        let [value, lane, clamp, lanes] = from;
        Ok(Operation::Shuffle { kind, to, in_range, value, lane, clamp, lanes })
    }

    fn vote(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let kind = match () {
            () if opcode.has("any") => Vote::Any,
            () if opcode.has("all") => Vote::All,
            () if opcode.has("uni") => Vote::Uniform,
            () if opcode.has("ballot") => Vote::Ballot,
            () => return self.unknown(opcode),
        };
        let to = self.register()?;
        self.comma()?;
        let negated = self.tokens.accept("!");
        let predicate = self.operand(Type::Pred)?;
        self.comma()?;
        Ok(Operation::Vote { kind, to, predicate, negated, lanes: self.operand(Type::B32)? })
    }

    fn compare(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let of = self.kind(opcode)?;
        let Some(relation) = opcode.relation() else { return self.unknown(opcode) };
        let to = self.register()?;
        let opposite = if self.tokens.accept("|") { Some(self.register()?) } else { None };
        self.comma()?;
        let left = self.operand(of)?;
        self.comma()?;
        let right = self.operand(of)?;
        let mut combination = None;
        if let Some(with) = opcode.combination() {
            self.comma()?;
            let negated = self.tokens.accept("!");
            combination = Some(Combination { with, predicate: self.operand(Type::Pred)?, negated });
        }
        let flush = opcode.has("ftz");
        Ok(Operation::Compare { relation, of, to, opposite, left, right, combination, flush })
    }

    fn address_of_space(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let (space, to) = (opcode.space(), self.register()?);
        self.comma()?;
        let from = self.operand(Type::U64)?;
        Ok(match opcode.has("to") {
            true => Operation::FromGeneric { space, to, from },
            false => Operation::ToGeneric { space, to, from },
        })
    }

    fn convert(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let &[into, of] = &opcode.kinds()[..] else { return self.unknown(opcode) };
        let to = self.register()?;
        self.comma()?;
        let from = self.operand(of)?;
        let rounding = opcode.rounding();
        Ok(Operation::Convert {
            into,
            of,
            to,
            from,
            rounding: rounding.map(|(rounding, _)| rounding),
            to_integral: rounding.is_some_and(|(_, whole)| whole),
            saturate: opcode.has("sat"),
            flush: opcode.has("ftz"),
        })
    }

    fn moved(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let of = self.kind(opcode)?;
        if self.tokens.accept("{") {
            let mut to = vec![self.names.register_or_none(self.tokens)?];
            while self.tokens.accept(",") {
                to.push(self.names.register_or_none(self.tokens)?);
            }
            self.tokens.expect("}")?;
            self.comma()?;
            self.parts(to.len(), of)?;
            return Ok(Operation::Unpack { of, to, from: self.operand(of)? });
        }
        let to = self.register()?;
        self.comma()?;
        if self.tokens.accept("{") {
            let mut from = vec![self.operand(Type::B64)?];
            while self.tokens.accept(",") {
                from.push(self.operand(Type::B64)?);
            }
            self.tokens.expect("}")?;
            self.parts(from.len(), of)?;
            return Ok(Operation::Pack { of, to, from });
        }
        Ok(Operation::Move { of, to, from: self.operand(of)? })
    }

    /// A value has two or four parts, of a byte at least.
    fn parts(&self, count: usize, of: Type) -> Result<()> {
        match matches!(count, 2 | 4) && count <= of.bytes() {
            true => Ok(()),
            false => Err(self.tokens.error(format!("a value of {of:?} has not {count} parts"))),
        }
    }

    fn arithmetic(&mut self, opcode: &Opcode<'_>) -> Result<Operation> {
        let of = self.kind(opcode)?;
        let Some((kind, count)) = opcode.arithmetic() else { return self.unknown(opcode) };
        let to = match self.names.register_or_none(self.tokens)? {
            Some(register) => register,
            None => self.names.unnamed(),
        };
        let mut from = Vec::new();
        for _ in 0..count {
            self.comma()?;
            from.push(self.operand(of)?);
        }
        Ok(Operation::Arithmetic { kind, of, to, from, form: opcode.form() })
    }
}
