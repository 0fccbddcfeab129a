//! The front: a model, what is said of its parameters, and fits of it.

use crate::backend::cpu::Prepared;
use crate::data::Data;
use crate::data::columns::{Arguments, Columns};
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::engine::Request;
use crate::model::Expression;
use crate::model::native::{Model, Native};
use crate::model::program::Program;
use crate::model::var::Var;
use crate::solver::observe::{Observer, Progress};
use crate::solver::options::Options;
use std::fmt;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Where points are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The fastest that is there.
    #[default]
    Auto,
    /// All cores of the CPU.
    Cpu,
    /// The CUDA device of this number.
    Cuda(usize),
}

/// Fits `model` to the points (`x`, `y`) from the start `p0`, as SciPy's `curve_fit` does.
///
/// `x` is one column (`&x`) or several (`[&x, &y]`), `y` has one value per point; all in f64 or f32.
/// The model is traced, so it is ordinary code over [`Var`]; `p0` has one value per parameter. For
/// bounds, weights, losses and names see [`CurveFit`].
///
/// ```
/// let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5).collect();
/// let fit = dualfit::curve_fit(|x, [a, b, c]| a * (-b * x).exp() + c, &x, &y, [1.0, 1.0, 0.0])?;
/// assert!(fit.converged());
/// assert!((fit.params()[1] - 1.3).abs() < 1e-9);
/// # Ok::<(), dualfit::Error>(())
/// ```
///
/// # Errors
/// As [`Data::new`] and [`CurveFit::fit`].
pub fn curve_fit<'a, C: Columns<'a>, const N: usize>(
    model: impl Fn(C::X, [Var; N]) -> Var,
    x: C,
    y: impl Into<Values<'a>>,
    p0: [f64; N],
) -> Result<Fit> {
    let data = Data::new(x, y)?;
    let columns = C::X::count().unwrap_or(data.columns.len());
    CurveFit::trace(columns, N, |x, p| model(C::X::arguments(x), array(p))).fit(data, p0)
}

