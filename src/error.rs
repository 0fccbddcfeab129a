//! Errors of requests.
//!
//! An [`Error`] means that the request is invalid or not supported, for example because of wrong lengths, a NaN in the
//! start, or a model without a finite value at the start. A fit that does not converge is not an error: it returns a
//! [`Fit`](crate::Fit) with its [`Termination`](crate::Termination). Messages contain the location of the problem (an
//! array and an index, or a parameter), the invalid value, and the remedy, if there are any.

mod kind;
pub(crate) mod names;
pub(crate) mod no_cuda;
#[cfg(feature = "chrome-trace")]
mod output;
pub(crate) mod quote;
mod requests;
pub(crate) mod saved;
pub(crate) mod source;
pub(crate) mod uncertainty;

pub use crate::error::kind::ErrorKind;
pub use crate::error::requests::NonFiniteRemedies;
pub use crate::error::saved::CheckpointError;
pub use crate::error::source::SourceChange;
pub use names::{NameError, SettingError};
pub use no_cuda::NoCuda;
#[cfg(feature = "chrome-trace")]
pub use output::TraceError;
pub(crate) use quote::short;
use quote::{MOST_LISTED, asked, emptied, end, excerpt, listed, taken_name};
pub use quote::{Named, NamedValues};
#[cfg(feature = "ndarray")]
pub use requests::LayoutError;
pub use requests::{GlobalError, ModelError, PartsError, StartError, TieError, WorkerError};
pub use saved::SavedError;
pub use source::SourceError;
pub use uncertainty::UncertaintyError;

