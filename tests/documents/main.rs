//! The tree itself: examples run, the guide is whole, imports run one way, any toolkit builds it.

mod any_nvcc;
mod examples;
mod guide;
mod layering;
mod paths;
