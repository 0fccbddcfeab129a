//! The public entry points: `curve_fit` and the builder [`CurveFit`].

mod batch;
pub(crate) mod batch_parts;
mod batch_starts;
pub(crate) mod bootstrap;
mod cancel;
pub(crate) mod device;
#[cfg(all(test, feature = "cuda"))]
mod emulated;
pub(crate) mod global;
mod lost_model;
mod models;
pub(crate) mod multi_start;
mod parameters;
mod prior;
pub(crate) mod profile;
mod ready;
mod request;
mod sample_fits;
pub(crate) mod search;
mod start;
pub(crate) mod stream;

use crate::backend::choice::Costs;
use crate::backend::{Backend, Precision};
use crate::curve_fit::ready::Ready;
use crate::curve_fit::search::options::SearchOptions;
use crate::data::Data;
use crate::data::columns::{Arguments, Columns};
use crate::data::loss::{Estimator, Loss};
use crate::data::points::Observations;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::engine::Spent;
use crate::fit::placement::AssignedDevices;
use crate::fit::priors::Prior;
use crate::host::Instant;
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::program::Program;
use crate::model::ties::Known;
use crate::model::ties::Tie;
use crate::model::var::{Var, array};
use crate::observe::span;
use crate::solver::observe::CancelToken;
use crate::solver::observe::{Event, Observer};
use crate::solver::options::Options;
use device::FitData;
use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

/// Fits `model` to the points (`x`, `y`) from the starting point `p0`, like SciPy's `curve_fit`.
///
/// `x` is one column (`&x`) or several columns (`[&x, &y]`), and `y` has one value per point; all are f64 or f32.
/// The model is traced: it is ordinary code over [`Var`]. `p0` has one value per parameter. For bounds, weights,
/// losses and names see [`CurveFit`].
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
/// The errors of [`Data::new`] and [`CurveFit::fit`].
pub fn curve_fit<'a, C: Columns<'a>, const N: usize>(
    model: impl Fn(C::X, [Var; N]) -> Var,
    x: C,
    y: impl TryInto<Values<'a>, Error: Into<Error>>,
    p0: [f64; N],
) -> Result<Fit> {
    let data = Data::new(x, y.try_into().map_err(Into::into)?)?;
    let columns = C::X::count().unwrap_or(data.columns.len());
    CurveFit::trace(columns, N, |x, p| model(C::X::arguments(x), array(p))).fit(data, p0)
}

/// Minimises ½ Σ rᵢ² for `n` arbitrary residuals, like SciPy's `least_squares`.
///
/// `residuals(p, r)` writes all residuals into `r`. The parameters are named `p0`, `p1`, …. Standard errors assume
/// independent residuals with one common variance, which is estimated.
///
/// This function fits a [`CurveFit::native_arrays`] model to data with y = 0. Call [`CurveFit::native_arrays`]
/// directly to set bounds, losses, names or your own partials.
///
/// ```
/// // Rosenbrock's valley.
/// let fit = dualfit::least_squares(
///     |p, r| {
///         r[0] = 10.0 * (p[1] - p[0] * p[0]);
///         r[1] = 1.0 - p[0];
///     },
///     2,
///     [-1.2, 1.0],
/// )?;
/// assert!(fit.converged() && fit.cost() < 1e-20);
/// # Ok::<(), dualfit::Error>(())
/// ```
///
/// # Errors
/// The errors of [`CurveFit::fit`]; [`Error::TooFewPoints`] if there are fewer residuals than parameters.
pub fn least_squares(
    residuals: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    n: usize,
    start: impl AsRef<[f64]>,
) -> Result<Fit> {
    let start = start.as_ref();
    let index: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let zeros = vec![0.0; n];
    let model = CurveFit::native_arrays(start.len(), move |_, p, r| residuals(p, r));
    model.fit(Data::new(&index, &zeros)?, start)
}

