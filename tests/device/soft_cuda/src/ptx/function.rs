//! Functions: parameters and results, declarations in their bodies, and scopes of names.

use super::operands::{Named, Scope};
use super::tokens::{Token, type_of};
use super::{Reader, Result, aligned, sum, too_large, twice};
use crate::program::{Function, Instruction, Operation, Place, Register};
use std::collections::HashMap;

/// Maximum number of registers of a function.
const MOST_REGISTERS: u32 = 1 << 20;

/// Maximum nesting depth of braces.
const MOST_DEPTH: usize = 256;

/// Branch whose label may follow later.
struct Pending<'a> {
    instruction: usize,
    label: &'a str,
    scope: usize,
    line: u32,
}

/// Body of a function that is being read.
pub(super) struct Body<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) function: Function,
    pub(super) scopes: Vec<Scope<'a>>,
    /// Index of the innermost scope.
    pub(super) scope: usize,
    /// Places by name, which consecutive scopes can share.
    places: HashMap<&'a str, Place>,
    branches: Vec<Pending<'a>>,
    /// Additional operations of the current instruction, which extend the sign of its results to wider registers.
    pub(super) extensions: Vec<Operation>,
}

impl<'a> Reader<'a> {
    /// Reads a kernel or a function: its declaration, and its body if present.
    pub(super) fn function(&mut self) -> Result<()> {
        let line = self.tokens.line();
        let is_kernel = self.tokens.word()? == ".entry";
        let mut names = Vec::new();
        let mut result = None;
        if !is_kernel && self.tokens.accept('(') {
            result = Some(self.parameter()?);
            self.tokens.expect(')')?;
        }
        let name = self.tokens.name()?;
        let mut parameters = Vec::new();
        let mut frame = 0;
        if self.tokens.accept('(') && !self.tokens.accept(')') {
            loop {
                let (name, bytes, alignment) = self.parameter()?;
                let offset = aligned(frame, alignment);
                frame = sum(line, offset, bytes)?;
                parameters.push(Place { offset, bytes });
                names.push((name, Place { offset, bytes }));
                if !self.tokens.accept(',') {
                    break;
                }
            }
            self.tokens.expect(')')?;
        }
        let mut place = None;
        if let Some((name, bytes, alignment)) = result {
            let offset = aligned(frame, alignment.max(16));
            frame = sum(line, offset, bytes)?;
            place = Some(Place { offset, bytes });
            names.push((name, Place { offset, bytes }));
        }
        let function = Function {
            name: name.to_string(),
            is_kernel,
            parameters,
            result: place,
            frame_bytes: frame,
            local_bytes: 0,
            registers: 0,
            most_threads: self.limits()?,
            code: Vec::new(),
        };
        let number = self.declare(line, name, &function)?;
        if self.tokens.accept(';') {
            return Ok(());
        }
        if self.undefined.remove(&number).is_none() {
            return Err(twice(line, name));
        }
        self.tokens.expect('{')?;
        let function = Body::new(self, function, names)?.read()?;
        if let Some(slot) = self.module.functions.get_mut(number) {
            *slot = function;
        }
        Ok(())
    }

    /// Returns the index of a function. A function that was already declared with the same signature keeps its index.
    fn declare(&mut self, line: u32, name: &'a str, function: &Function) -> Result<usize> {
        if let Some(&number) = self.functions.get(name) {
            let known = self.module.functions.get(number);
            let is_same = known.is_some_and(|known| {
                known.parameters == function.parameters
                    && known.result == function.result
                    && known.is_kernel == function.is_kernel
            });
            return if is_same { Ok(number) } else { Err(twice(line, name)) };
        }
        if self.variables.contains_key(name) {
            return Err(twice(line, name));
        }
        let number = self.module.functions.len();
        self.module.functions.push(function.clone());
        self.functions.insert(name, number);
        self.undefined.insert(number, (line, name));
        Ok(number)
    }

    /// Reads a parameter. Returns its name, and its size and alignment in bytes.
    fn parameter(&mut self) -> Result<(&'a str, usize, usize)> {
        self.tokens.expect_word(".param")?;
        let declared = self.declared()?;
        let error = self.tokens.error(format!("`{}` has no size", declared.name));
        Ok((declared.name, declared.bytes.ok_or(error)?, declared.alignment))
    }

