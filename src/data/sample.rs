//! A sample of the points. The points are divided into stretches of equal length, and one point of each stretch is
//! drawn; position and length of the stretch alone determine which point. Therefore samples of parts of the points can
//! be merged into the sample of all points.
//!
//! The number of points need not be known: when the sample is full, pairs of adjacent stretches are merged, and one of
//! their two points is kept, with equal probability.

use super::Data;
use super::points::Points;
use super::sigma::Weights;
use super::values::Values;
use crate::error::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;
use serde::{Deserialize, Serialize};

/// Points drawn so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// One column per independent variable, then y, then sigma if there is one.
    columns: Vec<Vec<f64>>,
    /// The numbers of the points, in ascending order.
    numbers: Vec<u64>,
    /// Number of independent variables.
    x: usize,
    /// Maximum number of points.
    most: usize,
    /// Binary logarithm of the number of points of a stretch.
    level: u32,
}

/// Minimum size of the sample of a stream, and maximum number of residuals that are tested: with this number, an
/// autocorrelation of 0.1 is 6 standard deviations from 0. The halves of a sample have at most as many points in all.
pub(crate) const LEAST_SAMPLE: usize = 1 << 12;

/// Number of possible levels.
const LEVELS: u32 = u64::BITS;
/// Number of levels that share one random number of 64 bits. It has one bit for each of the 63 nodes of their binary
/// tree.
const GROUP: u32 = 6;

/// Returns the random bits of the group of levels that contains `level`, and the position of the bit of this stretch:
/// the number of a node of a binary tree, whose children have the numbers 2k and 2k + 1.
fn decisions(stretch: u64, level: u32) -> (u64, u64) {
    let depth = level.next_multiple_of(GROUP) - level;
    let (above, node) = (stretch >> depth, stretch & ((1 << depth) - 1) | 1 << depth);
    let group = u64::from(level.div_ceil(GROUP));
    (SplitMix64::seed_from_u64(above ^ (group << 58)).random(), node)
}

/// Returns true if the point of a stretch of 2 to the power of `level` points is the point of its second half, false
/// if it is the point of its first half.
fn takes_second(stretch: u64, level: u32) -> bool {
    let (bits, node) = decisions(stretch, level);
    (bits >> node) & 1 == 1
}

/// Returns the number of the drawn point of a stretch of 2 to the power of `level` points.
fn drawn_of(stretch: u64, level: u32) -> u64 {
    let (mut at, mut level) = (stretch, level);
    while level > 0 {
        let (bits, mut node) = decisions(at, level);
        let below = (level - 1) / GROUP * GROUP;
        for _ in below..level {
            let second = (bits >> node) & 1;
            (at, node) = (2 * at + second, 2 * node + second);
        }
        level = below;
    }
    at
}

/// Returns the numbers of the points of a [`Sample`] of at most `most` points, and the level of its stretches.
pub(crate) fn drawn(points: &Points<'_>, most: usize) -> (Vec<usize>, u32) {
    let (n, most) = (points.len(), most.max(1));
    let mut level = (points.used / most).max(1).ilog2();
    // If all points are used, every whole stretch contributes one point.
    while !points.is_filtered() && n >> level > most {
        level += 1;
    }
    loop {
        let stretches = 0..=(n.max(1) as u64 - 1) >> level;
        let drawn = stretches.map(|stretch| drawn_of(stretch, level) as usize);
        let is_used = |&i: &usize| i < n && (!points.is_filtered() || points.counts(i));
        // One point more than allowed is enough to see that there are too many.
        let drawn: Vec<usize> = drawn.filter(is_used).take(most.saturating_add(1)).collect();
        if drawn.len() <= most {
            return (drawn, level);
        }
        level += 1;
    }
}

impl Sample {
    /// Creates an empty sample of at most `most` points, but at least two, of `x` independent variables.
    pub(crate) fn new(x: usize, sigma: bool, most: usize) -> Sample {
        let columns = vec![Vec::new(); x + 1 + usize::from(sigma)];
        Sample { columns, numbers: Vec::new(), x, most: most.max(2), level: 0 }
    }

    /// Returns the sample of at most `most` of these points.
    pub(crate) fn of(points: &Points<'_>, most: usize) -> Sample {
        let (index, level) = drawn(points, most);
        let picked = |values: &Values<'_>| values.picked(&index);
        let mut columns: Vec<Vec<f64>> = points.columns.iter().map(picked).collect();
        columns.push(picked(&points.y));
        columns.extend(points.sigmas().map(|sigma| index.iter().map(|&i| sigma[i]).collect()));
        let numbers = index.into_iter().map(|i| i as u64).collect();
        Sample { columns, numbers, x: points.columns.len(), most, level }
    }

