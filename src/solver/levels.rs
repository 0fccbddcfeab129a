//! Fits in which a few points outweigh all others: the weight limit is raised level by level.
//!
//! Heavy points are up to n points (n: number of free parameters) whose errors are so small that they act as
//! constraints: the model passes through them regardless of the other points. With their full weights the cost is a
//! narrow curved valley in which steps are short, and rounding of the heavy residuals hides the residuals of the other
//! points. The exact size of a large weight hardly affects the minimum: a weight w times that of the other points
//! moves it by about 1/w² of an error. Therefore the search begins with weights limited such that the valley is wide,
//! continues with the largest weights that rounding allows, and applies the full weights only at the end, where the
//! rows of heavy points are added to the last R factor ([`RFactor::below`]).

use super::evaluator::Evaluator;
use super::outcome::{Failure, Outcome};
use super::task::Problem;
use crate::data::points::Points;
use crate::normal::{BlockRow, RFactor};

/// Ratio of the weight of a heavy point to the weight of the (n + 1)-th heaviest. Above about this ratio, a fit that
/// begins near such a point needs many times the usual number of evaluations.
const HEAVY: f64 = 1e4;
/// Weight limit of the first level, as a multiple of the weight of the (n + 1)-th heaviest point: the valley is wide.
const WIDE: f64 = 1e2;
/// Weight limit of the second level, in the same unit. This level is the last one if the model passes through all
/// heavy points: the minimum is then within 1e-12 of an error of its exact position, and the rounding of heavy
/// residuals is 1e-10 of a point's own value.
const NARROW: f64 = 1e6;

/// Maximum relative change of a parameter by the last step.
const LAST: f64 = 1e-7;

/// The model passes through a heavy point if the last step reduces its residual to at most this fraction.
const PASSED: f64 = 1e-3;
/// Ratio of the weight limits of later levels. These are needed if heavy points contradict each other, because the
/// ratios of their own weights then matter.
const RISE: f64 = 1e4;

/// Weights of a fit in which a few points outweigh all others.
#[derive(Clone, Copy)]
pub(super) struct Heavy {
    /// The largest weight.
    first: f64,
    /// The (n + 1)-th largest weight, with n the number of free parameters.
    base: f64,
}

impl Heavy {
    /// Returns the weights if there are heavy points, otherwise `None`. `n`: number of free parameters.
    pub(super) fn of(evaluator: &mut dyn Evaluator, n: usize) -> Option<Heavy> {
        Heavy::among(&evaluator.heaviest(n + 1, 1.0 / HEAVY))
    }

    /// Returns the first and last of these weights, which are in descending order; `None` if the first is not heavy.
    fn among(weights: &[f64]) -> Option<Heavy> {
        let (&first, &base) = weights.first().zip(weights.last())?;
        (base > 0.0 && first > HEAVY * base).then_some(Heavy { first, base })
    }

    /// Returns the maximum weight of a point at the first level.
    pub(super) fn widest(self) -> f64 {
        WIDE * self.base
    }

    /// Returns the maximum weight at the next level, after a level with the result `outcome`; `None` if that level was
    /// the last one.
    pub(super) fn after(
        self,
        evaluator: &mut dyn Evaluator,
        problem: &Problem,
        outcome: &Outcome,
    ) -> Result<Option<f64>, Failure> {
        let most = outcome.most_weight;
        let next = match most < NARROW * self.base {
            true => NARROW * self.base,
            false if most == f64::INFINITY || is_settled(evaluator, problem, outcome)? => {
                return Ok(None);
            }
            false => RISE * most,
        };
        Ok(Some(if next < self.first { next } else { f64::INFINITY }))
    }
}

/// Returns true if a fit of `n` free parameters to these points has heavy points.
pub(crate) fn has_heavy_points(points: &Points<'_>, n: usize) -> bool {
    Heavy::among(&points.heaviest(n + 1, 1.0 / HEAVY)).is_some()
}

/// Returns true if a fit of `n` free parameters to points with these standard deviations has heavy points.
pub(crate) fn has_heavy(sigma: &[f64], n: usize) -> bool {
    let least = sigma.iter().copied().fold(f64::INFINITY, f64::min);
    sigma.len() > n && sigma.iter().filter(|&&s| s <= HEAVY * least).nth(n).is_none()
}

/// Returns true if full weights would not change the result of a level, because the model passes through all heavy
/// points.
fn is_settled(
    evaluator: &mut dyn Evaluator,
    problem: &Problem,
    outcome: &Outcome,
) -> Result<bool, Failure> {
    let Outcome { params, columns, .. } = outcome;
    let rows = evaluator.heavy_rows(params, columns)?;
    let mut factor = RFactor::shaped(&problem.shape);
    evaluator.factor(params, columns, &mut factor)?;
    let inside = inside(problem, params);
    let step = last_step(&factor.below(&rows), &inside, problem, columns, params);
    let Some(step) = step else { return Ok(false) };
    // Heavy residuals after the step are tested because bounds may keep the model away from heavy points.
    let mut changes = vec![0.0; problem.free.len()];
    for (j, to) in step {
        changes[j] = (to - params[problem.free[j]]) / columns[j];
    }
    let is_passed = |row: &BlockRow| {
        let residual = row.values.last().copied().unwrap_or(f64::NAN);
        let left = row.after(&problem.shape, &changes);
        let little = (PASSED * residual.abs()).max((2.0 * outcome.cost).sqrt());
        // A limited weight can replace a larger one only at residuals far below the scale of a robust loss.
        left.abs() <= little.min(PASSED * problem.scale())
    };
    Ok(rows.iter().all(is_passed))
}

/// Returns the free parameters that are not on a bound.
pub(crate) fn inside(problem: &Problem, params: &[f64]) -> Vec<usize> {
    let is_inside = |&j: &usize| {
        let k = problem.free[j];
        let (lower, upper) = problem.bounds[k];
        params[k] > lower && params[k] < upper
    };
    (0..problem.free.len()).filter(is_inside).collect()
}

/// Returns the full step of the free parameters `kept` according to this factor, as pairs of the position among the
/// free parameters and the new value. After the step the model passes through heavy points to rounding; limited
/// weights left it 1e-12 of an error away. Returns `None` if a relative change exceeds [`LAST`], the step leaves the
/// bounds, or the factor is singular.
pub(crate) fn last_step(
    factor: &RFactor,
    kept: &[usize],
    problem: &Problem,
    columns: &[f64],
    params: &[f64],
) -> Option<Vec<(usize, f64)>> {
    let step = factor.kept(kept).problem();
    if step.diagonal().any(|r| r == 0.0) {
        return None;
    }
    let mut changes = step.z.clone();
    step.solve(&mut changes);
    let moved =
        kept.iter().zip(&changes).map(|(&j, d)| (j, params[problem.free[j]] - d * columns[j]));
    let small = |&(j, to): &(usize, f64)| {
        let from = params[problem.free[j]];
        let (lower, upper) = problem.bounds[problem.free[j]];
        (to - from).abs() <= LAST * from.abs() && (lower..=upper).contains(&to)
    };
    let moved: Vec<(usize, f64)> = moved.collect();
    moved.iter().all(small).then_some(moved)
}
