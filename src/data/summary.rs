//! Moments of the response: its weighted mean and scatter, for R².

use super::correlated::Correlation;
use super::points::{Points, Units};
use super::scaling::unit_of;
use super::sigma::Weights;
use super::values::Values;
use crate::threads;
use serde::{Deserialize, Serialize};

/// Number of points per task of a scan over the data.
const CHUNK: usize = 1 << 16;
/// Number of points per step within a task.
const BLOCK: usize = 256;
/// Number of independent partial sums, which let the compiler vectorise the additions.
const LANES: usize = 8;

/// Σw², the weighted mean of y, and Σ(w (y − mean))². [`into_row_units`](Self::into_row_units) converts the sums to
/// their final units: the mean is in the unit of y, the scatter is multiplied by the square of the row unit (the power
/// of two by which weighted residuals are multiplied, [`Units`]), and Σw² stays in the unit of the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moments {
    weight: f64,
    pub(crate) mean: f64,
    pub(crate) scatter: f64,
    /// Σw²(y² + t²), in the same unit as the scatter. t is the smallest normal number: the rounding error of a value is
    /// ε times the larger of |y| and t.
    pub(crate) square: f64,
}

/// Returns the part of a sum of squares that can be due to rounding: 16 units in the last place of each value.
pub(crate) fn rounding(square: f64) -> f64 {
    (16.0 * f64::EPSILON).powi(2) * square
}

/// Calls `scan(start, end)` for consecutive parts of `0..n`, in parallel if there are several, and
/// merges the results in order.
pub(crate) fn in_chunks<R: Send>(
    n: usize,
    scan: impl Fn(usize, usize) -> R + Sync,
    merge: impl Fn(R, R) -> R,
) -> R {
    let part = |c: usize| scan(c * CHUNK, n.min((c + 1) * CHUNK));
    if n <= CHUNK {
        return part(0);
    }
    let rest = threads::map(1..n.div_ceil(CHUNK), part);
    rest.into_iter().fold(part(0), merge)
}

impl Points<'_> {
    /// Returns the same points with another response, one value per given point. A covariance is not factored again.
    pub(crate) fn responding<'b>(&'b self, y: &'b [f64]) -> Points<'b> {
        let mut points: Points<'b> = self.clone();
        points.y = Values::F64(y);
        points.summary = Moments::of(&points, None);
        points
    }
}

impl Moments {
    /// Returns the moments of the used points. `scanned`: result of [`of_range`](Self::of_range) for all points with
    /// units of 1, which is reused if the units of the points are 1.
    pub(super) fn of(points: &Points<'_>, scanned: Option<Moments>) -> Moments {
        if let Some(correlation) = &points.correlation {
            return Moments::of_correlated(points, correlation);
        }
        let units = points.units;
        let total = match scanned {
            Some(scanned) if units == Units::ORDINARY => scanned,
            _ => {
                let range = |start, end| Moments::of_range(points, start, end);
                in_chunks(points.len(), range, Moments::merge)
            }
        };
        total.into_row_units(units)
    }

    /// Returns the sum of squares of the weighted response about its mean, multiplied by the square of the row unit. If
    /// `counts`, rows are divided by the square root of the expected count. The result is infinite if the response does
    /// not vary, for example for residuals without data, or if x has errors.
    pub(crate) fn signal(&self, counts: bool) -> f64 {
        let varies = self.scatter > rounding(self.square);
        match (varies, counts) {
            (false, _) => f64::INFINITY,
            (true, false) => self.scatter,
            (true, true) => self.scatter / self.mean,
        }
    }

    /// Returns the sums over the points of both sets, with the scatter of each set about its own mean. Rows of `other`
    /// are multiplied by `factor`.
    pub(crate) fn beside(self, other: Moments, factor: f64) -> Moments {
        let square = factor * factor;
        Moments {
            scatter: self.scatter + other.scatter * square,
            square: self.square + other.square * square,
            ..self
        }
    }

    /// Returns Σw² / `largest`²: the approximate number of points with the weight of the heaviest point. `largest`:
    /// largest weight, in the unit of the weights.
    pub(super) fn weights_like(&self, largest: f64) -> f64 {
        self.weight / (largest * largest)
    }

