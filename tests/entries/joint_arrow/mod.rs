//! A joint fit is solved set by set, in the shape of an arrow; the same points in one model that chooses its
//! set's parameters are solved as a whole. Both must say the same.

mod conditions;
mod open;
mod problem;
#[cfg(feature = "json")]
mod saved;
mod usual;
mod views;
