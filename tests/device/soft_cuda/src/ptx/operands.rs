//! Operands of instructions: registers, constants, variables and addresses.

use super::Result;
use super::function::Body;
use super::tokens::Token;
use crate::program::{Address, Operand, Operation, Place, Register, Space, Special, Type};
use std::collections::HashMap;

/// Meaning of a name in a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Named {
    Register(Register, Type),
    /// A parameter, a result, or an argument or result of a call.
    Place(Place),
    /// An offset in local memory, in bytes.
    Local(i64),
    Variable(u32),
}

/// Required width of a register, compared with the type that is read or written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Width {
    Same,
    /// The register may be wider, unless the value is a float.
    AtLeast,
}

/// Scope of names: a pair of braces.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub(super) parent: Option<usize>,
    pub(super) depth: usize,
    pub(super) names: HashMap<&'a str, Named>,
    /// Registers declared as `%r<10>`, by the prefix of their names: first register, count and type.
    pub(super) families: HashMap<&'a str, (Register, u32, Type)>,
    pub(super) labels: HashMap<&'a str, usize>,
}

impl Scope<'_> {
    /// Returns the meaning of a name in this scope: a declared name, or a register of a family.
    fn find(&self, name: &str) -> Option<Named> {
        if let Some(&named) = self.names.get(name) {
            return Some(named);
        }
        let digits = name.bytes().rev().take(9).take_while(u8::is_ascii_digit).count();
        (1..=digits).find_map(|length| {
            let (prefix, number) = name.split_at_checked(name.len() - length)?;
            let &(first, count, of) = self.families.get(prefix)?;
            let is_plain = length == 1 || !number.starts_with('0');
            let number: u32 = number.parse().ok().filter(|&number| is_plain && number < count)?;
            Some(Named::Register(first + number, of))
        })
    }
}

