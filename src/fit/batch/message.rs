//! Messages between the leader of a batch and its workers, as bytes of the `postcard` format: requested fits and
//! their results. Received messages are validated before use.

use super::arrays::{Arrays, BatchPart};
use super::status::FitStatus;
use crate::backend::stream::{beginning, from_bytes, to_bytes};
use crate::data::batch::sent::{SentData, SentStarts};
use crate::data::raw::Raw;
use crate::fit::stream::checkpoint::Identity;
use crate::solver::bounds::Side;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Version of the messages. All versions have the same header, and a refusal as the first kind of reply.
const VERSION: u32 = 1;
/// First bytes of requests and replies.
const QUESTION: [u8; 8] = *b"dualfitQ";
const ANSWER: [u8; 8] = *b"dualfitA";
/// Maximum number of fits per request. It limits the length of the reply to a short request.
pub(crate) const MOST_FITS: usize = 1 << 15;

#[derive(Serialize, Deserialize)]
struct Header {
    kind: [u8; 8],
    version: u32,
    /// Ticket (identifier) of the request; the reply repeats it.
    ticket: u64,
}

/// Request for fits.
#[derive(Serialize, Deserialize)]
pub(crate) struct Question<'a> {
    /// Names and values of the settings that must be equal for leader and worker.
    identity: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Number of the first fit, counted in the whole batch.
    pub(crate) first: u64,
    /// True if covariance matrices are requested.
    pub(crate) covariances: bool,
    /// True if active bounds are requested.
    pub(crate) sides: bool,
    pub(crate) starts: SentStarts<'a>,
    pub(crate) data: SentData<'a>,
}

#[derive(Serialize, Deserialize)]
enum Said<'a> {
    /// Reason for the refusal.
    Refused(Cow<'a, str>),
    Found(Box<Found<'a>>),
}

/// Results of all fits of a request, laid out as in [`Arrays`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Found<'a> {
    params: Raw<'a, f64>,
    errors: Raw<'a, f64>,
    costs: Raw<'a, f64>,
    statuses: Cow<'a, [FitStatus]>,
    iterations: Cow<'a, [u32]>,
    evaluations: Cow<'a, [u32]>,
    points: Cow<'a, [u64]>,
    weights: Raw<'a, f64>,
    ranks: Cow<'a, [u32]>,
    sides: Cow<'a, [Option<Side>]>,
    covariances: Raw<'a, f64>,
}

/// A request received by a worker.
pub(crate) enum Asked<'a> {
    Fits {
        ticket: u64,
        question: Box<Question<'a>>,
    },
    /// A request from a leader of another version. The worker replies with a refusal.
    Foreign {
        ticket: u64,
        why: String,
    },
}

/// A reply of a worker.
pub(crate) enum Answered<'a> {
    Found(Box<Found<'a>>),
    Refused(String),
}

impl<'a> Question<'a> {
    /// Creates a request for the fits of `out`.
    pub(crate) fn new(
        identity: &'a Identity,
        out: &BatchPart<'_>,
        starts: SentStarts<'a>,
        data: SentData<'a>,
    ) -> Question<'a> {
        Question {
            identity: identity
                .0
                .iter()
                .map(|(name, value)| ((*name).into(), value.into()))
                .collect(),
            first: out.first as u64,
            covariances: !out.covariances.is_empty(),
            sides: !out.sides.is_empty(),
            starts,
            data,
        }
    }

    /// Returns the request as bytes.
    ///
    /// # Errors
    /// An error text if serialisation fails.
    pub(crate) fn to_bytes(&self, ticket: u64) -> Result<Vec<u8>, String> {
        to_bytes(&(Header { kind: QUESTION, version: VERSION, ticket }, self))
    }

    /// Returns an error text about the first setting that differs between leader and worker. `own`: settings of the
    /// worker.
    pub(crate) fn disagreement(&self, own: &Identity) -> Option<String> {
        let theirs: Vec<(&str, &str)> =
            self.identity.iter().map(|(name, value)| (&**name, &**value)).collect();
        let difference = own.compare(&theirs)?;
        Some(format!("it does not agree with the leader on {difference}"))
    }
}

/// Reads a request.
///
/// # Errors
/// An error text if the bytes are not a request.
pub(crate) fn read_question(bytes: &[u8]) -> Result<Asked<'_>, String> {
    let (ticket, body) = match opened(bytes, QUESTION)? {
        (ticket, Ok(body)) => (ticket, body),
        (ticket, Err(why)) => return Ok(Asked::Foreign { ticket, why }),
    };
    let question: Box<Question<'_>> = from_bytes(body)?;
    Ok(Asked::Fits { ticket, question })
}

/// Returns the ticket and the body of a message; instead of the body an error text if the version differs.
fn opened(bytes: &[u8], kind: [u8; 8]) -> Result<(u64, Result<&[u8], String>), String> {
    let (header, body) = beginning::<Header>(bytes)?;
    if header.kind != kind {
        return Err("it begins with other bytes".into());
    }
    let body = match header.version {
        VERSION => Ok(body),
        other => Err(format!("messages of version {other} and of {VERSION} have met")),
    };
    Ok((header.ticket, body))
}

