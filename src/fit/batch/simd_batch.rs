//! Small fits of a batch, eight at a time: each has its own solver state, and all eight are evaluated in lanes.
//!
//! When a fit ends, the next fit takes its lane, so that no fit waits for a slow one. Few fits need another scaling of
//! the columns, the R factor of the Jacobian or a second run; [`FitWorkspace::fit`] repeats these fits from the
//! beginning. The steps of a fit depend only on its own data.

use super::arrays::BatchPart;
use super::request::BatchRequest;
use super::status::FitStatus;
use super::workspace::FitWorkspace;
use crate::backend::cpu::simd_batch::{MOST_POINTS, Manner, SimdBatch};
use crate::data::Missing;
use crate::data::batch::Deviations;
use crate::data::loss::is_far;
use crate::data::scaling::Units;
use crate::data::sigma::Sigma;
use crate::normal::abreast::ABREAST;
use crate::solver::levels::has_heavy_points;
use crate::solver::stepwise::{Verdict, Waiting};
use crate::solver::task::Problem;
use crate::solver::termination::Termination;

/// Workspace of the running fits.
pub(super) struct SimdFits<'a> {
    abreast: SimdBatch,
    lanes: Vec<Lane>,
    /// Workspace for fits that are computed alone, and for the results of all fits.
    bench: FitWorkspace<'a>,
    /// Fits of a part, sorted by their number of points.
    order: Vec<usize>,
}

/// State of one lane.
struct Lane {
    problem: Problem,
    solver: Waiting,
    /// Index in the part of the running fit, if any.
    fit: Option<usize>,
    /// True if the fit was evaluated at its starting point.
    has_begun: bool,
}

impl<'a> SimdFits<'a> {
    /// Creates the workspace. Returns `None` if the fits must be computed one by one: native models, two stages, errors
    /// in x, priors, a time limit, no free parameter, or too many points for lanes to be faster.
    pub(super) fn new(request: &BatchRequest<'a>) -> Option<SimdFits<'a>> {
        let (data, prepared) = (request.data, &request.spec.prepared);
        let two_stages = request.spec.loss.first().is_some();
        let long = data.equal().is_some_and(|n| n > MOST_POINTS);
        // Errors in x require the closest points of each fit, and priors add rows to the rows of the points.
        let shifted = !data.x_sigma.is_exact() || !request.spec.priors.is_empty();
        if two_stages
            || shifted
            || long
            || prepared.free.is_empty()
            || request.spec.options.max_time.is_some()
        {
            return None;
        }
        let same_points = data.missing == Missing::Error
            && data.equal().is_some()
            && data.shares_mask()
            && !matches!(data.deviations(), Deviations::OfSample(_));
        let manner = Manner {
            loss: request.spec.loss,
            estimator: request.spec.estimator,
            shared: same_points && !data.own,
            weighted: !(same_points && data.sigma == Sigma::Unknown),
        };
        let abreast = SimdBatch::new(prepared, data.columns.len(), manner)?;
        let bench = FitWorkspace::new(request);
        let lane = || Lane {
            problem: bench.space.problem.clone(),
            solver: Waiting::new(request.spec.names.len(), &bench.space.problem.shape),
            fit: None,
            has_begun: false,
        };
        let lanes = (0..ABREAST).map(|_| lane()).collect();
        Some(SimdFits { abreast, lanes, bench, order: Vec::new() })
    }

    /// Computes all fits of a part.
    pub(super) fn fit_all(&mut self, request: &BatchRequest<'a>, out: &mut BatchPart<'_>) {
        self.order.clear();
        let left = |&index: &usize| out.statuses[index] == FitStatus::NotRun;
        self.order.extend((0..out.len()).filter(left));
        if request.data.equal().is_none() {
            let length = |&index: &usize| request.data.range(out.first + index).len();
            // Sorts in place; fits of equal length keep their order.
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

    /// Begins a fit in a lane. If lanes cannot compute the fit, it is computed alone; if it is invalid, its status is
    /// set.
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

    /// Passes the sums of a lane to its solver and, if the fit has ended, writes the result.
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
        // A start far from the data needs several stages, which the lanes do not support.
        let far =
            !place.has_begun && is_far(request.spec.loss, sums.cost, 1.0, place.problem.points);
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
            // Only a check of each point shows whether the fit is exact.
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
                if space.has_another_way(
                    &request.spec.options,
                    request.starts.linear(out.first + index),
                ) {
                    return self.bench.fit(request, index, out);
                }
                let written = self.bench.write_end(request, index, out);
                out.statuses[index] = written.unwrap_or_else(|status| status);
            }
        }
    }
}
