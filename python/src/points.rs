//! The points of a fit, as Python hands them over.

use crate::arrays::{Samples, columns, matrix_of, slice};
use crate::failure::raised;
use dualfit::{Data, Missing, Sigma};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// Keys that are missing leave what is usual.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Points<'py> {
    pub(crate) columns: Vec<Samples<'py>>,
    pub(crate) y: Samples<'py>,
    #[pyo3(default)]
    pub(crate) sigma: Option<GivenSigma<'py>>,
    #[pyo3(default)]
    pub(crate) absolute: bool,
    #[pyo3(default)]
    x_sigma: Option<Vec<PyReadonlyArray1<'py, f64>>>,
    #[pyo3(default)]
    mask: Option<PyReadonlyArray1<'py, bool>>,
    #[pyo3(default)]
    omit: bool,
    #[pyo3(default)]
    allow_infinite_x: bool,
}

#[derive(FromPyObject)]
pub(crate) enum GivenSigma<'py> {
    Each(PyReadonlyArray1<'py, f64>),
    Covariance(PyReadonlyArray2<'py, f64>),
    Constant(f64),
}

pub(crate) fn missing(omit: bool) -> Missing {
    if omit { Missing::Omit } else { Missing::Error }
}

impl Points<'_> {
    /// What `work` makes of them.
    pub(crate) fn with_data<R>(&self, work: impl FnOnce(Data<'_>) -> PyResult<R>) -> PyResult<R> {
        let mut data = Data::new(columns(&self.columns)?, self.y.values()?)
            .map_err(raised)?
            .missing(missing(self.omit))
            .allow_infinite_x(self.allow_infinite_x);
        if let Some(sigmas) = &self.x_sigma {
            let sigmas = sigmas.iter().map(slice).collect::<PyResult<Vec<&[f64]>>>()?;
            data = data.x_sigma(sigmas).map_err(raised)?;
        }
        if let Some(mask) = &self.mask {
            data = data.mask(slice(mask)?).map_err(raised)?;
        }
        let matrix;
        let sigma = match &self.sigma {
            None => Sigma::Unknown,
            Some(GivenSigma::Constant(value)) if self.absolute => Sigma::Constant(*value),
            // One relative sigma for all points says nothing.
            Some(GivenSigma::Constant(_)) => Sigma::Unknown,
            Some(GivenSigma::Each(each)) if self.absolute => Sigma::Absolute(slice(each)?),
            Some(GivenSigma::Each(each)) => Sigma::Relative(slice(each)?),
            Some(GivenSigma::Covariance(covariance)) => {
                matrix = matrix_of(covariance);
                Sigma::Covariance(&matrix)
            }
        };
        work(data.sigma(sigma).map_err(raised)?)
    }
}
