//! A token by which any thread stops fits.

use super::observe::{Event, Observe};
use crate::solver::observe::Stopper;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Stops fits from outside, given to them by [`CurveFit::cancel_token`](crate::CurveFit::cancel_token).
/// Clones share one flag. A cancelled token stays cancelled.
///
/// Cancelling only sets the flag; therefore any thread may cancel, also the one of a Ctrl-C handler. A fit checks the
/// flag before each step, a fit of a native model before each point, and a stream after each chunk.
///
/// ```
/// use dualfit::{CancelToken, CurveFit, Data, Termination};
/// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
/// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp()).collect();
/// let token = CancelToken::new();
/// let decay = CurveFit::new(|x, [a, b]| a * (-b * x).exp()).cancel_token(token.clone());
/// std::thread::spawn(move || token.cancel()).join().unwrap();
/// let fit = decay.fit(Data::new(&x, &y)?, [1.0, 1.0])?;
/// assert_eq!(fit.termination(), Termination::Stopped);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Creates a token that is not cancelled.
    #[must_use]
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Stops all fits that have this token, or receive it later.
    pub fn cancel(&self) {
        // The flag guards no other memory, so no order is needed.
        self.0.store(true, Relaxed);
    }

    /// Returns true if the token is cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Stopper for CancelToken {
    fn asks(&self) -> bool {
        self.is_cancelled()
    }
}

/// A token ignores events.
impl Observe for CancelToken {
    fn tell(&self, _: &Event<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn is_cancelled(&self) -> bool {
        CancelToken::is_cancelled(self)
    }
}