/// A model with what is known of its parameters: traced once, prepared at the first fit, used for
/// any number of fits from any thread.
///
/// Whatever is wrong with the model or with what was said of its parameters is reported by
/// [`fit`](CurveFit::fit).
///
/// ```
/// use dualfit::{CurveFit, Data, Loss, Sigma};
/// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
/// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3).collect();
/// # let sigma = vec![0.1; 50];
/// let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
///     .names(["amplitude", "rate", "offset"])
///     .bound("rate", 0.0..=10.0)
///     .fix("offset")
///     .loss(Loss::Huber { scale: 0.1 });
/// let fit = decay.fit(Data::new(&x, &y)?.sigma(Sigma::Absolute(&sigma))?, [1.0, 1.0, 0.3])?;
/// assert!((fit.param("rate").unwrap() - 0.5).abs() < 1e-6);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone)]
pub struct CurveFit {
    model: Result<Model>,
    names: Vec<String>,
    bounds: Vec<(f64, f64)>,
    fixed: Vec<bool>,
    loss: Loss,
    options: Options,
    backend: Backend,
    clamp_start: bool,
    underdetermined: bool,
    observer: Option<Arc<Observer>>,
    /// The first thing wrong with what was said of the parameters.
    refused: Option<Error>,
    prepared: OnceLock<Arc<Prepared>>,
}

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
    /// [`Scalar`](crate::Scalar) under their usual names (`log` is the natural logarithm), and
    /// `if(condition, a, b)`.
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
        let names = expression.parameters().to_vec();
        let trace = |x: &[Var], p: &[Var]| expression.evaluate(x, p);
        let mut program = Program::trace(variables.len(), names.len(), trace)?;
        program.columns = variables.iter().map(|&v| v.to_owned()).collect();
        program.params.clone_from(&names);
        Ok(CurveFit::with_names(Ok(Model::Traced(Arc::new(program))), names))
    }

    /// A model that cannot be traced, of one independent variable and `params` parameters: an
    /// ordinary function, called for each point. Its partials are central differences unless
    /// [`jacobian`](CurveFit::jacobian) gives them.
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
        let native = Native { value: Arc::new(model), jacobian: None, columns, params };
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

    fn trace(columns: usize, params: usize, model: impl Fn(&[Var], &[Var]) -> Var) -> CurveFit {
        let program = Program::trace(columns, params, model);
        CurveFit::with_names(program.map(|p| Model::Traced(Arc::new(p))), default_names(params))
    }

    fn with_names(model: Result<Model>, names: Vec<String>) -> CurveFit {
        CurveFit {
            model,
            bounds: vec![(f64::NEG_INFINITY, f64::INFINITY); names.len()],
            fixed: vec![false; names.len()],
            names,
            loss: Loss::Linear,
            options: Options::default(),
            backend: Backend::Auto,
            clamp_start: false,
            underdetermined: false,
            observer: None,
            refused: None,
            prepared: OnceLock::new(),
        }
    }

    /// Names the parameters, in order; `p0, p1, …` otherwise.
    #[must_use]
    pub fn names<S: AsRef<str>>(mut self, names: impl AsRef<[S]>) -> CurveFit {
        let names: Vec<String> = names.as_ref().iter().map(|n| n.as_ref().to_owned()).collect();
        if names.len() != self.names.len() {
            self.refuse(Error::NameCount { expected: self.names.len(), got: names.len() });
            return self;
        }
        if let Some(i) = (0..names.len()).find(|&i| names[..i].contains(&names[i])) {
            self.refuse(Error::DuplicateName { name: names[i].clone() });
        }
        if let Ok(Model::Traced(program)) = &mut self.model {
            Arc::make_mut(program).params.clone_from(&names);
        }
        self.names = names;
        self.changed()
    }

    /// Keeps a parameter within a range: `0.0..=1.0`, `0.0..`, `..5.0`. The ends belong to it.
    #[must_use]
    pub fn bound(mut self, name: &str, range: impl RangeBounds<f64>) -> CurveFit {
        let end = |bound: Bound<&f64>, open: f64| match bound {
            Bound::Included(&v) | Bound::Excluded(&v) => v,
            Bound::Unbounded => open,
        };
        let lower = end(range.start_bound(), f64::NEG_INFINITY);
        let upper = end(range.end_bound(), f64::INFINITY);
        if let Some(i) = self.find(name) {
            self.bounds[i] = (lower, upper);
        }
        self.changed()
    }

    /// Lower and upper bounds of all parameters, in order; ±∞ for none.
    #[must_use]
    pub fn bounds(mut self, bounds: impl AsRef<[(f64, f64)]>) -> CurveFit {
        let bounds = bounds.as_ref();
        if bounds.len() == self.names.len() {
            self.bounds = bounds.to_vec();
        } else {
            let (expected, got) = (self.names.len(), bounds.len());
            let remedy = "one pair of lower and upper bound per parameter";
            self.refuse(Error::LengthMismatch { what: "bounds".into(), expected, got, remedy });
        }
        self.changed()
    }

    /// Keeps a parameter at its start.
    #[must_use]
    pub fn fix(mut self, name: &str) -> CurveFit {
        if let Some(i) = self.find(name) {
            self.fixed[i] = true;
        }
        self.changed()
    }

    /// Lets a fixed parameter move again.
    #[must_use]
    pub fn free(mut self, name: &str) -> CurveFit {
        if let Some(i) = self.find(name) {
            self.fixed[i] = false;
        }
        self.changed()
    }

    /// How residuals count; [`Loss::Linear`], least squares, by default.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> CurveFit {
        self.loss = loss;
        self
    }

    /// Stopping rules and limits.
    #[must_use]
    pub fn options(mut self, options: Options) -> CurveFit {
        self.options = options;
        self
    }

    /// Where points are evaluated; [`Backend::Auto`] by default.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> CurveFit {
        self.backend = backend;
        self
    }

    /// Moves a start that lies outside its bounds onto the nearest one instead of refusing it.
    #[must_use]
    pub fn clamp_start(mut self, clamp: bool) -> CurveFit {
        self.clamp_start = clamp;
        self
    }

    /// Accepts fewer points than free parameters. The fit finds one of many solutions; undetermined
    /// parameters have infinite errors.
    #[must_use]
    pub fn allow_underdetermined(mut self, allow: bool) -> CurveFit {
        self.underdetermined = allow;
        self
    }

    /// Calls `observer` after every step; `ControlFlow::Break(())` stops the fit, which then returns
    /// the best parameters so far.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// let line = dualfit::CurveFit::new(|x, [a, b]| a * x + b).observe(|progress| {
    ///     println!("{}: cost {}", progress.iteration, progress.cost);
    ///     ControlFlow::Continue(())
    /// });
    /// ```
    #[must_use]
    pub fn observe(
        mut self,
        observer: impl Fn(&Progress<'_>) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> CurveFit {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The parameters' names, in order.
    pub fn parameters(&self) -> &[String] {
        &self.names
    }

    /// The traced model with its partials by the free parameters, for reading; `Display` prints it.
    ///
    /// # Errors
    /// What was wrong with the model, or [`Error::NotTraced`] for a native one.
    pub fn program(&self) -> Result<Program> {
        match self.model.as_ref().map_err(Clone::clone)? {
            Model::Traced(program) => program.with_partials(&self.free_positions()),
            Model::Native(_) => Err(Error::NotTraced),
        }
    }

    /// Fits the model to `data` from `start`, one value per parameter.
    ///
    /// A fit that does not converge is a [`Fit`] that says so, with the best parameters reached.
    ///
    /// # Errors
    /// Whatever makes the request senseless: something wrong with the model, the parameters' names,
    /// bounds or start, the data or the options; or a model that has no finite value at the start.
    /// Each [`Error`] names the place, the number and the remedy.
    pub fn fit(&self, data: Data<'_>, start: impl AsRef<[f64]>) -> Result<Fit> {
        let begun = Instant::now();
        let model = self.model.as_ref().map_err(Clone::clone)?;
        self.check()?;
        let start = self.checked_start(start.as_ref())?;
        if data.columns.len() != model.columns() {
            let (expected, got) = (model.columns(), data.columns.len());
            return Err(Error::ColumnCount { expected, got });
        }
        let points = Points::validate(&data)?;
        let validated = Instant::now();
        let free = self.free_positions();
        if points.used < free.len() && !self.underdetermined {
            return Err(Error::TooFewPoints { points: points.used, parameters: free.len() });
        }
        let unused = self.unused(model);
        if !free.is_empty() && free.iter().all(|&i| unused[i]) {
            let names = free.iter().map(|&i| self.names[i].clone()).collect();
            return Err(Error::NoParameterDependence { names });
        }
        let prepared = self.prepared(model, &free)?;
        let prepared_at = Instant::now();
        Request {
            model,
            prepared: &prepared,
            names: &self.names,
            points: &points,
            start,
            bounds: &self.bounds,
            fixed: (0..self.names.len()).map(|i| !free.contains(&i)).collect(),
            unused,
            loss: self.loss,
            options: &self.options,
            observer: self.observer.as_deref(),
            prepare_time: prepared_at - validated,
            validate_time: validated - begun,
        }
        .fit()
    }

    /// Everything that can be wrong without looking at data or start.
    fn check(&self) -> Result<()> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        if self.names.is_empty() {
            return Err(Error::NoParameters);
        }
        if let Backend::Cuda(ordinal) = self.backend {
            return Err(Error::CudaUnavailable { ordinal });
        }
        for (name, &(lower, upper)) in self.names.iter().zip(&self.bounds) {
            for (what, value) in [("lower bound", lower), ("upper bound", upper)] {
                if value.is_nan() {
                    return Err(Error::NonFiniteParameter { what, name: name.clone(), value });
                }
            }
            if lower > upper {
                return Err(Error::BoundsOrder { name: name.clone(), lower, upper });
            }
        }
        self.loss.validate()?;
        self.options.validate()
    }

    fn checked_start(&self, start: &[f64]) -> Result<Vec<f64>> {
        if start.len() != self.names.len() {
            let (expected, got) = (self.names.len(), start.len());
            return Err(Error::ParameterCount { expected, got, names: self.names.clone() });
        }
        let mut checked = start.to_vec();
        for (i, value) in checked.iter_mut().enumerate() {
            let (name, (lower, upper)) = (&self.names[i], self.bounds[i]);
            if !value.is_finite() {
                let (name, value) = (name.clone(), *value);
                return Err(Error::NonFiniteParameter { what: "start", name, value });
            }
            if self.clamp_start {
                *value = value.clamp(lower, upper);
            } else if !(lower..=upper).contains(value) {
                let (name, value) = (name.clone(), *value);
                return Err(Error::StartOutOfBounds { name, value, lower, upper });
            }
        }
        Ok(checked)
    }

    /// Positions of the parameters that are neither fixed nor kept by equal bounds.
    fn free_positions(&self) -> Vec<usize> {
        let free = |&i: &usize| !self.fixed[i] && self.bounds[i].0 != self.bounds[i].1;
        (0..self.names.len()).filter(free).collect()
    }

    /// For each parameter whether the model is known not to contain it.
    fn unused(&self, model: &Model) -> Vec<bool> {
        let unused = |i: usize| match model {
            Model::Traced(program) => !program.uses(i),
            Model::Native(_) => false,
        };
        (0..self.names.len()).map(unused).collect()
    }

    fn prepared(&self, model: &Model, free: &[usize]) -> Result<Arc<Prepared>> {
        if let Some(ready) = self.prepared.get() {
            return Ok(ready.clone());
        }
        let fresh = Arc::new(match model {
            Model::Traced(program) => Prepared::traced(&program.with_partials(free)?, free),
            Model::Native(native) => Prepared::native(native, free, &self.bounds),
        });
        Ok(self.prepared.get_or_init(|| fresh).clone())
    }

    /// The position of a parameter; an unknown name is remembered as an error.
    fn find(&mut self, name: &str) -> Option<usize> {
        let position = self.names.iter().position(|n| n == name);
        if position.is_none() {
            let known = self.names.clone();
            self.refuse(Error::UnknownParameter { name: name.to_owned(), known });
        }
        position
    }

    fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    /// Forgets what was prepared for the parameters as they were.
    fn changed(mut self) -> CurveFit {
        self.prepared = OnceLock::new();
        self
    }
}

impl fmt::Debug for CurveFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurveFit")
            .field("model", &self.model)
            .field("names", &self.names)
            .field("bounds", &self.bounds)
            .field("fixed", &self.fixed)
            .field("loss", &self.loss)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn default_names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("p{i}")).collect()
}

/// The variables as an array; missing ones are NaN.
fn array<const N: usize>(p: &[Var]) -> [Var; N] {
    std::array::from_fn(|i| p.get(i).copied().unwrap_or(Var::from(f64::NAN)))
}
