//! What is known of the points of all sets together.

use crate::data::overview::Overview;
use crate::data::points::Points;
use crate::data::summary::Summary;
use crate::error::GlobalError;
use crate::error::Result;

/// Of all sets, at least one. The row unit is that of the set with the largest rows; the scatter is of
/// each set about its own mean.
pub(super) fn of(sets: &[Points<'_>]) -> Result<Overview> {
    let smallest = |unit: f64, points: &Points<'_>| unit.min(points.units.row);
    let row = sets.iter().fold(f64::INFINITY, smallest);
    let (first, summary) = (sets[0].overview(), Summary::default());
    let mut whole = Overview { used: 0, omitted: 0, ignored: 0, summary, ..first };
    for (set, points) in sets.iter().enumerate() {
        let own = points.overview();
        if own.absolute != whole.absolute {
            let (what, remedy) =
                ("whether its sigma is absolute", "say Sigma::Absolute of all sets or of none");
            return Err(GlobalError::Differs { set: set + 1, what, remedy }.into());
        }
        whole.used += own.used;
        whole.omitted += own.omitted;
        whole.ignored += own.ignored;
        whole.summary = whole.summary.beside(own.summary, row / own.units.row);
    }
    whole.units.row = row;
    Ok(whole)
}
