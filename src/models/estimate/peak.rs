//! Position of the largest peak of noisy points and its width on both sides.

use super::sketch::Sketch;
use crate::data::points::Observations;
use std::ops::Range;

/// Maximum number of points that are examined. If there are more, neighbours are averaged.
const MOST: usize = 4096;
/// Maximum number of points in a window for the comparison of shapes.
const IN_WINDOW: usize = 200;

/// The largest peak, upward or downward, in units of the data.
#[derive(Clone, Debug)]
pub(crate) struct Peak {
    /// x of the highest point after smoothing.
    pub(crate) center: f64,
    /// Distance from the center to half the height on the left; greater than 0.
    pub(crate) left: f64,
    /// Distance from the center to half the height on the right; greater than 0.
    pub(crate) right: f64,
    /// Points sorted by x.
    points: Observations,
}

impl Peak {
    /// Finds the most prominent peak with its center in the range `points.center`. The points must have no background.
    pub(crate) fn of(points: &Observations) -> Peak {
        let sketch = Sketch::of(points, MOST);
        let smooth = without_outliers(&sketch.y);
        let places = within(&sketch, points.center);
        let up = Top::of(&smooth, 1.0, &places);
        let down = Top::of(&smooth, -1.0, &places);
        let (may_be_up, may_be_down) = (points.amplitude.1 > 0.0, points.amplitude.0 < 0.0);
        let is_down = match may_be_up == may_be_down {
            true => down.size() > up.size(),
            false => may_be_down,
        };
        let sign = if is_down { -1.0 } else { 1.0 };
        let run = if sign < 0.0 { down } else { up };
        // Averages over a third of the width hardly change the top and both flanks.
        let smooth = means(&smooth, run.points / 6);
        let top = Top::of(&smooth, sign, &places);
        let (left, right) = top.crossings(&sketch.x, &smooth, sign);
        let least = least_step(&sketch.x);
        let center = sketch.x.get(top.at).copied().unwrap_or(0.0);
        let unit = sketch.x_unit;
        let scale = |values: &[f64], unit: f64| values.iter().map(|v| v * unit).collect();
        Peak {
            center: center * unit,
            left: (center - left).max(least) * unit,
            right: (right - center).max(least) * unit,
            points: Observations::new(
                vec![scale(&sketch.x, unit)],
                scale(&sketch.y, sketch.y_unit),
            ),
        }
    }

    /// Returns the half width at half height of a symmetric peak. If one side is much wider, another term overlaps it,
    /// and the narrower side is used.
    pub(crate) fn half_width(&self) -> f64 {
        let (less, more) = (self.left.min(self.right), self.left.max(self.right));
        if more > 1.5 * less { less } else { less / 2.0 + more / 2.0 }
    }

    /// Returns the points of a symmetric peak up to `reach` half widths from the center. On a side that overlaps with
    /// another term, returns only the points up to 0.5 half widths.
    pub(crate) fn window(&self, reach: f64) -> Sketch {
        let half = self.half_width();
        let side = |own: f64| if own > 1.5 * half { 0.5 * half } else { reach * half };
        self.between(self.center - side(self.left), self.center + side(self.right))
    }

    /// Returns the points up to `reach` half widths from the center, with the half width of each side.
    pub(crate) fn skewed_window(&self, reach: f64) -> Sketch {
        self.between(self.center - reach * self.left, self.center + reach * self.right)
    }

    /// Returns the points from `low` to `high`. A range of fewer than seven points is extended on both sides.
    fn between(&self, low: f64, high: f64) -> Sketch {
        let x = self.points.x();
        let from = x.partition_point(|x| *x < low).min(x.len().saturating_sub(1));
        let to = x.partition_point(|x| *x <= high).max(from);
        let lacking = 7_usize.saturating_sub(to - from).div_ceil(2);
        let (from, to) = (from.saturating_sub(lacking), (to + lacking).min(x.len()));
        let part = |values: &[f64]| values.get(from..to).unwrap_or(values).to_vec();
        Sketch::of(&Observations::new(vec![part(x)], part(&self.points.y)), IN_WINDOW)
    }
}

/// Highest point for one sign of y, and the range around it above half its height.
struct Top {
    at: usize,
    height: f64,
    first: usize,
    last: usize,
    points: usize,
}

impl Top {
    /// Finds the highest point of `places`.
    fn of(y: &[f64], sign: f64, places: &Range<usize>) -> Top {
        let height = |i: usize| sign * y.get(i).copied().unwrap_or(0.0);
        let at = places.clone().max_by(|&a, &b| height(a).total_cmp(&height(b))).unwrap_or(0);
        let half = height(at) / 2.0;
        let above = |i: &usize| height(*i) > half;
        let first = (0..at).rev().take_while(above).last().unwrap_or(at);
        let last = (at + 1..y.len()).take_while(above).last().unwrap_or(at);
        Top { at, height: height(at), first, last, points: last - first + 1 }
    }

    /// Returns height·√points, a measure of the contribution to the sum of squares.
    fn size(&self) -> f64 {
        self.height.max(0.0) * (self.points as f64).sqrt()
    }

