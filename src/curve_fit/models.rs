//! Constructors of models from all supported forms, export of models, and their preparation for fits.

use super::CurveFit;
use crate::backend::cpu::Prepared;
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::curve_fit::ready::Ready;
use crate::data::columns::Arguments;
use crate::error::names::check_distinct;
use crate::error::{Error, Result};
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::{ArrayCalls, Calls, Model, Native, PointCalls};
use crate::model::program::Program;
use crate::model::var::{Var, array};
use crate::observe::span;
use std::sync::{Arc, OnceLock};

impl CurveFit {
    /// Returns a model of one independent variable. For several variables use [`multivariate`](CurveFit::multivariate).
    pub fn new<const N: usize>(model: impl Fn(Var, [Var; N]) -> Var) -> CurveFit {
        CurveFit::trace(1, N, |x, p| model(Var::arguments(x), array(p)))
    }

    /// Returns a model of `D` independent variables.
    ///
    /// ```
    /// let plane = dualfit::CurveFit::multivariate(|[x, y], [a, b, c]| a * x + b * y + c);
    /// ```
    pub fn multivariate<const D: usize, const N: usize>(
        model: impl Fn([Var; D], [Var; N]) -> Var,
    ) -> CurveFit {
        CurveFit::trace(D, N, |x, p| model(<[Var; D]>::arguments(x), array(p)))
    }

    /// Returns a model of one independent variable whose number of parameters is known only at run time.
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

    /// Returns a model whose numbers of independent variables and parameters are known only at run time.
    pub fn dynamic_multivariate(
        columns: usize,
        params: usize,
        model: impl Fn(&[Var], &[Var]) -> Var,
    ) -> CurveFit {
        CurveFit::trace(columns, params, |x, p| model(x, p))
    }

    /// Returns a model from a formula in the independent `variables`. Every other name in the formula is a parameter;
    /// parameters are in order of appearance.
    ///
    /// A formula can contain the operators + − * / ^ (or **), parentheses, the constant `pi`, powers of Euler's number
    /// such as `e^x`, the functions of
    /// [`Scalar`](crate::Scalar) under their usual names (`log` is the natural logarithm), `voigt(x, sigma, gamma)` and
    /// `if(condition, a, b)`. If a variable does not occur in the formula, a name that differs from it only by upper
    /// and lower case is an error.
    ///
    /// ```
    /// let line = dualfit::CurveFit::parse("amplitude * exp(-rate * x) + offset", ["x"])?;
    /// assert_eq!(line.parameters(), ["amplitude", "rate", "offset"]);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Parse`] with the column of the invalid text.
    pub fn parse<S: AsRef<str>>(text: &str, variables: impl AsRef<[S]>) -> Result<CurveFit> {
        let variables: Vec<&str> = variables.as_ref().iter().map(AsRef::as_ref).collect();
        let expression = Expression::parse(text, &variables)?;
        CurveFit::of_expression(&expression, expression.parameters().to_vec())
    }

    /// Returns the model of an expression. `names` are its parameters in the required order.
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

    /// Returns an invalid model; every fit of it returns `error`.
    pub(crate) fn senseless(error: Error, names: Vec<String>) -> CurveFit {
        CurveFit::with_names(Err(error), names)
    }

    /// Returns a native model of one independent variable and `params` parameters: an ordinary function that cannot be
    /// traced and is called for each point. Its partials are central differences, unless
    /// [`jacobian`](CurveFit::jacobian) sets them. If a parameter approaches 0, the step of the differences depends on
    /// the magnitude of the starting value; it can be set with [`scale`](CurveFit::scale).
    ///
    /// ```
    /// let step = dualfit::CurveFit::native(2, |x: f64, p: &[f64]| if x < 1.0 { p[0] } else { p[1] });
    /// ```
    pub fn native(
        params: usize,
        model: impl Fn(f64, &[f64]) -> f64 + Send + Sync + 'static,
    ) -> CurveFit {
        CurveFit::native_multivariate(1, params, move |x, p| model(x[0], p))
    }

