//! Fits over chunks of points: the same as in memory, whatever the chunks; stopped, killed and failing ones.

mod equality;
mod resume;
mod support;
