//! Changes of a source's points during a fit.

/// Difference between the points of a source and its earlier points, detected without another read of all
/// points.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceChange {
    /// A pass returned a different number of points.
    #[error("it gave {got} points that count where it gave {expected} before")]
    Points {
        /// Points that counted in the first pass.
        expected: u64,
        /// Points that counted in the later pass.
        got: u64,
    },
    /// A file was written to, cut, or replaced by another since it was opened.
    #[error("{place}: its {what} was {before} when it was opened and is {after}")]
    File {
        /// The file.
        place: String,
        /// The property that changed: size, time of change or identity.
        what: &'static str,
        /// The value when the file was opened.
        before: String,
        /// The present value.
        after: String,
    },
    /// The points from which the fingerprint is computed have changed.
    #[error("its fingerprint was `{before}` and is `{after}`")]
    Contents {
        /// The fingerprint before the first pass.
        before: String,
        /// The fingerprint after a pass.
        after: String,
    },
}
