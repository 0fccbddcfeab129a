//! Distributed batches. Requests and replies are byte strings that any transport can carry.

mod leader;
mod portions;

pub use crate::curve_fit::batch_parts::leader::Workers;

use crate::backend::stream::to_bytes;
use crate::curve_fit::{CurveFit, Ready};
use crate::data::batch::sent::Room;
use crate::data::batch::{BatchData, Starts};
use crate::data::loss::Loss;
use crate::error::Result;
use crate::fit::batch::BatchFit;
use crate::fit::batch::arrays::Arrays;
use crate::fit::batch::message::{self, Asked, BatchParts, MOST_FITS, Question, read_question};
use crate::fit::batch::request::BatchRequest;
use crate::fit::stream::checkpoint::Identity;
use crate::host::Instant;
use crate::model::native::Model;
use crate::observe::span;
use crate::threads;
use leader::{Leader, State};
use portions::Sizes;
use sha2::{Digest, Sha256};
use std::borrow::Borrow;
use std::io;
use std::sync::Mutex;

impl CurveFit {
    /// Runs the batch of [`fit_batch`](CurveFit::fit_batch) together with workers: other processes, machines, or
    /// threads. The calling process is the leader. It sends portions of the fits, with their data, to the workers, runs
    /// other portions itself in the meantime, and collects the results in the order of the fits. If a worker is lost,
    /// another worker or the leader repeats its portion. Without any worker, the leader runs the whole batch.
    ///
    /// On CPUs, the result is bit-identical for any number of workers and any division of the fits. Leader and workers
    /// may have different [`backend`](CurveFit::backend)s; the last digits of a fit then depend on the hardware that
    /// computed it.
    ///
    /// Limits apply to each fit separately. The token and the observer of the leader apply to the batch; a worker that
    /// is cancelled by its own token counts as lost. After a cancellation, the batch ends when the workers have replied
    /// to their current requests, which takes some tens of milliseconds.
    /// [`BatchFit::parts`](crate::BatchFit::parts) lists the portions of each worker.
    ///
    /// ```
    /// use dualfit::parts::Workers;
    /// use dualfit::{BatchData, CurveFit};
    /// use std::io;
    /// use std::sync::mpsc::{Receiver, Sender, channel};
    /// use std::thread;
    ///
    /// /// Threads, as an example of a transport.
    /// struct Threads {
    ///     questions: Vec<Sender<Vec<u8>>>,
    ///     answers: Receiver<(usize, io::Result<Vec<u8>>)>,
    /// }
    ///
    /// impl Workers for Threads {
    ///     fn count(&self) -> usize {
    ///         self.questions.len()
    ///     }
    ///     fn send(&mut self, worker: usize, question: &[u8]) -> io::Result<()> {
    ///         self.questions[worker].send(question.to_vec()).map_err(io::Error::other)
    ///     }
    ///     fn receive(&mut self) -> io::Result<(usize, io::Result<Vec<u8>>)> {
    ///         self.answers.recv().map_err(io::Error::other)
    ///     }
    /// }
    ///
    /// let decay = CurveFit::new(|x, [a, r]| a * (-r * x).exp());
    /// let (answer, answers) = channel();
    /// let mut questions = Vec::new();
    /// for worker in 0..3 {
    ///     let (question, asked) = channel::<Vec<u8>>();
    ///     questions.push(question);
    ///     let (decay, answer) = (decay.clone(), answer.clone());
    ///     thread::spawn(move || {
    ///         for question in asked {
    ///             let _ = answer.send((worker, decay.answer_batch(&question)));
    ///         }
    ///     });
    /// }
    ///
    /// let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    /// let rate = |fit: usize| 0.5 + 1e-3 * fit as f64;
    /// let stack: Vec<f64> =
    ///     (0..2000).flat_map(|fit| x.iter().map(move |x| 3.0 * (-rate(fit) * x).exp())).collect();
    /// let data = BatchData::shared(&x, &stack)?;
    /// let batch = decay.fit_batch_parts(&data, [1.0, 1.0], &mut Threads { questions, answers })?;
    /// assert!((batch.fit(1234).params()[1] - rate(1234)).abs() < 1e-9);
    /// println!("{}", batch.reason()); // 9 portions by 3 workers, 1 by the leader; …
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`fit_batch`](CurveFit::fit_batch); [`Error::Worker`](crate::Error::Worker) if a worker has
    /// another model or other settings.
    pub fn fit_batch_parts<'a, 's>(
        &self,
        data: impl Borrow<BatchData<'a>>,
        starts: impl Into<Starts<'s>>,
        workers: &mut impl Workers,
    ) -> Result<BatchFit> {
        let (data, starts) = (data.borrow(), &starts.into());
        let _span = span!(INFO, "batch", fits = data.n_fits(), parameters = self.names.len());
        let begun = Instant::now();
        self.check_whole(data, starts)?;
        let ready = self.ready(&self.free_positions())?;
        let spec = self.batch_spec(ready, data)?;
        let request = self.batch_request(&spec, data, starts, begun);
        // Adapted starting points depend on the whole batch; therefore the leader computes them.
        let adapted = self.batch_starts(&request)?;
        let request = &request.with_starts(adapted.as_ref());
        let mut arrays = self.batch_arrays(request);
        let (count, covariances) = (workers.count(), !arrays.covariances.is_empty());
        let all = arrays.whole();
        // At most one worker per fit can be used.
        let count = count.min(all.len());
        let made = match count {
            0 => {
                let by_leader = usize::from(all.len() > 0);
                let mut made = self.make_fits(request, ready, None, all)?;
                made.parts = Some(BatchParts { by_leader, ..BatchParts::default() });
                made
            }
            count => {
                let native = matches!(ready.model, Model::Native(_));
                let leader = Leader {
                    curve: self,
                    request,
                    ready,
                    identity: self.batch_identity(ready),
                    sizes: Sizes::of(request, count, native, covariances),
                    state: Mutex::new(State::new(all, count)),
                };
                threads::beside(|| leader.make(), || leader.ask(workers, count));
                // Portions of lost workers that were returned after the leader had finished.
                leader.make();
                leader.conclude()?
            }
        };
        self.batch_fit(request, ready, arrays, made)
    }

    /// Processes a request from the leader of a batch on a worker: runs the fits and returns the reply. The worker
    /// needs an identically configured `CurveFit`. Errors of the fits are part of the reply. The observer is not
    /// called.
    ///
    /// # Errors
    /// `InvalidData` if the bytes are not a request.
    pub fn answer_batch(&self, question: &[u8]) -> io::Result<Vec<u8>> {
        let (ticket, made) = match read_question(question).map_err(|why| invalid(&why))? {
            Asked::Foreign { ticket, why } => (ticket, Err(why)),
            Asked::Fits { ticket, question } => (ticket, self.made(&question)?),
        };
        message::answer(ticket, made.as_ref().map_err(Clone::clone)).map_err(|why| invalid(&why))
    }

    /// Runs the fits of a request. Returns their results, or the error for the reply.
    fn made(&self, question: &Question<'_>) -> io::Result<std::result::Result<Arrays, String>> {
        let (starts, mut room) = (question.starts.starts(), Room::default());
        let data = question.data.data(&mut room).map_err(|error| invalid(&error.to_string()))?;
        if data.n_fits() > MOST_FITS {
            return Err(invalid(&format!("it is about {} fits", data.n_fits())));
        }
        let ready = self.check().and_then(|()| self.ready(&self.free_positions()));
        let difference = match ready {
            Ok(ready) => question.disagreement(&self.batch_identity(ready)),
            Err(error) => Some(error.to_string()),
        };
        if let Some(difference) = difference {
            return Ok(Err(difference));
        }
        let about = |error| format!("fits from number {} on: {error}", question.first);
        Ok(self.made_of(question, &data, &starts).map_err(about))
    }

    fn made_of(
        &self,
        question: &Question<'_>,
        data: &BatchData<'_>,
        starts: &Starts<'_>,
    ) -> Result<Arrays> {
        self.check_batch(data, starts)?;
        let ready = self.ready(&self.free_positions())?;
        let spec = self.batch_spec(ready, data)?;
        let request = self.batch_request(&spec, data, starts, Instant::now());
        let request = BatchRequest { observer: None, ..request };
        let (fits, width) = (data.n_fits(), self.names.len());
        let mut arrays = Arrays::new(fits, width, question.sides, question.covariances);
        self.make_fits(&request, ready, None, arrays.whole())?;
        Ok(arrays)
    }

    /// Returns the settings that must be equal for the leader of a batch and its workers.
    fn batch_identity(&self, ready: &Ready) -> Identity {
        let fixed = |i: usize| if self.fixed[i] { ", fixed" } else { "" };
        let parameter = |i: usize| {
            let (lower, upper) = self.bounds[i];
            let tie = self.ties.iter().find(|tie| tie.name == self.names[i]);
            let tied = tie.map_or(String::new(), |tie| format!(", tied to {}", tie.text));
            format!("{} in [{lower:?}, {upper:?}]{}{tied}", self.names[i], fixed(i))
        };
        let parameters: Vec<String> = (0..self.names.len()).map(parameter).collect();
        // A custom loss has no name; its formula is compared by a digest.
        let formula = match self.loss {
            Loss::Custom { .. } => digest_of(&to_bytes(&self.loss).unwrap_or_default()),
            _ => String::new(),
        };
        let CurveFit { loss, estimator, options, priors, scales, precision, .. } = self;
        let (clamped, few) = (self.clamp_start, self.underdetermined);
        let guess = self.guess.is_some();
        Identity(vec![
            ("parameters", parameters.join("; ")),
            ("model", self.listing(&ready.model)),
            ("loss and estimator", format!("{loss:?} {formula}, {estimator:?}")),
            ("options", format!("{options:?}, {precision:?}")),
            ("priors and scales", format!("{priors:?}, {scales:?}")),
            ("starts", format!("clamped: {clamped}, fewer points: {few}, guess: {guess}")),
        ])
    }
}

/// Returns the SHA-256 digest in hexadecimal digits.
fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no question: {why}"))
}
