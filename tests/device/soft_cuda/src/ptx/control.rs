//! Instructions that call functions, order threads, or exchange values between the lanes of a warp.

use super::Result;
use super::function::Body;
use super::instructions::{Opcode, SCOPES};
use super::operands::Named;
use super::tokens::Number;
use crate::program::{Operand, Operation, Place, Scope, Shuffle, Type, Vote};

impl<'a> Body<'_, 'a> {
    /// Reads `call`. Only direct calls, by the name of the function, are supported.
    pub(super) fn call(&mut self, opcode: &mut Opcode<'a>) -> Result<Operation> {
        opcode.take("uni");
        let mut result = None;
        if self.reader.tokens.accept('(') {
            result = Some(self.passed()?);
            self.reader.tokens.expect(')')?;
            self.reader.tokens.expect(',')?;
        }
        let error = self.reader.tokens.unexpected("a function");
        let name = self.reader.tokens.name()?;
        let function = self.reader.functions.get(name).copied().ok_or_else(|| error.clone())?;
        let mut arguments = Vec::new();
        if self.reader.tokens.accept(',') {
            self.reader.tokens.expect('(')?;
            if !self.reader.tokens.accept(')') {
                arguments.push(self.passed()?);
                while self.reader.tokens.accept(',') {
                    arguments.push(self.passed()?);
                }
                self.reader.tokens.expect(')')?;
            }
        }
        let callee = self.reader.module.functions.get(function);
        let callee = callee.filter(|callee| !callee.is_kernel).ok_or(error)?;
        // A call copies the bytes of the callee's parameters and result, therefore the places here must be as large.
        let holds = |here: &Place, there: &Place| here.bytes >= there.bytes;
        let fits = arguments.len() == callee.parameters.len()
            && arguments.iter().zip(&callee.parameters).all(|(here, there)| holds(here, there))
            && match (&result, &callee.result) {
                (Some(here), Some(there)) => holds(here, there),
                (None, None) => true,
                _ => false,
            };
        if !fits {
            let what = format!("`{name}` is not declared with these arguments and this result");
            return Err(self.reader.tokens.error(what));
        }
        let arguments = arguments.iter().map(|place| place.offset).collect();
        Ok(Operation::Call { function, arguments, result: result.map(|place| place.offset) })
    }

    /// Reads the name of an argument or of a result of a call.
    fn passed(&mut self) -> Result<Place> {
        let error = self.reader.tokens.unexpected("the name of a parameter");
        let name = self.reader.tokens.name()?;
        match self.lookup(name) {
            Some(Named::Place(place)) => Ok(place),
            _ => Err(error),
        }
    }

    /// Reads `bar` or `barrier`: a barrier of a warp, or of the block, for which only barrier 0 is supported.
    pub(super) fn barrier(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        if opcode.name == "bar" && opcode.take("warp") {
            self.meant(opcode, &[("sync", ())])?;
            return Ok(Operation::WarpBarrier { lanes: self.operand(Type::B32)? });
        }
        opcode.take("cta");
        self.meant(opcode, &[("sync", ())])?;
        if opcode.name == "barrier" {
            opcode.take("aligned");
        }
        let error = self.reader.tokens.unexpected("the barrier 0");
        if self.reader.tokens.number()? == Number::Whole(0) {
            Ok(Operation::Barrier)
        } else {
            Err(error)
        }
    }

    /// Reads `membar` or `fence`.
    pub(super) fn fence(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        if opcode.name == "membar" && opcode.take("gl") {
            return Ok(Operation::Fence { scope: Scope::Device });
        }
        if opcode.name == "fence" && !opcode.take("acq_rel") {
            opcode.take("sc");
        }
        Ok(Operation::Fence { scope: self.meant(opcode, SCOPES)? })
    }

    /// Reads `shfl.sync`.
    pub(super) fn shuffle(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        self.meant(opcode, &[("sync", ())])?;
        self.typed(opcode, |of| of == Type::B32)?;
        let kinds = [
            ("up", Shuffle::Up),
            ("down", Shuffle::Down),
            ("bfly", Shuffle::Butterfly),
            ("idx", Shuffle::Index),
        ];
        let kind = self.meant(opcode, &kinds)?;
        let to = self.destination(Type::B32)?;
        let in_range = match self.reader.tokens.accept('|') {
            true => self.optional(Type::Pred)?,
            false => None,
        };
        let value = self.next_operand(Type::B32)?;
        let lane = self.next_operand(Type::B32)?;
        let clamp = self.next_operand(Type::B32)?;
        let lanes = self.next_operand(Type::B32)?;
        Ok(Operation::Shuffle { kind, to, in_range, value, lane, clamp, lanes })
    }

    /// Reads `mma.sync` for matrices of `f64`.
    pub(super) fn matrix(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        for suffix in ["sync", "aligned", "m8n8k4", "row", "col"] {
            self.meant(opcode, &[(suffix, ())])?;
        }
        for _ in 0..4 {
            self.typed(opcode, |of| of == Type::F64)?;
        }
        let to = self.pair(|body| body.destination(Type::F64))?;
        self.reader.tokens.expect(',')?;
        let left = self.single()?;
        let right = self.single()?;
        let sums = self.pair(|body| body.operand(Type::F64))?;
        Ok(Operation::Matrix { to, left, right, sums })
    }

    /// Reads two registers or operands in braces.
    fn pair<T>(&mut self, one: impl FnMut(&mut Self) -> Result<T>) -> Result<[T; 2]> {
        self.reader.tokens.expect('{')?;
        let error = self.reader.tokens.unexpected("two operands");
        self.list(one)?.try_into().map_err(|_| error)
    }

    /// Reads one operand in braces, and a comma.
    fn single(&mut self) -> Result<Operand> {
        self.reader.tokens.expect('{')?;
        let operand = self.operand(Type::F64)?;
        self.reader.tokens.expect('}')?;
        self.reader.tokens.expect(',')?;
        Ok(operand)
    }

    /// Reads `vote.sync`.
    pub(super) fn vote(&mut self, opcode: &mut Opcode) -> Result<Operation> {
        self.meant(opcode, &[("sync", ())])?;
        let kinds = [
            ("any", Vote::Any),
            ("all", Vote::All),
            ("uni", Vote::Uniform),
            ("ballot", Vote::Ballot),
        ];
        let kind = self.meant(opcode, &kinds)?;
        let answer = if kind == Vote::Ballot { Type::B32 } else { Type::Pred };
        self.typed(opcode, |of| of == answer)?;
        let to = self.destination(answer)?;
        self.reader.tokens.expect(',')?;
        let (predicate, negated) = self.predicate()?;
        let lanes = self.next_operand(Type::B32)?;
        Ok(Operation::Vote { kind, to, predicate, negated, lanes })
    }
}
