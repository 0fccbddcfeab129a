//! The threads that work is divided among: those of the present pool of rayon's or, where the system gives
//! none, the caller's alone.
//!
//! rayon makes its own pool when it is first used, and panics where that fails: where a user may have no
//! more processes, or no memory is left for stacks. After a `fork` the child has the pool but not its
//! threads, and would wait for them for ever. In both cases the calling thread becomes a pool of one,
//! which does all that is handed to it. The results are the same.

use std::error::Error;
use std::mem::forget;
use std::panic::catch_unwind;
use std::process;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Whether rayon's own pool has threads, and of which process they are.
static POOL: OnceLock<(u32, bool)> = OnceLock::new();

/// Makes sure that this thread has a pool; to be called before anything is handed to rayon.
pub fn ready() {
    if rayon::current_thread_index().is_some() {
        return;
    }
    let (process, sound) = *POOL.get_or_init(|| (process::id(), has_pool()));
    if !sound || process != process::id() {
        be_alone();
    }
}

/// Threads of the present pool.
pub(crate) fn count() -> usize {
    ready();
    rayon::current_num_threads()
}

/// What both give, at the same time if there is a thread for it.
pub(crate) fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    ready();
    rayon::join(a, b)
}

/// Locks; a thread that panicked while it held the lock left nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether rayon's own pool is there or could be made.
fn has_pool() -> bool {
    match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        Err(error) if error.source().is_some() => false,
        // Somebody has made one before, or has tried and failed, which only its use tells.
        Err(_) => catch_unwind(rayon::current_num_threads).is_ok(),
    }
}

/// Makes this thread a pool of itself, for as long as it lives: some kilobytes that are never given back.
fn be_alone() {
    if let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        forget(pool);
    }
}
