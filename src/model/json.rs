//! JSON of what is saved.

use super::program::Program;
use super::saved::{SavedProgram, VERSION, check_version};
use crate::error::Result;
use crate::error::saved::SavedError;
use serde::{Deserialize, Serialize};

/// What every saved thing begins with, whatever its version.
#[derive(Deserialize)]
struct ProgramHeader {
    version: u32,
}

/// Reads text that a version of `what` begins.
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
    /// The program as JSON: names of operations, operands as indices of earlier nodes, numbers to the
    /// last bit. Any other format of `serde` will do as well.
    ///
    /// # Errors
    /// None in practice: every program can be written.
    pub fn to_json(&self) -> Result<String> {
        write(&SavedProgram::from(self.clone()), "program")
    }

    /// The program that [`to_json`](Program::to_json) wrote.
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) for text that is no such program, a version that is not known, or operands
    /// that are not there.
    pub fn from_json(text: &str) -> Result<Program> {
        read::<SavedProgram>(text, "program", VERSION)?.try_into()
    }
}

pub(crate) fn write(saved: &impl Serialize, what: &'static str) -> Result<String> {
    let malformed =
        |error: serde_json::Error| SavedError::Malformed { what, message: error.to_string() };
    Ok(serde_json::to_string(saved).map_err(malformed)?)
}
