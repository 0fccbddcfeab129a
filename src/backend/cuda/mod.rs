//! The CUDA backend: programs printed as CUDA C++, compiled at run time, run on the device where the
//! data is.

pub(crate) mod bandwidth;
pub(crate) mod batch;
pub(crate) mod cache;
pub(crate) mod careful;
mod codegen;
pub(crate) mod compiler;
mod cuda_driver;
pub(crate) mod device;
mod device_loop;
pub(crate) mod device_points;
pub(crate) mod devices;
#[cfg(test)]
pub(crate) mod double;
pub(crate) mod driver;
#[cfg(test)]
pub(crate) mod emulated;
pub(crate) mod evaluator;
#[cfg(test)]
mod fake_driver;
#[cfg(test)]
pub(crate) mod late;
mod many;
mod memory;
pub(crate) mod nvrtc;
mod passes;
pub(crate) mod pool;
pub(crate) mod printed;
pub(crate) mod probe;
pub(crate) mod registry;
pub(crate) mod resident;
pub(crate) mod resident_run;
mod rooms;
#[cfg(test)]
mod shared_driver;
mod slots;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod streamed;
#[cfg(test)]
mod tests;
