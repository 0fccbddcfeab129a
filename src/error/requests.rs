//! Errors of starts, ties, joint fits, composite models, arrays and workers; remedies for non-finite values.

use super::Error;
use super::quote::{listed, short};
use std::fmt;

/// Maximum number of sets in a list.
const MOST_SETS: usize = 10;

/// Reason why a fit has no start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The start has two values for one parameter.
    #[error("the start has two values for `{name}`; leave one of them out")]
    GivenTwice {
        /// The parameter.
        name: String,
    },
    /// Nonlinear parameters have no start, and the search for a start is switched off
    /// ([`SearchWhen::Never`](crate::SearchWhen)) or found no values at which the model is finite.
    #[error(
        "no start is known for {}: the search for one is switched off, or the model is not finite wherever it was tried; give a start by name, as in {}, or a function that finds one, by CurveFit::guess",
        names.join(", "),
        example(names)
    )]
    Unknown {
        /// The parameters.
        names: Vec<String>,
    },
    /// A fixed parameter has no value.
    #[error(
        "`{name}` is fixed, but at no known value; give its start by name, as in [(\"{name}\", 1.0)]"
    )]
    FixedWithoutValue {
        /// The parameter.
        name: String,
    },
}

impl Error {
    /// Returns true if the model or a partial has no usable value at the start. Another start may then succeed.
    pub(crate) fn is_at_start(&self) -> bool {
        matches!(
            self,
            Error::ModelNonFiniteAtStart { .. }
                | Error::PartialNonFiniteAtStart { .. }
                | Error::ModelNotPositiveAtStart { .. }
                | Error::OverflowAtStart { .. }
        )
    }
}

/// Returns an example of a valid start by name.
fn example(names: &[String]) -> String {
    let pairs: Vec<String> = names.iter().map(|name| format!("(\"{name}\", 1.0)")).collect();
    format!("[{}]", pairs.join(", "))
}

/// Reason why a tie is not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TieError {
    /// A parameter depends on itself, directly or through other ties.
    #[error("ties run in a circle: {}; leave one of them out", circle(names))]
    Cycle {
        /// The parameters of the cycle. The tie of each contains the next parameter; the tie of the last contains the
        /// first.
        names: Vec<String>,
    },
    /// A tied parameter has a setting that is incompatible with a tie.
    #[error("`{name}` is tied to `{formula}` and {besides}; {remedy}")]
    Besides {
        /// The parameter.
        name: String,
        /// The formula of the tie.
        formula: String,
        /// The conflicting setting: it is fixed, or has bounds, a start or another tie.
        besides: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// In a joint fit, a shared parameter has different ties in two sets.
    #[error(
        "`{name}` is shared, but its tie is not the same in all sets; use one formula, share its parameters too, or do not share `{name}`"
    )]
    DiffersBetweenSets {
        /// The parameter.
        name: String,
    },
}

impl TieError {
    /// Returns the error for a tied parameter with a conflicting setting. `besides`: description of this setting.
    pub(crate) fn besides(
        name: &str,
        formula: &str,
        besides: impl Into<String>,
        remedy: &'static str,
    ) -> TieError {
        let (name, formula) = (name.to_owned(), formula.to_owned());
        TieError::Besides { name, formula, besides: besides.into(), remedy }
    }
}

fn circle(names: &[String]) -> String {
    let all: Vec<String> =
        names.iter().chain(names.first()).map(|name| format!("`{name}`")).collect();
    all.join(" depends on ")
}

/// Reason why a worker of [`fit_batch_parts`](crate::CurveFit::fit_batch_parts) refuses the fits of a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worker {worker} refuses: {message}")]
pub struct WorkerError {
    /// Number of the worker, from 0.
    pub worker: usize,
    /// The message.
    pub message: String,
}

/// Reason why [`fit_parts`](crate::CurveFit::fit_parts) cannot fit the parts of a distributed fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartsError {
    /// The model or the fixed parameters differ between a part and the leader.
    #[error(
        "the part that begins at point {first} has another model than the leader ({field}: {leader} at the leader, {part} at the part); make all with the same model, and fix the same parameters"
    )]
    AnotherModel {
        /// Number of the part's first point among all points.
        first: u64,
        /// The first property that differs: the parameters, the free parameters or the model.
        field: String,
        /// Its value at the leader; for a model the first operation that differs.
        leader: String,
        /// Its value at the part.
        part: String,
    },
    /// The leader's fit failed. The processes of the parts receive this error.
    #[error("the fit failed at its leader: {message}")]
    Leader {
        /// The message of the leader's error.
        message: String,
    },
}

