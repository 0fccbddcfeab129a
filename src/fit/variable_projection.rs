//! A search in the nonlinear parameters alone, the linear ones solved for at every trial point.
//!
//! Variable projection (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973; its step after Kaufman, BIT
//! 15, 1975). With J = [L N], the columns of the linear parameters first, and its triangular factor
//! [R₁₁ R₁₂; 0 R₂₂], the step of the nonlinear ones is that of R₂₂ δ ≈ −z₂ in a trust region that the
//! linear ones do not enter. Two passes a trial: one to solve for the linear parameters there, one for
//! the cost and the factor at the solution. Where linear parameters have no start, this finds its way
//! from values of the nonlinear ones that are far off, when steps in all of them together do not: those
//! follow the linear parameters along a curved valley, or out of sight.

use super::linear_start::stepped;
use super::search::Rules;
use crate::normal::small::fold_few;
use crate::normal::{Arrow, RFactor, Summary, Triangular};
use crate::solver::evaluator::Evaluator;
use crate::solver::minimise::evaluate;
use crate::solver::observe::Observer;
use crate::solver::options::Options;
use crate::solver::outcome::{Failure, Outcome};
use crate::solver::task::{Problem, Task};
use crate::solver::termination::Termination;
use crate::solver::trust_region::{TrustRegion, scaled_norm};

/// Trial points at most.
const MOST_TRIALS: usize = 300;
/// The first radius: parameters change by half of what they are. From far off, partials say where to
/// go but not how far; with steps of a tenth to once their size all of NIST's problems are solved, with
/// twice it one jumps over a pole.
const FIRST_RADIUS: f64 = 0.5;
/// A step that promises or brings less than this part of the cost ends the search: its end is a start.
const LITTLE: f64 = 1e-6;

/// All parameters where the search ends that begins at those of `problem`, and the passes that it took.
pub(super) fn projected(
    points: &mut dyn Evaluator,
    problem: &Problem,
    rules: &Rules<'_>,
) -> Result<(Vec<f64>, usize), Failure> {
    let options = Options::default();
    let there = evaluate(points, &Task::new(problem, &options), Termination::MaxEvaluations)?;
    let is_linear = |&j: &usize| rules.linear.contains(&problem.free[j]);
    let (first, second): (_, Vec<usize>) = (0..problem.free.len()).partition(is_linear);
    let size = |&j: &usize| rules.scales[problem.free[j]] / there.columns[j];
    let sizes = second.iter().map(size).collect();
    let observer = rules.observer;
    let mut search = ProjectedSearch {
        evaluator: points,
        problem,
        there,
        first,
        second,
        sizes,
        passes: 1,
        observer,
    };
    let params = search.run();
    Ok((params, search.passes))
}

struct ProjectedSearch<'a> {
    evaluator: &'a mut dyn Evaluator,
    problem: &'a Problem,
    /// The start, and the powers of two of the columns.
    there: Outcome,
    /// Which free parameters are linear.
    first: Vec<usize>,
    /// Which are not.
    second: Vec<usize>,
    /// Their typical sizes in the units of their columns, NaN where they are not known.
    sizes: Vec<f64>,
    passes: usize,
    observer: Option<&'a Observer>,
}

/// A point with the linear parameters solved for.
struct Solved {
    params: Vec<f64>,
    cost: f64,
    /// R₂₂ and z₂.
    step: Triangular,
}

