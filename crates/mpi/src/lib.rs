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
//! let mut part = Part::new(&curve, Data::new(&x, &y)?, mine.start)?;
//! if let Some(fit) = dualfit_mpi::fit_mpi(&curve, &world, &mut part, [1.0, 1.0, 0.0], None)? {
//!     println!("{fit}");
//! }
//! # Ok::<(), dualfit::Error>(())
//! ```

mod batch;

pub use batch::fit_batch_mpi;

use dualfit::parts::{Part, Parts, merge};
use dualfit::{CurveFit, Fit, Start};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Root, Source};
use std::io;
use std::ops::Range;
use std::path::Path;

/// What rank 0 broadcasts before the bytes of a question: how many they are. No question is of none.
const END: u64 = 0;

/// The points of all that a rank takes where each takes about as many: whole groups, so that some ranks, though not
/// rank 0, have none if there are fewer groups than ranks.
pub fn share_of(world: &SimpleCommunicator, points: u64) -> Range<u64> {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let groups = points.div_ceil(Part::GROUP);
    let begin = |rank: u64| ((groups * rank).div_ceil(size) * Part::GROUP).min(points);
    begin(rank)..begin(rank + 1)
}

/// Fits a model to the points that the ranks hold. All ranks call it, each with its part; the parts follow each other in
/// the order of the ranks, and a rank without points calls [`answer_nothing`] in its place. Rank 0 gets the fit, or what went wrong;
/// the others get `None`.
///
/// `checkpoint`: where rank 0 keeps what the passes gave; see [`Stream::checkpoint`](dualfit::Stream::checkpoint).
///
/// # Errors
/// On rank 0, as [`CurveFit::fit_parts`].
pub fn fit_mpi(
    curve: &CurveFit,
    world: &SimpleCommunicator,
    part: &mut Part<'_>,
    start: impl Into<Start>,
    checkpoint: Option<&Path>,
) -> dualfit::Result<Option<Fit>> {
    if world.rank() != 0 {
        answer_all(world, |question| part.answer(question).map(Some));
        return Ok(None);
    }
    let on_this_thread = OnThisThread(world);
    let ask = move |question: &[u8]| {
        let world = on_this_thread.get();
        broadcast(world, Some(question));
        let all = reduce(world, part.answer(question).map(Some));
        all?.ok_or_else(|| io::Error::other("no rank has points"))
    };
    let parts = Parts::new(ask);
    let parts = match checkpoint {
        Some(path) => parts.checkpoint(path),
        None => parts,
    };
    let fit = curve.fit_parts(parts, start);
    broadcast(world, None);
    fit.map(Some)
}

/// Takes part in a fit of [`fit_mpi`] without points, on a rank other than 0.
pub fn answer_nothing(world: &SimpleCommunicator) {
    answer_all(world, |_| Ok(None));
}

/// Answers questions until rank 0 has no more.
fn answer_all(
    world: &SimpleCommunicator,
    mut answer: impl FnMut(&[u8]) -> io::Result<Option<Vec<u8>>>,
) {
    while let Some(question) = broadcast(world, None) {
        // What goes wrong on the way is told to the one who asked.
        let _ = reduce(world, answer(&question));
    }
}

/// Brings the question of rank 0 to all ranks, or the news that there is none.
fn broadcast(world: &SimpleCommunicator, question: Option<&[u8]>) -> Option<Vec<u8>> {
    let root = world.process_at_rank(0);
    let mut bytes = question.map(<[u8]>::to_vec).unwrap_or_default();
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
