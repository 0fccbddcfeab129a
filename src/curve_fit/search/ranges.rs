//! Natural ranges of parameters, from which a search draws values.
//!
//! A parameter with the unit of x is a position within the data or a width. A parameter with the unit 1/x is a rate or
//! a frequency. A parameter without unit is an exponent, a ratio or a phase. The range of a parameter is derived from
//! its unit, which the program determines ([`units`](crate::model::units)), and from the range, spacing and magnitude
//! of the data. A range is a mixture of several distributions (shapes), each with a weight. Bounds narrow it.
//! docs/mathematics.md contains a table of the ranges with reasons.

use crate::data::loss::Estimator;
use crate::data::points::Observations;
use crate::data::points::Points;
use crate::data::sample::{Sample, data_of};
use crate::error::Result;
use crate::math::bits::ascending;
use crate::model::native::Model;
use crate::model::op::{Id, Node};
use crate::model::program::Program;
use crate::model::structure::Position;
use crate::model::units::{self, Unit};
use std::f64::consts::PI;

/// Fraction of the draws that are negative if a parameter may have both signs.
const NEGATIVE: f64 = 0.3;
/// Decades on each side of the natural magnitude of a parameter.
const DECADES: f64 = 2.0;
/// A positive column has a logarithmic scale if its ratio of largest to smallest value is at least this.
const LOGARITHMIC: f64 = 20.0;
/// Fraction of the draws that are spread over the whole interval of finite bounds.
const OVER_BOUNDS: f64 = 0.5;

/// One independent variable, or the response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Median difference of adjacent distinct values.
    pub(super) spacing: f64,
}

impl Axis {
    pub(super) fn of(values: &[f64]) -> Axis {
        let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let sorted: Vec<f64> = ascending(&finite).into_iter().map(|i| finite[i]).collect();
        let (low, high) = match (sorted.first(), sorted.last()) {
            (Some(&low), Some(&high)) => (low, high),
            _ => (0.0, 1.0),
        };
        let least = 1e-9 * (high - low);
        let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]);
        let gaps: Vec<f64> = gaps.filter(|gap| *gap > least).collect();
        let order = ascending(&gaps);
        let spacing = match order.get(gaps.len() / 2) {
            Some(&middle) => gaps[middle],
            None if low != 0.0 => low.abs(),
            None => 1.0,
        };
        Axis { low, high, spacing }
    }

    /// Returns the largest magnitude.
    pub(super) fn magnitude(&self) -> f64 {
        let largest = self.low.abs().max(self.high.abs());
        if largest > 0.0 { largest } else { 1.0 }
    }

    pub(super) fn range(&self) -> f64 {
        if self.high > self.low { self.high - self.low } else { self.magnitude() }
    }

    fn is_logarithmic(&self) -> bool {
        self.low > 0.0 && self.high > LOGARITHMIC * self.low
    }
}

/// A distribution of draws.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Uniform(f64, f64),
    /// Uniform in the logarithm; the third number is the fraction of negative draws.
    Logarithmic(f64, f64, f64),
    /// The reciprocal is uniform.
    Reciprocal(f64, f64),
}

impl Shape {
    /// Returns the quantile `u` of the distribution.
    fn at(self, u: f64) -> f64 {
        match self {
            Shape::Uniform(low, high) => low + u * (high - low),
            Shape::Reciprocal(low, high) => 1.0 / (1.0 / high + u * (1.0 / low - 1.0 / high)),
            Shape::Logarithmic(low, high, negative) => {
                let (sign, u) = match u < negative {
                    true => (-1.0, u / negative),
                    false => (1.0, (u - negative) / (1.0 - negative)),
                };
                sign * low * (high / low).powf(u)
            }
        }
    }

    fn scaled(self, factor: f64) -> Shape {
        match self {
            Shape::Uniform(low, high) => Shape::Uniform(factor * low, factor * high),
            Shape::Reciprocal(low, high) => Shape::Reciprocal(factor * low, factor * high),
            Shape::Logarithmic(low, high, negative) => {
                Shape::Logarithmic(factor * low, factor * high, negative)
            }
        }
    }
}

