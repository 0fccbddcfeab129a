//! Reading ahead: a thread fills chunks from a source while other chunks are processed. A fixed number of buffers is
//! reused in turn.

use super::{Chunk, Shape, Source};
use crate::error::source::{SourceChange, SourceError};
use crate::error::{Error, Result};
use crate::host::Instant;
use crate::model::program::panic_message;
use crate::observe::span;
use crate::threads;
use std::cell::Cell;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// A source with its buffers.
pub(crate) struct Prefetch<'a> {
    source: Box<dyn Source + 'a>,
    pub(crate) shape: Shape,
    /// Number of points of a chunk; the last chunk of a pass may have fewer.
    pub(crate) capacity: usize,
    /// Maximum number of chunks: one that is being filled, one that is being processed, and the chunks read ahead.
    buffers: usize,
    spare: Vec<Chunk>,
    /// Chunks that later passes do not read again.
    pub(crate) kept: Kept,
    /// Fingerprint of the points before the first pass, if the source has one.
    known: Option<String>,
    pub(crate) spent: ReadingTimes,
}

/// Times of reading, and the number of points.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadingTimes {
    /// Time that the reading thread spent reading.
    pub(crate) reading: Duration,
    /// Time that the processing of chunks waited for the next chunk.
    pub(crate) waiting: Duration,
    /// Number of points of the processed chunks.
    pub(crate) points: u64,
    pub(crate) chunks: u64,
}

