//! Search over the nonlinear parameters only; at each trial point the linear parameters are solved for.
//!
//! The method is variable projection (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973) with the step of Kaufman (BIT
//! 15, 1975). The Jacobian is J = [L N] with the columns L of the linear parameters first. Let
//! [R₁₁ R₁₂ z₁; 0 R₂₂ z₂] be the triangular factor of [J r] without its last row. The step δ of the nonlinear
//! parameters minimises ‖R₂₂ δ + z₂‖ in a trust region, which does not limit the linear parameters. A trial needs
//! two passes: one to solve for the linear parameters, and one for the cost and the factor at the solution.
//!
//! This search needs no start of the linear parameters, and it can succeed although the nonlinear parameters start
//! far from the solution. A minimisation over all parameters fails in this case: its steps follow a curved valley of
//! the linear parameters, or lead to extreme values.

use super::linear_start::stepped;
use super::search::SearchRequest;
use crate::normal::{Arrow, RFactor, Summary, Triangular};
use crate::solver::evaluator::Evaluator;
use crate::solver::minimise::evaluate;
use crate::solver::observe::Observer;
use crate::solver::options::Options;
use crate::solver::outcome::{Failure, Outcome};
use crate::solver::task::{Problem, Task};
use crate::solver::termination::Termination;
use crate::solver::trust_region::{TrustRegion, scaled_norm};
use std::collections::HashSet;
use std::ops::Range;

/// Maximum number of trial points.
const MOST_TRIALS: usize = 300;
/// Initial radius of the trust region: parameters change by at most half of their size. Far from the solution, partials
/// determine the direction of a step but not its length. With a radius of 0.1 to 1 all problems of NIST are solved;
/// with 2, the iteration jumps over a pole in one problem.
const FIRST_RADIUS: f64 = 0.5;
/// A predicted or actual decrease of the cost by less than this fraction ends the search. Its result is only a starting
/// point, therefore more accuracy is not needed.
const LITTLE: f64 = 1e-6;

/// Runs the search from the start of `problem`. Returns all parameters of the best point, and the number of passes.
pub(super) fn projected(
    points: &mut dyn Evaluator,
    problem: &Problem,
    request: &SearchRequest<'_>,
) -> Result<(Vec<f64>, usize), Failure> {
    let options = Options::default();
    let there = evaluate(points, &Task::new(problem, &options), Termination::MaxEvaluations)?;
    let linear: HashSet<usize> = request.linear.iter().copied().collect();
    let shape = &problem.shape;
    let is_own = |j: usize| shape.is_full() || j < shape.first_common();
    let is_linear = |j: &usize| is_own(*j) && linear.contains(&problem.free[*j]);
    let corner = shape.first_common()..shape.n();
    let groups = shape.blocks().chain([corner]);
    let groups: Vec<[Vec<usize>; 2]> = groups
        .map(|group| {
            let (first, second) = group.partition(is_linear);
            [first, second]
        })
        .collect();
    let second: Vec<usize> = groups.iter().flat_map(|[_, second]| second).copied().collect();
    let size = |&j: &usize| request.spec.scales[problem.free[j]] / there.columns[j];
    let sizes = second.iter().map(size).collect();
    let observer = request.spec.observer();
    let mut search = ProjectedSearch {
        evaluator: points,
        problem,
        there,
        groups,
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
    /// Evaluation at the start. `there.columns`: the power of two that multiplies each column of the Jacobian.
    there: Outcome,
    /// Indices of the `[linear, nonlinear]` free parameters, for each block and last for the common parameters.
    groups: Vec<[Vec<usize>; 2]>,
    /// Indices of all nonlinear parameters, in the order of `groups`.
    second: Vec<usize>,
    /// Typical sizes of the nonlinear parameters, divided by `there.columns`; NaN if unknown.
    sizes: Vec<f64>,
    passes: usize,
    observer: Option<&'a Observer>,
}

/// A trial point after the linear parameters were solved for.
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
        let mut region = TrustRegion::new(&best.step.shape);
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

    /// Returns the nonlinear parameters, divided by `there.columns`.
    fn scaled(&self, params: &[f64]) -> Vec<f64> {
        let unit = |&j: &usize| params[self.problem.free[j]] / self.there.columns[j];
        self.second.iter().map(unit).collect()
    }

    /// Scales the trust region by the sizes of the parameters, so that it limits relative changes. Lengths of columns
    /// are not suitable as scales: they are nearly 0 where a parameter has hardly any effect.
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

    /// Returns the factor of [J r] with the columns in the order of `groups`: linear parameters first in each group.
    fn factor(&mut self, params: &[f64]) -> Option<RFactor> {
        let mut given = RFactor::shaped(&self.problem.shape);
        self.passes += 1;
        self.evaluator.factor(params, &self.there.columns, &mut given).ok()?;
        let order: Vec<usize> = self.groups.iter().flatten().flatten().copied().collect();
        given.is_finite().then(|| given.kept(&order))
    }

    /// Solves for the linear parameters at fixed nonlinear parameters; `None` if a factor or the cost is not finite.
    fn solved(&mut self, mut params: Vec<f64>) -> Option<Solved> {
        let whole = self.factor(&params)?;
        for ([first, _], rows) in self.groups.iter().zip(groups_of(&whole)) {
            let free: Vec<usize> = first.iter().map(|&j| self.problem.free[j]).collect();
            let columns: Vec<f64> = first.iter().map(|&j| self.there.columns[j]).collect();
            params = stepped(params, &columns, &free, &rows.linear(first.len()));
            for &k in &free {
                params[k] = params[k].clamp(self.problem.bounds[k].0, self.problem.bounds[k].1);
            }
        }
        let there = self.factor(&params)?;
        let cost = 0.5 * groups_of(&there).map(|rows| rows.square_of_residuals()).sum::<f64>();
        cost.is_finite().then(|| Solved { params, cost, step: self.nonlinear(&there) })
    }

    /// Extracts R₂₂ and z₂ from a factor.
    fn nonlinear(&self, whole: &RFactor) -> Triangular {
        let mut counts = self.groups.iter().map(|[_, second]| second.len());
        let common = counts.next_back().unwrap_or(0);
        let shape = Arrow::of(counts, common);
        let mut step = Triangular::zero(&shape);
        let mut given = groups_of(whole).zip(&self.groups);
        let Triangular { r, z, .. } = &mut step;
        for ((own, to), (rows, [first, _])) in shape.trapezoids_mut(r, 0).zip(&mut given) {
            rows.below(first.len(), to, &mut z[own]);
        }
        for (rows, [first, _]) in given {
            let z = &mut z[shape.first_common()..];
            rows.below(first.len(), shape.corner_mut(r, 0), z);
        }
        step
    }
}

