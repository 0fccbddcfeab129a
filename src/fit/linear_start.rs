//! Least-squares values of the linear parameters of a model for given values of the others.
//!
//! Let r₀ be the residuals at the linear parameters p₀, and J the partials with respect to them. The solution is
//! p₀ − J⁺r₀. It needs one evaluation, or two if JᵀJ would lose digits. The parameters do not move from p₀ in
//! directions that the points do not determine. If the solution violates bounds, a bounded minimisation from the
//! nearest point inside the bounds replaces it.

use super::engine::Request;
use super::point_source::View;
use crate::constants::WELL_CONDITIONED;
use crate::data::loss::Loss;
use crate::error::Result;
use crate::normal::{RFactor, Spectrum};
use crate::solver::linear_model::LinearModel;
use crate::solver::minimise::{evaluate, minimise};
use crate::solver::options::Options;
use crate::solver::outcome::Failure;
use crate::solver::task::{Problem, Task};
use crate::solver::termination::Termination;

/// Singular values below this fraction of the largest are ignored: their coefficients would consist of rounding.
const RANK: f64 = 1e-13;

/// Returns all parameters of `request`. Its free parameters, in which the model must be linear, are at the
/// least-squares solution within their bounds.
///
/// # Errors
/// The error of a model that is not finite at the start or panics.
pub(crate) fn solved(request: &Request<'_>) -> Result<Vec<f64>> {
    let (problem, options) = (request.problem(), Options::default());
    let refused = |failure| request.refused(failure);
    let mut evaluator = request.evaluator(&View::of(Loss::Linear, &request.start))?;
    let task = Task::new(&problem, &options);
    let there = evaluate(&mut *evaluator, &task, Termination::MaxEvaluations);
    let there = there.map_err(refused)?;
    let mut model = LinearModel::new(&problem.shape);
    let sound = model.set_normal(&there.normal) && model.least_pivot > WELL_CONDITIONED;
    let mut factor = model.factor();
    if !sound {
        evaluator
            .factor(&there.params, &there.columns, &mut factor)
            .map_err(|fault| refused(Failure::Backend(fault)))?;
    }
    let mut params = stepped(there.params, &there.columns, &problem.free, &factor);
    let inside = |p: &[f64]| {
        problem.free.iter().all(|&k| (problem.bounds[k].0..=problem.bounds[k].1).contains(&p[k]))
    };
    if inside(&params) {
        return Ok(params);
    }
    for &k in &problem.free {
        params[k] = params[k].clamp(problem.bounds[k].0, problem.bounds[k].1);
    }
    let bounded = Problem { start: params.clone(), ..problem };
    match minimise(&mut *evaluator, &Task::new(&bounded, &options)) {
        Ok(end) => Ok(end.params),
        // The nearest point is a valid start, too; the fit itself reports errors.
        Err(_) => Ok(params),
    }
}

/// Returns the parameters after the Gauss-Newton step of minimum length. It is computed from the factor of [J r] for
/// the parameters `free`, with column j multiplied by `columns[j]`.
pub(super) fn stepped(
    mut params: Vec<f64>,
    columns: &[f64],
    free: &[usize],
    factor: &RFactor,
) -> Vec<f64> {
    let n = free.len();
    let all: Vec<usize> = (0..n).collect();
    let Spectrum { lengths, sigma, v, found } = Spectrum::of(factor, &all);
    if !found {
        return params;
    }
    let least = RANK * sigma.first().copied().unwrap_or(0.0);
    for k in (0..n).filter(|&k| sigma[k] > least) {
        let vector = &v[k * n..(k + 1) * n];
        // D: the lengths of the columns; z: the last column of the factor. The coefficient of v is uᵀz/σ. The sum
        // below is σ·uᵀz, because σ·u = R D⁻¹ v. Therefore it is divided by σ twice.
        let along: f64 = (0..n)
            .map(|i| {
                let row: f64 = (i..n).map(|j| factor.at(i, j) / lengths[j] * vector[j]).sum();
                row * factor.at(i, n)
            })
            .sum();
        let coefficient = along / sigma[k] / sigma[k];
        for j in 0..n {
            let change = coefficient * vector[j] / lengths[j] * columns[j];
            if change.is_finite() {
                params[free[j]] -= change;
            }
        }
    }
    params
}
