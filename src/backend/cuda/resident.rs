//! The seam between the solver's host side and a fit whose loop runs on the device.

use super::driver::DriverError;
use super::state::Layout;
use crate::solver::outcome::{BadPoint, Fault};
use std::ops::Range;

/// What a fit waits for: `Request` of `kernels/solver_state.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// The sums at the trial's parameters.
    Evaluate,
    /// The triangular factor at the present parameters.
    Factor,
    /// Columns for a start whose sums are not finite or not safe, or an end.
    Host,
    /// Nothing: it has ended.
    Done,
}

impl Request {
    /// From its word in the state; whatever no kernel writes is an end.
    pub(crate) fn from_word(word: u64) -> Request {
        match word {
            1 => Request::Evaluate,
            2 => Request::Factor,
            3 => Request::Host,
            _ => Request::Done,
        }
    }

    pub(crate) fn word(self) -> u64 {
        match self {
            Request::Evaluate => 1,
            Request::Factor => 2,
            Request::Host => 3,
            Request::Done => 4,
        }
    }
}

/// A fit on a device: its points, its state and the kernels that work on them. Calls take effect in
/// their order; only [`read`](Self::read) waits.
pub(crate) trait ResidentFit {
    fn layout(&self) -> &Layout;

    /// Writes words of the state, from word `at` on.
    fn write(&mut self, at: usize, words: &[u64]) -> Result<(), DriverError>;

    /// Waits for what was queued and reads words of the state.
    fn read(&mut self, at: Range<usize>, words: &mut [u64]) -> Result<(), DriverError>;

    /// Queues evaluations over all points, each with the step that follows it; those that find no
    /// evaluation wanted do nothing.
    fn iterate(&mut self, launches: usize) -> Result<(), DriverError>;

    /// Queues the factor at the present parameters and the step that goes on with it.
    fn factor(&mut self) -> Result<(), DriverError>;

    /// Queues a step, which ends a fit whose `stopped` is set.
    fn stop(&mut self) -> Result<(), DriverError>;

    /// As [`Evaluator::first_bad_point`](crate::backend::Evaluator::first_bad_point).
    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint>;

    /// As [`Evaluator::magnitudes`](crate::backend::Evaluator::magnitudes).
    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault>;
}