/// The rows of a factor that belong to one block, or to the corner (the common parameters).
struct Rows<'f> {
    /// Column-major.
    r: &'f [f64],
    /// Length of a column.
    height: usize,
    /// Number of rows that belong to parameters. The corner has one more row: the part of the residuals that no
    /// parameter can fit.
    m: usize,
}

/// Returns the rows of each block of a factor, and last the corner.
fn groups_of(factor: &RFactor) -> impl Iterator<Item = Rows<'_>> {
    let (blocks, corner) = factor.parts();
    let n = factor.arrow().common();
    let block = |(own, r): (Range<usize>, _)| Rows { r, height: own.len(), m: own.len() };
    blocks.map(block).chain([Rows { r: corner, height: n + 1, m: n }])
}

impl Rows<'_> {
    fn at(&self, i: usize, j: usize) -> f64 {
        self.r[j * self.height + i]
    }

    /// Returns the index of the column of residuals.
    fn last(&self) -> usize {
        (self.r.len() / self.height.max(1)).saturating_sub(1)
    }

    fn square_of_residuals(&self) -> f64 {
        (0..self.height).map(|i| self.at(i, self.last()).powi(2)).sum()
    }

    /// Returns the triangular factor of the first `l` columns and the residuals.
    fn linear(&self, l: usize) -> RFactor {
        let mut part = RFactor::zero(l);
        for i in 0..l {
            (i..l).for_each(|j| part.r[j * (l + 1) + i] = self.at(i, j));
            part.r[l * (l + 1) + i] = self.at(i, self.last());
        }
        part
    }

    /// Copies the rows below the first `l` rows, without the first `l` columns. `r` receives the triangle and the
    /// columns to its right, `z` the residuals.
    fn below(&self, l: usize, r: &mut [f64], z: &mut [f64]) {
        let m = self.m - l;
        for (j, column) in (l..self.last()).zip(r.chunks_exact_mut(m.max(1))) {
            let rows = if j < self.m { l..j + 1 } else { l..self.m };
            rows.for_each(|i| column[i - l] = self.at(i, j));
        }
        (0..m).for_each(|i| z[i] = self.at(l + i, self.last()));
    }
}
