//! Running fits without the interpreter lock: other Python threads can run, an interrupt ends the fit within a tenth of
//! a second, and exceptions of callbacks are propagated.

use crate::failure::{Raised, raised};
use crate::native::Calls;
use dualfit::{CancelToken, CurveFit, Event, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval between two checks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);
/// Number of points above which a pass can take long, so that the fit runs on its own thread while the caller's thread
/// checks for signals.
const MANY: usize = 1 << 16;

/// The thread that runs the work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thread {
    /// The caller's thread, which has the interpreter's context: for work that calls Python, and for work that takes no
    /// longer than the interval between two checks for signals.
    Callers,
    /// A new thread, while the caller's thread checks for signals.
    Own,
}

impl Thread {
    /// Chooses the thread for a fit with this number of points. `calls`: the function, if the model calls Python.
    pub(crate) fn of_fit(points: usize, calls: Option<&Calls>) -> Thread {
        if calls.is_none() && points > MANY { Thread::Own } else { Thread::Callers }
    }
}

/// Stores the first exception. An exception stops the fit through `token`.
#[derive(Clone, Default)]
struct Watch {
    raised: Raised,
    token: CancelToken,
}

impl Watch {
    fn keep<T>(&self, outcome: PyResult<T>) -> Option<T> {
        outcome
            .map_err(|error| {
                self.raised.keep(error);
                self.token.cancel();
            })
            .ok()
    }
}

/// Runs `work` with `curve` without the interpreter lock, and returns its result.
/// `calls`: the functions of models that call Python.
///
/// # Errors
/// Returns the exception of a signal handler, of the callback or of the model; else the error of the fit.
pub(crate) fn watched<'c, R: Send>(
    py: Python<'_>,
    curve: CurveFit,
    thread: Thread,
    calls: impl IntoIterator<Item = &'c Calls>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(CurveFit) -> Result<R> + Send,
) -> PyResult<R> {
    let (watch, calls) = (Watch::default(), Vec::from_iter(calls));
    calls.iter().for_each(|calls| calls.begin(watch.token.clone()));
    let told = watch.clone();
    let curve = curve.cancel_token(watch.token.clone()).observe(move |event| {
        let heard = Python::attach(|py| {
            py.check_signals()?;
            match &callback {
                Some(callback) => callback.call1(py, (described(py, event)?,))?.is_truthy(py),
                None => Ok(false),
            }
        });
        match told.keep(heard) {
            Some(false) => ControlFlow::Continue(()),
            Some(true) | None => ControlFlow::Break(()),
        }
    });
    let outcome = py.detach(|| match thread {
        Thread::Own => beside(&watch, move || work(curve)),
        Thread::Callers => work(curve),
    });
    let outcome = watch.raised.checked(outcome.map_err(raised));
    calls.iter().fold(outcome, |outcome, calls| calls.checked(outcome))
}

/// Runs `work` on another thread, and meanwhile checks for signals, which Python delivers only to its main thread.
fn beside<R: Send>(watch: &Watch, work: impl FnOnce() -> R + Send) -> R {
    let work = Mutex::new(Some(work));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let made = thread::scope(|scope| {
        let (done, ended) = channel::<()>();
        let worker = thread::Builder::new().name("dualfit".into()).spawn_scoped(scope, || {
            let _done = done;
            take().map(|work| work())
        });
        let Ok(worker) = worker else { return None };
        while ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            Python::attach(|py| watch.keep(py.check_signals()));
        }
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    // Runs the work here if the system could not create a thread.
    match (made, take()) {
        (Some(made), _) => made,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("the work was done, or is here"),
    }
}

/// Converts an event to a dictionary.
fn described<'py>(py: Python<'py>, event: &Event<'_>) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("seconds", event.elapsed().as_secs_f64())?;
    match event {
        Event::Step(now) => {
            told.set_item("kind", "step")?;
            told.set_item("iteration", now.iteration)?;
            told.set_item("evaluations", now.evaluations)?;
            told.set_item("params", now.params)?;
            told.set_item("cost", now.cost)?;
        }
        Event::Batch(now) => {
            told.set_item("kind", "batch")?;
            told.set_item("done", now.finished)?;
            told.set_item("total", now.n_fits)?;
        }
        Event::Stream(now) => {
            told.set_item("kind", "stream")?;
            told.set_item("pass", now.pass)?;
            told.set_item("done", now.points)?;
            told.set_item("total", now.total_points)?;
            told.set_item("cost", now.cost)?;
        }
        Event::Generation(now) => {
            told.set_item("kind", "generation")?;
            told.set_item("done", now.generation)?;
            told.set_item("total", now.generations)?;
            told.set_item("evaluations", now.evaluations)?;
            told.set_item("cost", now.cost)?;
        }
        Event::Search(now) => {
            told.set_item("kind", "search")?;
            told.set_item("done", now.round)?;
            told.set_item("total", now.rounds)?;
            told.set_item("fits", now.fits)?;
            told.set_item("cost", now.cost)?;
        }
        _ => told.set_item("kind", "other")?,
    }
    Ok(told)
}
