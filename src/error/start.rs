//! What can be wrong with a start of which a part is to be found.

use super::constant::taken_name;

/// Why a fit has no start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The start names a parameter that the model does not have.
    #[error(
        "the start has a value for `{name}`, but the model's parameters are {}; correct the name{}",
        known.join(", "),
        taken_name(name)
    )]
    UnknownName {
        /// The name given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The start has two values for one parameter.
    #[error("the start has two values for `{name}`; leave one of them out")]
    GivenTwice {
        /// The parameter.
        name: String,
    },
    /// The start has a value for a parameter that is tied to others.
    #[error(
        "the start has a value for `{name}`, but `{name}` is tied to `{formula}`; leave it out"
    )]
    Tied {
        /// The parameter.
        name: String,
        /// What it is tied to.
        formula: String,
    },
    /// Parameters in which the model is not linear have no start.
    #[error(
        "no start is known for {}: the model is not linear in {}, so that no linear solve gives it; give a start by name, as in {}, or a function that finds one, by CurveFit::guess",
        names.join(", "),
        if names.len() == 1 { "it" } else { "all of them" },
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
    /// The model's guess has another number of values than the model has parameters.
    #[error(
        "the model's guess has {got} value(s) for {expected} parameter(s) ({}); return one for each, NaN for one that is not known",
        names.join(", ")
    )]
    GuessCount {
        /// Parameters of the model.
        expected: usize,
        /// Values returned.
        got: usize,
        /// The parameters' names.
        names: Vec<String>,
    },
    /// The model's guess panicked.
    #[error("the model's guess panicked: {message}; give a complete start, or mend the guess")]
    GuessPanicked {
        /// The panic's message.
        message: String,
    },
}

/// A start by name that would do.
fn example(names: &[String]) -> String {
    let pairs: Vec<String> = names.iter().map(|name| format!("(\"{name}\", 1.0)")).collect();
    format!("[{}]", pairs.join(", "))
}
