//! Scan for points of the curve that are closer than the minimum that Newton's method found.
//!
//! Let d be the distance of a minimum. For every closer point of the curve, the shift (the difference from the measured
//! x in units of its errors) is shorter than d. The ball of radius d around the measured point touches the curve at the
//! minimum. If the curvature of the curve towards the measured point is nowhere above 1/d (second derivatives of f/σ in
//! units of the errors of x), the curve stays outside of the ball, and the minimum is the closest point. Proof: the
//! side of the sphere next to the curve is the graph of a function that bends towards the measured point with second
//! derivatives of at least 1/d. At the minimum, this function has the value and the slope of the curve, and the curve
//! bends less. So a point needs a scan only if d times the largest observed curvature is above 1. The scan evaluates
//! the curve along lines through the measured x, and starts searches where the polygon through these values is close.

use super::super::code::BLOCK;
use super::super::machine::{Block, Inputs, Machine, Uniforms};
use super::bends::Bends;
use super::measured::{Curve, Measured};
use super::newton::Searches;
use crate::data::values::Values;

/// Maximum product of distance and curvature without a scan: half of the limit 1, since the curvature is not known
/// everywhere.
const GENTLE: f64 = 0.5;
/// A point is scanned regardless of the curvature if its distance exceeds this multiple of the median distance in its
/// block, since the curve may turn or jump between points.
const OUTLYING: f64 = 4.0;
/// Minimum and maximum number of evaluations on each side of a line.
const EVALUATIONS: (f64, f64) = (8.0, 32.0);
/// A search starts where the distance of the polygon is below this multiple of the distance of the known minimum. The
/// first number is for one variable: the polygon deviates from the curve by at most d/32. The second is for several
/// variables: the closest point can be between lines.
const MARGIN: (f64, f64) = (1.0625, 1.25);

/// Maximum number of halvings of a segment: enough to find a step of the curve with a width of 1e-6 segment lengths.
const HALVINGS: usize = 20;

/// Scratch memory of a scan.
#[derive(Default)]
pub(super) struct Scan {
    machine: Machine,
    lines: Vec<Line>,
    /// Distance from each point of the block to its known minimum.
    reaches: Vec<f64>,
    /// Variables at which the model is evaluated: one column per variable.
    at: Vec<Vec<f64>>,
    /// Residuals at these variables.
    residuals: Vec<f64>,
    /// The measured points of a block of evaluations.
    points: Vec<usize>,
    /// For each segment of a line: its distance from the measured point, and the position of its closest point.
    segments: Vec<(f64, f64)>,
    starts: Vec<Start>,
}

/// Unit vector with components along two variables. The second component may be 0.
type Direction = [(usize, f64); 2];

/// A line through a measured point.
struct Line {
    point: usize,
    direction: Direction,
    /// Distance between evaluations, in units of the errors of x.
    spacing: f64,
    /// Number of evaluations on each side of the measured point.
    side: usize,
}

/// Starting point of a search.
pub(super) struct Start {
    /// Position of the measured point in the block.
    pub(super) point: usize,
    direction: Direction,
    length: f64,
    /// Ends of the segment that contains the starting point: position along the line, and residual.
    ends: [(f64, f64); 2],
}

/// Point of an evaluation: at `length` along a direction from a measured point.
struct Place<'p> {
    point: usize,
    direction: &'p Direction,
    length: f64,
}

impl Start {
    fn place(&self) -> Place<'_> {
        Place { point: self.point, direction: &self.direction, length: self.length }
    }

    /// Returns the shift of inexact variable `j`.
    pub(super) fn shift(&self, j: usize) -> f64 {
        let along = |&(variable, part): &(usize, f64)| if variable == j { part } else { 0.0 };
        self.length * self.direction.iter().map(along).sum::<f64>()
    }
}

