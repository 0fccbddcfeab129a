//! Dense matrices of the public interface: covariances of data and of parameters, correlations.

use super::columns::expect_length;
use crate::error::Result;
use std::fmt;
use std::ops::{Index, IndexMut};

/// A dense matrix of f64 in row-major order: the covariance of correlated data
/// ([`Sigma::Covariance`](crate::Sigma::Covariance)), the [covariance](crate::Fit::covariance) and the
/// [correlation](crate::Fit::correlation) of the parameters of a fit.
///
/// `matrix[(i, j)]` is the element in row i and column j, both counted from 0. With the features `nalgebra` and
/// `ndarray` of this crate, matrices are converted from and to those of these crates by `From` and `Into`.
///
/// ```
/// use dualfit::{CurveFit, Data, Matrix, Sigma};
/// let (x, y) = ([0.0, 1.0, 2.0, 3.0], [1.1, 2.9, 5.2, 6.9]);
/// // Adjacent points have a correlation of 0.5.
/// let of_y = Matrix::from_rows([
///     [0.04, 0.02, 0.00, 0.00],
///     [0.02, 0.04, 0.02, 0.00],
///     [0.00, 0.02, 0.04, 0.02],
///     [0.00, 0.00, 0.02, 0.04],
/// ])?;
/// let data = Data::new(&x, &y)?.sigma(Sigma::Covariance(&of_y))?;
/// let fit = CurveFit::new(|x, [a, b]| a * x + b).fit(data, [1.0, 0.0])?;
/// let of_parameters = fit.covariance();
/// assert_eq!((of_parameters.rows(), of_parameters.columns()), (2, 2));
/// assert_eq!(of_parameters[(0, 1)], of_parameters.row(0)[1]);
/// for (variance, error) in of_parameters.diagonal().iter().zip(fit.std_errors()) {
///     assert!((variance.sqrt() / error - 1.0).abs() < 1e-12);
/// }
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    /// Rows × columns values, row by row.
    values: Vec<f64>,
}

impl Matrix {
    /// Creates a matrix from rows × columns values, row by row.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for another number of values.
    pub fn new(rows: usize, columns: usize, values: Vec<f64>) -> Result<Matrix> {
        let remedy = "rows × columns values, row by row";
        expect_length("matrix".into(), values.len(), rows.saturating_mul(columns), remedy)?;
        Ok(Matrix { rows, columns, values })
    }

    /// Creates a matrix from its rows: arrays, slices or vectors of one length.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for the first row whose length differs from row 0.
    ///
    /// ```
    /// use dualfit::Matrix;
    /// let matrix = Matrix::from_rows([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    /// assert_eq!(matrix.as_slice(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// let refused = Matrix::from_rows([vec![1.0, 2.0], vec![3.0]]).unwrap_err();
    /// assert!(refused.to_string().contains("row 1"));
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn from_rows(rows: impl IntoIterator<Item = impl AsRef<[f64]>>) -> Result<Matrix> {
        let mut matrix = Matrix { rows: 0, columns: 0, values: Vec::new() };
        for row in rows {
            let row = row.as_ref();
            if matrix.rows == 0 {
                matrix.columns = row.len();
            }
            let what = format!("row {} of the matrix", matrix.rows);
            expect_length(what, row.len(), matrix.columns, "all rows have one length")?;
            matrix.values.extend_from_slice(row);
            matrix.rows += 1;
        }
        Ok(matrix)
    }

    /// Creates a matrix whose element in row i and column j is `value(i, j)`.
    ///
    /// ```
    /// use dualfit::Matrix;
    /// // A correlation that decreases with the distance of two points.
    /// let matrix = Matrix::from_fn(3, 3, |i, j| 0.5_f64.powi(i.abs_diff(j) as i32));
    /// assert_eq!(matrix.row(0), [1.0, 0.5, 0.25]);
    /// ```
    pub fn from_fn(
        rows: usize,
        columns: usize,
        mut value: impl FnMut(usize, usize) -> f64,
    ) -> Matrix {
        let mut values = Vec::with_capacity(rows.saturating_mul(columns));
        for i in 0..rows {
            values.extend((0..columns).map(|j| value(i, j)));
        }
        Matrix { rows, columns, values }
    }

