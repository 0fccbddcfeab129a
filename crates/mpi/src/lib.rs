//! Fits of [`dualfit`] over the ranks of an MPI job: one fit of whose points each rank holds some ([`fit_mpi`]), or a batch of
//! whose fits each rank makes some ([`fit_batch_mpi`]).
//!
//! Of a single fit rank 0 takes the steps. A question goes to all ranks by a broadcast, and the answers come together along a binomial tree, in the order of the
//! ranks. No bit of the result depends on the number of ranks. A rank that dies ends the job, as MPI has it; the next job, on
//! any number of ranks, goes on from the checkpoint of rank 0 to the same bits.
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

/// What a rank broadcasts before bytes: how many they are. Nothing that is said is of none.
const END: u64 = 0;

/// The points of all that a rank takes where each takes about as many: whole groups, so that some ranks, though not
/// rank 0, have none if there are fewer groups than ranks.
pub fn share_of(world: &SimpleCommunicator, points: u64) -> Range<u64> {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let groups = points.div_ceil(Part::GROUP);
    let begin = |rank: u64| ((groups * rank).div_ceil(size) * Part::GROUP).min(points);
    begin(rank)..begin(rank + 1)
}

/// The points of a rank, numbered among those of all, or that it has none. [`numbered`] makes it.
pub struct RankPart<'a>(Option<Part<'a>>);

/// Numbers the points of the ranks' parts one after another, in the order of the ranks, whatever they were numbered from. All
/// ranks call it, each with its part, or with what went wrong when it was made, which all get to hear: none waits for one that
/// has given up. A rank without points gives `None` in place of a part.
///
/// Each rank with points holds whole groups of [`Part::GROUP`] points, but for the last of them, so that no bit of a fit depends on
/// who holds what.
///
/// # Errors
/// On all ranks: what went wrong at one, by its number; and what a rank holds, if those are no whole groups and others follow.
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

/// Fits a model to the points that the ranks hold. All ranks call it, each with its part, for as many fits of its model as there are
/// to make. Rank 0 gets the fit, the others get `None`; all get the error if there is one.
///
/// `how`: what else is to be said of the [`Parts`], on rank 0, such as `|parts| parts.checkpoint("decay.ckpt")`; else `|parts| parts`.
///
/// # Errors
/// On rank 0, as [`CurveFit::fit_parts`]; on the others [`PartsError::Leader`] with its text.
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
            // What goes wrong on the way is told to the one who asked.
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

/// The error of rank 0 as the bytes that the other ranks receive after the last question.
fn failure<T>(outcome: &dualfit::Result<T>) -> Option<Vec<u8>> {
    outcome.as_ref().err().map(|error| error.to_string().into_bytes())
}

/// The result of a rank other than 0, to which rank 0 has sent its [`failure`].
///
/// # Errors
/// [`PartsError::Leader`] if there is one.
fn ended<T>(failure: Option<Vec<u8>>) -> dualfit::Result<Option<T>> {
    match failure {
        None => Ok(None),
        Some(text) => {
            let message = String::from_utf8_lossy(&text).into_owned();
            Err(PartsError::Leader { message }.into())
        }
    }
}

/// Brings what rank `from` has to say to all ranks, or the news that there is nothing.
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
    // A count of MPI is an i32.
    bytes.chunks_mut(1 << 30).for_each(|chunk| root.broadcast_into(chunk));
    Some(bytes)
}

/// What a rank sends to the one that merges: an answer, that it has no points, or what went wrong.
const ANSWER: u8 = 0;
const NOTHING: u8 = 1;
const FAILED: u8 = 2;

/// The answers of all ranks, merged in their order along a binomial tree, for rank 0; the others get nothing.
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

/// A communicator, which the closure that asks has to carry although it is called on the thread that made it.
struct OnThisThread<'w>(&'w SimpleCommunicator);

impl<'w> OnThisThread<'w> {
    fn get(&self) -> &'w SimpleCommunicator {
        self.0
    }
}

// SAFETY: `fit_parts` asks on the thread that called it and returns before the communicator goes.
unsafe impl Send for OnThisThread<'_> {}
