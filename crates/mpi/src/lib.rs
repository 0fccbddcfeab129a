//! Fits of [`dualfit`] on the ranks of an MPI job: one fit whose points are distributed over the ranks ([`fit_mpi`]),
//! or a batch whose fits are distributed ([`fit_batch_mpi`]).
//!
//! In a single fit, rank 0 computes the steps. It broadcasts each request to all ranks, and the replies are merged
//! along a binomial tree in the order of the ranks. The bits of the result do not depend on the number of ranks. If a
//! rank dies, MPI ends the job. The next job, on any number of ranks, resumes from the checkpoint of rank 0 and reaches
//! the same bits.
//!
//! ```no_run
//! use dualfit::parts::Part;
//! use dualfit::{CurveFit, Data};
//! let universe = mpi::initialize().expect("MPI");
//! let world = universe.world();
//! let curve = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
//! let mine = dualfit_mpi::share_of(&world, 100_000_000);
//! let x: Vec<f64> = mine.clone().map(|i| 1e-8 * i as f64).collect();
//! let y: Vec<f64> = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5).collect();
//! let part = Data::new(&x, &y).and_then(|data| Part::new(&curve, data, 0));
//! let mut part = dualfit_mpi::numbered(&world, part)?;
//! let fit = dualfit_mpi::fit_mpi(&curve, &world, &mut part, [1.0, 1.0, 0.0], |parts| parts)?;
//! if let Some(fit) = fit {
//!     println!("{fit}");
//! }
//! # Ok::<(), dualfit::Error>(())
//! ```

mod batch;

pub use batch::fit_batch_mpi;

use dualfit::error::{PartsError, SourceError};
use dualfit::parts::{Part, Parts, merge};
use dualfit::{CurveFit, Fit, Start};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use std::io;
use std::ops::Range;

/// Length of a broadcast without a message, which ends the requests or reports success. Messages are never empty.
const END: u64 = 0;

/// Returns the range of points for this rank if each rank takes about the same number. Ranges consist of whole groups:
/// if there are fewer groups than ranks, some ranks, but never rank 0, have no points.
pub fn share_of(world: &SimpleCommunicator, points: u64) -> Range<u64> {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let groups = points.div_ceil(Part::GROUP);
    let begin = |rank: u64| ((groups * rank).div_ceil(size) * Part::GROUP).min(points);
    begin(rank)..begin(rank + 1)
}

/// Part of a rank, with the position of its points among all points; empty for a rank without points. See [`numbered`].
pub struct RankPart<'a>(Option<Part<'a>>);

/// Numbers the points of all parts consecutively in the order of the ranks, and ignores their previous numbers. All
/// ranks must call this function, each with its part or with the error that occurred when creating it. All ranks
/// receive such an error, therefore no rank waits for one that has given up. A rank without points passes `None`.
///
/// Each rank holds whole groups of [`Part::GROUP`] points, except the last rank with points. Therefore the bits of a
/// fit do not depend on the distribution of the points.
///
/// # Errors
/// On all ranks: the error of a rank, with its number; or an error if a rank does not hold whole groups and a later
/// rank has points.
pub fn numbered<'a>(
    world: &SimpleCommunicator,
    mine: dualfit::Result<impl Into<Option<Part<'a>>>>,
) -> dualfit::Result<RankPart<'a>> {
    const NOT_MADE: u64 = u64::MAX;
    let mine: dualfit::Result<Option<Part<'a>>> = mine.map(Into::into);
    let of_part = |part: &Option<Part<'a>>| part.as_ref().map_or(0, Part::n_points);
    let held = mine.as_ref().map_or(NOT_MADE, of_part);
    let mut all = vec![0; world.size() as usize];
    world.all_gather_into(&held, &mut all[..]);
    if let Some(failed) = all.iter().position(|&points| points == NOT_MADE) {
        let why = mine.as_ref().err().map(|error| format!("its part: {error}"));
        let why = broadcast(world, failed as i32, why.as_deref().map(str::as_bytes));
        mine?;
        let why = String::from_utf8_lossy(&why.unwrap_or_default()).into_owned();
        return Err(SourceError::new(format!("rank {failed}"), why).into());
    }
    let last = all.iter().rposition(|&points| points > 0).unwrap_or(0);
    let uneven = |&rank: &usize| !all[rank].is_multiple_of(Part::GROUP);
    if let Some(rank) = (0..last).find(uneven) {
        let message = format!(
            "it holds {} points, which are no whole groups of {}, and rank {last} holds more behind them; let all but the last hold whole groups, or share files that all ranks see by share_of and RangeSource",
            all[rank],
            Part::GROUP
        );
        return Err(SourceError::new(format!("rank {rank}"), message).into());
    }
    let part = mine?.filter(|_| held > 0);
    let first = all[..world.rank() as usize].iter().sum();
    Ok(RankPart(part.map(|part| part.numbered_from(first)).transpose()?))
}