/// The distribution from which values of one parameter are drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    shapes: Vec<(f64, Shape)>,
    bounds: (f64, f64),
    /// Frequencies to scan if the parameter is a frequency.
    pub(super) frequencies: Option<Frequencies>,
    /// True for a dimensionless parameter in the argument of a periodic function.
    pub(super) is_phase: bool,
    /// If the parameter is a position: the function of the variables from which the model subtracts it, or which it
    /// compares with it (`<`, `<=`), for example x in `x - p`.
    pub(super) position: Option<Along>,
    /// The unit of the parameter; `None` if the program does not determine it.
    unit: Option<Unit>,
}

/// Frequencies of a scan, in the unit of the parameter. At the highest frequency, adjacent points differ by half a
/// turn. A step of the frequency changes the phase by an eighth of a turn over the whole range of the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frequencies {
    pub(super) highest: f64,
    pub(super) step: f64,
}

impl Range {
    /// Returns true if two parameters are of the same kind: positions along one variable, or quantities of one unit.
    /// Dimensionless parameters are not comparable, because their meaning depends on the model.
    pub(super) fn is_alike(&self, other: &Range) -> bool {
        let units = self.unit.as_ref().zip(other.unit.as_ref());
        let node = |range: &Range| range.position.as_ref().map(|along| along.node);
        let is_kind = |unit: &Unit| self.position.is_some() || !unit.is_none();
        node(self) == node(other)
            && units.is_some_and(|(own, other)| own.is_equal(other) && is_kind(own))
    }

    /// Returns the quantile `u` of the mixture.
    pub(crate) fn at(&self, u: f64) -> f64 {
        let total: f64 = self.shapes.iter().map(|(weight, _)| weight).sum();
        let mut left = u * total;
        let mut value = 0.0;
        for &(weight, shape) in &self.shapes {
            value = shape.at((left / weight).clamp(0.0, 1.0));
            if left < weight {
                break;
            }
            left -= weight;
        }
        self.inside(value)
    }

    /// Returns `value`, mirrored at a bound that it violates.
    pub(super) fn inside(&self, value: f64) -> f64 {
        let (lower, upper) = self.bounds;
        let mirrored = if value < lower {
            lower + (lower - value)
        } else if value > upper {
            upper - (value - upper)
        } else {
            value
        };
        mirrored.clamp(lower, upper)
    }
}

/// Returns the natural ranges of the parameters at the positions `of`.
pub(super) fn ranges(
    model: &Model,
    of: &[usize],
    bounds: &[(f64, f64)],
    seen: &Observations,
) -> Vec<Range> {
    let axes: Vec<Axis> = seen.columns.iter().map(|column| Axis::of(column)).collect();
    let response = Axis::of(&seen.y);
    let none = vec![false; bounds.len()];
    let (units, oscillating, positions) = match model {
        Model::Traced(program) => {
            (units::of_params(program), program.oscillating(), program.positions())
        }
        Model::Native(_) => (vec![None; bounds.len()], none, vec![None; bounds.len()]),
    };
    let points: Vec<Vec<f64>> =
        (0..seen.y.len()).map(|k| seen.columns.iter().map(|column| column[k]).collect()).collect();
    let frequencies = |i: usize| match model {
        Model::Traced(program) if oscillating[i] => {
            let phase = Axis::of(&program.phase_of(i, &points)?);
            let (highest, step) = (PI / phase.spacing, PI / 4.0 / phase.range());
            Some(Frequencies { highest, step })
        }
        _ => None,
    };
    let range = |&i: &usize| {
        let frequencies = frequencies(i);
        let kind = positions[i].map(|(kind, _)| kind);
        let mut shapes = match &units[i] {
            Some(unit) => natural(unit, (oscillating[i], kind), &axes, &response),
            None => of_any_unit(&axes),
        };
        let position = match model {
            Model::Traced(program) => Along::of(program, units[i].as_ref(), positions[i]),
            Model::Native(_) => None,
        };
        if let Some(along) = position.as_ref().filter(|along| !along.is_variable()) {
            let axis = Axis::of(&along.values(seen));
            let margin = 0.1 * axis.range();
            let total: f64 = shapes.iter().map(|(weight, _)| weight).sum();
            shapes.push((3.0 * total, Shape::Uniform(axis.low - margin, axis.high + margin)));
        }
        if let Some(Frequencies { highest, .. }) = frequencies {
            let total: f64 = shapes.iter().map(|(weight, _)| weight).sum();
            shapes.push((total, Shape::Uniform(0.0, highest)));
        }
        let (lower, upper) = bounds[i];
        if upper - lower < f64::INFINITY {
            let over = match lower > 0.0 && upper > LOGARITHMIC * lower {
                true => Shape::Logarithmic(lower, upper, 0.0),
                false => Shape::Uniform(lower, upper),
            };
            shapes = within(&shapes, lower, upper);
            let total: f64 = shapes.iter().map(|(weight, _)| weight).sum();
            let weight = if total > 0.0 { OVER_BOUNDS / (1.0 - OVER_BOUNDS) * total } else { 1.0 };
            shapes.push((weight, over));
        }
        let is_phase = oscillating[i] && units[i].as_ref().is_some_and(Unit::is_none);
        Range { shapes, bounds: bounds[i], frequencies, is_phase, position, unit: units[i].clone() }
    };
    of.iter().map(range).collect()
}

