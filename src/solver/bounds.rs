//! Bounds by an active set: parameters that sit on a bound and are pushed outwards stay there, and a
//! step that would leave the box is taken again with the offenders set on their bounds, as far as the
//! linear model keeps them there.

use super::linear_model::LinearModel;
use super::trust_region::TrustRegion;
use crate::constants::{HELD, RELEASE};
use serde::{Deserialize, Serialize};

/// Lower and upper bound of each free parameter, in the solver's scaled units.
pub(crate) struct Limits<'a> {
    pub(crate) limits: &'a [(f64, f64)],
}

/// On which bound a parameter sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// On its lower bound.
    Lower,
    /// On its upper bound.
    Upper,
}

impl Limits<'_> {
    /// Fills `moving` with the parameters that may move: those with an effect on the model that do
    /// not sit on a bound while the gradient pushes them outwards.
    pub(crate) fn moving(&self, q: &[f64], model: &LinearModel, moving: &mut Vec<usize>) {
        moving.clear();
        moving.extend((0..model.n).filter(|&j| model.norms[j] > 0.0 && !self.holds(q, model, j)));
    }

    /// Whether q[j] sits on a bound while the gradient pushes it outwards.
    pub(crate) fn holds(&self, q: &[f64], model: &LinearModel, j: usize) -> bool {
        let downhill = -model.gradient[j];
        match self.side(q, j) {
            Some(Side::Lower) => downhill <= 0.0,
            Some(Side::Upper) => downhill >= 0.0,
            None => false,
        }
    }

    /// Whether q[j] sits on a bound that the cost pushes it against by more than rounding, `cost` that of
    /// the point; one without any effect there is held, too. One whose column others can replace is not:
    /// its slope is 0 wherever theirs are.
    pub(crate) fn holds_firmly(&self, q: &[f64], model: &LinearModel, cost: f64, j: usize) -> bool {
        let residual = (2.0 * cost).sqrt();
        let pushed = model.gradient[j].abs() > HELD * model.norms[j] * residual;
        self.holds(q, model, j) && (pushed || model.norms[j] == 0.0)
    }

    /// On which bound q[j] sits, if any.
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
    /// Parameters that still move.
    moving: Vec<usize>,
    /// Parameters that the last round took over a bound.
    left: Vec<usize>,
    /// Parameters that were set on a bound, with the direction outwards.
    set: Vec<(usize, f64)>,
    /// Parameters that were taken off a bound again.
    released: Vec<usize>,
    r: Vec<f64>,
    z: Vec<f64>,
    scale: Vec<f64>,
    part: Vec<f64>,
    work: Vec<f64>,
}

impl BoundedStep {
    pub(crate) fn new(n: usize) -> Self {
        BoundedStep {
            region: TrustRegion::new(n),
            moving: Vec::with_capacity(n),
            left: Vec::with_capacity(n),
            set: Vec::with_capacity(n),
            released: Vec::with_capacity(n),
            r: vec![0.0; n * n],
            z: vec![0.0; n],
            scale: vec![0.0; n],
            part: vec![0.0; n],
            work: vec![0.0; (n + 1) * (2 * n + 1)],
        }
    }

    /// Writes the step from `q` to `delta` and returns its damping λ, and whether a bound cut it;
    /// parameters outside `moving` stay.
    ///
    /// Each round sets at least one more parameter on a bound. Where none leaves, a parameter that the
    /// linear model pushes inwards from the bound that it was set on moves again: rounds that set
    /// several at once set too many. Each is taken off once at most, so there are at most 3n rounds.
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
        self.released.clear();
        let mut lambda = guess;
        while !self.moving.is_empty() || self.release(model, delta) {
            let m = self.moving.len();
            if m == model.n {
                self.r.copy_from_slice(&model.r);
                self.z.copy_from_slice(&model.z);
            } else {
                model.restrict(&self.moving, delta, &mut self.r, &mut self.z, &mut self.work);
            }
            self.moving.iter().zip(&mut self.scale).for_each(|(&j, s)| *s = scale[j]);
            let (r, z, s) = (&self.r[..m * m], &self.z[..m], &self.scale[..m]);
            lambda = self.region.step(r, z, s, radius, guess, &mut self.part[..m]);
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
            self.moving.retain(|j| !self.left.contains(j));
        }
        (lambda, self.moving.len() < moving.len())
    }

    /// Lets that parameter move again which the linear model at the step pushes most strongly inwards
    /// from the bound that it was set on. Returns whether there is one.
    fn release(&mut self, model: &LinearModel, delta: &[f64]) -> bool {
        let n = model.n;
        if self.set.is_empty() {
            return false;
        }
        // The residual of the model, Rδ + z, and its gradient.
        let rest = &mut self.work[..n];
        for (i, t) in rest.iter_mut().enumerate() {
            *t = model.z[i] + (i..n).map(|j| model.r[j * n + i] * delta[j]).sum::<f64>();
        }
        let size = rest.iter().map(|t| t * t).sum::<f64>().sqrt();
        let inwards = |&(j, outwards): &(usize, f64)| {
            let slope: f64 = (0..=j).map(|i| model.r[j * n + i] * rest[i]).sum();
            slope * outwards.signum() / (model.norms[j] * size)
        };
        let candidates = self.set.iter().enumerate().filter(|(_, s)| !self.released.contains(&s.0));
        let strongest = candidates
            .map(|(i, s)| (i, inwards(s)))
            .filter(|&(_, push)| push > RELEASE)
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((i, _)) = strongest else {
            return false;
        };
        let (j, _) = self.set.swap_remove(i);
        self.released.push(j);
        self.moving.push(j);
        self.moving.sort_unstable();
        true
    }
}
