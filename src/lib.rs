//! Nonlinear least-squares curve fitting. A model is an ordinary closure, its derivatives are exact, and
//! the error bars are right.
//!
//! ```
//! use dualfit::curve_fit;
//!
//! let x: Vec<f64> = (0..100).map(|i| 0.05 * f64::from(i)).collect();
//! let signal = |x: &f64| 2.0 * (-0.5 * x).exp() + 0.3 + 0.01 * (7.0 * x).sin();
//! let y: Vec<f64> = x.iter().map(signal).collect();
//!
//! let fit = curve_fit(|x, [a, b, c]| a * (-b * x).exp() + c, &x, &y, [1.0, 1.0, 0.0])?;
//! println!("{fit}"); // values ± errors, statistics, correlations
//! assert!(fit.converged());
//! # Ok::<(), dualfit::Error>(())
//! ```
//!
//! This page follows a fit from the model to the result and lists the features of each step. The [`guide`]
//! explains which call to use for which task, why a fit does not converge, what the error bars mean, and
//! the names of SciPy, lmfit, Gpufit and MATLAB.
//!
//! # The model
//!
//! [`curve_fit`] or [`CurveFit::new`] calls the closure once with variables ([`Var`]) that record
//! all operations. The resulting [`Program`](program::Program) is evaluated with [`Dual`](program::Dual) numbers to
//! record its partial derivatives. Zeros vanish, common subexpressions are shared, and work that is the same at every
//! point is done once per pass.
//!
//! A generic function over [`Scalar`] can be used for fits and for plain numbers. Formulas as text
//! ([`CurveFit::parse`]) and functions that cannot be traced ([`CurveFit::native`]) are models, too. The
//! library in [`models`] has common models with formula, names, bounds and
//! derived quantities; they can be added, multiplied and nested:
//!
//! ```
//! use dualfit::{CurveFit, models};
//! let spectrum = CurveFit::from(models::gaussian("peak_") + models::linear("bg_"));
//! assert_eq!(spectrum.parameters()[..2], ["peak_amplitude", "peak_center"]);
//! ```
//!
//! A [`CurveFit`] holds the settings of the parameters: [`names`](CurveFit::names),
//! [`bound`](CurveFit::bound), [`fix`](CurveFit::fix), [`tie`](CurveFit::tie). It is prepared once and
//! can be used for any number of fits, from any thread.
//!
//! # The start
//!
//! Pass one value per parameter, some values by name, or none ([`Start`]). Missing values are computed:
//! by the model's own [`guess`](CurveFit::guess), by a linear solve for linear parameters, and by a
//! [search](CurveFit::search) for the others.
//!
//! # The data
//!
//! [`Data`] borrows x and y, in `f64` or `f32`, and the errors of y, [`Sigma`], which
//! determine the error bars. The data are validated before the model is called. A NaN is an error with its
//! position, or is left out ([`Missing`]). Counts are fitted by maximum likelihood ([`Estimator`]).
//! Thousands of small fits are one [`BatchData`] for [`CurveFit::fit_batch`]. Points that do not fit into memory
//! are read from a [`Source`](source::Source) in chunks ([`Stream`], [`CurveFit::fit_stream`]), with
//! the same result.
//!
//! # The evaluation
//!
//! The program is evaluated on blocks of points with vector instructions that are chosen at run time, on
//! all cores. A pass computes JᵀJ and Jᵀr; the Jacobian is never stored, and the result does
//! not depend on the number of threads. For a CUDA device ([`Backend`], [`devices`](device::devices),
//! [`Device`](device::Device)) the program is compiled to kernels.
//!
//! # The solver
//!
//! The solver is Moré's trust-region method (Levenberg-Marquardt) with bounds and robust losses ([`Loss`]). If JᵀJ
//! would lose digits, J itself is factored. [`Options`] has tolerances and limits. For a cost with many
//! minima use many starts ([`CurveFit::multi_start`]) or populations
//! ([`CurveFit::differential_evolution`]).
//!
//! # The result
//!
//! A [`Fit`] has the parameters, their covariance from a singular value decomposition, statistics,
//! [`Warning`]s, and the reason why it stopped ([`Termination`]). A fit that did not converge is a `Fit`
//! with the reason. An [`Error`] means that the request was invalid; it names the place, the number and
//! the remedy.
//!
//! # Further features
//!
//! | question | call |
//! |---|---|
//! | How far may a parameter be? | [`Fit::confidence_intervals`], [`CurveFit::profile`], [`CurveFit::contour`], [`CurveFit::bootstrap`] |
//! | How uncertain are the curve and a new point? | [`Fit::confidence_band`], [`Fit::prediction_band`] |
//! | How are quantities derived from the parameters? | [`CurveFit::derive`], [`Fit::derived`], [`Fit::propagate`] |
//! | Is the model right? | [`Fit::diagnostics`] |
//! | Which of two models? | [`compare_nested`], [`akaike_weights`] |
//! | One parameter in several data sets? | [`GlobalFit`] |
//! | How do I watch or stop a fit? | [`CurveFit::observe`], [`CancelToken`] |
//! | Where did the time go? | [`Fit::stats`] |
//! | How does it look in a paper? | [`CurveFit::latex`], [`Fit::latex_table`], [`Fit::table`]; figures with the crate `dualfit-plot` |
//! | How do I save it? | as JSON, with the feature `json` |
//!
//! JSON, bars, spans and arrays of other crates need [features](guide#features-of-the-crate), which are off by default.
//! Tables and files are read by the crate `dualfit-io`, figures are drawn by `dualfit-plot`, and `dualfit-cli` has the
//! program `dualfit` for the command line.

