//! A file of all spans in the Chrome trace format, from a moment to another.
//!
//! A process can have one subscriber, and `tracing-chrome` remembers its channel in each thread, so there
//! is one recorder for the life of the process: between two records it listens to nothing, and what it
//! might still be told goes nowhere.

use crate::error::{Result, TraceError};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload;

/// Records all spans of the process into a file, from when it is made until it is dropped.
///
/// The file has one lane per thread, and is shown by `chrome://tracing` or <https://ui.perfetto.dev>.
/// Beside the phases of fits it has the spans that the program itself makes with `tracing`. A span that is
/// open when the record begins or ends is cut. A fit of 25 µs takes about 200 µs while it is recorded.
///
/// ```
/// # use dualfit::{ChromeTrace, CurveFit, Data};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("trace.json");
/// let x: Vec<f64> = (0..100).map(|i| 0.05 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3).collect();
/// let trace = ChromeTrace::to_file(&path)?;
/// CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).fit(Data::new(&x, &y)?, [1.0, 1.0, 0.0])?;
/// trace.finish()?;
/// # assert!(std::fs::read_to_string(&path).unwrap().contains("differentiate"));
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "what happens is recorded until this is dropped"]
pub struct ChromeTrace {
    path: PathBuf,
    /// The outcome, once the file is closed.
    closed: Receiver<Option<io::Error>>,
    finished: bool,
}

/// The one recorder of the process.
struct Recorder {
    /// What it listens to.
    level: reload::Handle<LevelFilter, Registry>,
    /// The thread that writes.
    writer: FlushGuard,
    busy: bool,
}

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

impl ChromeTrace {
    /// Begins a record in a file at `path`; one that is there is replaced.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) if the file cannot be made, another record has not ended, or
    /// the process has a subscriber of `tracing` that is not dualfit's.
    pub fn to_file(path: impl AsRef<Path>) -> Result<ChromeTrace> {
        let path = path.as_ref().to_path_buf();
        let mut recorder = lock();
        let recorder = match &mut *recorder {
            Some(recorder) if recorder.busy => return Err(TraceError::Recording.into()),
            Some(recorder) => recorder,
            none => none.insert(Recorder::install()?),
        };
        let file = File::create(&path).map_err(|error| not_written(&path, &error))?;
        let (outcome, closed) = channel();
        recorder.writer.start_new(Some(Box::new(Sink { file, failed: None, outcome })));
        recorder.listen(LevelFilter::TRACE);
        recorder.busy = true;
        Ok(ChromeTrace { path, closed, finished: false })
    }

    /// Ends the record, which dropping does too, and says whether it is whole.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) if the file could not be written to its end.
    pub fn finish(mut self) -> Result<()> {
        match self.end() {
            Some(error) => Err(not_written(&self.path, &error).into()),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Option<io::Error> {
        if std::mem::replace(&mut self.finished, true) {
            return None;
        }
        let mut recorder = lock();
        let recorder = recorder.as_mut()?;
        recorder.listen(LevelFilter::OFF);
        recorder.writer.start_new(Some(Box::new(io::sink())));
        // The writing thread closes the file after all that it was sent before.
        let outcome = self.closed.recv();
        recorder.busy = false;
        outcome.ok().flatten()
    }
}

impl Drop for ChromeTrace {
    fn drop(&mut self) {
        self.end();
    }
}

impl Recorder {
    /// A recorder that listens to nothing yet.
    fn install() -> std::result::Result<Recorder, TraceError> {
        // The recorder's own thread is made by a call that panics where there is none.
        std::thread::Builder::new()
            .spawn(|| ())
            .map_err(|error| TraceError::NoThread { message: error.to_string() })?;
        let (layer, writer) = ChromeLayerBuilder::new()
            .writer(io::sink())
            .include_args(true)
            .include_locations(false)
            .build();
        let (filter, level) = reload::Layer::new(LevelFilter::OFF);
        let subscriber = Registry::default().with(filter).with(layer);
        tracing::subscriber::set_global_default(subscriber)
            .map_err(|_| TraceError::OtherSubscriber)?;
        Ok(Recorder { level, writer, busy: false })
    }

    fn listen(&self, to: LevelFilter) {
        // It fails only where the subscriber is gone, and then nothing is recorded anyway.
        let _ = self.level.reload(to);
    }
}

/// Nothing that is done under the lock leaves a recorder half changed.
fn lock() -> MutexGuard<'static, Option<Recorder>> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_written(path: &Path, error: &io::Error) -> TraceError {
    TraceError::NotWritten { path: path.to_path_buf(), message: error.to_string() }
}

/// The file, as the writing thread sees it: that thread panics where a write fails, so none does, and
/// the first failure is told when the file is closed.
struct Sink {
    file: File,
    failed: Option<io::Error>,
    outcome: Sender<Option<io::Error>>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.file.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // Nobody waits where the trace was forgotten.
        let _ = self.outcome.send(self.failed.take());
    }
}
