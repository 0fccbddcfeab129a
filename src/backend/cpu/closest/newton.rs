//! Newton's method for the closest points, from given initial shifts. Many searches run at the same time.

use super::super::code::BLOCK;
use super::super::machine::{Block, Inputs, Machine, Uniforms};
use super::bends::Bends;
use super::measured::{Curve, Measured};
use crate::data::values::Values;
use crate::normal::small::{cholesky, solve_upper, solve_upper_transposed};

/// Maximum length of the last step, relative to the distance or to the errors of x, whichever is smaller. Convergence
/// is quadratic, so the next step would have about the square of this length.
const LAST: f64 = 1e-6;
/// Maximum number of evaluations of a block.
const MOST_EVALUATIONS: usize = 100;

/// Simultaneous searches, one per lane. The residual r, the shifts u and the slopes a are defined in
/// [`closest`](super).
#[derive(Default)]
pub(super) struct Searches {
    machine: Machine,
    /// Position in the block of the measured point of each lane.
    pub(super) of: Vec<usize>,
    /// Independent variables at which the model is evaluated: one column per variable.
    pub(super) at: Vec<Vec<f64>>,
    /// √(r² + ‖u‖²) with the sign of the residual.
    pub(super) distance: Vec<f64>,
    /// 1/(σ√(1 + ‖a‖²)).
    pub(super) factor: Vec<f64>,
    /// Value of the model and its first slope, for each lane.
    pub(super) tangents: Vec<(f64, f64)>,
    /// Shifts, one number for each lane and inexact variable. `steps` are the current steps from these shifts.
    pub(super) shifts: Vec<f64>,
    steps: Vec<f64>,
    searches: Vec<Search>,
    local: Local,
}

/// State of the search for one point.
#[derive(Clone, Copy)]
struct Search {
    /// √(r² + ‖u‖²) at the current shifts.
    reach: f64,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Trying,
    /// The current step is the last one.
    Last,
    Done,
}

/// Quadratic model of one point, and scratch memory for a step.
#[derive(Default)]
struct Local {
    slopes: Vec<f64>,
    hessian: Vec<f64>,
    factor: Vec<f64>,
}

impl Searches {
    /// Removes all lanes.
    pub(super) fn clear(&mut self) {
        self.of.clear();
        self.searches.clear();
        self.shifts.clear();
        self.steps.clear();
    }

    /// Adds a lane for the point at this position of the block. Its search starts from the shifts `start`.
    pub(super) fn push(&mut self, point: usize, start: impl Iterator<Item = f64>) {
        self.of.push(point);
        self.searches.push(Search { reach: f64::INFINITY, phase: Phase::Trying });
        self.steps.extend(start);
        self.shifts.resize(self.steps.len(), 0.0);
    }

    /// Finds a minimum from each starting point. `bends` records the second derivatives of all iterations.
    pub(super) fn run(&mut self, curve: Curve<'_>, measured: &Measured, bends: &mut Bends) {
        let (code, k, lanes) = (&curve.code.slopes, measured.k, self.of.len());
        let uniforms = Uniforms::OfOne(&curve.numbers.slopes);
        self.at.resize(measured.x.len(), Vec::new());
        for (at, x) in self.at.iter_mut().zip(&measured.x) {
            at.resize(BLOCK, 0.0);
            at.iter_mut().zip(&self.of).for_each(|(at, &point)| *at = x[point]);
        }
        self.distance.resize(BLOCK, 0.0);
        self.factor.resize(BLOCK, 0.0);
        self.tangents.resize(BLOCK, (0.0, 0.0));
        self.machine.reserve(code.registers, 0);
        self.machine.broadcast(code, uniforms, lanes);
        let mut left = lanes;
        for evaluation in 0..MOST_EVALUATIONS {
            if left == 0 {
                break;
            }
            self.shift(curve, measured);
            let columns: Vec<Values<'_>> = self.at.iter().map(|c| Values::F64(c)).collect();
            let inputs = Inputs::new(&columns, Block::Run(0), lanes);
            self.machine.run(code, curve.kernels, uniforms, &inputs);
            let outputs: Vec<&[f64]> =
                code.outputs.iter().map(|&o| self.machine.source(o, &inputs)).collect();
            for i in 0..lanes {
                if self.searches[i].phase == Phase::Done {
                    continue;
                }
                let (p, sigma) = (self.of[i], measured.sigma(self.of[i]));
                let (weight, y) = (measured.weight[p], measured.y[p]);
                let mut point = Point {
                    search: &mut self.searches[i],
                    shifts: &mut self.shifts[i * k..][..k],
                    step: &mut self.steps[i * k..][..k],
                    local: &mut self.local,
                    sigma,
                };
                let residual = (outputs[0][i] - y) * weight;
                let noise = f64::EPSILON * (outputs[0][i].abs() + y.abs()) * weight;
                if point.accepts(residual, evaluation == 0) {
                    let square = point.slopes(weight, |o| outputs[1 + o][i]);
                    self.distance[i] = point.search.reach.copysign(residual);
                    self.factor[i] = weight / (1.0 + square).sqrt();
                    self.tangents[i] = (outputs[0][i], outputs.get(1).map_or(0.0, |a| a[i]));
                    bends.learn(outputs[1 + k..].iter().map(|second| second[i]));
                    let second = |o: usize| outputs[1 + k + o][i] * weight;
                    let given = |j: usize| measured.x[curve.code.inexact[j]][p];
                    point.next_step(residual, square, (noise, given), second);
                }
                left -= usize::from(self.searches[i].phase == Phase::Done);
            }
        }
        self.searches.iter_mut().for_each(|search| search.phase = Phase::Done);
        self.shift(curve, measured);
    }