    /// Reads the directives for launches of a function. Returns the maximum number of threads per block.
    fn limits(&mut self) -> Result<Option<u32>> {
        let mut most = None;
        loop {
            match self.tokens.peek() {
                Token::Word(".maxntid" | ".reqntid") => {
                    self.tokens.advance();
                    let line = self.tokens.line();
                    let mut product = self.tokens.count()?;
                    while self.tokens.accept(',') {
                        let factor = self.tokens.count()?;
                        product = product.checked_mul(factor).ok_or_else(|| too_large(line))?;
                    }
                    most = Some(u32::try_from(product).map_err(|_| too_large(line))?);
                }
                Token::Word(".minnctapersm" | ".maxnctapersm" | ".maxnreg") => {
                    self.tokens.advance();
                    self.tokens.count()?;
                }
                Token::Word(".noreturn") => {
                    self.tokens.advance();
                }
                Token::Word(".pragma") => self.note()?,
                _ => return Ok(most),
            }
        }
    }
}

impl<'r, 'a> Body<'r, 'a> {
    /// Creates an empty body that knows the names of the parameters and of the result.
    fn new(
        reader: &'r mut Reader<'a>,
        function: Function,
        names: Vec<(&'a str, Place)>,
    ) -> Result<Body<'r, 'a>> {
        let mut body = Body {
            reader,
            function,
            scopes: vec![Scope::default()],
            scope: 0,
            places: HashMap::new(),
            branches: Vec::new(),
            extensions: Vec::new(),
        };
        for (name, place) in names {
            body.introduce(name, Named::Place(place))?;
        }
        Ok(body)
    }

    /// Reads the body to its closing brace.
    fn read(mut self) -> Result<Function> {
        loop {
            match (self.reader.tokens.peek(), self.reader.tokens.peek_second()) {
                (Token::Mark('}'), _) => {
                    self.reader.tokens.advance();
                    match self.scopes.get(self.scope).and_then(|scope| scope.parent) {
                        Some(parent) => self.scope = parent,
                        None => break,
                    }
                }
                (Token::Mark('{'), _) => self.open()?,
                (Token::Mark(';'), _) => {
                    self.reader.tokens.advance();
                }
                (Token::Word(_), Token::Mark(':')) => self.label()?,
                (Token::Word(".reg"), _) => self.registers()?,
                (Token::Word(".param"), _) => self.temporary()?,
                (Token::Word(".local"), _) => self.local()?,
                (Token::Word(".shared" | ".global" | ".const"), _) => {
                    let (name, number) = self.reader.variable(false)?;
                    self.introduce(name, Named::Variable(number))?;
                }
                (Token::Word(".loc" | ".pragma"), _) => self.reader.note()?,
                (Token::Word(word), _) if !word.starts_with('.') => self.instruction()?,
                (Token::Mark('@'), _) => self.instruction()?,
                _ => return Err(self.reader.tokens.unexpected("an instruction")),
            }
        }
        self.finish()
    }

    /// Sets the targets of the branches, and adds a return at the end if needed.
    fn finish(mut self) -> Result<Function> {
        let end = self.function.code.len();
        let line = self.reader.tokens.line();
        let leaves = |last: &Instruction| {
            last.guard.is_none() && matches!(last.operation, Operation::Return)
        };
        let has_label = self.scopes.iter().any(|scope| scope.labels.values().any(|&at| at == end));
        if has_label || !self.function.code.last().is_some_and(leaves) {
            let operation = Operation::Return;
            let source = Vec::new();
            self.function.code.push(Instruction { guard: None, operation, line, source });
        }
        for pending in &self.branches {
            let find = |scope: &Scope<'a>| scope.labels.get(pending.label).copied();
            let Some(found) = self.enclosing(pending.scope).find_map(find) else {
                let what = format!("there is no label `{}`", pending.label);
                return Err(super::PtxError { line: pending.line, what });
            };
            if let Some(branch) = self.function.code.get_mut(pending.instruction) {
                branch.operation = Operation::Branch { target: found };
            }
        }
        Ok(self.function)
    }

    /// Opens a scope.
    fn open(&mut self) -> Result<()> {
        let depth = self.scopes.get(self.scope).map_or(0, |scope| scope.depth) + 1;
        if depth > MOST_DEPTH {
            return Err(self.reader.tokens.error("braces are nested too deep"));
        }
        self.reader.tokens.advance();
        self.scopes.push(Scope { parent: Some(self.scope), depth, ..Scope::default() });
        self.scope = self.scopes.len() - 1;
        Ok(())
    }

    /// Reads a label.
    fn label(&mut self) -> Result<()> {
        let line = self.reader.tokens.line();
        let name = self.reader.tokens.name()?;
        self.reader.tokens.expect(':')?;
        let next = self.function.code.len();
        let labels = self.scopes.get_mut(self.scope).map(|scope| &mut scope.labels);
        match labels.and_then(|labels| labels.insert(name, next)) {
            Some(_) => Err(twice(line, name)),
            None => Ok(()),
        }
    }

    /// Registers the next instruction as a branch to `label`.
    pub(super) fn branch_later(&mut self, label: &'a str, line: u32) {
        let instruction = self.function.code.len();
        self.branches.push(Pending { instruction, label, scope: self.scope, line });
    }

    /// Adds a name to the innermost scope.
    fn introduce(&mut self, name: &'a str, named: Named) -> Result<()> {
        let line = self.reader.tokens.line();
        match self.scopes.get_mut(self.scope).and_then(|scope| scope.names.insert(name, named)) {
            Some(_) => Err(twice(line, name)),
            None => Ok(()),
        }
    }

    /// Reads a declaration of registers.
    fn registers(&mut self) -> Result<()> {
        self.reader.tokens.advance();
        let error = self.reader.tokens.unexpected("a type");
        let word = self.reader.tokens.word()?.strip_prefix('.').unwrap_or_default();
        let of = type_of(word).ok_or(error)?;
        loop {
            let line = self.reader.tokens.line();
            let name = self.reader.tokens.name()?;
            if self.reader.tokens.accept('<') {
                let count = self.reader.tokens.count()?;
                self.reader.tokens.expect('>')?;
                let count = u32::try_from(count).map_err(|_| too_large(line))?;
                let first = self.new_registers(count)?;
                let scope = self.scopes.get_mut(self.scope);
                let family = (first, count, of);
                if scope.and_then(|scope| scope.families.insert(name, family)).is_some() {
                    return Err(twice(line, name));
                }
            } else {
                let register = self.new_registers(1)?;
                self.introduce(name, Named::Register(register, of))?;
            }
            if !self.reader.tokens.accept(',') {
                return self.reader.tokens.expect(';');
            }
        }
    }

    /// Adds `count` registers without names. Returns the first.
    pub(super) fn new_registers(&mut self, count: u32) -> Result<Register> {
        let first = self.function.registers;
        match first.checked_add(count).filter(|&registers| registers <= MOST_REGISTERS) {
            Some(registers) => self.function.registers = registers,
            None => return Err(self.reader.tokens.error("too many registers")),
        }
        Ok(first)
    }

    /// Reads the declaration of an argument or of a result of a call.
    fn temporary(&mut self) -> Result<()> {
        let line = self.reader.tokens.line();
        let (name, bytes, alignment) = self.reader.parameter()?;
        self.reader.tokens.expect(';')?;
        let alignment = alignment.max(16);
        let fits = |place: &&Place| place.bytes >= bytes && place.offset.is_multiple_of(alignment);
        let free = self.places.get(name).filter(fits).filter(|_| self.lookup(name).is_none());
        let offset = match free {
            Some(place) => place.offset,
            None => {
                let offset = aligned(self.function.frame_bytes, alignment);
                self.function.frame_bytes = sum(line, offset, bytes)?;
                self.places.insert(name, Place { offset, bytes });
                offset
            }
        };
        self.introduce(name, Named::Place(Place { offset, bytes }))
    }

    /// Reads the declaration of local memory.
    fn local(&mut self) -> Result<()> {
        let line = self.reader.tokens.line();
        self.reader.tokens.advance();
        let declared = self.reader.declared()?;
        self.reader.tokens.expect(';')?;
        let Some(bytes) = declared.bytes else {
            let what = format!("`{}` has no size", declared.name);
            return Err(super::PtxError { line, what });
        };
        let offset = aligned(self.function.local_bytes, declared.alignment);
        self.function.local_bytes = sum(line, offset, bytes)?;
        let offset = i64::try_from(offset).map_err(|_| too_large(line))?;
        self.introduce(declared.name, Named::Local(offset))
    }
}
