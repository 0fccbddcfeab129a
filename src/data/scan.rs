//! Scans over points in blocks, by loops without a branch per point, which the compiler vectorises: used points,
//! largest magnitudes, moments and sums of counts.

use super::points::Points;
use super::scaling::{Largest, Tally};
use super::sigma::Weights;
use super::summary::Moments;
use super::values::Values;
use std::ops::Range;

/// Number of points per block.
pub(crate) const BLOCK: usize = 256;
/// Number of independent partial results, which let the compiler vectorise additions and maxima.
const LANES: usize = 8;

/// Mask of the points of a block: all bits of an element are set if the point is used, else none.
pub(crate) type Mask = [u64; BLOCK];

/// Buffers for the numbers of a block.
struct Rooms {
    mask: Mask,
    values: [f64; BLOCK],
    weights: [f64; BLOCK],
    sizes: [f64; BLOCK],
}

impl Default for Rooms {
    fn default() -> Rooms {
        let zeros = [0.0; BLOCK];
        Rooms { mask: [0; BLOCK], values: zeros, weights: zeros, sizes: zeros }
    }
}

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

/// Calls a function, compiled for AVX2 if the processor supports it. The result has the same bits: the loops contain no
/// fused operations. The function and all that it calls must be `inline(always)`, and contain no large closures.
macro_rules! in_vectors {
    ($function:path: ($($argument:ident: $type:ty),*) -> $out:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn with_avx2($($argument: $type),*) -> $out {
                $function($($argument),*)
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has this feature.
                return unsafe { with_avx2($($argument),*) };
            }
        }
        $function($($argument),*)
    }};
}

/// Returns the blocks of a range, in order.
#[inline(always)]
fn blocks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(BLOCK).map(move |start| start..range.end.min(start + BLOCK))
}

/// Returns the values of a block in f64: borrowed, or converted into `room`.
#[inline(always)]
pub(crate) fn widened<'v>(
    values: &Values<'v>,
    block: Range<usize>,
    room: &'v mut [f64; BLOCK],
) -> &'v [f64] {
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

/// Evaluates an expression with an iterator over the masks of valid values of a range: those that are finite or, if
/// `$infinite`, all but NaN. Integers are always valid, and nothing is evaluated.
macro_rules! with_valid {
    ($values:expr, $range:expr, $infinite:expr, $valid:ident => $what:expr) => {
        match ($values, $infinite) {
            (Values::F64(v), false) => {
                let $valid = v[$range].iter().map(|v| bits(v.abs() < f64::INFINITY));
                $what
            }
            (Values::F64(v), true) => {
                let $valid = v[$range].iter().map(|v| bits(v.abs() <= f64::INFINITY));
                $what
            }
            (Values::F32(v), false) => {
                let $valid = v[$range].iter().map(|v| bits(v.abs() < f32::INFINITY));
                $what
            }
            (Values::F32(v), true) => {
                let $valid = v[$range].iter().map(|v| bits(v.abs() <= f32::INFINITY));
                $what
            }
            _ => {}
        }
    };
}

/// Clears the masks of values that are not valid; see `with_valid`.
#[inline(always)]
fn clear_invalid(values: &Values<'_>, start: usize, infinite: bool, masks: &mut [u64]) {
    with_valid!(values, start..start + masks.len(), infinite, valid => {
        masks.iter_mut().zip(valid).for_each(|(mask, valid)| *mask &= valid);
    });
}

/// Returns a number other than 0 if a value is not valid; see `with_valid`. Without `masks`, all values of the range count.
#[inline(always)]
fn has_invalid(
    values: &Values<'_>,
    range: Range<usize>,
    infinite: bool,
    masks: Option<&Mask>,
) -> u64 {
    let mut invalid = 0;
    with_valid!(values, range, infinite, valid => match masks {
        None => invalid = !valid.fold(!0, |all, valid| all & valid),
        Some(masks) => invalid = valid.zip(masks).fold(0, |all, (valid, mask)| all | mask & !valid),
    });
    invalid
}

/// Returns a number other than 0 if a sigma is not positive and finite. Without `masks`, all of them count.
#[inline(always)]
fn has_bad_sigma(sigma: &[f64], masks: Option<&Mask>) -> u64 {
    let is_good = |s: f64| bits((s > 0.0) & (s < f64::INFINITY));
    match masks {
        None => !sigma.iter().fold(!0, |all, &s| all & is_good(s)),
        Some(masks) => sigma.iter().zip(masks).fold(0, |all, (&s, mask)| all | mask & !is_good(s)),
    }
}

/// Replaces each number of `most` by the largest of it and the numbers of its lane.
#[inline(always)]
fn add_largest(most: &mut [f64; LANES], numbers: &[f64; BLOCK]) {
    for group in numbers.as_chunks::<LANES>().0 {
        (0..LANES).for_each(|l| most[l] = larger(most[l], group[l]));
    }
}

