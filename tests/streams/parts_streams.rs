//! Parts of points that come from a source: their replies equal those of the same points in memory, and the leader reports errors of
//! a source.

use super::parts::{Arrays, Case, GROUP, START, bits, decay, points};
use dualfit::error::SourceError;
use dualfit::parts::{Part, Parts, merge};
use dualfit::source::{Chunk, FnSource, RangeSource, Shape, SliceSource, Source};
use dualfit::{Data, Error, Estimator, Sigma, Stream};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sends a request to a part in memory and to one of a stream, and checks that the replies are the same bytes.
fn both(memory: &mut Part<'_>, stream: &mut Part<'_>, question: &[u8]) -> io::Result<Vec<u8>> {
    let answers = [memory.answer(question)?, stream.answer(question)?];
    assert!(answers[0] == answers[1], "answers of {} bytes", answers[0].len());
    let [answer, _] = answers;
    Ok(answer)
}

#[test]
fn a_part_of_a_stream_answers_as_one_in_memory() {
    let n = GROUP + 3 * 4096 + 5;
    let chunks = [1, 4096, 4097, 30_000, GROUP - 1, GROUP, GROUP + 1, 100_000, 8192];
    for (case, chunk) in Arrays::new(n).cases().into_iter().zip(chunks.into_iter().cycle()) {
        let Case { what, curve, start, .. } = &case;
        let start = *start;
        let in_memory =
            |from: usize, to: usize| Part::new(curve, case.data(from..to), from as u64).unwrap();
        let streamed = |from: usize, to: usize| {
            let stream = case.stream(from..to).chunk_points(chunk).memory_limit(1 << 30);
            let part = Part::stream(curve, stream, from as u64).unwrap();
            assert_eq!(part.n_points(), (to - from) as u64);
            part
        };
        let mut memory = [in_memory(0, GROUP), in_memory(GROUP, n)];
        let mut streams = [streamed(0, GROUP), streamed(GROUP, n)];
        let mut questions = 0;
        let ask = |question: &[u8]| {
            let [left, right] = [0, 1].map(|i| both(&mut memory[i], &mut streams[i], question));
            questions += 1;
            merge(&left?, &right?)
        };
        let fit = curve.fit_parts(ask, start).unwrap();
        assert!(fit.converged() && questions > 3, "{what}: {fit}");
        // And what one of each kind holds is the fit of all.
        for mut parts in
            [[streamed(0, GROUP), in_memory(GROUP, n)], [in_memory(0, GROUP), streamed(GROUP, n)]]
        {
            let ask = |question: &[u8]| {
                let [left, right] = parts.each_mut().map(|part| part.answer(question));
                merge(&left?, &right?)
            };
            let mixed = curve.fit_parts(Parts::new(ask), start).unwrap();
            assert_eq!(bits(&mixed), bits(&fit), "{what}");
        }
    }
}

/// A source of an array that returns at most this number of points at a time.
struct Sparing<S>(S, usize);

impl<S: Source> Source for Sparing<S> {
    fn shape(&self) -> Shape {
        Shape { points: None, ..self.0.shape() }
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.0.rewind()
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        self.0.read(chunk, most.min(self.1))
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        self.0.fingerprint()
    }
}

/// Chunks, reads and the points themselves end one before, at and one behind the ends of pieces and of groups.
#[test]
fn neither_chunks_nor_reads_nor_ends_make_a_difference() {
    let borders = [4095, 4096, 4097, GROUP - 1, GROUP, GROUP + 1];
    let (x, y) = points(GROUP + 1);
    let curve = decay();
    for n in borders {
        let mut memory = Part::new(&curve, Data::new(&x[..n], &y[..n]).unwrap(), 0).unwrap();
        let mut asked = Vec::new();
        let ask = |question: &[u8]| {
            let answer = memory.answer(question)?;
            asked.push((question.to_vec(), answer.clone()));
            Ok(answer)
        };
        let fit = curve.fit_parts(ask, START).unwrap();
        assert!(fit.converged() && asked.len() > 3, "{fit}");
        for chunk in borders {
            for read in [chunk, 5000] {
                let source = SliceSource::new(&x[..n], &y[..n]).unwrap();
                let stream = Stream::new(Sparing(source, read));
                let stream = stream.chunk_points(chunk).memory_limit(1 << 30);
                let mut part = Part::stream(&curve, stream, 0).unwrap();
                for (question, answer) in &asked {
                    assert!(part.answer(question).unwrap() == *answer, "{n} {chunk} {read}");
                }
            }
        }
    }
}

