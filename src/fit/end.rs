//! Analysis of the end of a search: the triangular factor for the covariance, active bounds, and the effective
//! number of points.

use super::block_covariance::{BlockInputs, scaled};
use super::covariance::{Covariance, CovarianceInputs, kept, norm};
use crate::constants::{LEAST_PIVOT, WELL_CONDITIONED};
use crate::data::loss::Loss;
use crate::normal::{Arrow, Influence, Normal, RFactor, Spectrum};
use crate::solver::bounds::{Limits, Side};
use crate::solver::evaluator::Evaluator;
use crate::solver::levels::{inside, last_step};
use crate::solver::linear_model::LinearModel;
use crate::solver::observe::Stop;
use crate::solver::outcome::{Failure, Fault, Outcome};
use crate::solver::task::Problem;
use std::ops::Range;
use std::sync::Arc;

/// Range of condition numbers in which columns nearly, but not exactly, coincide.
const COINCIDING: Range<f64> = 1e12..1e15;

/// The end of a search. Arrays have one value per free parameter.
pub(crate) struct End {
    /// Linear model from the normal equations at the end.
    pub(super) model: LinearModel,
    pub(crate) factor: RFactor,
    /// R factor with the full weights of heavy points (points that outweigh all others), if there are any.
    pub(crate) sharpened: Option<RFactor>,
    /// True if no bound holds the parameter.
    pub(crate) estimated: Vec<bool>,
    /// The bound that holds the parameter, if any.
    pub(crate) sides: Vec<Option<Side>>,
    /// Effective number of points; NaN if its pass was interrupted.
    pub(crate) weight: f64,
    /// Number of passes of the analysis.
    pub(crate) passes: usize,
    /// Reason why a pass of the analysis was interrupted, if any.
    pub(crate) stopped: Option<Stop>,
    is_known: bool,
    limits: Vec<(f64, f64)>,
    q: Vec<f64>,
}

impl End {
    pub(super) fn new(shape: &Arc<Arrow>) -> End {
        let n = shape.n();
        End {
            model: LinearModel::new(shape),
            factor: RFactor::shaped(shape),
            sharpened: None,
            estimated: vec![true; n],
            sides: vec![None; n],
            weight: f64::NAN,
            passes: 0,
            stopped: None,
            is_known: false,
            limits: Vec::with_capacity(n),
            q: Vec::with_capacity(n),
        }
    }

    /// Discards the analysis before another search.
    pub(super) fn forget(&mut self) {
        (self.is_known, self.sharpened, self.passes, self.stopped) = (false, None, 0, None);
    }

    /// Returns the number of free parameters that are not at a bound.
    pub(crate) fn number_estimated(&self) -> usize {
        self.estimated.iter().filter(|&&estimated| estimated).count()
    }

    /// Returns true if columns of the Jacobian nearly coincide. Its condition is estimated as the growth of a vector by
    /// R⁻¹, after R⁻ᵀ has amplified the components that grow most (Golub and Van Loan, section 3.5.4).
    pub(super) fn coincides(&self) -> bool {
        let seen = self.estimated.iter().zip(&self.model.norms);
        let seen = seen.map(|(&estimated, &norm)| estimated && norm > 0.0).collect::<Vec<_>>();
        let (problem, _) = scaled(&self.factor.kept(&kept(&seen)));
        let mut grown = vec![1.0; problem.n()];
        problem.solve_transposed(&mut grown);
        let before = norm(&grown);
        problem.solve(&mut grown);
        COINCIDING.contains(&(norm(&grown) / before))
    }

    /// Returns true if a small pivot of the Cholesky factor shows that columns of the Jacobian nearly coincide.
    pub(super) fn has_small_pivots(&mut self, normal: &Normal) -> bool {
        self.model.set_normal(normal);
        self.model.least_pivot < LEAST_PIVOT
    }

    /// Returns the predicted decrease of the cost by a full step, ½‖z‖² with z = Qᵀr; 0 if the triangle has blocks.
    pub(super) fn promised(&self) -> f64 {
        let RFactor { n, r, .. } = &self.factor;
        if r.len() != (n + 1) * (n + 1) {
            return 0.0;
        }
        0.5 * r[n * (n + 1)..][..*n].iter().map(|z| z * z).sum::<f64>()
    }

    /// Returns true if the points determine all parameters that no bound holds.
    pub(super) fn determines_all(&self, points: usize) -> bool {
        let n = self.estimated.len();
        let (free, columns): (Vec<usize>, Vec<f64>) = (0..n).map(|j| (j, 1.0)).unzip();
        let covariance = self.covariance(&free, &columns, (n, points), &|_| 1.0);
        covariance.errors.iter().all(|&error| error != f64::INFINITY)
    }

