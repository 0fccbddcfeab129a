//! What is known of the points of all sets together.

use crate::data::overview::Overview;
use crate::data::points::Points;
use crate::error::Result;
use crate::error::global::GlobalError;

/// Of all sets, at least one. The row unit is that of the set with the largest rows; the scatter is of
/// each set about its own mean.
pub(super) fn of(sets: &[Points<'_>]) -> Result<Overview> {
    let mut whole = sets[0].overview();
    let smallest = |unit: f64, points: &Points<'_>| unit.min(points.units.row);
    let row = sets.iter().fold(f64::INFINITY, smallest);
    let own = row / whole.units.row;
    whole.summary.scatter *= own * own;
    whole.summary.square *= own * own;
    for (set, points) in sets.iter().enumerate().skip(1) {
        let other = points.overview();
        if other.absolute != whole.absolute {
            let (what, remedy) =
                ("whether its sigma is absolute", "say Sigma::Absolute of all sets or of none");
            return Err(GlobalError::Differs { set: set + 1, what, remedy }.into());
        }
        whole.used += other.used;
        whole.omitted += other.omitted;
        whole.ignored += other.ignored;
        whole.summary = whole.summary.beside(other.summary, row / other.units.row);
    }
    whole.units.row = row;
    Ok(whole)
}
