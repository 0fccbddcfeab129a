//! A decoder of others kept from bringing anything down: what it panics about is an error of the file.

use crate::error::source::SourceError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `decode` gives, or an error about `place` if it panics. What it worked on is then in an unknown
/// state and must be dropped.
pub(crate) fn guarded<T>(
    place: &str,
    decode: impl FnOnce() -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(SourceError::new(place, "it is damaged: it could not be decoded")))
}
