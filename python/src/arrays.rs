//! NumPy arrays, borrowed without copying for the duration of a call.

use dualfit::Matrix;
use dualfit::arrays::Values;
use dualfit::threads::ready;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

/// A one-dimensional array of any dtype that a fit supports.
#[derive(FromPyObject)]
pub(crate) enum Samples<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
    U8(PyReadonlyArray1<'py, u8>),
    U16(PyReadonlyArray1<'py, u16>),
    I16(PyReadonlyArray1<'py, i16>),
    U32(PyReadonlyArray1<'py, u32>),
    I32(PyReadonlyArray1<'py, i32>),
}

impl Samples<'_> {
    pub(crate) fn values(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Samples::F64(a) => slice(a)?.into(),
            Samples::F32(a) => slice(a)?.into(),
            Samples::U8(a) => slice(a)?.into(),
            Samples::U16(a) => slice(a)?.into(),
            Samples::I16(a) => slice(a)?.into(),
            Samples::U32(a) => slice(a)?.into(),
            Samples::I32(a) => slice(a)?.into(),
        })
    }
}

/// Returns the elements of a contiguous array.
pub(crate) fn slice<'a, T: numpy::Element>(
    array: &'a PyReadonlyArray1<'_, T>,
) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| PyValueError::new_err("the array is not contiguous"))
}

/// Returns true if an array contains neither NaN nor infinities. Large arrays are checked by all threads.
#[pyfunction]
pub(crate) fn all_finite(py: Python<'_>, array: PyReadonlyArray1<'_, f64>) -> PyResult<bool> {
    /// Elements per task of a thread.
    const PORTION: usize = 1 << 16;
    let numbers = slice(&array)?;
    let are_finite = |part: &[f64]| part.iter().fold(true, |all, number| all & number.is_finite());
    if numbers.len() <= PORTION {
        return Ok(are_finite(numbers));
    }
    Ok(py.detach(|| {
        ready();
        numbers.par_chunks(PORTION).all(are_finite)
    }))
}

/// Returns the columns of x.
pub(crate) fn columns<'a>(columns: &'a [Samples<'_>]) -> PyResult<Vec<Values<'a>>> {
    columns.iter().map(Samples::values).collect()
}

/// Copies a NumPy matrix.
pub(crate) fn matrix_of(array: &PyReadonlyArray2<'_, f64>) -> Matrix {
    let a = array.as_array();
    Matrix::from_fn(a.nrows(), a.ncols(), |i, j| a[[i, j]])
}

/// Converts a matrix to a NumPy array in row-major order.
pub(crate) fn to_numpy<'py>(
    py: Python<'py>,
    matrix: &Matrix,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    rows(py, matrix.as_slice(), matrix.columns())
}

/// Returns an array with rows of `width` elements from values in row-major order.
pub(crate) fn rows<'py>(
    py: Python<'py>,
    values: &[f64],
    width: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let count = values.len().checked_div(width).unwrap_or(0);
    PyArray1::from_slice(py, values).reshape([count, width])
}
