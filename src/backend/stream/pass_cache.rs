//! What the passes over a stream have given: they are costly, so no result is asked for twice, and a fit
//! that is resumed is told all of them again.

use super::question::{Answer, At, Question};
use crate::backend::cuda::passes::Summed;
use crate::data::loss::Loss;
use crate::normal::{Normal, RFactor, Tree};
use serde::{Deserialize, Serialize};

/// What a pass is asked: under which loss, at which parameters, in which scaling of the columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PassKey {
    pub(crate) loss: Loss,
    /// What no point weighs more than, in row units.
    pub(crate) most_weight: f64,
    pub(crate) params: Vec<f64>,
    pub(crate) columns: Vec<f64>,
}

impl PassKey {
    fn at(&self) -> At {
        At { params: self.params.clone(), columns: self.columns.clone() }
    }
}

impl PartialEq for PassKey {
    fn eq(&self, other: &PassKey) -> bool {
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        self.loss == other.loss
            && self.most_weight == other.most_weight
            && bits(&self.params) == bits(&other.params)
            && bits(&self.columns) == bits(&other.columns)
    }
}

/// What a pass gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum PassResult {
    Normal(Normal),
    Factor(RFactor),
}

/// A pass that was stopped on the way: its sums, and the first point that is not in them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Unfinished {
    pub(crate) key: PassKey,
    pub(crate) sums: Answer,
    pub(crate) next: u64,
}

/// All results so far, in order, and the pass that was stopped, if one was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PassCache {
    pub(crate) results: Vec<(PassKey, PassResult)>,
    pub(crate) unfinished: Option<Box<Unfinished>>,
}

impl PassCache {
    /// The result to a key, if it was asked before.
    pub(crate) fn recall<S: PassSum>(&self, key: &PassKey) -> Option<&S> {
        self.results.iter().filter(|(asked, _)| asked == key).find_map(|(_, a)| S::of(a))
    }

    /// The cost that the last pass found, in row units.
    pub(crate) fn last_cost(&self) -> Option<f64> {
        self.results.iter().rev().find_map(|(_, result)| match result {
            PassResult::Normal(normal) => Some(normal.cost),
            PassResult::Factor(_) => None,
        })
    }

    /// The answer to go on with, and the first point that is not in it: of the pass that was stopped, if it is this one, or of
    /// none.
    pub(crate) fn begin(&mut self, key: &PassKey, question: &Question) -> (Answer, u64) {
        let free = key.columns.len();
        let is_this = |stopped: &mut Box<Unfinished>| {
            stopped.key == *key && stopped.sums.is_to(question, (free, 0))
        };
        match self.unfinished.take_if(is_this) {
            Some(stopped) => (stopped.sums, stopped.next),
            None => (question.unanswered(free, 0), 0),
        }
    }
}

/// A summary that passes make and that is kept.
pub(crate) trait PassSum: Summed + Clone + Into<PassResult> {
    /// Of no points, for `free` parameters.
    fn empty(free: usize) -> Self;

    /// The result, if it is of this kind.
    fn of(result: &PassResult) -> Option<&Self>;

    /// What is asked for it.
    fn question(key: &PassKey) -> Question;

    /// The sums of an answer, if they are of this kind.
    fn of_answer(answer: Answer) -> Option<Tree<Self>>;
}

impl From<Normal> for PassResult {
    fn from(normal: Normal) -> PassResult {
        PassResult::Normal(normal)
    }
}

impl From<RFactor> for PassResult {
    fn from(factor: RFactor) -> PassResult {
        PassResult::Factor(factor)
    }
}

impl PassSum for Normal {
    fn empty(free: usize) -> Normal {
        Normal::zero(free)
    }

    fn question(key: &PassKey) -> Question {
        Question::Normal(key.at())
    }

    fn of_answer(answer: Answer) -> Option<Tree<Normal>> {
        if let Answer::Normal(sums) = answer { Some(sums) } else { None }
    }

    fn of(result: &PassResult) -> Option<&Normal> {
        if let PassResult::Normal(normal) = result { Some(normal) } else { None }
    }
}

impl PassSum for RFactor {
    fn empty(free: usize) -> RFactor {
        RFactor::zero(free)
    }

    fn question(key: &PassKey) -> Question {
        Question::Factor(key.at())
    }

    fn of_answer(answer: Answer) -> Option<Tree<RFactor>> {
        if let Answer::Factor(sums) = answer { Some(sums) } else { None }
    }

    fn of(result: &PassResult) -> Option<&RFactor> {
        if let PassResult::Factor(factor) = result { Some(factor) } else { None }
    }
}
