//! Reading ahead: a thread fills chunks from a source while others are worked on, from a fixed number of
//! buffers that go round.

use super::{Chunk, Shape, Source};
use crate::error::source::SourceError;
use crate::error::{Error, Result};
use crate::model::program::panic_message;
use crate::observe::span;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// A source with its buffers.
pub(crate) struct Prefetch<'a> {
    source: Box<dyn Source + 'a>,
    pub(crate) shape: Shape,
    /// Points of a chunk; the last one of a pass may have fewer.
    pub(crate) capacity: usize,
    /// Chunks that there are at most: one that is filled, one that is worked on, others in between.
    buffers: usize,
    spare: Vec<Chunk>,
    pub(crate) spent: Spent,
}

/// What reading took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Time that the reading thread was at work.
    pub(crate) reading: Duration,
    /// Time that the work waited for chunks.
    pub(crate) waiting: Duration,
    /// Points of the chunks that were worked on.
    pub(crate) points: u64,
    pub(crate) chunks: u64,
}

impl<'a> Prefetch<'a> {
    /// With `ahead` chunks of `capacity` points between the one that is filled and the one in work.
    pub(crate) fn new(
        source: Box<dyn Source + 'a>,
        shape: Shape,
        capacity: usize,
        ahead: usize,
    ) -> Prefetch<'a> {
        let (spare, spent) = (Vec::new(), Spent::default());
        Prefetch { source, shape, capacity, buffers: ahead + 2, spare, spent }
    }

    /// Bytes that the buffers take.
    pub(crate) fn bytes(&self) -> usize {
        self.buffers * self.capacity * self.shape.bytes_per_point()
    }

    pub(crate) fn fingerprint(&self) -> Result<String> {
        Ok(guarded(|| self.source.fingerprint())??)
    }

    /// Calls `work` with each chunk, in order, and the number of its first point, until it breaks off.
    /// The first `skip` points are passed over.
    ///
    /// # Errors
    /// What the source or `work` say; [`Error::SourcePanicked`].
    pub(crate) fn for_each<E: From<Error>>(
        &mut self,
        skip: u64,
        mut work: impl FnMut(u64, &Chunk) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        let (fill, to_fill) = channel();
        let (filled, ready) = sync_channel(self.buffers);
        self.spare.resize_with(self.buffers, || Chunk::new(&self.shape, self.capacity));
        for buffer in self.spare.drain(..) {
            // The receiver is there.
            let _ = fill.send(buffer);
        }
        let (source, capacity, spent) = (&mut *self.source, self.capacity, &mut self.spent);
        let spare = &mut self.spare;
        thread::scope(|scope| {
            let reader = thread::Builder::new()
                .name("dualfit reader".into())
                .spawn_scoped(scope, move || read_all(source, skip, capacity, &to_fill, &filled));
            let reader = reader.map_err(|error| {
                let message = format!("the system has no thread to read on: {error}");
                E::from(Error::Source(SourceError::new("the source", message)))
            })?;
            let outcome = work_through(skip, fill, ready, spent, spare, &mut work);
            // Both ends of the queue are gone, so the reader ends with the read that it is at.
            spent.reading += reader.join().unwrap_or_default();
            outcome
        })
    }
}

/// Takes chunks from the queue until there are no more.
fn work_through<E: From<Error>>(
    skip: u64,
    fill: Sender<Chunk>,
    ready: Receiver<Result<Chunk>>,
    spent: &mut Spent,
    spare: &mut Vec<Chunk>,
    work: &mut impl FnMut(u64, &Chunk) -> std::result::Result<ControlFlow<()>, E>,
) -> std::result::Result<(), E> {
    let mut first = skip;
    loop {
        let begun = Instant::now();
        let next = {
            let _span = span!(DEBUG, "wait");
            ready.recv()
        };
        spent.waiting += begun.elapsed();
        let Ok(chunk) = next else { return Ok(()) };
        let chunk = chunk?;
        spent.chunks += 1;
        spent.points += chunk.len() as u64;
        let answer = work(first, &chunk)?;
        first += chunk.len() as u64;
        if answer.is_break() {
            return Ok(());
        }
        // When the reader has ended, the buffers are kept for the next pass.
        if let Err(unsent) = fill.send(chunk) {
            spare.push(unsent.0);
        }
    }
}

/// Fills buffers until the points or the buffers end. Returns the time that it took.
fn read_all(
    source: &mut dyn Source,
    skip: u64,
    capacity: usize,
    to_fill: &Receiver<Chunk>,
    filled: &SyncSender<Result<Chunk>>,
) -> Duration {
    let mut reading = Duration::ZERO;
    let read = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
        let begun = Instant::now();
        source.rewind()?;
        let skipped = source.skip(skip)?;
        reading += begun.elapsed();
        if skipped != skip {
            return Err(Error::SourceChanged { expected: skip, got: skipped });
        }
        while let Ok(mut chunk) = to_fill.recv() {
            let _span = span!(DEBUG, "read", most = capacity);
            let begun = Instant::now();
            let more = fill_chunk(source, &mut chunk, capacity)?;
            reading += begun.elapsed();
            if (!chunk.is_empty() && filled.send(Ok(chunk)).is_err()) || !more {
                return Ok(());
            }
        }
        Ok(())
    }));
    let error = match read {
        Ok(Ok(())) => return reading,
        Ok(Err(error)) => error,
        Err(panic) => Error::SourcePanicked { message: panic_message(&*panic) },
    };
    // Nobody hears it if the work has ended already.
    let _ = filled.send(Err(error));
    reading
}

/// What a call of a source gives, unless it panics.
pub(crate) fn guarded<R>(call: impl FnOnce() -> R) -> Result<R> {
    let caught = catch_unwind(AssertUnwindSafe(call));
    caught.map_err(|panic| Error::SourcePanicked { message: panic_message(&*panic) })
}

/// Fills a chunk. Returns whether there may be more points.
fn fill_chunk(source: &mut dyn Source, chunk: &mut Chunk, capacity: usize) -> Result<bool> {
    chunk.truncate(0);
    let kinds = |chunk: &Chunk| (chunk.x.len(), chunk.sigma.is_some());
    let expected = kinds(chunk);
    while chunk.len() < capacity {
        let (before, most) = (chunk.len(), capacity - chunk.len());
        let read = source.read(chunk, most)?;
        if kinds(chunk) != expected {
            let message =
                "it took a column from a chunk or added one; append to those that are there";
            return Err(SourceError::new("the source", message).into());
        }
        if read > most || chunk.len() != before + read || !chunk.is_even() {
            let message = format!(
                "it said that it appended {read} of at most {most} points, but its columns have other lengths; append one value to every column for each point"
            );
            return Err(SourceError::new("the source", message).into());
        }
        if read == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}
