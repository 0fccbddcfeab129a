//! The leader of a distributed batch: it sends portions (ranges of consecutive fits) to workers, runs other portions
//! itself, and collects the results.
//!
//! Portions are assigned in the order of the fits. The portion of a lost worker is assigned next. Therefore, if the
//! starting points of some fits are invalid, the batch returns the error of the first of these fits, as a local batch
//! does.

use super::portions::Sizes;
use crate::curve_fit::{CurveFit, Ready};
use crate::data::batch::sent::{SentData, SentStarts};
use crate::error::{Error, Result, WorkerError};
use crate::fit::batch::Made;
use crate::fit::batch::arrays::BatchPart;
use crate::fit::batch::message::{Answered, BatchParts, LostWorker, Question, read_answer};
use crate::fit::batch::request::{BatchRequest, fill_all_threads};
use crate::fit::spec::FitSpec;
use crate::fit::stream::checkpoint::Identity;
use crate::host::since_1970;
use crate::model::program::panic_message;
use crate::solver::observe::{BatchProgress, Event, wants_to_stop};
use crate::threads::lock;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Ticket (identifier) of the next request. It differs from the tickets of an earlier process, because replies to that
/// process may still arrive.
static TICKET: LazyLock<AtomicU64> =
    LazyLock::new(|| AtomicU64::new(since_1970().as_nanos() as u64));

/// Leader of a distributed batch.
pub(super) struct Leader<'l, 'a, 'p> {
    pub(super) curve: &'l CurveFit,
    pub(super) request: &'l BatchRequest<'a>,
    pub(super) ready: &'l Ready,
    pub(super) identity: Identity,
    pub(super) sizes: Sizes,
    pub(super) state: Mutex<State<'p>>,
}

/// Remaining fits and progress.
#[derive(Default)]
pub(super) struct State<'p> {
    /// Fits that are not assigned yet.
    rest: Option<BatchPart<'p>>,
    /// Portions of lost workers, with the index of their first fit as key.
    back: BTreeMap<usize, BatchPart<'p>>,
    /// The first portion that failed.
    failed: Option<(usize, Obstacle<'p>)>,
    /// True if the observer stopped the batch. If the observer panicked, `panic` contains the message.
    stopped: bool,
    panic: Option<String>,
    finished: usize,
    course: BatchParts,
    /// Report on the portions that the leader ran.
    made: Option<Made>,
}

/// Reason why a portion failed.
enum Obstacle<'p> {
    Own(Error),
    Refused { worker: usize, why: String, part: BatchPart<'p> },
}

/// State of a worker.
enum Hand<'p> {
    Idle,
    Asked { ticket: u64, part: BatchPart<'p> },
    Lost,
}

impl<'p> State<'p> {
    pub(super) fn new(all: BatchPart<'p>, workers: usize) -> State<'p> {
        let course = BatchParts { workers, ..BatchParts::default() };
        State { rest: Some(all), course, ..State::default() }
    }

    fn lose(&mut self, worker: usize, reason: String) {
        self.course.lost.push(LostWorker { worker, reason });
    }

    fn fail(&mut self, first: usize, obstacle: Obstacle<'p>) {
        if self.failed.as_ref().is_none_or(|(other, _)| first < *other) {
            self.failed = Some((first, obstacle));
        }
    }
}

impl<'p> Leader<'_, '_, 'p> {
    /// Returns the next portion, of about `samples` samples; `None` if the batch is stopped or complete.
    fn take(&self, samples: usize) -> Option<BatchPart<'p>> {
        let mut state = lock(&self.state);
        if state.stopped || self.request.spec.is_cancelled() {
            return None;
        }
        let before = state.failed.as_ref().map(|(first, _)| *first);
        if let Some(entry) = state.back.first_entry()
            && before.is_none_or(|before| *entry.key() < before)
        {
            return Some(entry.remove());
        }
        let rest = state.rest.take_if(|rest| rest.len() > 0 && before.is_none())?;
        let fits = self.sizes.next(self.request.data, rest.first, rest.len(), samples);
        let (part, behind) = rest.split(fits);
        state.rest = Some(behind);
        Some(part)
    }

    /// Runs portions until no portion remains.
    pub(super) fn make(&self) {
        while let Some(part) = self.take(self.sizes.own) {
            let (first, fits) = (part.first, part.len());
            match self.make_one(part) {
                Ok(made) => {
                    let mut state = lock(&self.state);
                    state.course.by_leader += 1;
                    state.made = Some(match state.made.take() {
                        Some(before) => before.followed_by(made),
                        None => made,
                    });
                    self.tell(&mut state, fits);
                }
                Err(error) => lock(&self.state).fail(first, Obstacle::Own(error)),
            }
        }
    }

