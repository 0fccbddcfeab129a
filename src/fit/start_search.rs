//! Reliability of the result of a search for a start.

use crate::error::quote::significant;
use std::fmt;

/// Minimum number of fits that reached the best minimum in a settled search.
pub(crate) const REACHED: usize = 3;
/// A minimum is uncertain if fewer than one in `REACHED_OF` fits reached it: in a long search, [`REACHED`] fits may
/// agree by chance.
const REACHED_OF: usize = 12;
/// Minimum degrees of freedom for a test of the residuals: with fewer, they hardly ever reject a curve.
pub(crate) const TESTED: usize = 20;

/// Result of the search for the start of a fit, with its reliability: see
/// [`Fit::start_search`](crate::Fit::start_search).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct StartSearch {
    /// Number of candidates whose cost was computed, with least-squares values of the linear parameters.
    pub screened: usize,
    /// Number of fitted candidates; in a joint fit, in the set with the least `reached`.
    pub fits: usize,
    /// Number of fits that reached the minimum with the least cost; in a joint fit, the smallest number of all sets.
    pub reached: usize,
    /// Cost of the next best minimum divided by the least cost; `None` if no other minimum was found. In a joint fit,
    /// the smallest ratio if one search has its next best minimum; the costs are those of all sets.
    pub next_cost_ratio: Option<f64>,
    /// Number of points in the search: all points, or a sample if there are many.
    pub points: usize,
    /// False if the search ended because its budget was used up: the best minimum was reached too rarely, or the data
    /// reject it.
    pub settled: bool,
    /// True if the observer or the cancel token ended the search. The fit then ends after one step from the best start
    /// so far.
    pub stopped: bool,
}

impl StartSearch {
    /// Returns true if a lower minimum may exist: the search was stopped, or few fits reached the best minimum.
    pub(crate) fn is_uncertain(&self) -> bool {
        let StartSearch { reached, fits, stopped, .. } = *self;
        fits > 0 && (stopped || reached < REACHED.max(fits.div_ceil(REACHED_OF)))
    }

    /// Combines the searches of the sets of a joint fit; `None` if there was no search.
    pub(crate) fn of_sets(sets: impl Iterator<Item = StartSearch>) -> Option<StartSearch> {
        sets.reduce(|all, set| {
            let (reached, fits) = (all.reached, all.fits).min((set.reached, set.fits));
            let next = [all.next_cost_ratio, set.next_cost_ratio].into_iter().flatten();
            StartSearch {
                screened: all.screened + set.screened,
                fits,
                reached,
                next_cost_ratio: next.reduce(f64::min),
                points: all.points + set.points,
                settled: all.settled && set.settled,
                stopped: all.stopped || set.stopped,
            }
        })
    }
}

impl fmt::Display for StartSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StartSearch { screened, fits, reached, next_cost_ratio, stopped, .. } = self;
        write!(f, "start found by a search of {screened} candidates and {fits} fits")?;
        if *stopped {
            f.write_str(" that was stopped before its end")?;
        }
        f.write_str(": ")?;
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
