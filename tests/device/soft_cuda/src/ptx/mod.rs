//! Parser of PTX: reads a text into a [`Module`].
//!
//! [`tokens`] splits the text. [`function`] reads functions and their declarations, [`operands`] resolves names, and
//! [`sources`] records source lines. [`instructions`], [`arithmetic`] and [`control`] read instructions. Unknown syntax
//! is an error.

mod arithmetic;
mod control;
mod function;
mod instructions;
mod operands;
mod sources;
mod tokens;

#[cfg(test)]
mod tests;

use crate::program::{Module, Space, Type, Variable};
use sources::{SourceLine, Sources};
use std::collections::HashMap;
use std::fmt;
use tokens::{MOST, Token, Tokens, type_of};

/// Error of the parser, with its line in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PtxError {
    pub(crate) line: u32,
    pub(crate) what: String,
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Result of a parsing function.
type Result<T> = std::result::Result<T, PtxError>;

/// Reads a PTX text.
///
/// # Errors
/// Returns the first item that is not understood, and its line.
pub(crate) fn parse(text: &str) -> Result<Module> {
    let mut reader = Reader {
        tokens: Tokens::new(text)?,
        module: Module::default(),
        variables: HashMap::new(),
        functions: HashMap::new(),
        undefined: HashMap::new(),
        sources: Sources::default(),
    };
    while reader.tokens.peek() != Token::End {
        reader.item()?;
    }
    match reader.undefined.into_iter().min_by_key(|&(_, (line, _))| line) {
        Some((_, (line, name))) => {
            Err(PtxError { line, what: format!("the function `{name}` has no body") })
        }
        None => Ok(Module { files: reader.sources.names(), ..reader.module }),
    }
}

/// State of the parser: the tokens, and the module as far as it was read.
struct Reader<'a> {
    tokens: Tokens<'a>,
    module: Module,
    /// Variables of the module by name.
    variables: HashMap<&'a str, u32>,
    functions: HashMap<&'a str, usize>,
    /// Declared functions without a body so far: the line of the declaration and the name, by index.
    undefined: HashMap<usize, (u32, &'a str)>,
    sources: Sources<'a>,
}

/// Declaration of a variable or a parameter.
struct Declared<'a> {
    name: &'a str,
    of: Type,
    /// Alignment in bytes: the declared one, or the size of the type.
    alignment: usize,
    /// `None` for an array without a size.
    bytes: Option<usize>,
}

/// Returns the next multiple of `alignment`.
fn aligned(offset: usize, alignment: usize) -> usize {
    offset.checked_next_multiple_of(alignment).unwrap_or(usize::MAX)
}

impl<'a> Reader<'a> {
    /// Reads a directive of the module, a variable, or a function.
    fn item(&mut self) -> Result<()> {
        match self.tokens.peek() {
            Token::Word(".version" | ".address_size" | ".target") => self.heading(),
            Token::Word(".file" | ".loc" | ".pragma" | ".section") => self.note(),
            Token::Word(".visible" | ".weak" | ".extern" | ".func" | ".entry") => self.linked(),
            Token::Word(".global" | ".const" | ".shared") => self.linked(),
            _ => Err(self.tokens.unexpected("a declaration")),
        }
    }

    /// Reads the PTX version, the target device, or the size of addresses.
    fn heading(&mut self) -> Result<()> {
        match self.tokens.word()? {
            ".address_size" => self.tokens.expect_word("64"),
            ".target" => {
                self.tokens.name()?;
                while self.tokens.accept(',') {
                    self.tokens.name()?;
                }
                Ok(())
            }
            _ => self.tokens.word().map(drop),
        }
    }

    /// Reads directives for debuggers and optimisers. Only source files and lines are recorded.
    fn note(&mut self) -> Result<()> {
        match self.tokens.word()? {
            ".pragma" => {
                self.tokens.quoted()?;
                while self.tokens.accept(',') {
                    self.tokens.quoted()?;
                }
                self.tokens.expect(';')
            }
            ".file" => {
                let number = self.tokens.count()?;
                self.sources.name(number, self.tokens.quoted()?);
                while self.tokens.accept(',') {
                    self.tokens.number()?;
                }
                Ok(())
            }
            ".loc" => {
                let line = self.source_line()?;
                let mut inlined_at = None;
                if self.tokens.accept(',') {
                    self.tokens.expect_word("function_name")?;
                    self.tokens.name()?;
                    self.tokens.addition()?;
                    self.tokens.expect(',')?;
                    self.tokens.expect_word("inlined_at")?;
                    inlined_at = Some(self.source_line()?);
                }
                self.sources.go_to(line, inlined_at);
                Ok(())
            }
            _ => {
                self.tokens.word()?;
                self.tokens.expect('{')?;
                while !self.tokens.accept('}') {
                    if self.tokens.advance() == Token::End {
                        return Err(self.tokens.unexpected("the end of a section"));
                    }
                }
                Ok(())
            }
        }
    }

    /// Reads a file number, a line and a column.
    fn source_line(&mut self) -> Result<SourceLine> {
        Ok([self.tokens.count()?, self.tokens.count()?, self.tokens.count()?])
    }