    /// Returns true if this sample, which was read from bytes, is consistent.
    pub(crate) fn is_sound(&self) -> bool {
        let even = self.columns.iter().all(|column| column.len() == self.len());
        let ascending = self.numbers.windows(2).all(|pair| pair[0] < pair[1]);
        let has_room = self.most >= 2 && self.len() <= self.most;
        self.columns.len() > self.x && even && ascending && has_room && self.level < LEVELS
    }

    /// Returns true if both samples can belong to one fit.
    pub(crate) fn is_like(&self, other: &Sample) -> bool {
        let of = |s: &Sample| (s.columns.len(), s.x, s.most);
        of(self) == of(other)
    }

    /// Returns the same sample with at most `most` points.
    pub(crate) fn at_most(&self, most: usize) -> Sample {
        let mut sample = Sample { most: self.most.min(most), ..self.clone() };
        while sample.len() > sample.most {
            sample.thin();
        }
        sample
    }

    /// Returns the maximum number of points.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Returns the number of points of the sample.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the number of points of a stretch.
    pub(crate) fn stretch(&self) -> u64 {
        1 << self.level
    }

    /// Draws from the next points. `first`: number of the first of them. If the point of a stretch is not used, the
    /// stretch contributes no point.
    pub(crate) fn add(&mut self, points: &Points<'_>, first: u64) {
        let end = first + points.len() as u64;
        // If all points are used, every whole stretch contributes one point. Therefore the level must increase if there
        // are more whole stretches than the maximum number of points.
        let whole = |level: u32| (end >> level).saturating_sub(first.div_ceil(1 << level));
        while !points.is_filtered() && whole(self.level) > self.most as u64 {
            self.thin();
        }
        let mut next = first;
        while next < end {
            let level = self.level;
            let drawn = drawn_of(next >> level, level);
            if (next..end).contains(&drawn) {
                let i = (drawn - first) as usize;
                if points.counts(i) {
                    self.take(points, i, drawn);
                }
            }
            // `level` is the level before this point was added; the new level may be higher.
            next = ((next >> level) + 1) << level;
        }
    }

    /// Adds the sample of the next points.
    pub(crate) fn follow(&mut self, other: Sample) {
        let mut other = other;
        while self.level < other.level {
            self.thin();
        }
        while other.level < self.level {
            other.thin();
        }
        self.numbers.extend(other.numbers);
        self.columns.iter_mut().zip(other.columns).for_each(|(mine, more)| mine.extend(more));
        while self.len() > self.most {
            self.thin();
        }
    }

    fn take(&mut self, points: &Points<'_>, i: usize, number: u64) {
        let values = points.columns.iter().map(|c| c.at(i)).chain([points.y.at(i)]);
        let sigma = points.sigmas().map(|s| s[i]);
        for (column, value) in self.columns.iter_mut().zip(values.chain(sigma)) {
            column.push(value);
        }
        self.numbers.push(number);
        while self.len() > self.most {
            self.thin();
        }
    }

    /// Merges pairs of stretches and keeps one point of each pair.
    fn thin(&mut self) {
        self.level += 1;
        let level = self.level;
        // Each point is the point of its stretch at the previous level.
        let stays = |n: u64| takes_second(n >> level, level) == ((n >> (level - 1)) & 1 == 1);
        let stays: Vec<bool> = self.numbers.iter().map(|&n| stays(n)).collect();
        let mut keep = |column: &mut Vec<f64>| {
            let mut stays = stays.iter();
            column.retain(|_| stays.next().copied().unwrap_or(false));
        };
        self.columns.iter_mut().for_each(&mut keep);
        let mut stays = stays.iter();
        self.numbers.retain(|_| stays.next().copied().unwrap_or(false));
    }

    /// Returns the number of points with distinct x, counted up to `enough`.
    pub(crate) fn distinct(&self, enough: usize) -> usize {
        let x = &self.columns[..self.x];
        let mut seen: Vec<usize> = Vec::new();
        for i in 0..self.len() {
            if seen.len() >= enough {
                break;
            }
            if !seen.iter().any(|&s| x.iter().all(|column| column[s] == column[i])) {
                seen.push(i);
            }
        }
        seen.len()
    }

    /// Returns the columns of x, y and, if present, sigma.
    pub(crate) fn columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    /// Returns the columns of the points `first`, `first` + `step`, `first` + 2 `step`, …
    pub(crate) fn every(&self, step: usize, first: usize) -> Vec<Vec<f64>> {
        let of = |column: &Vec<f64>| column.iter().skip(first).step_by(step).copied().collect();
        self.columns.iter().map(of).collect()
    }
}

