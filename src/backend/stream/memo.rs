//! What the passes over a stream have given: they are costly, so no answer is asked for twice, and a fit
//! that is resumed is told all of them again.

use crate::data::loss::Loss;
use crate::normal::{Grouped, Normal, RFactor};

/// What a pass is asked: under which loss, at which parameters, in which scaling of the columns.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) loss: Loss,
    pub(crate) params: Vec<f64>,
    pub(crate) columns: Vec<f64>,
}

impl PartialEq for Question {
    fn eq(&self, other: &Question) -> bool {
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        self.loss == other.loss
            && bits(&self.params) == bits(&other.params)
            && bits(&self.columns) == bits(&other.columns)
    }
}

/// What a pass gave.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Normal(Normal),
    Factor(RFactor),
}

/// A pass that was stopped on the way: its sums, and the first point that is not in them.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished {
    pub(crate) question: Question,
    pub(crate) sums: Sums,
    pub(crate) next: u64,
}

/// The sums of a pass on the way.
#[derive(Clone, Debug)]
pub(crate) enum Sums {
    Normal(Grouped<Normal>),
    Factor(Grouped<RFactor>),
}

/// All answers so far, in order, and the pass that was stopped, if one was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    pub(crate) answers: Vec<(Question, Answer)>,
    pub(crate) unfinished: Option<Unfinished>,
}

impl Memo {
    pub(crate) fn normal(&self, question: &Question) -> Option<&Normal> {
        self.answers.iter().find_map(|(asked, answer)| match answer {
            Answer::Normal(normal) if asked == question => Some(normal),
            _ => None,
        })
    }

    pub(crate) fn factor(&self, question: &Question) -> Option<&RFactor> {
        self.answers.iter().find_map(|(asked, answer)| match answer {
            Answer::Factor(factor) if asked == question => Some(factor),
            _ => None,
        })
    }

    /// The pass that was stopped, if it is this one.
    fn take_unfinished(&mut self, question: &Question) -> Option<Unfinished> {
        self.unfinished.take_if(|stopped| stopped.question == *question)
    }

    /// Sums to go on with, and the first point that is not in them.
    pub(crate) fn begin_normal(&mut self, question: &Question) -> (Grouped<Normal>, u64) {
        match self.take_unfinished(question) {
            Some(Unfinished { sums: Sums::Normal(sums), next, .. }) => (sums, next),
            _ => (Grouped::new(Normal::zero(question.columns.len())), 0),
        }
    }

    /// The same of a factor.
    pub(crate) fn begin_factor(&mut self, question: &Question) -> (Grouped<RFactor>, u64) {
        match self.take_unfinished(question) {
            Some(Unfinished { sums: Sums::Factor(sums), next, .. }) => (sums, next),
            _ => (Grouped::new(RFactor::zero(question.columns.len())), 0),
        }
    }
}
