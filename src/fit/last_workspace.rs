//! The workspace of a thread's last fit, kept for the next one.

use super::search::Workspace;
use crate::solver::task::Problem;
use std::cell::Cell;

/// Free parameters up to which a thread keeps the workspace of its last fit: it grows with their square.
const KEPT: usize = 32;

thread_local! {
    static LAST: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

impl Workspace {
    /// Does `work` in the workspace of this thread's last fit, if that had as many parameters, so that small fits one
    /// after another allocate little. A fit within a native model finds it taken, and gets one of its own.
    pub(crate) fn with<R>(problem: Problem, work: impl FnOnce(&mut Workspace) -> R) -> R {
        let alike =
            |last: &Problem| last.start.len() == problem.start.len() && last.shape == problem.shape;
        let mut space = match LAST.take().filter(|last| alike(&last.problem)) {
            Some(mut last) => {
                last.problem = problem;
                last.forget_stages();
                last
            }
            None => Box::new(Workspace::new(problem)),
        };
        let result = work(&mut space);
        LAST.set(Some(space).filter(|space| space.problem.free.len() <= KEPT));
        result
    }
}
