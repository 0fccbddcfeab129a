//! The leader's connection to the parts of a distributed fit, which evaluate the passes.

use super::message::{Envelope, Held, ModelIdentity, Refusal, Reply, Request, Said, read_reply};
use crate::backend::stream::message::to_bytes;
use crate::data::source::{Shape, Width};
use crate::error::source::SourceError;
use crate::error::{Error, PartsError};
use crate::solver::outcome::Fault;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum number of columns of a model.
const MOST_COLUMNS: u32 = 1 << 16;

/// Sends a request to all parts and returns their replies, merged in the order of the points.
pub(crate) type Ask<'a> = dyn FnMut(&[u8]) -> io::Result<Vec<u8>> + Send + 'a;

/// The points of a distributed fit, as the leader sees them.
pub(crate) struct Elsewhere<'a> {
    ask: Box<Ask<'a>>,
    model: ModelIdentity,
    /// Columns and number of the points.
    pub(crate) shape: Shape,
    /// Fingerprint of the points.
    held: u64,
    /// Number of requests so far.
    pub(crate) questions: u64,
    /// Bytes of the requests and the replies so far.
    pub(crate) bytes: u64,
}

impl<'a> Elsewhere<'a> {
    /// Creates the connection and requests the properties of the points from all parts.
    pub(crate) fn new(
        ask: Box<Ask<'a>>,
        model: ModelIdentity,
    ) -> Result<(Elsewhere<'a>, Held), Fault> {
        let shape = Shape { x: Vec::new(), y: Width::F64, sigma: false, points: None };
        let mut elsewhere = Elsewhere { ask, model, shape, held: 0, questions: 0, bytes: 0 };
        let Reply { points, said, .. } = elsewhere.ask(Request::Held)?;
        let Said::Held(held) = said else { return Err(odd()) };
        if points.start != 0 {
            return Err(lost(format!("the first {} points are missing", points.start)));
        }
        if held.columns > MOST_COLUMNS {
            return Err(lost(format!("they say that they hold {} columns", held.columns)));
        }
        elsewhere.held = held.fingerprint;
        elsewhere.shape = Shape {
            x: vec![Width::F64; held.columns as usize],
            sigma: held.has_sigma(),
            points: Some(points.end),
            ..elsewhere.shape
        };
        Ok((elsewhere, held))
    }

    /// Returns a text that identifies the points. It is known before the first pass, for the check of a checkpoint.
    pub(crate) fn fingerprint(&self) -> String {
        format!("parts of {} points, {:016x}", self.shape.points.unwrap_or(0), self.held)
    }

    /// Sends a request to all parts and returns the merged reply.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Reply, Fault> {
        let question = to_bytes(&Envelope::new(self.model.clone(), request)).map_err(lost)?;
        let asked = catch_unwind(AssertUnwindSafe(|| (self.ask)(&question)));
        let answer = match asked {
            Ok(answer) => answer.map_err(|error| lost(error.to_string()))?,
            Err(_) => return Err(lost("what brings questions to them panicked".into())),
        };
        self.questions += 1;
        self.bytes += (question.len() + answer.len()) as u64;
        let reply = read_reply(&answer).map_err(lost)?;
        match reply.said {
            Said::Refused(Refusal::Points(why)) => Err(lost(why)),
            Said::Refused(Refusal::Model { first, field, leader, part }) => {
                let refusal = PartsError::AnotherModel { first, field, leader, part };
                Err(Fault::Points(refusal.into()))
            }
            _ => Ok(reply),
        }
    }
}

/// Returns the fault for parts that did not reply, or whose reply is not usable.
pub(crate) fn lost(message: String) -> Fault {
    Fault::Points(Error::from(SourceError::new("the parts", message)))
}

/// Returns the fault for a reply that does not match the request.
pub(crate) fn odd() -> Fault {
    lost("they have answered another question than was asked".into())
}