/// Reason why a fit could not be attempted. [`kind`](Error::kind) returns the part of the request to which the error
/// belongs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are no points, or a mask or [`Missing::Omit`](crate::Missing::Omit) removed all points.
    #[error("no data points: {}; give at least one finite point", emptied(*given, *omitted))]
    EmptyData {
        /// Number of given points.
        given: usize,
        /// Number of points that a mask or [`Missing::Omit`](crate::Missing::Omit) removed.
        omitted: usize,
    },
    /// An array has another length than required.
    #[error("`{what}` has {got} values but {expected} are needed ({remedy})")]
    LengthMismatch {
        /// The array: `y`, `sigma`, `mask`, `x column 1`, …
        what: String,
        /// The required length.
        expected: usize,
        /// The length found.
        got: usize,
        /// The remedy.
        remedy: &'static str,
    },
    /// The number of independent variables differs between data and model.
    #[error(
        "the model has {expected} independent variable(s) but the data have {got} column(s); give x as {expected} column(s) of one length"
    )]
    ColumnCount {
        /// Number of independent variables of the model.
        expected: usize,
        /// Number of columns in the data.
        got: usize,
    },
    /// The data contain NaN or an infinity.
    #[error("`{what}` is {value} at index {index} ({count} such value(s)); {remedies}")]
    NonFinite {
        /// The array: `y`, `x`, `x column 1`, `sigma`.
        what: String,
        /// Index of the first such value.
        index: usize,
        /// The value found there.
        value: f64,
        /// Number of such values in the array.
        count: usize,
        /// Remedies.
        remedies: NonFiniteRemedies,
    },
    /// A number for a parameter (start, bound or prior mean) is NaN or an infinity that is not allowed.
    #[error("the {what} of parameter `{name}` is {}; give a finite number", short(value))]
    NonFiniteParameter {
        /// `start`, `lower bound`, `upper bound` or `prior mean`.
        what: &'static str,
        /// The parameter.
        name: String,
        /// The value given.
        value: f64,
    },
    /// The number of values in the start differs from the number of parameters.
    #[error("the model has {expected} parameter(s) ({}) but the start has {got} value(s)", listed(names.iter(), MOST_LISTED))]
    ParameterCount {
        /// Number of parameters of the model.
        expected: usize,
        /// Number of values in the start.
        got: usize,
        /// The parameters' names.
        names: Vec<String>,
    },
    /// An option, a start, a tie or a formula names a parameter that the model does not have.
    #[error("there is no parameter `{name}`; the model has {}; {remedy}{}", listed(known.iter(), MOST_LISTED), taken_name(name))]
    UnknownParameter {
        /// The name given.
        name: String,
        /// The names of the model's parameters.
        known: Vec<String>,
        /// The remedy, with the location.
        remedy: String,
    },
    /// A standard deviation is zero or negative.
    #[error(
        "sigma is {value} at index {index}; standard deviations must be positive (zero would be an infinite weight: drop the point or set a floor)"
    )]
    SigmaNotPositive {
        /// Index of the first such value.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// A standard deviation of x is negative or not finite.
    #[error(
        "{what} is {value} at index {index}; standard deviations of x must be finite and at least 0 (0: that x is exact)"
    )]
    BadXSigma {
        /// The array.
        what: String,
        /// Index of the first such value.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// This kind of sigma is not supported for these data.
    #[error("{entry} takes no Sigma::{given}; {remedy}")]
    UnsuitedSigma {
        /// The variant of [`Sigma`](crate::Sigma).
        given: &'static str,
        /// `one fit`, `a batch`, `a stream`, …
        entry: &'static str,
        /// The alternative.
        remedy: &'static str,
    },
    /// Every point has an infinite standard deviation, so that no point has weight.
    #[error("all {points} points have infinite sigma (no weight); give at least one finite sigma")]
    NoEffectiveData {
        /// Number of given points.
        points: usize,
    },
    /// The covariance matrix of the data is not square, symmetric and positive definite.
    #[error(
        "the covariance matrix of the data is not positive definite: {reason} at row {row}; check its symmetry and that no row is a combination of others"
    )]
    CovarianceNotPositiveDefinite {
        /// First invalid row.
        row: usize,
        /// The reason.
        reason: &'static str,
    },
    /// A lower bound is above the upper bound.
    #[error(
        "the bounds of `{name}` are reversed: lower {lower} is above upper {upper}; exchange them"
    )]
    BoundsOrder {
        /// The parameter.
        name: String,
        /// Lower bound given.
        lower: f64,
        /// Upper bound given.
        upper: f64,
    },
    /// The start lies outside the bounds.
    #[error(
        "the start of `{name}` is {}, outside its bounds [{}, {}]; move it inside or use clamp_start(true)",
        short(value),
        end(lower),
        end(upper)
    )]
    StartOutOfBounds {
        /// The parameter.
        name: String,
        /// Its start.
        value: f64,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// There are fewer points than free parameters.
    #[error(
        "{points} point(s) cannot determine {parameters} free parameter(s); give more points, fix parameters, or use allow_underdetermined(true)"
    )]
    TooFewPoints {
        /// Number of points with weight.
        points: usize,
        /// Number of free parameters.
        parameters: usize,
    },
    /// The samples of a batch cannot be assigned to fits in the requested way.
    #[error("the batch cannot be divided into fits: {message}")]
    BatchLayout {
        /// The problem, with the numbers.
        message: String,
    },
    /// The model has no parameters.
    #[error("the model has no parameters to fit")]
    NoParameters,
    /// The trace shows that no free parameter occurs in the model.
    #[error("the model does not depend on any free parameter ({}); its value is the same whatever they are", listed(names.iter(), MOST_LISTED))]
    NoParameterDependence {
        /// The free parameters.
        names: Vec<String>,
    },
    /// A native model or the traced closure panicked.
    #[error("the model panicked: {message} (at {place})")]
    ModelPanicked {
        /// The panic's message.
        message: String,
        /// The point and parameters, or the phase, for example tracing.
        place: String,
    },
    /// The observer panicked.
    #[error("the observer panicked: {message}; the fit was abandoned")]
    ObserverPanicked {
        /// The panic's message.
        message: String,
    },
    /// The model has no finite value at the start.
    #[error(
        "the model is {value} at point {index} ({point}) for the start {params}; choose a start where it is finite"
    )]
    ModelNonFiniteAtStart {
        /// Index of the first such point.
        index: usize,
        /// The independent variables there.
        point: NamedValues,
        /// The value of the model.
        value: f64,
        /// The parameters.
        params: NamedValues,
    },
    /// A partial derivative of the model has no finite value at the start.
    #[error(
        "the partial derivative of the model by `{name}` is {value} at point {index} ({point}) for the start {params}; choose a start away from such points"
    )]
    PartialNonFiniteAtStart {
        /// The parameter.
        name: String,
        /// Index of the first such point.
        index: usize,
        /// The independent variables there.
        point: NamedValues,
        /// The value of the partial.
        value: f64,
        /// The parameters.
        params: NamedValues,
    },
    /// The model is finite at the start but so large that sums of squares overflow.
    #[error(
        "at the start {params} the residuals are too large to be squared; choose a start of the data's magnitude"
    )]
    OverflowAtStart {
        /// The parameters.
        params: NamedValues,
    },
    /// An option has an invalid value.
    #[error("option `{name}` is {value}; it must be {requirement}")]
    BadOption {
        /// The option.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The requirement.
        requirement: &'static str,
    },
    /// The range for the starts of a parameter is not valid.
    #[error("starts of `{name}` cannot be drawn from [{}, {}]: {fault}", end(lower), end(upper))]
    RangeOfStarts {
        /// The parameter.
        name: String,
        /// Lower end of the range.
        lower: f64,
        /// Upper end of the range.
        upper: f64,
        /// The problem and the remedy.
        fault: String,
    },
    /// There are more free parameters than a Sobol point has coordinates.
    #[error(
        "Sampling::Sobol draws at most {most} parameters, not {parameters}; use Sampling::LatinHypercube"
    )]
    SobolDimensions {
        /// Number of free parameters.
        parameters: usize,
        /// Maximum number of parameters.
        most: usize,
    },
    /// A formula cannot be parsed.
    #[error("cannot read the expression, column {column}: {message}\n{}", excerpt(text, *column))]
    Parse {
        /// The text found and the expected text.
        message: String,
        /// Column of the error, counted in characters from 1.
        column: usize,
        /// The expression.
        text: String,
    },
    /// The feature requires another kind of model.
    #[error("{what} is not for this kind of model: {remedy}")]
    ModelKind {
        /// The requested feature.
        what: &'static str,
        /// The alternative.
        remedy: &'static str,
    },
    /// A native model has no program.
    #[error("a native model has no program; only traced models do")]
    NotTraced,
    /// A traced variable was used outside the model that it belongs to.
    #[error(
        "the model used a traced variable of another model; use only the variables that the closure is called with"
    )]
    ForeignVariable,
    /// A count was negative.
    #[error(
        "y is {value} at point {index}, but Estimator::Poisson takes it for a count; counts are 0 or more, so do not subtract a background from them: put it into the model"
    )]
    NegativeCount {
        /// Index of the first negative count.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A setting does not apply to the Poisson likelihood.
    #[error(
        "Estimator::Poisson knows the errors of counts and takes no {what}; leave it out, or use Estimator::LeastSquares"
    )]
    NotForCounts {
        /// The setting that does not apply to counts.
        what: &'static str,
    },
    /// At the start, the model is negative, or it is 0 at a point with counts.
    #[error(
        "the model is {value} at point {index} ({point}) for the start {params}, but the expectation of a count must be positive; choose another start, or bounds that keep it so"
    )]
    ModelNotPositiveAtStart {
        /// Index of the point.
        index: usize,
        /// The independent variables there.
        point: NamedValues,
        /// The model's value.
        value: f64,
        /// The parameters.
        params: NamedValues,
    },
    /// A device is required and does not support this kind of problem.
    #[error("a device cannot fit {what}; {remedy}")]
    NotOnDevice {
        /// The unsupported feature.
        what: &'static str,
        /// The alternative.
        remedy: &'static str,
    },
    /// The memory of a device is too small, even for the data in small chunks.
    #[error(
        "{name} is out of memory: {requested} bytes are needed and {free} bytes are free; free some, or use Backend::Cpu"
    )]
    DeviceOutOfMemory {
        /// The device's name.
        name: String,
        /// Bytes of the allocation that failed.
        requested: usize,
        /// Bytes that were free at that time.
        free: usize,
    },
    /// A device faulted or disappeared during the fit. This process cannot use it any more.
    #[error(
        "{name} was lost: {message}; this process cannot use it any more: start a new one, or use Backend::Auto, which goes on with the CPU"
    )]
    DeviceLost {
        /// The device's name.
        name: String,
        /// The message of the driver.
        message: String,
    },
    /// A call of the device's driver failed.
    #[error("{name} failed: {message}; use Backend::Cpu, or report this with the message")]
    DeviceFailed {
        /// The device's name.
        name: String,
        /// The message of the driver.
        message: String,
    },
    /// The kernels of a model could not be compiled for the device.
    #[error("the model's kernels do not compile: {message}\n{source_text}")]
    KernelNotCompiled {
        /// The compiler's log.
        message: String,
        /// The CUDA C++ source that does not compile.
        source_text: String,
    },
    /// A required GPU is not available.
    #[error("{}CUDA is not available: {reason}", asked(*ordinal))]
    CudaUnavailable {
        /// The number of the device, if the request has one.
        ordinal: Option<usize>,
        /// The missing component, and the remedy.
        #[source]
        reason: NoCuda,
    },
    /// The points of a stream cannot be read.
    #[error("cannot read the points: {0}")]
    Source(#[from] SourceError),
    /// A worker refuses the fits of a batch.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The parts of a distributed fit cannot be fitted.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// A source panicked.
    #[error("the source of the points panicked: {message}; the fit was abandoned")]
    SourcePanicked {
        /// The panic's message.
        message: String,
    },
    /// The points of a source have changed since it was opened.
    #[error("the source changed while it was fitted: {0}; leave its files alone, or fit a copy")]
    SourceChanged(#[from] SourceChange),
    /// The minimum memory of a stream is more than its memory limit.
    #[error(
        "a stream of such points needs at least {needed} bytes, but memory_limit is {limit} bytes; raise it"
    )]
    MemoryLimit {
        /// The limit, in bytes.
        limit: usize,
        /// The minimum, in bytes.
        needed: usize,
    },
    /// The caller or a time limit stopped the fit before the first cost was computed.
    #[error(
        "the fit was stopped, or reached its time limit, before the first cost was computed, so there is no result; call it again: with a checkpoint it resumes"
    )]
    StoppedInFirstPass,
    /// The phases of fits cannot be recorded.
    #[cfg(feature = "chrome-trace")]
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A composite model is invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The elements of an array are not contiguous.
    #[cfg(feature = "ndarray")]
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Several sets of points cannot be fitted together.
    #[error(transparent)]
    Global(#[from] GlobalError),
    /// A missing value of the start cannot be computed.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A setting of one parameter has an invalid value.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A name is not valid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A tie of a parameter is not valid.
    #[error(transparent)]
    Tie(#[from] TieError),
    /// A checkpoint cannot be used or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Saving or loading failed.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// A request about the uncertainties of a fit is invalid.
    #[error(transparent)]
    Uncertainty(#[from] UncertaintyError),
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
