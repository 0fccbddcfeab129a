//! Exponentials that are added are found together: each by itself takes the others' part for its own.

use super::{NamedValue, PlacedTerm, Tree};
use crate::models::library::decays::{EXPONENTIAL, several};

/// The parameter by which exponentials differ.
const DECAY: &str = "decay";

/// This term of a sum, if it is an exponential that is added.
pub(super) fn as_exponential((sign, term): &(f64, Tree)) -> Option<&PlacedTerm> {
    match term {
        Tree::Leaf(placed) if *sign > 0.0 && placed.leaf.name == EXPONENTIAL.name => Some(placed),
        _ => None,
    }
}

/// Writes the starts of two or three exponentials, the fastest into the first one's places. `false`
/// where there are more or fewer.
pub(super) fn find(
    terms: &[&(f64, Tree)],
    points: &NamedValue<'_>,
    left: &[f64],
    params: &mut [f64],
) -> bool {
    let mut exponentials: Vec<&PlacedTerm> =
        terms.iter().filter_map(|term| as_exponential(term)).collect();
    let Some(first) = exponentials.first() else { return false };
    let seen = points.with_response(left.to_vec()).for_term(first);
    let Some(found) = several(&seen, exponentials.len()) else { return false };
    let mut pairs: Vec<&[f64]> = found.chunks(2).collect();
    // Those of which something is known choose first.
    exponentials.sort_by_key(|term| !points.is_limited(term, DECAY));
    for term in exponentials {
        let (low, high) = points.limits(term, DECAY).unwrap_or((0.0, f64::INFINITY));
        let away = |pair: &[f64]| (pair[1] / pair[1].max(low).min(high)).ln().abs();
        let nearest = (0..pairs.len()).min_by(|&a, &b| away(pairs[a]).total_cmp(&away(pairs[b])));
        if let Some(nearest) = nearest {
            points.place(term, pairs.remove(nearest), params);
        }
    }
    true
}
