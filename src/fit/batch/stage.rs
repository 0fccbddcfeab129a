//! A minimisation of a batch's fit under one loss, and the way to where that pulls: as for a single fit.

use super::engine::BatchRequest;
use super::one::Bench;
use super::status::FitStatus;
use crate::backend::Evaluator;
use crate::backend::cpu::Cpu;
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::data::reach::distance;
use crate::fit::approach::{ROUGH, Stages, approach, came_to_nothing};
use crate::solver::minimise::Failure;
use crate::solver::options::Options;
use crate::solver::termination::Termination;

impl Bench<'_> {
    /// A minimisation under `loss`, which is that of the evaluator. From a start that is too far for it
    /// others on wider scales lead the way. `ended`: the limit that ended the stage before, if one did.
    pub(super) fn stage(
        &mut self,
        request: &BatchRequest<'_>,
        points: &Points<'_>,
        (loss, evaluator): (Loss, &mut Cpu<'_>),
        options: &Options,
        mut ended: Option<Termination>,
    ) -> Result<(), FitStatus> {
        if let Some(scale) = loss.gauge().filter(|_| !self.problem.free.is_empty()) {
            let evaluator = &mut *evaluator;
            let mut way = Way { bench: self, request, points, evaluator, scale, options };
            ended = approach(&mut way)?;
            self.is_known = ended.is_none();
        }
        self.problem.loss = loss;
        let done = self.minimise(request, evaluator, options, ended);
        self.is_known = false;
        done
    }
}

/// A fit on its way.
struct Way<'w, 'a> {
    bench: &'w mut Bench<'a>,
    request: &'w BatchRequest<'w>,
    points: &'w Points<'w>,
    /// Of Cauchy's loss on the scale that is wanted.
    evaluator: &'w mut dyn Evaluator,
    scale: f64,
    options: &'w Options,
}

impl Stages for Way<'_, '_> {
    type Refusal = FitStatus;

    fn distance(&mut self) -> Result<f64, FitStatus> {
        let Bench { problem, known, ones, .. } = &mut *self.bench;
        let looked = self.evaluator.normal(&problem.start, ones, known);
        looked.map_err(|fault| FitStatus::from(Failure::Backend(fault)))?;
        Ok(distance(known.cost, self.scale * problem.row_unit, problem.points))
    }

    fn go(&mut self, scales: f64) -> Result<Termination, FitStatus> {
        let Way { bench, request, points, options, .. } = self;
        let most = options.evaluations(bench.problem.free.len()).saturating_sub(1);
        if bench.first.evaluations >= most {
            return Ok(Termination::MaxEvaluations);
        }
        let loss = Loss::Cauchy { scale: scales * self.scale };
        bench.problem.loss = loss;
        let (ftol, xtol) = (options.ftol.max(ROUGH), options.xtol.max(ROUGH));
        let options = Options { max_evaluations: Some(most), ftol, xtol, ..**options };
        bench.with_evaluator(request, points, loss, |bench, evaluator| {
            bench.minimise(request, evaluator, &options, None)
        })?;
        let end = &bench.room.ends.best;
        bench.first = end.work;
        if !came_to_nothing(end.termination) {
            bench.problem.start.clone_from(&end.params);
        }
        Ok(end.termination)
    }
}
