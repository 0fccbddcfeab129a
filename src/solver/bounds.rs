//! Bounds, by an active-set method. Parameters on a bound stay there while the gradient pushes them outwards. A step
//! that would leave the box is recomputed with the violating parameters set on their bounds. Parameters that the
//! linear model then pushes inwards are released again.

use super::linear_model::LinearModel;
use super::trust_region::TrustRegion;
use crate::constants::{HELD, RELEASE};
use crate::normal::{Arrow, Triangular};
use serde::{Deserialize, Serialize};

/// Lower and upper bound of each free parameter, in the solver's scaled units.
pub(crate) struct Limits<'a> {
    pub(crate) limits: &'a [(f64, f64)],
}

/// The bound that a parameter is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// The lower bound.
    Lower,
    /// The upper bound.
    Upper,
}

impl Limits<'_> {
    /// Fills `moving` with the parameters that may move: they have an effect on the model, and the gradient does not
    /// push them against a bound.
    pub(crate) fn moving(&self, q: &[f64], model: &LinearModel, moving: &mut Vec<usize>) {
        moving.clear();
        moving.extend((0..model.n).filter(|&j| model.norms[j] > 0.0 && !self.holds(q, model, j)));
    }

    /// Returns true if q[j] is on a bound and the gradient pushes it outwards.
    pub(crate) fn holds(&self, q: &[f64], model: &LinearModel, j: usize) -> bool {
        let downhill = -model.gradient[j];
        match self.side(q, j) {
            Some(Side::Lower) => downhill <= 0.0,
            Some(Side::Upper) => downhill >= 0.0,
            None => false,
        }
    }

    /// Returns true if q[j] is on a bound and either the gradient pushes it outwards by more than rounding, or its
    /// column is 0. `cost`: the cost at q. Example of a parameter on a bound that is not held firmly: its column is a
    /// linear combination of columns of other parameters, for which the gradient is 0. Then the gradient is also 0 for
    /// this parameter.
    pub(crate) fn holds_firmly(&self, q: &[f64], model: &LinearModel, cost: f64, j: usize) -> bool {
        let residual = (2.0 * cost).sqrt();
        let pushed = model.gradient[j].abs() > HELD * model.norms[j] * residual;
        self.holds(q, model, j) && (pushed || model.norms[j] == 0.0)
    }

    /// Returns the bound that q[j] is on; `None` if it is between its bounds.
    pub(crate) fn side(&self, q: &[f64], j: usize) -> Option<Side> {
        let (lower, upper) = self.limits[j];
        if q[j] <= lower {
            Some(Side::Lower)
        } else if q[j] >= upper {
            Some(Side::Upper)
        } else {
            None
        }
    }
}

/// Finds steps within a trust region and a box.
pub(crate) struct BoundedStep {
    region: TrustRegion,
    /// Parameters that are not set on a bound.
    moving: Vec<usize>,
    /// Parameters that crossed a bound in the last round.
    left: Vec<usize>,
    /// Parameters that were set on a bound, with the direction outwards.
    set: Vec<(usize, f64)>,
    /// For each parameter, true if it was released from a bound.
    released: Vec<bool>,
    /// Parameters that may be released, as (block, inward push, parameter).
    candidates: Vec<(usize, f64, usize)>,
    /// Triangular problem of the moving parameters.
    problem: Triangular,
    scale: Vec<f64>,
    part: Vec<f64>,
    /// Residual of the linear model at the step, and in `slopes` the gradient of its cost there.
    rest: Vec<f64>,
    slopes: Vec<f64>,
    work: Vec<f64>,
}

impl BoundedStep {
    pub(crate) fn new(shape: &Arrow) -> Self {
        let n = shape.n();
        BoundedStep {
            region: TrustRegion::new(shape),
            moving: Vec::with_capacity(n),
            left: Vec::with_capacity(n),
            set: Vec::with_capacity(n),
            released: vec![false; n],
            candidates: Vec::with_capacity(n),
            problem: Triangular::zero(shape),
            scale: vec![0.0; n],
            part: vec![0.0; n],
            rest: vec![0.0; n],
            slopes: vec![0.0; n],
            work: Vec::new(),
        }
    }

