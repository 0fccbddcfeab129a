//! Bad input, one test per row of the project's table of what users feed to a fitting library: the
//! error or the state that must come out, with the index, the value, the name and the remedy in its
//! message. The standard data are 50 points of 2.5·exp(−1.3 x) + 0.5.
//!
//! The numbers of the rows are those of the table; there is no row 74. Rows about a device, streams,
//! checkpoints and batches (G1 to G14) belong to those parts.

mod control;
mod data;
mod magnitudes;
mod model;
mod shape;
mod start;
