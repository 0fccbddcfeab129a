//! What the solver asks of the points of a fit, wherever a backend keeps them, and what it may answer instead.

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

    /// Bytes used beside the data: summaries, and scratch for every thread.
    fn scratch_bytes(&self) -> usize;

    /// The `count` largest weights of points with errors of their own, in row units and in descending
    /// order; nothing if so many are known to be at least `level` times the largest.
    fn heaviest(&mut self, _count: usize, _level: f64) -> Vec<f64> {
        Vec::new()
    }

    /// From here on no point weighs more than `most` in sums, in row units. Returns the sum of squares of
    /// the response with these weights, if the points have weights of their own.
    fn limit_weights(&mut self, _most: f64) -> Option<f64> {
        None
    }

    /// The rows of [J r] of the points that weigh more than that limit, which together with those of the limited
    /// weight are the rows of their own weights; the heaviest first.
    fn heavy_rows(&mut self, _params: &[f64], _columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        Ok(Vec::new())
    }

    /// Whether the model passes through every point to the rounding of the point's own value and terms.
    fn is_exact(&mut self, _params: &[f64]) -> Result<bool, Fault> {
        Ok(true)
    }

    /// Noise of the model's values beyond the rounding of doubles, as a part of their root mean square: that of functions
    /// which return f32, round their values or look them up. 0 for all others. Known after the first pass.
    fn noise(&self) -> f64 {
        0.0
    }

    /// The next normal equations serve a trial that is rejected unless its cost is below this: their products
    /// may be left at 0 where it is not.
    fn expect_below(&mut self, _cost: f64) {}

    /// Lets all passes from here on take as long as they do; a stream's still end at its limit of time.
    fn take_time(&mut self) {}

    /// The first point where the model or a partial is not finite at `params`, if there is one.
    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint>;

    /// What the passes took of a device, if they ran on one.
    fn device(&self) -> Option<DeviceUse> {
        None
    }
}

/// What the passes of a fit took of a device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeviceUse {
    /// Bytes of its memory, data included.
    pub(crate) bytes: usize,
    /// Chunks in which the points went through it; 1 if all of them stayed.
    pub(crate) chunks: usize,
    /// Why the CPU had to go on in its place.
    pub(crate) failed: Option<String>,
}
