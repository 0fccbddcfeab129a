//! A cubic spline over knots that are given: a background of any shape.

use crate::data::observations::Observations;
use crate::error::{ModelError, Result};
use crate::model::Expression;
use crate::models::Model;
use crate::models::definition::ModelKind;
use crate::models::estimate::sketch::Sketch;
use crate::models::leaf::Leaf;
use std::sync::Arc;

/// With fewer there is no cubic; with more a picture of the points is no model any more.
const KNOTS: std::ops::RangeInclusive<usize> = 4..=100;
/// Points in which a start is looked for.
const MOST: usize = 4096;

/// A cubic in u = (x − low)/(high − low): the coefficients of 1, u, u², u³.
type Cubic = [f64; 4];

/// A cubic spline: `s0*B0(x) + s1*B1(x) + …`, with as many parameters as knots. Bⱼ are cubic B-splines, at each x four of them are not 0 and
/// their sum is 1, so that `sⱼ` is about the value of the curve near knot j. What the curve is at the
/// knots are derived quantities, `at_knot0`, `at_knot1`, …
///
/// The second and the last knot but one are not among those at which the third derivative jumps ("not-a-knot"), and the first and the last
/// cubic go on beyond the ends: the curves are those of cubic interpolation by SciPy's `make_interp_spline` and MATLAB's `spline`
/// through any values at the knots. The parameters are those of lmfit's `SplineModel`.
///
/// It is linear in its parameters, so that alone it needs no start.
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
/// [`Error::Model`](crate::Error::Model) for fewer than 4 or more than 100 knots, or ones that do not rise.
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

/// The B-splines of a spline's knots.
struct Basis {
    /// Where one cubic ends and the next begins, the ends included.
    breaks: Vec<f64>,
    /// The knots of the B-splines: the ends four times each.
    full: Vec<f64>,
    /// For each cubic piece those of the four B-splines that are not 0 there, `k` to `k + 3` of piece k.
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

    /// B-spline `j` as text: one cubic after the other, those at the ends without an end.
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

    /// By Horner's scheme.
    fn cubic_text(&self, k: usize, cubic: &Cubic) -> String {
        let (low, high) = (self.breaks[k], self.breaks[k + 1]);
        let u = format!("((x - {})/{})", number(low), number(high - low));
        let [a, b, c, d] = cubic.map(number);
        format!("({a} + {u}*({b} + {u}*({c} + {u}*{d})))")
    }

    /// The value at `x` as text over the parameters.
    fn value_text(&self, x: f64) -> String {
        let k = self.breaks[1..].iter().position(|&end| x < end).unwrap_or(self.pieces.len() - 1);
        let u = (x - self.breaks[k]) / (self.breaks[k + 1] - self.breaks[k]);
        let value = |cubic: &Cubic| cubic.iter().rev().fold(0.0, |sum, c| sum * u + c);
        let parts = self.pieces[k].iter().map(value).enumerate().filter(|(_, part)| *part != 0.0);
        let terms = parts.map(|(j, part)| format!("{}*s{}", number(part), k + j));
        terms.collect::<Vec<_>>().join(" + ")
    }

    /// The mean of y about the place that each parameter stands for, the mean of the inner knots of its
    /// B-spline (Schoenberg's approximation); where no point is, on the line between the nearest such means.
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

/// What four B-splines are between full knots `i` and `i + 1`, by de Boor's recursion with cubics in place of values.
fn piece(full: &[f64], i: usize) -> [Cubic; 4] {
    let (low, width) = (full[i], full[i + 1] - full[i]);
    let mut found = [[0.0; 4]; 4];
    found[0][0] = 1.0;
    for degree in 1..4 {
        let mut next = [[0.0; 4]; 4];
        // Of degree − 1 there are `degree` of them, number i − degree + 1 + r.
        for (r, lower) in found.iter().enumerate().take(degree) {
            let (left, right) = (full[i + 1 + r - degree], full[i + 1 + r]);
            let apart = right - left;
            // It goes on with (x − left)/apart of itself, and the one before it gets the rest.
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

/// The line through points by place, level beyond them; 0 without any.
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

/// A number as text that is one operand.
fn number(value: f64) -> String {
    if value < 0.0 { format!("({value:?})") } else { format!("{value:?}") }
}

/// A number as one would write it.
fn short(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e9 {
        format!("{value}")
    } else {
        format!("{value:?}")
    }
}
