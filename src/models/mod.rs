//! Models that people fit every day, by name: a formula, what its parameters mean, and a start found
//! in the data.

pub(crate) mod definition;
pub(crate) mod estimate;
pub(crate) mod library;