/// The quantity with which the model compares a position: a variable, or a dimensionless function of variables, such
/// as a logarithm.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Along {
    node: Id,
    function: Program,
}

impl Along {
    /// Returns the quantity with which the model compares a parameter of this unit; `None` if the parameter is not a
    /// position.
    pub(super) fn of(
        program: &Program,
        unit: Option<&Unit>,
        position: Option<(Position, Id)>,
    ) -> Option<Along> {
        let (_, node) = position.filter(|(kind, _)| *kind == Position::Own)?;
        let fits = match program.nodes[node as usize] {
            Node::Column(_) => unit?.single_column(1.0).is_some(),
            _ => unit?.is_none(),
        };
        fits.then(|| Along { node, function: program.part(node) })
    }

    fn is_variable(&self) -> bool {
        matches!(self.function.nodes[..], [Node::Column(_)])
    }

    /// Returns the value of the quantity at each point.
    pub(super) fn values(&self, seen: &Observations) -> Vec<f64> {
        let params = vec![0.0; self.function.params().len()];
        self.function.values(&seen.columns, seen.y.len(), &params)
    }

    /// Returns the value of the quantity at the independent variables `x`. `params` is not used.
    pub(super) fn at(&self, x: &[f64], params: &[f64]) -> f64 {
        self.function.evaluate(x, params)
    }
}

/// Returns the shapes that have at least a quarter of their probability within finite bounds.
fn within(shapes: &[(f64, Shape)], lower: f64, upper: f64) -> Vec<(f64, Shape)> {
    const TRIED: i32 = 16;
    let inside = |shape: Shape| {
        let at = |k: i32| shape.at((f64::from(k) + 0.5) / f64::from(TRIED));
        (0..TRIED).filter(|&k| (lower..=upper).contains(&at(k))).count()
    };
    shapes.iter().copied().filter(|&(_, shape)| 4 * inside(shape) >= TRIED as usize).collect()
}

/// Returns the shapes for the unit of a parameter. `oscillates`: true if the parameter occurs in the argument of a
/// periodic function; `position`: the kind of position, if the parameter is a position.
fn natural(
    unit: &Unit,
    (oscillates, position): (bool, Option<Position>),
    axes: &[Axis],
    response: &Axis,
) -> Vec<(f64, Shape)> {
    let factor = 10f64.powf(unit.decade.clamp(-200.0, 200.0));
    let scaled = |shapes: Vec<(f64, Shape)>| -> Vec<(f64, Shape)> {
        shapes.into_iter().map(|(weight, shape)| (weight, shape.scaled(factor))).collect()
    };
    if unit.is_none() {
        let shapes = match oscillates {
            true => {
                vec![(0.7, Shape::Uniform(-PI, PI)), (0.3, Shape::Logarithmic(1e-2, 1e2, NEGATIVE))]
            }
            false => vec![
                (0.6, Shape::Logarithmic(0.1, 10.0, NEGATIVE / 2.0)),
                (0.4, Shape::Logarithmic(1e-3, 1e3, NEGATIVE)),
            ],
        };
        return scaled(shapes);
    }
    match (unit.single_column(1.0), unit.single_column(-1.0)) {
        (Some(k), _) => scaled(like_x(&axes[k], oscillates, position)),
        (_, Some(k)) => scaled(like_rate(&axes[k])),
        _ => scaled(of_magnitude(unit, axes, response)),
    }
}

