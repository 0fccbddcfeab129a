//! Errors of requests for the errors of a fit.

use super::short;

/// Why an interval, a band, a profile or a comparison cannot be given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UncertaintyError {
    /// The standard deviation of a new observation does not follow from the fit.
    #[error("the standard deviation of a new observation is unknown: {reason}; {remedy}")]
    NewPointUnknown {
        /// Why.
        reason: &'static str,
        /// The alternative.
        remedy: &'static str,
    },
    /// A standard deviation of new observations that is none.
    #[error(
        "the standard deviation of new observation {index} is {}; give positive, finite numbers",
        short(value)
    )]
    NewPointSigma {
        /// Index of the first such value.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// A parameter that is fixed, tied, or requested twice has no profile.
    #[error("`{name}` has no profile: {reason}; {remedy}")]
    NoProfile {
        /// The parameter.
        name: String,
        /// Why.
        reason: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// A level above the one that a profile was made to.
    #[error("the profile goes to the level {covered} and not to {level}; make it with profile_to")]
    BeyondProfile {
        /// The requested level.
        level: f64,
        /// The level that the profile was made to.
        covered: f64,
    },
    /// A profile came upon a better minimum than that of the fit.
    #[error(
        "the profile of `{name}` found a better minimum, of cost {}; fit again from its parameters",
        short(cost)
    )]
    BetterMinimum {
        /// The parameter.
        name: String,
        /// The cost there.
        cost: f64,
    },
    /// A kind of bootstrap that makes no sense for the fit.
    #[error("there is no such bootstrap: {reason}; {remedy}")]
    NoBootstrap {
        /// Why.
        reason: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// The end of an interval lies among so few replicates that it would be chance.
    #[error(
        "an end of the interval to the level {level} lies among the outermost of {replicates} replicates; make at least {needed}"
    )]
    TooFewReplicates {
        /// The requested level.
        level: f64,
        /// Replicates that converged.
        replicates: usize,
        /// The required number.
        needed: usize,
    },
    /// Too many refits failed for an interval from the others.
    #[error(
        "{failed} of {made} refits failed, so an interval from the others would be biased; use Resample::Parametric, or bound or fix parameters"
    )]
    ReplicatesFailed {
        /// Refits that did not converge.
        failed: usize,
        /// All refits that were made.
        made: usize,
    },
    /// A BCa interval that is not defined.
    #[error("there is no BCa interval: {reason}; {remedy}")]
    NoBca {
        /// Why.
        reason: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// A quantity has no value for some replicates.
    #[error(
        "`{quantity}` is not finite for {count} of {replicates} replicates; take a quantity that is, such as its inverse"
    )]
    UndefinedQuantity {
        /// The quantity.
        quantity: String,
        /// Replicates for which it is not finite.
        count: usize,
        /// All replicates.
        replicates: usize,
    },
    /// The fit is not of these data, or not by this model.
    #[error(
        "the fit was made with another model or other data: {what} is {found} in the fit and {expected} in the arguments; pass the model and the data of the fit"
    )]
    OtherFit {
        /// The difference.
        what: &'static str,
        /// As the fit has it.
        found: String,
        /// As the model or the data have it.
        expected: String,
    },
    /// Two fits that no test or criterion compares.
    #[error(
        "these fits cannot be compared: {what} is {first} in one and {second} in the other; {remedy}"
    )]
    NotComparable {
        /// The difference.
        what: &'static str,
        /// In the first, or smaller.
        first: String,
        /// In the second, or larger.
        second: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// No fits were given to be compared.
    #[error("no fits were given; give at least one")]
    NoFits,
}
