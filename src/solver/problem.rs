//! What is minimised: which parameters move, where they begin, what limits them.

use crate::data::loss::Loss;

/// The parameters of one fit. All arrays have one value per parameter of the model, fixed or free.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Which free parameters are known not to occur in the model.
    pub(crate) unused: Vec<bool>,
    /// Positions of the free parameters, ascending.
    pub(crate) free: Vec<usize>,
    pub(crate) start: Vec<f64>,
    /// Lower and upper bounds, ±∞ where there are none.
    pub(crate) bounds: Vec<(f64, f64)>,
    /// The sum of squares of the weighted response, in row units.
    pub(crate) square: f64,
    /// Number of points that count.
    pub(crate) points: usize,
    /// That under which the cost is taken.
    pub(crate) loss: Loss,
    /// The power of two that weighted residuals are multiplied with.
    pub(crate) row_unit: f64,
}

impl Problem {
    /// The largest cost that is not outliers' alone, as [`Loss::bulk`].
    pub(crate) fn bulk(&self) -> f64 {
        self.loss.bulk(self.points, self.row_unit)
    }

    /// The sum of squares that rounding alone leaves, of each value 16 units in the last place: a fit this
    /// good is exact.
    pub(crate) fn rounding(&self) -> f64 {
        (16.0 * f64::EPSILON).powi(2) * self.square
    }

    /// The scale of the loss in row units; infinite where there is none.
    pub(crate) fn scale(&self) -> f64 {
        self.loss.scale().map_or(f64::INFINITY, |scale| scale * self.row_unit)
    }

    /// Becomes a copy of a problem of the same model, without allocating.
    pub(crate) fn copy_from(&mut self, other: &Problem) {
        self.unused.clone_from(&other.unused);
        self.free.clone_from(&other.free);
        self.start.clone_from(&other.start);
        self.bounds.clone_from(&other.bounds);
        self.square = other.square;
        self.points = other.points;
        self.loss = other.loss;
        self.row_unit = other.row_unit;
    }
}
