//! Parallel decoding of the parts of a file, on threads outside of rayon's pool.
//!
//! Threads of the pool could cause a deadlock: a fit that runs as a task of the pool waits for the reading thread,
//! which would wait for a free thread of the same pool.

use dualfit::source::decoding_threads;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Locks a mutex. A poisoned mutex is accepted, because threads do not leave partial changes when they panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg_attr(not(any(feature = "arrow", feature = "csv", feature = "parquet")), expect(dead_code))]
/// Returns the results of `work` for all parts, in the order of the parts. Parts are started in this order. If the
/// system starts fewer threads than requested, the threads that run process all parts.
pub(crate) fn each<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let count = parts.len();
    let helpers = decoding_threads().min(count).saturating_sub(1);
    if helpers == 0 {
        return parts.into_iter().map(work).collect();
    }
    let left = Mutex::new(parts.into_iter().enumerate());
    let turn = || {
        let mut done = Vec::new();
        loop {
            let next = lock(&left).next();
            let Some((number, part)) = next else { return done };
            done.push((number, work(part)));
        }
    };
    let done = thread::scope(|scope| {
        let named = || thread::Builder::new().name("dualfit decoder".into());
        let start = |_| named().spawn_scoped(scope, turn).ok();
        let helpers: Vec<_> = (0..helpers).map_while(start).collect();
        let mut done = turn();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
    done.into_iter().for_each(|(number, result)| results[number] = Some(result));
    results.into_iter().flatten().collect()
}
