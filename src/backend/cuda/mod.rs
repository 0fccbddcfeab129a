//! The CUDA backend: prints programs as CUDA C++, compiles them at run time, and runs them on the device that has
//! the data.

pub(crate) mod bandwidth;
pub(crate) mod batch;
pub(crate) mod cache;
mod codegen;
pub(crate) mod compiled_model;
pub(crate) mod cpu_fallback;
mod cuda_driver;
pub(crate) mod device;
pub(crate) mod device_points;
pub(crate) mod devices;
pub(crate) mod driver;
#[cfg(test)]
pub(crate) mod emulated;
pub(crate) mod evaluator;
pub(crate) mod interface;
pub(crate) mod memory;
pub(crate) mod nvrtc;
pub(crate) mod passes;
pub(crate) mod probe;
pub(crate) mod source;
pub(crate) mod streamed;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
