//! Scans over points in blocks, by loops without a branch per point, which the compiler vectorises: used points,
//! largest magnitudes, moments and sums of counts.

use super::points::Points;
use super::scaling::{Largest, Tally};
use super::sigma::Weights;
use super::summary::Moments;
use super::values::Values;
use std::ops::Range;

/// Number of points per block.
const BLOCK: usize = 256;
/// Number of independent partial results, which let the compiler vectorise additions and maxima.
const LANES: usize = 8;

/// Mask of the points of a block: all bits of an element are set if the point is used, else none.
type Mask = [u64; BLOCK];

/// Results of a scan over used points.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    pub(super) largest: Largest,
    /// Moments in the current units of the points.
    pub(super) moments: Moments,
    /// Number of used points.
    pub(super) used: usize,
    /// True if a value of a used point is not finite, or its sigma is not positive.
    pub(super) is_invalid: bool,
}

impl Scan {
    /// Returns the results for the points of both scans; those of `other` follow.
    pub(super) fn merge(self, other: Scan) -> Scan {
        Scan {
            largest: self.largest.merge(other.largest),
            moments: self.moments.merge(other.moments),
            used: self.used + other.used,
            is_invalid: self.is_invalid | other.is_invalid,
        }
    }
}

/// Returns the result of `scan`, compiled for AVX2 if the processor supports it. The result has the same bits: the loops
/// contain no fused operations. The functions that `scan` calls must be inlined.
#[inline(always)]
fn in_vectors<R>(scan: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn with_avx2<R>(scan: impl FnOnce() -> R) -> R {
            scan()
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has this feature.
            return unsafe { with_avx2(scan) };
        }
    }
    scan()
}

/// Returns the blocks of a range, in order.
#[inline(always)]
fn blocks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(BLOCK).map(move |start| start..range.end.min(start + BLOCK))
}

/// Returns the values of a block in f64: borrowed, or converted into `room`.
#[inline(always)]
fn widened<'v>(values: &Values<'v>, block: Range<usize>, room: &'v mut [f64; BLOCK]) -> &'v [f64] {
    match values {
        Values::F64(v) => &v[block],
        _ => {
            let out = &mut room[..block.len()];
            values.copy_to(block.start, out);
            out
        }
    }
}

#[inline(always)]
fn bits(holds: bool) -> u64 {
    if holds { !0 } else { 0 }
}

/// Returns the value if the mask is set, else 0.
#[inline(always)]
fn kept(value: f64, mask: u64) -> f64 {
    f64::from_bits(value.to_bits() & mask)
}

/// Returns the larger number; `most` if the other is NaN. It is a single instruction, unlike `f64::max`.
#[inline(always)]
fn larger(most: f64, other: f64) -> f64 {
    if other > most { other } else { most }
}

#[inline(always)]
fn largest_of(lanes: [f64; LANES]) -> f64 {
    lanes.into_iter().fold(0.0, larger)
}

/// Calls `visit` for each point of a block with its mask and with the mask of finite values, of all but NaN if
/// `infinite`.
#[inline(always)]
fn for_each_finite(
    values: &Values<'_>,
    start: usize,
    infinite: bool,
    masks: &mut [u64],
    mut visit: impl FnMut(&mut u64, u64),
) {
    macro_rules! visit_all {
        ($v:ident, $is_valid:expr) => {{
            let values = &$v[start..start + masks.len()];
            masks.iter_mut().zip(values).for_each(|(mask, v)| visit(mask, bits($is_valid(v))));
        }};
    }
    match (values, infinite) {
        (Values::F64(v), false) => visit_all!(v, |v: &f64| v.abs() < f64::INFINITY),
        (Values::F64(v), true) => visit_all!(v, |v: &f64| v.abs() <= f64::INFINITY),
        (Values::F32(v), false) => visit_all!(v, |v: &f32| v.abs() < f32::INFINITY),
        (Values::F32(v), true) => visit_all!(v, |v: &f32| v.abs() <= f32::INFINITY),
        // Integers are always finite.
        _ => {}
    }
}

