//! Robust losses from good and from far starts, against a route of their own; and how many points count.

mod counting;
mod coverage;
mod custom;
mod entries;
mod far;
mod reweighted;
mod support;
