//! Fits over chunks of points: the same as in memory, for any chunks; failing fits.

mod borders;
#[path = "../../support/child.rs"]
mod child;
mod equality;
mod errors;
mod faults;
mod kinds;
mod memory;
mod slow;
#[path = "../../support/streamed.rs"]
mod support;
mod threads;
mod together;
