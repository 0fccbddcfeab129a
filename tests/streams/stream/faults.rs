//! Sources, checkpoints and observers that fail: a typed error, never a hang, and saved files stay intact.

use crate::stream::support::{bits, folder, linspace, noise};
use dualfit::error::{CheckpointError, SourceError};
use dualfit::source::{Chunk, Shape, Source};
use dualfit::{
    Backend, CurveFit, Error, Event, Fit, Missing, Result, Stream, Termination, Warning,
};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

const POINTS: usize = 20_000;
const CHUNK: usize = 4096;
/// Reads of a pass: five chunks, and one that finds no more.
const READS: usize = 6;
const START: [f64; 3] = [2.5, 0.8, 0.1];

/// Fault in one read of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// It says so.
    Error,
    Panic,
    /// It ends before its end.
    Short,
    /// It has more points than it has.
    Long,
    /// It returns more points than the chunk can hold.
    TooMany,
    /// It gives other points than it says.
    Lie,
    /// A column has more values than others.
    Uneven,
    /// A column is missing.
    NoColumn,
    /// It gives standard deviations that it does not have.
    Sigma,
    /// It takes points back.
    Back,
}

#[derive(Clone)]
struct Faulty {
    x: Vec<f64>,
    y: Vec<f64>,
    next: usize,
    reads: usize,
    /// The read in which `fault` happens; all others are good.
    at: usize,
    fault: Fault,
}

impl Faulty {
    fn new(fault: Fault, at: usize) -> Faulty {
        let (x, e) = (linspace(0.0, 10.0, POINTS), noise(POINTS, 0.1, 31));
        let value = |(x, e): (&f64, &f64)| 2.0 * (-0.5 * x).exp() + 0.3 + e;
        let y = x.iter().zip(&e).map(value).collect();
        Faulty { x, y, next: 0, reads: 0, at, fault }
    }
}

impl Source for Faulty {
    fn shape(&self) -> Shape {
        Shape { points: Some(POINTS as u64), ..Shape::new(1) }
    }

    fn rewind(&mut self) -> std::result::Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> std::result::Result<usize, SourceError> {
        self.reads += 1;
        let fault = if self.reads - 1 == self.at { self.fault } else { Fault::None };
        let count = most.min(POINTS - self.next);
        let range = self.next..self.next + count;
        self.next += count;
        chunk.x[0].extend(&self.x[range.clone()]);
        chunk.y.extend(&self.y[range]);
        match fault {
            Fault::None => {}
            Fault::Error => return Err(SourceError::new("test", "the disk is gone")),
            Fault::Panic => panic!("the source has a bug"),
            Fault::Short => {
                *chunk = Chunk::new(&self.shape(), most);
                return Ok(0);
            }
            Fault::Long => {
                let more = most - count;
                (0..more).for_each(|_| chunk.push(&[1.0], 1.0, None));
                return Ok(most);
            }
            Fault::TooMany => {
                (count..=most).for_each(|_| chunk.push(&[1.0], 1.0, None));
                return Ok(most + 1);
            }
            Fault::Lie => return Ok(count + 1),
            Fault::Uneven => chunk.x[0].push(1.0),
            Fault::NoColumn => drop(chunk.x.pop()),
            Fault::Sigma => chunk.sigma = Some(vec![1.0; chunk.len()]),
            Fault::Back => *chunk = Chunk::new(&self.shape(), most),
        }
        Ok(count)
    }

    fn fingerprint(&self) -> std::result::Result<String, SourceError> {
        Ok("test".into())
    }
}

/// Ends the process if it lives for too long.
struct Watchdog {
    _alive: Sender<()>,
}

impl Watchdog {
    fn new(what: String) -> Watchdog {
        let (alive, dead) = channel::<()>();
        std::thread::spawn(move || {
            if dead.recv_timeout(Duration::from_secs(30)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{what}: it hangs");
                std::process::abort();
            }
        });
        Watchdog { _alive: alive }
    }
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
        .names(["a", "b", "c"])
        .backend(Backend::Cpu)
}

fn stream(fault: Fault, at: usize) -> Stream<'static> {
    Stream::new(Faulty::new(fault, at)).chunk_points(CHUNK).memory_limit(1 << 19).prefetch(0)
}

fn fit(fault: Fault, at: usize, checkpoint: &Path) -> Result<Fit> {
    let _watchdog = Watchdog::new(format!("{fault:?} in read {at}"));
    decay().fit_stream(stream(fault, at).checkpoint(checkpoint), START)
}

fn passes(fit: &Fit) -> [usize; 2] {
    let stats = fit.stats().stream.as_ref().unwrap();
    [stats.passes, stats.resumed_passes]
}

