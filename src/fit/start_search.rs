//! The reliability of a start that was searched for.

use super::significant::significant;
use super::warning::Warning;
use std::fmt;

/// Fits that must have reached the best minimum for a search to be settled.
pub(crate) const REACHED: usize = 3;
/// Two minima are indistinguishable if χ² differs by less than this: 95 % of a χ² with one degree of freedom.
const INDISTINGUISHABLE: f64 = 3.84;

/// Result of the search for the start of a fit, with its reliability: see [`Fit::start_search`](crate::Fit::start_search).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct StartSearch {
    /// Candidates whose cost was computed, the linear parameters solved for.
    pub screened: usize,
    /// Candidates that were fitted.
    pub fits: usize,
    /// Fits that reached the minimum of the least cost.
    pub reached: usize,
    /// Cost of the next best minimum over that of the best; `None` if there was no other.
    pub next_cost_ratio: Option<f64>,
    /// Points that the search was made on: all, or a sample of many.
    pub points: usize,
    /// False if the search ended because its budget was used up: the best minimum was reached too rarely, or the data
    /// reject it.
    pub settled: bool,
}

impl StartSearch {
    /// The warnings that a fit of this cost gets from the search for its start.
    pub(crate) fn warnings(&self, cost: f64, degrees_of_freedom: usize) -> Vec<Warning> {
        let StartSearch { reached, fits, next_cost_ratio, .. } = *self;
        let rare =
            (reached < REACHED && fits > 0).then_some(Warning::UncertainMinimum { reached, fits });
        let degrees = degrees_of_freedom as f64;
        let as_good = |ratio: &f64| cost > 0.0 && (ratio - 1.0) * degrees < INDISTINGUISHABLE;
        let other = next_cost_ratio.filter(as_good);
        let other = other.map(|cost_ratio| Warning::OtherMinimum { cost_ratio });
        rare.into_iter().chain(other).collect()
    }
}

impl fmt::Display for StartSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StartSearch { screened, fits, reached, next_cost_ratio, .. } = self;
        write!(f, "start found by a search of {screened} candidates and {fits} fits: ")?;
        match reached {
            0 => return f.write_str("none of these converged with a cost as low as this one"),
            _ => write!(f, "{reached} reached this minimum")?,
        }
        match next_cost_ratio {
            Some(ratio) => {
                write!(f, ", the next best has {} times its cost", significant(*ratio, 3))
            }
            None => write!(f, ", and none another one"),
        }
    }
}