/// Parts that are counted before it is known who holds what before them.
#[test]
fn a_part_can_be_numbered_when_it_is_counted() {
    let n = GROUP + 5000;
    let (x, y) = points(n);
    let curve = decay();
    let data = |from: usize| Data::new(&x[from..], &y[from..]).unwrap();
    let source = RangeSource::new(SliceSource::new(&x, &y).unwrap(), Part::GROUP..n as u64);
    let counted = Part::stream(&curve, source, 0).unwrap();
    assert_eq!(counted.n_points(), 5000);
    let mut later = [
        Part::new(&curve, data(GROUP), Part::GROUP).unwrap(),
        counted.numbered_from(Part::GROUP).unwrap(),
        Part::new(&curve, data(GROUP), 0).unwrap().numbered_from(Part::GROUP).unwrap(),
    ];
    let mut first = Part::new(&curve, Data::new(&x[..GROUP], &y[..GROUP]).unwrap(), 0).unwrap();
    let ask = |question: &[u8]| {
        let answers = later.each_mut().map(|part| part.answer(question).unwrap());
        assert!(answers[0] == answers[1] && answers[0] == answers[2]);
        merge(&first.answer(question)?, &answers[0])
    };
    assert!(curve.fit_parts(ask, START).unwrap().converged());
    let refused = first.numbered_from(4096).err().expect("an error").to_string();
    assert!(refused.contains("4096 is no multiple of 1048576"), "{refused}");
    let last = u64::MAX - u64::MAX % Part::GROUP;
    let refused = Part::new(&curve, data(0), last).err().expect("an error").to_string();
    assert!(refused.contains("have no numbers below 2^64"), "{refused}");
}

/// A checkpoint belongs to points, wherever they are.
#[test]
fn points_may_move_between_memory_and_files_before_a_fit_goes_on() {
    let n = GROUP + 5000;
    let (x, y) = points(n);
    let curve = decay();
    let ends = [0, GROUP, n];
    let memory = |i: usize| {
        let data = Data::new(&x[ends[i]..ends[i + 1]], &y[ends[i]..ends[i + 1]]).unwrap();
        Part::new(&curve, data, ends[i] as u64).unwrap()
    };
    let streamed = |i: usize| {
        let range = ends[i] as u64..ends[i + 1] as u64;
        let source = RangeSource::new(SliceSource::new(&x, &y).unwrap(), range.clone());
        Part::stream(&curve, source, range.start).unwrap()
    };
    let fit = |mut parts: [Part<'_>; 2], path: Option<&Path>, most: usize| {
        let mut questions = 0;
        let ask = |question: &[u8]| {
            questions += 1;
            if questions > most {
                return Err(io::Error::other("a holder is gone"));
            }
            let [left, right] = parts.each_mut().map(|part| part.answer(question));
            merge(&left?, &right?)
        };
        match path {
            Some(path) => curve.fit_parts(Parts::new(ask).checkpoint(path), START),
            None => curve.fit_parts(ask, START),
        }
    };
    let whole = fit([memory(0), memory(1)], None, 100).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("checkpoint");
    let lost = fit([memory(0), memory(1)], Some(path), 3).unwrap_err().to_string();
    assert!(lost.contains("a holder is gone"), "{lost}");
    let lost = fit([streamed(0), memory(1)], Some(path), 2).unwrap_err().to_string();
    assert!(lost.contains("a holder is gone"), "{lost}");
    let resumed = fit([memory(0), streamed(1)], Some(path), 100).unwrap();
    assert_eq!(bits(&resumed), bits(&whole));
    let passes = resumed.stats().stream.as_ref().unwrap().resumed_passes;
    assert!(passes >= 2, "{passes}");
}

