//! Test doubles for a device: drivers that fail or delay work on demand, and a fake CUDA library.

pub(crate) mod deferred_driver;
pub(crate) mod fake_driver;
pub(crate) mod faulty_driver;
mod shared_driver;
