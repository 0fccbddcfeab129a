//! Sources of the library: the same points in chunks of any size, after skipping and after rewinding; errors with the
//! location for files that are damaged, truncated, ragged or in another format.

mod arrow;
mod combined;
mod csv;
mod damage;
mod memory;
mod npy;
mod parquet;
mod pieces;
pub(crate) mod points;
mod raw;
mod record_batches;
mod tables;
