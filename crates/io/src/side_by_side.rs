//! Parts that are decoded at the same time, on threads of their own.
//!
//! These threads do not belong to rayon's pool: a fit in a task of the pool waits for the thread that reads, which would
//! then wait for a task of the same pool.

use dualfit::source::decoding_threads;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Locks; a thread that panicked while it held the lock left no partial change.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg_attr(not(any(feature = "arrow", feature = "csv", feature = "parquet")), expect(dead_code))]
/// Results of `work` for each part, in order; parts are started in order. If the system starts fewer threads, these
/// do all parts.
pub(crate) fn each<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let helpers = decoding_threads().min(parts.len()).saturating_sub(1);
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
    let mut done = thread::scope(|scope| {
        let named = || thread::Builder::new().name("dualfit decoder".into());
        let start = |_| named().spawn_scoped(scope, turn).ok();
        let helpers: Vec<_> = (0..helpers).map_while(start).collect();
        let mut done = turn();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, result)| result).collect()
}