impl Points<'_> {
    /// Sets the mask of the points from `start` on, which are used if [`counts`](Points::counts) returns true.
    #[inline(always)]
    fn mark_used(&self, start: usize, used: &mut [u64]) {
        let end = start + used.len();
        match self.mask {
            Some(mask) => {
                let mask = used.iter_mut().zip(&mask[start..end]);
                mask.for_each(|(used, &keep)| *used = u64::from(keep).wrapping_neg());
            }
            None => used.fill(!0),
        }
        if self.mask_decides {
            return;
        }
        let clear = |mask: &mut u64, is_finite: u64| *mask &= is_finite;
        for_each_finite(&self.y, start, false, used, clear);
        for column in self.columns.iter() {
            for_each_finite(column, start, self.infinite_x, used, clear);
        }
        if let Some(sigma) = self.sigmas() {
            for_each_finite(&Values::F64(sigma), start, false, used, clear);
        }
        if !self.x_sigma.is_exact() {
            let errors = used.iter_mut().zip(start..end);
            errors.for_each(|(used, i)| *used &= bits(self.x_sigma.is_finite_at(i)));
        }
    }

    /// Returns the mask of the used points of a block.
    #[inline(always)]
    fn mask_of(&self, block: Range<usize>) -> Mask {
        let mut used = [0; BLOCK];
        match self.is_filtered() {
            true => self.mark_used(block.start, &mut used[..block.len()]),
            false => used[..block.len()].fill(!0),
        }
        used
    }

    /// Appends the indices of the used points from `next` on to `picked`, until it contains `most` or the points end at
    /// `end`. Returns the point at which to continue.
    pub(crate) fn pick_used(
        &self,
        mut next: usize,
        end: usize,
        most: usize,
        picked: &mut Vec<usize>,
    ) -> usize {
        const GROUP: usize = 8;
        let mut used = [0; BLOCK];
        while next < end && picked.len() < most {
            let len = BLOCK.min(end - next).min(most - picked.len());
            let used = &mut used[..len];
            in_vectors(|| self.mark_used(next, used));
            let mut count = picked.len();
            // Memory for all points. Each index is written after the indices of the used points before it.
            picked.resize(count + len, 0);
            for (g, group) in used.chunks(GROUP).enumerate() {
                let first = next + g * GROUP;
                let out = &mut picked[count..count + group.len()];
                if group.len() == GROUP && group.iter().fold(!0, |all, used| all & used) == !0 {
                    out.iter_mut().enumerate().for_each(|(i, out)| *out = first + i);
                    count += GROUP;
                    continue;
                }
                let mut kept = 0;
                for (i, used) in group.iter().enumerate() {
                    out[kept] = first + i;
                    kept += (used & 1) as usize;
                }
                count += kept;
            }
            picked.truncate(count);
            next += len;
        }
        next
    }

    /// Returns the numbers of used points, omitted points and points without weight in a range.
    pub(super) fn tally_part(&self, part: Range<usize>) -> Tally {
        let mut tally = Tally::default();
        let mut used = [0; BLOCK];
        for block in blocks(part) {
            let used = &mut used[..block.len()];
            in_vectors(|| self.mark_used(block.start, used));
            let count = used.iter().map(|used| (used & 1) as usize).sum::<usize>();
            let is_ignored = |&i: &usize| {
                self.sigma_at(i) == Some(f64::INFINITY) && self.mask.is_none_or(|mask| mask[i])
            };
            let ignored =
                if count < block.len() { block.clone().filter(is_ignored).count() } else { 0 };
            tally.used += count;
            tally.ignored += ignored;
            tally.omitted += block.len() - count - ignored;
        }
        tally
    }

    /// Scans the points of a range. `known_x`: true if the independent variables are known to be valid.
    pub(super) fn scan_part(&self, part: Range<usize>, known_x: bool) -> Scan {
        in_vectors(|| {
            let (mut moments, mut count, mut invalid) = (Moments::default(), 0, 0);
            let [mut most_y, mut most_weight, mut most_row] = [[0.0; LANES]; 3];
            let mut room = [0.0; BLOCK];
            let unknown = if known_x { &[] } else { &self.columns[..] };
            for block in blocks(part) {
                let (start, n) = (block.start, block.len());
                let mut used = self.mask_of(block.clone());
                let used = &mut used;
                count += used.iter().map(|used| (used & 1) as usize).sum::<usize>();
                let mut add = |mask: &mut u64, is_valid: u64| invalid |= *mask & !is_valid;
                for_each_finite(&self.y, start, false, &mut used[..n], &mut add);
                for column in unknown {
                    for_each_finite(column, start, self.infinite_x, &mut used[..n], &mut add);
                }
                let y = widened(&self.y, block, &mut room);
                let weights = self.weights_of_block(start, n, used);
                moments = moments.merge(self.moments_of_block(y, used, weights.as_ref()));
                let (masks, last) = used[..n].as_chunks::<LANES>();
                let (groups, last_y) = y.as_chunks::<LANES>();
                for (y, mask) in groups.iter().zip(masks) {
                    for l in 0..LANES {
                        most_y[l] = larger(most_y[l], kept(y[l].abs(), mask[l]));
                    }
                }
                for ((most, &y), &mask) in most_y.iter_mut().zip(last_y).zip(last) {
                    *most = larger(*most, kept(y.abs(), mask));
                }
                if let (Some(sigma), Some(weights)) = (self.sigmas(), &weights) {
                    let sigmas = used.iter().zip(&sigma[start..start + n]);
                    sigmas.for_each(|(&mask, &s)| {
                        invalid |= mask & !(bits(s > 0.0) & bits(s < f64::INFINITY));
                    });
                    let (weights, last_weights) = weights[..n].as_chunks::<LANES>();
                    for (y, weight) in groups.iter().zip(weights) {
                        for l in 0..LANES {
                            most_weight[l] = larger(most_weight[l], weight[l]);
                            most_row[l] = larger(most_row[l], y[l].abs() * weight[l]);
                        }
                    }
                    for (l, (y, &weight)) in last_y.iter().zip(last_weights).enumerate() {
                        most_weight[l] = larger(most_weight[l], weight);
                        most_row[l] = larger(most_row[l], y.abs() * weight);
                    }
                }
            }
            let y = largest_of(most_y);
            let (weight, row) = match self.sigmas() {
                Some(_) => (largest_of(most_weight), largest_of(most_row)),
                None => (f64::from(u8::from(count > 0)), y),
            };
            Scan {
                largest: Largest { y, weight, row },
                moments,
                used: count,
                is_invalid: invalid != 0,
            }
        })
    }

    /// Returns the moments of the points of a range, in the current units of the points.
    pub(super) fn moments_of_range(&self, range: Range<usize>) -> Moments {
        in_vectors(|| {
            let (mut total, mut room) = (Moments::default(), [0.0; BLOCK]);
            for block in blocks(range) {
                let used = self.mask_of(block.clone());
                let weights = self.weights_of_block(block.start, block.len(), &used);
                let y = widened(&self.y, block, &mut room);
                total = total.merge(self.moments_of_block(y, &used, weights.as_ref()));
            }
            total
        })
    }

    /// Returns the weights of the `n` points from `start` on, in the current units, and 0 for points that are not used.
    /// Returns `None` if all points are used with the weight 1.
    #[inline(always)]
    fn weights_of_block(&self, start: usize, n: usize, used: &Mask) -> Option<[f64; BLOCK]> {
        if !self.is_filtered() && matches!(self.sigma, Weights::Equal) {
            return None;
        }
        let (row, to_unit) = (self.units.row, self.units.weight / self.units.row);
        let mut weights = [0.0; BLOCK];
        let masked = weights.iter_mut().zip(used);
        match self.sigma {
            Weights::Each { sigma, .. } => {
                let sigmas = masked.zip(&sigma[start..start + n]);
                sigmas.for_each(|((weight, &mask), s)| *weight = kept(row / s * to_unit, mask));
            }
            _ => {
                let same = self.weight(start) * to_unit;
                masked.for_each(|(weight, &mask)| *weight = kept(same, mask));
            }
        }
        Some(weights)
    }

    /// Returns the moments of a block. The sums are over y − shift, where shift is a value of y. This avoids
    /// cancellation if y is far from 0.
    #[inline(always)]
    fn moments_of_block(&self, y: &[f64], used: &Mask, weights: Option<&[f64; BLOCK]>) -> Moments {
        let unit = self.units.y;
        let Some(first) = used.iter().position(|&used| used != 0) else {
            return Moments::default();
        };
        let shift = y[first] * unit;
        let (mut weight, mut sum, mut square) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let mut add = |lane: usize, w: f64, d: f64| {
            weight[lane] += w * w;
            sum[lane] += w * w * d;
            square[lane] += (w * d) * (w * d);
        };
        match weights {
            None => {
                let (whole, rest) = y.as_chunks::<LANES>();
                for values in whole {
                    (0..LANES).for_each(|lane| add(lane, 1.0, values[lane] * unit - shift));
                }
                rest.iter().enumerate().for_each(|(lane, &v)| add(lane, 1.0, v * unit - shift));
            }
            Some(weights) => {
                // Points that are not used, and numbers after the end of the block, have the distance 0.
                let mut distances = [0.0; BLOCK];
                for ((distance, &y), &mask) in distances.iter_mut().zip(y).zip(used) {
                    *distance = kept(y * unit - shift, mask);
                }
                let distances = distances.as_chunks::<LANES>().0.iter();
                for (w, d) in weights.as_chunks::<LANES>().0.iter().zip(distances) {
                    (0..LANES).for_each(|lane| add(lane, w[lane], d[lane]));
                }
            }
        }
        let (weight, sum): (f64, f64) = (weight.iter().sum(), sum.iter().sum());
        let scatter = square.iter().sum::<f64>() - sum * sum / weight;
        Moments { weight, mean: shift + sum / weight, scatter: scatter.max(0.0), square: 0.0 }
    }

    /// Returns the sum of the counts of a range, and true if one of them is negative.
    pub(super) fn events(&self, range: Range<usize>) -> (f64, bool) {
        in_vectors(|| {
            let (mut sums, mut least) = ([0.0; LANES], [0.0; LANES]);
            let mut room = [0.0; BLOCK];
            for block in blocks(range) {
                let used = self.mask_of(block.clone());
                let y = widened(&self.y, block, &mut room);
                let mut counts = [0.0; BLOCK];
                for ((count, &y), &mask) in counts.iter_mut().zip(y).zip(&used) {
                    *count = kept(y, mask);
                }
                for counts in counts.as_chunks::<LANES>().0 {
                    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                    let lanes = least.iter_mut().zip(counts);
                    lanes.for_each(|(least, &y)| *least = if y < *least { y } else { *least });
                }
            }
            (sums.iter().sum(), least.iter().any(|&least| least < 0.0))
        })
    }
}
