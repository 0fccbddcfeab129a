//! The tree itself: examples run, the guide is whole, imports run one way, any toolkit builds it, and its English is plain.

mod any_nvcc;
mod examples;
mod guide;
mod layering;
mod paths;
mod style;
