//! What the readers of files have in common.

pub(crate) mod binary;
pub(crate) mod digest;
pub(crate) mod file;
#[cfg(any(feature = "arrow", feature = "parquet"))]
pub(crate) mod guard;
pub(crate) mod number;
pub(crate) mod roles;
pub(crate) mod stamp;
