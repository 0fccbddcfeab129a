//! A fit over points that are read anew in every pass.

pub(crate) mod checkpoint;
pub(crate) mod contents;
pub(crate) mod follower;
pub(crate) mod opening;
pub(crate) mod stats;
pub(crate) mod supply;
