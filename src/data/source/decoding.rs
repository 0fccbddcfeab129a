//! The number of threads that a source may use while a fit reads it.

use crate::threads;
use std::cell::Cell;
use std::num::NonZero;

thread_local! {
    static THREADS: Cell<Option<NonZero<usize>>> = const { Cell::new(None) };
}

/// Lets this thread, which reads for a thread of a pool, use this number of threads. Other threads use their own pool.
pub(crate) fn allow(threads: usize) {
    THREADS.set(NonZero::new(threads));
}

/// Number of threads, the calling one included, on which a [`Source`](super::Source) may decode: the threads of the fit that
/// reads it, or of the present rayon pool outside fits. A source must start threads of its own for this: tasks of the pool
/// would wait for the fit, which waits for the source.
pub fn decoding_threads() -> usize {
    THREADS.get().map_or_else(threads::count, NonZero::get)
}