    /// Writes the step from `q` to `delta`. Returns its damping λ, and true if a bound cut the step. Parameters outside
    /// `moving` do not change.
    ///
    /// Each round sets the parameters that cross a bound on this bound. If a round sets several parameters, some of
    /// them may not belong on their bounds. Therefore, as soon as no parameter crosses a bound, one parameter of each
    /// block is released: the one that the linear model pushes inwards most strongly. Then the rounds continue. Since
    /// each parameter is released at most once, there are at most 3n rounds.
    #[allow(clippy::too_many_arguments)] // the state of an iteration, each by its name
    pub(crate) fn step(
        &mut self,
        model: &LinearModel,
        limits: &Limits<'_>,
        q: &[f64],
        moving: &[usize],
        scale: &[f64],
        radius: f64,
        guess: f64,
        delta: &mut [f64],
    ) -> (f64, bool) {
        delta.fill(0.0);
        self.moving.clear();
        self.moving.extend_from_slice(moving);
        self.set.clear();
        self.released.fill(false);
        let mut lambda = guess;
        while !self.moving.is_empty() || self.release(model, delta) {
            let m = self.moving.len();
            if m == model.n {
                self.problem.copy_from(&model.problem);
            } else {
                let (moving, into) = (&self.moving, &mut self.problem);
                model.problem.restrict(moving, delta, into, &mut self.work);
            }
            self.moving.iter().zip(&mut self.scale).for_each(|(&j, s)| *s = scale[j]);
            let (scale, part) = (&self.scale[..m], &mut self.part[..m]);
            lambda = self.region.step(&self.problem, scale, radius, guess, part);
            self.moving.iter().zip(&self.part).for_each(|(&j, &d)| delta[j] = d);
            let inside = |j: usize| {
                let (lower, upper) = limits.limits[j];
                (lower..=upper).contains(&(q[j] + delta[j])) || delta[j].is_nan()
            };
            self.left.clear();
            self.left.extend(self.moving.iter().copied().filter(|&j| !inside(j)));
            if self.left.is_empty() {
                if self.release(model, delta) {
                    continue;
                }
                break;
            }
            for &j in &self.left {
                let (lower, upper) = limits.limits[j];
                self.set.push((j, delta[j]));
                delta[j] = if delta[j] < 0.0 { lower - q[j] } else { upper - q[j] };
            }
            self.moving.retain(|j| self.left.binary_search(j).is_err());
        }
        (lambda, self.moving.len() < moving.len())
    }

    /// Releases one parameter of each block and one common parameter: the one that the linear model at the step pushes
    /// inwards most strongly from the bound on which it was set. Returns true if a parameter was released.
    fn release(&mut self, model: &LinearModel, delta: &[f64]) -> bool {
        if self.set.is_empty() {
            return false;
        }
        // The residual of the linear model, Rδ + z, and the gradient of the cost there.
        let rest = &mut self.rest;
        model.problem.rows_times(delta, |i, row, z| rest[i] = z + row);
        let size = rest.iter().map(|t| t * t).sum::<f64>().sqrt();
        let slopes = &mut self.slopes;
        model.problem.columns_times(rest, |j, slope| slopes[j] = slope);
        let inwards =
            |j: usize, outwards: f64| slopes[j] * outwards.signum() / (model.norms[j] * size);
        let candidates = &mut self.candidates;
        candidates.clear();
        for &(j, outwards) in self.set.iter().rev().filter(|(j, _)| !self.released[*j]) {
            let push = inwards(j, outwards);
            if push > RELEASE {
                let block = model.problem.shape.block_of(j).unwrap_or(usize::MAX);
                candidates.push((block, push, j));
            }
        }
        // Sorts the strongest push of each block first.
        candidates.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        candidates.dedup_by_key(|candidate| candidate.0);
        if candidates.is_empty() {
            return false;
        }
        for &(.., j) in &*candidates {
            self.released[j] = true;
            self.moving.push(j);
        }
        self.set.retain(|(j, _)| !self.released[*j]);
        self.moving.sort_unstable();
        true
    }
}
