//! The interface between the solver and the points of a fit, for all backends, and its faults.

use super::outcome::{BadPoint, Fault};
use crate::normal::{BlockRow, Normal, RFactor};

/// Evaluates a model over the points of one fit and sums them up.
///
/// `params` has all parameters, free and fixed. Summaries are in the units of the fit: rows
/// multiplied by the points' row unit over σ, column j multiplied by `columns[j]`, so that they are
/// the derivatives by pⱼ / columns[j].
pub(crate) trait Evaluator {
    /// The normal equations at `params`. Under a robust loss rows are multiplied by
    /// √max(ρ' + 2zρ'', 0.1 ρ', 2⁻⁵²), so that JᵀJ stays useful far from the solution.
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault>;

    /// The triangular factor at `params`. Under a robust loss rows are multiplied by
    /// √max(ρ' + 2zρ'', 2⁻⁵²). For the covariance, and for steps where the normal equations are too
    /// ill-conditioned to give them.
    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault>;

    /// The largest |∂f/∂pⱼ| over the points in row units, whitened where data are correlated, for each
    /// free parameter j.
    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault>;

    /// Threads that share a pass.
    fn threads(&self) -> usize;

    /// Bytes used in addition to the data: summaries, and scratch memory for each thread.
    fn scratch_bytes(&self) -> usize;

    /// The `count` largest weights of points with individual errors, in row units and in descending
    /// order; empty if `count` weights are known to be at least `level` times the largest.
    fn heaviest(&mut self, _count: usize, _level: f64) -> Vec<f64> {
        Vec::new()
    }

    /// Limits the weights of points in later sums to `most`, in row units. Returns the sum of squares of the response
    /// with these weights, if the points have individual weights.
    fn limit_weights(&mut self, _most: f64) -> Option<f64> {
        None
    }

    /// The rows of [J r] of the points that weigh more than that limit, which together with those of the limited
    /// weight are the rows of their own weights; the heaviest first.
    fn heavy_rows(&mut self, _params: &[f64], _columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        Ok(Vec::new())
    }

    /// Returns true if the model passes through every point to the rounding of the point's value and terms.
    fn is_exact(&mut self, _params: &[f64]) -> Result<bool, Fault> {
        Ok(true)
    }

    /// Noise of the model's values beyond the rounding of doubles, as a part of their root mean square: that of
    /// functions which return f32, round their values or look them up. 0 for all others. Known after the first pass.
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

    /// Distance of x from 0 relative to its range: the largest max |x| / (max x − min x) of the independent variables;
    /// 0 if unknown.
    fn offset(&mut self) -> f64 {
        0.0
    }

    /// Expected normal equations at these parameters, if x has errors, for data whose variance about the curve is
    /// `variance` times the variance from the given errors of x and y. Otherwise 0. Jᵀr is not 0 if the curve bends
    /// within the errors.
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

    /// Calls `visit` with the residuals at `params` of each data set, in the order of the sets; of a long one with
    /// those of some of its points. For tests of whether the data reject the curve. Partials are not evaluated.
    fn residuals(
        &mut self,
        _params: &[f64],
        _visit: &mut dyn FnMut(&ResidualSample),
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// The first point where the model or a partial is not finite at `params`, if there is one.
    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint>;

    /// Use of a device by the passes, if they ran on one.
    fn device(&self) -> Option<DeviceUse> {
        None
    }
}

/// Residuals of a data set in an order in which neighbours are close to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResidualSample {
    /// The data set, counted from 0.
    pub(crate) set: usize,
    /// Weighted residuals (f − y)/σ in row units, times ρ' under a robust loss; of counts Pearson's (f − y)/√f. In
    /// the order of the data.
    pub(crate) values: Vec<f64>,
    /// The positions of these in ascending order of x, if the model has one independent variable that does not rise
    /// or fall from point to point.
    pub(crate) by_x: Option<Vec<usize>>,
    /// Σ (y/σ)² of the sample in row units.
    pub(crate) square: f64,
    /// The sum of squares that rounding of y to its type leaves: f32, or whole numbers.
    pub(crate) rounding: f64,
    /// Points of the data set that count.
    pub(crate) points: usize,
    /// Deviance if y are counts.
    pub(crate) deviance: Option<MeanDeviance>,
}

/// The deviance of a single count if the curve is right, on average over a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MeanDeviance {
    /// Expectation of the deviance.
    pub(crate) mean: f64,
    /// Variance of the deviance.
    pub(crate) variance: f64,
    /// Possible error of the expectation if the sample contains only some of the points.
    pub(crate) margin: f64,
}

/// Use of a device by the passes of a fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeviceUse {
    /// Bytes of its memory, data included.
    pub(crate) bytes: usize,
    /// Number of chunks in which the points passed through the device; 1 if all points are resident.
    pub(crate) chunks: usize,
    /// The reason why the CPU took over.
    pub(crate) failed: Option<String>,
}