    /// Reads a variable or a function with its linking directives.
    fn linked(&mut self) -> Result<()> {
        let mut is_extern = false;
        while let Token::Word(word @ (".visible" | ".weak" | ".extern")) = self.tokens.peek() {
            is_extern |= word == ".extern";
            self.tokens.advance();
        }
        match self.tokens.peek() {
            Token::Word(".func" | ".entry") => self.function(),
            _ => {
                let line = self.tokens.line();
                let (name, number) = self.variable(is_extern)?;
                if self.functions.contains_key(name)
                    || self.variables.insert(name, number).is_some()
                {
                    return Err(twice(line, name));
                }
                Ok(())
            }
        }
    }

    /// Reads a variable of the module from its state space on. Returns its name and index.
    fn variable(&mut self, is_extern: bool) -> Result<(&'a str, u32)> {
        let line = self.tokens.line();
        let error = |what: String| PtxError { line, what };
        let space = match self.tokens.peek() {
            Token::Word(".global") => Space::Global,
            Token::Word(".const") => Space::Constant,
            Token::Word(".shared") => Space::Shared,
            _ => return Err(self.tokens.unexpected("a space of variables")),
        };
        self.tokens.advance();
        let declared = self.declared()?;
        let name = declared.name;
        if is_extern && space != Space::Shared {
            return Err(error(format!("the variable `{name}` is not in this text")));
        }
        let mut contents = Vec::new();
        if space != Space::Shared && self.tokens.accept('=') {
            contents = self.contents(&declared)?;
        }
        let bytes = match declared.bytes {
            Some(bytes) => bytes,
            None if is_extern => 0,
            None if !contents.is_empty() => contents.len(),
            None => return Err(error(format!("`{name}` has no size"))),
        };
        self.tokens.expect(';')?;
        let mut offset = 0;
        if space == Space::Shared {
            offset = aligned(self.module.shared_bytes, declared.alignment.max(16));
            self.module.shared_bytes = sum(line, offset, bytes)?;
        }
        let number = u32::try_from(self.module.variables.len())
            .map_err(|_| error("too many variables".to_string()))?;
        let variable = Variable { name: name.to_string(), space, offset, bytes, contents };
        self.module.variables.push(variable);
        Ok((name, number))
    }

    /// Reads the initial value of a variable, or its values in braces. Returns their bytes.
    fn contents(&mut self, declared: &Declared<'a>) -> Result<Vec<u8>> {
        let mut contents = Vec::new();
        let is_list = self.tokens.accept('{');
        if is_list && self.tokens.accept('}') {
            return Ok(contents);
        }
        loop {
            let error = self.tokens.unexpected("a value of the variable's type");
            let value = self.tokens.number()?;
            let bits = value.bits(declared.of).ok_or(error)?;
            contents.extend(bits.to_le_bytes().into_iter().take(declared.of.bytes()));
            if !is_list || !self.tokens.accept(',') {
                break;
            }
        }
        if is_list {
            self.tokens.expect('}')?;
        }
        if declared.bytes.is_some_and(|bytes| contents.len() > bytes) {
            return Err(self.tokens.error(format!("too many values for `{}`", declared.name)));
        }
        Ok(contents)
    }

    /// Reads the alignment, type, name and size of a declaration.
    fn declared(&mut self) -> Result<Declared<'a>> {
        let mut alignment = self.alignment()?;
        let error = self.tokens.unexpected("a type");
        let word = self.tokens.word()?.strip_prefix('.').unwrap_or_default();
        let of = type_of(word).filter(|&of| of != Type::Pred).ok_or(error)?;
        if self.tokens.accept_word(".ptr") {
            // The state space and alignment that follow describe the target of the pointer.
            if let Token::Word(".global" | ".shared" | ".const" | ".local") = self.tokens.peek() {
                self.tokens.advance();
            }
            self.alignment()?;
        } else if alignment.is_none() {
            alignment = self.alignment()?;
        }
        let name = self.tokens.name()?;
        let mut bytes = Some(of.bytes());
        while self.tokens.accept('[') {
            if self.tokens.accept(']') {
                bytes = None;
                continue;
            }
            let line = self.tokens.line();
            let count = self.tokens.count()?;
            self.tokens.expect(']')?;
            bytes = match bytes.map(|bytes| bytes.checked_mul(count).filter(|&all| all <= MOST)) {
                Some(None) => return Err(too_large(line)),
                product => product.flatten(),
            };
        }
        Ok(Declared { name, of, alignment: alignment.unwrap_or(of.bytes()), bytes })
    }

    /// Reads `.align` if present.
    fn alignment(&mut self) -> Result<Option<usize>> {
        if !self.tokens.accept_word(".align") {
            return Ok(None);
        }
        let error = self.tokens.unexpected("a power of two");
        let alignment = self.tokens.count()?;
        if alignment.is_power_of_two() { Ok(Some(alignment)) } else { Err(error) }
    }
}

/// Returns the sum of two sizes, or an error if it exceeds [`MOST`].
fn sum(line: u32, first: usize, second: usize) -> Result<usize> {
    let sum = first.checked_add(second).filter(|&sum| sum <= MOST);
    sum.ok_or_else(|| too_large(line))
}

/// Creates the error for a size above [`MOST`].
fn too_large(line: u32) -> PtxError {
    PtxError { line, what: "the sizes are too large".to_string() }
}

/// Creates the error for a name that is declared twice.
fn twice(line: u32, name: &str) -> PtxError {
    PtxError { line, what: format!("`{name}` is declared twice") }
}
