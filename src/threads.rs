//! Threads for parallel work: the current rayon pool or, if the system cannot create threads, the caller's thread
//! alone.
//!
//! rayon creates its global pool at the first use and panics if this fails because of a limit on processes or missing
//! memory for stacks. After a `fork` the child process has the pool but not its threads, and would wait for them
//! forever. In both cases the calling thread becomes a pool of one thread that does all the work. The results are the
//! same.

use crate::host;
use rayon::Yield;
use rayon::iter::{ParallelIterator, repeat_n};
use std::error::Error;
use std::mem::forget;
use std::panic::catch_unwind;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// Interval between the checks of an idle thread of a pool for a message.
const PAUSE: Duration = Duration::from_micros(50);

/// Process that started rayon's global pool, and true if the pool has threads.
static POOL: OnceLock<(u32, bool)> = OnceLock::new();

/// Ensures that this thread has a pool. It must be called before any use of rayon.
pub fn ready() {
    if rayon::current_thread_index().is_some() {
        return;
    }
    let (process, sound) = *POOL.get_or_init(|| (host::process(), has_pool()));
    if !sound || process != host::process() {
        be_alone();
    }
}

/// Returns the number of threads of the current pool.
pub(crate) fn count() -> usize {
    ready();
    rayon::current_num_threads()
}

/// Returns the results of both functions, which run in parallel if a thread is available.
pub(crate) fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    /// Calls both functions through trait objects; therefore it is compiled only once.
    fn both(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
        ready();
        rayon::join(a, b);
    }
    let (mut a, mut b, mut first, mut second) = (Some(a), Some(b), None, None);
    both(&mut || first = a.take().map(|a| a()), &mut || second = b.take().map(|b| b()));
    match first.zip(second) {
        Some(both) => both,
        None => unreachable!("both were called"),
    }
}

/// Returns the result of `here`, which runs on the calling thread and may wait for others, while a thread of the pool
/// runs `there`. Without another thread, `there` runs afterwards.
pub(crate) fn beside<R>(there: impl FnOnce() + Send, here: impl FnOnce() -> R) -> R {
    ready();
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| there());
        here()
    })
}

/// Waits for a message; returns `None` if the sender is closed. A thread of a pool runs tasks of the pool meanwhile,
/// because the sender may need them.
pub(crate) fn receive<T>(from: &Receiver<T>) -> Option<T> {
    if rayon::current_thread_index().is_none() {
        return from.recv().ok();
    }
    loop {
        match from.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {
                if rayon::yield_now() != Some(Yield::Executed) {
                    sleep(PAUSE);
                }
            }
        }
    }
}

/// Calls `work` with each slot and its index, in parallel on the available threads. It does not allocate.
pub(crate) fn for_each<S: Send>(slots: &mut [S], work: &(dyn Fn(usize, &mut S) + Sync)) {
    /// Calls `work` with slots whose first index is `first`.
    fn halved<S: Send>(slots: &mut [S], first: usize, work: &(dyn Fn(usize, &mut S) + Sync)) {
        match slots {
            [] => {}
            [slot] => work(first, slot),
            several => {
                let middle = several.len() / 2;
                let (head, rest) = several.split_at_mut(middle);
                join(|| halved(head, first, work), || halved(rest, first + middle, work));
            }
        }
    }
    halved(slots, 0, work);
}

/// Returns a vector of `len` copies of a value. The first access to new memory takes longer than writing; therefore
/// all threads share this work.
pub(crate) fn filled<T: Copy + Send + Sync>(value: T, len: usize) -> Vec<T> {
    const LONG: usize = 1 << 16;
    if len < LONG {
        return vec![value; len];
    }
    ready();
    repeat_n(value, len).collect()
}

/// Returns the results of `work` for each part, in order. The calls run in parallel on the available threads.
pub(crate) fn map<T: Send, R: Send>(
    parts: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let open = |part| (Some(part), None);
    let mut parts: Vec<(Option<T>, Option<R>)> = parts.into_iter().map(open).collect();
    for_each(&mut parts, &|_, (part, made)| *made = part.take().map(&work));
    parts.into_iter().filter_map(|(_, made)| made).collect()
}

/// Locks the mutex. A poisoned lock is accepted, because a thread that panicked has not left incomplete data.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if rayon's global pool exists or could be created.
fn has_pool() -> bool {
    match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        Err(error) if error.source().is_some() => false,
        // The pool was created before, or creating it failed before; only its use distinguishes the two cases.
        Err(_) => catch_unwind(rayon::current_num_threads).is_ok(),
    }
}

/// Makes the calling thread a pool of one thread for the rest of its lifetime. The pool, some kilobytes, is never
/// freed.
fn be_alone() {
    if let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        forget(pool);
    }
}

#[cfg(test)]
mod tests {
    use super::receive;
    use std::sync::mpsc::channel;
    use std::thread::scope;

    /// The sender waits for a task on the only thread of the pool, which waits for the message.
    #[test]
    fn a_thread_that_waits_for_a_message_runs_tasks_of_its_pool() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (sender, messages) = channel();
        let both = scope(|scope| {
            let pool = &pool;
            scope.spawn(move || sender.send(pool.install(|| 7)));
            pool.install(move || (receive(&messages), receive(&messages)))
        });
        assert_eq!(both, (Some(7), None));
    }
}
