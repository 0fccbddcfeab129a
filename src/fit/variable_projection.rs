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
    let linear: HashSet<usize> = rules.linear.iter().copied().collect();
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
    let size = |&j: &usize| rules.scales[problem.free[j]] / there.columns[j];
    let sizes = second.iter().map(size).collect();
    let observer = rules.observer;
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
    /// The start, and the powers of two of the columns.
    there: Outcome,
    /// Of each block, and of those without one, which free parameters are linear, and which are not.
    groups: Vec<[Vec<usize>; 2]>,
    /// All that are not.
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

    /// The factor of [L N r] by groups, the columns of each in this order.
    fn factor(&mut self, params: &[f64]) -> Option<RFactor> {
        let mut given = RFactor::shaped(&self.problem.shape);
        self.passes += 1;
        self.evaluator.factor(params, &self.there.columns, &mut given).ok()?;
        let order: Vec<usize> = self.groups.iter().flatten().flatten().copied().collect();
        given.is_finite().then(|| given.kept(&order))
    }

    /// The linear parameters solved for; `None` where the model has no finite value.
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

    /// R₂₂ and z₂ of a factor.
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

/// Rows of a factor: those of a block, or of the corner.
struct Rows<'f> {
    /// Column-major.
    r: &'f [f64],
    /// Of a column.
    height: usize,
    /// Rows above that of what no parameter can fit.
    m: usize,
}

/// The blocks of a factor, then its corner.
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

    /// The column of residuals.
    fn last(&self) -> usize {
        (self.r.len() / self.height.max(1)).saturating_sub(1)
    }

    fn square_of_residuals(&self) -> f64 {
        (0..self.height).map(|i| self.at(i, self.last()).powi(2)).sum()
    }

    /// The factor of the first l columns and the residuals.
    fn linear(&self, l: usize) -> RFactor {
        let mut part = RFactor::zero(l);
        for i in 0..l {
            (i..l).for_each(|j| part.r[j * (l + 1) + i] = self.at(i, j));
            part.r[l * (l + 1) + i] = self.at(i, self.last());
        }
        part
    }

    /// Writes the rows below the first l, without the first l columns: the triangle, the columns next to it, and the
    /// residuals.
    fn below(&self, l: usize, r: &mut [f64], z: &mut [f64]) {
        let m = self.m - l;
        for (j, column) in (l..self.last()).zip(r.chunks_exact_mut(m.max(1))) {
            let rows = if j < self.m { l..j + 1 } else { l..self.m };
            rows.for_each(|i| column[i - l] = self.at(i, j));
        }
        (0..m).for_each(|i| z[i] = self.at(l + i, self.last()));
    }
}
