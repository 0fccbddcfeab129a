//! The state of a minimisation: where it stands, what it knows there, where it might go. It is kept
//! from fit to fit, so that a fit of a batch allocates nothing.

use super::anderson::Anderson;
use super::bounds::BoundedStep;
use super::linear_model::LinearModel;
use super::problem::Problem;
use super::run::Scaling;
use super::work::Work;
use crate::normal::{Normal, RFactor};

/// The state of a minimisation. `q` are the free parameters in units of the columns' powers of two.
pub(super) struct State {
    pub(super) scaling: Scaling,
    pub(super) columns: Vec<f64>,
    pub(super) limits: Vec<(f64, f64)>,
    pub(super) params: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) normal: Normal,
    pub(super) model: LinearModel,
    pub(super) moving: Vec<usize>,
    /// The diagonal of D.
    pub(super) scale: Vec<f64>,
    pub(super) radius: f64,
    pub(super) lambda: f64,
    pub(super) stepper: BoundedStep,
    pub(super) delta: Vec<f64>,
    pub(super) trial: Trial,
    /// The best point of the refinement.
    pub(super) best: Trial,
    pub(super) mixing: Anderson,
    /// Whether the observer asked to stop.
    pub(super) stopped: bool,
    pub(super) factor: RFactor,
    /// Room for the Gauss-Newton problem of the moving parameters.
    pub(super) reduced: Reduced,
    pub(super) work: Work,
    /// Accepted steps before this run.
    pub(super) earlier: usize,
    pub(super) effects: Vec<f64>,
}

/// A point that may be accepted.
pub(super) struct Trial {
    pub(super) params: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) normal: Normal,
}

pub(super) struct Reduced {
    pub(super) r: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) step: Vec<f64>,
    pub(super) work: Vec<f64>,
    /// Of a deficient problem: the columns that are kept, their parameters, and their step.
    pub(super) kept: Vec<usize>,
    pub(super) basis: Vec<usize>,
    pub(super) part: Vec<f64>,
}

impl State {
    /// For a model of `params` parameters, `n` of them free.
    pub(super) fn new(params: usize, n: usize) -> State {
        let line = vec![0.0; n];
        let trial =
            || Trial { params: vec![0.0; params], q: vec![0.0; n], normal: Normal::zero(n) };
        State {
            scaling: Scaling::Monotone,
            columns: vec![1.0; n],
            limits: vec![(0.0, 0.0); n],
            params: vec![0.0; params],
            q: line.clone(),
            normal: Normal::zero(n),
            model: LinearModel::new(n),
            moving: Vec::with_capacity(n),
            scale: line.clone(),
            radius: 0.0,
            lambda: 0.0,
            stepper: BoundedStep::new(n),
            delta: line.clone(),
            trial: trial(),
            best: trial(),
            mixing: Anderson::new(n),
            stopped: false,
            factor: RFactor::zero(n),
            reduced: Reduced {
                r: vec![0.0; n * n],
                z: line.clone(),
                step: line.clone(),
                kept: Vec::with_capacity(n),
                basis: Vec::with_capacity(n),
                part: line,
                work: vec![0.0; (n + 1) * (2 * n + 1)],
            },
            work: Work::default(),
            earlier: 0,
            effects: Vec::with_capacity(n),
        }
    }

    /// Forgets the fit before: what a run does not set when it begins.
    pub(super) fn forget(&mut self, problem: &Problem, work: Work) {
        self.columns.fill(1.0);
        self.scale.fill(0.0);
        self.limits.clear();
        self.limits.extend(problem.free.iter().map(|&k| problem.bounds[k]));
        self.params.copy_from_slice(&problem.start);
        self.stopped = false;
        self.work = work;
        self.earlier = work.iterations;
    }
}

impl Trial {
    /// Becomes a copy of the given point.
    pub(super) fn keep(&mut self, params: &[f64], q: &[f64], normal: &Normal) {
        self.params.copy_from_slice(params);
        self.q.copy_from_slice(q);
        self.normal.clone_from(normal);
    }
}