/// Returns the shapes for positions, widths and periods.
fn like_x(axis: &Axis, oscillates: bool, position: Option<Position>) -> Vec<(f64, Shape)> {
    let (range, magnitude) = (axis.range(), axis.magnitude());
    let margin = 0.1 * range;
    let of_position = if position == Some(Position::Own) { 3.0 } else { 0.5 };
    let mut shapes = vec![
        (of_position, Shape::Uniform(axis.low - margin, axis.high + margin)),
        (0.2, Shape::Logarithmic(0.1 * magnitude, 100.0 * magnitude, NEGATIVE / 2.0)),
    ];
    if axis.is_logarithmic() {
        shapes.push((of_position, Shape::Logarithmic(axis.low / 3.0, 3.0 * axis.high, 0.0)));
    }
    if position == Some(Position::Distance) {
        shapes.push((3.0, Shape::Uniform(-range, range)));
    }
    if position != Some(Position::Own) {
        shapes.push((1.0, Shape::Logarithmic(0.5 * axis.spacing, 3.0 * range, 0.0)));
        if oscillates {
            shapes.push((1.5, Shape::Reciprocal(2.0 * axis.spacing, 2.0 * range)));
        }
    }
    shapes
}

/// Returns the shapes for rates and frequencies.
fn like_rate(axis: &Axis) -> Vec<(f64, Shape)> {
    let largest = axis.magnitude().max(axis.range());
    let mut shapes =
        vec![(1.0, Shape::Logarithmic(0.1 / largest, 3.0 / axis.spacing, NEGATIVE / 2.0))];
    if axis.is_logarithmic() {
        shapes.push((1.0, Shape::Logarithmic(0.1 / axis.high, 3.0 / axis.low, NEGATIVE / 2.0)));
    }
    shapes
}

/// Returns the shapes for any other unit: decades around the magnitude of this unit in the data.
fn of_magnitude(unit: &Unit, axes: &[Axis], response: &Axis) -> Vec<(f64, Shape)> {
    let power = |size: &dyn Fn(&Axis) -> f64| -> f64 {
        let columns = unit.columns.iter().zip(axes).map(|(e, axis)| e * size(axis).log10());
        columns.sum::<f64>() + unit.value * response.range().log10()
    };
    let about = |center: f64| {
        let (low, high) =
            ((center - DECADES).clamp(-290.0, 290.0), (center + DECADES).clamp(-290.0, 290.0));
        Shape::Logarithmic(10f64.powf(low), 10f64.powf(high), NEGATIVE)
    };
    let mut shapes = vec![(1.0, about(power(&Axis::range)))];
    if axes.iter().any(|axis| axis.magnitude() > 10.0 * axis.range()) {
        shapes.push((1.0, about(power(&Axis::magnitude))));
    }
    if unit.value == 1.0 && unit.columns.iter().all(|e| *e == 0.0) {
        let margin = 0.1 * response.range();
        shapes.push((1.0, Shape::Uniform(response.low - margin, response.high + margin)));
    }
    shapes
}

/// Returns the shapes for a parameter of unknown unit: dimensionless numbers, and ranges in the units of x and 1/x.
fn of_any_unit(axes: &[Axis]) -> Vec<(f64, Shape)> {
    let mut shapes = vec![(1.0, Shape::Logarithmic(1e-2, 1e2, NEGATIVE))];
    for axis in axes {
        let (magnitude, margin) = (axis.magnitude(), 0.1 * axis.range());
        let weight = 1.0 / axes.len() as f64;
        shapes.extend([
            (weight, Shape::Logarithmic(1e-2 / magnitude, 1e2 / magnitude, NEGATIVE)),
            (weight, Shape::Logarithmic(1e-2 * magnitude, 1e2 * magnitude, NEGATIVE)),
            (2.0 * weight, Shape::Uniform(axis.low - margin, axis.high + margin)),
            (weight, Shape::Logarithmic(axis.spacing, 3.0 * axis.range(), NEGATIVE)),
        ]);
    }
    shapes
}

/// Calls `work` with a sample of at most `most` points. Uses all points if there are at most `most`, or if they are
/// correlated.
pub(super) fn on_sample<R>(
    points: &Points<'_>,
    most: usize,
    work: impl FnOnce(&Points<'_>) -> Result<R>,
) -> Result<R> {
    if points.used <= most || points.correlation.is_some() {
        return work(points);
    }
    let sample = Sample::of(points, most);
    let weights = |sigma| points.sigma.with_values(sigma);
    let data = data_of(sample.columns(), points.columns.len(), weights, points.infinite_x)?;
    let mut sampled = Points::validate(&data)?;
    if points.estimator == Estimator::Poisson {
        sampled.count_events()?;
    }
    work(&sampled)
}
