//! Parts that are decoded side by side, on threads of their own.
//!
//! They are none of rayon's: a fit in a task of its pool waits for the thread that reads, which would then wait for a
//! task of the same pool.

use crate::threads::{self, lock};
use std::cell::Cell;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

thread_local! {
    static THREADS: Cell<Option<NonZero<usize>>> = const { Cell::new(None) };
}

/// Lets this thread, which reads for a thread of a pool, use this number of threads. Other threads use their own pool.
pub(crate) fn allow(threads: usize) {
    THREADS.set(NonZero::new(threads));
}

/// Threads that parts are decoded on, this one among them.
pub(crate) fn count() -> usize {
    THREADS.get().map_or_else(threads::count, NonZero::get)
}

/// Results of `work` for each part, in order; parts are started in order. If the system starts fewer threads, these
/// do all parts.
#[cfg_attr(not(any(feature = "arrow", feature = "csv", feature = "parquet")), expect(dead_code))]
pub(crate) fn each<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let helpers = count().min(parts.len()).saturating_sub(1);
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
