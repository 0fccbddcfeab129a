//! Summaries of the data that the solver works on. Two summaries of parts merge into that of the
//! whole, so threads, chunks and devices are one operation at different scales.

pub(crate) mod abreast;
mod influence;
pub(crate) mod small;
mod spectrum;
mod summaries;
mod tree;

/// What a pass over a set of points sums up.
pub(crate) trait Summary: Send {
    /// Forgets all points.
    fn clear(&mut self);
    /// Adds the points of `other`, whose contents may be used up.
    fn merge(&mut self, other: &mut Self);
    /// Whether every sum is a finite number.
    fn is_finite(&self) -> bool;
}

pub(crate) use influence::Influence;
pub(crate) use spectrum::Spectrum;
pub(crate) use summaries::{Normal, pair};
pub(crate) use summaries::{RFactor, heaviest_first};
pub(crate) use tree::{GROUP, Tree};
