//! What the readers of files have in common.

pub(crate) mod binary;
pub(crate) mod digest;
pub(crate) mod file;
pub(crate) mod number;
pub(crate) mod roles;
