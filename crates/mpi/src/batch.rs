//! Batches distributed over MPI ranks: rank 0 sends portions of fits, and the other ranks return results until rank 0
//! sends the end message.

use crate::{ended, failure};
use dualfit::parts::Workers;
use dualfit::{BatchData, BatchFit, CurveFit, Starts};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// Tag of a message with the number of bytes that follow. To a worker, the number [`END`] means that no more requests
/// follow; after the end message, no bytes mean that rank 0 has no error.
const LENGTH: i32 = 0;
const BYTES: i32 = 1;
const END: u64 = 0;
/// Maximum size of one MPI message, in bytes: an MPI count is an i32. A request or reply can take several messages.
const MOST: usize = 1 << 30;
/// Sleep between two polls for a message. A blocking MPI call would keep a core busy that fits can use.
const PAUSE: Duration = Duration::from_micros(50);

/// Last byte of a reply: `ANSWER` if the reply contains results, `FAILED` if it contains an error message.
const ANSWER: u8 = 0;
const FAILED: u8 = 1;

/// Fits a batch on all ranks, as [`CurveFit::fit_batch_parts`] does. Rank 0 has the data, sends portions of fits to the
/// other ranks, and fits portions itself. All ranks must call this function with identically configured curves.
/// `batch`: data and starting points on rank 0; the value on other ranks is ignored and usually `None`. Rank 0 returns
/// the fits and the others return `None`. If rank 0 has no batch, all return `None`. If there is an error, all return
/// it.
///
/// The result has the same bits as [`CurveFit::fit_batch`] on any number of ranks. One rank per machine is best: each
/// rank uses all cores available to it. The messages use a duplicate of the communicator, separate from other messages.
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
/// On rank 0, the errors of [`CurveFit::fit_batch_parts`]. On the others,
/// [`PartsError::Leader`](dualfit::error::PartsError::Leader) with the message of that error.
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

/// All ranks except 0, the leader, as workers.
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

/// Receives the next bytes from a rank; `None` after the end message.
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
