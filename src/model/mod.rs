//! Models: their scalar type, tracing, programs and native functions.

mod added;
pub(crate) mod collect;
pub(crate) mod component;
pub(crate) mod dual;
mod expression;
pub(crate) mod functions;
pub(crate) mod inverse;
mod latex;
pub(crate) mod linear;
mod listing;
pub(crate) mod native;
mod num;
pub(crate) mod op;
pub(crate) mod parse;
pub(crate) mod precision;
pub(crate) mod program;
pub(crate) mod saved;
pub(crate) mod scalar;
pub(crate) mod structure;
pub(crate) mod tape;
pub(crate) mod ties;
pub(crate) mod units;
pub(crate) mod var;

pub(crate) use expression::Expression;
pub(crate) use latex::{escaped, power_of_ten, symbols};
