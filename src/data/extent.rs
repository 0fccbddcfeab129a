//! How large points are and how many count: found in one scan, merged over parts.

use super::values::{Values, each, wide};
use serde::{Deserialize, Serialize};

/// The largest |y|, 1/σ and |y|/σ of the points that count.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Largest {
    pub(super) y: f64,
    pub(super) weight: f64,
    pub(super) row: f64,
}

/// How many points of each kind there are.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) used: usize,
    pub(super) omitted: usize,
    pub(super) ignored: usize,
}

impl Tally {
    pub(super) fn merge(self, other: Tally) -> Tally {
        Tally {
            used: self.used + other.used,
            omitted: self.omitted + other.omitted,
            ignored: self.ignored + other.ignored,
        }
    }
}

impl Largest {
    #[inline]
    pub(super) fn add(&mut self, y: f64, weight: f64) {
        self.y = self.y.max(y);
        self.weight = self.weight.max(weight);
        self.row = self.row.max(y * weight);
    }

    pub(super) fn merge(self, other: Largest) -> Largest {
        Largest {
            y: self.y.max(other.y),
            weight: self.weight.max(other.weight),
            row: self.row.max(other.row),
        }
    }
}

/// Whether all of `values[start..end]` are finite. The comparison vectorises; `is_finite` on each
/// with an early exit would not.
pub(super) fn finite(values: &Values<'_>, start: usize, end: usize) -> bool {
    match values {
        Values::F64(v) => v[start..end].iter().fold(true, |ok, v| ok & (v.abs() < f64::INFINITY)),
        Values::F32(v) => v[start..end].iter().fold(true, |ok, v| ok & (v.abs() < f32::INFINITY)),
        // Whole numbers.
        _ => true,
    }
}

/// The largest magnitude among `values[start..end]`; NaN counts for nothing.
pub(super) fn largest(values: &Values<'_>, start: usize, end: usize) -> f64 {
    let larger = |m: f64, v: f64| if v > m { v } else { m };
    match values {
        Values::F64(v) => {
            let mut lanes = [0.0; 16];
            let (groups, rest) = v[start..end].as_chunks::<16>();
            for group in groups {
                lanes.iter_mut().zip(group).for_each(|(m, v)| *m = larger(*m, v.abs()));
            }
            lanes.iter().copied().chain(rest.iter().map(|v| v.abs())).fold(0.0, larger)
        }
        _ => {
            each!(values, v => v[start..end].iter().fold(0.0, |m, &v| larger(m, wide(v).abs())))
        }
    }
}
