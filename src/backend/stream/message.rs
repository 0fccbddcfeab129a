//! Messages between the leader of a distributed fit and its parts.
//!
//! They are serialised in the `postcard` format, in which floats keep their bits. Bytes are not trusted: version and
//! contents of every message are validated before it is used.

use super::first_pass::{FirstPass, GROUP_POINTS};
use super::question::{Answer, Question, Terms};
use crate::data::Missing;
use crate::data::scaling::Units;
use crate::data::sigma::Sigma;
use crate::data::stream::StreamPoints;
use crate::data::summary::Overview;
use crate::data::validate_stream::{Survey, pieces_of};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Version of the message format.
const VERSION: u32 = 2;

/// The properties of a model in which the leader and a part must agree: names and values.
pub(crate) type ModelIdentity = Vec<(String, String)>;

/// Request of the leader to all parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Requests the properties of the points of a part; the reply is [`Held`].
    Held,
    /// Requests the first pass, with a sample of at most `most` points. `at_start`: true if the starting point is known
    /// and the normal equations there are requested.
    Look { terms: Terms, at_start: bool, most: u64 },
    /// Requests a second pass of the validation, which computes the sums of the [`Survey`] in `units`.
    LookAgain { units: Units },
    /// Requests the result of a pass.
    Ask { overview: Overview, terms: Terms, question: Question },
}

/// A request with the identity of the leader's model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Envelope {
    version: u32,
    pub(crate) model: ModelIdentity,
    pub(crate) request: Request,
}

/// Reply of a part, or merged reply of adjacent parts.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Reply {
    version: u32,
    /// Range of the points that the reply covers, counted over all points of the fit.
    pub(crate) points: Range<u64>,
    pub(crate) said: Said,
}

/// Content of a reply. The variants correspond to those of [`Request`]; `Answer` is the reply to `Ask`.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Said {
    Held(Held),
    Look(Box<FirstPass>),
    LookAgain(Box<Survey>),
    Answer(Answer),
    /// The reason why a part cannot reply.
    Refused(Refusal),
}

/// Reason why a part refuses a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// The part cannot read or evaluate its points, for the given reason.
    Points(String),
    /// The part that begins at point number `first` has a different model than the leader.
    Model { first: u64, field: String, leader: String, part: String },
}

/// Properties of the points of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Number of independent variables.
    pub(crate) columns: u32,
    pub(crate) sigma: KnownErrors,
    pub(crate) omits_missing: bool,
    pub(crate) infinite_x: bool,
    /// Hash of the points, as a wrapping sum over their groups; the hashes of adjacent parts are added.
    pub(crate) fingerprint: u64,
}

/// Kind of the errors of y.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum KnownErrors {
    Unknown,
    Constant(f64),
    Relative,
    Absolute,
}

impl Held {
    /// Returns the corresponding settings for a stream.
    pub(crate) fn points(&self) -> StreamPoints {
        StreamPoints {
            sigma: match self.sigma {
                KnownErrors::Unknown => Sigma::Unknown,
                KnownErrors::Constant(sigma) => Sigma::Constant(sigma),
                KnownErrors::Relative => Sigma::RelativeColumn,
                KnownErrors::Absolute => Sigma::AbsoluteColumn,
            },
            missing: if self.omits_missing { Missing::Omit } else { Missing::Error },
            infinite_x: self.infinite_x,
        }
    }

    pub(crate) fn has_sigma(&self) -> bool {
        matches!(self.sigma, KnownErrors::Relative | KnownErrors::Absolute)
    }
}

impl Envelope {
    pub(crate) fn new(model: ModelIdentity, request: Request) -> Envelope {
        Envelope { version: VERSION, model, request }
    }
}

impl Reply {
    pub(crate) fn new(points: Range<u64>, said: Said) -> Reply {
        Reply { version: VERSION, points, said }
    }

