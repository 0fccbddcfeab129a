//! The ready-made sources: the same points in chunks of any size, after skipping and after rewinding;
//! and for files that are damaged, cut, ragged or no such files at all, errors that say where.

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
