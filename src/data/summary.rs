//! Totals over all points of a fit, independent of their storage: counts, units, and moments of the response.

use super::loss::{Estimator, Loss, darkest};
use super::scaling::Units;
use serde::{Deserialize, Serialize};

/// Σw², the weighted mean of y, and Σ(w (y − mean))². [`into_row_units`](Self::into_row_units) converts the sums to
/// their final units: the mean is in the unit of y, the scatter is multiplied by the square of the row unit (the power
/// of two by which weighted residuals are multiplied, [`Units`]), and Σw² stays in the unit of the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moments {
    pub(super) weight: f64,
    pub(crate) mean: f64,
    pub(crate) scatter: f64,
    /// Σw²(y² + t²), in the same unit as the scatter. t is the smallest normal number: the rounding error of a value is
    /// ε times the larger of |y| and t.
    pub(crate) square: f64,
}

/// Returns the part of a sum of squares that can be due to rounding: 16 units in the last place of each value.
pub(crate) fn rounding(square: f64) -> f64 {
    (16.0 * f64::EPSILON).powi(2) * square
}

impl Moments {
    /// Returns the sum of squares of the weighted response about its mean, multiplied by the square of the row unit. If
    /// `counts`, rows are divided by the square root of the expected count. The result is infinite if the response does
    /// not vary, for example for residuals without data, or if x has errors.
    pub(crate) fn signal(&self, counts: bool) -> f64 {
        let varies = self.scatter > rounding(self.square);
        match (varies, counts) {
            (false, _) => f64::INFINITY,
            (true, false) => self.scatter,
            (true, true) => self.scatter / self.mean,
        }
    }

    /// Returns the sums over the points of both sets, with the scatter of each set about its own mean. Rows of `other`
    /// are multiplied by `factor`.
    pub(crate) fn beside(self, other: Moments, factor: f64) -> Moments {
        let square = factor * factor;
        Moments {
            scatter: self.scatter + other.scatter * square,
            square: self.square + other.square * square,
            ..self
        }
    }

    /// Returns Σw² / `largest`²: the approximate number of points with the weight of the heaviest point. `largest`:
    /// largest weight, in the unit of the weights.
    pub(super) fn weights_like(&self, largest: f64) -> f64 {
        self.weight / (largest * largest)
    }

    /// Converts sums with y and weights in units of order 1 to the units of the rows.
    pub(super) fn into_row_units(mut self, units: Units) -> Moments {
        let factor = units.row / units.y / units.weight;
        let least = f64::MIN_POSITIVE * units.y;
        let square = self.mean * self.mean + least * least;
        self.square = (self.scatter + self.weight * square) * factor * factor;
        self.scatter *= factor * factor;
        self.mean /= units.y;
        self
    }

    /// Merges the moments of two sets (Chan, Golub and LeVeque 1983).
    pub(super) fn merge(self, other: Moments) -> Moments {
        if self.weight == 0.0 {
            return other;
        } else if other.weight == 0.0 {
            return self;
        }
        let weight = self.weight + other.weight;
        let apart = other.mean - self.mean;
        let share = other.weight / weight;
        Moments {
            weight,
            mean: self.mean + apart * share,
            scatter: self.scatter + other.scatter + apart * apart * self.weight * share,
            square: 0.0,
        }
    }
}

/// Counts, units and sums of all points of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Overview {
    /// Number of used points.
    pub(crate) used: usize,
    /// Number of points left out by a mask or as missing.
    pub(crate) omitted: usize,
    /// Number of points without weight because their sigma is infinite.
    pub(crate) ignored: usize,
    /// Powers of two that keep squares in range.
    pub(crate) units: Units,
    /// Weighted mean and scatter of y.
    pub(crate) summary: Moments,
    /// Σw² over the largest w²: approximate number of points with the weight of the heaviest point.
    pub(crate) heaviest: f64,
    /// Noise model of y.
    pub(crate) estimator: Estimator,
    /// True if the errors of the parameters are absolute, not scaled by the scatter about the fit.
    pub(crate) absolute: bool,
    /// Lower limit of the expected count f in the weight 1/f of a point without events.
    pub(crate) darkest: f64,
    /// True if x has errors; a stream does not support them.
    #[serde(skip)]
    pub(crate) errors_in_x: bool,
}

impl Overview {
    /// Returns the totals of a fit of which no point has been validated.
    pub(crate) fn unknown(estimator: Estimator) -> Overview {
        Overview {
            used: 0,
            omitted: 0,
            ignored: 0,
            units: Units::ORDINARY,
            summary: Moments::default(),
            heaviest: 0.0,
            estimator,
            absolute: false,
            darkest: darkest(1.0),
            errors_in_x: false,
        }
    }

    /// Returns the constant with which kernels compare residuals under `loss`: its scale times the row unit, or 1 if it
    /// has no scale; for counts [`darkest`](Self::darkest).
    pub(crate) fn kernel_scale(&self, loss: Loss) -> f64 {
        match self.estimator {
            Estimator::Poisson => self.darkest,
            Estimator::LeastSquares => loss.scale().map_or(1.0, |scale| scale * self.units.row),
        }
    }

    /// Returns the number of given points, used or not.
    pub(crate) fn given(&self) -> u64 {
        (self.used + self.omitted + self.ignored) as u64
    }

    /// Returns true if the units and [`darkest`](Self::darkest) have their default values, with which points are summed
    /// before the totals are known.
    pub(crate) fn is_ordinary(&self) -> bool {
        self.units == Units::ORDINARY && self.darkest == darkest(1.0)
    }
}