/// Returns the columns of a sample as data: `x` independent variables, then y, then sigma if present. `weights`
/// interprets sigma.
///
/// # Errors
/// [`Error::EmptyData`] if columns are missing.
pub(crate) fn data_of<'c>(
    columns: &'c [Vec<f64>],
    x: usize,
    weights: impl FnOnce(Option<&'c [f64]>) -> Weights<'c>,
    infinite_x: bool,
) -> Result<Data<'c>> {
    let empty = Error::EmptyData { given: 0, omitted: 0 };
    let (x, rest) = columns.split_at_checked(x).ok_or(empty.clone())?;
    let mut data = Data::new(x.iter().collect::<Vec<_>>(), rest.first().ok_or(empty)?)?;
    data.sigma = weights(rest.get(1).map(Vec::as_slice));
    Ok(data.allow_infinite_x(infinite_x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;

    /// Returns a sample of the `n` numbers from `first` on. Numbers that `counts` rejects are omitted.
    fn sample(
        first: u64,
        n: u64,
        most: usize,
        chunk: usize,
        counts: impl Fn(u64) -> bool,
    ) -> Sample {
        let mut sample = Sample::new(1, false, most);
        let all: Vec<f64> = (first..first + n).map(|i| i as f64).collect();
        let mut begin = first;
        for part in all.chunks(chunk) {
            let mask: Vec<bool> = part.iter().map(|&i| counts(i as u64)).collect();
            let data = Data::new(part, part).unwrap().mask(&mask).unwrap();
            if mask.iter().any(|&counts| counts) {
                sample.add(&Points::validate(&data).unwrap(), begin);
            }
            begin += part.len() as u64;
        }
        assert!(sample.is_sound());
        sample
    }

    #[test]
    fn every_stretch_has_one_point_whatever_the_chunks() {
        for n in [1, 2, 99, 100, 101, 1000, 12_345] {
            let all = sample(0, n, 100, 7, |_| true);
            assert_eq!(all, sample(0, n, 100, n as usize, |_| true));
            let of: Vec<u64> = all.numbers.iter().map(|&i| i / all.stretch()).collect();
            let complete = n / all.stretch();
            assert!(of[..complete as usize].iter().copied().eq(0..complete), "{n} points");
            assert!(all.len() as u64 <= complete + 1 && all.len() <= 100, "{n}");
            let values: Vec<u64> = all.columns[0].iter().map(|&v| v as u64).collect();
            assert_eq!(values, all.numbers);
            let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let data = Data::new(&values, &values).unwrap();
            assert_eq!(Sample::of(&Points::validate(&data).unwrap(), 100), all);
        }
    }

    #[test]
    fn a_sample_of_masked_points_is_the_sample_of_a_stream() {
        for n in [1000_usize, 12_345, 200_000] {
            for one_of in [2, 3, 50, 700] {
                let mask: Vec<bool> = (0..n).map(|i| i * i % 1009 % one_of == 0).collect();
                let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
                let data = Data::new(&values, &values).unwrap().mask(&mask).unwrap();
                let points = Points::validate(&data).unwrap();
                let streamed = sample(0, n as u64, 100, 997, |i| mask[i as usize]);
                assert_eq!(Sample::of(&points, 100), streamed, "{n} points, one of {one_of}");
                assert!(points.used <= 100 || streamed.len() > 25, "{} of {}", streamed.len(), n);
            }
        }
    }

    /// Tests several divisions of the points, and several orders of merging adjacent parts.
    #[test]
    fn samples_of_parts_are_that_of_all() {
        let counts = |i: u64| i % 7 != 3;
        for n in [10, 100, 1000, 5000] {
            let whole = sample(0, n, 64, 13, counts);
            for cut in [1, n / 3, n / 2, n - 1] {
                let mut left = sample(0, cut, 64, 5, counts);
                let (a, b) = ((n - cut) / 2, (n - cut).div_ceil(2));
                let (middle, right) =
                    (sample(cut, a, 64, 8, counts), sample(cut + a, b, 64, 11, counts));
                let mut other = left.clone();
                left.follow(middle.clone());
                left.follow(right.clone());
                let mut both = middle;
                both.follow(right);
                other.follow(both);
                assert_eq!((&left, &other), (&whole, &whole), "{n} points, cut at {cut}");
            }
        }
    }

    #[test]
    fn every_point_is_as_likely_as_every_other() {
        // The mean position of the point within its stretch, over many stretches, is the middle.
        let all = sample(0, 1_000_000, 4096, 5000, |_| true);
        let stretch = all.stretch();
        let places: Vec<f64> =
            all.numbers.iter().map(|&i| (i % stretch) as f64 / (stretch - 1) as f64).collect();
        let mean = places.iter().sum::<f64>() / places.len() as f64;
        assert!((mean - 0.5).abs() < 4.0 * (1.0 / 12.0 / places.len() as f64).sqrt(), "{mean}");
    }
}
