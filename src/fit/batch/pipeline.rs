//! Chunks of a batch on a device: while the kernel makes the fits of one the next is uploaded, and its fits
//! are under way while what was found is read back and the host sees to it.

use crate::backend::cuda::batch::{Batch, BatchNumbers, FitChunk};
use crate::backend::cuda::driver::{Driver, DriverError, Queue};
use std::ops::Range;

/// The part of a device's free memory that chunks may take.
const FILL: f64 = 0.9;

/// A batch whose chunks are made one after the other.
pub(super) struct Pipeline<'a> {
    batch: &'a Batch<'a>,
    driver: &'a dyn Driver,
    /// The end of the last fit.
    end: usize,
    /// Bytes of a chunk at most, as asked for, and as there is memory.
    asked: usize,
    bytes: usize,
    /// Fits of a chunk at most: fewer than there is room for, where each takes long or once memory was refused.
    fits: usize,
    under_way: Option<Result<Launched, DriverError>>,
}

/// A chunk whose kernel was launched.
struct Launched {
    range: Range<usize>,
    chunk: FitChunk,
}

impl<'a> Pipeline<'a> {
    /// For the fits before `end`; `asked`: bytes of a chunk at most; `fits`: its fits at most, one at least.
    pub(super) fn new(
        batch: &'a Batch<'a>,
        driver: &'a dyn Driver,
        end: usize,
        asked: usize,
        fits: usize,
    ) -> Pipeline<'a> {
        let bytes = asked;
        Pipeline { batch, driver, end, asked, bytes, fits, under_way: None }
    }

    /// Waits for some of the fits from `first` on, the end of those before, and leaves in `found` what the
    /// device found of them.
    pub(super) fn next(
        &mut self,
        first: usize,
        found: &mut BatchNumbers,
    ) -> Result<Range<usize>, DriverError> {
        let Launched { range, chunk } = match self.under_way.take() {
            Some(launched) => launched?,
            None => self.begin(first)?,
        };
        let following = self.range(range.end);
        let launched = (!following.is_empty()).then(|| {
            let chunk = self.batch.bring(following.clone())?;
            self.batch.launch(&chunk)?;
            Ok(Launched { range: following, chunk })
        });
        // What the next has queued is behind a fence.
        let queue = if let Some(Ok(_)) = launched { Queue::Ahead } else { Queue::Work };
        chunk.read(queue, found)?;
        // The next is told of what has failed. What only lacks memory begins anew without this chunk, and
        // smaller if need be.
        let no_memory =
            |launched: &Result<_, _>| matches!(launched, Err(DriverError::OutOfMemory { .. }));
        self.under_way = launched.filter(|launched| !no_memory(launched));
        Ok(range)
    }

    /// As many fits as there is memory for, half of it where others follow: half of what was refused until
    /// it is granted.
    fn begin(&mut self, first: usize) -> Result<Launched, DriverError> {
        let free = (FILL * self.driver.memory()?.free as f64) as usize;
        self.bytes = self.asked.min(free);
        if self.range(first).end < self.end {
            self.bytes = self.asked.min(free / 2);
        }
        loop {
            let range = self.range(first);
            let brought = self.batch.bring(range.clone()).and_then(|chunk| {
                self.batch.launch(&chunk)?;
                Ok(chunk)
            });
            match brought {
                Err(DriverError::OutOfMemory { .. }) if range.len() > 1 => {
                    self.fits = range.len() / 2;
                }
                brought => return brought.map(|chunk| Launched { range, chunk }),
            }
        }
    }

    /// The fits of the chunk that begins with `first`.
    fn range(&self, first: usize) -> Range<usize> {
        if first >= self.end {
            return first..first;
        }
        let most = first.saturating_add(self.fits);
        first..self.batch.chunk(first, self.bytes).end.min(most).min(self.end)
    }
}
