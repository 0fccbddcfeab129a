//! A scan for places of the curve that are closer than the minimum that Newton's method found.
//!
//! Every place that is closer than the distance d of a minimum has shifts shorter than d. The point sees the curve from
//! outside a ball of radius d that touches the curve. If the curve bends towards the point nowhere by more than 1/d
//! (second derivatives of f/σ in units of the errors of x), it stays outside of the ball, and the minimum is the closest
//! point: the ball is the graph of a function whose second derivatives are −1/d and beyond, and has value and slope of
//! the curve where it touches. So points need no scan unless d times the largest curvature seen is above 1; then the curve
//! is evaluated along lines through the measured x, and searches start from the places where the polygons are close.

use super::super::code::BLOCK;
use super::super::machine::{Block, Inputs, Machine, Uniforms};
use super::bends::Bends;
use super::measured::{Curve, Measured};
use super::newton::Searches;
use crate::data::values::Values;

/// Distance times curvature up to which the minimum counts as the only one: half of what would do if the curvature were
/// known everywhere.
const GENTLE: f64 = 0.5;
/// A point so many times farther than the mean of its block is looked at whatever the curvature: the curve may turn or jump
/// where no point is.
const OUTLYING: f64 = 4.0;
/// Evaluations on each side of a line.
const EVALUATIONS: (f64, f64) = (8.0, 32.0);
/// Polygons that are farther than so many times the minimum start no search: of one variable, where a polygon is beside
/// the curve by d/32 at most, and of more, where the closest point is between lines.
const MARGIN: (f64, f64) = (1.0625, 1.25);

/// Room for a scan.
#[derive(Default)]
pub(super) struct Scan {
    machine: Machine,
    lines: Vec<Line>,
    /// Where the model is evaluated: one column per variable.
    at: Vec<Vec<f64>>,
    /// Residuals along all lines, one line after the other.
    residuals: Vec<f64>,
    /// Distances of a line's segments, and where along the line their closest points are.
    segments: Vec<(f64, f64)>,
    starts: Vec<Start>,
}

/// A direction of length 1: components along two variables, of which the second may be 0.
type Direction = [(usize, f64); 2];

/// A line through a measured point.
struct Line {
    point: usize,
    direction: Direction,
    /// Between evaluations, in units of the errors of x.
    spacing: f64,
    /// Evaluations on each side of the measured point.
    side: usize,
}

/// Where a search starts.
pub(super) struct Start {
    /// The position of the measured point in the block.
    pub(super) point: usize,
    direction: Direction,
    length: f64,
}

impl Start {
    /// The shift of inexact variable `j`.
    pub(super) fn shift(&self, j: usize) -> f64 {
        let along = |&(variable, part): &(usize, f64)| if variable == j { part } else { 0.0 };
        self.length * self.direction.iter().map(along).sum::<f64>()
    }
}

impl Scan {
    /// Starts of searches for places that may be closer than the `found` minima, one lane per point of the block.
    pub(super) fn starts(
        &mut self,
        curve: Curve<'_>,
        measured: &Measured,
        found: &Searches,
        bends: &Bends,
    ) -> &[Start] {
        self.lines.clear();
        self.starts.clear();
        self.choose_lines(measured, found, bends);
        if !self.lines.is_empty() {
            self.evaluate(curve, measured);
            self.choose_starts(measured, found);
        }
        &self.starts
    }

    /// Lines through the points whose minimum may not be the only one.
    fn choose_lines(&mut self, measured: &Measured, found: &Searches, bends: &Bends) {
        let reaches = found.distance[..measured.len()].iter().map(|d| d.abs());
        let weighing = reaches.filter(|&d| d > 0.0 && d.is_finite());
        let (sum, count) = weighing.fold((0.0, 0), |(sum, count), d| (sum + d, count + 1));
        let far = OUTLYING * sum / f64::from(count);
        for point in 0..measured.len() {
            let (distance, sigma) = (found.distance[point], measured.sigma(point));
            // Below the curve, where its value is too large, the point sees bends downwards.
            let turn = -distance.signum();
            let (turned, any) = bends.curvatures(sigma, measured.weight[point], turn);
            let reach = distance.abs();
            let is_known = reach * turned <= GENTLE && !(reach > far);
            if is_known || !(reach > 0.0 && reach.is_finite()) {
                continue;
            }
            // Between polygon and curve there are spacing²/8 times the curvature at most: d/32 unless the limit is reached.
            let side = (2.0 * (reach * any).sqrt()).ceil().clamp(EVALUATIONS.0, EVALUATIONS.1);
            let spacing = reach / side;
            self.lines.extend(directions(sigma).map(|direction| Line {
                point,
                direction,
                spacing,
                side: side as usize,
            }));
        }
    }

