//! The CUDA backend: programs printed as CUDA C++, compiled at run time, run on the device where the
//! data is.

pub(crate) mod cache;
pub(crate) mod compiler;
pub(crate) mod device;
pub(crate) mod driver;
pub(crate) mod careful;
pub(crate) mod evaluator;
pub(crate) mod printed;
mod memory;
pub(crate) mod resident;
#[cfg(test)]
mod fake_driver;
pub(crate) mod nvrtc;
pub(crate) mod probe;
