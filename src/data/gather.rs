//! Selection of the used points: lists of their indices, and copies of their values.

use super::points::Points;
use super::scan::{BLOCK, in_vectors, widened};
use super::values::Values;

/// Number of points that are copied at once if all of them are used.
const GROUP: usize = 8;

/// Returns true if all points of a group of masks are used.
#[inline(always)]
fn is_whole(masks: &[u64; GROUP]) -> bool {
    masks.iter().fold(!0, |all, mask| all & mask) == !0
}

/// Writes each value after the selected values before it. The next value overwrites it unless it is
/// selected. Returns the number of selected values.
#[inline(always)]
fn write_selected<T: Copy>(values: impl Iterator<Item = T>, masks: &[u64], out: &mut [T]) -> usize {
    let mut count = 0;
    for (value, mask) in values.zip(masks) {
        out[count] = value;
        count += (mask & 1) as usize;
    }
    count
}

/// Copies the values whose masks are set to the beginning of `out`. All slices have the same length.
#[inline(always)]
fn compress(values: &[f64], masks: &[u64], out: &mut [f64]) {
    let mut count = 0;
    let ((groups, last), (masks, last_masks)) = (values.as_chunks::<GROUP>(), masks.as_chunks());
    for (values, masks) in groups.iter().zip(masks) {
        let Some(out) = out[count..].first_chunk_mut::<GROUP>() else { return };
        count += match is_whole(masks) {
            true => {
                *out = *values;
                GROUP
            }
            false => write_selected(values.iter().copied(), masks, out),
        };
    }
    write_selected(last.iter().copied(), last_masks, &mut out[count..]);
}

impl Points<'_> {
    /// Appends the indices of the used points from `next` on to `picked`, until it contains `most` or the points end at
    /// `end`. Returns the point at which to continue.
    pub(crate) fn pick_used(
        &self,
        mut next: usize,
        end: usize,
        most: usize,
        picked: &mut Vec<usize>,
    ) -> usize {
        let mut used = [0; BLOCK];
        while next < end && picked.len() < most {
            let len = BLOCK.min(end - next).min(most - picked.len());
            let used = &mut used[..len];
            self.mark_used(next, used);
            let mut count = picked.len();
            // Memory for all points. Each index is written after the indices of the used points before it.
            picked.resize(count + len, 0);
            let (groups, last) = used.as_chunks::<GROUP>();
            for (first, group) in (next..).step_by(GROUP).zip(groups) {
                let Some(out) = picked[count..].first_chunk_mut::<GROUP>() else { break };
                count += match is_whole(group) {
                    true => {
                        *out = std::array::from_fn(|i| first + i);
                        GROUP
                    }
                    false => write_selected(first.., group, out),
                };
            }
            let rest = next + len - last.len();
            count += write_selected(rest.., last, &mut picked[count..]);
            picked.truncate(count);
            next += len;
        }
        next
    }

    /// Copies the values of the used points from `next` on, until there are `most` or the points end at `end`. `out`: for
    /// each array a part of `most` numbers. Returns the number of copied points and the point at which to continue, the
    /// same as [`pick_used`](Points::pick_used).
    pub(crate) fn gather_used(
        &self,
        span: (usize, usize),
        most: usize,
        arrays: &[Values<'_>],
        out: &mut [f64],
    ) -> (usize, usize) {
        let points = self;
        in_vectors!(Points::gather: (
            points: &Points<'_>, span: (usize, usize), most: usize, arrays: &[Values<'_>], out: &mut [f64]
        ) -> (usize, usize))
    }

    #[inline(always)]
    fn gather(
        &self,
        (mut next, end): (usize, usize),
        most: usize,
        arrays: &[Values<'_>],
        out: &mut [f64],
    ) -> (usize, usize) {
        let (mut count, mut used, mut room) = (0, [0; BLOCK], [0.0; BLOCK]);
        while next < end && count < most {
            let len = BLOCK.min(end - next).min(most - count);
            let used = &mut used[..len];
            self.mark(next, used);
            for (values, out) in arrays.iter().zip(out.chunks_mut(most)) {
                let values = widened(values, next..next + len, &mut room);
                compress(values, used, &mut out[count..count + len]);
            }
            count += used.iter().map(|used| (used & 1) as usize).sum::<usize>();
            next += len;
        }
        (count, next)
    }
}