    /// Runs a portion in the same way as a worker.
    fn make_one(&self, mut part: BatchPart<'p>) -> Result<Made> {
        let (fits, mut offsets) = (part.first..part.first + part.len(), Vec::new());
        let data = self.request.data.piece(&fits, &mut offsets);
        let starts = self.request.starts.piece(&fits, part.width);
        let on_one_thread = fill_all_threads(data.n_fits());
        let spec = FitSpec { on_one_thread, ..self.request.spec.clone() };
        let (spec, data, starts) = (&spec, &data, &starts);
        let request = BatchRequest { spec, data, starts, observer: None, ..*self.request };
        part.first = 0;
        self.curve.make_fits(&request, self.ready, None, part)
    }

    /// Reports `fits` more finished fits to the observer. Only one thread at a time calls the observer, so that the
    /// reported numbers increase.
    fn tell(&self, state: &mut State<'p>, fits: usize) {
        state.finished += fits;
        let Some(observer) = self.request.observer else { return };
        if state.stopped || state.failed.is_some() {
            return;
        }
        let (n_fits, elapsed) = (self.request.data.n_fits(), self.request.begun.elapsed());
        let progress = BatchProgress { finished: state.finished, n_fits, elapsed };
        match wants_to_stop(observer, Event::Batch(progress)) {
            Ok(stop) => state.stopped |= stop,
            Err(message) => (state.panic, state.stopped) = (Some(message), true),
        }
    }

    /// Sends portions to workers until no portion remains, and waits for the replies.
    pub(super) fn ask(&self, workers: &mut impl Workers, count: usize) {
        let mut hands: Vec<Hand<'p>> = (0..count).map(|_| Hand::Idle).collect();
        loop {
            if let Err(why) = self.send(workers, &mut hands) {
                return self.lose_all(hands, &why);
            }
            if !hands.iter().any(|hand| matches!(hand, Hand::Asked { .. })) {
                return;
            }
            let (worker, answer) = match guarded(|| workers.receive()) {
                Ok(Ok(answer)) => answer,
                Ok(Err(why)) => return self.lose_all(hands, &why.to_string()),
                Err(why) => return self.lose_all(hands, &why),
            };
            let Some(hand) = hands.get_mut(worker) else {
                let why = format!("there was an answer of worker {worker}, which was not asked");
                return self.lose_all(hands, &why);
            };
            *hand = match std::mem::replace(hand, Hand::Lost) {
                Hand::Asked { ticket, part } => self.take_in(worker, ticket, part, answer),
                Hand::Idle => {
                    lock(&self.state).lose(worker, "it has answered without a question".into());
                    Hand::Lost
                }
                Hand::Lost => Hand::Lost,
            };
        }
    }

    /// Sends a portion to each idle worker.
    ///
    /// # Errors
    /// Returns a message if no worker can receive requests any more.
    fn send(
        &self,
        workers: &mut impl Workers,
        hands: &mut [Hand<'p>],
    ) -> std::result::Result<(), String> {
        for (worker, hand) in hands.iter_mut().enumerate() {
            if !matches!(hand, Hand::Idle) {
                continue;
            }
            let Some(part) = self.take(self.sizes.sent) else { break };
            let ticket = TICKET.fetch_add(1, Ordering::Relaxed);
            let sent = self.question(&part, ticket).and_then(|question| {
                let sent = guarded(|| workers.send(worker, &question))?;
                lock(&self.state).course.question_bytes += question.len() as u64;
                Ok(sent)
            });
            *hand = Hand::Asked { ticket, part };
            if let Err(why) = sent? {
                *hand = self.lose(worker, std::mem::replace(hand, Hand::Lost), why.to_string());
            }
        }
        Ok(())
    }

    fn question(&self, part: &BatchPart<'_>, ticket: u64) -> std::result::Result<Vec<u8>, String> {
        let (fits, mut offsets) = (part.first..part.first + part.len(), Vec::new());
        let data = self.request.data.piece(&fits, &mut offsets);
        let starts = self.request.starts.piece(&fits, part.width);
        let (starts, data) = (SentStarts::from(&starts), SentData::from(&data));
        Question::new(&self.identity, part, starts, data).to_bytes(ticket)
    }

    /// Stores the reply of a worker for a portion.
    fn take_in(
        &self,
        worker: usize,
        ticket: u64,
        mut part: BatchPart<'p>,
        answer: io::Result<Vec<u8>>,
    ) -> Hand<'p> {
        let bytes = match answer {
            Ok(bytes) => bytes,
            Err(why) => return self.lose(worker, Hand::Asked { ticket, part }, why.to_string()),
        };
        let samples = |fit: usize| self.request.data.range(part.first + fit).len();
        let why = match read_answer(&bytes, ticket, &part, samples) {
            Ok(Answered::Refused(why)) => {
                let first = part.first;
                lock(&self.state).fail(first, Obstacle::Refused { worker, why, part });
                return Hand::Idle;
            }
            Ok(Answered::Found(found))
                if found.is_complete() || self.request.spec.is_cancelled() =>
            {
                found.write(&mut part);
                let mut state = lock(&self.state);
                state.course.by_workers += 1;
                state.course.answer_bytes += bytes.len() as u64;
                self.tell(&mut state, part.len());
                return Hand::Idle;
            }
            Ok(Answered::Found(_)) => "it was stopped".into(),
            Err(why) => format!("its answer is none: {why}"),
        };
        self.lose(worker, Hand::Asked { ticket, part }, why)
    }

