//! The points of a fit, passed from Python.

use crate::arrays::{Samples, columns, matrix_of, slice};
use crate::failure::raised;
use dualfit::{Data, Matrix, Missing, Sigma};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::cell::OnceCell;

/// Data of a fit. Keys that are left out have their default values.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Points<'py> {
    columns: Vec<Samples<'py>>,
    y: Samples<'py>,
    #[pyo3(default)]
    sigma: Option<GivenSigma<'py>>,
    #[pyo3(default)]
    absolute: bool,
    #[pyo3(default)]
    x_sigma: Option<Vec<PyReadonlyArray1<'py, f64>>>,
    #[pyo3(default)]
    mask: Option<PyReadonlyArray1<'py, bool>>,
    #[pyo3(default)]
    omit: bool,
}

/// Standard deviations or covariance of y: in the unit of y if `absolute` is true, otherwise known up to a common
/// factor.
#[derive(FromPyObject)]
pub(crate) enum GivenSigma<'py> {
    Each(PyReadonlyArray1<'py, f64>),
    Covariance(PyReadonlyArray2<'py, f64>),
    Constant(f64),
}

impl GivenSigma<'_> {
    /// Converts to [`Sigma`]. `matrix`: storage for a covariance.
    pub(crate) fn sigma<'a>(
        &'a self,
        absolute: bool,
        matrix: &'a OnceCell<Matrix>,
    ) -> PyResult<Sigma<'a>> {
        Ok(match self {
            GivenSigma::Constant(value) if absolute => Sigma::Constant(*value),
            // One relative sigma for all points carries no information.
            GivenSigma::Constant(_) => Sigma::Unknown,
            GivenSigma::Each(each) if absolute => Sigma::Absolute(slice(each)?),
            GivenSigma::Each(each) => Sigma::Relative(slice(each)?),
            GivenSigma::Covariance(given) => {
                let matrix = matrix.get_or_init(|| matrix_of(given));
                if absolute { Sigma::Covariance(matrix) } else { Sigma::RelativeCovariance(matrix) }
            }
        })
    }
}

pub(crate) fn missing(omit: bool) -> Missing {
    if omit { Missing::Omit } else { Missing::Error }
}

impl Points<'_> {
    /// Returns the points, or the error of invalid points. `matrix`: storage for a covariance.
    pub(crate) fn data<'a>(
        &'a self,
        matrix: &'a OnceCell<Matrix>,
    ) -> PyResult<dualfit::Result<Data<'a>>> {
        let (x, y) = (columns(&self.columns)?, self.y.values()?);
        let x_sigma = self.x_sigma.as_ref().map(|each| each.iter().map(slice).collect());
        let x_sigma: Option<Vec<&[f64]>> = x_sigma.transpose()?;
        let mask = self.mask.as_ref().map(slice).transpose()?;
        let sigma = self.sigma.as_ref().map(|sigma| sigma.sigma(self.absolute, matrix));
        let sigma = sigma.transpose()?.unwrap_or(Sigma::Unknown);
        let checked = || -> dualfit::Result<Data<'a>> {
            let mut data = Data::new(x, y)?.missing(missing(self.omit));
            if let Some(x_sigma) = x_sigma {
                data = data.x_sigma(x_sigma)?;
            }
            if let Some(mask) = mask {
                data = data.mask(mask)?;
            }
            data.sigma(sigma)
        };
        Ok(checked())
    }

    /// Calls `work` with the points, and returns its result.
    pub(crate) fn with_data<R>(&self, work: impl FnOnce(Data<'_>) -> PyResult<R>) -> PyResult<R> {
        let matrix = OnceCell::new();
        work(self.data(&matrix)?.map_err(raised)?)
    }
}
