//! Selection of the used points: lists of their indices.

use super::points::Points;
use super::scan::BLOCK;

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
pub(crate) fn write_selected<T: Copy>(
    values: impl Iterator<Item = T>,
    masks: &[u64],
    out: &mut [T],
) -> usize {
    let mut count = 0;
    for (value, mask) in values.zip(masks) {
        out[count] = value;
        count += (mask & 1) as usize;
    }
    count
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

    /// Returns the first of the last `count` used points before `end`.
    pub(crate) fn last_used(&self, end: usize, count: usize) -> usize {
        let used = (0..end).rev().filter(|&i| self.counts(i));
        used.take(count).last().unwrap_or(end)
    }
}
