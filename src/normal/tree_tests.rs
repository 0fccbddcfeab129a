//! Tests of trees that merge the summaries of pieces.

use super::{GROUP, Summary, Tree};
use crate::normal::{Normal, RFactor};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Numbers of pieces at the borders of groups and of nodes, and one piece more or less.
const BORDERS: [u64; 14] = [0, 1, 2, 3, 64, 255, 256, 257, 511, 512, 513, 767, 768, 769];

/// Returns a summary of integers, whose sums are exact in any order.
fn normal(piece: u64) -> Normal {
    let products = (0..6).map(|k| ((7 * piece + k) % 1000) as f64).collect();
    Normal::of(2, products, (piece % 97) as f64)
}

/// Returns the factor of one row, a point (1, piece). The sums of squares of its columns are known.
fn factor(piece: u64) -> RFactor {
    let mut factor = RFactor::zero(1);
    factor.r[0] = 1.0;
    factor.r[2] = piece as f64;
    factor
}

/// Sums up `pieces` pieces. After `saved` pieces the tree is serialized and deserialized.
fn sum_of<S: Summary + Clone + Serialize + DeserializeOwned>(
    empty: &S,
    piece: impl Fn(u64) -> S,
    pieces: u64,
    saved: u64,
) -> S {
    let mut sums = Tree::new(0);
    for number in 0..pieces {
        if number == saved {
            assert!(sums.is_sound(0..number, |_| true) && !sums.is_sound(0..number + 1, |_| true));
            sums = postcard::from_bytes(&postcard::to_stdvec(&sums).unwrap()).unwrap();
        }
        sums.add(&mut piece(number));
    }
    assert!(sums.is_sound(0..pieces, |_| true));
    let mut closed = sums.clone();
    closed.close();
    assert!(closed.is_sound(0..pieces, |_| true));
    let bytes = |sum: Option<S>| postcard::to_stdvec(&sum).unwrap();
    assert_eq!(bytes(closed.sum()), bytes(sums.clone().sum()));
    // The previous content of the target has no effect.
    let mut sum = piece(7);
    sums.clone().sum_into(&mut sum);
    assert_eq!(bytes((pieces > 0).then(|| sum.clone())), bytes(sums.sum()));
    if pieces > 0 { sum } else { empty.clone() }
}

#[test]
fn sums_are_of_all_pieces_at_every_border() {
    for pieces in BORDERS {
        let mut plain = Normal::zero(2);
        (0..pieces).for_each(|number| plain.merge(&mut normal(number)));
        for saved in BORDERS.into_iter().filter(|&saved| saved <= pieces) {
            let sum = sum_of(&Normal::zero(2), normal, pieces, saved);
            assert_eq!(sum.products, plain.products, "{pieces} pieces, saved at {saved}");
            assert_eq!(sum.cost, plain.cost, "{pieces} pieces, saved at {saved}");
        }
    }
}

#[test]
fn factors_are_of_all_pieces_at_every_border() {
    for pieces in BORDERS {
        let squares: u64 = (0..pieces).map(|number| number * number).sum();
        for saved in BORDERS.into_iter().filter(|&saved| saved <= pieces) {
            let RFactor { r, .. } = sum_of(&RFactor::zero(1), factor, pieces, saved);
            let found = (r[0] * r[0], r[2] * r[2] + r[3] * r[3]);
            let near = |found: f64, exact: f64| (found - exact).abs() <= 1e-12 * exact;
            assert!(near(found.0, pieces as f64), "{pieces}, {saved}: {found:?}");
            assert!(near(found.1, squares as f64), "{pieces}, {saved}: {found:?}");
        }
    }
}

#[test]
fn a_sum_may_be_taken_on_the_way() {
    let mut sums = Tree::new(0);
    for number in 1..600 {
        sums.add(&mut normal(number - 1));
        let mut plain = Normal::zero(2);
        (0..number).for_each(|before| plain.merge(&mut normal(before)));
        assert_eq!(sums.clone().sum().unwrap().products, plain.products, "{number} pieces");
    }
}

