//! Passes over points that come in chunks: the summary of each chunk is merged while the next ones are read.

mod answered;
mod memo;
mod passes;
mod streamed;

pub(crate) use memo::{Answer, Memo, Sums};
#[cfg(test)]
pub(crate) use memo::{Question, Unfinished};
pub(crate) use passes::{Evaluated, FirstPass, Kept, Passes, Watch};
pub(crate) use streamed::{Streamed, locked};