    /// Converts sums with y and weights in units of order 1 to the units of the rows.
    pub(super) fn into_row_units(mut self, units: Units) -> Moments {
        let factor = units.row / units.y / units.weight;
        let least = f64::MIN_POSITIVE * units.y;
        let square = self.mean * self.mean + least * least;
        self.square = (self.scatter + self.weight * square) * factor * factor;
        self.scatter *= factor * factor;
        self.mean /= units.y;
        self
    }

    /// Returns the moments of correlated points. Like the residuals, they are whitened: L⁻¹ y replaces w y, and k L⁻¹ 1
    /// replaces the weights w, where k is a power of two.
    fn of_correlated(points: &Points<'_>, correlation: &Correlation) -> Moments {
        let unit = points.units.row;
        let mut y: Vec<f64> = correlation.index.iter().map(|&i| points.y.at(i) * unit).collect();
        let mut one = vec![1.0; y.len()];
        correlation.whiten(&mut y);
        correlation.whiten(&mut one);
        // The row unit scales L⁻¹ y, not L⁻¹ 1, which therefore needs its own factor k.
        let k = unit_of(one.iter().fold(0.0, |m: f64, o| m.max(o.abs())));
        one.iter_mut().for_each(|o| *o *= k);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let weight = dot(&one, &one);
        let mean = dot(&one, &y) / weight;
        let scatter = y.iter().zip(&one).map(|(y, o)| (y - mean * o).powi(2)).sum();
        let least = f64::MIN_POSITIVE * unit / k;
        let square = dot(&y, &y) + weight * least * least;
        Moments { weight, mean: mean * k / unit, scatter, square }
    }

    /// Returns the moments of the points `start..end`, in the current units of the points.
    pub(super) fn of_range(points: &Points<'_>, start: usize, end: usize) -> Moments {
        let mut block = [0.0; BLOCK];
        let mut total = Moments::default();
        for from in (start..end).step_by(BLOCK) {
            let to = end.min(from + BLOCK);
            let y = match points.y {
                Values::F64(v) => &v[from..to],
                _ => {
                    let y = &mut block[..to - from];
                    points.y.copy_to(from, y);
                    y
                }
            };
            total = total.merge(Moments::of_block(points, from, y));
        }
        total
    }

    /// Returns the moments of a block. The sums are over y − shift, where shift is a value of y. This avoids
    /// cancellation if y is far from 0.
    fn of_block(points: &Points<'_>, from: usize, y: &[f64]) -> Moments {
        let unit = points.units.y;
        let first = (0..y.len()).find(|&i| !points.is_filtered() || points.counts(from + i));
        let Some(shift) = first.map(|i| y[i] * unit) else {
            return Moments::default();
        };
        let (mut weight, mut sum, mut square) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let mut add = |lane: usize, w: f64, v: f64| {
            let d = v * unit - shift;
            weight[lane] += w * w;
            sum[lane] += w * w * d;
            square[lane] += (w * d) * (w * d);
        };
        if !points.is_filtered() && matches!(points.sigma, Weights::Equal) {
            let (whole, rest) = y.as_chunks::<LANES>();
            for values in whole {
                (0..LANES).for_each(|lane| add(lane, 1.0, values[lane]));
            }
            rest.iter().enumerate().for_each(|(lane, &v)| add(lane, 1.0, v));
        } else {
            let to_unit = points.units.weight / points.units.row;
            for (i, &v) in y.iter().enumerate() {
                if !points.is_filtered() || points.counts(from + i) {
                    add(i % LANES, points.weight(from + i) * to_unit, v);
                }
            }
        }
        let (weight, sum): (f64, f64) = (weight.iter().sum(), sum.iter().sum());
        let scatter = square.iter().sum::<f64>() - sum * sum / weight;
        Moments { weight, mean: shift + sum / weight, scatter: scatter.max(0.0), square: 0.0 }
    }

    /// Merges the moments of two sets (Chan, Golub and LeVeque 1983).
    pub(super) fn merge(self, other: Moments) -> Moments {
        if self.weight == 0.0 {
            return other;
        } else if other.weight == 0.0 {
            return self;
        }
        let weight = self.weight + other.weight;
        let apart = other.mean - self.mean;
        let share = other.weight / weight;
        Moments {
            weight,
            mean: self.mean + apart * share,
            scatter: self.scatter + other.scatter + apart * apart * self.weight * share,
            square: 0.0,
        }
    }
}
