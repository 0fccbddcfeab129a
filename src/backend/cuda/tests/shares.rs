//! Tests of sums over points that are divided among devices: the bits do not depend on the division, and the sums
//! agree with one pass up to rounding.

use super::streamed::{Case, LAZY, Trial};
use crate::backend::cuda::streamed::SLOTS;
use crate::data::loss::Loss;

/// Number of points of a segment.
const SEGMENT: usize = 100;

/// Checks that all divisions of the points give the same bits, and the sums of one launch up to rounding.
fn agrees(case: &Case) {
    let Some(trial) = Trial::sound(LAZY[0]) else { return };
    let points = case.x.len();
    let by = |capacity, most, cuts: &[usize]| {
        case.by_shares(&trial.device, (capacity, most), SEGMENT, cuts)
    };
    let whole = case.by_shares(&trial.device, (None, usize::MAX), usize::MAX, &[0, points]);
    let one = by(None, usize::MAX, &[0, points]);
    one.assert_close(&whole, case.n, 1e-12, &format!("{points} points by segments"));
    assert_eq!(one.bits() == whole.bits(), points <= SEGMENT, "{points} points");
    let cuts: &[&[usize]] = &[&[SEGMENT], &[5 * SEGMENT], &[SEGMENT, 7 * SEGMENT, 8 * SEGMENT]];
    for cuts in cuts.iter().filter(|cuts| cuts.iter().all(|&cut| cut < points)) {
        let all = [&[0], *cuts, &[points]].concat();
        let shared = by(None, usize::MAX, &all);
        assert_eq!(shared.bits(), one.bits(), "{points} points, {cuts:?}");
        // Chunks and launches of one segment, and smaller ones.
        assert_eq!(by(Some(SEGMENT), SEGMENT, &all).bits(), one.bits(), "{points}, {cuts:?}");
        let small = by(Some(30), 30, &[0, points]);
        assert_eq!(by(Some(30), 30, &all).bits(), small.bits(), "{points} points, {cuts:?}");
        let short = by(None, 30, &[0, points]);
        assert_eq!(by(None, 30, &all).bits(), short.bits(), "{points} points, {cuts:?}");
        short.assert_close(&whole, case.n, 1e-12, "short launches");
    }
    trial.assert_clean();
}

#[test]
fn however_points_are_shared_their_sums_have_the_same_bits() {
    for n in [1, 3, 9, 40] {
        for points in [SEGMENT - 1, SEGMENT, SEGMENT + 1, 801, 20 * SEGMENT] {
            agrees(&Case::new(n, points).weighted());
        }
    }
    // Numbers of segments around the number of slots for sums.
    for segments in [SLOTS - 1, SLOTS, SLOTS + 1, 2 * SLOTS + 1] {
        agrees(&Case::new(3, segments * SEGMENT));
        agrees(&Case::new(3, segments * SEGMENT - 1));
    }
}

/// Segments are counted over all points, including points that are left out.
#[test]
fn segments_without_points_that_count_are_segments() {
    let case = Case::new(3, 1250);
    let empty = |i: usize| (300..600).contains(&i) || !(100..1150).contains(&i);
    let mask: Vec<bool> = (0..1250).map(|i| i % 7 != 3 && !empty(i)).collect();
    agrees(&Case { mask: Some(mask.clone()), ..case.clone() });
    let loss = Some(Loss::Cauchy { scale: 0.2 });
    agrees(&Case { mask: Some(mask), loss, ..case.weighted() });
}