impl ProjectedSearch<'_> {
    fn run(&mut self) -> Vec<f64> {
        let start = self.there.params.clone();
        let Some(mut best) = self.solved(start.clone()) else { return start };
        let m = self.second.len();
        let mut region = TrustRegion::new(&Arrow::full(m));
        let mut scale = vec![0.0; m];
        self.rescale(&mut scale, &best.params);
        let (mut delta, mut damping) = (vec![0.0; m], 0.0);
        let mut radius = FIRST_RADIUS;
        for _ in 0..MOST_TRIALS {
            if self.observer.is_some_and(|observer| observer.is_cancelled()) {
                break;
            }
            damping = region.step(&best.step, &scale, radius, damping, &mut delta);
            let promised = -best.step.change(&delta);
            let length = scaled_norm(&delta, &scale);
            let ends = promised <= LITTLE * best.cost || promised.is_nan();
            if ends || !length.is_finite() {
                break;
            }
            let trial = self.solved(self.displaced(&best.params, &delta));
            let gained = trial.as_ref().map_or(f64::NEG_INFINITY, |trial| best.cost - trial.cost);
            let ratio = gained / promised;
            if ratio < 0.25 || ratio.is_nan() {
                radius = 0.25 * radius.min(length);
            } else if ratio > 0.75 || damping == 0.0 {
                radius = 2.0 * length;
            }
            let Some(trial) = trial.filter(|_| gained > 0.0) else {
                if radius <= f64::EPSILON {
                    break;
                }
                continue;
            };
            best = trial;
            self.rescale(&mut scale, &best.params);
            if gained <= LITTLE * best.cost && ratio > 0.25 {
                break;
            }
        }
        best.params
    }

    /// The nonlinear parameters in the units of their columns.
    fn scaled(&self, params: &[f64]) -> Vec<f64> {
        let unit = |&j: &usize| params[self.problem.free[j]] / self.there.columns[j];
        self.second.iter().map(unit).collect()
    }

    /// A trust region of relative changes: columns say nothing of sizes where a parameter has hardly an
    /// effect yet.
    fn rescale(&self, scale: &mut [f64], params: &[f64]) {
        let now = self.scaled(params).into_iter().zip(&self.sizes);
        for (s, (p, typical)) in scale.iter_mut().zip(now) {
            let size = 1.0 / p.abs().max(*typical);
            *s = match (size.is_finite(), *s) {
                (true, _) => size,
                (false, 0.0) => 1.0,
                (false, before) => before,
            };
        }
    }

    fn displaced(&self, params: &[f64], delta: &[f64]) -> Vec<f64> {
        let mut displaced = params.to_vec();
        for (&j, d) in self.second.iter().zip(delta) {
            let k = self.problem.free[j];
            let (lower, upper) = self.problem.bounds[k];
            displaced[k] = (params[k] + d * self.there.columns[j]).clamp(lower, upper);
        }
        displaced
    }

    /// The factor of [L N r]: its columns in this order.
    fn factor(&mut self, params: &[f64]) -> Option<RFactor> {
        let n = self.problem.free.len();
        let mut given = RFactor::zero(n);
        self.passes += 1;
        self.evaluator.factor(params, &self.there.columns, &mut given).ok()?;
        if !given.is_finite() {
            return None;
        }
        let order = self.first.iter().chain(&self.second).copied().chain([n]);
        let mut rows = vec![0.0; (n + 1) * (n + 1)];
        for (c, j) in order.enumerate() {
            (0..=j).for_each(|i| rows[c * (n + 1) + i] = given.at(i, j));
        }
        let mut ordered = RFactor::zero(n);
        fold_few(&mut ordered.r, n + 1, &mut rows, n + 1);
        Some(ordered)
    }

    /// The linear parameters solved for; `None` where the model has no finite value.
    fn solved(&mut self, params: Vec<f64>) -> Option<Solved> {
        let (l, n) = (self.first.len(), self.problem.free.len());
        let whole = self.factor(&params)?;
        let mut part = RFactor::zero(l);
        for i in 0..l {
            (i..l).for_each(|j| part.r[j * (l + 1) + i] = whole.at(i, j));
            part.r[l * (l + 1) + i] = whole.at(i, n);
        }
        let free: Vec<usize> = self.first.iter().map(|&j| self.problem.free[j]).collect();
        let columns: Vec<f64> = self.first.iter().map(|&j| self.there.columns[j]).collect();
        let mut params = stepped(params, &columns, &free, &part);
        for &k in &free {
            params[k] = params[k].clamp(self.problem.bounds[k].0, self.problem.bounds[k].1);
        }
        let there = self.factor(&params)?;
        let m = n - l;
        let mut r = vec![0.0; m * m];
        for j in 0..m {
            (0..=j).for_each(|i| r[j * m + i] = there.at(l + i, l + j));
        }
        let z = (0..m).map(|i| there.at(l + i, n)).collect();
        let cost = 0.5 * (0..=n).map(|i| there.at(i, n).powi(2)).sum::<f64>();
        let step = Triangular { shape: Arrow::full(m), r, z };
        cost.is_finite().then_some(Solved { params, cost, step })
    }
}