/// A model with the settings of its parameters and of its fits. It is traced once, prepared at the first fit, and can
/// be used for any number of fits from any thread.
///
/// Errors in the model and in the settings are reported by [`fit`](CurveFit::fit).
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
    /// True for parameters with bounds that were set by name. Such a parameter must not be tied.
    bounded: Vec<bool>,
    fixed: Vec<bool>,
    /// Typical magnitude of each parameter; NaN if unknown.
    scales: Vec<f64>,
    loss: Loss,
    estimator: Estimator,
    options: Options,
    backend: Backend,
    costs: Costs,
    precision: Precision,
    clamp_start: bool,
    underdetermined: bool,
    keep_covariance: bool,
    test_residuals: bool,
    /// If true, a fit of many points may begin at the fit of a sample.
    subsample: bool,
    observer: Option<Arc<Observer>>,
    cancel: Option<CancelToken>,
    /// Options of the search for a start.
    search: SearchOptions,
    /// Function that computes an initial guess from the points.
    guess: Option<Arc<Guess>>,
    /// True if the caller supplied the guess. A guess that comes with the model is only one candidate of a search.
    guessed_by_caller: bool,
    /// Names and formulas of quantities that are reported with a fit.
    derived: Vec<(String, Expression)>,
    /// Number of derived quantities that come with the model; they are the first elements of `derived`.
    pub(crate) derived_by_model: usize,
    /// Parameters that are computed from other parameters.
    ties: Vec<Tie>,
    /// Priors of parameters.
    priors: Vec<Prior>,
    /// Terms of a sum of library models.
    components: Arc<[ComponentModel]>,
    /// The first error in the settings of the parameters.
    refused: Option<Error>,
    ready: OnceLock<Arc<Ready>>,
    pub(crate) assigned: AssignedDevices,
}

/// Computes an initial guess, one value per parameter, from the points and the known values; NaN for an unknown
/// parameter.
pub(crate) type Guess = dyn Fn(&Observations, &Known) -> Vec<f64> + Send + Sync;

impl CurveFit {
    fn with_names(model: Result<Model>, names: Vec<String>) -> CurveFit {
        CurveFit {
            model,
            bounds: vec![(f64::NEG_INFINITY, f64::INFINITY); names.len()],
            bounded: vec![false; names.len()],
            fixed: vec![false; names.len()],
            scales: vec![f64::NAN; names.len()],
            names,
            loss: Loss::Linear,
            estimator: Estimator::LeastSquares,
            options: Options::default(),
            backend: Backend::Auto,
            costs: Costs::default(),
            precision: Precision::Double,
            clamp_start: false,
            underdetermined: false,
            keep_covariance: false,
            test_residuals: false,
            subsample: true,
            observer: None,
            cancel: None,
            search: SearchOptions::default(),
            guess: None,
            guessed_by_caller: false,
            derived: Vec::new(),
            derived_by_model: 0,
            ties: Vec::new(),
            priors: Vec::new(),
            components: Arc::default(),
            refused: None,
            ready: OnceLock::new(),
            assigned: AssignedDevices::default(),
        }
    }

