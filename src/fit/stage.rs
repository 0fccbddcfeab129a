//! A minimisation under one loss, and the way to where that pulls.

use super::approach::{ROUGH, Stages, approach, came_to_nothing};
use super::engine::{NO_WORK, Request};
use crate::backend::cuda::source::Arithmetic;
use crate::backend::{Begun, Evaluator, Fault};
use crate::data::loss::Loss;
use crate::data::reach::distance;
use crate::normal::Normal;
use crate::solver::minimise::{Failure, Outcome, evaluate, minimise};
use crate::solver::options::Options;
use crate::solver::problem::Problem;
use crate::solver::termination::Termination;
use crate::solver::work::Work;
use std::time::Instant;

impl Request<'_> {
    /// A minimisation under `loss`, which is that of the evaluator. From a start that is too far for it
    /// others on wider scales lead the way.
    pub(super) fn stage(
        &self,
        evaluator: &mut dyn Evaluator,
        (loss, arithmetic): (Loss, Arithmetic),
        problem: &Problem,
        options: &Options,
        begun: Instant,
    ) -> Result<Outcome, Failure> {
        let Some(scale) = loss.gauge().filter(|_| !self.starts_refined) else {
            return minimise(evaluator, problem, options, self.observer, begun, NO_WORK);
        };
        let mut way = Way {
            request: self,
            evaluator,
            known: Normal::zero(problem.free.len()),
            scale,
            arithmetic,
            problem: problem.clone(),
            options,
            begun,
            work: NO_WORK,
            before: None,
        };
        let outcome = approach(&mut way).and_then(|ended| way.last(ended));
        match (outcome, way.before) {
            // A stream that was stopped makes no more passes; the cost is that of the stage before.
            (Err(Failure::Backend(Fault::Stopped(stop))), Some(before)) => {
                Ok(Outcome { termination: stop.into(), ..before })
            }
            (Ok(last), Some(Outcome { effects, retried, .. })) => {
                Ok(Outcome { effects, retried: retried || last.retried, ..last })
            }
            (outcome, _) => outcome,
        }
    }
}

/// A fit on its way.
struct Way<'w, 'a> {
    request: &'w Request<'a>,
    /// Of Cauchy's loss on the scale that is wanted.
    evaluator: &'w mut dyn Evaluator,
    /// The normal equations at the present place, under that loss.
    known: Normal,
    scale: f64,
    arithmetic: Arithmetic,
    /// It starts at the present place.
    problem: Problem,
    options: &'w Options,
    begun: Instant,
    work: Work,
    /// The end of the stage before, with the effects at the first start.
    before: Option<Outcome>,
}

impl Way<'_, '_> {
    /// The stage with the loss that is wanted, or what it costs where a limit ended the way.
    fn last(&mut self, ended: Option<Termination>) -> Result<Outcome, Failure> {
        let Way { request, evaluator, known, problem, options, begun, .. } = self;
        let mut work = self.work;
        if let Some(reason) = ended {
            return evaluate(&mut **evaluator, problem, options, *begun, work, reason);
        }
        problem.loss = Loss::Cauchy { scale: self.scale };
        // A loop on a device begins with an evaluation of its own.
        work.other_passes += usize::from(evaluator.resident().is_some());
        let mut from = Begun { inner: &mut **evaluator, start: &problem.start, known };
        minimise(&mut from, problem, options, request.observer, *begun, work)
    }
}

impl Stages for Way<'_, '_> {
    type Refusal = Failure;

    fn distance(&mut self) -> Result<f64, Failure> {
        let Way { evaluator, known, problem, .. } = self;
        evaluator.normal(&problem.start, &vec![1.0; problem.free.len()], known)?;
        Ok(distance(known.cost, self.scale * problem.row_unit, problem.points))
    }

    fn go(&mut self, scales: f64) -> Result<Termination, Failure> {
        let Way { request, problem, options, .. } = self;
        let most = options.evaluations(problem.free.len()).saturating_sub(1);
        if self.work.evaluations >= most {
            return Ok(Termination::MaxEvaluations);
        }
        let loss = Loss::Cauchy { scale: scales * self.scale };
        let refused = |error| Failure::Backend(Fault::Points(error));
        let until = request.end(self.begun);
        let evaluator = request.evaluator_until(until, loss, self.arithmetic);
        let mut evaluator = evaluator.map_err(refused)?;
        problem.loss = loss;
        let (ftol, xtol) = (options.ftol.max(ROUGH), options.xtol.max(ROUGH));
        let options = Options { max_evaluations: Some(most), ftol, xtol, ..**options };
        // The pass that told the distance is of no use on another scale.
        self.work.other_passes += 1;
        let (observer, work) = (request.observer, self.work);
        let end = minimise(&mut *evaluator, problem, &options, observer, self.begun, work)?;
        self.work = end.work;
        let reason = end.termination;
        if !came_to_nothing(reason) {
            problem.start.clone_from(&end.params);
        }
        let (effects, retried) = match self.before.take() {
            Some(first) => (first.effects, first.retried || end.retried),
            None => (end.effects.clone(), end.retried),
        };
        self.before = Some(Outcome { effects, retried, ..end });
        Ok(reason)
    }
}
