//! Common parts of the readers of files.

#[cfg(any(feature = "arrow", feature = "parquet"))]
pub(crate) mod arrays;
#[cfg(any(feature = "arrow", feature = "parquet"))]
pub(crate) mod batches;
pub(crate) mod binary;
pub(crate) mod cell;
pub(crate) mod file;
#[cfg(any(feature = "arrow", feature = "parquet"))]
pub(crate) mod guard;
pub(crate) mod roles;
pub(crate) mod source;
