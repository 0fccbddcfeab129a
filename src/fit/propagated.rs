//! Quantities computed from the parameters, with their standard errors.

use super::Fit;
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

impl Fit {
    /// Returns the value and the standard error of an expression of the parameters, such as
    /// `"2*sqrt(2*ln(2))*sigma"`. Its syntax is that of [`CurveFit::parse`](crate::CurveFit::parse).
    ///
    /// The standard error is ‖Hᵀg‖ (delta method): g are the exact partials of the expression, and HHᵀ is the
    /// covariance. It includes the correlations of the parameters. It is computed from H because gᵀHHᵀg would lose
    /// its digits if the errors of the parameters nearly cancel. Fixed parameters and parameters at an active bound
    /// contribute nothing.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let decay = dualfit::CurveFit::parse("a * exp(-b * x)", ["x"])?;
    /// let fit = decay.fit(dualfit::Data::new(&x, &y)?, [1.0, 1.0])?;
    /// let half_life = fit.propagate("ln(2) / b")?;
    /// let b = fit.param("b").unwrap();
    /// let relative = fit.std_error("b").unwrap() / b;
    /// assert!((half_life.std_error / half_life.value - relative).abs() < 1e-12);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// The expression may also name [derived](Fit::derived) quantities.
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) with the column of the syntax error;
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a name that is neither a parameter nor a derived
    /// quantity.
    pub fn propagate(&self, expression: &str) -> Result<Propagated> {
        let named = |(derived, formula): (&Derived, &Formula)| {
            let names = formula.places.iter().map(|&k| self.names[k].clone()).collect();
            (derived.name.clone(), formula.expression.renamed(names))
        };
        let known: Vec<_> = self.derived.iter().zip(&self.formulas).map(named).collect();
        let formula =
            Formula::of(&Expression::parse(expression, &[])?.substituted(&known)?, &self.names)?;
        Ok(formula.propagated(&self.params, &self.covariance))
    }

    /// Returns the value and the standard error of the parameter or the [derived](Fit::derived) quantity `name`.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let decay = dualfit::CurveFit::parse("a * exp(-b * x)", ["x"])?
    ///     .derive("half_life", "ln(2) / b");
    /// let fit = decay.fit(dualfit::Data::new(&x, &y)?, [("b", 2.0)])?;
    /// let half_life = fit.quantity("half_life").unwrap();
    /// assert_eq!(half_life, fit.propagate("ln(2) / b")?);
    /// assert_eq!(fit.quantity("b").unwrap().std_error, fit.std_error("b").unwrap());
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn quantity(&self, name: &str) -> Option<Propagated> {
        if let Some(i) = self.position(name) {
            let (value, std_error) = (self.params[i], self.covariance.errors[i]);
            return Some(Propagated { value, std_error });
        }
        let Derived { value, std_error, .. } = *self.derived.iter().find(|d| d.name == name)?;
        Some(Propagated { value, std_error })
    }

    /// Returns the value and the standard error of a quantity that a closure computes from the parameters. The closure
    /// receives all parameters in the model's order.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let fit = dualfit::curve_fit(|x, [a, b]| a * (-b * x).exp(), &x, &y, [1.0, 1.0])?;
    /// let area = fit.propagate_fn(|p| p[0] / p[1])?;
    /// assert!(area.std_error > 0.0);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ModelPanicked`](crate::Error::ModelPanicked) if the closure panics;
    /// [`Error::ForeignVariable`](crate::Error::ForeignVariable) if it uses a variable of another closure.
    pub fn propagate_fn(&self, quantity: impl Fn(&[Var]) -> Var) -> Result<Propagated> {
        let program = Program::trace(0, self.params.len(), |_, p| quantity(p))?;
        let of = |p: &[Dual<f64, LANES>]| program.evaluate(&[], p);
        let all: Vec<usize> = (0..self.params.len()).collect();
        Ok(with_error(linear(of, &all, &self.params), &all, &self.covariance))
    }
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

impl Fit {
    /// Returns the quantities defined by [`CurveFit::derive`](crate::CurveFit::derive), in order.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let decay = dualfit::CurveFit::parse("a * exp(-b * x)", ["x"])?
    ///     .derive("half_life", "ln(2) / b");
    /// let fit = decay.fit(dualfit::Data::new(&x, &y)?, [("b", 2.0)])?;
    /// let half_life = &fit.derived()[0];
    /// assert_eq!(half_life.value, fit.propagate("ln(2) / b")?.value);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Computes the derived quantities from their names and formulas.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a name in a formula that is not
    /// a parameter.
    pub(crate) fn derive(&mut self, asked: &[(String, Expression)]) -> Result<()> {
        for (name, expression) in asked {
            self.add_derived(name.clone(), Formula::of(expression, &self.names)?);
        }
        Ok(())
    }

    /// Computes one derived quantity and appends it.
    pub(crate) fn add_derived(&mut self, name: String, formula: Formula) {
        let Propagated { value, std_error } = formula.propagated(&self.params, &self.covariance);
        self.derived.push(Derived { name, value, std_error });
        self.formulas.push(formula);
    }
}
