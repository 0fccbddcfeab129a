//! Fits over points that are read anew in every pass.

#[allow(dead_code)]
pub(crate) mod checkpoint;
