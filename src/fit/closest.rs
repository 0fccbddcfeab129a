//! Closest points on the fitted curve, if the measured x have errors.

use super::Fit;
use crate::backend::cpu::closest::{Closest, closest_points};
use crate::data::Data;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::error::Result;

impl Fit {
    /// The points of the fitted curve that are closest to those of `data`, in units of the errors of x and y:
    /// one column per independent variable, each with one value per point given. Without
    /// [`x_sigma`](Data::x_sigma) they are x itself. [`predict`](Fit::predict) has y there.
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) if the data have another number of columns than the model, errors in the
    /// data, [`Error::ModelKind`](crate::Error::ModelKind) for a native model of data with errors in x.
    pub fn closest<'a>(&self, data: impl Into<Data<'a>>) -> Result<Vec<Vec<f64>>> {
        self.check_model()?;
        let data = data.into();
        self.model.expect_columns(data.columns.len())?;
        let points = Points::validate(&data)?;
        match self.closest_of(&points)? {
            Some(closest) => Ok(closest.x),
            None => Ok(points.columns.iter().map(Values::to_f64).collect()),
        }
    }

    /// The closest points, unless every x is exact.
    pub(super) fn closest_of(&self, points: &Points<'_>) -> Result<Option<Closest>> {
        match points.x_sigma.is_exact() {
            true => Ok(None),
            false => closest_points(&self.model, points, &self.params).map(Some),
        }
    }
}
