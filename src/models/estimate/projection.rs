//! Variable projection over a grid: initial guess for models that are sums of shapes with linear factors.
//!
//! For `y ≈ Σ cᵢ φᵢ(x; q)`, the best factors c for given q solve a linear least-squares problem. Only the few
//! nonlinear parameters q are searched: first over a grid that covers all values that the points can determine, then
//! around its best point (Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973) 413). This search is less sensitive to
//! noise and outliers than quotients or logarithms of the data.

use super::sketch::Sketch;

/// Maximum number of refinement rounds. A round without improvement halves the steps.
const ROUNDS: usize = 80;

/// Number of halvings after which the steps are small enough for an initial guess: a thousandth of the grid step.
const HALVINGS: usize = 10;

/// Maximum number of shapes.
const MOST: usize = 4;

/// A column is linearly dependent if its part orthogonal to the earlier columns is below this fraction of its norm.
const DEPENDENT: f64 = 1e-9;

/// Grid of values of one nonlinear parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchAxis {
    low: f64,
    high: f64,
    places: usize,
    logarithmic: bool,
}

impl SearchAxis {
    /// Creates a grid with equal steps from `low` to `high`.
    pub(crate) fn linear(low: f64, high: f64, places: usize) -> SearchAxis {
        SearchAxis { low, high, places, logarithmic: false }
    }

    /// Creates a grid with equal ratios from `low` to `high`, both positive.
    pub(crate) fn logarithmic(low: f64, high: f64, places: usize) -> SearchAxis {
        SearchAxis { low: low.ln(), high: high.ln(), places, logarithmic: true }
    }

    fn step(&self) -> f64 {
        (self.high - self.low) / (self.places.max(2) - 1) as f64
    }

    /// Returns the nearest position on the axis; NaN is possible if an end of the axis is NaN.
    fn within(&self, position: f64) -> f64 {
        position.max(self.low).min(self.high)
    }

    /// Returns the parameter at a position on the axis.
    fn value(&self, position: f64) -> f64 {
        if self.logarithmic { position.exp() } else { position }
    }
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BestPlace<const Q: usize> {
    /// The searched parameters, one per axis.
    pub(crate) at: [f64; Q],
    /// One factor per shape.
    pub(crate) factors: Vec<f64>,
    /// Sum of squared residuals; ∞ if no grid point gave finite values.
    pub(crate) cost: f64,
}

impl<const Q: usize> BestPlace<Q> {
    /// Returns the result with the lower cost.
    pub(crate) fn or(self, other: BestPlace<Q>) -> BestPlace<Q> {
        if other.cost < self.cost { other } else { self }
    }
}

/// Searches the parameters `q`, one per axis, of `terms` shapes. `shapes(q, x, out)` writes the values of all shapes
/// at one x. All values are in units of the sketch.
///
/// If no grid point gives finite values, returns the middle of the axes with factors 0.
pub(crate) fn search<const Q: usize>(
    points: &Sketch,
    axes: [SearchAxis; Q],
    terms: usize,
    shapes: impl Fn(&[f64; Q], f64, &mut [f64]),
) -> BestPlace<Q> {
    let (n, terms) = (points.x.len(), terms.min(MOST));
    let fill = |q: &[f64; Q], columns: &mut [f64]| {
        let mut values = [0.0; MOST];
        for (i, &x) in points.x.iter().enumerate() {
            shapes(q, x, &mut values[..terms]);
            for (j, &value) in values[..terms].iter().enumerate() {
                columns[j * n + i] = value;
            }
        }
    };
    Projection { columns: vec![0.0; terms * n], y: &points.y, terms, fill: &fill }.search(axes)
}

/// State of a search. `fill` is a trait object: the code is compiled once per number of parameters, not per shape.
struct Projection<'a, const Q: usize> {
    /// Values of the shapes at all points, one column per shape.
    columns: Vec<f64>,
    y: &'a [f64],
    terms: usize,
    /// Writes the columns for given parameters.
    fill: &'a dyn Fn(&[f64; Q], &mut [f64]),
}