impl Scan {
    /// Returns starting points of searches for minima that may be closer than the known minima `found`, which has one
    /// lane per point of the block.
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
            let lines = std::mem::take(&mut self.lines);
            self.evaluate(curve, measured, lines.iter().flat_map(Line::places));
            self.lines = lines;
            self.choose_starts(measured, found);
            self.close_in(curve, measured, found);
        }
        &self.starts
    }

    /// Chooses lines through the points whose minimum may not be the closest one.
    fn choose_lines(&mut self, measured: &Measured, found: &Searches, bends: &Bends) {
        let reaches = &mut self.reaches;
        reaches.clear();
        reaches.extend(found.distance[..measured.len()].iter().map(|d| d.abs()));
        let middle = reaches.len() / 2;
        let far = OUTLYING * *reaches.select_nth_unstable_by(middle, f64::total_cmp).1;
        for point in 0..measured.len() {
            let (distance, sigma) = (found.distance[point], measured.sigma(point));
            // If the point is below the curve, only downward curvature can bring the curve closer.
            let turn = -distance.signum();
            let (turned, any) = bends.curvatures(sigma, measured.weight[point], turn);
            let reach = distance.abs();
            let is_far = reach > far;
            let is_known = reach * turned <= GENTLE && !is_far;
            if is_known || !(reach > 0.0 && reach.is_finite()) {
                continue;
            }
            // The polygon deviates from the curve by at most spacing²/8 times the curvature: d/32 unless `side` is
            // clamped.
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

    /// Computes the residuals at `places`, in the same order.
    fn evaluate<'p>(
        &mut self,
        curve: Curve<'_>,
        measured: &Measured,
        mut places: impl Iterator<Item = Place<'p>>,
    ) {
        let Scan { machine, at, points, residuals, .. } = self;
        let code = &curve.code.value;
        let uniforms = Uniforms::OfOne(&curve.numbers.value);
        machine.reserve(code.registers, 0);
        machine.broadcast(code, uniforms, BLOCK);
        at.resize(measured.x.len(), Vec::new());
        residuals.clear();
        loop {
            at.iter_mut().for_each(Vec::clear);
            points.clear();
            for Place { point, direction, length } in places.by_ref().take(BLOCK) {
                points.push(point);
                at.iter_mut().zip(&measured.x).for_each(|(at, x)| at.push(x[point]));
                for &(j, part) in direction.iter().filter(|(_, part)| *part != 0.0) {
                    let shift = length * part * measured.sigma(point)[j];
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

    /// Adds a starting point at each local minimum of a line's polygon that is near enough and is not the known
    /// minimum.
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
            let reach = found.distance[line.point].abs();
            for (i, &(distance, length)) in segments.iter().enumerate() {
                let before = i.checked_sub(1).map_or(f64::INFINITY, |i| segments[i].0);
                let after = segments.get(i + 1).map_or(f64::INFINITY, |segment| segment.0);
                if !(distance < margin * reach && distance < before && distance <= after) {
                    continue;
                }
                let ends = [i, i + 1].map(|i| (place(i), of_line[i]));
                let start = Start { point: line.point, direction: line.direction, length, ends };
                let apart = |(j, shift): (usize, &f64)| (start.shift(j) - shift).powi(2);
                let apart = shifts.iter().enumerate().map(apart).sum::<f64>().sqrt();
                // A polygon that is much closer than the known minimum indicates another minimum, even next to it.
                if apart > line.spacing || distance < (2.0 - margin) * reach {
                    starts.push(start);
                }
            }
        }
    }

    /// Bisects the segments whose residual changes sign until the starting point is closer than the known minimum. A
    /// search from such a point ends at a closer minimum, even if the curve is very steep.
    fn close_in(&mut self, curve: Curve<'_>, measured: &Measured, found: &Searches) {
        let mut starts = std::mem::take(&mut self.starts);
        let crosses = |start: &Start| start.ends[0].1 * start.ends[1].1 < 0.0;
        let mut open: Vec<usize> = (0..starts.len()).filter(|&s| crosses(&starts[s])).collect();
        for _ in 0..HALVINGS {
            if open.is_empty() {
                break;
            }
            self.evaluate(curve, measured, open.iter().map(|&s| starts[s].place()));
            let mut residuals = self.residuals.iter();
            open.retain(|&s| {
                let start = &mut starts[s];
                let residual = residuals.next().copied().unwrap_or(f64::NAN);
                let is_open = start.length.hypot(residual) >= found.distance[start.point].abs();
                if is_open {
                    let same = usize::from(residual * start.ends[0].1 < 0.0);
                    start.ends[same] = (start.length, residual);
                    start.length = 0.5 * (start.ends[0].0 + start.ends[1].0);
                }
                is_open
            });
        }
        self.starts = starts;
    }
}

impl Line {
    /// Returns the evaluation points along the line.
    fn places(&self) -> impl Iterator<Item = Place<'_>> {
        let (side, Line { point, direction, spacing, .. }) = (self.side as isize, self);
        (-side..=side).map(move |i| Place { point: *point, direction, length: i as f64 * spacing })
    }
}

/// Returns the directions along the variables that have errors at a point, and the diagonals of each pair of these
/// variables.
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

/// Returns the distance from (0, 0) to the segment between two points, and the first coordinate of the segment's
/// closest point. The distance is infinite if an end is not finite.
fn closest_of_segment((t, r): (f64, f64), (to_t, to_r): (f64, f64)) -> (f64, f64) {
    let (along, up) = (to_t - t, to_r - r);
    let part = (-(t * along + r * up) / (along * along + up * up)).clamp(0.0, 1.0);
    let (t, r) = (t + part * along, r + part * up);
    let distance = t.hypot(r);
    (if distance.is_nan() { f64::INFINITY } else { distance }, t)
}