impl Points<'_> {
    #[inline(always)]
    pub(crate) fn mark(&self, start: usize, used: &mut [u64]) {
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
        clear_invalid(&self.y, start, false, used);
        for column in self.columns.iter() {
            clear_invalid(column, start, self.infinite_x, used);
        }
        if let Some(sigma) = self.sigmas() {
            clear_invalid(&Values::F64(sigma), start, false, used);
        }
        if !self.x_sigma.is_exact() {
            let errors = used.iter_mut().zip(start..end);
            errors.for_each(|(used, i)| *used &= bits(self.x_sigma.is_finite_at(i)));
        }
    }

    /// Returns the mask of the used points of a block, written to `room`; `None` if all points are used.
    #[inline(always)]
    fn mask_of<'m>(&self, block: Range<usize>, room: &'m mut Mask) -> Option<&'m Mask> {
        if !self.is_filtered() {
            return None;
        }
        let (used, rest) = room.split_at_mut(block.len());
        self.mark(block.start, used);
        rest.fill(0);
        Some(room)
    }

    /// Returns the numbers of used points, omitted points and points without weight in a range.
    pub(super) fn tally_part(&self, part: Range<usize>) -> Tally {
        let mut tally = Tally::default();
        let mut used = [0; BLOCK];
        for block in blocks(part) {
            let used = &mut used[..block.len()];
            self.mark_used(block.start, used);
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
        let points = self;
        in_vectors!(Points::scan_blocks: (points: &Points<'_>, part: Range<usize>, known_x: bool) -> Scan)
    }

    /// Returns the moments of the points of a range, in the current units of the points.
    pub(super) fn moments_of_range(&self, range: Range<usize>) -> Moments {
        let points = self;
        in_vectors!(Points::moments_of_blocks: (points: &Points<'_>, range: Range<usize>) -> Moments)
    }

    /// Returns the sum of the counts of a range, and true if one of them is negative.
    pub(super) fn events(&self, range: Range<usize>) -> (f64, bool) {
        let points = self;
        in_vectors!(Points::events_of_blocks: (points: &Points<'_>, range: Range<usize>) -> (f64, bool))
    }

    /// Sets the mask of the points from `start` on, which are used if [`counts`](Points::counts) returns true.
    pub(super) fn mark_used(&self, start: usize, used: &mut [u64]) {
        let points = self;
        in_vectors!(Points::mark: (points: &Points<'_>, start: usize, used: &mut [u64]) -> ())
    }

    /// Sets each of the flags of the points from `start` on to 1 if the point is used, else to 0. Returns the number of
    /// used points.
    pub(crate) fn flag_used(&self, start: usize, flags: &mut [u8]) -> usize {
        let points = self;
        in_vectors!(Points::flag_blocks: (points: &Points<'_>, start: usize, flags: &mut [u8]) -> usize)
    }

    #[inline(always)]
    fn flag_blocks(&self, start: usize, flags: &mut [u8]) -> usize {
        let mut used = [0; BLOCK];
        let mut count = 0;
        for (first, flags) in (start..).step_by(BLOCK).zip(flags.chunks_mut(BLOCK)) {
            match self.mask.filter(|_| self.mask_decides) {
                Some(mask) => {
                    let mask = flags.iter_mut().zip(&mask[first..]);
                    mask.for_each(|(flag, &keep)| *flag = u8::from(keep));
                }
                None => {
                    self.mark(first, &mut used[..flags.len()]);
                    flags.iter_mut().zip(&used).for_each(|(flag, used)| *flag = (used & 1) as u8);
                }
            }
            // The sum of 128 flags fits into a byte; the compiler adds bytes in vectors.
            let sums = flags.chunks(128).map(|flags| usize::from(flags.iter().sum::<u8>()));
            count += sums.sum::<usize>();
        }
        count
    }

    #[inline(always)]
    fn scan_blocks(&self, part: Range<usize>, known_x: bool) -> Scan {
        let (mut moments, mut count, mut invalid) = (Moments::default(), 0, 0);
        let ([mut most_y, mut most_weight, mut most_row], mut rooms) =
            ([[0.0; LANES]; 3], Rooms::default());
        let unknown = if known_x { &[] } else { &self.columns[..] };
        for block in blocks(part) {
            let n = block.len();
            let used = self.mask_of(block.clone(), &mut rooms.mask);
            count += match used {
                None => n,
                Some(used) => used.iter().map(|used| (used & 1) as usize).sum(),
            };
            for column in unknown {
                invalid |= has_invalid(column, block.clone(), self.infinite_x, used);
            }
            let y = widened(&self.y, block.clone(), &mut rooms.values);
            let sizes = &mut rooms.sizes;
            sizes[n..].fill(0.0);
            match used {
                None => sizes.iter_mut().zip(y).for_each(|(size, y)| *size = y.abs()),
                Some(used) => {
                    let masked = sizes.iter_mut().zip(y).zip(used);
                    masked.for_each(|((size, y), &mask)| *size = kept(y.abs(), mask));
                }
            }
            add_largest(&mut most_y, sizes);
            let weights = self.weights_of_block(block.clone(), used, &mut rooms.weights);
            let of_block = self.moments_of_block(y, used, weights);
            // If a value of y is not finite, the mean is not finite.
            invalid |= bits(!of_block.mean.is_finite());
            moments = moments.merge(of_block);
            if let (Some(sigma), Some(weights)) = (self.sigmas(), weights) {
                invalid |= has_bad_sigma(&sigma[block], used);
                add_largest(&mut most_weight, weights);
                sizes.iter_mut().zip(weights).for_each(|(size, weight)| *size *= weight);
                add_largest(&mut most_row, sizes);
            }
        }
        let [y, weight, row] =
            [most_y, most_weight, most_row].map(|m| m.into_iter().fold(0.0, larger));
        let largest = match self.sigmas() {
            Some(_) => Largest { y, weight, row },
            None => Largest { y, weight: f64::from(u8::from(count > 0)), row: y },
        };
        Scan { largest, moments, used: count, is_invalid: invalid != 0 }
    }

    #[inline(always)]
    fn moments_of_blocks(&self, range: Range<usize>) -> Moments {
        let (mut total, mut rooms) = (Moments::default(), Rooms::default());
        for block in blocks(range) {
            let used = self.mask_of(block.clone(), &mut rooms.mask);
            let weights = self.weights_of_block(block.clone(), used, &mut rooms.weights);
            let y = widened(&self.y, block, &mut rooms.values);
            total = total.merge(self.moments_of_block(y, used, weights));
        }
        total
    }

    /// Returns the weights of the points of a block, in the current units, and 0 for points that are not used, written to
    /// `room`. Returns `None` if all points are used with the weight 1.
    #[inline(always)]
    fn weights_of_block<'w>(
        &self,
        block: Range<usize>,
        used: Option<&Mask>,
        room: &'w mut [f64; BLOCK],
    ) -> Option<&'w [f64; BLOCK]> {
        if used.is_none() && matches!(self.sigma, Weights::Equal) {
            return None;
        }
        let (row, to_unit) = (self.units.row, self.units.weight / self.units.row);
        let (weights, rest) = room.split_at_mut(block.len());
        match self.sigma {
            Weights::Each { sigma, .. } => {
                let sigmas = weights.iter_mut().zip(&sigma[block]);
                sigmas.for_each(|(weight, s)| *weight = row / s * to_unit);
            }
            _ => weights.fill(self.weight(block.start) * to_unit),
        }
        if let Some(used) = used {
            weights.iter_mut().zip(used).for_each(|(weight, &mask)| *weight = kept(*weight, mask));
        }
        rest.fill(0.0);
        Some(room)
    }

    /// Returns the moments of a block. The sums are over y − shift, where shift is a value of y. This avoids
    /// cancellation if y is far from 0.
    #[inline(always)]
    fn moments_of_block(
        &self,
        y: &[f64],
        used: Option<&Mask>,
        weights: Option<&[f64; BLOCK]>,
    ) -> Moments {
        let unit = self.units.y;
        let first = used.map_or(Some(0), |used| used.iter().position(|&used| used != 0));
        let Some(first) = first.filter(|&first| first < y.len()) else {
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
                distances.iter_mut().zip(y).for_each(|(distance, y)| *distance = y * unit - shift);
                if let Some(used) = used {
                    let masked = distances.iter_mut().zip(used);
                    masked.for_each(|(distance, &mask)| *distance = kept(*distance, mask));
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

    #[inline(always)]
    fn events_of_blocks(&self, range: Range<usize>) -> (f64, bool) {
        let (mut sums, mut least) = ([0.0; LANES], [0.0; LANES]);
        let mut rooms = Rooms::default();
        for block in blocks(range) {
            let used = self.mask_of(block.clone(), &mut rooms.mask);
            let y = widened(&self.y, block, &mut rooms.values);
            let mut counts = [0.0; BLOCK];
            counts[..y.len()].copy_from_slice(y);
            if let Some(used) = used {
                let masked = counts.iter_mut().zip(used);
                masked.for_each(|(count, &mask)| *count = kept(*count, mask));
            }
            for counts in counts.as_chunks::<LANES>().0 {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                let lanes = least.iter_mut().zip(counts);
                lanes.for_each(|(least, &y)| *least = if y < *least { y } else { *least });
            }
        }
        (sums.iter().sum(), least.iter().any(|&least| least < 0.0))
    }
}
