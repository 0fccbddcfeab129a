//! What one thread needs to work through a chunk, kept between chunks and fits so that a pass
//! allocates nothing.

use super::machine::Machine;
use super::rows::Rows;
use std::cell::RefCell;

/// Registers, row columns and scratch of one thread.
#[derive(Default)]
pub(super) struct Worker {
    pub(super) machine: Machine,
    pub(super) rows: Rows,
    /// Indices of a block's points where some points are passed over.
    pub(super) picked: Vec<usize>,
    /// One point's independent variables, parameters and partials, for native models.
    pub(super) x: Vec<f64>,
    pub(super) p: Vec<f64>,
    pub(super) partials: Vec<f64>,
}

thread_local! {
    static WORKER: RefCell<Worker> = RefCell::default();
}

impl Worker {
    /// Runs `work` with this thread's worker. A fit inside a native model finds it taken and gets a
    /// fresh one.
    pub(super) fn with<R>(work: impl FnOnce(&mut Worker) -> R) -> R {
        let mut worker = WORKER.with(RefCell::take);
        let result = work(&mut worker);
        WORKER.set(worker);
        result
    }
}
