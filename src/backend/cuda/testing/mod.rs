//! Stand-ins for a device in tests: drivers that fail or dawdle on demand, and a library that claims to be CUDA's.

pub(crate) mod deferred_driver;
pub(crate) mod fake_driver;
pub(crate) mod faulty_driver;
mod shared_driver;
