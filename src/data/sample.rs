//! A part of the points that stands for all of them: one, drawn at random, of each stretch of equal length.
//!
//! The number of points need not be known: when there is no more room, every two neighbouring stretches
//! become one, and one of their two points is kept, each as likely as the other.

use super::points::Points;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Points drawn so far.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// One column per independent variable, then y, then sigma if there is one.
    columns: Vec<Vec<f64>>,
    /// Independent variables.
    x: usize,
    /// Even, so that stretches become one in pairs and none is left over.
    most: usize,
    /// Points that counted so far.
    seen: u64,
    /// Points of a stretch, and which one is drawn next.
    stretch: u64,
    next: u64,
    /// Random numbers drawn so far: which ones follow depends on nothing else, so that two runs draw the
    /// same, and one that is resumed goes on.
    draws: u64,
}

impl Sample {
    /// Of fewer than `most` points, or than the even number below it, of `x` independent variables.
    pub(crate) fn new(x: usize, sigma: bool, most: usize) -> Sample {
        let columns = vec![Vec::new(); x + 1 + usize::from(sigma)];
        Sample { columns, x, most: (most & !1).max(2), seen: 0, stretch: 1, next: 0, draws: 0 }
    }

    /// Whether what was read from a file can be a sample.
    pub(crate) fn is_sound(&self) -> bool {
        let even = self.columns.iter().all(|column| column.len() == self.columns[0].len());
        let paired = self.most >= 2 && self.most.is_multiple_of(2);
        self.columns.len() > self.x && even && paired && self.len() < self.most && self.stretch > 0
    }

    /// The generator of the next random number.
    fn random(&mut self) -> Xoshiro256PlusPlus {
        self.draws += 1;
        Xoshiro256PlusPlus::seed_from_u64(self.draws)
    }

    /// Number of points drawn.
    pub(crate) fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// Points that each of them stands for.
    pub(crate) fn stretch(&self) -> u64 {
        self.stretch
    }

    /// Draws from the next points.
    pub(crate) fn add(&mut self, points: &Points<'_>) {
        if !points.is_filtered() {
            let end = self.seen + points.len() as u64;
            while self.next < end {
                self.take(points, (self.next - self.seen) as usize);
            }
            self.seen = end;
            return;
        }
        for i in points.kept() {
            if self.next == self.seen {
                self.take(points, i);
            }
            self.seen += 1;
        }
    }

    fn take(&mut self, points: &Points<'_>, i: usize) {
        let values = points.columns.iter().map(|c| c.at(i)).chain([points.y.at(i)]);
        let sigma = points.sigmas().map(|s| s[i]);
        for (column, value) in self.columns.iter_mut().zip(values.chain(sigma)) {
            column.push(value);
        }
        if self.len() >= self.most {
            self.thin();
        }
        // Each stretch so far has one point.
        let place = self.random().random_range(0..self.stretch);
        self.next = self.len() as u64 * self.stretch + place;
    }

    /// Keeps one of every two points.
    fn thin(&mut self) {
        let mut random = self.random();
        let kept: Vec<usize> =
            (0..self.len() / 2).map(|k| 2 * k + usize::from(random.random::<bool>())).collect();
        for column in &mut self.columns {
            for (k, &i) in kept.iter().enumerate() {
                column[k] = column[i];
            }
            column.truncate(kept.len());
        }
        self.stretch *= 2;
    }

    /// Number of different points, counted up to `enough`.
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

    /// The columns of every second point from the first or the second on, or of all of them.
    pub(crate) fn part(&self, part: SampleHalf) -> Vec<Vec<f64>> {
        let (first, step) = match part {
            SampleHalf::Even => (0, 2),
            SampleHalf::Odd => (1, 2),
            SampleHalf::All => (0, 1),
        };
        let of = |column: &Vec<f64>| column.iter().skip(first).step_by(step).copied().collect();
        self.columns.iter().map(of).collect()
    }
}

/// A part of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleHalf {
    /// Its points 0, 2, 4, …
    Even,
    /// Its points 1, 3, 5, …
    Odd,
    /// All of them.
    All,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;

    fn drawn(n: usize, most: usize, chunk: usize) -> (Vec<f64>, u64) {
        let mut sample = Sample::new(1, false, most);
        let all: Vec<f64> = (0..n).map(|i| i as f64).collect();
        for part in all.chunks(chunk) {
            let data = Data::new(part, part).unwrap();
            sample.add(&Points::validate(&data).unwrap());
        }
        (sample.part(SampleHalf::All).swap_remove(0), sample.stretch())
    }

    #[test]
    fn every_stretch_has_one_point_whatever_the_chunks() {
        for n in [1, 2, 99, 100, 101, 1000, 12_345] {
            let (all, stretch) = drawn(n, 100, 7);
            assert_eq!((all.clone(), stretch), drawn(n, 100, n));
            let of: Vec<u64> = all.iter().map(|&i| i as u64 / stretch).collect();
            let complete = n as u64 / stretch;
            let expected: Vec<u64> = (0..complete).collect();
            assert_eq!(of[..complete as usize], expected[..], "{n} points");
            assert!(all.len() as u64 <= complete + 1 && all.len() < 100, "{n}");
        }
    }

    /// Odd sizes, too, and chunks that end within a stretch.
    #[test]
    fn samples_of_any_size_have_one_point_of_every_stretch() {
        for most in 0..12 {
            for chunk in [1, 2, 3, 5, 8, 13] {
                let (all, stretch) = drawn(500, most, chunk);
                assert_eq!((all.clone(), stretch), drawn(500, most, 500), "{most}, {chunk}");
                let of = all.iter().map(|&i| i as u64 / stretch);
                let complete = 500 / stretch;
                assert!(of.take(complete as usize).eq(0..complete), "{most}, {chunk}: {all:?}");
                assert!(all.len() < most.max(3), "{most}: {}", all.len());
            }
        }
    }

    #[test]
    fn every_point_is_as_likely_as_every_other() {
        // The mean place within a stretch, over many of them, is its middle.
        let (all, stretch) = drawn(1_000_000, 4096, 5000);
        let places: Vec<f64> =
            all.iter().map(|&i| (i as u64 % stretch) as f64 / (stretch - 1) as f64).collect();
        let mean = places.iter().sum::<f64>() / places.len() as f64;
        assert!((mean - 0.5).abs() < 4.0 * (1.0 / 12.0 / places.len() as f64).sqrt(), "{mean}");
    }
}
