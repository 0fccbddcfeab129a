//! The signal that a system sends to who writes a file beyond its limit of size, held back for one write:
//! it would end the process with a part of a file left behind, and the write says by itself that it failed.

/// What `write` gives; the signal that it may cause is taken back.
#[cfg(unix)]
pub(super) fn without_signal<R>(write: impl FnOnce() -> R) -> R {
    use std::mem::MaybeUninit;
    use std::ptr::null_mut;
    let mut signal = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigemptyset makes `signal` a set, and pthread_sigmask fills `before` where it returns 0. Both
    // outlive the calls, and only this thread's mask is changed.
    let held = unsafe {
        libc::sigemptyset(signal.as_mut_ptr());
        libc::sigaddset(signal.as_mut_ptr(), libc::SIGXFSZ);
        libc::pthread_sigmask(libc::SIG_BLOCK, signal.as_ptr(), before.as_mut_ptr()) == 0
    };
    if !held {
        return write();
    }
    let was_pending = is_pending();
    let written = write();
    // SAFETY: `signal` and `before` were filled above. sigwait returns at once, for the signal is pending and
    // blocked; it is one of this thread's own.
    unsafe {
        if !was_pending && is_pending() {
            libc::sigwait(signal.as_ptr(), &mut 0);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
    }
    written
}

/// Whether the signal waits for this thread to let it through.
#[cfg(unix)]
fn is_pending() -> bool {
    let mut pending = std::mem::MaybeUninit::uninit();
    // SAFETY: sigpending fills the set where it returns 0, and only then is it looked at.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && libc::sigismember(pending.as_ptr(), libc::SIGXFSZ) == 1
    }
}

/// Elsewhere there is no such signal.
#[cfg(not(unix))]
pub(super) fn without_signal<R>(write: impl FnOnce() -> R) -> R {
    write()
}