#![cfg_attr(docsrs, feature(doc_cfg))]

// Test suites that unit tests share with `tests/` refer to this crate by its public name.
#[cfg(test)]
extern crate self as dualfit;
#[cfg(test)]
#[path = "../tests/support"]
mod support {
    pub(crate) mod functions;
    pub(crate) mod losses;
    pub(crate) mod nist;
    pub(crate) mod tree;
}

mod backend;
mod constants;
mod curve_fit;
mod data;
pub mod error;
mod fit;
#[cfg(doc)]
#[doc = include_str!("guide_links.md")]
#[doc = include_str!("../docs/guide/README.md")]
pub mod guide;
mod host;
mod math;
mod model;
pub mod models;
mod normal;
mod observe;
pub mod progress;
mod saved;
mod setters;
mod solver;
pub mod threads;

pub use crate::curve_fit::search::options::{SearchOptions, SearchWhen};
pub use crate::solver::observe::CancelToken;
pub use backend::{Backend, Precision};
pub use curve_fit::bootstrap::Bootstrap;
pub use curve_fit::global::GlobalFit;
pub use curve_fit::global::joint_fit::JointFit;
pub use curve_fit::multi_start::MultiStart;
pub use curve_fit::multi_start::evolution::DifferentialEvolution;
pub use curve_fit::multi_start::sampling::Sampling;
pub use curve_fit::profile::Profile;
pub use curve_fit::stream::curve_fit_large;
pub use curve_fit::{CurveFit, curve_fit, least_squares};
pub use data::batch::{BatchData, Starts};
pub use data::loss::Estimator;
pub use data::loss::Loss;
pub use data::loss_formula::LossFormula;
pub use data::matrix::Matrix;
pub use data::sigma::Sigma;
pub use data::start::Start;
pub use data::stream::Stream;
pub use data::{Data, Missing};
pub use error::{Error, Result};
pub use fit::Fit;
pub use fit::batch::BatchFit;
pub use fit::batch::status::FitStatus;
pub use fit::compare::{akaike_weights, compare_nested};
pub use fit::multi_start::Optima;
pub use fit::warning::Warning;
pub use model::scalar::{Mask, Scalar};
pub use model::var::Var;
#[cfg(feature = "chrome-trace")]
pub use observe::chrome::ChromeTrace;
pub use solver::observe::Event;
pub use solver::options::Options;
pub use solver::termination::Termination;

/// Re-export of `nalgebra`, in the version whose vectors are accepted as data and whose matrices convert from and to
/// [`Matrix`].
#[cfg(feature = "nalgebra")]
pub use nalgebra;
/// Re-export of `ndarray`, in the version whose arrays are accepted as data and convert from and to [`Matrix`].
#[cfg(feature = "ndarray")]
pub use ndarray;

/// Array types that [`Data`] and [`BatchData`] accept for x and y, and the points that a [`guess`](CurveFit::guess)
/// receives.
pub mod arrays {
    pub use crate::data::columns::{Arguments, Columns};
    pub use crate::data::points::Observations;
    pub use crate::data::values::{Real, Values};
}

