//! Pipeline of a batch on devices. All devices take chunks from one queue. A thread of each device uploads chunks and
//! launches their kernels. Meanwhile the calling thread reads the results of earlier chunks, and completes them.

use super::arrays::BatchPart;
use crate::backend::cuda::batch::{Batch, BatchCounts, ChunkResults, LaunchedChunk};
use crate::backend::cuda::driver::{Driver, DriverError};
use crate::fit::placement::FILL;
use crate::math::order::sort_few;
use crate::threads::{lock, receive};
use std::iter::from_fn;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

/// Maximum number of chunks of a device that are launched but not read. While one kernel runs, the next one waits, and
/// the results of the one before are read.
const UNDER_WAY: usize = 3;

/// Queue of the fits that no device has taken yet. Several devices take fits from it.
pub(super) struct FitQueue<'b>(Mutex<Vec<BatchPart<'b>>>);

impl<'b> FitQueue<'b> {
    pub(super) fn new(fits: BatchPart<'b>) -> FitQueue<'b> {
        FitQueue(Mutex::new(vec![fits]))
    }

    /// Removes and returns the next fits. `chunk` receives the first contiguous range and returns the number of
    /// fits to take, at least 1.
    pub(super) fn take(&self, chunk: impl FnOnce(Range<usize>) -> usize) -> Option<BatchPart<'b>> {
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

    /// Returns fits to the queue after a failure of the device or a cancellation.
    pub(super) fn put_back(&self, fits: BatchPart<'b>) {
        lock(&self.0).push(fits);
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Returns the remaining parts in the order of their fits.
    pub(super) fn into_rest(self) -> Vec<BatchPart<'b>> {
        let mut rest = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        sort_few(&mut rest, |a, b| a.first.cmp(&b.first));
        rest
    }
}

/// Maximum size of the chunks of a device.
#[derive(Clone, Copy)]
pub(super) struct ChunkLimits {
    pub(super) bytes: usize,
    /// Number of fits, at least 1.
    pub(super) fits: usize,
}

/// Computes fits of the queue on a device until the queue is empty or `complete` returns false. `complete` receives
/// the fits of each chunk, with the numbers and counts of the device. After an error or a stop, the fits that
/// `complete` did not receive return to the queue.
pub(super) fn run<'b>(
    batch: &Batch<'_>,
    driver: &dyn Driver,
    queue: &FitQueue<'b>,
    limits: ChunkLimits,
    complete: &mut dyn FnMut(BatchPart<'b>, &BatchCounts) -> bool,
) -> Result<(), DriverError> {
    let uploader = || {
        let (read, was_read) = channel();
        (Uploader { batch, driver, queue, limits, bytes: None, under_way: 0, was_read }, read)
    };
    scope(|scope| {
        let (sender, launched) = channel();
        let (ahead, read) = uploader();
        let work = move || {
            for chunk in ahead {
                let is_last = chunk.is_err();
                if sender.send(chunk).is_err() || is_last {
                    break;
                }
            }
        };
        match Builder::new().spawn_scoped(scope, work) {
            Ok(_) => {
                // Copies of the uploader use the pool, to which this thread may belong.
                let arriving = from_fn(|| receive(&launched));
                collect(batch, queue, arriving, read, complete)
            }
            // Without a thread, the chunks are computed one after the other.
            Err(_) => {
                let (alone, read) = uploader();
                collect(batch, queue, alone, read, complete)
            }
        }
    })
}

/// Reads the results of launched chunks and passes them to `complete`. `read`: receives a message for each chunk that
/// was read, whose memory is then free; the uploader stops when it is closed.
fn collect<'b>(
    batch: &Batch<'_>,
    queue: &FitQueue<'b>,
    mut launched: impl Iterator<Item = Result<Launched<'b>, DriverError>>,
    read: Sender<()>,
    complete: &mut dyn FnMut(BatchPart<'b>, &BatchCounts) -> bool,
) -> Result<(), DriverError> {
    let mut counts = BatchCounts::default();
    let mut result = Ok(());
    for next in launched.by_ref() {
        match next.and_then(|launched| launched.read(batch, queue, &mut counts)) {
            Ok(part) => {
                // The uploader has ended if the queue is empty.
                let _ = read.send(());
                if complete(part, &counts) {
                    continue;
                }
            }
            Err(error) => result = Err(error),
        }
        break;
    }
    drop(read);
    launched.flatten().for_each(|unread| queue.put_back(unread.part));
    result
}

/// A chunk whose kernel was launched.
struct Launched<'b> {
    part: BatchPart<'b>,
    chunk: LaunchedChunk,
}

