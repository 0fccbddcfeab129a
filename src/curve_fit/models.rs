//! The forms in which a model may come and leave.

use super::CurveFit;
use crate::data::columns::Arguments;
use crate::error::names::check_distinct;
use crate::error::{Error, Result};
use crate::model::Expression;
use crate::model::native::{Model, Native};
use crate::model::program::Program;
use crate::model::var::Var;
use std::sync::Arc;

impl CurveFit {
    /// A model of one independent variable.
    pub fn new<const N: usize>(model: impl Fn(Var, [Var; N]) -> Var) -> CurveFit {
        CurveFit::trace(1, N, |x, p| model(Var::arguments(x), array(p)))
    }

    /// A model of `D` independent variables.
    ///
    /// ```
    /// let plane = dualfit::CurveFit::multivariate(|[x, y], [a, b, c]| a * x + b * y + c);
    /// ```
    pub fn multivariate<const D: usize, const N: usize>(
        model: impl Fn([Var; D], [Var; N]) -> Var,
    ) -> CurveFit {
        CurveFit::trace(D, N, |x, p| model(<[Var; D]>::arguments(x), array(p)))
    }

    /// A model of one independent variable whose number of parameters is known at run time only.
    ///
    /// ```
    /// use dualfit::{CurveFit, Var};
    /// let degree = 4;
    /// let polynomial = CurveFit::dynamic(degree + 1, |x, p| {
    ///     p.iter().rev().fold(Var::from(0.0), |sum, &c| sum * x + c)
    /// });
    /// assert_eq!(polynomial.parameters().len(), 5);
    /// ```
    pub fn dynamic(params: usize, model: impl Fn(Var, &[Var]) -> Var) -> CurveFit {
        CurveFit::trace(1, params, |x, p| model(Var::arguments(x), p))
    }

    /// A model whose numbers of independent variables and parameters are known at run time only.
    pub fn dynamic_multivariate(
        columns: usize,
        params: usize,
        model: impl Fn(&[Var], &[Var]) -> Var,
    ) -> CurveFit {
        CurveFit::trace(columns, params, |x, p| model(x, p))
    }

    /// A model written as text over the independent `variables`; every other name is a parameter, in
    /// order of appearance.
    ///
    /// Operators + − * / ^ (or **), parentheses, the constants `pi` and `e`, the functions of
    /// [`Scalar`](crate::Scalar) under their usual names (`log` is the natural logarithm),
    /// `voigt(x, sigma, gamma)` and `if(condition, a, b)`. A name that differs from a variable which does
    /// not occur only by capitals is refused.
    ///
    /// ```
    /// let line = dualfit::CurveFit::parse("amplitude * exp(-rate * x) + offset", ["x"])?;
    /// assert_eq!(line.parameters(), ["amplitude", "rate", "offset"]);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Parse`] with the column of the offence.
    pub fn parse<S: AsRef<str>>(text: &str, variables: impl AsRef<[S]>) -> Result<CurveFit> {
        let variables: Vec<&str> = variables.as_ref().iter().map(AsRef::as_ref).collect();
        let expression = Expression::parse(text, &variables)?;
        CurveFit::of_expression(&expression, expression.parameters().to_vec())
    }

    /// The model of an expression whose parameters are `names`, in that order.
    pub(crate) fn of_expression(expression: &Expression, names: Vec<String>) -> Result<CurveFit> {
        let place = |name| names.iter().position(|n| n == name);
        let order: Option<Vec<usize>> = expression.parameters().iter().map(place).collect();
        let order = order.unwrap_or_default();
        let trace = |x: &[Var], p: &[Var]| {
            let ordered: Vec<Var> = order.iter().filter_map(|&i| p.get(i).copied()).collect();
            expression.evaluate(x, &ordered)
        };
        let mut program = Program::trace(expression.variables().len(), names.len(), trace)?;
        program.columns = expression.variables().to_vec();
        program.params.clone_from(&names);
        Ok(CurveFit::with_names(Ok(Model::Traced(Arc::new(program))), names))
    }

    /// A model that cannot be fitted; every fit says why.
    pub(crate) fn senseless(error: Error, names: Vec<String>) -> CurveFit {
        CurveFit::with_names(Err(error), names)
    }

