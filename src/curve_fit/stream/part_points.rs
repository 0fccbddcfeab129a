//! The points of a part, in memory or from a source. They are accessed in order, in runs of consecutive points; a
//! fingerprint detects changes.

use crate::backend::stream::{GROUP_POINTS, Held, KnownErrors};
use crate::data::loss::Estimator;
use crate::data::points::{ColumnList, Given};
use crate::data::sigma::{Sigma, Weights};
use crate::data::source::prefetch::Prefetch;
use crate::data::stream::{Stream, StreamPoints};
use crate::data::values::Values;
use crate::data::{Data, Missing};
use crate::error::source::SourceChange;
use crate::error::{Error, Result};
use crate::solver::outcome::Fault;
use std::ops::{ControlFlow, Range};

/// Number of points in a run of points in memory: a multiple of the group size. Work can end after each run.
const RUN: usize = 16 * GROUP_POINTS as usize;

/// The points of a part.
pub(super) enum PartPoints<'a> {
    Memory(Data<'a>),
    Source(Box<SourcePoints<'a>>),
}

/// Points from a source, which are read again for each request.
pub(super) struct SourcePoints<'a> {
    prefetch: Prefetch<'a>,
    said: StreamPoints,
    /// First and last y of each group, for the fingerprint; from the first reading.
    ends: GroupEnds,
}