impl<'a> Body<'_, 'a> {
    /// Returns a scope and the scopes that enclose it, innermost first.
    pub(super) fn enclosing(&self, from: usize) -> impl Iterator<Item = &Scope<'a>> {
        let first = self.scopes.get(from);
        std::iter::successors(first, |scope| scope.parent.and_then(|at| self.scopes.get(at)))
    }

    /// Returns the meaning of a name in the current scope, its enclosing scopes, or the module.
    pub(super) fn lookup(&self, name: &str) -> Option<Named> {
        let found = self.enclosing(self.scope).find_map(|scope| scope.find(name));
        found.or_else(|| self.reader.variables.get(name).map(|&number| Named::Variable(number)))
    }

    /// Reads a register that is used as a value of type `of`. Returns the register and its declared type.
    fn register(&mut self, of: Type, width: Width) -> Result<(Register, Type)> {
        let error = self.reader.tokens.unexpected("a register");
        let word = self.reader.tokens.word()?;
        let Some(Named::Register(register, own)) = self.lookup(word) else { return Err(error) };
        let fits = match width {
            Width::Same => own.bytes() == of.bytes(),
            Width::AtLeast => {
                own.bytes() == of.bytes() || own.bytes() > of.bytes() && !of.is_float()
            }
        };
        if fits && (own == Type::Pred) == (of == Type::Pred) {
            return Ok((register, own));
        }
        let what = format!("a register of {own:?} is not one of {of:?}");
        Err(super::PtxError { line: error.line, what })
    }

    /// Reads the destination register of a result of type `of`. For `_`, returns a new register that nothing reads.
    pub(super) fn destination(&mut self, of: Type) -> Result<Register> {
        if self.reader.tokens.accept_word("_") {
            return self.new_registers(1);
        }
        Ok(self.register(of, Width::Same)?.0)
    }

    /// Reads the destination register of a result of type `of`. Returns `None` for `_`.
    pub(super) fn optional(&mut self, of: Type) -> Result<Option<Register>> {
        if self.reader.tokens.accept_word("_") {
            return Ok(None);
        }
        Ok(Some(self.register(of, Width::Same)?.0))
    }

    /// Reads the destination register of a result of type `of`, which may be wider. In a wider register, an additional
    /// instruction extends the sign.
    pub(super) fn wide_destination(&mut self, of: Type) -> Result<Register> {
        if self.reader.tokens.accept_word("_") {
            return self.new_registers(1);
        }
        let (to, own) = self.register(of, Width::AtLeast)?;
        if of.is_signed() && own.bytes() > of.bytes() {
            let into = match own.bytes() {
                2 => Type::S16,
                4 => Type::S32,
                _ => Type::S64,
            };
            self.extensions.push(Operation::Convert {
                into,
                of,
                to,
                from: Operand::Register(to),
                rounding: None,
                to_integral: false,
                saturate: false,
                flush: false,
            });
        }
        Ok(to)
    }

    /// Reads a guard predicate if present: `@p` or `@!p`.
    pub(super) fn guard(&mut self) -> Result<Option<(Register, bool)>> {
        if !self.reader.tokens.accept('@') {
            return Ok(None);
        }
        let must_be_false = self.reader.tokens.accept('!');
        Ok(Some((self.register(Type::Pred, Width::Same)?.0, must_be_false)))
    }

    /// Reads a predicate. Returns it, and true if it is negated with `!`.
    pub(super) fn predicate(&mut self) -> Result<(Operand, bool)> {
        let negated = self.reader.tokens.accept('!');
        Ok((self.operand(Type::Pred)?, negated))
    }

    /// Reads an operand of type `of`.
    pub(super) fn operand(&mut self, of: Type) -> Result<Operand> {
        self.value(of, Width::Same)
    }

    /// Reads a comma and an operand of type `of`.
    pub(super) fn next_operand(&mut self, of: Type) -> Result<Operand> {
        self.reader.tokens.expect(',')?;
        self.operand(of)
    }

    /// Reads an operand of type `of`. `width`: the required width of registers.
    pub(super) fn value(&mut self, of: Type, width: Width) -> Result<Operand> {
        if self.reader.tokens.is_at_number() {
            let error = self.reader.tokens.unexpected(&format!("a number of {of:?}"));
            let number = self.reader.tokens.number()?;
            return number.bits(of).map(Operand::Constant).ok_or(error);
        }
        let error = self.reader.tokens.unexpected(&format!("an operand of {of:?}"));
        let Token::Word(word) = self.reader.tokens.peek() else { return Err(error) };
        let of_address = of.bytes() == 8 && !of.is_float();
        match self.lookup(word) {
            Some(Named::Register(..)) => {
                self.register(of, width).map(|(register, _)| Operand::Register(register))
            }
            Some(Named::Variable(number))
                if of_address || (of.bytes() == 4 && self.is_in(number, Space::Shared)) =>
            {
                self.reader.tokens.advance();
                Ok(Operand::Variable(number, self.reader.tokens.addition()?))
            }
            Some(Named::Place(place)) if of_address => {
                self.reader.tokens.advance();
                let addition = self.reader.tokens.addition()?;
                // The offset is less than the maximum size of a frame.
                Ok(Operand::Constant((place.offset as u64).wrapping_add_signed(addition)))
            }
            Some(Named::Local(offset)) if of_address => {
                self.reader.tokens.advance();
                let addition = self.reader.tokens.addition()?;
                Ok(Operand::Local(offset.saturating_add(addition)))
            }
            None => {
                let (special, bytes) = special_of(word).ok_or_else(|| error.clone())?;
                if of.is_float() || of.bytes() != bytes {
                    return Err(error);
                }
                self.reader.tokens.advance();
                Ok(Operand::Special(special))
            }
            _ => Err(error),
        }
    }

    /// Reads an address in brackets. `bytes`: the size of the access.
    pub(super) fn address(&mut self, space: Space, bytes: usize) -> Result<Address> {
        self.reader.tokens.expect('[')?;
        let error = self.reader.tokens.unexpected(&format!("an address in the space {space:?}"));
        let address = if self.reader.tokens.is_at_number() && space != Space::Parameter {
            let base = self.operand(Type::B64)?;
            Address { base, offset: self.reader.tokens.addition()? }
        } else {
            let Token::Word(word) = self.reader.tokens.peek() else { return Err(error) };
            match self.lookup(word) {
                Some(Named::Register(_, own)) => {
                    // Addresses of shared memory can have 32 bits.
                    let is_short = space == Space::Shared && own.bytes() == 4;
                    let of = if is_short { Type::B32 } else { Type::B64 };
                    let (register, _) = self.register(of, Width::Same)?;
                    let base = Operand::Register(register);
                    Address { base, offset: self.reader.tokens.addition()? }
                }
                Some(Named::Place(place)) if space == Space::Parameter => {
                    self.reader.tokens.advance();
                    let offset = self.reader.tokens.addition()?;
                    let start = usize::try_from(offset).ok();
                    let end = start.and_then(|start| start.checked_add(bytes));
                    if end.is_none_or(|end| end > place.bytes) {
                        return Err(self.reader.tokens.error(format!("outside of `{word}`")));
                    }
                    // The offset is less than the maximum size of a frame.
                    Address { base: Operand::Constant(place.offset as u64), offset }
                }
                Some(Named::Variable(number)) if self.is_in(number, space) => {
                    self.reader.tokens.advance();
                    let offset = self.reader.tokens.addition()?;
                    Address { base: Operand::Variable(number, 0), offset }
                }
                Some(Named::Local(local)) if space == Space::Local => {
                    self.reader.tokens.advance();
                    let offset = self.reader.tokens.addition()?;
                    Address { base: Operand::Local(local), offset }
                }
                _ => return Err(error),
            }
        };
        self.reader.tokens.expect(']')?;
        Ok(address)
    }

    /// Returns true if a variable is in the state space `space`.
    fn is_in(&self, number: u32, space: Space) -> bool {
        let variable =
            usize::try_from(number).ok().and_then(|at| self.reader.module.variables.get(at));
        variable.is_some_and(|variable| variable.space == space)
    }
}

/// Returns the special register with that name, and its size in bytes.
fn special_of(name: &str) -> Option<(Special, usize)> {
    Some(match name {
        "%tid.x" => (Special::Thread, 4),
        "%ntid.x" => (Special::Threads, 4),
        "%ctaid.x" => (Special::Block, 4),
        "%nctaid.x" => (Special::Blocks, 4),
        "%laneid" => (Special::Lane, 4),
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => (Special::Zero, 4),
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => (Special::One, 4),
        "%clock" => (Special::Clock, 4),
        "%clock64" => (Special::Clock, 8),
        _ => return None,
    })
}
