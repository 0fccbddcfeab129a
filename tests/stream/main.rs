//! Fits over chunks of points: the same as in memory, whatever the chunks.

mod equality;
mod support;