    /// A model that cannot be traced, of one independent variable and `params` parameters: an
    /// ordinary function, called for each point. Its partials are central differences unless
    /// [`jacobian`](CurveFit::jacobian) gives them; a start of the right magnitude helps them where a
    /// parameter goes to 0, or its [`scale`](CurveFit::scale).
    ///
    /// ```
    /// let step = dualfit::CurveFit::native(|x: f64, p: &[f64]| if x < 1.0 { p[0] } else { p[1] }, 2);
    /// ```
    pub fn native(
        model: impl Fn(f64, &[f64]) -> f64 + Send + Sync + 'static,
        params: usize,
    ) -> CurveFit {
        CurveFit::native_multivariate(1, params, move |x, p| model(x[0], p))
    }

    /// A model that cannot be traced, of `columns` independent variables; see
    /// [`native`](CurveFit::native).
    pub fn native_multivariate(
        columns: usize,
        params: usize,
        model: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
    ) -> CurveFit {
        let scales = vec![f64::NAN; params];
        let (value, lost) = (Arc::new(model), false);
        let native = Native { value, jacobian: None, columns, params, scales, lost };
        CurveFit::with_names(Ok(Model::Native(native)), default_names(params))
    }

    /// The partial derivatives of a native model of one variable: `jacobian(x, p, out)` writes one
    /// value per parameter to `out`.
    #[must_use]
    pub fn jacobian(
        self,
        jacobian: impl Fn(f64, &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> CurveFit {
        self.jacobian_multivariate(move |x, p, out| jacobian(x[0], p, out))
    }

    /// The partial derivatives of a native model of several variables.
    #[must_use]
    pub fn jacobian_multivariate(
        mut self,
        jacobian: impl Fn(&[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> CurveFit {
        match &mut self.model {
            Ok(Model::Native(native)) => native.jacobian = Some(Arc::new(jacobian)),
            Ok(Model::Traced(_)) => self.refuse(Error::JacobianOfTraced),
            Err(_) => {}
        }
        self.changed()
    }

    pub(super) fn trace(
        columns: usize,
        params: usize,
        model: impl Fn(&[Var], &[Var]) -> Var,
    ) -> CurveFit {
        let program = Program::trace(columns, params, model);
        CurveFit::with_names(program.map(|p| Model::Traced(Arc::new(p))), default_names(params))
    }
}

fn default_names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("p{i}")).collect()
}

/// The variables as an array; missing ones are NaN.
pub(super) fn array<const N: usize>(p: &[Var]) -> [Var; N] {
    std::array::from_fn(|i| p.get(i).copied().unwrap_or(Var::from(f64::NAN)))
}

impl CurveFit {
    /// A model that was traced before: what [`program`](CurveFit::program) gave, perhaps saved in between.
    /// Its partials are recorded anew; names of parameters are the program's.
    ///
    /// ```
    /// let line = dualfit::CurveFit::parse("a*x + b", ["x"])?;
    /// let again = dualfit::CurveFit::from_program(&line.program()?);
    /// assert_eq!(again.parameters(), ["a", "b"]);
    /// assert_eq!(again.program()?, line.program()?);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn from_program(program: &Program) -> CurveFit {
        let names = program.params().to_vec();
        let refused = check_distinct(&names).err();
        let model = Ok(Model::Traced(Arc::new(program.value_only())));
        let mut curve = CurveFit::with_names(model, names);
        curve.refused = refused;
        curve
    }

    /// The model as LaTeX, for mathematics mode with the package `amsmath`; see
    /// [`Program::latex`](crate::program::Program::latex).
    ///
    /// ```
    /// let decay = dualfit::CurveFit::parse("A*exp(-t/tau) + offset", ["t"])?;
    /// assert_eq!(
    ///     decay.latex()?,
    ///     r"f(t) = A \exp\!\left(-\frac{t}{\tau}\right) + \mathrm{offset}"
    /// );
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// What was wrong with the model, or [`Error::NotTraced`] for a native one.
    pub fn latex(&self) -> Result<String> {
        match self.model.as_ref().map_err(Clone::clone)? {
            Model::Traced(program) => Ok(program.latex()),
            Model::Native(_) => Err(Error::NotTraced),
        }
    }
}
