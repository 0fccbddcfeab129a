//! The interface between the solver and the points of a fit, for all backends.

use super::outcome::{BadPoint, Fault};
use crate::normal::{BlockRow, Normal, RFactor};

/// Evaluates a model at the points of one fit and sums over the points.
///
/// `params` contains all parameters, free and fixed. Summaries are in the units of the fit: rows of the Jacobian are
/// multiplied by row unit/σ, and column j is multiplied by `columns[j]`. Thus column j contains derivatives
/// with respect to pⱼ / columns[j]. The row unit is a power of two that keeps squares of residuals in range.
pub(crate) trait Evaluator {
    /// Computes the normal equations at `params`. With a robust loss, rows are multiplied by
    /// √max(ρ' + 2zρ'', 0.1 ρ', 2⁻⁵²), so that JᵀJ stays useful far from the solution.
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault>;

    /// Computes the R factor at `params`. With a robust loss, rows are multiplied by √max(ρ' + 2zρ'', 2⁻⁵²). The factor
    /// is used for the covariance, and for steps if the normal equations are too ill-conditioned.
    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault>;

    /// Computes the largest weighted |∂f/∂pⱼ| over the points for each free parameter j, in row units. A robust loss has
    /// no effect. Correlated data are whitened first.
    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault>;

    /// Returns the number of threads that share a pass.
    fn threads(&self) -> usize;

    /// Returns the bytes used in addition to the data: summaries, and scratch memory of each thread.
    fn scratch_bytes(&self) -> usize;

    /// Returns the `count` largest weights of points with individual errors, in row units and in descending
    /// order; empty if at least `count` weights are known to reach `level` times the largest weight.
    fn heaviest(&mut self, _count: usize, _level: f64) -> Vec<f64> {
        Vec::new()
    }

    /// Limits the weights of points in later sums to `most`, in row units. Returns the sum of squares of the response
    /// with these weights, if the points have individual weights.
    fn limit_weights(&mut self, _most: f64) -> Option<f64> {
        None
    }

    /// Returns rows of [J r] for the points whose weights exceed the limit of
    /// [`limit_weights`](Evaluator::limit_weights), the heaviest first. Added to the rows with limited weights, they
    /// are equivalent to the rows with full weights.
    fn heavy_rows(&mut self, _params: &[f64], _columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        Ok(Vec::new())
    }

    /// Returns true if the model passes through every point within the rounding error of the point's value and terms.
    fn is_exact(&mut self, _params: &[f64]) -> Result<bool, Fault> {
        Ok(true)
    }

    /// Returns the noise of the model values beyond the rounding of f64, as a fraction of their root mean square. It is
    /// not 0 for functions that return f32, round their values or use lookup tables. It is known after the first pass.
    fn noise(&self) -> f64 {
        0.0
    }

    /// Estimates noise of the model values that the first pass did not detect; called if steps from `params` do not
    /// lower the cost. Steps of differences and [`noise`](Evaluator::noise) use the estimate.
    ///
    /// # Errors
    /// If the model fails.
    fn look_for_noise(&mut self, _params: &[f64]) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns the distance of x from 0 relative to its range: the largest max |x| / (max x − min x) of the independent
    /// variables; 0 if unknown.
    fn offset(&mut self) -> f64 {
        0.0
    }

    /// Computes the expected normal equations at these parameters if x has errors, that is, their average over data
    /// that scatter about the curve; otherwise 0. The variance of the data about the curve is assumed to be `variance`
    /// times the variance from the given errors of x and y. Jᵀr is not 0 if the curve bends within the errors.
    fn expected_normal(
        &mut self,
        (_params, _variance): (&[f64], f64),
        _columns: &[f64],
        out: &mut Normal,
    ) -> Result<(), Fault> {
        out.products.fill(0.0);
        Ok(())
    }

    /// Announces that the next trial is rejected unless its cost is below this value. For a rejected trial, the
    /// products of the normal equations may be left at 0.
    fn expect_below(&mut self, _cost: f64) {}

    /// Removes the time limit of later passes, except for a stream.
    fn take_time(&mut self) {}

    /// Calls `visit` with the residuals of each data set at `params`, in the order of the sets; for a long set, with
    /// the residuals of a sample of its points. Tests of the goodness of fit use them. Partials are not evaluated.
    fn residuals(
        &mut self,
        _params: &[f64],
        _visit: &mut dyn FnMut(&ResidualSample),
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns the first point where the model or a partial is not finite at `params`, if there is one.
    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint>;

    /// Returns the use of a device by the passes, if they ran on a device.
    fn device(&self) -> Option<DeviceUse> {
        None
    }
}

/// Residuals of a data set or of a sample of its points.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResidualSample {
    /// Index of the data set, counted from 0.
    pub(crate) set: usize,
    /// Weighted residuals (f − y)/σ in row units, multiplied by ρ' if there is a robust loss; for counts, Pearson
    /// residuals (f − y)/√f. They are in the order of the data.
    pub(crate) values: Vec<f64>,
    /// Positions in `values` in ascending order of x, if the model has one independent variable and x is not monotonic.
    pub(crate) by_x: Option<Vec<usize>>,
    /// Σ (y/σ)² of the sample in row units.
    pub(crate) square: f64,
    /// Sum of squares caused by rounding of y to f32 or to whole numbers.
    pub(crate) rounding: f64,
    /// Number of points of the data set that have weight.
    pub(crate) points: usize,
    /// Deviance if y are counts.
    pub(crate) deviance: Option<MeanDeviance>,
}

/// Expected deviance of a single count for a correct curve, averaged over a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MeanDeviance {
    /// Expectation of the deviance.
    pub(crate) mean: f64,
    /// Variance of the deviance.
    pub(crate) variance: f64,
    /// Possible error of the expectation if the sample contains only a part of the points.
    pub(crate) margin: f64,
}

/// Use of a device by the passes of a fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeviceUse {
    /// Bytes of device memory, data included.
    pub(crate) bytes: usize,
    /// Number of chunks in which the points passed through the device; 1 if all points are resident.
    pub(crate) chunks: usize,
    /// The reason why the CPU continued instead of the device.
    pub(crate) failed: Option<String>,
}