/// Work on a run of points; the second argument is the index of its first point within the part.
pub(super) type Work<'w> =
    dyn FnMut(Given<'_>, u64) -> std::result::Result<ControlFlow<()>, Fault> + 'w;

impl<'a> PartPoints<'a> {
    /// Creates the points of a part from a stream, which is read once to count the points.
    ///
    /// # Errors
    /// Errors in the source or its settings.
    pub(super) fn of(stream: Stream<'a>, estimator: Estimator) -> Result<PartPoints<'a>> {
        let (said, shape) = (stream.points, stream.shape(estimator)?);
        let mut prefetch = stream.reader(shape)?;
        let mut ends = GroupEnds::default();
        prefetch.for_each(0, |_, chunk| {
            ends.add(&chunk.y.values());
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(PartPoints::Source(Box::new(SourcePoints { prefetch, said, ends })))
    }

    /// Returns all points if they are in memory.
    pub(super) fn in_memory(&self) -> Option<Given<'a>> {
        match self {
            PartPoints::Memory(data) => Some(given(data, 0..data.y.len())),
            PartPoints::Source(_) => None,
        }
    }

    /// Returns the number of points.
    pub(super) fn len(&self) -> u64 {
        match self {
            PartPoints::Memory(data) => data.y.len() as u64,
            PartPoints::Source(source) => source.ends.points,
        }
    }

    /// Returns the number of independent variables.
    pub(super) fn columns(&self) -> usize {
        match self {
            PartPoints::Memory(data) => data.columns.len(),
            PartPoints::Source(source) => source.prefetch.shape.x.len(),
        }
    }

    /// Returns true if each point has its own standard deviation.
    pub(super) fn has_sigma(&self) -> bool {
        match self {
            PartPoints::Memory(data) => matches!(data.sigma, Weights::Each { .. }),
            PartPoints::Source(source) => source.prefetch.shape.sigma,
        }
    }

    /// Returns a description of the points. `first`: number of the first point.
    pub(super) fn held(&self, first: u64) -> Held {
        let (sigma, missing, infinite_x, fingerprint) = match self {
            PartPoints::Memory(data) => {
                let mut ends = GroupEnds::default();
                ends.add(&data.y);
                let sigma = match data.sigma {
                    Weights::Equal | Weights::Covariance { .. } => KnownErrors::Unknown,
                    Weights::Constant(sigma) => KnownErrors::Constant(sigma),
                    Weights::Each { absolute: false, .. } => KnownErrors::Relative,
                    Weights::Each { absolute: true, .. } => KnownErrors::Absolute,
                };
                (sigma, data.missing, data.infinite_x, ends.fingerprint(first))
            }
            PartPoints::Source(source) => {
                let StreamPoints { sigma, missing, infinite_x } = source.said;
                let sigma = match sigma {
                    Sigma::Constant(sigma) => KnownErrors::Constant(sigma),
                    Sigma::RelativeColumn => KnownErrors::Relative,
                    Sigma::AbsoluteColumn => KnownErrors::Absolute,
                    _ => KnownErrors::Unknown,
                };
                (sigma, missing, infinite_x, source.ends.fingerprint(first))
            }
        };
        let (columns, omits_missing) = (self.columns() as u32, missing == Missing::Omit);
        Held { columns, sigma, omits_missing, infinite_x, fingerprint }
    }

    /// Calls `work` with runs of points, in order, until `work` breaks.
    ///
    /// # Errors
    /// Errors of the source or of `work`; an error if the number of points of the source has changed.
    pub(super) fn each_run(&mut self, work: &mut Work<'_>) -> std::result::Result<(), Fault> {
        match self {
            PartPoints::Memory(data) => {
                for begin in (0..data.y.len()).step_by(RUN) {
                    let range = begin..data.y.len().min(begin + RUN);
                    if work(given(data, range), begin as u64)?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            PartPoints::Source(source) => source.each_run(work),
        }
    }
}

impl SourcePoints<'_> {
    fn each_run(&mut self, work: &mut Work<'_>) -> std::result::Result<(), Fault> {
        let SourcePoints { prefetch, said, ends } = self;
        let (points, mut got, mut broken) = (ends.points, 0, false);
        prefetch.for_each(0, |first, chunk| {
            got = first + chunk.len() as u64;
            if got > points {
                return Ok(ControlFlow::Break(()));
            }
            let done = work(said.of(chunk), first)?;
            broken = done.is_break();
            Ok::<_, Fault>(done)
        })?;
        match broken || got == points {
            true => Ok(()),
            false => Err(Error::from(SourceChange::Points { expected: points, got }).into()),
        }
    }
}

/// Returns a range of the points in memory.
fn given<'a>(data: &Data<'a>, range: Range<usize>) -> Given<'a> {
    let Data { columns, y, sigma, mask, missing, infinite_x, x_sigma } = data;
    Given {
        columns: ColumnList::Owned(columns.iter().map(|c| c.part(range.clone())).collect()),
        y: y.part(range.clone()),
        sigma: match *sigma {
            Weights::Each { sigma, absolute } => {
                Weights::Each { sigma: &sigma[range.clone()], absolute }
            }
            other => other,
        },
        mask: mask.map(|mask| &mask[range]),
        missing: *missing,
        infinite_x: *infinite_x,
        x_sigma: x_sigma.clone(),
        known_x: false,
    }
}

/// The first and the last y of each group, which suffice to detect that points were replaced.
#[derive(Default)]
struct GroupEnds {
    /// Bits of the first and the last y of each group.
    ends: Vec<[u64; 2]>,
    points: u64,
}

impl GroupEnds {
    /// Adds the y of the next points.
    fn add(&mut self, y: &Values<'_>) {
        let mut at = 0;
        while at < y.len() {
            let behind = self.points % GROUP_POINTS;
            if behind == 0 {
                self.ends.push([y.at(at).to_bits(); 2]);
            }
            let room = usize::try_from(GROUP_POINTS - behind).unwrap_or(usize::MAX);
            let taken = room.min(y.len() - at);
            at += taken;
            self.points += taken as u64;
            if let Some([_, last]) = self.ends.last_mut() {
                *last = y.at(at - 1).to_bits();
            }
        }
    }

    /// Returns the fingerprint. It is a sum over the groups and therefore does not depend on the distribution of groups
    /// over parts. `first`: number of the first point.
    fn fingerprint(&self, first: u64) -> u64 {
        self.ends.iter().zip(0_u64..).fold(0, |sum: u64, (&[a, b], group)| {
            let begin = first.wrapping_add(group * GROUP_POINTS);
            let mixed =
                (begin ^ a.rotate_left(17) ^ b.rotate_left(31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum.wrapping_add(mixed ^ (mixed >> 29))
        })
    }
}
