//! The ready-made sources: the same points in chunks of any size, after skipping and after rewinding;
//! and for files that are damaged, cut, ragged or no such files at all, errors that say where.

#[cfg(feature = "arrow")]
mod arrow;
mod combined;
#[cfg(feature = "csv")]
mod csv;
mod damage;
mod memory;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "csv")]
mod pieces;
pub(crate) mod points;
mod raw;
#[cfg(feature = "arrow")]
mod record_batches;
#[cfg(feature = "csv")]
mod tables;
