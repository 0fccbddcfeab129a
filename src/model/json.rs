//! JSON of saved programs and results.

use super::program::Program;
use super::saved::{SavedProgram, VERSION, check_version};
use crate::error::Result;
use crate::error::saved::SavedError;
use serde::{Deserialize, Serialize};

/// Header of every saved text, in all versions.
#[derive(Deserialize)]
struct ProgramHeader {
    version: u32,
}

/// Parses saved text of the kind `what`, if its version is `known`.
pub(crate) fn read<'a, T: Deserialize<'a>>(
    text: &'a str,
    what: &'static str,
    known: u32,
) -> Result<T> {
    let malformed =
        |error: serde_json::Error| SavedError::Malformed { what, message: error.to_string() };
    let header: ProgramHeader = serde_json::from_str(text).map_err(malformed)?;
    check_version(what, header.version, known)?;
    Ok(serde_json::from_str(text).map_err(malformed)?)
}

impl Program {
    /// Returns the program as JSON: names of operations, operands as indices of earlier nodes, numbers to the
    /// last bit. Programs can also be written in other formats of `serde`.
    ///
    /// # Errors
    /// None in practice: every program can be written.
    pub fn to_json(&self) -> Result<String> {
        write(&SavedProgram::from(self.clone()), "program")
    }

    /// Reads the program that [`to_json`](Program::to_json) wrote.
    ///
    /// # Errors
    /// Returns [`Error::Saved`](crate::Error::Saved) if the text is not such a program, its version is unknown, or an
    /// operand does not exist.
    pub fn from_json(text: &str) -> Result<Program> {
        read::<SavedProgram>(text, "program", VERSION)?.try_into()
    }
}

pub(crate) fn write(saved: &impl Serialize, what: &'static str) -> Result<String> {
    let malformed =
        |error: serde_json::Error| SavedError::Malformed { what, message: error.to_string() };
    Ok(serde_json::to_string(saved).map_err(malformed)?)
}
