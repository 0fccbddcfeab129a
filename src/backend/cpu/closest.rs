//! The points of the curve that are closest to measured points whose x has errors, too.
//!
//! With the residual r = (f(ξ) − y)/σ and the shifts uₖ = (ξₖ − xₖ)/σₓₖ, the closest point ξ minimises
//! (r² + ‖u‖²)/2, a problem of its own for each point. There the gradient vanishes, a·r + u = 0 with the
//! slopes aₖ = ∂f/∂xₖ σₓₖ/σ, so the distance is d = ±√(r² + ‖u‖²) = r·√(1 + ‖a‖²), and what d changes with a
//! parameter is ∂f/∂p at ξ over σ√(1 + ‖a‖²): changes of ξ count in second order only. So a fit of d is one
//! of rows like any other, with exact partials (Boggs, Byrd and Schnabel, SIAM J. Sci. Stat. Comput. 8
//! (1987) 1052, who carry the shifts as unknowns instead).
//!
//! The closest point is found by Newton's method from the measured one, by steps that never lead away,
//! with the exact second derivatives of f: a pass depends on the parameters alone, not on passes before.

use super::assembly::Assembled;
use super::code::{BLOCK, Code};
use super::kernels::{self, Kernels};
use super::machine::{Block, Inputs, Machine, Uniforms, copy};
use crate::data::points::Points;
use crate::data::values::Values;
use crate::error::{Error, Result};
use crate::model::native::Model;
use crate::normal::small::{cholesky, solve_upper, solve_upper_transposed};

/// A step below this part of the distance, and of the errors of x, is the last one: the next would be the
/// square of it.
const LAST: f64 = 1e-6;
/// Evaluations of a block after which its points are as close as they get.
const MOST_EVALUATIONS: usize = 100;

/// Which independent variables have errors, and the model's slopes by them.
#[derive(Debug)]
pub(crate) struct SlopeCode {
    /// Positions of the independent variables that have errors.
    inexact: Vec<usize>,
    code: Assembled,
}

impl SlopeCode {
    /// # Errors
    /// [`Error::ModelKind`] for a native model, whose slopes are not known.
    pub(super) fn new(model: &Model, inexact: Vec<usize>) -> Result<SlopeCode> {
        let Model::Traced(program) = model else {
            let remedy = "write it as a closure over `Var`, which is traced";
            return Err(Error::ModelKind { what: "x_sigma", remedy });
        };
        let code = Code::compile(&program.with_slopes(&inexact)?).into();
        Ok(SlopeCode { inexact, code })
    }

    pub(super) fn uniforms(&self, params: &[f64], values: &mut Vec<f64>) {
        self.code.uniforms(params, values);
    }

    /// Operations per point and pass: about four evaluations.
    pub(super) fn operations(&self) -> usize {
        4 * self.code.steps.len()
    }
}

/// The distances of a block's points, and what their rows are multiplied by.
#[derive(Clone, Copy)]
pub(super) struct Distances<'a> {
    /// In row units, with the sign of the residual.
    pub(super) distance: &'a [f64],
    /// The row unit over σ√(1 + ‖a‖²).
    pub(super) factor: &'a [f64],
}

/// A block of points.
#[derive(Clone, Copy)]
pub(super) struct BlockPoints<'a> {
    /// The independent variables at which the model was evaluated.
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) block: Block<'a>,
    /// Where x has errors.
    pub(super) distances: Option<Distances<'a>>,
}

/// Room for finding the closest points of a block.
#[derive(Default)]
pub(super) struct ClosestPoints {
    machine: Machine,
    /// The independent variables where the model is evaluated, and as they were measured.
    at: Vec<Vec<f64>>,
    given: Vec<Vec<f64>>,
    y: Vec<f64>,
    distance: Vec<f64>,
    factor: Vec<f64>,
    searches: Vec<Search>,
    /// Of each point the shifts and the step from them, a number for each inexact variable.
    shifts: Vec<f64>,
    steps: Vec<f64>,
    local: Local,
}

/// The closest points of all points given, masked ones included.
///
/// # Errors
/// [`Error::ModelKind`] for a native model.
pub(crate) fn closest_points(
    model: &Model,
    points: &Points<'_>,
    params: &[f64],
) -> Result<Closest> {
    let slopes = SlopeCode::new(model, points.x_sigma.inexact())?;
    let mut uniforms = Vec::new();
    slopes.uniforms(params, &mut uniforms);
    let mut found = Closest { x: vec![Vec::new(); points.columns.len()], ..Closest::default() };
    let mut room = ClosestPoints::default();
    for start in (0..points.len()).step_by(BLOCK) {
        let len = BLOCK.min(points.len() - start);
        room.find((&slopes, &uniforms), kernels::detect(), points, (Block::Run(start), len));
        found.x.iter_mut().zip(&room.at).for_each(|(x, at)| x.extend(&at[..len]));
        found.distance.extend(&room.distance[..len]);
        found.factor.extend(&room.factor[..len]);
    }
    Ok(found)
}