/// Fits a model to the points that the ranks hold. All ranks must call this function, each with its part. A part can be
/// reused for several fits of its model. Rank 0 returns the fit and the others return `None`. If there is an error, all
/// return it.
///
/// `how`: further settings of [`Parts`] on rank 0, for example `|parts| parts.checkpoint("decay.ckpt")`, or
/// `|parts| parts` for the defaults.
///
/// # Errors
/// On rank 0, the errors of [`CurveFit::fit_parts`]. On the others, [`PartsError::Leader`] with the message of that
/// error.
pub fn fit_mpi(
    curve: &CurveFit,
    world: &SimpleCommunicator,
    part: &mut RankPart<'_>,
    start: impl Into<Start>,
    how: impl for<'p> FnOnce(Parts<'p>) -> Parts<'p>,
) -> dualfit::Result<Option<Fit>> {
    let mut answer =
        |question: &[u8]| part.0.as_mut().map(|part| part.answer(question)).transpose();
    if world.rank() != 0 {
        while let Some(question) = broadcast(world, 0, None) {
            // `reduce` sends errors to rank 0.
            let _ = reduce(world, answer(&question));
        }
        return ended(broadcast(world, 0, None));
    }
    let on_this_thread = OnThisThread(world);
    let ask = move |question: &[u8]| {
        let world = on_this_thread.get();
        broadcast(world, 0, Some(question));
        let all = reduce(world, answer(question));
        all?.ok_or_else(|| io::Error::other("no rank has points"))
    };
    let fit = curve.fit_parts(how(Parts::new(ask)), start);
    broadcast(world, 0, None);
    broadcast(world, 0, failure(&fit).as_deref());
    fit.map(Some)
}

/// Returns the error of rank 0 as the bytes that the other ranks receive after the last request.
fn failure<T>(outcome: &dualfit::Result<T>) -> Option<Vec<u8>> {
    outcome.as_ref().err().map(|error| error.to_string().into_bytes())
}

/// Returns the result of a rank other than 0, to which rank 0 has sent its [`failure`].
///
/// # Errors
/// Returns [`PartsError::Leader`] if rank 0 has sent a failure.
fn ended<T>(failure: Option<Vec<u8>>) -> dualfit::Result<Option<T>> {
    match failure {
        None => Ok(None),
        Some(text) => {
            let message = String::from_utf8_lossy(&text).into_owned();
            Err(PartsError::Leader { message }.into())
        }
    }
}

/// Broadcasts the bytes of rank `from` to all ranks and returns them; `None` if rank `from` passes `None`.
fn broadcast(world: &SimpleCommunicator, from: i32, said: Option<&[u8]>) -> Option<Vec<u8>> {
    let root = world.process_at_rank(from);
    let said = said.filter(|_| world.rank() == from);
    let mut bytes = said.map(<[u8]>::to_vec).unwrap_or_default();
    let mut length = bytes.len() as u64;
    root.broadcast_into(&mut length);
    if length == END {
        return None;
    }
    bytes.resize(length as usize, 0);
    // An MPI count is an i32.
    bytes.chunks_mut(1 << 30).for_each(|chunk| root.broadcast_into(chunk));
    Some(bytes)
}

/// Last byte of a message to the merging rank: a reply, no points, or an error.
const ANSWER: u8 = 0;
const NOTHING: u8 = 1;
const FAILED: u8 = 2;

/// Merges the replies of all ranks in their order along a binomial tree. Returns the result on rank 0, `None` on the
/// others.
fn reduce(
    world: &SimpleCommunicator,
    mine: io::Result<Option<Vec<u8>>>,
) -> io::Result<Option<Vec<u8>>> {
    let (rank, size) = (world.rank(), world.size());
    let (mut mine, mut step) = (mine, 1);
    while step < size {
        if rank % (2 * step) != 0 {
            let (mut bytes, kind) = match mine {
                Ok(Some(answer)) => (answer, ANSWER),
                Ok(None) => (Vec::new(), NOTHING),
                Err(error) => (error.to_string().into_bytes(), FAILED),
            };
            bytes.push(kind);
            world.process_at_rank(rank - step).send(&bytes[..]);
            return Ok(None);
        }
        if rank + step < size {
            let (mut bytes, _) = world.process_at_rank(rank + step).receive_vec::<u8>();
            let theirs = match bytes.pop() {
                Some(ANSWER) => Ok(Some(bytes)),
                Some(NOTHING) => Ok(None),
                _ => Err(io::Error::other(String::from_utf8_lossy(&bytes).into_owned())),
            };
            mine = match (mine, theirs) {
                (Ok(Some(left)), Ok(Some(right))) => merge(&left, &right).map(Some),
                (Ok(left), Ok(right)) => Ok(left.or(right)),
                (Err(error), _) | (_, Err(error)) => Err(error),
            };
        }
        step *= 2;
    }
    mine
}

/// A communicator that the `ask` closure captures. The closure must be `Send`, but is called only on the thread that
/// created it.
struct OnThisThread<'w>(&'w SimpleCommunicator);

impl<'w> OnThisThread<'w> {
    fn get(&self) -> &'w SimpleCommunicator {
        self.0
    }
}

// SAFETY: `fit_parts` calls the closure on the thread that called `fit_parts`, and returns before the communicator is
// dropped.
unsafe impl Send for OnThisThread<'_> {}
