//! What is tested of the CUDA backend without a device.

mod budget;
mod cxx;
mod functions;
mod generated;
mod linear_algebra;
mod random_programs;
mod trial;