/// Points of a decay, of which something goes wrong at one reading, or at one of the steps of all readings.
struct Fickle<'a> {
    points: [&'a [f64]; 2],
    next: usize,
    readings: usize,
    /// Rewinds and reads so far.
    steps: &'a AtomicUsize,
    wrong: Wrong,
}

#[derive(Clone, Copy)]
enum Wrong {
    /// Number of missing points, and the number of the reading that lacks them.
    Missing(i64, usize),
    FailsAt(usize),
    PanicsAt(usize),
}

impl Fickle<'_> {
    fn end(&self) -> usize {
        match self.wrong {
            Wrong::Missing(missing, at) if self.readings == at => (10_000 - missing) as usize,
            _ => 10_000,
        }
    }

    fn step(&self) -> Result<(), SourceError> {
        let step = 1 + self.steps.fetch_add(1, Ordering::Relaxed);
        match self.wrong {
            Wrong::FailsAt(at) if at == step => {
                Err(SourceError::new("the file", "it cannot be read"))
            }
            Wrong::PanicsAt(at) if at == step => panic!("nobody expected that"),
            _ => Ok(()),
        }
    }
}

impl Source for Fickle<'_> {
    fn shape(&self) -> Shape {
        let shape = SliceSource::new(self.points[0], self.points[1]).unwrap().shape();
        Shape { points: None, ..shape }
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        self.readings += 1;
        self.step()
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        self.step()?;
        let end = self.end().min(self.next + most.min(1000));
        for i in self.next..end {
            chunk.push(&[self.points[0][i]], self.points[1][i], None);
        }
        let read = end - self.next;
        self.next = end;
        Ok(read)
    }

    fn fingerprint(&self) -> Result<String, SourceError> {
        Ok("fickle".into())
    }
}

/// The part before, and its replies.
struct Before<'a>(Part<'a>, HashMap<Vec<u8>, Vec<u8>>);

impl Before<'_> {
    fn answer(&mut self, question: &[u8]) -> io::Result<Vec<u8>> {
        let Before(part, known) = self;
        if !known.contains_key(question) {
            known.insert(question.to_vec(), part.answer(question)?);
        }
        Ok(known[question].clone())
    }
}

/// Result of a fit with a faulty part, or `None` if the part cannot be made; and the number of steps.
fn fit_with(
    first: &mut Before<'_>,
    points: [&[f64]; 2],
    wrong: Wrong,
) -> (Option<Result<bool, String>>, usize) {
    let steps = AtomicUsize::new(0);
    let source = Fickle { points, next: 0, readings: 0, steps: &steps, wrong };
    let part = Part::stream(&decay(), Stream::new(source).chunk_points(4096), Part::GROUP);
    let Ok(mut later) = part else { return (None, steps.load(Ordering::Relaxed)) };
    let ask = |question: &[u8]| {
        let answers = [first.answer(question)?, later.answer(question)?];
        merge(&answers[0], &answers[1])
    };
    let fit = decay().fit_parts(ask, START);
    let said = fit.map(|fit| fit.converged()).map_err(|error| {
        assert!(matches!(error, Error::Source(_)), "{error}");
        error.to_string()
    });
    (Some(said), steps.load(Ordering::Relaxed))
}

