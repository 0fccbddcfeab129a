//! The entries through which the same problem is solved.

use crate::support::questions::{Answer, Nearness, Question, Weights};
use dualfit::error::SourceError;
use dualfit::source::{Chunk, Shape, SliceSource, Source};
use dualfit::{GlobalFit, Missing, MultiStart, Result, Sigma, Stream};

/// An entry, and the allowed difference of its results from a single fit.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) near: Nearness,
    /// `None` if the entry does not support the problem.
    pub(crate) ask: fn(&Question) -> Option<Answer>,
}

pub(crate) const BATCH_OF_ONE: &str = "a batch of one";
pub(crate) const BATCH_OF_MANY: &str = "a batch of many";

/// Entries that add sums in another order differ by rounding: a small fraction of the standard errors.
pub(crate) const CLOSE: Nearness = Nearness::Part(1e-6);

pub(crate) const ENTRIES: [Entry; 7] = [
    Entry { name: BATCH_OF_ONE, near: CLOSE, ask: |q| q.in_batch(&q.model, 1, 0) },
    Entry { name: BATCH_OF_MANY, near: CLOSE, ask: |q| q.in_batch(&q.model, 13, 6) },
    Entry { name: "a stream in odd chunks", near: Nearness::Bits, ask: |q| in_stream(q, false) },
    Entry { name: "a stream from a sample", near: CLOSE, ask: |q| in_stream(q, true) },
    Entry { name: "many starts, one of them", near: Nearness::Bits, ask: with_many_starts },
    Entry { name: "a joint fit of one set", near: CLOSE, ask: as_one_set },
    Entry { name: "the set of a joint fit of one", near: CLOSE, ask: as_the_set },
];

/// A few points at a time; masked points are missing.
fn in_stream(question: &Question, subsample: bool) -> Option<Answer> {
    let mut y = question.y.clone();
    let mut missing = question.missing;
    if !question.mask.is_empty() {
        missing = Missing::Omit;
        let masked = y.iter_mut().zip(&question.mask).filter(|(_, counts)| !**counts);
        masked.for_each(|(y, _)| *y = f64::NAN);
    }
    let fit = || -> Result<_> {
        let columns: Vec<&[f64]> = question.x.iter().map(Vec::as_slice).collect();
        let slices = SliceSource::new(columns, &y)?;
        let (slices, sigma) = match &question.sigma {
            Weights::Unknown => (slices, Sigma::Unknown),
            Weights::Constant(sigma) => (slices, Sigma::Constant(*sigma)),
            Weights::Absolute(sigma) => (slices.sigma(sigma)?, Sigma::AbsoluteColumn),
            Weights::Relative(sigma) => (slices.sigma(sigma)?, Sigma::RelativeColumn),
        };
        let stream = Stream::new(InBites { slices, next: 0 }).sigma(sigma)?.missing(missing);
        let stream = stream.chunk_points(4096).subsample(subsample);
        question.model.fit_stream(stream, question.start.clone())
    };
    Some(Answer::of(fit()))
}

fn with_many_starts(question: &Question) -> Option<Answer> {
    let optima = question.data().and_then(|data| {
        question.model.multi_start(data, question.start.clone(), &MultiStart::new(0))
    });
    Some(Answer::of(optima.map(|optima| optima.into_best())))
}

fn as_one_set(question: &Question) -> Option<Answer> {
    let fit = || -> Result<_> {
        let data = question.data()?;
        let names = question.model.parameters();
        GlobalFit::new(&question.model).share(names).fit([data], question.start.clone())
    };
    Some(Answer::of(fit().map(|joint| joint.fit().clone())))
}

/// With parameters of the set's own, which it sees under their names in the model.
fn as_the_set(question: &Question) -> Option<Answer> {
    let fit = || GlobalFit::new(&question.model).fit([question.data()?], question.start.clone());
    match fit() {
        Ok(joint) => joint.set(0).map(|fit| Answer::of(Ok(fit))),
        Err(error) => Some(Answer::of(Err(error))),
    }
}

/// A source that hands out a few points at a time.
struct InBites<'a> {
    slices: SliceSource<'a>,
    next: usize,
}

const BITES: [usize; 6] = [3, 1, 7, 1000, 13, 4095];

impl Source for InBites<'_> {
    fn shape(&self) -> Shape {
        self.slices.shape()
    }

    fn rewind(&mut self) -> std::result::Result<(), SourceError> {
        self.slices.rewind()
    }

    fn read(&mut self, chunk: &mut Chunk, most: usize) -> std::result::Result<usize, SourceError> {
        self.next += 1;
        self.slices.read(chunk, most.min(BITES[self.next % BITES.len()]))
    }

    fn fingerprint(&self) -> std::result::Result<String, SourceError> {
        self.slices.fingerprint()
    }
}