/// Reason why several sets of points cannot be fitted together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobalError {
    /// One of the sets causes an error.
    #[error("set {set}: {error}")]
    InSet {
        /// The set, counted from 1.
        set: usize,
        /// The error.
        error: Box<Error>,
    },
    /// Several sets cannot be fitted.
    #[error(
        "{} of {sets} sets cannot be fitted: {}; set {}: {error}; correct them, or exclude them with GlobalFit::leave_out_bad_sets(true)",
        bad.len(), listed(bad.iter(), MOST_SETS), bad.first().unwrap_or(&0)
    )]
    BadSets {
        /// The sets that cannot be fitted, counted from 1.
        bad: Vec<usize>,
        /// Number of sets.
        sets: usize,
        /// The error of the first of these sets.
        error: Box<Error>,
    },
    /// A value of y is so large that rounding hides the points of the other sets.
    #[error(
        "y is {} at index {index}, so large that rounding hides the points of the other sets; correct or mask it, or exclude the set with GlobalFit::leave_out_bad_sets(true)",
        short(value)
    )]
    Outweighs {
        /// Index of the point.
        index: usize,
        /// Its y.
        value: f64,
    },
    /// There are no sets.
    #[error("there is no set of points; give at least one")]
    NoSets,
    /// A property that must be the same for all sets differs.
    #[error("set {set} differs from set 1 in {what}, which must be the same for all; {remedy}")]
    Differs {
        /// The set, counted from 1.
        set: usize,
        /// The difference.
        what: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
}

/// Reason why a composite model is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The name of a parameter with its prefix is not valid in a formula.
    #[error(
        "the parameter `{name}` of {model} has no valid name; use prefixes of letters, digits and _, a letter first, that do not make it a variable, `pi` or `e`"
    )]
    BadName {
        /// The name with its prefix.
        name: String,
        /// The model.
        model: String,
    },
    /// There is no model with the requested name.
    #[error("there is no model `{name}`{}; models::names() lists all", likely(nearest))]
    Unknown {
        /// The requested name.
        name: String,
        /// The most similar name, if one is similar.
        nearest: Option<&'static str>,
    },
    /// A model of several variables cannot be the outer model of a composition: the value of the inner model replaces
    /// the only variable.
    #[error(
        "{outer} has {variables} independent variables; only a model of one can be nested by `of`"
    )]
    NotNestable {
        /// The outer model.
        outer: String,
        /// Number of its independent variables.
        variables: usize,
    },
    /// A spline has too few or too many knots.
    #[error("a cubic spline needs {least} to {most} knots, not {got}")]
    KnotCount {
        /// Number of given knots.
        got: usize,
        /// Minimum number.
        least: usize,
        /// Maximum number.
        most: usize,
    },
    /// A knot of a spline is not finite or not above the previous knot.
    #[error(
        "knot {index} (from 0) is {value:?}; knots must be finite, in increasing order, and not closer than about 1e-308"
    )]
    BadKnot {
        /// Index of the knot, from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// Models are nested too deeply, or the formula would be too long.
    #[error("the composite's formula would be {what}; at most {most} are possible")]
    TooLarge {
        /// The property that is too large, with its value.
        what: String,
        /// The maximum.
        most: usize,
    },
}

fn likely(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// Error for an array whose elements are not contiguous and in order. Data are borrowed as slices, and such an array
/// cannot be borrowed as a slice.
#[cfg(feature = "ndarray")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an array of shape {shape:?} has strides {strides:?}, but data must lie side by side in memory; give `array.as_standard_layout()` instead, which copies it if need be"
)]
pub struct LayoutError {
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// Stride of each axis, in elements.
    pub strides: Vec<isize>,
}

/// Remedies for a value of the data that is not finite, in addition to its removal and
/// [`Missing::Omit`](crate::Missing::Omit).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NonFiniteRemedies {
    /// True if the data can have a mask: all data except streams.
    pub mask: bool,
    /// True for an infinite x, which [`Data::allow_infinite_x`](crate::Data::allow_infinite_x) permits.
    pub infinite_x: bool,
}

impl fmt::Display for NonFiniteRemedies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.mask {
            true => "remove it, mask it, or use Missing::Omit",
            false => "remove it, or use Missing::Omit",
        })?;
        match self.infinite_x {
            true => f.write_str("; infinite x can be allowed with allow_infinite_x(true)"),
            false => Ok(()),
        }
    }
}
