//! Variables of a module.

use super::Result;
use super::tokens::Tokens;
use crate::program::{Module, Space, Variable};

/// What shared memory is aligned to at least.
const LEAST_ALIGNMENT: usize = 16;

/// Reads a variable behind the word of its space. `prefix`: what makes its name one of a function.
pub(super) fn read(
    tokens: &mut Tokens<'_>,
    space: &str,
    prefix: &str,
    module: &mut Module,
) -> Result<()> {
    let (alignment, of) = tokens.kind()?;
    let name = format!("{prefix}{}", tokens.word()?);
    let mut count = 1;
    while tokens.accept("[") {
        let length = if tokens.peek() == Some("]") { 0 } else { tokens.count()? };
        count = usize::saturating_mul(count, length);
        tokens.expect("]")?;
    }
    let bytes = of.bytes().saturating_mul(count);
    if bytes > 1 << 30 {
        return Err(tokens.error("that is too large a variable"));
    }
    let mut contents = Vec::new();
    if tokens.accept("=") {
        let in_braces = tokens.accept("{");
        while !in_braces || tokens.peek() != Some("}") {
            let bits = tokens.number()?;
            contents.extend(&bits.to_le_bytes()[..of.bytes()]);
            if !in_braces || !tokens.accept(",") {
                break;
            }
        }
        if in_braces {
            tokens.expect("}")?;
        }
        if contents.len() > bytes {
            return Err(tokens.error(format!("{name} has more values than places")));
        }
    }
    tokens.expect(";")?;
    let (space, offset) = match space {
        ".shared" => {
            let alignment = alignment.unwrap_or(of.bytes()).max(LEAST_ALIGNMENT);
            let offset = module.shared_bytes.next_multiple_of(alignment);
            module.shared_bytes = offset + bytes;
            (Space::Shared, offset)
        }
        ".const" => (Space::Constant, 0),
        _ => (Space::Global, 0),
    };
    module.variables.push(Variable { name, space, offset, bytes, contents });
    Ok(())
}
