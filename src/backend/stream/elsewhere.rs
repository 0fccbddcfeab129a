//! Those who hold the points of a fit, asked for what passes over them find.

use super::bytes::to_bytes;
use super::message::{Envelope, Held, ModelIdentity, Refusal, Reply, Request, Said, read_reply};
use crate::data::source::{Shape, Width};
use crate::error::source::SourceError;
use crate::error::{Error, PartsError};
use crate::solver::outcome::Fault;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Columns that a model may have.
const MOST_COLUMNS: u32 = 1 << 16;

/// Brings a question to all who hold points, and their answers back, merged in the order of the points.
pub(crate) type Ask<'a> = dyn FnMut(&[u8]) -> io::Result<Vec<u8>> + Send + 'a;

/// The points of a fit that others hold.
pub(crate) struct Elsewhere<'a> {
    ask: Box<Ask<'a>>,
    model: ModelIdentity,
    /// What each point is made of, and how many there are.
    pub(crate) shape: Shape,
    /// Their fingerprint.
    held: u64,
    /// Questions so far, and the bytes of them and of their answers.
    pub(crate) questions: u64,
    pub(crate) bytes: u64,
}

impl<'a> Elsewhere<'a> {
    /// Asks what is held.
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

    /// What is known of the points before they are looked at.
    pub(crate) fn fingerprint(&self) -> String {
        format!("parts of {} points, {:016x}", self.shape.points.unwrap_or(0), self.held)
    }

    /// What all reply.
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

/// The fault that parts have not answered.
pub(crate) fn lost(message: String) -> Fault {
    Fault::Points(Error::from(SourceError::new("the parts", message)))
}

/// The fault that the answer is one to another question.
pub(crate) fn odd() -> Fault {
    lost("they have answered another question than was asked".into())
}
