//! What is tested of the CUDA backend without a device.

mod generated;
