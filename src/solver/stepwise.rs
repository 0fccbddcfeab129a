//! A minimisation whose caller performs the evaluations, for several fits that are evaluated together in lanes.

use super::linear_model::LinearModel;
use super::outcome::Outcome;
use super::runs::is_worth_another_run;
use super::search::Search;
use super::state::{Scaling, State, Want};
use super::task::Task;
use super::termination::Termination;
use crate::normal::abreast::ModelsAbreast;
use crate::normal::{Arrow, Normal};
use std::sync::Arc;

/// A minimisation between two evaluations.
pub(crate) struct Waiting {
    state: State,
    at_start: bool,
}

/// Continuation after an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Continue with another evaluation.
    Again,
    /// The minimisation has ended.
    Ended(Termination),
    /// The fit must be restarted as a minimisation with its own evaluator, because it needs another scaling of the
    /// columns, an R factor, or a second run.
    Alone,
}

impl Waiting {
    /// Creates the state for a model with `params` parameters. `shape`: block structure of the free parameters.
    pub(crate) fn new(params: usize, shape: &Arc<Arrow>) -> Waiting {
        Waiting { state: State::new(params, shape), at_start: true }
    }

    /// Begins at `problem.start` and waits for the evaluation of this point.
    pub(crate) fn begin(&mut self, task: &Task<'_>) {
        let mut search = Search::new(task, &mut self.state);
        search.set_out(&task.problem.start, Scaling::Monotone);
        self.at_start = true;
    }

    /// Returns the parameters at which the normal equations must be evaluated.
    pub(crate) fn trial(&self) -> &[f64] {
        &self.state.trial.params
    }

    /// Returns the buffer for the normal equations at [`trial`](Self::trial).
    pub(crate) fn normal(&mut self) -> &mut Normal {
        &mut self.state.trial.normal
    }

    /// Continues with the computed normal equations. `models`: linear models of all lanes; `lane`: lane of this fit.
    pub(crate) fn evaluated(
        &mut self,
        task: &Task<'_>,
        (models, lane): (&ModelsAbreast, usize),
    ) -> Verdict {
        let State { ahead, trial, .. } = &mut self.state;
        ahead.is_known = ahead.model.set_lane(models, lane, &trial.normal, &mut ahead.step);
        let mut search = Search { task, state: &mut self.state };
        search.evaluated(0.0);
        if std::mem::take(&mut self.at_start) {
            if !search.start_is_safe() {
                return Verdict::Alone;
            }
            search.begin();
        }
        match search.advance() {
            Ok(Want::Evaluation) => Verdict::Again,
            Ok(Want::Nothing(termination))
                if search.interrupted().is_some()
                    || !(is_worth_another_run(termination) || search.is_doubtful(termination)) =>
            {
                Verdict::Ended(termination)
            }
            // Only an observer can fail, and there is no observer here.
            Ok(Want::Factor | Want::Nothing(_)) | Err(_) => Verdict::Alone,
        }
    }

    /// Writes the current state and the linear model at the current point.
    pub(crate) fn report(
        &mut self,
        termination: Termination,
        out: &mut Outcome,
        model: &mut LinearModel,
    ) {
        self.state.report(termination, out);
        std::mem::swap(&mut self.state.model, model);
    }
}