/// Returns a summary whose sums have rounding errors. Its values depend on the number of the piece.
fn rounding(piece: u64) -> Normal {
    let number =
        |k: u64| ((piece * 6 + k) as f64 * 0.7391).sin() * 10f64.powi((piece % 7) as i32 - 3);
    Normal::of(2, (0..6).map(number).collect(), number(9))
}

/// Returns the tree of the groups in `range` and of `rest` pieces after them.
fn part(range: std::ops::Range<u64>, rest: u64) -> Tree<Normal> {
    let mut sums = Tree::new(range.start * GROUP);
    let pieces = range.start * GROUP..range.end * GROUP + rest;
    pieces.for_each(|piece| sums.add(&mut rounding(piece)));
    sums
}

fn bits(sums: Tree<Normal>) -> Vec<u64> {
    let Normal { products, cost, .. } = sums.sum().unwrap();
    products.iter().chain([&cost]).map(|v| v.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Tests that groups on different processes, merged in any order, have the same bits as all groups on one process.
    #[test]
    fn no_bit_depends_on_who_holds_what(
        groups in 1u64..40,
        rest in 0u64..GROUP,
        cuts in prop::collection::btree_set(1u64..40, 0..8),
        order in prop::collection::vec(any::<prop::sample::Index>(), 8),
    ) {
        let whole = part(0..groups, rest);
        let cuts: Vec<u64> = cuts.into_iter().filter(|&cut| cut < groups).collect();
        let begins: Vec<u64> = [0].into_iter().chain(cuts.iter().copied()).collect();
        let mut parts: Vec<Tree<Normal>> = (0..begins.len())
            .map(|i| match begins.get(i + 1) {
                Some(&end) => part(begins[i]..end, 0),
                None => part(begins[i]..groups, rest),
            })
            .collect();
        let mut order = order.into_iter();
        while parts.len() > 1 {
            let at = order.next().map_or(0, |at| at.index(parts.len() - 1));
            let right = parts.remove(at + 1);
            parts[at].follow(right).unwrap();
        }
        let together = parts.swap_remove(0);
        prop_assert!(together.is_sound(0..groups * GROUP + rest, |sums| sums.is_of(2)));
        let bytes = |sums: &Tree<Normal>| postcard::to_stdvec(sums).unwrap();
        prop_assert_eq!(bytes(&together), bytes(&whole));
        prop_assert_eq!(bits(together), bits(whole));
    }

    /// Tests that the bits do not depend on the distribution of pieces over threads, with reused memory.
    #[test]
    fn no_bit_depends_on_which_thread_has_what(
        pieces in 1u64..600,
        of_task in prop::collection::vec(1u64..200, 1..8),
    ) {
        let (mut all, mut task) = (Tree::new(0), Tree::default());
        for _ in 0..3 {
            let mut sizes = of_task.iter().cycle();
            all.restart(0);
            while all.next() < pieces {
                let end = pieces.min(all.next() + sizes.next().unwrap());
                task.restart(all.next());
                (all.next()..end).for_each(|piece| task.add(&mut rounding(piece)));
                all.take(&mut task);
            }
            prop_assert!(all.is_sound(0..pieces, |sums| sums.is_of(2)));
            let mut sum = Normal::zero(2);
            all.clone().sum_into(&mut sum);
            let found: Vec<u64> = sum.products.iter().chain([&sum.cost]).map(|v| v.to_bits()).collect();
            prop_assert_eq!(found, bits(part(0..0, pieces)));
        }
    }

    #[test]
    fn only_neighbours_follow(first in 0u64..5, groups in 1u64..4, next in 0u64..12, rest in 0u64..3) {
        let (mut left, right) = (part(first..first + groups, rest), part(next..next + 1, 0));
        let follows = rest == 0 && next == first + groups;
        prop_assert_eq!(left.follow(right).is_ok(), follows);
    }
}