    /// Creates a square matrix with these values on its diagonal and 0 elsewhere.
    pub fn from_diagonal(values: &[f64]) -> Matrix {
        let n = values.len();
        Matrix::from_fn(n, n, |i, j| if i == j { values[i] } else { 0.0 })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns row i, one value per column.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn row(&self, i: usize) -> &[f64] {
        assert!(i < self.rows, "there is no row {i} in a matrix with {} rows", self.rows);
        &self.values[i * self.columns..][..self.columns]
    }

    /// Returns the elements (0, 0), (1, 1), … up to the last row or column.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.rows.min(self.columns)).map(|i| self[(i, i)]).collect()
    }

    /// Returns all values, row by row.
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    /// Returns all values, row by row, without a copy.
    pub fn into_vec(self) -> Vec<f64> {
        self.values
    }

    /// Returns the index of an element among the values.
    #[inline]
    #[track_caller]
    fn place(&self, (i, j): (usize, usize)) -> usize {
        let (rows, columns) = (self.rows, self.columns);
        assert!(
            i < rows && j < columns,
            "there is no element ({i}, {j}) in a {rows} × {columns} matrix"
        );
        i * columns + j
    }
}

/// Indexing: `matrix[(i, j)]` is the element in row i and column j.
///
/// # Panics
/// If there is no such element.
impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    #[inline]
    #[track_caller]
    fn index(&self, place: (usize, usize)) -> &f64 {
        &self.values[self.place(place)]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, place: (usize, usize)) -> &mut f64 {
        let place = self.place(place);
        &mut self.values[place]
    }
}

/// Prints a list of rows.
impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.rows).map(|i| self.row(i))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Matrix;
    use crate::error::Error;

    #[test]
    fn a_wrong_number_of_values_is_an_error() {
        let mismatch = |expected, got| {
            move |error: Error| match error {
                Error::LengthMismatch { expected: e, got: g, .. } => (e, g) == (expected, got),
                _ => false,
            }
        };
        assert!(Matrix::new(2, 3, vec![0.0; 5]).is_err_and(mismatch(6, 5)));
        assert!(Matrix::new(usize::MAX, 2, vec![0.0]).is_err_and(mismatch(usize::MAX, 1)));
        assert!(Matrix::from_rows([&[1.0, 2.0][..], &[], &[3.0]]).is_err_and(mismatch(2, 0)));
    }

    #[test]
    fn empty_matrices_have_a_shape() {
        let matrix = Matrix::new(3, 0, Vec::new()).unwrap();
        assert_eq!((matrix.rows(), matrix.columns(), matrix.row(2)), (3, 0, &[][..]));
        assert_eq!(format!("{matrix:?}"), "[[], [], []]");
        let none: [[f64; 2]; 0] = [];
        assert_eq!(Matrix::from_rows(none).unwrap(), Matrix::from_diagonal(&[]));
    }

    #[test]
    fn elements_are_found_by_row_and_column() {
        let mut matrix = Matrix::from_fn(2, 3, |i, j| (10 * i + j) as f64);
        matrix[(1, 0)] = -1.0;
        assert_eq!(format!("{matrix:?}"), "[[0.0, 1.0, 2.0], [-1.0, 11.0, 12.0]]");
        assert_eq!(matrix.diagonal(), [0.0, 11.0]);
        assert_eq!(matrix.clone().into_vec(), matrix.as_slice());
        for (i, j) in [(0, 3), (2, 0)] {
            assert!(std::panic::catch_unwind(|| matrix[(i, j)]).is_err(), "({i}, {j})");
        }
    }
}