    /// Returns a native model of `columns` independent variables; see [`native`](CurveFit::native).
    pub fn native_multivariate(
        columns: usize,
        params: usize,
        model: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
    ) -> CurveFit {
        let scales = vec![f64::NAN; params];
        let calls = Calls::Points(PointCalls { value: Arc::new(model), jacobian: None });
        let native = Native { calls, columns, params, scales, lost: false };
        CurveFit::with_names(Ok(Model::Native(native)), default_names(params))
    }

    /// Returns a native model that is evaluated at all points in one call, of one independent variable and `params`
    /// parameters: `model(x, p, out)` writes one value per point to `out`. It suits models that cannot be evaluated at
    /// a single point: the solution of a differential equation, a convolution, or interpolation in a computed table.
    ///
    /// `x` contains all points of the data set in their order, including points that a mask or a missing y leaves out
    /// of the fit, but without points whose coordinates are not finite. Predictions and bands call the model with their
    /// own points.
    ///
    /// Partials are differences. They need one call per parameter for an accepted step, no call for a rejected step,
    /// and two calls per parameter at the start and at the end. Calls for several parameters run in parallel, unless
    /// [`calls_in_turn`](CurveFit::calls_in_turn) is set. [`jacobian_arrays`](CurveFit::jacobian_arrays) sets exact
    /// partials. Streams do not support such models, because not all points are in memory.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data};
    /// // y' = -rate·y, with one Euler step from each point to the next.
    /// let euler = CurveFit::native_arrays(2, |x, p, out| {
    ///     let mut y = p[0];
    ///     for i in 0..x.len() {
    ///         if i > 0 {
    ///             y -= (x[i] - x[i - 1]) * p[1] * y;
    ///         }
    ///         out[i] = y;
    ///     }
    /// });
    /// let x = [0.0, 0.5, 1.0, 1.5, 2.0];
    /// let y = [4.0, 3.0, 2.25, 1.6875, 1.265625];
    /// let fit = euler.fit(Data::new(&x, &y)?, [1.0, 1.0])?;
    /// assert!((fit.params()[1] - 0.5).abs() < 1e-7);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn native_arrays(
        params: usize,
        model: impl Fn(&[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> CurveFit {
        CurveFit::native_arrays_multivariate(1, params, move |x, p, out| model(x[0], p, out))
    }

    /// Returns a model like [`native_arrays`](CurveFit::native_arrays), but with `columns` independent variables. Each
    /// variable is an array with one value per point.
    pub fn native_arrays_multivariate(
        columns: usize,
        params: usize,
        model: impl Fn(&[&[f64]], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> CurveFit {
        let scales = vec![f64::NAN; params];
        let calls = ArrayCalls { value: Arc::new(model), jacobian: None, parallel: true };
        let native = Native { calls: Calls::Arrays(calls), columns, params, scales, lost: false };
        CurveFit::with_names(Ok(Model::Native(native)), default_names(params))
    }

    /// Sets the partials of a [`native_arrays`](CurveFit::native_arrays) model: `jacobian(x, p, out)` writes the
    /// derivatives with respect to parameter k to `out[k]`, one value per point.
    #[must_use]
    pub fn jacobian_arrays(
        mut self,
        jacobian: impl Fn(&[&[f64]], &[f64], &mut [&mut [f64]]) + Send + Sync + 'static,
    ) -> CurveFit {
        match self.array_calls() {
            Some(calls) => calls.jacobian = Some(Arc::new(jacobian)),
            None => self.refuse_kind("jacobian_arrays", "it is for those of native_arrays"),
        }
        self.changed()
    }

    /// Disables parallel calls of a [`native_arrays`](CurveFit::native_arrays) model for the partials. Use this if the
    /// model itself uses all cores, or if several calls at the same time need too much memory.
    #[must_use]
    pub fn calls_in_turn(mut self) -> CurveFit {
        match self.array_calls() {
            Some(calls) => calls.parallel = false,
            None => self.refuse_kind("calls_in_turn", "it is for those of native_arrays"),
        }
        self.changed()
    }

    fn array_calls(&mut self) -> Option<&mut ArrayCalls> {
        match &mut self.model {
            Ok(Model::Native(Native { calls: Calls::Arrays(calls), .. })) => Some(calls),
            _ => None,
        }
    }

    /// Records the error of a method that this kind of model does not support, unless there is an earlier error.
    fn refuse_kind(&mut self, what: &'static str, remedy: &'static str) {
        if self.model.is_ok() {
            self.refuse(Error::ModelKind { what, remedy });
        }
    }

    /// Sets the partials of a native model of one variable: `jacobian(x, p, out)` writes one value per parameter to
    /// `out`.
    #[must_use]
    pub fn jacobian(
        self,
        jacobian: impl Fn(f64, &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> CurveFit {
        self.jacobian_multivariate(move |x, p, out| jacobian(x[0], p, out))
    }

    /// Sets the partials of a native model of several variables.
    #[must_use]
    pub fn jacobian_multivariate(
        mut self,
        jacobian: impl Fn(&[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> CurveFit {
        match &mut self.model {
            Ok(Model::Native(Native { calls: Calls::Points(calls), .. })) => {
                calls.jacobian = Some(Arc::new(jacobian));
            }
            Ok(Model::Native(_)) => self.refuse_kind("jacobian", "give jacobian_arrays"),
            _ => self.refuse_kind("jacobian", "the partials of a traced model are exact already"),
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

impl CurveFit {
    /// Returns the model of a program that was returned by [`program`](CurveFit::program) and possibly saved and
    /// loaded. The partials are computed again; the parameters have their names in the program.
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

    /// Returns the model as LaTeX code for math mode with the package `amsmath`; see
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
    /// Errors in the model, or [`Error::NotTraced`] for a native one.
    pub fn latex(&self) -> Result<String> {
        match self.model.as_ref().map_err(Clone::clone)? {
            Model::Traced(program) => Ok(program.latex()),
            Model::Native(_) => Err(Error::NotTraced),
        }
    }
}

impl CurveFit {
    /// Prepares the model for fits. Without this call, the first fit prepares it. Later clones share the prepared
    /// model.
    ///
    /// ```
    /// let line = dualfit::CurveFit::parse("a*x + b", ["x"])?;
    /// line.prepare()?;
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors in the model, in the names of parameters, in ties or in bounds.
    pub fn prepare(&self) -> Result<()> {
        self.check()?;
        self.ready(&self.free_positions()).map(|_| ())
    }

    /// Returns the prepared model, with partials with respect to the `free` parameters.
    pub(super) fn ready(&self, free: &[usize]) -> Result<&Arc<Ready>> {
        if let Some(ready) = self.ready.get() {
            return Ok(ready);
        }
        let _span = span!(DEBUG, "prepare", parameters = free.len());
        let (model, ties) = (self.effective_model()?, self.placed_ties()?);
        let (prepared, printed) = match &model {
            Model::Traced(program) => {
                let program = Arc::new(program.with_partials(free)?);
                (
                    Prepared::traced(program.clone(), free),
                    Some(Arc::new(CompiledModel::new(program))),
                )
            }
            Model::Native(native) => (Prepared::native(native, free, &self.bounds), None),
        };
        let fresh = Arc::new(Ready { model, ties: Arc::new(ties), prepared, printed });
        Ok(self.ready.get_or_init(|| fresh))
    }

    /// Drops the model prepared for the previous settings.
    pub(super) fn changed(mut self) -> CurveFit {
        self.ready = OnceLock::new();
        self
    }

    /// Drops the prepared model after a change of bounds or fixed parameters, if necessary. The prepared form of a
    /// traced model depends only on the set of free parameters, not on their bounds.
    pub(super) fn changed_in_place(self) -> CurveFit {
        let suits = |ready: &Arc<Ready>| {
            matches!(ready.model, Model::Traced(_)) && ready.prepared.free == self.free_positions()
        };
        match self.ready.get().is_some_and(suits) {
            true => self,
            false => self.changed(),
        }
    }
}

impl CurveFit {
    /// Sets the terms whose sum is the traced model: name, factor and formula in the current names of the model.
    pub(crate) fn sum_of(mut self, terms: Vec<(String, f64, Expression)>) -> CurveFit {
        if let Ok(Model::Traced(program)) = &self.model {
            let (columns, params) = (&program.columns, &program.params);
            let component = |(name, factor, formula)| {
                ComponentModel::new(name, factor, formula, columns, params)
            };
            let all: Option<Vec<ComponentModel>> = terms.into_iter().map(component).collect();
            self.components = all.unwrap_or_default().into();
        }
        self
    }
}
