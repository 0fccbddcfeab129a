//! Who make fits of a batch for its leader: engines of any kind.

use std::io;

/// Workers that make fits of a batch, as [`fit_batch_parts`](crate::CurveFit::fit_batch_parts) calls them: processes, threads,
/// machines. A worker answers a question by [`answer_batch`](crate::CurveFit::answer_batch); this brings the bytes there and back.
///
/// All calls are made on the thread that called `fit_batch_parts`. A worker has one question at a time. When
/// `fit_batch_parts` returns, every worker has answered but those that were lost, so that the next batch may be sent to them.
pub trait Workers {
    /// How many workers there are; they are numbered from 0. Asked once for a batch.
    fn count(&self) -> usize;

    /// Sends a question to a worker that has none. It need not wait until the worker has it.
    ///
    /// # Errors
    /// If the worker cannot be reached: it is lost, and nothing more is sent to it in this batch.
    fn send(&mut self, worker: usize, question: &[u8]) -> io::Result<()>;

    /// Waits for the next answer, from whichever worker it comes; called only while a worker has a question. An error beside
    /// the worker's number means that this worker is lost: others make what it was asked, and it is not heard in this batch any more.
    ///
    /// # Errors
    /// If there is no use in waiting for any of them: all are lost, and the leader makes the rest. What is still under way then
    /// is the engine's to throw away.
    fn receive(&mut self) -> io::Result<(usize, io::Result<Vec<u8>>)>;
}
