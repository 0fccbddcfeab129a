//! Fits over chunks of points: the same as in memory, whatever the chunks; stopped, killed and failing ones.

mod child;
mod equality;
mod faults;
mod kill;
mod memory;
mod resume;
mod support;
