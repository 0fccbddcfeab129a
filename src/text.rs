//! Formatting of names and numbers in the messages and reports of this crate, for programs and crates that add their
//! own messages.

pub use crate::error::quote::{nearest, significant, visible};