impl<const Q: usize> Projection<'_, Q> {
    fn search(mut self, axes: [SearchAxis; Q]) -> BestPlace<Q> {
        let middle = std::array::from_fn(|i| 0.5 * (axes[i].low + axes[i].high));
        let (mut best, mut cost) = (middle, f64::INFINITY);
        let places: usize = axes.iter().map(|a| a.places).product();
        for place in 0..places {
            let mut rest = place;
            let position = std::array::from_fn(|i| {
                let index = rest % axes[i].places;
                rest /= axes[i].places;
                axes[i].low + index as f64 * axes[i].step()
            });
            let here = self.cost(&values(&axes, &position));
            if here < cost {
                (best, cost) = (position, here);
            }
        }
        let mut step: [f64; Q] = std::array::from_fn(|i| 0.5 * axes[i].step());
        let mut halvings = 0;
        for _ in 0..ROUNDS {
            let before = cost;
            for i in 0..Q {
                for direction in [-1.0, 1.0] {
                    let mut position = best;
                    position[i] = axes[i].within(best[i] + direction * step[i]);
                    let here = self.cost(&values(&axes, &position));
                    if here < cost {
                        (best, cost) = (position, here);
                    }
                }
            }
            if cost == before {
                step = step.map(|s| 0.5 * s);
                halvings += 1;
            }
            if halvings == HALVINGS {
                break;
            }
        }
        let at = values(&axes, &best);
        let (factors, cost) = self.project(&at);
        BestPlace { at, factors: factors[..self.terms].to_vec(), cost }
    }

    fn cost(&mut self, q: &[f64; Q]) -> f64 {
        self.project(q).1
    }

    /// Returns the least-squares factors and the sum of squared residuals, by modified Gram-Schmidt.
    fn project(&mut self, q: &[f64; Q]) -> ([f64; MOST], f64) {
        let (n, terms) = (self.y.len(), self.terms);
        (self.fill)(q, &mut self.columns);
        let mut rest = self.y.to_vec();
        // `r[j][k]`: component of column k along direction j.
        let (mut r, mut shares) = ([[0.0; MOST]; MOST], [0.0; MOST]);
        for k in 0..terms {
            let (earlier, column) = self.columns.split_at_mut(k * n);
            let column = &mut column[..n];
            let before = dot(column, column).sqrt();
            for j in 0..k {
                let direction = &earlier[j * n..(j + 1) * n];
                r[j][k] = dot(direction, column);
                subtract(column, r[j][k], direction);
            }
            let norm = dot(column, column).sqrt();
            if !norm.is_finite() {
                return ([0.0; MOST], f64::INFINITY);
            }
            // The factor of a dependent column stays 0.
            if norm <= DEPENDENT * before {
                column.fill(0.0);
                continue;
            }
            r[k][k] = norm;
            column.iter_mut().for_each(|v| *v /= norm);
            shares[k] = dot(column, &rest);
            subtract(&mut rest, shares[k], column);
        }
        let mut factors = [0.0; MOST];
        for j in (0..terms).rev().filter(|&j| r[j][j] > 0.0) {
            let later: f64 = (j + 1..terms).map(|k| r[j][k] * factors[k]).sum();
            factors[j] = (shares[j] - later) / r[j][j];
        }
        let cost = dot(&rest, &rest);
        let finite = cost.is_finite() && factors.iter().all(|f| f.is_finite());
        if finite { (factors, cost) } else { ([0.0; MOST], f64::INFINITY) }
    }
}

/// Returns the sum of squared residuals of `y` after a linear least-squares fit of the columns. Columns that are zero
/// or not finite are skipped.
pub(crate) fn left_by(mut columns: Vec<Vec<f64>>, y: &[f64]) -> f64 {
    let mut rest = y.to_vec();
    while let Some(mut column) = columns.pop() {
        let norm = dot(&column, &column).sqrt();
        if !(norm > 0.0 && norm.is_finite()) {
            continue;
        }
        column.iter_mut().for_each(|v| *v /= norm);
        let share = dot(&column, &rest);
        subtract(&mut rest, share, &column);
        for other in &mut columns {
            let share = dot(&column, other);
            subtract(other, share, &column);
        }
    }
    dot(&rest, &rest)
}

