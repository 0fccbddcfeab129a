//! Arrays of the crate `ndarray` as data, and conversions of [`Matrix`].
//!
//! `&Array1`, `&ArrayView1` and other one-dimensional arrays are columns if their elements are contiguous; otherwise
//! the result is a [`LayoutError`] with the remedy. A two-dimensional array is several columns, one per row: k × n, as
//! in SciPy. For an n × k array in Fortran order pass `array.t()`.

use super::columns::Columns;
use super::matrix::Matrix;
use super::values::{Real, Values};
use crate::error::{LayoutError, Result};
use crate::model::var::Var;
use ndarray::{Array2, ArrayBase, Data, Dimension, Ix1, Ix2};

fn refused<S: Data, D: Dimension>(array: &ArrayBase<S, D>) -> LayoutError {
    LayoutError { shape: array.shape().to_vec(), strides: array.strides().to_vec() }
}

impl<'a, T: Real, S: Data<Elem = T>> TryFrom<&'a ArrayBase<S, Ix1>> for Values<'a> {
    type Error = LayoutError;
    fn try_from(array: &'a ArrayBase<S, Ix1>) -> std::result::Result<Self, LayoutError> {
        array.as_slice().map(Values::from).ok_or_else(|| refused(array))
    }
}

impl<'a, T: Real, S: Data<Elem = T>> Columns<'a> for &'a ArrayBase<S, Ix1> {
    type X = Var;
    fn columns(self) -> Result<Vec<Values<'a>>> {
        Ok(vec![self.try_into()?])
    }
}

/// One row per column of the data.
impl<'a, T: Real, S: Data<Elem = T>> Columns<'a> for &'a ArrayBase<S, Ix2> {
    type X = Vec<Var>;
    fn columns(self) -> Result<Vec<Values<'a>>> {
        let rows = self.outer_iter();
        let values = rows.map(|row| row.to_slice().map(Values::from));
        values.collect::<Option<Vec<_>>>().ok_or_else(|| refused(self).into())
    }
}

/// Copies an array, in any order of its elements.
impl<S: Data<Elem = f64>> From<&ArrayBase<S, Ix2>> for Matrix {
    fn from(array: &ArrayBase<S, Ix2>) -> Matrix {
        Matrix::from_fn(array.nrows(), array.ncols(), |i, j| array[(i, j)])
    }
}

impl From<&Matrix> for Array2<f64> {
    fn from(matrix: &Matrix) -> Array2<f64> {
        Array2::from_shape_fn((matrix.rows(), matrix.columns()), |place| matrix[place])
    }
}

impl From<Matrix> for Array2<f64> {
    fn from(matrix: Matrix) -> Array2<f64> {
        Array2::from(&matrix)
    }
}
