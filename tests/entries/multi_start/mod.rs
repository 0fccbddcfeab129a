//! Fits from many starts: the optima against minima found otherwise, where starts are drawn, what one
//! start may do to the rest, and requests that make no sense.

#![allow(unreachable_pub, reason = "files of one test")]

mod evolution;
mod minima;
mod optima;
mod requests;
pub(crate) mod standard;
mod starts;