    /// Sets the residuals along all lines.
    fn evaluate(&mut self, curve: Curve<'_>, measured: &Measured) {
        let Scan { machine, lines, at, residuals, .. } = self;
        let code = &curve.code.value;
        let uniforms = Uniforms::OfOne(&curve.numbers.value);
        machine.reserve(code.registers, 0);
        machine.broadcast(code, uniforms, BLOCK);
        at.resize(measured.x.len(), Vec::new());
        residuals.clear();
        let mut places = lines.iter().flat_map(Line::places);
        let mut points = Vec::with_capacity(BLOCK);
        loop {
            at.iter_mut().for_each(Vec::clear);
            points.clear();
            for (line, length) in places.by_ref().take(BLOCK) {
                points.push(line.point);
                at.iter_mut().zip(&measured.x).for_each(|(at, x)| at.push(x[line.point]));
                for &(j, part) in line.direction.iter().filter(|(_, part)| *part != 0.0) {
                    let shift = length * part * measured.sigma(line.point)[j];
                    if let Some(last) = at[curve.code.inexact[j]].last_mut() {
                        *last += shift;
                    }
                }
            }
            if points.is_empty() {
                break;
            }
            let columns: Vec<Values<'_>> = at.iter().map(|c| Values::F64(c)).collect();
            let inputs = Inputs::new(&columns, Block::Run(0), points.len());
            machine.run(code, curve.kernels, uniforms, &inputs);
            let values = machine.source(code.outputs[0], &inputs);
            let residual = |(&p, f): (&usize, &f64)| (f - measured.y[p]) * measured.weight[p];
            residuals.extend(points.iter().zip(values).map(residual));
        }
    }

    /// Starts where the polygon of a line is closest, near enough and away from the minimum that is known.
    fn choose_starts(&mut self, measured: &Measured, found: &Searches) {
        let Scan { lines, residuals, segments, starts, .. } = self;
        let margin = if measured.k == 1 { MARGIN.0 } else { MARGIN.1 };
        let mut rest = &residuals[..];
        for line in lines.iter() {
            let of_line;
            (of_line, rest) = rest.split_at(2 * line.side + 1);
            let place = |i: usize| (i as f64 - line.side as f64) * line.spacing;
            segments.clear();
            segments.extend(
                of_line.windows(2).enumerate().map(|(i, ends)| {
                    closest_of_segment((place(i), ends[0]), (place(i + 1), ends[1]))
                }),
            );
            let shifts = &found.shifts[line.point * measured.k..][..measured.k];
            let reach = margin * found.distance[line.point].abs();
            for (i, &(distance, length)) in segments.iter().enumerate() {
                let before = i.checked_sub(1).map_or(f64::INFINITY, |i| segments[i].0);
                let after = segments.get(i + 1).map_or(f64::INFINITY, |segment| segment.0);
                if !(distance < reach && distance < before && distance <= after) {
                    continue;
                }
                let start = Start { point: line.point, direction: line.direction, length };
                let apart = |(j, shift): (usize, &f64)| (start.shift(j) - shift).powi(2);
                let apart = shifts.iter().enumerate().map(apart).sum::<f64>().sqrt();
                if apart > line.spacing {
                    starts.push(start);
                }
            }
        }
    }
}

impl Line {
    /// Where the curve is evaluated along the line.
    fn places(&self) -> impl Iterator<Item = (&Line, f64)> {
        let side = self.side as isize;
        (-side..=side).map(move |i| (self, i as f64 * self.spacing))
    }
}

/// Directions along the variables that have errors at a point, and between any two of them.
fn directions(sigma: &[f64]) -> impl Iterator<Item = Direction> {
    let k = sigma.len();
    let inexact = |j: &usize| sigma[*j] > 0.0;
    (0..k).filter(inexact).flat_map(move |a| {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let both = move |b: usize| [[(a, half), (b, half)], [(a, half), (b, -half)]];
        let between = (a + 1..k).filter(inexact).flat_map(both);
        std::iter::once([(a, 1.0), (a, 0.0)]).chain(between)
    })
}

/// The distance from (0, 0) of the segment between two points, and the first coordinate of its closest point; infinite if an
/// end is not finite.
fn closest_of_segment((t, r): (f64, f64), (to_t, to_r): (f64, f64)) -> (f64, f64) {
    let (along, up) = (to_t - t, to_r - r);
    let part = (-(t * along + r * up) / (along * along + up * up)).clamp(0.0, 1.0);
    let (t, r) = (t + part * along, r + part * up);
    let distance = t.hypot(r);
    (if distance.is_nan() { f64::INFINITY } else { distance }, t)
}
