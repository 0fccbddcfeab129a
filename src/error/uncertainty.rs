//! Errors of intervals, bands, profiles, bootstraps and comparisons of fits.

use super::short;

/// Reason why an interval, a band, a profile or a comparison cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UncertaintyError {
    /// The standard deviation of a new observation does not follow from the fit.
    #[error("the standard deviation of a new observation is unknown: {reason}; {remedy}")]
    NewPointUnknown {
        /// The reason.
        reason: &'static str,
        /// The alternative.
        remedy: &'static str,
    },
    /// A standard deviation of a new observation is not positive and finite.
    #[error(
        "the standard deviation of new observation {index} is {}; give positive, finite numbers",
        short(value)
    )]
    NewPointSigma {
        /// Index of the first such value.
        index: usize,
        /// The invalid value.
        value: f64,
    },
    /// A parameter that is fixed, tied, or requested twice has no profile.
    #[error("`{name}` has no profile: {reason}; {remedy}")]
    NoProfile {
        /// The parameter.
        name: String,
        /// The reason.
        reason: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// The requested level is above the highest level of the profile.
    #[error("the profile goes to the level {covered} and not to {level}; make it with profile_to")]
    BeyondProfile {
        /// The requested level.
        level: f64,
        /// The highest level of the profile.
        covered: f64,
    },
    /// A profile found a lower minimum than the fit.
    #[error(
        "the profile of `{name}` found a better minimum, of cost {}; fit again from its parameters",
        short(cost)
    )]
    BetterMinimum {
        /// The parameter.
        name: String,
        /// The cost at this minimum.
        cost: f64,
    },
    /// The kind of bootstrap is not defined for the fit.
    #[error("there is no such bootstrap: {reason}; {remedy}")]
    NoBootstrap {
        /// The reason.
        reason: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// The replicates beyond an end of the interval are too few to determine it.
    #[error(
        "an end of the interval to the level {level} lies among the outermost of {replicates} replicates; make at least {needed}"
    )]
    TooFewReplicates {
        /// The requested level.
        level: f64,
        /// Number of replicates that converged.
        replicates: usize,
        /// Required number of replicates.
        needed: usize,
    },
    /// Too many refits failed: an interval from the others would be biased.
    #[error(
        "{failed} of {made} refits failed, so an interval from the others would be biased; use Resample::Parametric, or bound or fix parameters"
    )]
    ReplicatesFailed {
        /// Number of refits that did not converge.
        failed: usize,
        /// Number of all refits.
        made: usize,
    },
    /// The BCa interval is not defined.
    #[error("there is no BCa interval: {reason}; {remedy}")]
    NoBca {
        /// The reason.
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
        /// Number of replicates for which it is not finite.
        count: usize,
        /// Number of all replicates.
        replicates: usize,
    },
    /// The fit was made with other data or another model.
    #[error(
        "the fit was made with another model or other data: {what} is {found} in the fit and {expected} in the arguments; pass the model and the data of the fit"
    )]
    OtherFit {
        /// The difference.
        what: &'static str,
        /// The value in the fit.
        found: String,
        /// The value in the model or the data.
        expected: String,
    },
    /// No test or criterion can compare the two fits.
    #[error(
        "these fits cannot be compared: {what} is {first} in one and {second} in the other; {remedy}"
    )]
    NotComparable {
        /// The difference.
        what: &'static str,
        /// The value in the first, or smaller, fit.
        first: String,
        /// The value in the second, or larger, fit.
        second: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The list of fits to compare is empty.
    #[error("no fits were given; give at least one")]
    NoFits,
}