/// The closest points of all points, and their distances in row units.
#[derive(Default)]
pub(crate) struct Closest {
    /// One column per independent variable.
    pub(crate) x: Vec<Vec<f64>>,
    /// With the sign of model − y.
    pub(crate) distance: Vec<f64>,
    /// What a partial by a parameter is multiplied by.
    pub(crate) factor: Vec<f64>,
}

/// How far the search for one point is.
#[derive(Clone, Copy)]
struct Search {
    /// √(r² + ‖u‖²) at the shifts so far.
    reach: f64,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Trying,
    /// The step under way is the last one.
    Last,
    Done,
}

/// One point's model, with room for a step.
#[derive(Default)]
struct Local {
    slopes: Vec<f64>,
    hessian: Vec<f64>,
    factor: Vec<f64>,
    /// Errors of the independent variables.
    sigma: Vec<f64>,
}

impl ClosestPoints {
    /// Finds the closest points of a block at the parameters that `uniforms` was made of.
    pub(super) fn find(
        &mut self,
        (slopes, uniforms): (&SlopeCode, &[f64]),
        kernels: &Kernels,
        points: &Points<'_>,
        (block, len): (Block<'_>, usize),
    ) {
        let k = slopes.inexact.len();
        self.load(points, (block, len), k);
        self.machine.reserve(slopes.code.registers, 0);
        self.machine.broadcast(&slopes.code, Uniforms::OfOne(uniforms), len);
        let mut left = len;
        for evaluation in 0..MOST_EVALUATIONS {
            let columns: Vec<Values<'_>> = self.at.iter().map(|c| Values::F64(c)).collect();
            let inputs = Inputs::new(&columns, Block::Run(0), len);
            self.machine.run(&slopes.code, kernels, Uniforms::OfOne(uniforms), &inputs);
            let outputs: Vec<&[f64]> =
                slopes.code.outputs.iter().map(|&o| self.machine.source(o, &inputs)).collect();
            for i in 0..len {
                if self.searches[i].phase == Phase::Done {
                    continue;
                }
                let index = block.index(i);
                let sigma = |c: usize| points.x_sigma.at(c, index);
                self.local.sigma.clear();
                self.local.sigma.extend(slopes.inexact.iter().map(|&c| sigma(c)));
                let weight = points.weight(index) / points.units.row;
                let mut point = Point {
                    search: &mut self.searches[i],
                    shifts: &mut self.shifts[i * k..][..k],
                    step: &mut self.steps[i * k..][..k],
                    local: &mut self.local,
                };
                let residual = (outputs[0][i] - self.y[i]) * weight;
                let noise = f64::EPSILON * (outputs[0][i].abs() + self.y[i].abs()) * weight;
                if point.accepts(residual, evaluation == 0) {
                    let square = point.slopes(k, weight, |o| outputs[1 + o][i]);
                    let reach = point.search.reach;
                    self.distance[i] = reach.copysign(residual) * points.units.row;
                    self.factor[i] = points.weight(index) / (1.0 + square).sqrt();
                    let second = |o: usize| outputs[1 + k + o][i] * weight;
                    let given = |j: usize| self.given[slopes.inexact[j]][i];
                    point.next_step(residual, square, (noise, given), second);
                }
                left -= usize::from(self.searches[i].phase == Phase::Done);
            }
            if left == 0 {
                break;
            }
            self.shift(slopes, points, block, len);
        }
        self.searches.iter_mut().for_each(|search| search.phase = Phase::Done);
        self.shift(slopes, points, block, len);
    }

    fn load(&mut self, points: &Points<'_>, (block, len): (Block<'_>, usize), k: usize) {
        let columns = points.columns.len();
        for room in [&mut self.at, &mut self.given] {
            room.resize(columns, Vec::new());
            room.iter_mut().for_each(|column| column.resize(BLOCK, 0.0));
        }
        for room in [&mut self.y, &mut self.distance, &mut self.factor] {
            room.resize(BLOCK, 0.0);
        }
        for (values, given) in points.columns.iter().zip(&mut self.given) {
            copy(values, block, &mut given[..len]);
        }
        for (at, given) in self.at.iter_mut().zip(&self.given) {
            at.copy_from_slice(given);
        }
        copy(&points.y, block, &mut self.y[..len]);
        self.searches.clear();
        self.searches.resize(len, Search { reach: f64::INFINITY, phase: Phase::Trying });
        for room in [&mut self.shifts, &mut self.steps] {
            room.clear();
            room.resize(len * k, 0.0);
        }
    }

