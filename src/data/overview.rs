//! Totals over all points of a fit, independent of their storage, and copies of the points in f64 for the search for a
//! start.

use super::loss::{Estimator, Loss, darkest};
use super::points::Units;
use super::summary::Moments;
use crate::data::points::Points;
use serde::{Deserialize, Serialize};

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

/// Maximum number of observations. If a fit has more points, every k-th point is copied, which suffices for starting
/// values.
const MOST: usize = 1 << 16;

/// Points that a fit uses, neither masked nor missing, in the order of the data; every k-th point of a large fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Observations {
    /// One column per independent variable, one value per point in each.
    pub columns: Vec<Vec<f64>>,
    /// The response, one value per point.
    pub y: Vec<f64>,
    /// Range of x that contains the center of a peak or a step in the search for starting values.
    pub(crate) center: (f64, f64),
    /// Range of the amplitude of this peak or step. A peak is a candidate only if the range contains values of its
    /// sign.
    pub(crate) amplitude: (f64, f64),
}

impl Observations {
    /// Returns the observations of validated data.
    pub(crate) fn of(points: &Points<'_>) -> Observations {
        let stride = points.used.div_ceil(MOST).max(1);
        let index: Vec<usize> = points.kept().step_by(stride).collect();
        let pick = |values: &super::values::Values<'_>| {
            let mut out = vec![0.0; index.len()];
            values.pick(&index, &mut out);
            out
        };
        Observations::new(points.columns.iter().map(pick).collect(), pick(&points.y))
    }

    pub(crate) fn new(columns: Vec<Vec<f64>>, y: Vec<f64>) -> Observations {
        let any = (f64::NEG_INFINITY, f64::INFINITY);
        Observations { columns, y, center: any, amplitude: any }
    }

    /// Returns the first independent variable, one value per point.
    pub fn x(&self) -> &[f64] {
        self.columns.first().map_or(&[], Vec::as_slice)
    }

    /// Returns the same points with another response.
    #[must_use]
    pub fn with_response(&self, y: Vec<f64>) -> Observations {
        Observations { columns: self.columns.clone(), y, ..*self }
    }
}
