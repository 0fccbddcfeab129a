//! Vectors and matrices of the crate `nalgebra` as data, and conversions of [`Matrix`].
//!
//! `&DVector`, `&SVector` and contiguous views of them are columns. The columns of a `&DMatrix`, n × k, are the
//! columns of the data.

use super::columns::Columns;
use super::matrix::Matrix;
use super::values::{Real, Values};
use crate::error::Result;
use crate::model::var::Var;
use nalgebra::{DMatrix, Dim, Dyn, IsContiguous, RawStorage, U1};

impl<'a, T: Real, R: Dim, S> From<&'a nalgebra::Matrix<T, R, U1, S>> for Values<'a>
where
    S: RawStorage<T, R, U1> + IsContiguous,
{
    fn from(vector: &'a nalgebra::Matrix<T, R, U1, S>) -> Self {
        vector.as_slice().into()
    }
}

impl<'a, T: Real, R: Dim, S> Columns<'a> for &'a nalgebra::Matrix<T, R, U1, S>
where
    S: RawStorage<T, R, U1> + IsContiguous,
{
    type X = Var;
    fn columns(self) -> Result<Vec<Values<'a>>> {
        Ok(vec![self.into()])
    }
}

impl<'a, T: Real, S> Columns<'a> for &'a nalgebra::Matrix<T, Dyn, Dyn, S>
where
    S: RawStorage<T, Dyn, Dyn> + IsContiguous,
{
    type X = Vec<Var>;
    fn columns(self) -> Result<Vec<Values<'a>>> {
        let (points, columns) = self.shape();
        let all = self.as_slice();
        let column = |i: usize| all.get(i * points..(i + 1) * points).unwrap_or_default();
        Ok((0..columns).map(|i| column(i).into()).collect())
    }
}

/// Copies a matrix, or a view of a matrix, of any size.
impl<R: Dim, C: Dim, S: RawStorage<f64, R, C>> From<&nalgebra::Matrix<f64, R, C, S>> for Matrix {
    fn from(matrix: &nalgebra::Matrix<f64, R, C, S>) -> Matrix {
        Matrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
    }
}

impl From<&Matrix> for DMatrix<f64> {
    fn from(matrix: &Matrix) -> DMatrix<f64> {
        DMatrix::from_row_slice(matrix.rows(), matrix.columns(), matrix.as_slice())
    }
}

impl From<Matrix> for DMatrix<f64> {
    fn from(matrix: Matrix) -> DMatrix<f64> {
        DMatrix::from(&matrix)
    }
}
