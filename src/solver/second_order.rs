//! Classification of a termination by second derivatives, if the linear model of the residuals does not suffice.
//!
//! Steps and stopping rules use JᵀJ as the Hessian of the cost. If columns of J vanish or coincide at the minimum
//! while residuals do not vanish, only the omitted term Σ rᵢ∇²fᵢ distinguishes a minimum from a saddle. Examples: a
//! model that is even in a parameter whose best value is 0, and two terms that become equal. The linear model then
//! predicts decreases that do not occur, so that a minimum looks like a failure; or its slope is zero at a saddle.
//! The full Hessian is computed from differences of the gradient, which every evaluation computes exactly.

use super::bounds::{Limits, Side};
use super::minimise::OnHost;
use super::outcome::{Failure, Fault};
use super::runs::Next;
use super::search::Search;
use super::state::State;
use super::termination::Termination;
use crate::normal::Summary;
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use std::collections::HashSet;

/// Step of the differences, as a fraction of a parameter's size: the cube root of ε balances truncation and rounding.
const DIFFERENCE: f64 = 6e-6;
/// If the values of a model have the relative noise η, the relative error of its gradients is η^⅔. The step is then
/// the cube root of this error, η^²⁄⁹, and the relative error of curvatures is η^⁴⁄⁹.
const OF_NOISE: f64 = 2.0 / 9.0;
/// A curvature below this fraction of the largest one, with scaled parameters, is 0 to the accuracy of differences.
const FLAT: f64 = 1e-7;
/// Relative change of the cost that defines the size of a parameter: a change of this parameter alone by its size
/// changes the cost by this fraction or slightly less.
const SEEN: f64 = 1e-3;
/// Sizes are searched up to this multiple of the parameter's natural size or of its starting value.
const FARTHEST: f64 = 10.0;
/// Maximum number of trials of a size; they suffice to find any size in the range of f64.
const TRIALS: usize = 24;
/// A parameter has lost its effect if a change that is significant in one direction changes the cost by less than
/// this fraction in the other direction.
const NO_EFFECT: f64 = 1e-8;
/// Assumed size of a parameter whose value is 0, if nothing else is known about it.
const FROM_ZERO: f64 = 0.01;
/// A change of the cost above this multiple of its rounding is significant.
const NOISY: f64 = 100.0;
/// A parameter is near a bound if their distance is less than this fraction of its size.
const CREEPING: f64 = 1e-6;
/// Maximum number of Newton steps with one Hessian, towards a minimum that Gauss-Newton steps could not reach.
const NEWTON_STEPS: usize = 4;
/// Maximum number of Hessians for these Newton steps.
const HESSIANS: usize = 8;
/// Maximum number of times that a step is shortened if it does not lower the cost.
const SHORTENINGS: i32 = 5;
/// Lengths of trial steps down from a saddle, in units of the size of the parameter that changes most.
const DESCENTS: [f64; 5] = [1e-2, 0.1, 0.5, 2.0, 10.0];
/// Maximum number of parameters that are examined together; each parameter requires several evaluations of all points.
const MOST_UNDECIDED: usize = 64;
/// A decrease of the cost by more than this fraction is larger than the rounding error of the sums.
const FALL: f64 = 1e-12;

/// Free parameters that are not held by a bound and that occur in the model.
struct Undecided {
    of: Vec<usize>,
    /// Size of each parameter: a change of this parameter alone that is significant in the cost.
    sizes: Vec<f64>,
    /// True if the change by each size is significant in both directions.
    on_both_sides: bool,
}

/// Hessian of the cost with respect to the undecided parameters, scaled to a unit diagonal.
struct Curvature<'a> {
    by: &'a Undecided,
    /// Change of each parameter that corresponds to 1 in the scaled Hessian.
    unit: Vec<f64>,
    eigen: SymmetricEigen<f64, nalgebra::Dyn>,
    /// Fraction of the largest curvature up to which a curvature counts as 0.
    least: f64,
}

/// Result of Newton's steps.
enum Walk {
    /// A minimum was reached: the remaining predicted decrease is within the tolerances.
    Arrived,
    /// The cost is lower at the last point, and a new Hessian may lower it further.
    Lower,
    Stuck,
}

impl Curvature<'_> {
    /// Returns the magnitude up to which eigenvalues count as 0, because of the accuracy of differences.
    fn flat(&self) -> f64 {
        self.least * self.eigen.eigenvalues.amax()
    }

    fn is_saddle(&self) -> bool {
        self.eigen.eigenvalues.min() < -self.flat()
    }

    fn is_strict(&self) -> bool {
        self.eigen.eigenvalues.min() > self.flat()
    }
}