    /// Merges this reply with `other`, the reply for the following points. If one of the two is a refusal, the result
    /// is this refusal.
    ///
    /// # Errors
    /// Returns a message if the points of `other` do not follow, or if the two are replies to different requests.
    pub(crate) fn followed_by(self, other: Reply) -> Result<Reply, String> {
        let (left, right) = (self.points.clone(), other.points.clone());
        if left.end != right.start {
            return Err(format!(
                "points {}..{} are followed by points {}..{}",
                left.start, left.end, right.start, right.end
            ));
        }
        let said = match (self.said, other.said) {
            (refused @ Said::Refused(_), _) | (_, refused @ Said::Refused(_)) => refused,
            (Said::Held(mut held), Said::Held(more)) => {
                let fingerprint = held.fingerprint.wrapping_add(more.fingerprint);
                held.fingerprint = more.fingerprint;
                if held != more {
                    return Err(format!("parts hold points of two kinds, {held:?} and {more:?}"));
                }
                Said::Held(Held { fingerprint, ..held })
            }
            (Said::Look(mut look), Said::Look(more)) => {
                look.follow(*more)?;
                Said::Look(look)
            }
            (Said::LookAgain(mut survey), Said::LookAgain(more)) => {
                survey.follow(*more)?;
                Said::LookAgain(survey)
            }
            (Said::Answer(mut answer), Said::Answer(more)) => {
                answer.follow(more)?;
                Said::Answer(answer)
            }
            _ => return Err("they are replies to different requests".into()),
        };
        Ok(Reply::new(left.start..right.end, said))
    }

    /// Returns true if the sums cover exactly the points in [`points`](Reply::points).
    fn is_sound(&self) -> bool {
        let Range { start, end } = self.points;
        if !start.is_multiple_of(GROUP_POINTS) || end < start {
            return false;
        }
        let pieces = pieces_of(start)..pieces_of(end);
        match &self.said {
            Said::Held(_) | Said::Refused(_) => true,
            Said::Look(look) => look.is_sound(start..end),
            Said::LookAgain(survey) => survey.is_sound(pieces),
            Said::Answer(answer) => answer.is_whole(pieces),
        }
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8], version: impl Fn(&T) -> u32) -> Result<T, String> {
    let read = from_bytes::<T>(bytes)?;
    match version(&read) {
        VERSION => Ok(read),
        other => Err(format!("it is of version {other}, and {VERSION} is understood")),
    }
}

/// Deserialises a request.
///
/// # Errors
/// Returns a message if the bytes are damaged or have another version.
pub(crate) fn read_envelope(bytes: &[u8]) -> Result<Envelope, String> {
    read(bytes, |envelope: &Envelope| envelope.version)
}

/// Deserialises a reply.
///
/// # Errors
/// Returns a message if the bytes are damaged, have another version, or if the sums do not cover the points.
pub(crate) fn read_reply(bytes: &[u8]) -> Result<Reply, String> {
    let reply = read(bytes, |reply: &Reply| reply.version)?;
    match reply.is_sound() {
        true => Ok(reply),
        false => Err("its sums are not of the points that it is said to be of".into()),
    }
}

/// Serialises `value`.
///
/// # Errors
/// Returns a message if `value` cannot be serialised.
pub(crate) fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|why| format!("it cannot be written as bytes: {why}"))
}

/// Deserialises a value from all of `bytes`.
///
/// # Errors
/// Returns a message if the bytes do not contain a `T`, or if bytes remain after it.
pub(crate) fn from_bytes<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, String> {
    match beginning::<T>(bytes)? {
        (value, []) => Ok(value),
        (_, left) => Err(format!("{} bytes are left over after its contents", left.len())),
    }
}

/// Deserialises a value from the first bytes. Returns the value and the remaining bytes.
///
/// # Errors
/// Returns a message if the bytes do not begin with a `T`.
pub(crate) fn beginning<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<(T, &'b [u8]), String> {
    postcard::take_from_bytes(bytes).map_err(|why| format!("its contents are damaged: {why}"))
}
