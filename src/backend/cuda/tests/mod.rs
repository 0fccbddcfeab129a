//! Tests of the CUDA backend that need no device.

mod batch;
mod batch_geometry;
mod budget;
mod cxx;
mod f32_step;
mod functions;
mod generated;
mod linear_algebra;
mod many;
mod passes;
mod precision;
mod random_programs;
mod shares;
mod slim;
mod solver;
mod streamed;
mod streamed_faults;
mod sums;
mod trial;
