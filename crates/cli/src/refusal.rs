//! Why the program ends without a result: one line for a person, and an exit code for a script.

use std::path::Path;

/// The fit converged, or whatever else was asked for was done.
pub(crate) const DONE: u8 = 0;
/// The fit was made and did not converge, or some fits of a batch did not.
pub(crate) const NOT_CONVERGED: u8 = 1;
/// The request makes no sense: an option, the model, a column, a number.
pub(crate) const USAGE: u8 = 2;
/// A file cannot be read or written, or holds no table.
pub(crate) const FILE: u8 = 3;

/// What is wrong, where, and what to do, with the exit code that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) code: u8,
}

pub(crate) type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    /// Of a request that makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), code: USAGE }
    }

    /// Of a file that cannot be read or written.
    pub(crate) fn file(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), code: FILE }
    }

    /// Of a file that cannot be written, with the system's words for it.
    pub(crate) fn unwritten(path: &Path, why: &std::io::Error) -> Refusal {
        let why = plain(why);
        Refusal::file(format!("{}: cannot be written: {why}", path.display()))
    }
}

/// The system's words for an error, without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
