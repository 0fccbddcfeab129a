//! Files that are overwritten, truncated or replaced while they are fitted: the fit ends with an error and never mixes
//! old and new contents.

use crate::stream::support::folder;
use dualfit::error::{SourceChange, SourceError};
use dualfit::source::{Chunk, Shape, Source};
use dualfit::{Backend, CurveFit, Error, Event, Fit, Result, Stream};
use dualfit_io::NumberType::F64;
use dualfit_io::{RawFile, RawSource};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Number of points of the raw file, larger than the number of points that a fingerprint includes.
const POINTS: usize = 40_000;

fn line(rate: f64) -> Vec<u8> {
    let point = |i: usize| {
        let x = i as f64 / POINTS as f64;
        [x, 2.0 * (-rate * x).exp() + 0.1 * (7.0 * x).sin()]
    };
    (0..POINTS).flat_map(point).flat_map(f64::to_le_bytes).collect()
}

/// Returns a time long ago, which differs from the time of any later change.
pub(crate) fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

pub(crate) fn set_time(path: &Path, time: SystemTime) {
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn raw(path: &Path) -> RawSource {
    RawSource::open([RawFile::new(path, [F64, F64])]).unwrap()
}

/// A source that is not read while its file is being changed, so that reads see complete changes.
struct Gated<S> {
    source: S,
    gate: Arc<Mutex<()>>,
}

impl<S: Source> Source for Gated<S> {
    fn shape(&self) -> Shape {
        self.source.shape()
    }
    fn rewind(&mut self) -> std::result::Result<(), SourceError> {
        let _shut = self.gate.lock().unwrap();
        self.source.rewind()
    }
    fn read(&mut self, chunk: &mut Chunk, most: usize) -> std::result::Result<usize, SourceError> {
        let _shut = self.gate.lock().unwrap();
        self.source.read(chunk, most)
    }
    fn skip(&mut self, count: u64) -> std::result::Result<u64, SourceError> {
        let _shut = self.gate.lock().unwrap();
        self.source.skip(count)
    }
    fn fingerprint(&self) -> std::result::Result<String, SourceError> {
        let _shut = self.gate.lock().unwrap();
        self.source.fingerprint()
    }
    fn unchanged(&self) -> std::result::Result<(), SourceChange> {
        let _shut = self.gate.lock().unwrap();
        self.source.unchanged()
    }
    fn is_slow(&self) -> bool {
        self.source.is_slow()
    }
}

/// Fits, and calls `change` between two reads after the second chunk of pass number `pass`.
pub(crate) fn fitted(
    source: impl Source,
    pass: usize,
    change: impl FnOnce() + Send + Sync + 'static,
) -> Result<Fit> {
    let change = Mutex::new(Some(change));
    let gate = Arc::new(Mutex::new(()));
    let source = Gated { source, gate: Arc::clone(&gate) };
    let model =
        CurveFit::new(|x, [a, b]| a * (-b * x).exp()).backend(Backend::Cpu).observe(move |event| {
            if let Event::Stream(progress) = event
                && (progress.pass, progress.chunk) == (pass, 1)
                && let Some(change) = change.lock().unwrap().take()
            {
                let _shut = gate.lock().unwrap();
                change();
            }
            ControlFlow::Continue(())
        });
    let stream = Stream::new(source).chunk_points(4096).prefetch(0).subsample(false);
    model.fit_stream(stream, [1.0, 1.0])
}

pub(crate) fn what(fit: Result<Fit>) -> String {
    match fit {
        Err(Error::SourceChanged(SourceChange::File { what, .. })) => what.to_owned(),
        Err(Error::SourceChanged(SourceChange::Contents { .. })) => "contents".to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_way_to_change_a_file_is_noticed_in_every_pass() {
    let folder = folder();
    let path = folder.path().join("points.raw");
    let (old, new) = (line(0.7), line(3.0));
    let write = |bytes: &[u8]| {
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).unwrap();
        set_time(&path, long_ago());
    };
    write(&old);
    fitted(raw(&path), 1, || ()).unwrap();
    for pass in [1, 2, 3] {
        let at = || path.clone();
        write(&old);
        let (to, bytes) = (at(), new.clone());
        let fit = fitted(raw(&path), pass, move || fs::write(to, bytes).unwrap());
        assert_eq!(what(fit), "time of change", "overwritten in pass {pass}");

        write(&old);
        let to = at();
        let fit = fitted(raw(&path), pass, move || set_time(&to, SystemTime::now()));
        assert_eq!(what(fit), "time of change", "touched in pass {pass}");

        // The contents change, but not the time of change.
        write(&old);
        let (to, bytes) = (at(), new.clone());
        let fit = fitted(raw(&path), pass, move || {
            fs::write(&to, bytes).unwrap();
            set_time(&to, long_ago());
        });
        assert_eq!(what(fit), "contents", "overwritten in pass {pass}, with the old time");

        write(&old);
        let (to, bytes) = (at(), new.clone());
        let beside = folder.path().join("beside");
        let fit = fitted(raw(&path), pass, move || {
            fs::write(&beside, bytes).unwrap();
            fs::rename(beside, to).unwrap();
        });
        let replaced = if cfg!(unix) { "identity" } else { "time of change" };
        assert_eq!(what(fit), replaced, "replaced in pass {pass}");

        for (bytes, how) in [(&old[..old.len() / 2], "cut"), (&old.repeat(2), "longer")] {
            write(&old);
            let (to, bytes) = (at(), bytes.to_vec());
            let fit = fitted(raw(&path), pass, move || fs::write(to, bytes).unwrap());
            assert_eq!(what(fit), "size", "{how} in pass {pass}");
        }
    }
    // A change before the first pass, and a file that is removed while it is open.
    write(&old);
    let source = raw(&path);
    fs::write(&path, &new).unwrap();
    assert_eq!(what(fitted(source, 1, || ())), "time of change");
    if cfg!(unix) {
        write(&old);
        let gone = path.clone();
        fitted(raw(&path), 2, move || fs::remove_file(gone).unwrap()).unwrap();
    }
}

/// Changes of sources of the caller are detected by their fingerprints.
#[test]
fn sources_that_know_of_no_file_are_known_by_their_fingerprints() {
    struct Counted {
        next: usize,
        passes: usize,
        changes: usize,
    }
    impl Source for Counted {
        fn shape(&self) -> Shape {
            Shape::new(1)
        }
        fn rewind(&mut self) -> std::result::Result<(), SourceError> {
            (self.next, self.passes) = (0, self.passes + 1);
            Ok(())
        }
        fn read(
            &mut self,
            chunk: &mut Chunk,
            most: usize,
        ) -> std::result::Result<usize, SourceError> {
            let count = most.min(500 - self.next);
            for i in self.next..self.next + count {
                let x = i as f64 * 0.01;
                chunk.push(&[x], 2.0 * (-0.7 * x).exp() + 0.1 * (40.0 * x).sin(), None);
            }
            self.next += count;
            Ok(count)
        }
        fn fingerprint(&self) -> std::result::Result<String, SourceError> {
            Ok(format!("{}", self.passes >= self.changes))
        }
    }
    for changes in 1..=3 {
        let source = Counted { next: 0, passes: 0, changes };
        let fit = fitted(source, 1, || ());
        assert_eq!(what(fit), "contents", "in pass {changes}");
    }
    fitted(Counted { next: 0, passes: 0, changes: 1000 }, 1, || ()).unwrap();
}