/// Returns the reply to a request as bytes: the results, or the error.
///
/// # Errors
/// An error text if serialisation fails.
pub(crate) fn answer(ticket: u64, made: Result<&Arrays, String>) -> Result<Vec<u8>, String> {
    let said = match made {
        Ok(arrays) => Said::Found(Box::new(Found {
            params: arrays.params[..].into(),
            errors: arrays.errors[..].into(),
            costs: arrays.costs[..].into(),
            statuses: Cow::Borrowed(&arrays.statuses),
            iterations: Cow::Borrowed(&arrays.iterations),
            evaluations: Cow::Borrowed(&arrays.evaluations),
            points: arrays.points.iter().map(|&points| points as u64).collect(),
            weights: arrays.weights[..].into(),
            ranks: Cow::Borrowed(&arrays.ranks),
            sides: Cow::Borrowed(&arrays.sides),
            covariances: arrays.covariances[..].into(),
        })),
        Err(why) => Said::Refused(why.into()),
    };
    to_bytes(&(Header { kind: ANSWER, version: VERSION, ticket }, said))
}

/// Reads a worker's reply to the request with this ticket, for the fits of `out`. `samples`: number of samples of each
/// fit.
///
/// # Errors
/// An error text if the bytes are not a reply to this request.
pub(crate) fn read_answer<'b>(
    bytes: &'b [u8],
    ticket: u64,
    out: &BatchPart<'_>,
    samples: impl Fn(usize) -> usize,
) -> Result<Answered<'b>, String> {
    let (theirs, body) = opened(bytes, ANSWER)?;
    if theirs != ticket {
        return Err("it is the answer to another question".into());
    }
    let body = match body {
        Ok(body) => body,
        Err(why) => return Ok(Answered::Refused(why)),
    };
    match from_bytes(body)? {
        Said::Refused(why) => Ok(Answered::Refused(why.into_owned())),
        Said::Found(found) => {
            found.check(out, samples)?;
            Ok(Answered::Found(found))
        }
    }
}

impl Found<'_> {
    fn check(&self, out: &BatchPart<'_>, samples: impl Fn(usize) -> usize) -> Result<(), String> {
        for (what, got, expected) in [
            ("parameters", self.params.0.len(), out.params.len()),
            ("errors", self.errors.0.len(), out.errors.len()),
            ("costs", self.costs.0.len(), out.costs.len()),
            ("statuses", self.statuses.len(), out.statuses.len()),
            ("iterations", self.iterations.len(), out.iterations.len()),
            ("evaluations", self.evaluations.len(), out.evaluations.len()),
            ("points", self.points.len(), out.points.len()),
            ("weights", self.weights.0.len(), out.weights.len()),
            ("ranks", self.ranks.len(), out.ranks.len()),
            ("sides", self.sides.len(), out.sides.len()),
            ("covariances", self.covariances.0.len(), out.covariances.len()),
        ] {
            if got != expected {
                return Err(format!("it has {got} {what}, and {expected} were asked for"));
            }
        }
        for (fit, status) in self.statuses.iter().enumerate() {
            let samples = samples(fit);
            let points = usize::try_from(self.points[fit]).unwrap_or(usize::MAX);
            let sound = status.is_sound(out.width, samples)
                && points <= samples
                && self.ranks[fit] as usize <= out.width;
            if !sound {
                return Err(format!("what it says of its fit {fit} cannot be: {status}"));
            }
        }
        Ok(())
    }

    /// Returns true if all fits were run: no status is `NotRun`.
    pub(crate) fn is_complete(&self) -> bool {
        !self.statuses.contains(&FitStatus::NotRun)
    }

    /// Writes all results to the requested fits.
    pub(crate) fn write(&self, out: &mut BatchPart<'_>) {
        out.params.copy_from_slice(&self.params.0);
        out.errors.copy_from_slice(&self.errors.0);
        out.costs.copy_from_slice(&self.costs.0);
        out.statuses.copy_from_slice(&self.statuses);
        out.iterations.copy_from_slice(&self.iterations);
        out.evaluations.copy_from_slice(&self.evaluations);
        out.points.iter_mut().zip(&*self.points).for_each(|(out, &points)| *out = points as usize);
        out.weights.copy_from_slice(&self.weights.0);
        out.ranks.copy_from_slice(&self.ranks);
        out.sides.copy_from_slice(&self.sides);
        out.covariances.copy_from_slice(&self.covariances.0);
    }
}

/// Report of [`fit_batch_parts`](crate::CurveFit::fit_batch_parts): workers, and the portions of consecutive fits that
/// they computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct BatchParts {
    /// Number of workers.
    pub workers: usize,
    /// Number of portions that workers computed.
    pub by_workers: usize,
    /// Number of portions that the leader computed.
    pub by_leader: usize,
    /// Lost workers, whose outstanding portions others computed.
    pub lost: Vec<LostWorker>,
    /// Bytes of all requests.
    pub question_bytes: u64,
    /// Bytes of all replies that were used.
    pub answer_bytes: u64,
}

/// A worker that stopped computing fits of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct LostWorker {
    /// Number of the worker, counted from 0.
    pub worker: usize,
    /// Reason of the loss.
    pub reason: String,
}

impl fmt::Display for BatchParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchParts { workers, by_workers, by_leader, lost, .. } = self;
        let [portions, of_workers] =
            [(by_workers, "portion"), (workers, "worker")].map(|(&count, what)| match count {
                1 => format!("1 {what}"),
                _ => format!("{count} {what}s"),
            });
        write!(f, "{portions} by {of_workers}, {by_leader} by the leader")?;
        for LostWorker { worker, reason } in lost {
            write!(f, "; worker {worker} was lost: {reason}")?;
        }
        Ok(())
    }
}
