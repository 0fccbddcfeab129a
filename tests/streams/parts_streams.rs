//! Parts of points that come from a source: their answers are those of the same points in memory, and what goes wrong with a
//! source is said by the leader.

use super::parts::{GROUP, START, bits, decay, points};
use dualfit::error::SourceError;
use dualfit::parts::{Part, Parts, merge};
use dualfit::source::{Chunk, FnSource, RangeSource, Shape, SliceSource, Source};
use dualfit::{CurveFit, Data, Error, Estimator, Loss, Missing, Sigma, Stream};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Asks a part in memory and one of a stream, whose answers are the same bytes.
fn both(memory: &mut Part<'_>, stream: &mut Part<'_>, question: &[u8]) -> io::Result<Vec<u8>> {
    let answers = [memory.answer(question)?, stream.answer(question)?];
    assert!(answers[0] == answers[1], "answers of {} bytes", answers[0].len());
    let [answer, _] = answers;
    Ok(answer)
}

#[test]
fn a_part_of_a_stream_answers_as_one_in_memory() {
    let n = GROUP + 3 * 4096 + 5;
    let (x, y) = points(n);
    let sigma: Vec<f64> = x.iter().map(|x| 0.05 + 0.03 * x).collect();
    let heavy: Vec<f64> = (0..n).map(|i| if i % 500_000 == 7 { 1e-18 } else { 0.1 }).collect();
    let counts: Vec<f64> = y.iter().map(|y| (20.0 * y.max(0.0)).floor()).collect();
    let mut holes = y.clone();
    (0..n).step_by(1001).for_each(|i| holes[i] = f64::NAN);
    let huge: Vec<f64> = y.iter().map(|y| 1e200 * y).collect();
    let poisson = || decay().estimator(Estimator::Poisson);
    let robust = || decay().loss(Loss::Huber { scale: 0.1 });
    let bounded = || decay().bound("p1", 1.4..2.0);
    type Case<'a> = (&'a str, CurveFit, &'a [f64], Sigma<'static>, &'a [f64], [f64; 3], usize);
    let cases: Vec<Case<'_>> = vec![
        ("absolute", decay(), &y, Sigma::AbsoluteColumn, &sigma, START, 1),
        ("relative", decay(), &y, Sigma::RelativeColumn, &sigma, START, 4096),
        ("constant", decay(), &y, Sigma::Constant(0.2), &[], START, 4097),
        ("heavy", decay(), &y, Sigma::AbsoluteColumn, &heavy, START, 30_000),
        ("robust", robust(), &y, Sigma::Unknown, &[], START, GROUP - 1),
        ("bounds", bounded(), &y, Sigma::Unknown, &[], [2.0, 1.5, 0.3], GROUP),
        ("counts", poisson(), &counts, Sigma::Unknown, &[], [40.0, 1.0, 8.0], GROUP + 1),
        ("holes", decay(), &holes, Sigma::Unknown, &[], START, 100_000),
        ("huge", decay(), &huge, Sigma::Unknown, &[], [2e200, 1.0, 3e199], 8192),
    ];
    for (what, curve, y, said, sigma, start, chunk) in cases {
        let missing = if what == "holes" { Missing::Omit } else { Missing::Error };
        let in_memory = |from: usize, to: usize| {
            let data = Data::new(&x[from..to], &y[from..to]).unwrap().missing(missing);
            let data = match said {
                Sigma::AbsoluteColumn => data.sigma(Sigma::Absolute(&sigma[from..to])),
                Sigma::RelativeColumn => data.sigma(Sigma::Relative(&sigma[from..to])),
                other => data.sigma(other),
            };
            Part::new(&curve, data.unwrap(), from as u64).unwrap()
        };
        let streamed = |from: usize, to: usize| {
            let source = SliceSource::new(&x, y).unwrap();
            let source = if sigma.is_empty() { source } else { source.sigma(sigma).unwrap() };
            let source = RangeSource::new(source, from as u64..to as u64);
            let stream = Stream::new(source).sigma(said).unwrap().missing(missing);
            let stream = stream.chunk_points(chunk).memory_limit(1 << 30);
            let part = Part::stream(&curve, stream, from as u64).unwrap();
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
        let (mut left, mut right) = (streamed(0, GROUP), in_memory(GROUP, n));
        let ask = |question: &[u8]| merge(&left.answer(question)?, &right.answer(question)?);
        let mixed = curve.fit_parts(Parts::new(ask), start).unwrap();
        assert_eq!(bits(&mixed), bits(&fit), "{what}");
    }
}

/// Points of a decay, of which a reading gives another number, or fails.
struct Fickle<'a> {
    points: [&'a [f64]; 2],
    next: usize,
    readings: usize,
    /// What happens at this reading: so many points are missing, or `None` for a failure behind the first thousand.
    at: usize,
    missing: Option<i64>,
}

impl Fickle<'_> {
    fn end(&self) -> usize {
        let missing = if self.readings == self.at { self.missing.unwrap_or(0) } else { 0 };
        (10_000 - missing) as usize
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
        Ok(())
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize, SourceError> {
        if self.readings == self.at && self.missing.is_none() && self.next >= 1000 {
            return Err(SourceError::new("the file", "it cannot be read"));
        }
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

#[test]
fn what_goes_wrong_with_a_source_at_any_reading_is_said() {
    let (x, y) = points(10_100);
    let source = |at: usize, missing: Option<i64>| Fickle {
        points: [&x, &y],
        next: 0,
        readings: 0,
        at,
        missing,
    };
    for (missing, words) in [
        (None, "it cannot be read"),
        (Some(1), "it gave 9999 points"),
        (Some(9_999), "it gave 1 points"),
        (Some(-100), "where it gave 10000 before"),
    ] {
        for at in 1.. {
            let part = Part::stream(&decay(), source(at, missing), 0);
            // The first reading counts the points, whatever their number.
            let Ok(mut part) = part else {
                assert!(at == 1 && missing.is_none());
                continue;
            };
            if at == 1 {
                continue;
            }
            let fit = decay().fit_parts(|question: &[u8]| part.answer(question), START);
            match fit {
                Ok(fit) => {
                    assert!(fit.converged() && at > 4, "reading {at}");
                    break;
                }
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.contains(words), "reading {at}: {said}");
                    assert!(said.contains("points from number 0 on"), "reading {at}: {said}");
                }
            }
        }
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
