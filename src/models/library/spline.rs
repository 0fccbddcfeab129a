//! Cubic spline with given knots: a background of any shape.

use crate::data::points::Observations;
use crate::error::{ModelError, Result};
use crate::model::Expression;
use crate::models::Model;
use crate::models::estimate::sketch::Sketch;
use crate::models::leaf::Leaf;
use crate::models::leaf::ModelKind;
use std::sync::Arc;

/// Allowed number of knots. Fewer knots do not define a cubic; more would reproduce the points instead of modelling
/// them.
const KNOTS: std::ops::RangeInclusive<usize> = 4..=100;
/// Maximum number of points for the initial guess.
const MOST: usize = 4096;

/// Cubic in u = (x − low)/(high − low): coefficients of 1, u, u², u³.
type Cubic = [f64; 4];

/// Cubic spline `s0*B0(x) + s1*B1(x) + …` with one parameter per knot. The Bⱼ are cubic B-splines. At each x, four of
/// them are not 0 and their sum is 1; therefore `sⱼ` is about the value of the curve near knot j. The values of the
/// curve at the knots are the derived quantities `at_knot0`, `at_knot1`, …
///
/// The boundary conditions are "not-a-knot": the third derivative does not jump at the second knot and at the last
/// knot but one. The first and the last cubic continue beyond the ends. Therefore the curves are the cubic
/// interpolants of SciPy's `make_interp_spline` and MATLAB's `spline` for any values at the knots. The parameters are
/// the same as in lmfit's `SplineModel`.
///
/// The model is linear in its parameters. Without other terms it needs no starting point.
///
/// ```
/// use dualfit::{CurveFit, Data, Start, models};
/// let x: Vec<f64> = (0..200).map(|i| 0.1 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| (0.1 * x).cos() + 2.0 * (-(x - 7.0f64).powi(2)).exp()).collect();
/// let model = models::spline([0.0, 4.0, 8.0, 12.0, 16.0, 20.0], "bg_")? + models::gaussian("");
/// let fit = CurveFit::from(model).fit(Data::new(&x, &y)?, Start::Guess)?;
/// assert!((fit.param("center").unwrap() - 7.0).abs() < 0.01);
/// # Ok::<(), dualfit::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Model`](crate::Error::Model) for fewer than 4 or more than 100 knots, or if they do not increase.
pub fn spline(knots: impl AsRef<[f64]>, prefix: impl AsRef<str>) -> Result<Model> {
    let knots = knots.as_ref();
    let basis = Basis::of(knots)?;
    let term = |j: usize| format!("s{j}*{}", basis.text(j));
    let formula = (0..knots.len()).map(term).collect::<Vec<_>>().join(" + ");
    let mut leaf = Leaf::of(Expression::parse(&formula, &["x"])?, &formula);
    leaf.name = "spline".to_owned();
    leaf.argument = Some(knots.iter().map(|&knot| short(knot)).collect::<Vec<_>>().join(", "));
    leaf.prefix = prefix.as_ref().to_owned();
    leaf.kind = ModelKind::Background;
    let at = |(i, &knot): (usize, &f64)| (format!("at_knot{i}"), basis.value_text(knot));
    leaf.derived = knots.iter().enumerate().map(at).collect();
    leaf.estimate = Some(Arc::new(move |points| basis.start(points)));
    Ok(Model::leaf(leaf))
}

/// B-spline basis of the knots.
struct Basis {
    /// Breakpoints between the cubics, including both ends.
    breaks: Vec<f64>,
    /// Knot vector of the B-splines, with each end repeated four times.
    full: Vec<f64>,
    /// The four B-splines that are not 0 in an interval between breakpoints: `k` to `k + 3` for interval k.
    pieces: Vec<[Cubic; 4]>,
}

impl Basis {
    fn of(knots: &[f64]) -> Result<Basis> {
        let (least, most) = (*KNOTS.start(), *KNOTS.end());
        if !KNOTS.contains(&knots.len()) {
            return Err(ModelError::KnotCount { got: knots.len(), least, most }.into());
        }
        let after = |(i, &value): (usize, &f64)| match i.checked_sub(1).map(|i| value - knots[i]) {
            None => value.is_finite(),
            Some(apart) => apart > 0.0 && apart.is_finite() && apart.recip().is_finite(),
        };
        if let Some(index) = knots.iter().enumerate().position(|knot| !after(knot)) {
            return Err(ModelError::BadKnot { index, value: knots[index] }.into());
        }
        let (first, last) = (knots[0], knots[knots.len() - 1]);
        if !(last - first).is_finite() {
            return Err(ModelError::BadKnot { index: knots.len() - 1, value: last }.into());
        }
        let inner = &knots[2..knots.len() - 2];
        let breaks = [&[first], inner, &[last]].concat();
        let full = [&[first; 4], inner, &[last; 4]].concat();
        let pieces = (0..breaks.len() - 1).map(|k| piece(&full, k + 3)).collect();
        Ok(Basis { breaks, full, pieces })
    }