fn values<const Q: usize>(axes: &[SearchAxis; Q], position: &[f64; Q]) -> [f64; Q] {
    std::array::from_fn(|i| axes[i].value(position[i]))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn subtract(from: &mut [f64], share: f64, direction: &[f64]) {
    from.iter_mut().zip(direction).for_each(|(v, d)| *v -= share * d);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::points::Observations;

    fn sketch(f: impl Fn(f64) -> f64) -> Sketch {
        let x: Vec<f64> = (1..=40).map(|i| 0.1 * f64::from(i)).collect();
        let y = x.iter().map(|&x| f(x)).collect();
        Sketch::of(&Observations::new(vec![x], y), 100)
    }

    #[test]
    fn what_made_the_points_is_found() {
        let points = sketch(|x| 3.0 * (-x / 0.9).exp() - 2.0 * (-x / 0.2).exp() + 0.25);
        let axes = [SearchAxis::logarithmic(0.01, 1.0, 25), SearchAxis::linear(0.01, 1.0, 25)];
        let found = search(&points, axes, 3, |q, x, out| {
            let x = x * 4.0;
            out.copy_from_slice(&[(-x / q[0]).exp(), (-x / q[1]).exp(), 1.0]);
        });
        let factors: Vec<f64> = found.factors.iter().map(|f| f * points.y_unit).collect();
        let (fast, slow) = if found.at[0] < found.at[1] { (0, 1) } else { (1, 0) };
        assert!((found.at[fast] / 0.2 - 1.0).abs() < 0.1, "{found:?}");
        assert!((found.at[slow] / 0.9 - 1.0).abs() < 0.1, "{found:?}");
        assert!((factors[slow] / 3.0 - 1.0).abs() < 0.2 && (factors[2] - 0.25).abs() < 0.1);
        assert!(found.cost < 1e-4);
    }

    #[test]
    fn factors_are_those_of_least_squares() {
        // The least-squares line through (1, 1), (2, 2), (3, 2) is 2/3 + x/2.
        let points = Observations::new(vec![vec![1.0, 2.0, 3.0]], vec![1.0, 2.0, 2.0]);
        let points = Sketch::of(&points, 3);
        let found = search(&points, [], 2, |[], x, out| out.copy_from_slice(&[1.0, x]));
        let (y, x) = (points.y_unit, points.x_unit);
        assert!((found.factors[0] * y - 2.0 / 3.0).abs() < 1e-14);
        assert!((found.factors[1] * y / x - 0.5).abs() < 1e-14);
        assert!((found.cost * y * y - 1.0 / 6.0).abs() < 1e-14);
    }

    #[test]
    fn a_shape_that_repeats_another_gets_no_factor() {
        let points = sketch(|x| 2.0 * x);
        let found = search(&points, [], 3, |[], x, out| out.copy_from_slice(&[x, 3.0 * x, 0.0]));
        assert!((found.factors[0] * points.y_unit / points.x_unit - 2.0).abs() < 1e-12);
        assert_eq!(found.factors[1..], [0.0, 0.0]);
    }

    #[test]
    fn shapes_that_are_not_finite_are_passed_over() {
        let points = sketch(|x| x.ln());
        let axes = [SearchAxis::linear(-1.0, 1.0, 11)];
        let found = search(&points, axes, 1, |&[a], x, out| out[0] = (a * x).ln());
        assert!(found.at[0] > 0.0 && found.cost.is_finite());
        let none = search(&points, axes, 1, |_, _, out| out[0] = f64::NAN);
        assert_eq!((none.at, none.factors, none.cost), ([0.0], vec![0.0], f64::INFINITY));
        let endless = [SearchAxis::logarithmic(0.0, f64::NAN, 11)];
        assert_eq!(search(&points, endless, 1, |&[a], x, out| out[0] = a * x).factors, [0.0]);
    }
}
