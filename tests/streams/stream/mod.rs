//! Fits over chunks of points: the same as in memory, for any chunks; stopped, killed and failing fits.

mod borders;
mod changed;
mod child;
#[cfg(feature = "parquet")]
mod columns;
mod equality;
mod errors;
mod faults;
#[cfg(all(feature = "arrow", feature = "csv", feature = "parquet"))]
mod formats;
#[cfg(feature = "csv")]
mod kept;
mod kill;
mod kinds;
mod memory;
#[cfg(feature = "arrow")]
mod record_batches;
mod resume;
mod slow;
mod support;
mod threads;
mod together;