#[test]
fn whatever_a_source_does_is_an_error_and_passes_are_kept() {
    let folder = folder();
    let path = folder.path().join("fit.checkpoint");
    let whole = fit(Fault::None, 0, &path).unwrap();
    let [all, _] = passes(&whole);
    let mut errors = 0;
    use Fault::{Back, Error as Says, Lie, Long, NoColumn, Panic, Short, Sigma, TooMany, Uneven};
    for (i, fault) in [Says, Panic, Short, Long, TooMany, Lie, Uneven, NoColumn, Sigma, Back]
        .into_iter()
        .enumerate()
    {
        // All reads of a pass are met, and all passes.
        for at in (0..all * READS).filter(|at| fault == Says || (at + i) % 5 == 0) {
            let place = format!("{fault:?} in read {at}");
            match fit(fault, at, &path) {
                Ok(good) => {
                    // A source that ends twice has ended, and there is no end to exceed before it.
                    let read = at % READS;
                    let harmless = match fault {
                        Short | Back => read == READS - 1,
                        Long => read < READS - 2,
                        _ => false,
                    };
                    assert!(harmless, "{place}: {good}");
                    assert_eq!(bits(&good), bits(&whole), "{place}");
                }
                Err(error) => {
                    let expected = match fault {
                        Panic => matches!(error, Error::SourcePanicked { .. }),
                        Short | Long => {
                            matches!(error, Error::SourceChanged { .. } | Error::Source(_))
                        }
                        _ => matches!(error, Error::Source(_)),
                    };
                    assert!(expected, "{place}: {error}");
                    errors += 1;
                    assert_eq!(path.exists(), at >= READS, "{place}: what is kept");
                }
            }
            let _watchdog = Watchdog::new(place.clone());
            let healthy = fit(Fault::None, 0, &path).unwrap();
            assert_eq!(bits(&healthy), bits(&whole), "{place}");
            let [made, resumed] = passes(&healthy);
            assert_eq!(made + resumed, all, "{place}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
    println!("{errors} faults, {all} passes");
}

/// The pass that looks for the first point that is not finite is a pass, too.
#[test]
fn a_source_that_fails_while_the_bad_point_is_sought_is_heard_of() {
    let root = CurveFit::new(|x, [a, b]| (a - x).sqrt() * b);
    for at in READS..READS + 5 {
        let fit = root.fit_stream(stream(Fault::Error, at), [9.9, 1.0]);
        assert!(matches!(fit, Err(Error::Source(_))), "{at}: {fit:?}");
        let fixed = root.clone().fix("p0").fix("p1");
        let fit = fixed.fit_stream(stream(Fault::Error, at), [9.9, 1.0]);
        assert!(matches!(fit, Err(Error::Source(_))), "{at}: {fit:?}");
    }
}

/// A source that panics where it is not read.
struct Rude(&'static str);

impl Source for Rude {
    fn shape(&self) -> Shape {
        assert_ne!(self.0, "shape");
        Shape::new(1)
    }

    fn rewind(&mut self) -> std::result::Result<(), SourceError> {
        assert_ne!(self.0, "rewind");
        Ok(())
    }

    fn read(&mut self, _: &mut Chunk, _: usize) -> std::result::Result<usize, SourceError> {
        Ok(0)
    }

    fn fingerprint(&self) -> std::result::Result<String, SourceError> {
        assert_ne!(self.0, "fingerprint");
        Ok(String::new())
    }
}

#[test]
fn a_source_may_panic_anywhere() {
    let folder = folder();
    for place in ["shape", "rewind", "fingerprint"] {
        let stream = Stream::new(Rude(place)).checkpoint(folder.path().join("fit.checkpoint"));
        let fit = decay().fit_stream(stream, START);
        assert!(matches!(fit, Err(Error::SourcePanicked { .. })), "{place}: {fit:?}");
    }
}

fn not_written(fit: &Result<Fit>) -> bool {
    matches!(fit, Err(Error::Checkpoint(CheckpointError::NotWritten { .. })))
}

fn warns(fit: &Result<Fit>) -> bool {
    let is_it = |w: &Warning| matches!(w, Warning::CheckpointNotWritten { .. });
    fit.as_ref().is_ok_and(|fit| fit.warnings().iter().any(is_it))
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error_or_a_warning() {
    let folder = folder();
    let good = || stream(Fault::None, 0);
    let whole = decay().fit_stream(good(), START).unwrap();
    let mut paths = vec![folder.path().join("no such folder").join("fit.checkpoint")];
    if cfg!(target_os = "linux") {
        // Where nobody may write, not even an administrator.
        paths.push("/proc/fit.checkpoint".into());
    }
    for path in paths {
        let fit = decay().fit_stream(good().checkpoint(&path), START);
        assert!(not_written(&fit), "{fit:?}");
        let fit = decay().fit_stream(good().checkpoint(&path).checkpoint_required(false), START);
        assert!(warns(&fit), "{fit:?}");
        assert_eq!(bits(&fit.unwrap()), bits(&whole));
    }
    // An existing file that is not a checkpoint is not changed.
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    let fit = decay().fit_stream(good().checkpoint(&there), START);
    assert!(matches!(fit, Err(Error::Checkpoint(_))), "{fit:?}");
    assert!(there.is_dir());
    let notes = folder.path().join("notes");
    fs::write(&notes, "mine").unwrap();
    let fit = decay().fit_stream(good().checkpoint(&notes), START);
    assert!(matches!(fit, Err(Error::Checkpoint(_))), "{fit:?}");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "mine");
}

/// Something comes in the way of the second checkpoint.
#[test]
fn the_last_good_checkpoint_outlives_one_that_cannot_be_written() {
    let whole = decay().fit_stream(stream(Fault::None, 0), START).unwrap();
    for required in [true, false] {
        let folder = folder();
        let path = folder.path().join("fit.checkpoint");
        let mine = folder.path().join("fit.checkpoint.1");
        let notes = mine.clone();
        let model = decay().observe(move |event| {
            let Event::Stream(progress) = event else { return ControlFlow::Continue(()) };
            if progress.pass == 2 {
                fs::write(&notes, "mine").unwrap();
            }
            ControlFlow::Continue(())
        });
        let to_fit = stream(Fault::None, 0).checkpoint(&path).checkpoint_required(required);
        let fit = model.fit_stream(to_fit, START);
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
        if required {
            assert!(not_written(&fit), "{fit:?}");
        } else {
            assert!(warns(&fit), "{fit:?}");
            assert_eq!(bits(&fit.unwrap()), bits(&whole));
        }
        fs::remove_file(&mine).unwrap();
        let again = decay().fit_stream(stream(Fault::None, 0).checkpoint(&path), START).unwrap();
        assert_eq!(bits(&again), bits(&whole));
        assert_eq!(passes(&again)[1], 1, "the first pass was kept");
    }
}

#[test]
fn an_observer_may_panic_after_any_chunk() {
    let folder = folder();
    let path = folder.path().join("fit.checkpoint");
    let whole = fit(Fault::None, 0, &path).unwrap();
    let [all, _] = passes(&whole);
    for bad in (0..all * (READS - 1)).step_by(3) {
        let (pass, chunk) = (1 + bad / (READS - 1), 1 + bad % (READS - 1));
        let model = decay().observe(move |event| {
            let Event::Stream(progress) = event else { return ControlFlow::Continue(()) };
            assert_ne!((progress.pass, progress.chunk), (pass, chunk as u64), "a bug");
            ControlFlow::Continue(())
        });
        let failed = model.fit_stream(stream(Fault::None, 0).checkpoint(&path), START);
        assert!(matches!(failed, Err(Error::ObserverPanicked { .. })), "{failed:?}");
        let again = fit(Fault::None, 0, &path).unwrap();
        assert_eq!(bits(&again), bits(&whole));
        assert_eq!(passes(&again), [all + 1 - pass, pass - 1]);
    }
}

/// Points that are no more what they were.
#[test]
fn points_that_change_between_passes_are_noticed() {
    struct Changing(Faulty, usize);
    impl Source for Changing {
        fn shape(&self) -> Shape {
            self.0.shape()
        }
        fn rewind(&mut self) -> std::result::Result<(), SourceError> {
            self.1 += 1;
            if self.1 == 2 {
                self.0.y[POINTS / 2] = f64::NAN;
            }
            self.0.rewind()
        }
        fn read(
            &mut self,
            chunk: &mut Chunk,
            most: usize,
        ) -> std::result::Result<usize, SourceError> {
            self.0.read(chunk, most)
        }
        fn fingerprint(&self) -> std::result::Result<String, SourceError> {
            self.0.fingerprint()
        }
    }
    for missing in [Missing::Error, Missing::Omit] {
        let source = Changing(Faulty::new(Fault::None, 0), 0);
        let stream = Stream::new(source).chunk_points(CHUNK).subsample(false).missing(missing);
        match decay().fit_stream(stream, START) {
            Ok(fit) => assert_ne!(fit.termination(), Termination::Cost, "{fit}"),
            Err(error) => assert!(matches!(error, Error::SourceChanged { .. }), "{error}"),
        }
    }
}