/// CUDA devices: their properties, data that stay in device memory, and the cost model of [`Backend::Auto`].
pub mod device {
    pub use crate::backend::Processor;
    pub use crate::backend::choice::Costs;
    pub use crate::backend::choice::Devices;
    pub use crate::backend::cuda::cache::Origin as KernelOrigin;
    pub use crate::backend::cuda::device_info::{Bandwidth, DeviceInfo};
    pub use crate::backend::cuda::devices::devices;
    pub use crate::curve_fit::device::{BatchFitData, Device, DeviceBatch, DeviceData, FitData};
}

/// Traced models, and dual numbers, which carry derivatives.
pub mod program {
    pub use crate::model::dual::Dual;
    pub use crate::model::program::Program;
    pub use crate::model::var::VarMask;
}

/// Types of the contents of [`Fit`], [`BatchFit`], [`Optima`] and [`Profile`].
pub mod result {
    pub use crate::curve_fit::profile::contour::{Contour, ContourLine, ContourOptions};
    pub use crate::curve_fit::profile::interval::{ProfileEnd, ProfileInterval};
    pub use crate::fit::bands::Band;
    pub use crate::fit::bands::Component;
    pub use crate::fit::bands::new_point::NewPoint;
    pub use crate::fit::batch::BatchFitView;
    pub use crate::fit::batch::message::{BatchParts, LostWorker};
    pub use crate::fit::compare::{Akaike, FTest};
    pub use crate::fit::diagnostics::Diagnostics;
    pub use crate::fit::diagnostics::sequence::RunsTest;
    pub use crate::fit::multi_start::{Optimum, Trial};
    pub use crate::fit::propagated::Derived;
    pub use crate::fit::propagated::Propagated;
    pub use crate::fit::replicates::{BootstrapInterval, Replicates, Resample, Resampled};
    pub use crate::fit::start_search::StartSearch;
    pub use crate::fit::stats::Stats;
    pub use crate::fit::stream::stats::StreamStats;
    pub use crate::fit::table::ParameterTable;
    pub use crate::solver::bounds::Side;
}

/// Distributed fits, whose points several processes or machines hold, and batches whose fits are computed by workers.
/// Any framework can run the processes and transport the messages.
pub mod parts {
    pub use crate::curve_fit::batch_parts::Workers;
    pub use crate::curve_fit::stream::{Part, Parts, merge};
}

/// Sources of the points of a [`Stream`]: arrays, functions, and custom sources. The crate `dualfit-io` provides
/// sources that read files.
pub mod source {
    pub use crate::data::source::chain::ChainSource;
    pub use crate::data::source::function::{FnSource, IntoPoint};
    pub use crate::data::source::range::RangeSource;
    pub use crate::data::source::slices::SliceSource;
    pub use crate::data::source::strided::StridedSource;
    pub use crate::data::source::{
        Chunk, Column, Fingerprint, Shape, Source, Width, decoding_threads,
    };
}

/// Formatting of names and numbers in the messages and reports of this crate, for programs and crates that add their
/// own messages.
pub mod text {
    pub use crate::error::quote::{nearest, significant, visible};
}

/// Doc test of the README: the tests compile and run its code.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Invalid requests that do not compile: a start of the wrong length,
///
/// ```compile_fail,E0308
/// # let (x, y) = ([0.0, 1.0], [1.0, 2.0]);
/// dualfit::curve_fit(|x, [a, b]| a * x + b, &x, &y, [1.0]);
/// ```
///
/// a model that returns one number for all points,
///
/// ```compile_fail,E0271
/// # let (x, y) = ([0.0, 1.0], [1.0, 2.0]);
/// dualfit::curve_fit(|x, [a]| 1.0, &x, &y, [1.0]);
/// ```
///
/// a complex one,
///
/// ```compile_fail
/// # let (x, y) = ([0.0, 1.0], [1.0, 2.0]);
/// dualfit::curve_fit(|x, [a]| nalgebra::Complex::new(a, x), &x, &y, [1.0]);
/// ```
///
/// a branch on a variable,
///
/// ```compile_fail,E0369
/// # let (x, y) = ([0.0, 1.0], [1.0, 2.0]);
/// dualfit::curve_fit(|x, [a]| if x < a { x } else { a }, &x, &y, [1.0]);
/// ```
///
/// and data that f64 does not represent exactly.
///
/// ```compile_fail,E0277
/// dualfit::Data::new(&[0.0, 1.0], &[1_i64, 2]);
/// ```
#[cfg(doctest)]
struct DoesNotCompile;
