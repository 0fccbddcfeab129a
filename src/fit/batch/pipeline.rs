//! Pipeline of a batch on devices. All devices take chunks from one queue. While a kernel computes one chunk, the next
//! chunk is uploaded. While results are read back and the host completes them, the kernel of the next chunk runs.

use super::arrays::BatchPart;
use crate::backend::cuda::batch::{Batch, BatchCounts, ChunkResults, FitChunk};
use crate::backend::cuda::driver::{Driver, DriverError, Queue};
use crate::fit::placement::FILL;
use crate::threads::lock;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Queue of the fits that no device has taken yet. Several devices take fits from it.
pub(super) struct FitQueue<'b>(Mutex<Vec<BatchPart<'b>>>);

impl<'b> FitQueue<'b> {
    pub(super) fn new(fits: BatchPart<'b>) -> FitQueue<'b> {
        FitQueue(Mutex::new(vec![fits]))
    }

    /// Removes and returns the next fits. `chunk` receives the first contiguous range and returns the number of
    /// fits to take, at least 1.
    fn take(&self, chunk: impl FnOnce(Range<usize>) -> usize) -> Option<BatchPart<'b>> {
        let mut parts = lock(&self.0);
        let first = (0..parts.len()).min_by_key(|&at| parts[at].first)?;
        let part = parts.swap_remove(first);
        let fits = chunk(part.first..part.first + part.len());
        let (taken, rest) = part.split(fits);
        if rest.len() > 0 {
            parts.push(rest);
        }
        Some(taken)
    }

    /// Returns fits to the queue after a failure of the device.
    fn put_back(&self, fits: BatchPart<'b>) {
        lock(&self.0).push(fits);
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Returns the remaining parts in the order of their fits.
    pub(super) fn into_rest(self) -> Vec<BatchPart<'b>> {
        let mut rest = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        rest.sort_by_key(|part| part.first);
        rest
    }
}

/// Pipeline of one device, which computes chunks one after the other.
pub(super) struct Pipeline<'a, 'b> {
    batch: &'a Batch<'a>,
    driver: &'a dyn Driver,
    queue: &'a FitQueue<'b>,
    /// Maximum size of a chunk in bytes: the requested size (`asked`), and the size limited by free memory (`bytes`).
    asked: usize,
    bytes: usize,
    /// Maximum number of fits of a chunk: reduced for slow fits, and after a failed allocation.
    fits: usize,
    under_way: Option<Result<Launched<'b>, DriverError>>,
}

/// A chunk whose kernel was launched.
struct Launched<'b> {
    part: BatchPart<'b>,
    chunk: FitChunk,
}

impl<'a, 'b> Pipeline<'a, 'b> {
    /// Creates a pipeline for the fits of the queue. `asked`: maximum size of a chunk in bytes;
    /// `fits`: maximum number of its fits, at least 1.
    pub(super) fn new(
        batch: &'a Batch<'a>,
        driver: &'a dyn Driver,
        queue: &'a FitQueue<'b>,
        asked: usize,
        fits: usize,
    ) -> Pipeline<'a, 'b> {
        Pipeline { batch, driver, queue, asked, bytes: asked, fits, under_way: None }
    }

    /// Waits for the next chunk and returns its fits with their results, and writes their counts to `counts`. Returns
    /// `None` if the queue is empty. After an error, the fits of this device return to the queue.
    pub(super) fn next(
        &mut self,
        counts: &mut BatchCounts,
    ) -> Result<Option<BatchPart<'b>>, DriverError> {
        let Launched { mut part, chunk } = match self.under_way.take() {
            Some(launched) => launched?,
            None => match self.begin()? {
                Some(launched) => launched,
                None => return Ok(None),
            },
        };
        let following = self.queue.take(|fits| self.of_chunk(fits, self.bytes));
        let launched = following.map(|part| self.launch(part));
        // If the next chunk is launched, the results are read on `Queue::Ahead` of the device, which does not wait
        // for the kernel of the next chunk.
        let queue = if let Some(Ok(_)) = launched { Queue::Ahead } else { Queue::Work };
        let results = ChunkResults {
            params: part.params,
            errors: part.errors,
            costs: part.costs,
            weights: part.weights,
            covariances: part.covariances,
        };
        if let Err(error) = chunk.read(queue, results, counts) {
            part.forget(0..part.len());
            self.queue.put_back(part);
            if let Some(Ok(Launched { part, .. })) = launched {
                self.queue.put_back(part);
            }
            return Err(error);
        }
        // If the launch of the next chunk failed, the next call of `next` returns the error. If only memory was
        // missing, that call starts a new chunk instead, which is smaller if necessary.
        let no_memory =
            |launched: &Result<_, _>| matches!(launched, Err(DriverError::OutOfMemory { .. }));
        self.under_way = launched.filter(|launched| !no_memory(launched));
        Ok(Some(part))
    }

    /// Launches the first chunk. Its size is limited by the free memory, or by half of the free memory if other fits
    /// follow. After a failed allocation, the number of fits is halved.
    fn begin(&mut self) -> Result<Option<Launched<'b>>, DriverError> {
        let free = (FILL * self.driver.memory()?.free as f64) as usize;
        loop {
            let mut bytes = self.asked.min(free);
            let part = self.queue.take(|fits| {
                let end = fits.end;
                let chunk = self.of_chunk(fits.clone(), bytes);
                if fits.start + chunk == end {
                    return chunk;
                }
                bytes = self.asked.min(free / 2);
                self.of_chunk(fits, bytes)
            });
            let Some(part) = part else { return Ok(None) };
            self.bytes = bytes;
            let fits = part.len();
            match self.launch(part) {
                Err(DriverError::OutOfMemory { .. }) if fits > 1 => self.fits = fits / 2,
                launched => return launched.map(Some),
            }
        }
    }

    /// Uploads a chunk and launches its kernel. If this fails, the fits of the chunk return to the queue of fits.
    fn launch(&self, part: BatchPart<'b>) -> Result<Launched<'b>, DriverError> {
        let brought = self.batch.bring(part.first..part.first + part.len()).and_then(|chunk| {
            self.batch.launch(&chunk)?;
            Ok(chunk)
        });
        match brought {
            Ok(chunk) => Ok(Launched { part, chunk }),
            Err(error) => {
                self.queue.put_back(part);
                Err(error)
            }
        }
    }

    /// Returns the number of fits of the range that a chunk of `bytes` bytes contains.
    fn of_chunk(&self, fits: Range<usize>, bytes: usize) -> usize {
        let chunk = self.batch.chunk(fits.start, bytes).len();
        chunk.min(self.fits).min(fits.len())
    }
}