    /// Returns the portion of a lost worker to the queue.
    fn lose(&self, worker: usize, hand: Hand<'p>, reason: String) -> Hand<'p> {
        let mut state = lock(&self.state);
        if let Hand::Asked { part, .. } = hand {
            state.back.insert(part.first, part);
        }
        state.lose(worker, reason);
        Hand::Lost
    }

    fn lose_all(&self, hands: Vec<Hand<'p>>, why: &str) {
        for (worker, hand) in hands.into_iter().enumerate() {
            if !matches!(hand, Hand::Lost) {
                self.lose(worker, hand, why.to_owned());
            }
        }
    }

    /// Returns the report on the batch.
    ///
    /// # Errors
    /// [`Error::ObserverPanicked`]; errors in the starts of fits, as in a local batch; [`Error::Worker`] if
    /// a worker rejects its portion and the leader finds no error.
    pub(super) fn conclude(mut self) -> Result<Made> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let State { failed, panic, course, made, .. } = std::mem::take(state);
        match failed {
            Some((_, Obstacle::Own(error))) => return Err(error),
            Some((_, Obstacle::Refused { worker, why: message, part })) => {
                self.make_one(part)?;
                return Err(WorkerError { worker, message }.into());
            }
            None => {}
        }
        if let Some(message) = panic {
            return Err(Error::ObserverPanicked { message });
        }
        Ok(match made {
            Some(made) => Made {
                reason: format!("{course}; on the leader: {}", made.reason),
                parts: Some(course),
                ..made
            },
            None => Made { reason: course.to_string(), device: None, parts: Some(course) },
        })
    }
}

/// Calls a method of the transport and returns its result.
///
/// # Errors
/// Returns the message of a panic.
fn guarded<R>(call: impl FnOnce() -> R) -> std::result::Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        format!("what brings questions to the workers panicked: {}", panic_message(&*panic))
    })
}

/// Transport to the workers of [`fit_batch_parts`](crate::CurveFit::fit_batch_parts): processes, threads or
/// machines. A worker processes a request with [`answer_batch`](crate::CurveFit::answer_batch); this trait transfers
/// the bytes.
///
/// All calls are made on the thread that called `fit_batch_parts`. A worker has one request at a time. When
/// `fit_batch_parts` returns, every worker that was not lost has replied and can receive the next batch.
pub trait Workers {
    /// Returns the number of workers; they are numbered from 0. Called once per batch.
    fn count(&self) -> usize;

    /// Sends a request to an idle worker. The function may return before the worker has received the request.
    ///
    /// # Errors
    /// If the worker cannot be reached. The worker then counts as lost, and nothing more is sent to it in this batch.
    fn send(&mut self, worker: usize, question: &[u8]) -> io::Result<()>;

    /// Waits for the next reply from any worker and returns the worker's number and the reply. An error instead of the
    /// reply means that this worker is lost: its portion is repeated elsewhere, and it is not used in this batch any
    /// more. This function is called only while a worker has a request.
    ///
    /// # Errors
    /// If no worker can reply. All workers then count as lost, and the leader runs the remaining fits. The transport
    /// must discard outstanding messages.
    fn receive(&mut self) -> io::Result<(usize, io::Result<Vec<u8>>)>;
}
