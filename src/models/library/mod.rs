//! The models, by kind.

pub(crate) mod background;
pub(crate) mod decays;
pub(crate) mod diode;
pub(crate) mod dose;
pub(crate) mod growth;
pub(crate) mod physics;
pub(crate) mod relaxation;
pub(crate) mod saturation;
#[cfg(test)]
mod trials;
