//! Sorting of few items, with one compiled sort for all types.

use std::cmp::Ordering;

/// Sorts items by a comparison. Equal items keep their order.
///
/// It serves places that sort few items: `slice::sort_by` is compiled again for each comparison, which takes 5 to 9 kB of
/// code. Here each comparison is an indirect call.
pub(crate) fn sort_few<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut from = positions(items.len(), &|a, b| compare(&items[a], &items[b]));
    for first in 0..items.len() {
        // Follows a cycle of the permutation; `from[at]` is the position of the item that belongs at `at`.
        let mut at = first;
        while from[at] != first {
            let next = from[at];
            items.swap(at, next);
            from[at] = at;
            at = next;
        }
        from[at] = at;
    }
}

/// Returns the positions from 0 to `count` - 1 in the order that `compare` determines.
#[inline(never)]
fn positions(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;

    /// Oracle: the stable sort of the standard library.
    #[test]
    fn few_items_are_sorted_like_by_the_standard_library() {
        for count in 0..60_u64 {
            for seed in 0..20_u64 {
                let key =
                    |i: u64| (i.wrapping_mul(2 * seed + 1) ^ (i << (seed % 7))) % (1 + seed % 11);
                let mut items: Vec<(u64, String)> =
                    (0..count).map(|i| (key(i), format!("item {i}"))).collect();
                let mut expected = items.clone();
                expected.sort_by_key(|item| Reverse(item.0));
                sort_few(&mut items, |a, b| b.0.cmp(&a.0));
                assert_eq!(items, expected);
            }
        }
    }
}
