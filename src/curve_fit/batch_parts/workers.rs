//! Workers of a distributed batch, over any transport.

use std::io;

/// Transport to the workers of [`fit_batch_parts`](crate::CurveFit::fit_batch_parts): processes, threads or
/// machines. A worker processes a request with [`answer_batch`](crate::CurveFit::answer_batch); this trait transfers
/// the bytes.
///
/// All calls are made on the thread that called `fit_batch_parts`. A worker has one request at a time. When
/// `fit_batch_parts` returns, every worker that was not lost has replied and can receive the next batch.
pub trait Workers {
    /// Returns the number of workers; they are numbered from 0. Called once per batch.
    fn count(&self) -> usize;

    /// Sends a question to a worker that has none. It need not wait until the worker has it.
    ///
    /// # Errors
    /// If the worker cannot be reached: it is lost, and nothing more is sent to it in this batch.
    fn send(&mut self, worker: usize, question: &[u8]) -> io::Result<()>;

    /// Waits for the next reply from any worker; called only while a worker has a request. An error next to
    /// the worker's number means that this worker is lost: others repeat its portion, and it is not used in this batch
    /// any more.
    ///
    /// # Errors
    /// If no worker can reply: all are lost, and the leader makes the remaining fits. The transport must then discard
    /// outstanding messages.
    fn receive(&mut self) -> io::Result<(usize, io::Result<Vec<u8>>)>;
}
