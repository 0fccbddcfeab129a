//! Assignment of estimates to terms if several terms of a sum are the same model.

use super::tree::{CENTER, NamedValue, PlacedTerm, Tree};
use crate::math::order::sort_few;
use crate::model::ties::Known;

/// Relative difference below which two values of [`contradiction`] are equal except for rounding.
const SAME: f64 = 1e-9;
/// [`contradiction`] of a parameter if its estimated and known value have opposite signs or one of them is unknown;
/// upper limit for the logarithm of their ratio.
const OPPOSITE: f64 = 10.0;

/// Assigns estimates to terms of the same model, in best agreement with the known position, width, size and ties of
/// each term. Terms without known values are ordered from left to right.
pub(super) fn assign(terms: &[&(f64, Tree)], points: &NamedValue<'_>, params: &mut [f64]) {
    for peers in groups(terms) {
        let far = |params: &[f64]| contradiction(&peers, points.known, params);
        in_order(&peers, params);
        let mut least = far(params);
        let mut is_better = least > 0.0;
        while is_better {
            is_better = false;
            for (i, a) in peers.iter().enumerate() {
                for b in &peers[..i] {
                    a.swap(b, params);
                    let with = far(params);
                    if with < least * (1.0 - SAME) {
                        (least, is_better) = (with, true);
                    } else {
                        a.swap(b, params);
                    }
                }
            }
        }
        let mut ordered = params.to_vec();
        let is_any = |term: &&PlacedTerm| term.is_known_by_formula(points.known);
        in_order(&peers.iter().copied().filter(is_any).collect::<Vec<_>>(), &mut ordered);
        if far(&ordered) <= least * (1.0 + SAME) {
            params.copy_from_slice(&ordered);
        }
    }
}

/// Groups terms with the same sign and model.
fn groups<'t>(terms: &[&'t (f64, Tree)]) -> Vec<Vec<&'t PlacedTerm>> {
    let mut groups: Vec<(f64, Vec<&PlacedTerm>)> = Vec::new();
    for (sign, term) in terms {
        let Tree::Leaf(term) = term else { continue };
        let is_like =
            |(s, peers): &&mut (f64, Vec<&PlacedTerm>)| *s == *sign && peers[0].is_like(term);
        match groups.iter_mut().find(is_like) {
            Some((_, peers)) => peers.push(term),
            None => groups.push((*sign, vec![term])),
        }
    }
    groups.into_iter().map(|(_, peers)| peers).collect()
}

/// Sorts the estimates by their center, if the model has a center.
fn in_order(peers: &[&PlacedTerm], params: &mut [f64]) {
    let Some(center) = peers.first().and_then(|term| term.position(CENTER)) else { return };
    let block = |term: &&PlacedTerm| params[term.places()].to_vec();
    let mut blocks: Vec<Vec<f64>> = peers.iter().map(block).collect();
    sort_few(&mut blocks, |a, b| a[center].total_cmp(&b[center]));
    for (term, block) in peers.iter().zip(&blocks) {
        params[term.places()].copy_from_slice(block);
    }
}

/// Returns the sum of distances between estimated and known values. Centers: in units of sigma; other parameters:
/// the logarithm of the ratio.
fn contradiction(peers: &[&PlacedTerm], known: &Known, params: &[f64]) -> f64 {
    let begun = known.begun(params);
    let of_term = |term: &&PlacedTerm| {
        let sigma = term.position("sigma").map(|j| params[term.first + j]);
        let names = term.leaf.parameters.iter().map(|(name, _)| name);
        let of_parameter = |(i, name): (usize, &String)| {
            let (found, wanted) = (params[i], begun[i]);
            let away = match sigma.filter(|sigma| name == CENTER && *sigma > 0.0) {
                Some(sigma) => (found - wanted).abs() / sigma,
                None if found == wanted => 0.0,
                None => (found / wanted).ln().abs().min(OPPOSITE),
            };
            if away.is_finite() { away } else { OPPOSITE }
        };
        term.places().zip(names).map(of_parameter).sum::<f64>()
    };
    peers.iter().map(of_term).sum()
}
