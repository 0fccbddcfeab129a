//! Passes over points that are read in chunks: the summary of a chunk is computed and merged while the next chunks are
//! read.

mod elsewhere;
mod first_pass;
mod message;
mod pass_cache;
mod passes;
mod question;
mod streamed;

pub(crate) use crate::backend::stream::message::{beginning, from_bytes, to_bytes};
pub(crate) use crate::backend::stream::pass_cache::Evaluated;
pub(crate) use elsewhere::{Ask, Elsewhere};
pub(crate) use first_pass::{FirstPass, GROUP_POINTS};
pub(crate) use message::{
    Envelope, Held, KnownErrors, Refusal, Reply, Request, Said, read_envelope, read_reply,
};
pub(crate) use pass_cache::{PassCache, PassResult};
#[cfg(test)]
pub(crate) use pass_cache::{PassKey, Unfinished};
pub(crate) use passes::{Holder, Kept, Passes, Watch};
pub(crate) use question::{Answer, At, Question, Terms};
pub(crate) use streamed::StreamEvaluator;
