//! What can be wrong with what was saved: a program, a fit, or what is made of fits.

/// Why something cannot be saved, or what was saved cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The text is no JSON, or something is missing in it or of another kind.
    #[error("the saved {what} cannot be read: {message}; save it again")]
    Malformed {
        /// `program`, `fit`, `batch`, `joint fit`, `profile` or `set of optima`.
        what: &'static str,
        /// What the reader said, with line and column.
        message: String,
    },
    /// Another version of this crate wrote it.
    #[error(
        "the saved {what} has version {found}, but only version {known} can be read here; use the version of dualfit that wrote it"
    )]
    Version {
        /// `program`, `fit`, `batch`, `joint fit`, `profile` or `set of optima`.
        what: &'static str,
        /// The version that it has.
        found: u32,
        /// The version that is known.
        known: u32,
    },
    /// An operation that there is not.
    #[error(
        "node {node} of the saved program is `{operation}`, which is no operation of {operands} operands"
    )]
    Operation {
        /// Its index.
        node: usize,
        /// The name found.
        operation: String,
        /// The operands found.
        operands: usize,
    },
    /// A number that points to something that is not there, or not yet.
    #[error("{place} refers to {what} {index}, but only the first {count} can be meant there")]
    Reference {
        /// Where it is said: `node 7`, `output 0`.
        place: String,
        /// To what it refers: `node`, `parameter`, `variable`.
        what: &'static str,
        /// The index found.
        index: usize,
        /// Indices must be below this.
        count: usize,
    },
    /// An array of another length than the others.
    #[error("`{what}` of the saved {of} has {got} value(s), but {expected} are needed")]
    Length {
        /// The array.
        what: &'static str,
        /// `program`, `fit`, `batch`, `joint fit`, `profile` or `set of optima`.
        of: &'static str,
        /// The length that it must have.
        expected: usize,
        /// The length that it has.
        got: usize,
    },
    /// A fit of a native model was saved without it.
    #[error(
        "the fit was saved without its model, an ordinary function, so it cannot be evaluated; give it back by Fit::with_model, or fit a traced model to save it whole"
    )]
    NoModel,
}
