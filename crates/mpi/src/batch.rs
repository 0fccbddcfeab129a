//! Batches whose fits the ranks make: rank 0 hands out portions, the others answer until they are told that there are no more.

use crate::{ended, failure};
use dualfit::parts::Workers;
use dualfit::{BatchData, BatchFit, CurveFit, Starts};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// Says how many bytes follow; or, to a worker, that there are no more questions.
const LENGTH: i32 = 0;
const BYTES: i32 = 1;
const END: u64 = 0;
/// Bytes of a message at most, of which a question or an answer may be several: a count of MPI is an i32.
const MOST: usize = 1 << 30;
/// How long a rank that waits looks away. Waiting by MPI itself keeps a core busy, which fits have better use for.
const PAUSE: Duration = Duration::from_micros(50);

/// What an answer ends with: whether it is one, or what went wrong.
const ANSWER: u8 = 0;
const FAILED: u8 = 1;

/// Makes a batch on all ranks, as [`CurveFit::fit_batch_parts`] does: rank 0 has the data, sends portions to the others, and makes
/// portions itself. All ranks call it, with curves of which the same was said. `batch`: data and starts, on rank 0; what others give is not looked
/// at, usually `None`. Rank 0 gets the fits, the others get `None`, and so do all if rank 0 has no batch; all get the error if there is one.
///
/// The bits are those of [`CurveFit::fit_batch`], on any number of ranks. One rank for each machine is best: each makes its
/// fits on all cores that it may use. The messages are in a communicator of their own, and meet no others.
///
/// ```no_run
/// use dualfit::{BatchData, CurveFit};
/// use mpi::traits::Communicator;
/// let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).expect("MPI");
/// let world = universe.world();
/// let decay = CurveFit::new(|x, [a, r]| a * (-r * x).exp());
/// let x: Vec<f64> = (0..100).map(|i| 0.05 * f64::from(i)).collect();
/// // Only rank 0 needs to have the data.
/// let stack = if world.rank() == 0 { vec![1.0; 100 * 50_000] } else { Vec::new() };
/// let data = BatchData::shared(&x, &stack)?;
/// let batch = (world.rank() == 0).then(|| (&data, [1.0, 1.0].into()));
/// if let Some(fits) = dualfit_mpi::fit_batch_mpi(&decay, &world, batch)? {
///     println!("{fits}");
/// }
/// # Ok::<(), dualfit::Error>(())
/// ```
///
/// # Errors
/// On rank 0, as [`CurveFit::fit_batch_parts`]; on the others [`PartsError::Leader`](dualfit::error::PartsError::Leader) with its text.
pub fn fit_batch_mpi(
    curve: &CurveFit,
    world: &SimpleCommunicator,
    batch: Option<(&BatchData<'_>, Starts<'_>)>,
) -> dualfit::Result<Option<BatchFit>> {
    let ranks = world.duplicate();
    if ranks.rank() != 0 {
        while let Some(question) = receive(&ranks, 0) {
            let bytes = match curve.answer_batch(&question) {
                Ok(answer) => with_end(answer, ANSWER),
                Err(why) => with_end(why.to_string().into_bytes(), FAILED),
            };
            send(&ranks, 0, &bytes);
        }
        return ended(receive(&ranks, 0));
    }
    let fits = batch.map(|(data, starts)| curve.fit_batch_parts(data, starts, &mut Ranks(&ranks)));
    let fits = fits.transpose();
    for rank in 1..ranks.size() {
        ranks.process_at_rank(rank).send_with_tag(&END, LENGTH);
        send(&ranks, rank, &failure(&fits).unwrap_or_default());
    }
    fits
}

/// The ranks but 0, which leads, as workers.
struct Ranks<'w>(&'w SimpleCommunicator);

impl Workers for Ranks<'_> {
    fn count(&self) -> usize {
        self.0.size() as usize - 1
    }

    fn send(&mut self, worker: usize, question: &[u8]) -> io::Result<()> {
        send(self.0, worker as i32 + 1, question);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<(usize, io::Result<Vec<u8>>)> {
        let any = self.0.any_process();
        let rank = loop {
            match any.immediate_probe_with_tag(LENGTH) {
                Some(message) => break message.source_rank(),
                None => sleep(PAUSE),
            }
        };
        let mut bytes = receive(self.0, rank).unwrap_or_default();
        let answer = match bytes.pop() {
            Some(ANSWER) => Ok(bytes),
            _ => Err(io::Error::other(String::from_utf8_lossy(&bytes).into_owned())),
        };
        Ok((rank as usize - 1, answer))
    }
}

fn with_end(mut bytes: Vec<u8>, end: u8) -> Vec<u8> {
    bytes.push(end);
    bytes
}

fn send(ranks: &SimpleCommunicator, rank: i32, bytes: &[u8]) {
    let there = ranks.process_at_rank(rank);
    there.send_with_tag(&(bytes.len() as u64), LENGTH);
    bytes.chunks(MOST).for_each(|chunk| there.send_with_tag(chunk, BYTES));
}

/// The next bytes of a rank, or `None` if it has no more.
fn receive(ranks: &SimpleCommunicator, rank: i32) -> Option<Vec<u8>> {
    let there = ranks.process_at_rank(rank);
    while there.immediate_probe_with_tag(LENGTH).is_none() {
        sleep(PAUSE);
    }
    let (length, _) = there.receive_with_tag::<u64>(LENGTH);
    if length == END {
        return None;
    }
    let mut bytes = vec![0; length as usize];
    for chunk in bytes.chunks_mut(MOST) {
        there.receive_into_with_tag(chunk, BYTES);
    }
    Some(bytes)
}
