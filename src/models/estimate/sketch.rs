//! Reduced points for initial guesses: a limited number of points, sorted by x, with |x| and |y| scaled to at most 1.

use crate::data::points::Observations;

/// Points sorted by x, in units of the largest |x| and the largest |y|.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sketch {
    /// x divided by `x_unit`, one value per point, in ascending order.
    pub(crate) x: Vec<f64>,
    /// y divided by `y_unit`, one value per point.
    pub(crate) y: Vec<f64>,
    /// Largest |x|; 1 without points or if it is 0.
    pub(crate) x_unit: f64,
    /// Largest |y|; 1 without points or if it is 0.
    pub(crate) y_unit: f64,
}

impl Sketch {
    /// Creates a sketch of at most `most` points. If there are more, neighbours in x are averaged.
    pub(crate) fn of(points: &Observations, most: usize) -> Sketch {
        Sketch::over(&mut points.x().iter().copied(), &points.y, most)
    }

    /// Creates a sketch of the points with positive x, for models that are defined only there.
    pub(crate) fn of_positive(points: &Observations, most: usize) -> Sketch {
        let mut x = points.x().iter().map(|&x| if x > 0.0 { x } else { f64::NAN });
        Sketch::over(&mut x, &points.y, most)
    }

    fn over(x: &mut dyn Iterator<Item = f64>, y: &[f64], most: usize) -> Sketch {
        let usable = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        let mut pairs: Vec<(f64, f64)> = x.zip(y.iter().copied()).filter(usable).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let unit = |of: fn(&(f64, f64)) -> f64| {
            let largest = pairs.iter().map(of).fold(0.0, |m: f64, v| m.max(v.abs()));
            if largest > 0.0 { largest } else { 1.0 }
        };
        let (x_unit, y_unit) = (unit(|p| p.0), unit(|p| p.1));
        let group = pairs.len().div_ceil(most.max(1)).max(1);
        let mean = |part: &[(f64, f64)], of: &dyn Fn(&(f64, f64)) -> f64| {
            part.iter().map(of).sum::<f64>() / part.len() as f64
        };
        let over = |of: &dyn Fn(&(f64, f64)) -> f64| {
            pairs.chunks(group).map(|part| mean(part, of)).collect()
        };
        Sketch { x: over(&|p| p.0 / x_unit), y: over(&|p| p.1 / y_unit), x_unit, y_unit }
    }

    /// Returns the smallest and the largest x; 0 and 1 without points.
    pub(crate) fn ends(&self) -> (f64, f64) {
        match (self.x.first(), self.x.last()) {
            (Some(&low), Some(&high)) => (low, high),
            _ => (0.0, 1.0),
        }
    }

    /// Returns the width of the range of x; 1 if all x are equal.
    pub(crate) fn width(&self) -> f64 {
        let (low, high) = self.ends();
        let width = high - low;
        if width > 0.0 { width } else { 1.0 }
    }

    /// Returns the smallest x above 0; if no x is positive, 1, which is the largest |x|.
    pub(crate) fn least_positive(&self) -> f64 {
        self.x.iter().copied().find(|&x| x > 0.0).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(x: &[f64], y: &[f64]) -> Observations {
        Observations::new(vec![x.to_vec()], y.to_vec())
    }

    #[test]
    fn points_come_in_order_and_of_size_one() {
        let sketch = Sketch::of(&points(&[4.0, -8.0, 2.0], &[1e200, 0.0, -2e200]), 10);
        assert_eq!(sketch.x, [-1.0, 0.25, 0.5]);
        assert_eq!(sketch.y, [0.0, -1.0, 0.5]);
        assert_eq!((sketch.x_unit, sketch.y_unit), (8.0, 2e200));
        assert_eq!(sketch.ends(), (-1.0, 0.5));
        assert_eq!((sketch.width(), sketch.least_positive()), (1.5, 0.25));
    }

    #[test]
    fn many_points_become_means_of_neighbours() {
        let x: Vec<f64> = (0..1000).rev().map(f64::from).collect();
        let sketch = Sketch::of(&points(&x, &x), 100);
        assert_eq!(sketch.x.len(), 100);
        assert!((sketch.x[0] - 4.5 / 999.0).abs() < 1e-12);
        assert_eq!(sketch.x, sketch.y);
    }

    #[test]
    fn points_without_size_or_without_x_do_no_harm() {
        let none = Sketch::of(&points(&[], &[]), 10);
        assert_eq!((none.ends(), none.width(), none.x_unit), ((0.0, 1.0), 1.0, 1.0));
        let zeros = Sketch::of(&points(&[0.0, 0.0], &[0.0, 0.0]), 10);
        assert_eq!((zeros.width(), zeros.y_unit), (1.0, 1.0));
        let positive = Sketch::of_positive(&points(&[-1.0, 0.0, 3.0], &[1.0, 1.0, 6.0]), 10);
        assert_eq!((positive.x, positive.y_unit), (vec![1.0], 6.0));
        let infinite = Sketch::of(&points(&[f64::INFINITY, 2.0], &[1.0, 1.0]), 10);
        assert_eq!(infinite.x, [1.0]);
    }
}