    /// Returns the x to the left and to the right at which y falls to half the height. If the points of one side end
    /// above half the height, the distance of the other side is used.
    fn crossings(&self, x: &[f64], y: &[f64], sign: f64) -> (f64, f64) {
        let half = self.height / 2.0;
        let cross = |inside: usize, outside: Option<usize>| {
            let outside = outside?;
            let (a, b) = (*x.get(inside)?, *x.get(outside)?);
            let (high, low) = (sign * y.get(inside)?, sign * y.get(outside)?);
            let share = if high > low { (high - half) / (high - low) } else { 0.5 };
            Some(a + share.clamp(0.0, 1.0) * (b - a))
        };
        let left = cross(self.first, self.first.checked_sub(1));
        let right = cross(self.last, Some(self.last + 1).filter(|next| *next < x.len()));
        let center = x.get(self.at).copied().unwrap_or(0.0);
        match (left, right) {
            (Some(left), Some(right)) => (left, right),
            (Some(left), None) => (left, 2.0 * center - left),
            (None, Some(right)) => (2.0 * center - right, right),
            (None, None) => match (x.first(), x.last()) {
                (Some(first), Some(last)) => (*first, *last),
                _ => (center - 1.0, center + 1.0),
            },
        }
    }
}

/// Returns the indices of the points in a range of x; if it contains no point, the index of the nearest point.
fn within(points: &Sketch, (low, high): (f64, f64)) -> Range<usize> {
    let x = &points.x;
    let at = |limit: f64| limit / points.x_unit;
    let from = x.partition_point(|x| *x < at(low));
    let to = x.partition_point(|x| *x <= at(high)).max(from);
    if from < to {
        return from..to;
    }
    let is_left_nearer = |left: usize| match x.get(from) {
        Some(right) => at(low) - x[left] < right - at(low),
        None => true,
    };
    let nearest = from.checked_sub(1).filter(|&left| is_left_nearer(left)).unwrap_or(from);
    nearest..nearest + 1
}

/// Replaces each value by the median of itself and its two neighbours, which removes single outliers.
pub(crate) fn without_outliers(y: &[f64]) -> Vec<f64> {
    let middle = |i: usize| match (i.checked_sub(1).and_then(|i| y.get(i)), y.get(i + 1)) {
        (Some(a), Some(c)) => a.min(*c).max(a.max(*c).min(y[i])),
        (None, Some(c)) if y.len() > 2 => *c,
        (Some(a), None) if y.len() > 2 => *a,
        _ => y[i],
    };
    (0..y.len()).map(middle).collect()
}

/// Returns moving averages over each value and `reach` neighbours on both sides.
pub(crate) fn means(y: &[f64], reach: usize) -> Vec<f64> {
    let mean = |i: usize| {
        let reach = reach.min(i).min(y.len() - 1 - i);
        let part = &y[i - reach..=i + reach];
        part.iter().map(|v| v / part.len() as f64).sum()
    };
    (0..y.len()).map(mean).collect()
}

/// Returns the smallest allowed width: a fifth of the mean distance between points.
fn least_step(x: &[f64]) -> f64 {
    let (first, last) = (x.first().copied().unwrap_or(0.0), x.last().copied().unwrap_or(0.0));
    let step = 0.2 * (last - first) / x.len().max(1) as f64;
    if step > 0.0 { step } else { 1e-3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(f: impl Fn(f64) -> f64) -> Peak {
        let x: Vec<f64> = (0..200).map(|i| 0.1 * f64::from((i * 77) % 200)).collect();
        let y = x.iter().map(|&x| f(x)).collect();
        Peak::of(&Observations::new(vec![x], y))
    }

    #[test]
    fn half_widths_are_those_of_the_peak() {
        for sign in [1.0, -1.0] {
            let found = peak(|x| sign * 7.0 / (1.0 + ((x - 8.0) / 1.5).powi(2)));
            assert!((found.center - 8.0).abs() < 0.15, "{found:?}");
            assert!((found.left - 1.5).abs() < 0.2 && (found.right - 1.5).abs() < 0.2);
        }
    }

    #[test]
    fn one_outlier_is_no_peak() {
        let found = peak(|x| {
            let outlier = if (x - 3.0).abs() < 0.01 { 30.0 } else { 0.0 };
            outlier + (-(x - 12.0).powi(2)).exp()
        });
        assert!((found.center - 12.0).abs() < 0.2, "{}", found.center);
    }

    #[test]
    fn few_points_and_no_peak_do_no_harm() {
        for (x, y) in [
            (vec![], vec![]),
            (vec![1.0], vec![2.0]),
            (vec![1.0, 1.0], vec![0.0, 0.0]),
            (vec![1.0, 2.0, 3.0], vec![-1.0, 5.0, 2.0]),
            (vec![1e200, -1e200], vec![1e-200, 1e200]),
        ] {
            let found = Peak::of(&Observations::new(vec![x], y));
            assert!(found.center.is_finite() && found.half_width() > 0.0, "{found:?}");
            assert!(found.window(3.0).x.len() <= 3);
        }
    }
}
