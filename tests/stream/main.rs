//! Fits over chunks of points: the same as in memory, whatever the chunks; stopped, killed and failing ones.

mod child;
mod equality;
mod errors;
mod faults;
mod kill;
mod kinds;
mod memory;
mod resume;
mod support;