    /// Sets where the model is evaluated: at the shifts plus the step under way, if there is one.
    fn shift(&mut self, slopes: &SlopeCode, points: &Points<'_>, block: Block<'_>, len: usize) {
        let k = slopes.inexact.len();
        for (j, &c) in slopes.inexact.iter().enumerate() {
            let (at, given) = (&mut self.at[c], &self.given[c]);
            for i in 0..len {
                let step = match self.searches[i].phase {
                    Phase::Done => 0.0,
                    Phase::Trying | Phase::Last => self.steps[i * k + j],
                };
                let shift = self.shifts[i * k + j] + step;
                // An x that has no error, or is infinite, stays as it is.
                if shift != 0.0 {
                    at[i] = given[i] + shift * points.x_sigma.at(c, block.index(i));
                } else {
                    at[i] = given[i];
                }
            }
        }
    }

    /// The independent variables of the closest points.
    pub(super) fn columns(&self) -> Vec<Values<'_>> {
        self.at.iter().map(|column| Values::F64(column)).collect()
    }

    pub(super) fn distances(&self, len: usize) -> Distances<'_> {
        Distances { distance: &self.distance[..len], factor: &self.factor[..len] }
    }
}

/// The search for one closest point.
struct Point<'p> {
    search: &'p mut Search,
    shifts: &'p mut [f64],
    step: &'p mut [f64],
    local: &'p mut Local,
}

impl Point<'_> {
    /// Takes the step under way if it leads no further away, else halves it. The first, of length 0, is
    /// always taken.
    fn accepts(&mut self, residual: f64, first: bool) -> bool {
        let square = |(u, s): (&f64, &f64)| (u + s) * (u + s);
        let shift = self.shifts.iter().zip(&*self.step).map(square).sum::<f64>().sqrt();
        let reach = residual.hypot(shift);
        // A last step is below the noise of distances.
        let slack = if self.search.phase == Phase::Last { 1e-9 } else { 4.0 * f64::EPSILON };
        if first || reach <= self.search.reach * (1.0 + slack) {
            self.search.reach = reach;
            self.shifts.iter_mut().zip(&*self.step).for_each(|(u, s)| *u += s);
            return true;
        }
        self.step.iter_mut().for_each(|s| *s *= 0.5);
        let tiny = self.step.iter().all(|s| s.abs() <= f64::EPSILON * self.search.reach);
        if tiny || self.search.phase == Phase::Last {
            self.search.phase = Phase::Done;
        }
        false
    }

    /// Sets the slopes a; returns ‖a‖².
    fn slopes(&mut self, k: usize, weight: f64, partial: impl Fn(usize) -> f64) -> f64 {
        let Local { slopes, sigma, .. } = &mut *self.local;
        slopes.clear();
        slopes.extend(
            (0..k).map(|j| if sigma[j] == 0.0 { 0.0 } else { partial(j) * sigma[j] * weight }),
        );
        slopes.iter().map(|a| a * a).sum()
    }

    /// Sets the next step: Newton's where the distance is convex, else the one for which f is linear. `second`:
    /// the second derivatives of f over σ, in the order of `Program::with_slopes`.
    fn next_step(
        &mut self,
        residual: f64,
        square: f64,
        (noise, given): (f64, impl Fn(usize) -> f64),
        second: impl Fn(usize) -> f64,
    ) {
        if self.search.phase == Phase::Last || !square.is_finite() {
            self.search.phase = Phase::Done;
            return;
        }
        let k = self.step.len();
        let Local { slopes, hessian, factor, sigma } = &mut *self.local;
        hessian.resize(k * k, 0.0);
        factor.resize(k * k, 0.0);
        let mut next = 0;
        for a in 0..k {
            for b in a..k {
                let curved = residual * second(next) * sigma[a] * sigma[b];
                hessian[b * k + a] = f64::from(a == b)
                    + slopes[a] * slopes[b]
                    + if curved.is_finite() { curved } else { 0.0 };
                next += 1;
            }
        }
        for ((s, a), u) in self.step.iter_mut().zip(&*slopes).zip(&*self.shifts) {
            *s = -(a * residual + u);
        }
        if cholesky(hessian, k, factor).is_ok() {
            solve_upper_transposed(factor, k, self.step);
            solve_upper(factor, k, self.step);
        } else {
            let along: f64 = slopes.iter().zip(&*self.step).map(|(a, s)| a * s).sum();
            self.step.iter_mut().zip(&*slopes).for_each(|(s, a)| *s -= a * along / (1.0 + square));
        }
        let length = self.step.iter().map(|s| s * s).sum::<f64>().sqrt();
        let of_x = |(j, s): (usize, &f64)| if *s == 0.0 { 0.0 } else { (given(j) / s).abs() };
        let rounding = noise + f64::EPSILON * sigma.iter().enumerate().map(of_x).sum::<f64>();
        self.search.phase = if length == 0.0 || !length.is_finite() {
            Phase::Done
        } else if length <= LAST * self.search.reach.min(1.0) + 4.0 * rounding {
            Phase::Last
        } else {
            Phase::Trying
        };
    }
}
