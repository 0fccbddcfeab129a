//! Functions: their parameters, and what stands in their bodies.

use super::instructions;
use super::names::Names;
use super::tokens::Tokens;
use super::{Result, variables};
use crate::program::{Function, Instruction, Module, Operation, Place};
use std::collections::HashMap;

/// What results and the parameters of calls are aligned to.
const ALIGNMENT: usize = 16;

/// Reads a function or a kernel behind `.func` or `.entry`. `defined`: the numbers of those that have bodies.
pub(super) fn function(
    tokens: &mut Tokens<'_>,
    is_kernel: bool,
    module: &mut Module,
    defined: &mut Vec<usize>,
) -> Result<()> {
    let (mut names, mut parameters, mut end) = (Names::default(), Vec::new(), 0);
    let mut result = None;
    if tokens.accept("(") {
        result = Some(parameter(tokens, 0)?);
        tokens.expect(")")?;
    }
    let name = tokens.word()?.to_string();
    if tokens.accept("(") {
        while !tokens.accept(")") {
            let (name, place) = parameter(tokens, end)?;
            end = place.offset + place.bytes;
            parameters.push(place);
            names.places.insert(name, place);
            if tokens.peek() != Some(")") {
                tokens.expect(",")?;
            }
        }
    }
    let result = result.map(|(name, Place { bytes, .. })| {
        let place = Place { offset: end.next_multiple_of(ALIGNMENT), bytes };
        end = place.offset + bytes;
        names.places.insert(name, place);
        place
    });
    let most_threads = directives(tokens)?;
    let function = Function {
        name: name.clone(),
        is_kernel,
        parameters,
        result,
        frame_bytes: end,
        local_bytes: 0,
        registers: 0,
        most_threads,
        code: Vec::new(),
    };
    let known = module.functions.iter().position(|function| function.name == name);
    let number = known.unwrap_or(module.functions.len());
    match known {
        Some(known) if !defined.contains(&known) => module.functions[known] = function,
        Some(_) => return Err(tokens.error(format!("function {name} is there twice"))),
        None => module.functions.push(function),
    }
    if tokens.accept(";") {
        return Ok(());
    }
    defined.push(number);
    names.prefix = format!("{name}/");
    tokens.expect("{")?;
    body(tokens, number, names, module)
}

/// What is said of a kernel before its body: its threads at most.
fn directives(tokens: &mut Tokens<'_>) -> Result<Option<u32>> {
    let mut most = None;
    loop {
        let is_limit = matches!(tokens.peek(), Some(".maxntid" | ".reqntid"));
        match tokens.peek() {
            Some(".maxntid" | ".reqntid" | ".minnctapersm" | ".maxnreg") => {
                tokens.next();
                let mut product = tokens.count()?;
                while tokens.accept(",") {
                    product = product.saturating_mul(tokens.count()?);
                }
                if is_limit {
                    most = u32::try_from(product).ok();
                }
            }
            Some(".noreturn") => drop(tokens.next()),
            _ => return Ok(most),
        }
    }
}

/// A parameter, and its place from `end` on.
fn parameter(tokens: &mut Tokens<'_>, end: usize) -> Result<(String, Place)> {
    tokens.expect(".param")?;
    let (alignment, of) = tokens.kind()?;
    let name = tokens.word()?.to_string();
    let mut bytes = of.bytes();
    if tokens.accept("[") {
        bytes = bytes.saturating_mul(tokens.count()?);
        tokens.expect("]")?;
    }
    if bytes > 1 << 20 {
        return Err(tokens.error("that is too large a parameter"));
    }
    let offset = end.next_multiple_of(alignment.unwrap_or(of.bytes()));
    Ok((name, Place { offset, bytes }))
}

fn body(
    tokens: &mut Tokens<'_>,
    number: usize,
    mut names: Names,
    module: &mut Module,
) -> Result<()> {
    let mut labels = HashMap::new();
    let mut branches = Vec::new();
    let mut code: Vec<Instruction> = Vec::new();
    let mut frame_bytes = module.functions[number].frame_bytes;
    let mut local_bytes = 0_usize;
    names.open();
    loop {
        let line = tokens.line();
        match tokens.peek() {
            None => return Err(tokens.error("the text ends within a function")),
            Some("{") => {
                tokens.next();
                names.open();
            }
            Some("}") => {
                tokens.next();
                if !names.close() {
                    break;
                }
            }
            Some(".reg") => {
                tokens.next();
                tokens.kind()?;
                names.declare(tokens)?;
            }
            Some(".param") => {
                let (name, place) = parameter(tokens, 0)?;
                tokens.expect(";")?;
                let is_there = names.places.get(&name).is_some_and(|p| p.bytes >= place.bytes);
                if !is_there {
                    let offset = frame_bytes.next_multiple_of(ALIGNMENT);
                    frame_bytes = offset + place.bytes;
                    names.places.insert(name, Place { offset, ..place });
                }
            }
            Some(".local") => {
                tokens.next();
                let (alignment, of) = tokens.kind()?;
                let name = tokens.word()?.to_string();
                let mut bytes = of.bytes();
                if tokens.accept("[") {
                    bytes = bytes.saturating_mul(tokens.count()?);
                    tokens.expect("]")?;
                }
                tokens.expect(";")?;
                let offset = local_bytes.next_multiple_of(alignment.unwrap_or(of.bytes()));
                local_bytes = offset.saturating_add(bytes);
                names.locals.insert(name, offset);
            }
            Some(space @ (".shared" | ".global" | ".const")) => {
                tokens.next();
                variables::read(tokens, space, &names.prefix, module)?;
            }
            Some(".pragma" | ".loc" | ".file") => {
                tokens.next();
                tokens.skip_line();
            }
            Some(label) if tokens.second() == Some(":") => {
                tokens.next();
                tokens.next();
                labels.insert(label.to_string(), code.len());
            }
            Some(_) => {
                let (guard, operation, label) = instructions::read(tokens, &mut names, module)?;
                if let Some(label) = label {
                    branches.push((code.len(), label, line));
                }
                code.push(Instruction { guard, operation, line });
            }
        }
    }
    code.push(Instruction { guard: None, operation: Operation::Return, line: tokens.line() });
    for (at, label, line) in branches {
        let Some(&target) = labels.get(&label) else {
            let what = format!("there is no label {label}");
            return Err(super::PtxError { line, what });
        };
        code[at].operation = Operation::Branch { target };
    }
    let function = &mut module.functions[number];
    (function.code, function.registers) = (code, names.registers);
    (function.frame_bytes, function.local_bytes) = (frame_bytes, local_bytes);
    Ok(())
}
