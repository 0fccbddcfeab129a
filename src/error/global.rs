//! What can be wrong with a fit of several sets of points.

use super::Error;
use super::constant::taken_name;

/// Why several sets of points cannot be fitted together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobalError {
    /// Something is wrong with one of the sets.
    #[error("set {set}: {error}")]
    InSet {
        /// The set, counted from 1.
        set: usize,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// There are no sets.
    #[error("there is no set of points; give at least one")]
    NoSets,
    /// Another number of sets than of models.
    #[error("there are {models} models but {sets} sets of points; give one set for each model")]
    SetCount {
        /// Models given.
        models: usize,
        /// Sets given.
        sets: usize,
    },
    /// A parameter was to be shared that the model does not have.
    #[error(
        "there is no parameter `{name}` to share; the model has {}{}",
        known.join(", "),
        taken_name(name)
    )]
    UnknownShared {
        /// The name given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// Two things of the joint fit would have one name: a parameter or a derived quantity that is a set's
    /// own is called after it and the set.
    #[error("`{name}` would be the name of {first} and of {second}; rename one of them")]
    SameName {
        /// The name.
        name: String,
        /// What has it: `a` of set 1.
        first: String,
        /// What else would have it.
        second: String,
    },
    /// Something that must be the same for all sets is not.
    #[error("set {set} differs from set 1 in {what}, which must be the same for all; {remedy}")]
    Differs {
        /// The set, counted from 1.
        set: usize,
        /// What differs.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
}
