//! Names and numbers as the messages and reports of this crate write them, for programs and crates that add their own.

pub use crate::error::quote::{nearest, significant, visible};
