//! Cache of the results of passes over a stream. Passes are costly, therefore no result is computed twice. A checkpoint
//! stores the cache, and a resumed fit reuses it.

use super::question::{Answer, At, Question};
use crate::backend::cpu::{Cpu, Prepared, Scratch};
use crate::backend::cuda::passes::Summed;
use crate::backend::stream::question::Terms;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::normal::{Normal, RFactor, Tree};
use crate::solver::observe::Patience;
use serde::{Deserialize, Serialize};

/// Cache key of a pass: loss, weight limit, parameters and column scaling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PassKey {
    pub(crate) loss: Loss,
    /// Upper limit of the weight of a point, multiplied by the row unit (the power of two that scales residuals).
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

/// Result of a pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum PassResult {
    Normal(Normal),
    Factor(RFactor),
}

/// An interrupted pass: its sums, and the number of the first point that they do not contain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Unfinished {
    pub(crate) key: PassKey,
    pub(crate) sums: Answer,
    pub(crate) next: u64,
}

/// All results so far, in the order of the passes, and the interrupted pass, if there is one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PassCache {
    pub(crate) results: Vec<(PassKey, PassResult)>,
    pub(crate) unfinished: Option<Box<Unfinished>>,
}

impl PassCache {
    /// Returns the stored result for `key`.
    pub(crate) fn recall<S: PassSum>(&self, key: &PassKey) -> Option<&S> {
        self.results.iter().filter(|(asked, _)| asked == key).find_map(|(_, a)| S::of(a))
    }

    /// Returns the cost of the last pass that computed normal equations, multiplied by the square of the row unit.
    pub(crate) fn last_cost(&self) -> Option<f64> {
        self.results.iter().rev().find_map(|(_, result)| match result {
            PassResult::Normal(normal) => Some(normal.cost),
            PassResult::Factor(_) => None,
        })
    }

    /// Returns the sums from which the pass continues, and the number of the first point that they do not contain. If
    /// the interrupted pass has the same key and question, these are its sums; otherwise they are empty.
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

/// A summary that passes compute and the cache stores.
pub(crate) trait PassSum: Summed + Clone + Into<PassResult> {
    /// Returns the summary of no points, for `free` parameters.
    fn empty(free: usize) -> Self;

    /// Returns the stored summary, if `result` is of this kind.
    fn of(result: &PassResult) -> Option<&Self>;

    /// Returns the question that requests this summary.
    fn question(key: &PassKey) -> Question;

    /// Returns the sums of `answer`, if they are of this kind.
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

/// Model and evaluation settings of a pass.
#[derive(Clone, Copy)]
pub(crate) struct Evaluated<'a> {
    pub(crate) model: &'a Prepared,
    pub(crate) loss: Loss,
    /// Upper limit of the weight of a point, multiplied by the row unit (the power of two that scales residuals).
    pub(crate) most_weight: f64,
    /// Starting point of the fit; it sets the typical sizes of the parameters.
    pub(crate) start: &'a [f64],
    /// Time limit and cancellation of the passes.
    pub(crate) patience: Patience<'a>,
}

impl Evaluated<'_> {
    /// Returns the cache key of a pass at these parameters.
    pub(crate) fn key(&self, params: &[f64], columns: &[f64]) -> PassKey {
        let Evaluated { loss, most_weight, .. } = *self;
        PassKey { loss, most_weight, params: params.to_vec(), columns: columns.to_vec() }
    }

    pub(crate) fn terms(&self) -> Terms {
        let Evaluated { loss, most_weight, start, .. } = *self;
        Terms { loss, most_weight, start: start.to_vec() }
    }

    /// Calls `work` with an evaluator of `points`. The evaluator uses `scratch` and returns it afterwards.
    pub(crate) fn on<R>(
        &self,
        scratch: &mut Scratch,
        points: &Points<'_>,
        work: impl FnOnce(&mut Cpu<'_>) -> R,
    ) -> R {
        let Evaluated { model, loss, most_weight, start, patience } = *self;
        let cpu = Cpu::of_part(std::mem::take(scratch), model, points, loss, start);
        let mut cpu = cpu.within(patience).with_weights_of(most_weight);
        let done = work(&mut cpu);
        *scratch = cpu.into_scratch();
        done
    }
}
