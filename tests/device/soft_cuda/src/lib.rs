//! A CUDA driver without a device: a `libcuda.so.1` that interprets PTX on the CPU, for tests of the ordinary binary
//! with only the library path changed.
//!
//! `ptx` reads a module into a `program`, `machine` runs its kernels, `driver` is what programs call.

#[expect(unreachable_pub, reason = "what the library exports is public by its names")]
mod driver;
mod machine;
mod mutant;
mod program;
mod ptx;
