//! Results of all fits of a batch, one array per quantity. Threads or a device write to disjoint parts of the arrays,
//! without locks.

use super::status::FitStatus;
use crate::solver::bounds::Side;
use crate::threads;
use std::ops::Range;

/// Results as a structure of arrays: one value per fit or, for quantities of parameters, one row per fit with one value
/// per parameter.
#[derive(Clone, Debug)]
pub(crate) struct Arrays {
    /// Number of parameters of the model, free and fixed.
    pub(crate) width: usize,
    pub(crate) params: Vec<f64>,
    pub(crate) errors: Vec<f64>,
    /// Cost of each fit, in the units of the data.
    pub(crate) costs: Vec<f64>,
    pub(crate) statuses: Vec<FitStatus>,
    pub(crate) iterations: Vec<u32>,
    pub(crate) evaluations: Vec<u32>,
    /// Number of points of each fit that are used.
    pub(crate) points: Vec<usize>,
    /// Effective number of points: the sum of their weights.
    pub(crate) weights: Vec<f64>,
    /// Number of directions in parameter space that the data determine.
    pub(crate) ranks: Vec<u32>,
    /// Active bound of each parameter of each fit; empty if no parameter has a bound.
    pub(crate) sides: Vec<Option<Side>>,
    /// Covariance matrix of each fit, params × params; empty if covariances are not requested.
    pub(crate) covariances: Vec<f64>,
}

/// Parts of all arrays that belong to consecutive fits, for writing.
pub(crate) struct BatchPart<'a> {
    /// Index of the first fit.
    pub(crate) first: usize,
    pub(crate) width: usize,
    pub(crate) params: &'a mut [f64],
    pub(crate) errors: &'a mut [f64],
    pub(crate) costs: &'a mut [f64],
    pub(crate) statuses: &'a mut [FitStatus],
    pub(crate) iterations: &'a mut [u32],
    pub(crate) evaluations: &'a mut [u32],
    pub(crate) points: &'a mut [usize],
    pub(crate) weights: &'a mut [f64],
    pub(crate) ranks: &'a mut [u32],
    pub(crate) sides: &'a mut [Option<Side>],
    pub(crate) covariances: &'a mut [f64],
}

impl Arrays {
    /// Creates the arrays for fits that have not been run: statuses are `NotRun`, floating-point values NaN, counts 0.
    pub(crate) fn new(fits: usize, width: usize, bounded: bool, covariances: bool) -> Arrays {
        let wanted = |yes: bool| if yes { fits * width } else { 0 };
        Arrays {
            width,
            params: threads::filled(f64::NAN, fits * width),
            errors: threads::filled(f64::NAN, fits * width),
            costs: threads::filled(f64::NAN, fits),
            statuses: threads::filled(FitStatus::NotRun, fits),
            iterations: vec![0; fits],
            evaluations: vec![0; fits],
            points: vec![0; fits],
            weights: threads::filled(f64::NAN, fits),
            ranks: vec![0; fits],
            sides: vec![None; wanted(bounded)],
            covariances: threads::filled(f64::NAN, wanted(covariances) * width),
        }
    }

    /// Returns the arrays of all fits.
    pub(crate) fn whole(&mut self) -> BatchPart<'_> {
        BatchPart {
            first: 0,
            width: self.width,
            params: &mut self.params,
            errors: &mut self.errors,
            costs: &mut self.costs,
            statuses: &mut self.statuses,
            iterations: &mut self.iterations,
            evaluations: &mut self.evaluations,
            points: &mut self.points,
            weights: &mut self.weights,
            ranks: &mut self.ranks,
            sides: &mut self.sides,
            covariances: &mut self.covariances,
        }
    }
}

impl<'a> BatchPart<'a> {
    /// Returns the number of fits.
    pub(crate) fn len(&self) -> usize {
        self.statuses.len()
    }

    /// Returns the same part with a shorter lifetime.
    pub(crate) fn reborrow(&mut self) -> BatchPart<'_> {
        BatchPart {
            first: self.first,
            width: self.width,
            params: self.params,
            errors: self.errors,
            costs: self.costs,
            statuses: self.statuses,
            iterations: self.iterations,
            evaluations: self.evaluations,
            points: self.points,
            weights: self.weights,
            ranks: self.ranks,
            sides: self.sides,
            covariances: self.covariances,
        }
    }

    /// Sets the floating-point results of these fits, counted in the part, to NaN, as before the fits are run.
    pub(crate) fn forget(&mut self, fits: Range<usize>) {
        let width = self.width;
        let rows = |each: usize| fits.start * each..fits.end * each;
        self.params[rows(width)].fill(f64::NAN);
        self.errors[rows(width)].fill(f64::NAN);
        self.costs[fits.clone()].fill(f64::NAN);
        self.weights[fits.clone()].fill(f64::NAN);
        if !self.covariances.is_empty() {
            self.covariances[rows(width * width)].fill(f64::NAN);
        }
    }

    /// Splits the part into its first `fits` fits and the others.
    pub(crate) fn split(self, fits: usize) -> (BatchPart<'a>, BatchPart<'a>) {
        let width = self.width;
        // An array that is not requested is empty in both parts.
        let wide = |len: usize, each: usize| (fits * each).min(len);
        let (params, params_rest) = self.params.split_at_mut(fits * width);
        let (errors, errors_rest) = self.errors.split_at_mut(fits * width);
        let (costs, costs_rest) = self.costs.split_at_mut(fits);
        let (statuses, statuses_rest) = self.statuses.split_at_mut(fits);
        let (iterations, iterations_rest) = self.iterations.split_at_mut(fits);
        let (evaluations, evaluations_rest) = self.evaluations.split_at_mut(fits);
        let (points, points_rest) = self.points.split_at_mut(fits);
        let (weights, weights_rest) = self.weights.split_at_mut(fits);
        let (ranks, ranks_rest) = self.ranks.split_at_mut(fits);
        let at = wide(self.sides.len(), width);
        let (sides, sides_rest) = self.sides.split_at_mut(at);
        let at = wide(self.covariances.len(), width * width);
        let (covariances, covariances_rest) = self.covariances.split_at_mut(at);
        let head = BatchPart {
            first: self.first,
            width,
            params,
            errors,
            costs,
            statuses,
            iterations,
            evaluations,
            points,
            weights,
            ranks,
            sides,
            covariances,
        };
        let rest = BatchPart {
            first: self.first + fits,
            width,
            params: params_rest,
            errors: errors_rest,
            costs: costs_rest,
            statuses: statuses_rest,
            iterations: iterations_rest,
            evaluations: evaluations_rest,
            points: points_rest,
            weights: weights_rest,
            ranks: ranks_rest,
            sides: sides_rest,
            covariances: covariances_rest,
        };
        (head, rest)
    }
}
