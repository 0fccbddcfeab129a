//! Initial guesses of added exponentials are computed together, because a separate guess for one would fit the sum of
//! all.

use super::{NamedValue, PlacedTerm, Tree};
use crate::models::library::decays::{EXPONENTIAL, several};

/// Returns this term of a sum if it is an exponential with a positive sign.
pub(super) fn as_exponential((sign, term): &(f64, Tree)) -> Option<&PlacedTerm> {
    match term {
        Tree::Leaf(placed) if *sign > 0.0 && placed.leaf.name == EXPONENTIAL.name => Some(placed),
        _ => None,
    }
}

/// Writes the initial guesses of two or three exponentials, the fastest to the first term. Returns false for any other
/// number of exponentials.
pub(super) fn find(
    terms: &[&(f64, Tree)],
    points: &NamedValue<'_>,
    left: &[f64],
    params: &mut [f64],
) -> bool {
    let exponentials: Vec<&PlacedTerm> =
        terms.iter().filter_map(|term| as_exponential(term)).collect();
    let Some(first) = exponentials.first() else { return false };
    let seen = points.with_response(left.to_vec()).for_term(first);
    let Some(found) = several(&seen, exponentials.len()) else { return false };
    for (term, pair) in exponentials.iter().zip(found.chunks(2)) {
        params[term.places()].copy_from_slice(pair);
    }
    true
}
