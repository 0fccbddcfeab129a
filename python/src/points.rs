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
    /// Calls `work` with the points, and returns its result.
    pub(crate) fn with_data<R>(&self, work: impl FnOnce(Data<'_>) -> PyResult<R>) -> PyResult<R> {
        let mut data = Data::new(columns(&self.columns)?, self.y.values()?)
            .map_err(raised)?
            .missing(missing(self.omit));
        if let Some(sigmas) = &self.x_sigma {
            let sigmas = sigmas.iter().map(slice).collect::<PyResult<Vec<&[f64]>>>()?;
            data = data.x_sigma(sigmas).map_err(raised)?;
        }
        if let Some(mask) = &self.mask {
            data = data.mask(slice(mask)?).map_err(raised)?;
        }
        let matrix = OnceCell::new();
        let sigma = self.sigma.as_ref().map(|sigma| sigma.sigma(self.absolute, &matrix));
        let sigma = sigma.transpose()?.unwrap_or(Sigma::Unknown);
        work(data.sigma(sigma).map_err(raised)?)
    }
}
