//! The models, by kind.

pub(crate) mod background;
