//! What can be wrong with a name.

use super::visible::{is_unshowable, visible};

/// Why a parameter or a derived quantity cannot have a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It has a character that ends a line, turns the order of others round, or has no shape.
    #[error(
        "the name `{}` has a character that cannot be shown; leave it out of the name",
        visible(name)
    )]
    Unshowable {
        /// The name.
        name: String,
    },
    /// A derived quantity is called as a parameter or as another one.
    #[error("the derived quantity `{name}` is called as {taken} is; give it a name of its own")]
    Taken {
        /// The name.
        name: String,
        /// What has the name already.
        taken: &'static str,
    },
}

/// # Errors
/// [`NameError::Unshowable`] for the first name that cannot be shown in a report or a picture.
pub(crate) fn check_shown<'a>(
    names: impl IntoIterator<Item = &'a String>,
) -> Result<(), NameError> {
    match names.into_iter().find(|name| name.contains(is_unshowable)) {
        Some(name) => Err(NameError::Unshowable { name: name.clone() }),
        None => Ok(()),
    }
}
