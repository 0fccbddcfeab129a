//! Report of a distributed batch.

use std::fmt;

/// Portions of consecutive fits that each worker of [`fit_batch_parts`](crate::CurveFit::fit_batch_parts) made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BatchParts {
    /// Workers that there were.
    pub workers: usize,
    /// Portions that workers made.
    pub by_workers: usize,
    /// Portions that the leader made.
    pub by_leader: usize,
    /// Lost workers. Others made their outstanding portions.
    pub lost: Vec<LostWorker>,
    /// Bytes of all questions.
    pub question_bytes: u64,
    /// Bytes of all replies that were used.
    pub answer_bytes: u64,
}

/// A worker that made no more fits of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LostWorker {
    /// Its number, counted from 0.
    pub worker: usize,
    /// Why.
    pub reason: String,
}

impl fmt::Display for BatchParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchParts { workers, by_workers, by_leader, lost, .. } = self;
        let [portions, of_workers] =
            [(by_workers, "portion"), (workers, "worker")].map(|(&count, what)| match count {
                1 => format!("1 {what}"),
                _ => format!("{count} {what}s"),
            });
        write!(f, "{portions} by {of_workers}, {by_leader} by the leader")?;
        for LostWorker { worker, reason } in lost {
            write!(f, "; worker {worker} was lost: {reason}")?;
        }
        Ok(())
    }
}
