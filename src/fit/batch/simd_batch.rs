//! Small fits of a batch, eight at a time: each with its own solver state, evaluated together in lanes.
//!
//! When a fit ends, the next one takes its lane, so that no fit waits for a slow one. Fits that need another
//! scaling of the columns, a factor of the Jacobian or a second run are rare;
//! [`FitWorkspace::fit`] makes them anew. The steps of a fit depend on its own data only.

use super::arrays::BatchPart;
use super::engine::BatchRequest;
use super::status::FitStatus;
use super::workspace::FitWorkspace;
use crate::backend::cpu::simd_batch::{MOST_POINTS, Manner, SimdBatch};
use crate::data::Missing;
use crate::data::batch::Deviations;
use crate::data::loss::{Estimator, is_far};
use crate::data::points::Units;
use crate::data::sigma::Sigma;
use crate::normal::abreast::ABREAST;
use crate::solver::levels::has_heavy_points;
use crate::solver::stepwise::{Verdict, Waiting};
use crate::solver::task::Problem;
use crate::solver::termination::Termination;

/// Worker for the fits that are under way.
pub(super) struct SimdFits<'a> {
    abreast: SimdBatch,
    lanes: Vec<Lane>,
    /// Workspace of single fits, and the results of all.
    bench: FitWorkspace<'a>,
    /// Fits of a part, those of similar length together.
    order: Vec<usize>,
}

/// A place for one fit.
struct Lane {
    problem: Problem,
    solver: Waiting,
    /// Which fit of the part it is, if one is under way.
    fit: Option<usize>,
    /// True if it was evaluated at its start.
    has_begun: bool,
}

impl<'a> SimdFits<'a> {
    /// `None` if fits of this kind are made one by one: of models that are not traced, in two stages,
    /// with no free parameter, with as many points as make no difference.
    pub(super) fn new(request: &BatchRequest<'a>) -> Option<SimdFits<'a>> {
        let (data, prepared) = (request.data, request.prepared);
        let two_stages = request.loss.first().is_some();
        let long = data.equal().is_some_and(|n| n > MOST_POINTS);
        // Each lane would have its own closest points, and rows beside those of its points.
        let shifted = !data.x_sigma.is_exact() || !request.priors.is_empty();
        if two_stages
            || shifted
            || long
            || prepared.free.is_empty()
            || request.options.max_time.is_some()
        {
            return None;
        }
        let same_points = data.missing == Missing::Error
            && data.equal().is_some()
            && data.shares_mask()
            && !matches!(data.deviations(), Deviations::OfSample(_));
        // The likelihood of counts knows no weights, which fits of fewer points would need.
        if request.estimator == Estimator::Poisson && !same_points {
            return None;
        }
        let manner = Manner {
            loss: request.loss,
            estimator: request.estimator,
            shared: same_points && !data.own,
            weighted: !(same_points && data.sigma == Sigma::Unknown),
        };
        let abreast = SimdBatch::new(prepared, data.columns.len(), manner)?;
        let bench = FitWorkspace::new(request);
        let lane = || Lane {
            problem: bench.space.problem.clone(),
            solver: Waiting::new(request.names.len(), &bench.space.problem.shape),
            fit: None,
            has_begun: false,
        };
        let lanes = (0..ABREAST).map(|_| lane()).collect();
        Some(SimdFits { abreast, lanes, bench, order: Vec::new() })
    }

    /// Makes all fits of a part.
    pub(super) fn fit_all(&mut self, request: &BatchRequest<'a>, out: &mut BatchPart<'_>) {
        self.order.clear();
        let left = |&index: &usize| out.statuses[index] == FitStatus::NotRun;
        self.order.extend((0..out.len()).filter(left));
        if request.data.equal().is_none() {
            let length = |&index: &usize| request.data.range(out.first + index).len();
            // In place; equal ones in their order.
            self.order.sort_unstable_by_key(|index| (length(index), *index));
        }
        let mut next = 0;
        loop {
            for lane in 0..ABREAST {
                while self.lanes[lane].fit.is_none() && next < self.order.len() {
                    self.begin(request, lane, self.order[next], out);
                    next += 1;
                }
            }
            if self.lanes.iter().all(|lane| lane.fit.is_none()) {
                return;
            }
            let lanes = &self.lanes;
            let trial = |lane: usize| lanes[lane].fit.map(|_| lanes[lane].solver.trial());
            self.abreast.evaluate(std::array::from_fn(trial));
            self.abreast.make_models();
            for lane in 0..ABREAST {
                if let Some(index) = self.lanes[lane].fit {
                    self.go_on(request, lane, index, out);
                }
            }
        }
    }

    /// Gives a fit to a lane; one that cannot be made, or not there, is done with.
    fn begin(
        &mut self,
        request: &BatchRequest<'a>,
        lane: usize,
        index: usize,
        out: &mut BatchPart<'_>,
    ) {
        let (abreast, place) = (&mut self.abreast, &mut self.lanes[lane]);
        let begun = self.bench.checked(request, out.first + index, |bench, points| {
            let fits = points.units == Units::ORDINARY
                && points.len() <= MOST_POINTS
                && !has_heavy_points(points, bench.space.problem.free.len());
            if fits {
                abreast.load(lane, points);
                place.problem.copy_from(&bench.space.problem);
                place.solver.begin(&request.task(&place.problem));
                place.fit = Some(index);
                place.has_begun = false;
            }
            Ok(fits)
        });
        match begun {
            Ok(true) => {}
            Ok(false) => self.bench.fit(request, index, out),
            Err(status) => out.statuses[index] = status,
        }
    }

    /// Continues with the sums of a lane and, if its fit has ended, writes the result.
    fn go_on(
        &mut self,
        request: &BatchRequest<'a>,
        lane: usize,
        index: usize,
        out: &mut BatchPart<'_>,
    ) {
        let place = &mut self.lanes[lane];
        let sums = place.solver.normal();
        let read = self.abreast.read(lane, sums);
        // Stages that lead from a start far away are those of a fit alone.
        let far = !place.has_begun && is_far(request.loss, sums.cost, 1.0, place.problem.points);
        place.has_begun = true;
        let verdict = match read && !far {
            true => {
                let task = request.task(&place.problem);
                place.solver.evaluated(&task, (self.abreast.models(), lane))
            }
            false => Verdict::Alone,
        };
        match verdict {
            Verdict::Again => {}
            // Whether it is exact, its points say one by one.
            Verdict::Ended(Termination::ExactFit) | Verdict::Alone => {
                place.fit = None;
                self.bench.fit(request, index, out);
            }
            Verdict::Ended(termination) => {
                place.fit = None;
                let space = &mut self.bench.space;
                space.problem.copy_from(&place.problem);
                let (outcome, model) = space.end_mut();
                place.solver.report(termination, outcome, model);
                if space.has_another_way(&request.rules(out.first + index)) {
                    return self.bench.fit(request, index, out);
                }
                let written = self.bench.write_end(request, index, out);
                out.statuses[index] = written.unwrap_or_else(|status| status);
            }
        }
    }
}