    /// Returns the formula of B-spline `j`: cubics selected by `if(x < …)`. The first and the last cubic continue
    /// beyond the ends.
    fn text(&self, j: usize) -> String {
        let last = self.pieces.len() - 1;
        let (from, to) = (j.saturating_sub(3), j.min(last));
        let mut text = if to < last { "0".to_owned() } else { String::new() };
        for k in (from..=to).rev() {
            let cubic = self.cubic_text(k, &self.pieces[k][j - k]);
            text = match k == last {
                true => cubic,
                false => format!("if(x < {}, {cubic}, {text})", number(self.breaks[k + 1])),
            };
        }
        match from {
            0 => text,
            _ => format!("if(x < {}, 0, {text})", number(self.breaks[from])),
        }
    }

    /// Returns the formula of a cubic by Horner's scheme.
    fn cubic_text(&self, k: usize, cubic: &Cubic) -> String {
        let (low, high) = (self.breaks[k], self.breaks[k + 1]);
        let u = format!("((x - {})/{})", number(low), number(high - low));
        let [a, b, c, d] = cubic.map(number);
        format!("({a} + {u}*({b} + {u}*({c} + {u}*{d})))")
    }

    /// Returns the value at `x` as a formula over the parameters.
    fn value_text(&self, x: f64) -> String {
        let k = self.breaks[1..].iter().position(|&end| x < end).unwrap_or(self.pieces.len() - 1);
        let u = (x - self.breaks[k]) / (self.breaks[k + 1] - self.breaks[k]);
        let value = |cubic: &Cubic| cubic.iter().rev().fold(0.0, |sum, c| sum * u + c);
        let parts = self.pieces[k].iter().map(value).enumerate().filter(|(_, part)| *part != 0.0);
        let terms = parts.map(|(j, part)| format!("{}*s{}", number(part), k + j));
        terms.collect::<Vec<_>>().join(" + ")
    }

    /// Returns an initial guess (Schoenberg's approximation). Each parameter is the mean of y near the mean of the
    /// inner knots of its B-spline. Without points there, it is interpolated linearly between the nearest such means.
    fn start(&self, points: &Observations) -> Vec<f64> {
        let sketch = Sketch::of(points, MOST);
        let count = self.full.len() - 4;
        let place = |j: usize| self.full[j + 1..j + 4].iter().map(|knot| knot / 3.0).sum::<f64>();
        let places: Vec<f64> = (0..count).map(place).collect();
        let mut sums = vec![(0.0, 0.0); count];
        for (x, y) in sketch.x.iter().zip(&sketch.y) {
            let x = x * sketch.x_unit;
            let right = places.partition_point(|place| *place < x);
            let nearer = |&j: &usize| (places[j] - x).abs();
            let around = [right.saturating_sub(1), right.min(count - 1)];
            let j = around.into_iter().min_by(|a, b| nearer(a).total_cmp(&nearer(b)));
            let (sum, points) = &mut sums[j.unwrap_or(0)];
            (*sum, *points) = (*sum + y, *points + 1.0);
        }
        let known: Vec<(f64, f64)> = places
            .iter()
            .zip(&sums)
            .filter(|(_, (_, points))| *points > 0.0)
            .map(|(place, (sum, points))| (*place, sum / points))
            .collect();
        places.iter().map(|&place| between(&known, place) * sketch.y_unit).collect()
    }
}

/// Returns the four B-splines between the full knots `i` and `i + 1` as cubics, by de Boor's recursion.
fn piece(full: &[f64], i: usize) -> [Cubic; 4] {
    let (low, width) = (full[i], full[i + 1] - full[i]);
    let mut found = [[0.0; 4]; 4];
    found[0][0] = 1.0;
    for degree in 1..4 {
        let mut next = [[0.0; 4]; 4];
        // There are `degree` B-splines of degree − 1, with the numbers i − degree + 1 + r.
        for (r, lower) in found.iter().enumerate().take(degree) {
            let (left, right) = (full[i + 1 + r - degree], full[i + 1 + r]);
            let apart = right - left;
            // The B-spline contributes the fraction (x − left)/apart to `next[r + 1]` and the rest to `next[r]`.
            let (start, slope) = ((low - left) / apart, width / apart);
            for power in 0..4_usize {
                let before = power.checked_sub(1).map_or(0.0, |power| lower[power]);
                let rising = lower[power] * start + before * slope;
                let falling = lower[power] * ((right - low) / apart) - before * slope;
                next[r][power] += falling;
                next[r + 1][power] += rising;
            }
        }
        found = next;
    }
    found
}

/// Interpolates linearly between known positions; constant beyond them, 0 if there are none.
fn between(known: &[(f64, f64)], place: f64) -> f64 {
    let right = known.partition_point(|(at, _)| *at < place);
    match (right.checked_sub(1).and_then(|left| known.get(left)), known.get(right)) {
        (Some(&(a, from)), Some(&(b, to))) => {
            let share = (place - a) / (b - a);
            from * (1.0 - share) + to * share
        }
        (one, other) => one.or(other).map_or(0.0, |(_, value)| *value),
    }
}

/// Formats a number as one operand of a formula, a negative number in parentheses.
fn number(value: f64) -> String {
    if value < 0.0 { format!("({value:?})") } else { format!("{value:?}") }
}

/// Formats a number, whole numbers without a decimal point.
fn short(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e9 {
        format!("{value}")
    } else {
        format!("{value:?}")
    }
}
