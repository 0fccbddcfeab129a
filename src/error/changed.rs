//! How the points of a source changed while they were fitted.

/// In what the points of a source differ from what they were, as far as can be told without reading all of
/// them once more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceChange {
    /// A pass gave another number of points.
    #[error("it gave {got} points that count where it gave {expected} before")]
    Points {
        /// Points that counted in the first pass.
        expected: u64,
        /// Points that counted in this one.
        got: u64,
    },
    /// A file was written to, cut, or replaced by another since it was opened.
    #[error("{place}: its {what} was {before} when it was opened and is {after}")]
    File {
        /// The file.
        place: String,
        /// Its size, time of change or identity.
        what: &'static str,
        /// As it was.
        before: String,
        /// As it is.
        after: String,
    },
    /// The points that are looked at to recognise them are others.
    #[error("its fingerprint was `{before}` and is `{after}`")]
    Contents {
        /// The fingerprint before the first pass.
        before: String,
        /// The one after a pass.
        after: String,
    },
}
