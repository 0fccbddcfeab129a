//! Errors of starts, ties, joint fits, composite models, arrays and workers; remedies for non-finite values.

use super::Error;
use super::quote::{listed, short};
use std::fmt;

/// Numbers of sets that are listed at most.
const MOST_SETS: usize = 10;

/// Why a fit has no start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The start has two values for one parameter.
    #[error("the start has two values for `{name}`; leave one of them out")]
    GivenTwice {
        /// The parameter.
        name: String,
    },
    /// Parameters in which the model is not linear have no start, and the search for one is switched off
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
    /// A fixed parameter without a value.
    #[error(
        "`{name}` is fixed, but at no known value; give its start by name, as in [(\"{name}\", 1.0)]"
    )]
    FixedWithoutValue {
        /// The parameter.
        name: String,
    },
}

impl Error {
    /// Returns true if the model or a partial has no usable value at the start, so that another start may succeed.
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

/// A start by name that would do.
fn example(names: &[String]) -> String {
    let pairs: Vec<String> = names.iter().map(|name| format!("(\"{name}\", 1.0)")).collect();
    format!("[{}]", pairs.join(", "))
}

/// Why a tie cannot be kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TieError {
    /// A parameter depends on itself, directly or through other ties.
    #[error("ties run in a circle: {}; leave one of them out", circle(names))]
    Cycle {
        /// The parameters, each of which is tied to an expression with the next one, the last to one with
        /// the first.
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
    /// In a fit of several sets of points a shared parameter is tied in one set otherwise than in another.
    #[error(
        "`{name}` is shared, but its tie is not the same in all sets; use one formula, share its parameters too, or do not share `{name}`"
    )]
    DiffersBetweenSets {
        /// The parameter.
        name: String,
    },
}

impl TieError {
    /// Of a parameter that is tied and `besides` something else.
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

/// Why a worker will make no fits of a batch, of [`fit_batch_parts`](crate::CurveFit::fit_batch_parts).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worker {worker} refuses: {message}")]
pub struct WorkerError {
    /// Its number, from 0.
    pub worker: usize,
    /// The message.
    pub message: String,
}

/// Why points that others hold cannot be fitted, by [`fit_parts`](crate::CurveFit::fit_parts).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartsError {
    /// A part has another model than the leader, or other parameters are fixed there.
    #[error(
        "the part that begins at point {first} has another model than the leader ({field}: {leader} at the leader, {part} at the part); make all with the same model, and fix the same parameters"
    )]
    AnotherModel {
        /// Number of the part's first point among all.
        first: u64,
        /// The first property that differs: the parameters, the free ones, or the model.
        field: String,
        /// Its value at the leader; of a model the first operation that differs.
        leader: String,
        /// Its value at the part.
        part: String,
    },
    /// The leader's fit failed, as another process than the leader learns.
    #[error("the fit failed at its leader: {message}")]
    Leader {
        /// The error of the leader, in words.
        message: String,
    },
}

/// Why several sets of points cannot be fitted together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobalError {
    /// Something is wrong with one of the sets.
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
        /// These sets, counted from 1.
        bad: Vec<usize>,
        /// Number of sets.
        sets: usize,
        /// The error of the first of them.
        error: Box<Error>,
    },
    /// A value so large that the rows of the other sets vanish beside those of this one.
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
    /// Something that must be the same for all sets is not.
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

/// Why a composite model makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// With its prefix a parameter has no name that a formula may contain.
    #[error(
        "the parameter `{name}` of {model} has no valid name; use prefixes of letters, digits and _, a letter first, that do not make it a variable, `pi` or `e`"
    )]
    BadName {
        /// The name with its prefix.
        name: String,
        /// The model.
        model: String,
    },
    /// There is no model of that name.
    #[error("there is no model `{name}`{}; models::names() lists all", likely(nearest))]
    Unknown {
        /// The requested name.
        name: String,
        /// The most similar name, if one is similar.
        nearest: Option<&'static str>,
    },
    /// Only a model of one variable can take the value of another in its place.
    #[error(
        "{outer} has {variables} independent variables; only a model of one can be nested by `of`"
    )]
    NotNestable {
        /// The outer model.
        outer: String,
        /// Its independent variables.
        variables: usize,
    },
    /// A spline of too few or too many knots.
    #[error("a cubic spline needs {least} to {most} knots, not {got}")]
    KnotCount {
        /// Knots given.
        got: usize,
        /// The fewest possible.
        least: usize,
        /// The most possible.
        most: usize,
    },
    /// A spline's knot that is not finite or not after the one before it.
    #[error(
        "knot {index} (from 0) is {value:?}; knots must be finite, in increasing order, and not closer than about 1e-308"
    )]
    BadKnot {
        /// Its position among the knots.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// Models nested in each other too often, or a formula that would be too long to be read.
    #[error("the composite's formula would be {what}; at most {most} are possible")]
    TooLarge {
        /// The size, with its number.
        what: String,
        /// The maximum.
        most: usize,
    },
}

fn likely(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// An array whose numbers do not lie side by side, in order. Data are borrowed, so they cannot be read
/// from it.
#[cfg(feature = "ndarray")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an array of shape {shape:?} has strides {strides:?}, but data must lie side by side in memory; give `array.as_standard_layout()` instead, which copies it if need be"
)]
pub struct LayoutError {
    /// Numbers along each axis.
    pub shape: Vec<usize>,
    /// Steps from one number to the next along each axis.
    pub strides: Vec<isize>,
}

/// Remedies for a value of the data that is not finite, beside its removal and [`Missing::Omit`](crate::Missing::Omit).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NonFiniteRemedies {
    /// If the entry takes a mask: all but streams.
    pub mask: bool,
    /// If it is an x that is infinite, which [`Data::allow_infinite_x`](crate::Data::allow_infinite_x) permits.
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
