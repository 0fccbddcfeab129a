//! The CUDA backend: prints programs as CUDA C++, compiles them at run time, and runs them on the device that has
//! the data.

#[cfg(feature = "cuda")]
mod bandwidth;
pub(crate) mod batch;
pub(crate) mod cache;
mod codegen;
pub(crate) mod compiled_model;
pub(crate) mod cpu_fallback;
#[cfg(feature = "cuda")]
mod cuda_driver;
pub(crate) mod device;
pub(crate) mod device_info;
pub(crate) mod device_points;
pub(crate) mod devices;
pub(crate) mod driver;
#[cfg(all(test, feature = "cuda"))]
pub(crate) mod emulated;
pub(crate) mod evaluator;
pub(crate) mod interface;
#[cfg(feature = "cuda")]
pub(crate) mod machine;
#[cfg(not(feature = "cuda"))]
#[path = "absent.rs"]
pub(crate) mod machine;
pub(crate) mod memory;
#[cfg(feature = "cuda")]
pub(crate) mod nvrtc;
pub(crate) mod passes;
#[cfg(feature = "cuda")]
pub(crate) mod probe;
pub(crate) mod source;
pub(crate) mod streamed;
#[cfg(all(test, feature = "cuda"))]
pub(crate) mod testing;
#[cfg(all(test, feature = "cuda"))]
mod tests;
