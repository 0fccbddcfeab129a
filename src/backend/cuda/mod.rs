//! The CUDA backend: programs printed as CUDA C++, compiled at run time, run on the device where the
//! data is.

mod codegen;
pub(crate) mod compiler;
pub(crate) mod driver;
#[cfg(test)]
pub(crate) mod emulated;
pub(crate) mod resident;
pub(crate) mod source;
pub(crate) mod state;
#[cfg(test)]
mod tests;
