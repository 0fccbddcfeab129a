//! What can be wrong with parameters that are tied to others.

use super::constant::taken_name;

/// Why a tie cannot be kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TieError {
    /// A tie names a parameter that the model does not have.
    #[error(
        "`{name}`, in the tie of `{tied}`, is no parameter; the model has {}{}",
        known.join(", "),
        taken_name(name)
    )]
    UnknownName {
        /// The parameter that is tied; it may be the unknown one itself.
        tied: String,
        /// The name that is unknown.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A parameter is tied twice.
    #[error("`{name}` is tied twice, to `{first}` and to `{second}`; leave one of them out")]
    Twice {
        /// The parameter.
        name: String,
        /// What it was tied to first.
        first: String,
        /// What it was tied to then.
        second: String,
    },
    /// A parameter depends on itself, directly or through other ties.
    #[error("ties run in a circle: {}; leave one of them out", circle(names))]
    Cycle {
        /// The parameters, each of which is tied to an expression with the next one, the last to one with
        /// the first.
        names: Vec<String>,
    },
    /// A parameter is tied and fixed.
    #[error("`{name}` is tied to `{formula}` and fixed; free it, or leave the tie out")]
    Fixed {
        /// The parameter.
        name: String,
        /// What it is tied to.
        formula: String,
    },
    /// A parameter is tied and has bounds.
    #[error(
        "`{name}` is tied to `{formula}` and has bounds, which a tie does not keep; bound the parameters in its formula instead"
    )]
    Bounded {
        /// The parameter.
        name: String,
        /// What it is tied to.
        formula: String,
    },
    /// In a fit of several sets of points a shared parameter is tied in one set otherwise than in another.
    #[error(
        "the sets share `{name}`, but it is not tied to the same in all of them; share the parameters of its formula, or do not share `{name}`"
    )]
    DiffersBetweenSets {
        /// The parameter.
        name: String,
    },
}

fn circle(names: &[String]) -> String {
    let all: Vec<String> =
        names.iter().chain(names.first()).map(|name| format!("`{name}`")).collect();
    all.join(" depends on ")
}