    /// Computes the covariance of all `params` parameters. `free`: positions of the free parameters; `columns`: power
    /// of two that scales each column; `row_error`: standard deviation of a weighted residual as a function of the
    /// rank.
    pub(crate) fn covariance(
        &self,
        free: &[usize],
        columns: &[f64],
        (params, points): (usize, usize),
        row_error: &dyn Fn(usize) -> f64,
    ) -> Covariance {
        let kept = kept(&self.estimated);
        let sharpened = self.sharpened.as_ref();
        if self.factor.shape().is_some() {
            let places: Vec<(usize, f64)> = kept.iter().map(|&j| (free[j], columns[j])).collect();
            let held = (0..free.len()).filter(|&j| !self.estimated[j]).map(|j| free[j]);
            return Covariance::by_blocks(&BlockInputs {
                factor: &self.factor.kept(&kept),
                sharpened: sharpened.map(|factor| factor.kept(&kept)).as_ref(),
                places: &places,
                held: &held.collect::<Vec<_>>(),
                params,
                points,
                row_error,
            });
        }
        Covariance::compute(&CovarianceInputs {
            spectrum: &Spectrum::of(&self.factor, &kept),
            sharpened,
            free,
            estimated: &self.estimated,
            columns,
            params,
            points,
            row_error,
        })
    }

    /// Copies the factor of [J r] from the linear model if the normal equations are accurate enough; otherwise returns
    /// false. `is_sound`: true if the normal equations gave a linear model.
    fn factor_of_model(&mut self, is_sound: bool, loss: Loss) -> bool {
        let is_sound = is_sound && self.model.least_pivot > WELL_CONDITIONED;
        // The normal equations of a robust fit contain a correction that is meant for the iteration, and do not
        // contain the effective number of points.
        let is_good = loss == Loss::Linear && (is_sound || self.model.n == 0);
        if is_good {
            self.model.write_factor(&mut self.factor);
        }
        is_good
    }

    /// Finds the parameters that a bound holds.
    fn find_held(&mut self, problem: &Problem, outcome: &Outcome) {
        self.estimated.fill(true);
        self.sides.fill(None);
        let is_bounded = |&k: &usize| {
            let (lower, upper) = problem.bounds[k];
            lower.is_finite() || upper.is_finite()
        };
        if !problem.free.iter().any(is_bounded) {
            return;
        }
        self.limits.clear();
        self.q.clear();
        for (&k, c) in problem.free.iter().zip(&outcome.columns) {
            self.limits.push((problem.bounds[k].0 / c, problem.bounds[k].1 / c));
            self.q.push(outcome.params[k] / c);
        }
        let limits = Limits { limits: &self.limits };
        let bulk = outcome.cost.min(problem.bulk());
        for j in 0..self.q.len() {
            if limits.holds_firmly(&self.q, &self.model, bulk, j) {
                self.estimated[j] = false;
                self.sides[j] = limits.side(&self.q, j);
            }
        }
    }

    /// Analyses the end of a search from its linear model. Returns false if the analysis needs a pass over the points.
    pub(super) fn analyse_without_points(&mut self, problem: &Problem, outcome: &Outcome) -> bool {
        self.forget();
        if !self.factor_of_model(true, problem.loss) {
            return false;
        }
        self.weight = problem.points as f64;
        self.find_held(problem, outcome);
        self.is_known = true;
        true
    }

    /// Analyses the end of a search, unless it has been analysed. If a few points outweigh all others, it also applies
    /// the last step, which the full weights of these points require.
    pub(super) fn analyse(
        &mut self,
        problem: &Problem,
        outcome: &mut Outcome,
        points: &mut dyn Evaluator,
    ) -> Result<(), Failure> {
        if self.is_known {
            return Ok(());
        }
        self.forget();
        if outcome.most_weight < f64::INFINITY {
            points.limit_weights(outcome.most_weight);
        }
        self.weight = problem.points as f64;
        let is_sound = self.model.set_normal(&outcome.normal);
        if !self.factor_of_model(is_sound, problem.loss) {
            match points.factor(&outcome.params, &outcome.columns, &mut self.factor) {
                Ok(()) => self.passes += 1,
                // The pass was stopped: the factor is computed from the last normal equations instead.
                Err(Fault::Stopped(stop)) => {
                    self.model.write_factor(&mut self.factor);
                    (self.stopped, self.factor.influence) = (Some(stop), Influence::UNKNOWN);
                }
                Err(fault) => return Err(fault.into()),
            }
            if problem.loss != Loss::Linear {
                self.weight = self.factor.influence.weight;
            }
        }
        self.find_held(problem, outcome);
        let heavy = match points.heavy_rows(&outcome.params, &outcome.columns) {
            Ok(rows) => rows,
            Err(Fault::Stopped(stop)) => {
                self.stopped = Some(stop);
                Vec::new()
            }
            Err(fault) => return Err(fault.into()),
        };
        if !heavy.is_empty() {
            let sharpened = self.factor.below(&heavy);
            let inside = inside(problem, &outcome.params);
            let step = last_step(&sharpened, &inside, problem, &outcome.columns, &outcome.params);
            step.into_iter().flatten().for_each(|(j, to)| outcome.params[problem.free[j]] = to);
            (self.sharpened, self.passes) = (Some(sharpened), self.passes + 1);
        }
        self.is_known = true;
        Ok(())
    }
}