    /// Sets the loss ρ of the squared residuals; [`Loss::Linear`], least squares, by default.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> CurveFit {
        self.loss = loss;
        self
    }

    /// Sets the noise model of y: normal errors, by default, or Poisson counts.
    #[must_use]
    pub fn estimator(mut self, estimator: Estimator) -> CurveFit {
        self.estimator = estimator;
        self
    }

    /// Sets the stopping rules and limits.
    #[must_use]
    pub fn options(mut self, options: Options) -> CurveFit {
        self.options = options;
        self
    }

    /// Sets the hardware that evaluates the points; [`Backend::Auto`] by default.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> CurveFit {
        self.backend = backend;
        self
    }

    /// Sets the floating-point precision on devices; [`Precision::Double`] by default.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> CurveFit {
        self.precision = precision;
        self
    }

    /// Sets the cost model of [`Backend::Auto`]; by default measured values.
    #[must_use]
    pub fn costs(mut self, costs: Costs) -> CurveFit {
        self.costs = costs;
        self
    }

    /// If true, a starting value that violates a bound is moved onto this bound. By default it is an error.
    #[must_use]
    pub fn clamp_start(mut self, clamp: bool) -> CurveFit {
        self.clamp_start = clamp;
        self
    }

    /// If true, fewer points than free parameters are accepted. The fit then finds one of many solutions; undetermined
    /// parameters have infinite errors.
    #[must_use]
    pub fn allow_underdetermined(mut self, allow: bool) -> CurveFit {
        self.underdetermined = allow;
        self
    }

    /// If false, a fit of many points in memory begins at the given start and evaluates all points from there; `true`
    /// by default. A fit of 524,288 points or more on the CPU otherwise fits a sample of them first, unless it takes few
    /// evaluations, and begins at the result if all points agree with it. Most such fits take 0.3 to 0.8 of the time, and
    /// the last digits of the result change. For streams, see [`Stream::subsample`](crate::Stream::subsample).
    #[must_use]
    pub fn subsample(mut self, subsample: bool) -> CurveFit {
        self.subsample = subsample;
        self
    }

    /// Sets an observer. It is called after every step of a fit, after every round of the search for its start, after
    /// every chunk of a stream, and when fits of a batch finish (by one thread at a time). `ControlFlow::Break(())`
    /// stops the work: a fit returns the best parameters so far, and batch fits that have not begun get the status
    /// [`FitStatus::NotRun`](crate::FitStatus::NotRun). If the observer panics, the work ends with
    /// [`Error::ObserverPanicked`].
    ///
    /// ```
    /// use dualfit::{CurveFit, Event};
    /// use std::ops::ControlFlow;
    /// let line = CurveFit::new(|x, [a, b]| a * x + b).observe(|event| {
    ///     if let Event::Step(now) = event {
    ///         println!("{}: cost {}", now.iteration, now.cost);
    ///     }
    ///     ControlFlow::Continue(())
    /// });
    /// ```
    #[must_use]
    pub fn observe(
        mut self,
        observer: impl Fn(&Event<'_>) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> CurveFit {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Returns the traced model with its partials with respect to the free parameters; `Display` prints it.
    ///
    /// # Errors
    /// Errors in the model; [`Error::NotTraced`] for a native model.
    pub fn program(&self) -> Result<Program> {
        let free = self.free_positions();
        match &self.effective_model()? {
            Model::Traced(program) => program.with_partials(&free),
            Model::Native(_) => Err(Error::NotTraced),
        }
    }

    /// Fits the model to `data`, in memory or on a device, from `start`. The start is one value per parameter, values
    /// of some parameters by name, or [`Start::Guess`]. Missing values are computed as described at [`Start`].
    ///
    /// A fit that does not converge is not an error: the [`Fit`] contains the termination and the best parameters.
    ///
    /// # Errors
    /// If the model, the names, bounds or start of the parameters, the data or the options are invalid; if the model
    /// has no finite value at the start; if the model or the observer panics. Each [`Error`] states the location, the
    /// offending number and the remedy.
    pub fn fit<'d, 'a: 'd>(
        &self,
        data: impl Into<FitData<'d, 'a>>,
        start: impl Into<Start>,
    ) -> Result<Fit> {
        let (data, start) = (data.into(), start.into());
        let _span = span!(INFO, "fit", points = data.len(), parameters = self.names.len());
        let begun = Instant::now();
        self.accepts(data.columns(), &start)?;
        let points = match &data {
            FitData::Memory(data) => Cow::Owned(self.validate(data)?),
            FitData::Device(data) => Cow::Borrowed(data.points(self.estimator)?),
        };
        let validating = begun.elapsed();
        let found = self.found(&start, &points)?;
        let (values, searched) = (found.values.clone(), found.search.is_some());
        let spent = Spent { validating, ..found.spent() };
        let request = self.request(&points, found, data.given(), spent);
        let fit = request.and_then(|request| self.with_sample(request, &points)?.fit());
        if searched || !self.searches_after(&start, &fit) {
            return fit;
        }
        let Some(found) = self.start_after(&fit, values, &points)? else { return fit };
        let (report, spent) = (found.search, Spent { validating, ..found.spent() });
        let other = self.request(&points, found, data.given(), spent).and_then(|r| r.fit());
        CurveFit::better_of(fit, other, report)
    }

    fn validate<'a>(&self, data: &'a Data<'_>) -> Result<Points<'a>> {
        let _span = span!(DEBUG, "validate", points = data.y.len());
        if self.estimator == Estimator::Poisson && !data.x_sigma.is_exact() {
            return Err(Error::NotForCounts { what: "x_sigma" });
        }
        let mut points = Points::validate(data)?;
        if self.estimator == Estimator::Poisson {
            points.count_events()?;
        }
        Ok(points)
    }

    /// Checks the request without the values of the data.
    fn accepts(&self, columns: usize, start: &Start) -> Result<()> {
        let model = self.model.as_ref().map_err(Clone::clone)?;
        self.check()?;
        self.check_start(start)?;
        model.expect_columns(columns)
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
