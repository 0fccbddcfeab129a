//! Terms of a model that the data do not need.
//!
//! If the factor a of a term a·g(x; b) is 0, the parameters b have no effect. The test sets a to 0 and improves the
//! other parameters by Gauss-Newton steps. The cost then is an upper limit of the minimum without the term. If it exceeds
//! the cost of the fit by no more than chance, the data do not need the term: an F test for unknown errors, a test of
//! chi-square for known ones, with one degree of freedom for a and for each element of b. Since b has no effect at a = 0,
//! noise alone gives more than this distribution, so that p is rather too small (Davies 1987).

use super::Fit;
use super::distributions::{chi_square_upper, f_upper};
use super::warning::Warning;
use crate::model::native::Model;
use crate::normal::{Normal, Summary};
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::Outcome;
use crate::solver::task::Problem;
use nalgebra::{DMatrix, DVector};

/// Only factors of terms that are at most this many errors from 0 are tested, as a test takes some passes.
const NEAR_ZERO: f64 = 3.0;
/// The data do not need a term if noise alone has its effect with at least this probability.
const CHANCE: f64 = 0.05;
/// Maximum number of steps after a factor has been set to 0.
const STEPS: usize = 3;

/// Returns a warning for each term that the data do not need, and the number of passes.
pub(super) fn warnings(
    fit: &Fit,
    problem: &Problem,
    outcome: &Outcome,
    evaluator: &mut dyn Evaluator,
) -> (Vec<Warning>, usize) {
    let (mut found, mut passes) = (Vec::new(), 0);
    let Model::Traced(program) = &fit.model else { return (found, passes) };
    // A joint fit would take passes over all its sets for a term of each.
    if !problem.shape.is_full() || fit.degrees_of_freedom() == 0 {
        return (found, passes);
    }
    for (j, &k) in problem.free.iter().enumerate() {
        let (value, error) = (fit.params[k], fit.covariance.errors[k]);
        let (lower, upper) = problem.bounds[k];
        let is_near = error.is_finite() && value.abs() < NEAR_ZERO * error;
        if !is_near || value == 0.0 || !(lower..=upper).contains(&0.0) {
            continue;
        }
        let lost = program.lost_without(k, &problem.free);
        if lost.is_empty() {
            continue;
        }
        let is_left = |i: &usize| *i != j && !lost.contains(&problem.free[*i]);
        let left: Vec<usize> = (0..problem.free.len()).filter(is_left).collect();
        let mut without = Without { problem, outcome, left: &left, passes: 0 };
        let p_value = without.p_value(fit, k, 1 + lost.len(), evaluator);
        passes += without.passes;
        if let Some(p_value) = p_value {
            let name = |k: usize| fit.names[k].clone();
            let lost = lost.into_iter().map(name).collect();
            found.push(Warning::UnneededTerm { name: name(k), lost, p_value });
        }
    }
    (found, passes)
}

/// The model without a term. `left`: positions of the free parameters that keep an effect.
struct Without<'a> {
    problem: &'a Problem,
    outcome: &'a Outcome,
    left: &'a [usize],
    passes: usize,
}

impl Without<'_> {
    /// Returns the probability that noise alone has at least the effect of the term of the factor `k`, which takes `own`
    /// parameters; `None` if it is small, or if the steps do not reach the minimum without the term.
    fn p_value(
        &mut self,
        fit: &Fit,
        k: usize,
        own: usize,
        evaluator: &mut dyn Evaluator,
    ) -> Option<f64> {
        let (own, freedom) = (own as f64, fit.degrees_of_freedom() as f64);
        let mut params = self.outcome.params.clone();
        params[k] = 0.0;
        let mut normal = Normal::shaped(&self.problem.shape);
        let mut lowest = f64::INFINITY;
        for _ in 0..=STEPS {
            self.passes += 1;
            evaluator.normal(&params, &self.outcome.columns, &mut normal).ok()?;
            if !normal.is_finite() || normal.cost >= lowest {
                return None;
            }
            lowest = normal.cost;
            let rise = 2.0 * (lowest - self.outcome.cost).max(0.0) / fit.cost_unit;
            let p_value = match fit.scaled {
                true => f_upper(rise / own, own, freedom),
                false => chi_square_upper(rise, own),
            };
            if p_value >= CHANCE {
                return Some(p_value);
            }
            self.step(&normal, &mut params)?;
        }
        None
    }

    /// Takes a Gauss-Newton step of the parameters in `left`, within their bounds. Returns `None` if the step cannot be
    /// computed.
    fn step(&self, normal: &Normal, params: &mut [f64]) -> Option<()> {
        let Problem { free, bounds, .. } = self.problem;
        let n = self.left.len();
        let length = DVector::from_fn(n, |i, _| normal.jtj(self.left[i], self.left[i]).sqrt());
        let scaled =
            |i: usize, j: usize| normal.jtj(self.left[i], self.left[j]) / (length[i] * length[j]);
        let slopes = DVector::from_fn(n, |i, _| -normal.jtr(self.left[i]) / length[i]);
        let step = DMatrix::from_fn(n, n, scaled).cholesky()?.solve(&slopes);
        for (i, &j) in self.left.iter().enumerate() {
            let (k, change) = (free[j], step[i] / length[i] * self.outcome.columns[j]);
            params[k] = (params[k] + change).clamp(bounds[k].0, bounds[k].1);
        }
        Some(())
    }
}