impl<'a> Prefetch<'a> {
    /// Creates a reader with `ahead` chunks of `capacity` points between the chunk that is being filled and the chunk
    /// that is being processed. `kept` limits the number of kept chunks.
    pub(crate) fn new(
        source: Box<dyn Source + 'a>,
        shape: Shape,
        capacity: usize,
        ahead: usize,
        kept: Kept,
    ) -> Prefetch<'a> {
        let (spare, spent) = (Vec::new(), ReadingTimes::default());
        Prefetch {
            source,
            shape,
            capacity,
            buffers: ahead.saturating_add(2),
            spare,
            kept,
            known: None,
            spent,
        }
    }

    /// Returns the bytes of the buffers.
    pub(crate) fn bytes(&self) -> usize {
        self.buffers * self.capacity * self.shape.bytes_per_point()
    }

    pub(crate) fn fingerprint(&self) -> Result<String> {
        Ok(guarded(|| self.source.fingerprint())??)
    }

    /// Calls `work` with each chunk, in order, and the number of its first point, until `work` breaks.
    /// The first `skip` points are skipped. A pass over all points uses kept chunks from memory, and
    /// keeps more chunks if memory allows. If the system cannot start a thread for reading, the calling thread
    /// alternates between reading and work.
    ///
    /// # Errors
    /// Errors of the source or of `work`; [`Error::SourcePanicked`].
    pub(crate) fn for_each<E: From<Error>>(
        &mut self,
        skip: u64,
        mut work: impl FnMut(u64, &Chunk) -> std::result::Result<ControlFlow<()>, E>,
    ) -> std::result::Result<(), E> {
        let mut failed = None;
        self.read(skip, &mut |first, chunk| match work(first, chunk) {
            Ok(answer) => answer.is_continue(),
            Err(error) => {
                failed = Some(error);
                false
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Calls `work` with each chunk, like [`for_each`](Self::for_each), until `work` returns false.
    fn read(&mut self, skip: u64, work: &mut dyn FnMut(u64, &Chunk) -> bool) -> Result<()> {
        let Prefetch { source, shape, known, capacity, buffers, spare, kept, spent } = self;
        let (capacity, mut none) = (*capacity, Kept::default());
        let kept = if skip == 0 { kept } else { &mut none };
        let begin = skip + kept.points();
        let mut reader = Reader { source: &mut **source, known, capacity };
        let mut first = skip;
        let mut work = |spent: &mut ReadingTimes, chunk: &Chunk| {
            spent.chunks += 1;
            spent.points += chunk.len() as u64;
            let number = first;
            first += chunk.len() as u64;
            work(number, chunk)
        };
        if kept.is_all() {
            guarded(|| reader.source.unchanged())??;
            return match kept.chunks().iter().all(|chunk| work(spent, chunk)) {
                true => guarded(|| reader.end()).flatten(),
                false => Ok(()),
            };
        }
        let (fill, to_fill) = channel();
        let (filled, ready) = sync_channel(*buffers);
        let empty = || Chunk::new(shape, capacity);
        spare.resize_with(*buffers, empty);
        for buffer in spare.drain(..) {
            // The receiver still exists, so this cannot fail.
            let _ = fill.send(buffer);
        }
        let (to_read, threads) = (&mut reader, threads::count());
        let done = thread::scope(|scope| {
            let read = move || {
                allow_decoding(threads);
                let mut reading = Duration::ZERO;
                let mut give = |chunk| filled.send(Ok(chunk)).is_ok();
                let empty = || to_fill.recv().ok();
                let read = to_read.read_all(begin, &mut reading, &empty, &mut give);
                if let Err(error) = read {
                    // If processing has already ended, there is no receiver, and the error is dropped.
                    let _ = filled.send(Err(error));
                }
                reading
            };
            let thread = thread::Builder::new().name("dualfit reader".into());
            let thread = thread.spawn_scoped(scope, read).ok()?;
            let queue = Queue { fill, ready };
            let outcome = queue.work_through(spent, spare, kept, &empty, &mut work);
            // Both ends of the queue are dropped, so the reader ends after its current read.
            spent.reading += thread.join().unwrap_or_default();
            Some(outcome)
        });
        done.unwrap_or_else(|| {
            if !kept.chunks().iter().all(|chunk| work(spent, chunk)) {
                return Ok(());
            }
            let mut reading = Duration::ZERO;
            let buffer = Cell::new(Some(empty()));
            let mut give = |chunk| {
                let more = work(spent, &chunk);
                buffer.set(Some(chunk));
                more
            };
            let outcome = reader.read_all(begin, &mut reading, &|| buffer.take(), &mut give);
            spare.extend(buffer.take());
            spent.reading += reading;
            spent.waiting += reading;
            outcome
        })
    }
}

/// Ends of the two queues on the side that processes chunks: it sends empty buffers and receives filled buffers.
struct Queue {
    fill: Sender<Chunk>,
    ready: Receiver<Result<Chunk>>,
}

impl Queue {
    /// Processes the kept chunks and then the chunks from the queue, until the points end or `work` returns false.
    fn work_through(
        self,
        spent: &mut ReadingTimes,
        spare: &mut Vec<Chunk>,
        kept: &mut Kept,
        empty: &dyn Fn() -> Chunk,
        work: &mut dyn FnMut(&mut ReadingTimes, &Chunk) -> bool,
    ) -> Result<()> {
        if !kept.chunks().iter().all(|chunk| work(spent, chunk)) {
            return Ok(());
        }
        let mut seen = kept.points();
        loop {
            let begun = Instant::now();
            let next = {
                let _span = span!(DEBUG, "wait");
                self.ready.recv()
            };
            spent.waiting += begun.elapsed();
            let Ok(chunk) = next else {
                kept.end(seen);
                return Ok(());
            };
            let chunk = chunk?;
            if !work(spent, &chunk) {
                return Ok(());
            }
            seen += chunk.len() as u64;
            let buffer = kept.add(chunk).unwrap_or_else(empty);
            // If the reader has ended, the buffers are kept for the next pass.
            if let Err(unsent) = self.fill.send(buffer) {
                spare.push(unsent.0);
            }
        }
    }
}

/// Reader of a source.
struct Reader<'r, 'a> {
    source: &'r mut (dyn Source + 'a),
    /// Fingerprint of the points before the first pass.
    known: &'r mut Option<String>,
    capacity: usize,
}

impl Reader<'_, '_> {
    /// Fills buffers and passes them to `give`, until the points or the buffers end, or `give` returns false. Adds
    /// the time of reading to `reading`.
    fn read_all(
        &mut self,
        skip: u64,
        reading: &mut Duration,
        buffer: &dyn Fn() -> Option<Chunk>,
        give: &mut dyn FnMut(Chunk) -> bool,
    ) -> Result<()> {
        let begun = Instant::now();
        guarded(|| self.begin(skip)).flatten()?;
        *reading += begun.elapsed();
        while let Some(mut chunk) = buffer() {
            let begun = Instant::now();
            let more = {
                let _span = span!(DEBUG, "read", most = self.capacity);
                guarded(|| self.next(&mut chunk)).flatten()?
            };
            *reading += begun.elapsed();
            if (!chunk.is_empty() && !give(chunk)) || !more {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Begins a pass: checks the source and moves to point number `skip`.
    fn begin(&mut self, skip: u64) -> Result<()> {
        self.source.unchanged()?;
        if self.known.is_none() {
            *self.known = self.source.fingerprint().ok();
        }
        let skipped = self.source.rewind().and_then(|()| self.source.skip(skip));
        let skipped = skipped.map_err(|error| self.explained(error))?;
        match skipped == skip {
            true => Ok(()),
            false => Err(SourceChange::Points { expected: skip, got: skipped }.into()),
        }
    }

    /// Fills a chunk. Returns true if there may be more points. At the end, checks that the points have not changed
    /// since the first pass began.
    fn next(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let more = match fill_chunk(self.source, chunk, self.capacity) {
            Err(Error::Source(error)) => return Err(self.explained(error)),
            filled => filled?,
        };
        if !more {
            self.end()?;
        }
        Ok(more)
    }

    /// Returns an error if the points have changed since the first pass began.
    fn end(&self) -> Result<()> {
        self.source.unchanged()?;
        if let Some(before) = &*self.known {
            let after = self.source.fingerprint()?;
            if after != *before {
                return Err(SourceChange::Contents { before: before.clone(), after }.into());
            }
        }
        Ok(())
    }

    /// Returns [`Error::SourceChanged`] if the source was changed during reading; otherwise `error`.
    fn explained(&self, error: SourceError) -> Error {
        self.source.unchanged().map_or_else(Error::from, |()| error.into())
    }
}

/// Returns the result of a call of a source, or an error if the call panics.
pub(crate) fn guarded<R>(call: impl FnOnce() -> R) -> Result<R> {
    let caught = catch_unwind(AssertUnwindSafe(call));
    caught.map_err(|panic| Error::SourcePanicked { message: panic_message(&*panic) })
}

/// Fills a chunk. Returns true if there may be more points.
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

/// The first points of a source, in the chunks in which they were read.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    chunks: Vec<Chunk>,
    /// Maximum number of chunks.
    most: usize,
    points: u64,
    /// True if these are all points of the source.
    is_all: bool,
}

impl Kept {
    /// Creates an empty store for at most `most` chunks.
    pub(crate) fn new(most: usize) -> Kept {
        Kept { most, ..Kept::default() }
    }

    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Returns the number of points.
    pub(crate) fn points(&self) -> u64 {
        self.points
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// Keeps the next chunk, or returns it if the limit is reached.
    pub(super) fn add(&mut self, chunk: Chunk) -> Option<Chunk> {
        if self.chunks.len() >= self.most {
            return Some(chunk);
        }
        self.points += chunk.len() as u64;
        self.chunks.push(chunk);
        None
    }

    /// Marks the end of the points. `seen`: their number.
    pub(super) fn end(&mut self, seen: u64) {
        self.is_all = seen == self.points && self.points > 0;
    }
}

thread_local! {
    static THREADS: Cell<Option<NonZero<usize>>> = const { Cell::new(None) };
}

/// Sets the number of threads on which the current thread, the reader of a fit, may decode. Without this setting
/// [`decoding_threads`] returns the number of threads of the current pool.
pub(crate) fn allow_decoding(threads: usize) {
    THREADS.set(NonZero::new(threads));
}

/// Returns the number of threads, including the calling thread, on which a [`Source`](super::Source) may decode: the
/// threads of the fit that reads it, or of the current rayon pool outside fits. A source must start its own threads for
/// this: tasks of the pool would wait for the fit, which waits for the source.
pub fn decoding_threads() -> usize {
    THREADS.get().map_or_else(threads::count, NonZero::get)
}
