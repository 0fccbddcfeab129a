//! Recording of all spans into a file in the Chrome trace format.
//!
//! A process can have only one subscriber, and `tracing-chrome` stores its channel in each thread. Therefore one
//! recorder exists for the life of the process. Between two recordings its level is off, and events that it still
//! receives are discarded.

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

/// Recording of all spans of the process into a file, from its creation until it is dropped.
///
/// The file has one lane per thread and can be opened in `chrome://tracing` or <https://ui.perfetto.dev>. It contains
/// the phases of fits and the spans that the program itself creates with `tracing`. A span that is open at the
/// beginning or at the end of the recording is cut. A fit of 25 µs takes about 200 µs while it is recorded.
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
    /// Receives the first write error, if any, after the file is closed.
    closed: Receiver<Option<io::Error>>,
    finished: bool,
}

/// The single recorder of the process.
struct Recorder {
    /// Handle to change the level of the recorded spans.
    level: reload::Handle<LevelFilter, Registry>,
    /// Handle of the writing thread.
    writer: FlushGuard,
    busy: bool,
}

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

impl ChromeTrace {
    /// Starts a recording into the file `path`. An existing file is replaced.
    ///
    /// # Errors
    /// Returns [`Error::Trace`](crate::Error::Trace) if the file cannot be created, if another recording is active, or
    /// if the process has another subscriber of `tracing`.
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

    /// Ends the recording, as dropping does, and reports write errors.
    ///
    /// # Errors
    /// Returns [`Error::Trace`](crate::Error::Trace) if the file could not be written completely.
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
        // The writing thread closes the file after it has written all previous events.
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
    /// Installs the recorder as the subscriber of the process, with its level off.
    fn install() -> std::result::Result<Recorder, TraceError> {
        // `build` panics if it cannot start its thread; therefore try to start one first.
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
        // This fails only if the subscriber no longer exists, and then nothing is recorded.
        let _ = self.level.reload(to);
    }
}

/// Locks the recorder. A poisoned lock is safe to use: no code under the lock leaves the recorder half changed.
fn lock() -> MutexGuard<'static, Option<Recorder>> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_written(path: &Path, error: &io::Error) -> TraceError {
    TraceError::NotWritten { path: path.to_path_buf(), message: error.to_string() }
}

/// Output file of the writing thread. This thread would panic if a write failed. Therefore writes always succeed, and
/// the first error is reported when the file is closed.
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
        // Sending fails only if the trace no longer exists. Then nobody reads the outcome.
        let _ = self.outcome.send(self.failed.take());
    }
}
