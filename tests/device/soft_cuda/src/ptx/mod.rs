//! Reads PTX, as NVRTC writes it.

mod body;
mod instructions;
mod names;
mod opcodes;
#[cfg(test)]
mod tests;
mod tokens;
mod variables;

use crate::program::{Function, Module};
use std::fmt;
use tokens::Tokens;

/// What was not understood, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PtxError {
    pub(crate) line: u32,
    pub(crate) what: String,
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

type Result<T> = std::result::Result<T, PtxError>;

/// Reads a module.
///
/// # Errors
/// What is not understood: nothing is passed over in silence but what says nothing of what is done.
pub(crate) fn parse(text: &str) -> Result<Module> {
    let mut tokens = Tokens::new(text);
    let mut module = Module::default();
    let mut defined = Vec::new();
    while let Some(word) = tokens.next() {
        match word {
            ".version" | ".target" | ".address_size" | ".file" => tokens.skip_line(),
            ".visible" | ".weak" | ".extern" => {}
            ".global" | ".const" | ".shared" => {
                variables::read(&mut tokens, word, "", &mut module)?;
            }
            ".func" | ".entry" => {
                body::function(&mut tokens, word == ".entry", &mut module, &mut defined)?;
            }
            other => return Err(tokens.error(format!("`{other}` is not known here"))),
        }
    }
    let missing = |(number, function): (usize, &Function)| {
        (!defined.contains(&number)).then(|| function.name.clone())
    };
    match module.functions.iter().enumerate().find_map(missing) {
        Some(name) => Err(tokens.error(format!("function {name} has no body"))),
        None => Ok(module),
    }
}
