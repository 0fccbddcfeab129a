//! The CUDA backend: programs printed as CUDA C++, compiled at run time, run on the device where the
//! data is.

pub(crate) mod bandwidth;
pub(crate) mod cache;
pub(crate) mod compiler;
pub(crate) mod device;
pub(crate) mod devices;
#[cfg(test)]
pub(crate) mod double;
pub(crate) mod driver;
#[cfg(test)]
mod fake_driver;
pub(crate) mod nvrtc;
pub(crate) mod probe;