#[test]
fn points_that_come_or_go_between_readings_are_refused() {
    let (x, y) = points(GROUP + 10_100);
    let data = Data::new(&x[..GROUP], &y[..GROUP]).unwrap();
    let mut first = Before(Part::new(&decay(), data, 0).unwrap(), HashMap::new());
    let rest = [&x[GROUP..], &y[GROUP..]];
    for (missing, words) in [
        (1, "it gave 9999 points"),
        (9_999, "it gave 1 points"),
        (10_000, "it gave 0 points"),
        (-100, "where it gave 10000 before"),
    ] {
        // The first reading counts the points, for any number.
        for at in 2.. {
            let (said, _) = fit_with(&mut first, rest, Wrong::Missing(missing, at));
            match said.expect("a part") {
                Ok(converged) => {
                    assert!(converged && at > 4, "reading {at}");
                    break;
                }
                Err(said) => {
                    assert!(said.contains(words), "reading {at}: {said}");
                    assert!(said.contains("points from number 1048576 on"), "reading {at}: {said}");
                }
            }
        }
    }
}

#[test]
fn a_source_that_fails_at_any_step_is_an_answer() {
    let (x, y) = points(GROUP + 10_000);
    let data = Data::new(&x[..GROUP], &y[..GROUP]).unwrap();
    let mut first = Before(Part::new(&decay(), data, 0).unwrap(), HashMap::new());
    let rest = [&x[GROUP..], &y[GROUP..]];
    let (sound, steps) = fit_with(&mut first, rest, Wrong::FailsAt(0));
    assert_eq!(sound, Some(Ok(true)));
    assert!(steps > 40, "{steps} steps");
    for (panics, words) in [(false, "it cannot be read"), (true, "nobody expected that")] {
        let wrong = |at| if panics { Wrong::PanicsAt(at) } else { Wrong::FailsAt(at) };
        let mut counted = 0;
        for at in 1..=steps {
            let (said, _) = fit_with(&mut first, rest, wrong(at));
            // The first reading is that of the part itself.
            let Some(said) = said else {
                counted += 1;
                assert_eq!(at, counted);
                continue;
            };
            let said = said.expect_err("something went wrong");
            assert!(said.contains(words), "step {at}: {said}");
            assert!(said.contains("points from number 1048576 on"), "step {at}: {said}");
        }
        assert!((11..20).contains(&counted), "{counted} of {steps} steps");
    }
}

#[test]
fn what_cannot_be_a_part_is_refused() {
    let (x, y) = points(1000);
    let source = || SliceSource::new(&x, &y).unwrap();
    let refused = |part: dualfit::Result<Part<'_>>| part.err().expect("an error").to_string();
    let said = refused(Part::stream(&decay(), source(), 17));
    assert!(said.contains("17 is no multiple of 1048576"), "{said}");
    let sigmas = Stream::new(source()).sigma(Sigma::AbsoluteColumn).unwrap();
    let said = refused(Part::stream(&decay(), sigmas, 0));
    assert!(said.contains("it has no standard deviations"), "{said}");
    let counting = decay().estimator(Estimator::Poisson);
    let constant = Stream::new(source()).sigma(Sigma::Constant(1.0)).unwrap();
    assert_eq!(
        Part::stream(&counting, constant, 0).err(),
        Some(Error::NotForCounts { what: "sigma" })
    );
    let kept = Stream::new(source()).checkpoint("never written");
    let said = refused(Part::stream(&decay(), kept, 0));
    assert!(said.contains("say it to Parts::checkpoint"), "{said}");
    let whole = Stream::new(source()).subsample(false);
    let said = refused(Part::stream(&decay(), whole, 0));
    assert!(said.contains("say it to Parts::subsample"), "{said}");
    let small = Stream::new(source()).memory_limit(100);
    assert!(matches!(Part::stream(&decay(), small, 0).err(), Some(Error::MemoryLimit { .. })));
    let calls = AtomicUsize::new(0);
    let panics = FnSource::new(1000, |i| {
        assert!(calls.fetch_add(1, Ordering::Relaxed) < 500, "no more");
        (i as f64, 1.0)
    });
    let said = refused(Part::stream(&decay(), panics, 0));
    assert!(said.contains("no more"), "{said}");
}