impl<'b> Launched<'b> {
    /// Waits for the kernel and returns the fits with its numbers. After an error, the fits return to the queue.
    fn read(
        self,
        batch: &Batch<'_>,
        queue: &FitQueue<'b>,
        counts: &mut BatchCounts,
    ) -> Result<BatchPart<'b>, DriverError> {
        let Launched { mut part, chunk } = self;
        let results = ChunkResults {
            params: part.params,
            errors: part.errors,
            costs: part.costs,
            weights: part.weights,
            covariances: part.covariances,
        };
        match batch.read(chunk, results, counts) {
            Ok(()) => Ok(part),
            Err(error) => {
                part.forget(0..part.len());
                queue.put_back(part);
                Err(error)
            }
        }
    }
}

/// Iterator that uploads and launches the chunks of a device.
struct Uploader<'a, 'b> {
    batch: &'a Batch<'a>,
    driver: &'a dyn Driver,
    queue: &'a FitQueue<'b>,
    /// Requested limits. The number of fits is reduced after a failed allocation.
    limits: ChunkLimits,
    /// Maximum size of a chunk in bytes, limited by the free memory; `None` before the first chunk.
    bytes: Option<usize>,
    /// Number of chunks that are launched but not read.
    under_way: usize,
    /// One message for each chunk that was read.
    was_read: Receiver<()>,
}

impl<'b> Iterator for Uploader<'_, 'b> {
    type Item = Result<Launched<'b>, DriverError>;

    /// Launches the next chunk. After an error, its fits have returned to the queue, and no other chunk may follow.
    /// Returns `None` if the queue is empty or the collector has stopped.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.wait_until(UNDER_WAY - 1)?;
            let part = match self.take() {
                Ok(part) => part?,
                Err(error) => return Some(Err(error)),
            };
            let fits = part.len();
            match self.launch(part) {
                // The chunks under way release their memory when they are read.
                Err(DriverError::OutOfMemory { .. }) if self.under_way > 0 => {
                    self.wait_until(0)?;
                    self.bytes = None;
                }
                Err(DriverError::OutOfMemory { .. }) if fits > 1 => {
                    self.limits.fits = fits / 2;
                    self.bytes = None;
                }
                launched => {
                    self.under_way += 1;
                    return Some(launched);
                }
            }
        }
    }
}

impl<'b> Uploader<'_, 'b> {
    /// Waits until at most `most` chunks are under way. Returns `None` if the collector has stopped.
    fn wait_until(&mut self, most: usize) -> Option<()> {
        loop {
            let read = match self.under_way > most {
                true => self.was_read.recv().map_err(TryRecvError::from),
                false => self.was_read.try_recv(),
            };
            match read {
                Ok(()) => self.under_way -= 1,
                Err(TryRecvError::Empty) => return Some(()),
                Err(TryRecvError::Disconnected) => return None,
            }
        }
    }

    /// Takes the fits of the next chunk. The first chunk is limited by the free memory, or by its share of the free
    /// memory if other chunks follow, which then have this limit, too.
    fn take(&mut self) -> Result<Option<BatchPart<'b>>, DriverError> {
        if let Some(bytes) = self.bytes {
            return Ok(self.queue.take(|fits| self.of_chunk(fits, bytes)));
        }
        let free = (FILL * self.driver.memory()?.free as f64) as usize;
        let mut bytes = self.limits.bytes.min(free);
        let part = self.queue.take(|fits| {
            let chunk = self.of_chunk(fits.clone(), bytes);
            if fits.start + chunk == fits.end {
                return chunk;
            }
            bytes = self.limits.bytes.min(free / UNDER_WAY);
            self.of_chunk(fits, bytes)
        });
        self.bytes = Some(bytes);
        Ok(part)
    }

    /// Uploads a chunk and launches its kernels. If this fails, its fits return to the queue.
    fn launch(&self, part: BatchPart<'b>) -> Result<Launched<'b>, DriverError> {
        match self.batch.launch(part.first..part.first + part.len()) {
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
        chunk.min(self.limits.fits).min(fits.len())
    }
}
