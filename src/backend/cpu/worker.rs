//! Memory of passes: sums of consecutive pieces, and the registers and buffers of each thread.

use super::closest::ClosestPoints;
use super::flags::Flags;
use super::machine::Machine;
use super::rows::BlockRows;
use crate::model::precision::Signs;
use crate::normal::{Summary, Tree};
use crate::solver::outcome::Fault;
use std::cell::Cell;

/// Consecutive pieces that one thread sums.
pub(super) struct Task<S> {
    pub(super) sums: Tree<S>,
    pub(super) piece: S,
    pub(super) fault: Option<Fault>,
}

/// Tasks of passes that sum summaries `S`, and the sum of all tasks. Passes reuse the memory.
pub(super) struct Tasks<S> {
    pub(super) tasks: Vec<Task<S>>,
    all: Tree<S>,
}

impl<S> Default for Tasks<S> {
    fn default() -> Tasks<S> {
        Tasks { tasks: Vec::new(), all: Tree::default() }
    }
}

impl<S> Tasks<S> {
    /// Returns the number of allocated summaries.
    pub(super) fn rooms(&self) -> usize {
        2 * self.tasks.len()
    }
}

impl<S: Summary + Clone> Tasks<S> {
    /// Writes the sum of all tasks to `out`.
    pub(super) fn sum_into(&mut self, out: &mut S) {
        self.all.restart(0);
        self.tasks.iter_mut().for_each(|task| self.all.take(&mut task.sums));
        self.all.sum_into(out);
    }

    /// Appends the sums of all tasks to `sums`, after the pieces that it already contains.
    pub(super) fn add_to(&mut self, sums: &mut Tree<S>) {
        self.tasks.iter_mut().for_each(|task| sums.take(&mut task.sums));
    }
}

/// Memory of one thread: registers of the machine, the rows of [J r] of a block, stored by columns, and scratch. Pieces
/// and fits reuse it, so that a pass does not allocate.
#[derive(Default)]
pub(super) struct Worker {
    pub(super) machine: Machine,
    pub(super) ahead: Ahead,
    pub(super) rows: BlockRows,
    /// Indices of the points of a block, if some points are left out.
    pub(super) picked: Vec<usize>,
    /// Scratch for closest points, if x has errors.
    pub(super) closest: Option<Box<ClosestPoints>>,
    /// Independent variables, parameters and partials of one point, for native models.
    pub(super) x: Vec<f64>,
    pub(super) p: Vec<f64>,
    pub(super) partials: Vec<f64>,
    /// Evidence that a native model computes its values with limited precision.
    pub(super) signs: Signs,
    /// Sums of machine code for fits in lanes or for a block.
    pub(super) sums: Vec<f64>,
    /// Columns, response and sigmas of a block in f64, for machine code.
    pub(super) gathered: Vec<f64>,
    /// Flags of the points of some pieces, if some points are left out.
    pub(super) flags: Flags,
    /// Buffers for sampled residuals and the indices of their points.
    pub(super) residuals: Vec<f64>,
    pub(super) sampled: Vec<usize>,
}

/// Sums that machine code computed for consecutive pieces, eight lanes each.
#[derive(Default)]
pub(super) struct Ahead {
    /// Range of the points in the sums: the first point, and the end.
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) sums: Vec<f64>,
}

impl Ahead {
    pub(super) fn has(&self, point: usize) -> bool {
        (self.begin..self.end).contains(&point)
    }

    pub(super) fn forget(&mut self) {
        self.end = self.begin;
    }
}

thread_local! {
    static WORKER: Cell<Option<Box<Worker>>> = const { Cell::new(None) };
}

impl Worker {
    /// Runs `work` with the worker of this thread. A fit inside a native model gets a new worker, since
    /// the outer fit uses the thread's worker.
    pub(super) fn with<R>(work: impl FnOnce(&mut Worker) -> R) -> R {
        let mut worker = WORKER.take().unwrap_or_default();
        let result = work(&mut worker);
        WORKER.set(Some(worker));
        result
    }
}
