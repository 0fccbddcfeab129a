//! Quantities computed from the parameters, with their standard errors.

use super::covariance::Covariance;
use crate::error::Result;
use crate::error::names::position;
use crate::model::Expression;
use crate::model::dual::Dual;
use crate::model::program::Program;
use crate::model::var::Var;

/// Number of partials that one evaluation of a formula computes.
const LANES: usize = 8;

/// The value of a quantity and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagated {
    /// Value of the quantity at the fitted parameters.
    pub value: f64,
    /// Standard error of the quantity, to first order in the errors of the parameters. It is infinite if the quantity
    /// depends on a combination of parameters that the data do not determine. It is NaN if the fit has no degree of
    /// freedom to estimate the scatter, or if the value or a partial of the quantity is not finite.
    pub std_error: f64,
}

/// A formula of parameters of a fit.
#[derive(Clone, Debug)]
pub(crate) struct Formula {
    pub(crate) expression: Expression,
    /// Position of each parameter of the expression among the parameters of the fit.
    pub(crate) places: Vec<usize>,
}

impl Formula {
    /// Creates a formula of parameters of a fit. `names`: all parameters of the fit, in order.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a name in the expression that is not in `names`.
    pub(crate) fn of(expression: &Expression, names: &[String]) -> Result<Formula> {
        let of = |name: &String| position(names, name, "correct the formula");
        let places = expression.parameters().iter().map(of).collect::<Result<_>>()?;
        Ok(Formula { expression: expression.clone(), places })
    }

    /// Returns the value at `params` and the exact partials with respect to the parameters at `places`.
    pub(crate) fn linear(&self, params: &[f64]) -> (f64, Vec<f64>) {
        linear(|named| self.expression.evaluate(&[], named), &self.places, params)
    }

    pub(crate) fn propagated(&self, params: &[f64], covariance: &Covariance) -> Propagated {
        with_error(self.linear(params), &self.places, covariance)
    }
}

/// Traces a closure of all parameters and returns its value with the standard error.
///
/// # Errors
/// The errors of [`Fit::propagate_fn`](crate::Fit::propagate_fn).
pub(super) fn propagated_closure(
    quantity: impl Fn(&[Var]) -> Var,
    params: &[f64],
    covariance: &Covariance,
) -> Result<Propagated> {
    let program = Program::trace(0, params.len(), |_, p| quantity(p))?;
    let of = |p: &[Dual<f64, LANES>]| program.evaluate(&[], p);
    let all: Vec<usize> = (0..params.len()).collect();
    Ok(with_error(linear(of, &all, params), &all, covariance))
}

/// Returns the value of `of` and its exact partials with respect to the parameters at `places`.
fn linear(
    of: impl Fn(&[Dual<f64, LANES>]) -> Dual<f64, LANES>,
    places: &[usize],
    params: &[f64],
) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; places.len()];
    let mut value = f64::NAN;
    for group in 0..places.len().div_ceil(LANES).max(1) {
        let lane = |i: usize| if i / LANES == group { i % LANES } else { LANES };
        let point: Vec<Dual<f64, LANES>> =
            places.iter().enumerate().map(|(i, &k)| Dual::variable(params[k], lane(i))).collect();
        let found = of(&point);
        value = found.value;
        let out = gradient.iter_mut().skip(group * LANES);
        out.zip(found.partials).for_each(|(out, partial)| *out = partial);
    }
    (value, gradient)
}

/// Returns the value with the standard error computed from its partials with respect to the parameters at `places`.
fn with_error(
    (value, gradient): (f64, Vec<f64>),
    places: &[usize],
    covariance: &Covariance,
) -> Propagated {
    let finite = value.is_finite() && gradient.iter().all(|partial| partial.is_finite());
    let std_error = if finite { covariance.error_among(places, &gradient) } else { f64::NAN };
    Propagated { value, std_error }
}

/// A quantity that is computed from the parameters, defined by
/// [`CurveFit::derive`](crate::CurveFit::derive).
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Name of the quantity.
    pub name: String,
    /// Value of the quantity at the fitted parameters.
    pub value: f64,
    /// Standard error of the quantity, computed as by [`Fit::propagate`](crate::Fit::propagate).
    pub std_error: f64,
}
