//! One fit of a batch.

use super::BatchFit;
use super::status::FitStatus;
use crate::solver::bounds::Side;
use crate::solver::termination::Termination;

/// One fit of a [`BatchFit`], by reference. What its numbers mean is said at
/// [`Fit`](crate::Fit).
#[derive(Clone, Copy, Debug)]
pub struct BatchFitView<'a> {
    pub(super) batch: &'a BatchFit,
    pub(super) index: usize,
}

impl<'a> BatchFitView<'a> {
    /// Its number in the batch.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The parameters, in the model's order.
    pub fn params(&self) -> &'a [f64] {
        self.row(&self.batch.arrays.params)
    }

    /// One standard error per parameter: 0 if it was fixed, infinite if the data do not determine it,
    /// NaN if there is none to give.
    pub fn std_errors(&self) -> &'a [f64] {
        self.row(&self.batch.arrays.errors)
    }

    /// The parameter called `name`.
    pub fn param(&self, name: &str) -> Option<f64> {
        self.position(name).map(|i| self.params()[i])
    }

    /// The standard error of the parameter called `name`.
    pub fn std_error(&self, name: &str) -> Option<f64> {
        self.position(name).map(|i| self.std_errors()[i])
    }

    /// The covariance matrix, n_params × n_params, if it was kept.
    pub fn covariance(&self) -> Option<&'a [f64]> {
        self.batch.covariance(self.index)
    }

    /// Half the sum of squared weighted residuals, or of their loss.
    pub fn cost(&self) -> f64 {
        self.batch.arrays.costs[self.index]
    }

    /// Twice the cost.
    pub fn chi_square(&self) -> f64 {
        2.0 * self.cost()
    }

    /// Chi-square per degree of freedom; `None` without any.
    pub fn reduced_chi_square(&self) -> Option<f64> {
        let degrees = self.degrees_of_freedom();
        (degrees > 0).then(|| self.chi_square() / degrees as f64)
    }

    /// How the fit ended.
    pub fn status(&self) -> FitStatus {
        self.batch.arrays.statuses[self.index]
    }

    /// Why it stopped, if it was made.
    pub fn termination(&self) -> Option<Termination> {
        self.status().termination()
    }

    /// Whether the parameters are a minimum of the cost.
    pub fn converged(&self) -> bool {
        self.status().converged()
    }

    /// Points that count.
    pub fn points(&self) -> usize {
        self.batch.arrays.points[self.index]
    }

    /// How many points count, by their weights; as
    /// [`Fit::effective_points`](crate::Fit::effective_points).
    pub fn effective_points(&self) -> f64 {
        self.batch.arrays.weights[self.index]
    }

    /// Number of directions in the space of the free parameters that the data determine.
    pub fn rank(&self) -> usize {
        self.batch.arrays.ranks[self.index] as usize
    }

    /// Points minus rank, at least 0.
    pub fn degrees_of_freedom(&self) -> usize {
        self.points().saturating_sub(self.rank())
    }

    /// Accepted steps.
    pub fn iterations(&self) -> u32 {
        self.batch.arrays.iterations[self.index]
    }

    /// Evaluations of model and partials.
    pub fn evaluations(&self) -> u32 {
        self.batch.arrays.evaluations[self.index]
    }

    /// The parameters that a bound holds, by position, and which bound.
    pub fn at_bound(&self) -> impl Iterator<Item = (usize, Side)> + 'a {
        let (batch, index) = (self.batch, self.index);
        (0..batch.n_params()).filter_map(move |i| Some((i, batch.side(index, i)?)))
    }

    fn row(&self, array: &'a [f64]) -> &'a [f64] {
        let width = self.batch.n_params();
        &array[self.index * width..(self.index + 1) * width]
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.batch.names.iter().position(|n| n == name)
    }
}