    /// Sets the variables at which the model is evaluated: the measured x plus the shifts and the current step, if any.
    fn shift(&mut self, curve: Curve<'_>, measured: &Measured) {
        let k = measured.k;
        for (j, &c) in curve.code.inexact.iter().enumerate() {
            let (at, given) = (&mut self.at[c], &measured.x[c]);
            for (i, &point) in self.of.iter().enumerate() {
                let step = match self.searches[i].phase {
                    Phase::Done => 0.0,
                    Phase::Trying | Phase::Last => self.steps[i * k + j],
                };
                let shift = self.shifts[i * k + j] + step;
                // An exact or infinite x remains unchanged.
                if shift != 0.0 {
                    at[i] = given[point] + shift * measured.sigma(point)[j];
                } else {
                    at[i] = given[point];
                }
            }
        }
    }

    /// Replaces lane `to` by lane `from` of other searches, for the same point.
    pub(super) fn replace(&mut self, to: usize, other: &Searches, from: usize, k: usize) {
        self.distance[to] = other.distance[from];
        self.factor[to] = other.factor[from];
        for (at, other) in self.at.iter_mut().zip(&other.at) {
            at[to] = other[from];
        }
        self.shifts[to * k..][..k].copy_from_slice(&other.shifts[from * k..][..k]);
    }
}

/// The search for one closest point.
struct Point<'p> {
    search: &'p mut Search,
    shifts: &'p mut [f64],
    step: &'p mut [f64],
    local: &'p mut Local,
    /// Errors of the independent variables.
    sigma: &'p [f64],
}

impl Point<'_> {
    /// Accepts the current step if it does not increase the distance, else halves it. The first step is always
    /// accepted.
    fn accepts(&mut self, residual: f64, first: bool) -> bool {
        let square = |(u, s): (&f64, &f64)| (u + s) * (u + s);
        let shift = self.shifts.iter().zip(&*self.step).map(square).sum::<f64>().sqrt();
        let reach = residual.hypot(shift);
        // The effect of the last step can be below the rounding errors of the distance.
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

    /// Computes the slopes a and returns ‖a‖².
    fn slopes(&mut self, weight: f64, partial: impl Fn(usize) -> f64) -> f64 {
        let slopes = &mut self.local.slopes;
        slopes.clear();
        let slope = |(j, &s): (usize, &f64)| if s == 0.0 { 0.0 } else { partial(j) * s * weight };
        slopes.extend(self.sigma.iter().enumerate().map(slope));
        slopes.iter().map(|a| a * a).sum()
    }

    /// Sets the next step: the Newton step if the Hessian is positive definite, else the Gauss-Newton step. `second`:
    /// the second derivatives of f, divided by σ, in the order of `Program::with_slopes`.
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
        let (Local { slopes, hessian, factor }, sigma) = (&mut *self.local, self.sigma);
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
