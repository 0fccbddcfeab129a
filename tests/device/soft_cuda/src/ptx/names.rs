//! The names that a function knows: registers, parts of local memory, parameters.

use super::Result;
use super::tokens::Tokens;
use crate::program::{Module, Operand, Place, Register, Special};
use std::collections::HashMap;

/// Registers of a function at most.
const MOST_REGISTERS: usize = 1 << 20;

/// The names of a function.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// What makes the name of a variable one of this function.
    pub(super) prefix: String,
    /// Registers of each scope, the innermost last.
    scopes: Vec<HashMap<String, Register>>,
    pub(super) registers: Register,
    /// Offsets in local memory.
    pub(super) locals: HashMap<String, usize>,
    /// Parameters, the result, and those of calls: places in the frame.
    pub(super) places: HashMap<String, Place>,
}

impl Names {
    pub(super) fn open(&mut self) {
        self.scopes.push(HashMap::new());
    }

    /// Closes the innermost scope. False if it was the last.
    pub(super) fn close(&mut self) -> bool {
        self.scopes.pop();
        !self.scopes.is_empty()
    }

    /// Reads the names of `.reg .b32 %r<5>, %t;` behind its type.
    pub(super) fn declare(&mut self, tokens: &mut Tokens<'_>) -> Result<()> {
        loop {
            let name = tokens.word()?;
            if tokens.accept("<") {
                let count = tokens.count()?;
                tokens.expect(">")?;
                if count > MOST_REGISTERS {
                    return Err(tokens.error("that is too large a number of registers"));
                }
                (0..count).for_each(|number| self.add(format!("{name}{number}")));
            } else {
                self.add(name.into());
            }
            if !tokens.accept(",") {
                return tokens.expect(";");
            }
        }
    }

    fn add(&mut self, name: String) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, self.registers);
            self.registers += 1;
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Register> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    /// A register that has no name.
    pub(super) fn unnamed(&mut self) -> Register {
        self.registers += 1;
        self.registers - 1
    }

    /// Reads a register that is written to.
    pub(super) fn register(&self, tokens: &mut Tokens<'_>) -> Result<Register> {
        let name = tokens.word()?;
        self.find(name).ok_or_else(|| tokens.error(format!("there is no register `{name}`")))
    }

    /// Reads a register, or `_` for none.
    pub(super) fn register_or_none(&self, tokens: &mut Tokens<'_>) -> Result<Option<Register>> {
        match tokens.accept("_") {
            true => Ok(None),
            false => self.register(tokens).map(Some),
        }
    }

    /// What a name means that is no register.
    pub(super) fn address(&self, name: &str, module: &Module) -> Option<Operand> {
        if let Some(&offset) = self.locals.get(name) {
            return Some(Operand::Local(offset as i64));
        }
        let own = format!("{}{name}", self.prefix);
        let find = |name: &str| module.variables.iter().rposition(|one| one.name == name);
        find(&own).or_else(|| find(name)).map(|number| Operand::Variable(number as u32, 0))
    }
}

/// The register of the hardware of that name.
pub(super) fn special(name: &str) -> Option<Special> {
    Some(match name {
        "%tid.x" => Special::Thread,
        "%ntid.x" => Special::Threads,
        "%ctaid.x" => Special::Block,
        "%nctaid.x" => Special::Blocks,
        "%laneid" => Special::Lane,
        "%clock" | "%clock64" => Special::Clock,
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => Special::Zero,
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => Special::One,
        _ => return None,
    })
}
