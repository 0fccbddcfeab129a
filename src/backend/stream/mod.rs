//! Passes over points that come in chunks: the summary of each chunk is merged while the next ones are read.

mod pass_cache;
mod passes;
mod streamed;

pub(crate) use pass_cache::{PassCache, PassResult, Sums};
#[cfg(test)]
pub(crate) use pass_cache::{PassKey, Unfinished};
pub(crate) use passes::{Evaluated, FirstPass, Kept, Passes, Watch};
pub(crate) use streamed::StreamEvaluator;