impl OnHost<'_> {
    /// Classifies a termination that the linear model does not decide. Other terminations are returned unchanged.
    pub(super) fn look_again(&mut self, reason: Termination) -> Result<Next, Failure> {
        if !self.search.is_doubtful(reason) || self.search.interrupted().is_some() {
            return Ok(Next::End(reason));
        }
        match self.decide(reason) {
            Err(Failure::Backend(Fault::Stopped(by))) => Ok(Next::End(self.search.stopped(by))),
            decided => decided,
        }
    }

    /// Performs Newton steps from the starting point of the run. They converge even if Gauss-Newton steps are slow
    /// because residuals are large and the model is curved, provided that the minimum of the cost is strict.
    pub(super) fn newton_from_start(&mut self) -> Result<Termination, Failure> {
        let State { model, normal, .. } = &mut *self.search.state;
        model.set_lengths(normal);
        match self.decide(Termination::NoProgress) {
            Err(Failure::Backend(Fault::Stopped(by))) => Ok(self.search.stopped(by)),
            Ok(Next::End(reason)) => Ok(reason),
            Ok(Next::From(_)) => Ok(Termination::NoProgress),
            Err(failure) => Err(failure),
        }
    }

    fn decide(&mut self, reason: Termination) -> Result<Next, Failure> {
        let by = self.undecided(reason)?;
        for _ in 0..HESSIANS {
            let Some(curvature) = self.curvature(&by)? else { break };
            if curvature.is_saddle() {
                return Ok(self.below(&curvature)?.map_or(Next::End(reason), Next::From));
            }
            if reason.is_converged() {
                self.set_on_bounds(&by.of)?;
                break;
            }
            // A flat valley may contain lower points at any distance.
            if !(by.on_both_sides && curvature.is_strict()) {
                break;
            }
            match self.newton(&curvature)? {
                Walk::Arrived => {}
                Walk::Lower => continue,
                Walk::Stuck => break,
            }
            self.set_on_bounds(&by.of)?;
            return Ok(Next::End(Termination::Cost));
        }
        Ok(Next::End(reason))
    }

    /// Returns the decrease of the cost that a step must exceed to count as progress.
    fn tolerance(&self) -> f64 {
        match self.search.task.options.ftol {
            0.0 => 0.0,
            ftol => (ftol * self.search.bulk()).max(self.search.noise()),
        }
    }

    /// Moves parameters that are near a bound onto this bound, if the cost does not rise. This is needed, for example,
    /// for a parameter that enters the model as its square and approaches its bound 0 slowly.
    fn set_on_bounds(&mut self, of: &[usize]) -> Result<(), Failure> {
        let beside = |&j: &usize| self.search.bound_beside(j).map(|bound| (j, bound));
        let moved: Vec<(usize, f64)> = of.iter().filter_map(beside).collect();
        if moved.is_empty() || self.gradient_at(&moved, of)?.is_none() {
            return Ok(());
        }
        let state = &self.search.state;
        if state.trial.normal.cost <= state.normal.cost + self.search.noise() {
            self.search.exchange();
        }
        Ok(())
    }

    /// Returns the parameters to examine. If there are more than [`MOST_UNDECIDED`] and the fit has converged, only the
    /// doubtful parameters are returned. If these are also too many, or the fit has not converged, the result is empty.
    fn undecided(&mut self, reason: Termination) -> Result<Undecided, Failure> {
        let mut of = self.search.undecided();
        if of.len() > MOST_UNDECIDED {
            of = if reason.is_converged() { self.search.in_doubt(of) } else { Vec::new() };
        }
        if of.len() > MOST_UNDECIDED {
            of.clear();
        }
        let mut by = Undecided { sizes: Vec::with_capacity(of.len()), of, on_both_sides: true };
        for &j in &by.of {
            let (size, on_both_sides) = self.size_in_cost(j, &by.of)?;
            by.sizes.push(size);
            by.on_both_sides &= on_both_sides;
        }
        Ok(by)
    }

    /// Returns the Hessian at the current point. Returns `None` if the model has no finite value near the point, if no
    /// parameter has an effect, or if a limit ends the fit.
    fn curvature<'u>(&mut self, by: &'u Undecided) -> Result<Option<Curvature<'u>>, Failure> {
        let Undecided { of, sizes, .. } = by;
        let m = of.len();
        let noise = self.search.state.noise.powf(OF_NOISE);
        let (difference, least) = (DIFFERENCE.max(noise), FLAT.max(noise * noise));
        let mut hessian = DMatrix::zeros(m, m);
        for (c, (&j, &size)) in of.iter().zip(sizes).enumerate() {
            let at = self.search.state.q[j];
            let (low, high) = self.search.state.limits[j];
            let (below, above) =
                ((at - difference * size).max(low), (at + difference * size).min(high));
            let mut gradients = [DVector::zeros(m), DVector::zeros(m)];
            for (gradient, to) in gradients.iter_mut().zip([below, above]) {
                let Some(found) = self.gradient_at(&[(j, to)], of)? else { return Ok(None) };
                *gradient = found;
            }
            let [first, second] = gradients;
            let column = (second - first) / (above - below);
            (0..m).for_each(|r| hessian[(r, c)] = column[r] * sizes[r] * size);
        }
        if !hessian.iter().all(|v| v.is_finite()) {
            return Ok(None);
        }
        hessian = 0.5 * (&hessian + hessian.transpose());
        // A parameter without curvature keeps its size.
        let largest = hessian.amax();
        let root = |j: usize| match hessian[(j, j)].abs() {
            h if h > least * least * largest => h.sqrt(),
            _ => largest.sqrt(),
        };
        let roots: Vec<f64> = (0..m).map(root).collect();
        if m == 0 || largest == 0.0 {
            return Ok(None);
        }
        let scaled = DMatrix::from_fn(m, m, |i, j| hessian[(i, j)] / (roots[i] * roots[j]));
        let unit = sizes.iter().zip(&roots).map(|(size, root)| size / root).collect();
        Ok(Some(Curvature { by, unit, eigen: scaled.symmetric_eigen(), least }))
    }

    /// Returns the size of parameter j, and true if a change by this size is significant in both directions. The size
    /// is a change of this parameter alone that changes the cost by slightly less than the fraction [`SEEN`]; a change
    /// at most ten times larger exceeds [`SEEN`]. If no trial change exceeds it, the size is the largest trial change.
    fn size_in_cost(&mut self, j: usize, of: &[usize]) -> Result<(f64, bool), Failure> {
        let state = &self.search.state;
        let begun =
            self.search.task.problem.start[self.search.task.problem.free[j]] / state.columns[j];
        let mut size = self.search.natural_size(j);
        let most = FARTHEST * size.max(begun.abs());
        let (mut hidden, mut seen) = (None, None);
        let mut least = 0.0;
        let mut factor = 10.0;
        for _ in 0..TRIALS {
            let [low, high] = self.changes(j, size, of)?;
            let shown = low.max(high) > SEEN;
            *(if shown { &mut seen } else { &mut hidden }) = Some(size);
            // Uses the smallest change that is significant in the cost or, if there is none, the largest change.
            if shown || seen.is_none() {
                least = low.min(high);
            }
            size = match (hidden, seen) {
                (Some(low), Some(high)) if high <= 10.0 * low => break,
                (Some(low), Some(high)) => f64::sqrt(low) * f64::sqrt(high),
                (Some(low), None) if low >= most => break,
                (Some(low), None) => (factor * low).min(most),
                (None, _) => size / factor,
            };
            if hidden.is_none() != seen.is_none() {
                factor *= factor;
            }
            if !(size > f64::MIN_POSITIVE && size.is_finite()) {
                break;
            }
        }
        Ok((hidden.unwrap_or(size), least > NO_EFFECT))
    }

    /// Returns the relative changes of the cost if parameter j is decreased and increased by `by`. A change is infinite
    /// if the cost is not finite there. If j is on a bound, both values are the change away from the bound.
    fn changes(&mut self, j: usize, by: f64, of: &[usize]) -> Result<[f64; 2], Failure> {
        let state = &self.search.state;
        let (at, cost, (low, high)) = (state.q[j], state.normal.cost, state.limits[j]);
        let one = cost.max(NOISY / SEEN * self.search.noise());
        let mut found = [f64::INFINITY; 2];
        for (found, to) in found.iter_mut().zip([(at - by).max(low), (at + by).min(high)]) {
            if self.gradient_at(&[(j, to)], of)?.is_some() {
                *found = (self.search.state.trial.normal.cost - cost).abs() / one;
            }
        }
        if at <= low {
            found[0] = found[1];
        } else if at >= high {
            found[1] = found[0];
        }
        Ok(found)
    }

    /// Evaluates the trial point that differs from the current one in the free parameters `moved`. Returns the gradient
    /// with respect to `of`; `None` if the model has no finite value there, or a limit ends the fit.
    pub(super) fn gradient_at(
        &mut self,
        moved: &[(usize, f64)],
        of: &[usize],
    ) -> Result<Option<DVector<f64>>, Failure> {
        let search = &mut self.search;
        if search.interrupted().is_some() {
            return Ok(None);
        }
        let state = &mut *search.state;
        state.trial.params.copy_from_slice(&state.params);
        state.trial.q.copy_from_slice(&state.q);
        for &(j, to) in moved {
            let (lower, upper) = search.task.problem.bounds[search.task.problem.free[j]];
            let value = (to * state.columns[j]).clamp(lower, upper);
            state.trial.params[search.task.problem.free[j]] = value;
            state.trial.q[j] = value / state.columns[j];
        }
        self.evaluator.normal(&state.trial.params, &state.columns, &mut state.trial.normal)?;
        search.evaluated(self.evaluator.noise());
        let normal = &self.search.state.trial.normal;
        let slopes = || DVector::from_iterator(of.len(), of.iter().map(|&j| normal.jtr(j)));
        Ok(normal.is_finite().then(slopes))
    }

    /// Performs Newton steps with this Hessian as long as they lower the cost or do not raise it beyond rounding.
    fn newton(&mut self, curvature: &Curvature<'_>) -> Result<Walk, Failure> {
        let Curvature { by: Undecided { of, .. }, unit, eigen, .. } = curvature;
        let begun = self.search.state.normal.cost;
        let slopes = of.iter().map(|&j| self.search.state.normal.jtr(j));
        let mut slopes = DVector::from_iterator(of.len(), slopes);
        let mut promised = f64::INFINITY;
        for step in 0..=NEWTON_STEPS {
            let scaled = DVector::from_fn(of.len(), |i, _| slopes[i] * unit[i]);
            let mut along = eigen.eigenvectors.tr_mul(&scaled);
            let fall: f64 = along
                .iter_mut()
                .zip(eigen.eigenvalues.iter())
                .map(|(a, &l)| {
                    let part = 0.5 * *a * *a / l;
                    *a /= -l;
                    part
                })
                .sum();
            let tolerance = self.tolerance();
            let left = match self.search.state.normal.cost < begun - tolerance {
                true => Walk::Lower,
                false => Walk::Stuck,
            };
            let arrived = fall <= tolerance;
            // The walk ends if the predicted decrease no longer shrinks, or if the last step is lost in rounding.
            let enough = step == NEWTON_STEPS || fall >= 0.25 * promised;
            if (arrived && enough) || self.search.interrupted().is_some() {
                return Ok(if arrived { Walk::Arrived } else { Walk::Stuck });
            }
            if step == NEWTON_STEPS {
                return Ok(left);
            }
            promised = fall;
            let changes = &eigen.eigenvectors * along;
            let changes: Vec<f64> = changes.iter().zip(unit).map(|(c, unit)| c * unit).collect();
            match self.go(of, &changes, arrived)? {
                Some(found) => slopes = found,
                None if arrived => return Ok(Walk::Arrived),
                None => return Ok(left),
            }
        }
        Ok(Walk::Stuck)
    }

    /// Changes the parameters by `changes`, or less if the cost rises and the minimum is not `near`. Returns the
    /// gradient at the new point; `None` if no step succeeds.
    fn go(
        &mut self,
        of: &[usize],
        changes: &[f64],
        near: bool,
    ) -> Result<Option<DVector<f64>>, Failure> {
        for shortening in 0..=if near { 0 } else { SHORTENINGS } {
            let part = 0.25f64.powi(shortening);
            // Parameters on their bounds stay there.
            let moved: Vec<(usize, f64)> = (0..of.len())
                .filter(|&i| self.search.side(of[i]).is_none())
                .map(|i| (of[i], self.search.state.q[of[i]] + part * changes[i]))
                .collect();
            let found = self.gradient_at(&moved, of)?;
            let highest = self.search.state.normal.cost + self.search.noise();
            if found.is_some() && self.search.state.trial.normal.cost <= highest {
                self.search.exchange();
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns parameters within the bounds at which the cost is lower than at this saddle; `None` if there are none
    /// along the direction of most negative curvature.
    fn below(&mut self, curvature: &Curvature<'_>) -> Result<Option<Vec<f64>>, Failure> {
        let Curvature { by: Undecided { of, sizes, .. }, unit, eigen, .. } = curvature;
        let down = eigen.eigenvectors.column(eigen.eigenvalues.imin());
        let changes: Vec<f64> = (0..of.len()).map(|i| down[i] * unit[i]).collect();
        let relative = changes.iter().zip(sizes).map(|(c, size)| (c / size).abs());
        let largest = relative.fold(0.0, f64::max);
        let cost = self.search.state.normal.cost;
        let mut best = cost - (FALL * cost).max(self.search.noise());
        let mut found = None;
        for length in DESCENTS {
            for sign in [1.0, -1.0] {
                let along = |i: usize| sign * length / largest * changes[i];
                let moved: Vec<(usize, f64)> =
                    (0..of.len()).map(|i| (of[i], self.search.state.q[of[i]] + along(i))).collect();
                if self.gradient_at(&moved, of)?.is_some() {
                    let trial = &self.search.state.trial;
                    if trial.normal.cost < best {
                        best = trial.normal.cost;
                        found = Some(trial.params.clone());
                    }
                }
            }
        }
        Ok(found)
    }
}

impl Search<'_> {
    /// Returns true if the linear model does not classify the current point: no step lowered the cost, a column of J
    /// vanished or is linearly dependent, or a parameter is near a bound, or on a bound without being pushed outwards.
    pub(super) fn is_doubtful(&self, reason: Termination) -> bool {
        use Termination::{Cost, Degenerate, Gradient, NoProgress, Step};
        match reason {
            NoProgress | Degenerate => true,
            Gradient | Cost | Step => {
                let beside = |j: usize| self.bound_beside(j).is_some();
                self.is_held_by_nothing()
                    || self.has_dependent_columns()
                    || (0..self.state.q.len()).any(beside)
            }
            _ => false,
        }
    }

    /// Returns true if the column of a parameter that occurs in the model is a linear combination of other columns.
    fn has_dependent_columns(&self) -> bool {
        let State { model, unused, .. } = &*self.state;
        !model.is_regular() && model.problem.dependent().iter().any(|&j| !unused[j])
    }

    /// Returns true if any parameter is on a bound and the cost does not push it outwards.
    fn is_held_by_nothing(&self) -> bool {
        (0..self.state.q.len()).any(|j| self.is_held_for_nothing(j))
    }

    /// Returns true if parameter j is on a bound and the cost does not push it outwards.
    fn is_held_for_nothing(&self, j: usize) -> bool {
        self.side(j).is_some() && !self.state.unused[j] && !self.is_pushed_outwards(j)
    }

    /// Returns the parameters for which the linear model does not classify the current point, with the other parameters
    /// of their blocks.
    fn in_doubt(&self, mut of: Vec<usize>) -> Vec<usize> {
        let shape = &self.task.problem.shape;
        let mut doubtful = self.state.model.problem.dependent();
        let of_bounds = |&j: &usize| self.is_held_for_nothing(j) || self.bound_beside(j).is_some();
        doubtful.extend(of.iter().copied().filter(of_bounds));
        let blocks: HashSet<usize> = doubtful.iter().filter_map(|&j| shape.block_of(j)).collect();
        of.retain(|j| match shape.block_of(*j) {
            Some(block) => blocks.contains(&block),
            None => doubtful.contains(j),
        });
        of
    }

    /// Returns a bound that parameter j is near but not on.
    fn bound_beside(&self, j: usize) -> Option<f64> {
        let (q, (low, high)) = (self.state.q[j], self.state.limits[j]);
        let near = |bound: &f64| {
            bound.is_finite() && q != *bound && (q - bound).abs() <= CREEPING * self.natural_size(j)
        };
        [low, high].into_iter().find(near)
    }

    fn side(&self, j: usize) -> Option<Side> {
        Limits { limits: &self.state.limits }.side(&self.state.q, j)
    }

    /// Returns true if the cost falls beyond the bound that parameter j is on, by more than rounding.
    fn is_pushed_outwards(&self, j: usize) -> bool {
        let (model, cost) = (&self.state.model, self.bulk());
        model.norms[j] > 0.0
            && Limits { limits: &self.state.limits }.holds_firmly(&self.state.q, model, cost, j)
    }

    /// Returns the free parameters that occur in the model and are not held by a bound.
    fn undecided(&self) -> Vec<usize> {
        let open = |&j: &usize| !self.state.unused[j] && !self.is_pushed_outwards(j);
        (0..self.state.q.len()).filter(open).collect()
    }

    /// Returns the scale for changes of q[j] if its column may vanish: |q[j]| or, if larger, the least standard error.
    fn natural_size(&self, j: usize) -> f64 {
        let scale = self.state.scale[j].max(self.state.model.norms[j]);
        let own = self.state.q[j].abs();
        let deviation =
            (2.0 * self.state.normal.cost / self.task.problem.points.max(1) as f64).sqrt();
        let size = if scale > 0.0 { own.max(deviation / scale) } else { own };
        if size > 0.0 { size } else { FROM_ZERO / self.state.columns[j] }
    }
}
