//! Library models by name. They compute their own initial guesses and can be combined.

use crate::failure::raised;
use crate::model::Model;
use crate::points::Points;
use dualfit::models;
use pyo3::prelude::*;

/// A library model, a formula, or a combination of them.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct LibraryModel {
    model: models::Model,
}

/// The other operand of an arithmetic operation with a model.
#[derive(FromPyObject)]
enum Operand<'py> {
    Model(PyRef<'py, LibraryModel>),
    Number(f64),
}

/// The four arithmetic operations, with a model or a number as the other operand.
macro_rules! joined {
    ($self:ident $sign:tt $other:ident) => {
        LibraryModel {
            model: match $other {
                Operand::Model(other) => $self.model.clone() $sign other.model.clone(),
                Operand::Number(number) => $self.model.clone() $sign number,
            },
        }
    };
    ($other:ident, $sign:tt $self:ident) => {
        LibraryModel {
            model: match $other {
                Operand::Model(other) => other.model.clone() $sign $self.model.clone(),
                Operand::Number(number) => number $sign $self.model.clone(),
            },
        }
    };
}

#[pymethods]
impl LibraryModel {
    /// Returns the library model called `name`, with a prefix for the names of its parameters.
    #[staticmethod]
    #[pyo3(signature = (name, prefix=""))]
    fn by_name(name: &str, prefix: &str) -> PyResult<LibraryModel> {
        let model = models::by_name(name).map_err(raised)?.prefixed(prefix);
        Ok(LibraryModel { model })
    }

    /// Returns a polynomial of the given degree: c0 + c1·x + c2·x² + …
    #[staticmethod]
    #[pyo3(signature = (degree, prefix=""))]
    fn polynomial(degree: usize, prefix: &str) -> PyResult<LibraryModel> {
        Ok(LibraryModel { model: models::polynomial(degree, prefix).map_err(raised)? })
    }

    /// Returns a cubic spline with these knots, in the B-spline basis.
    #[staticmethod]
    #[pyo3(signature = (knots, prefix=""))]
    fn spline(knots: Vec<f64>, prefix: &str) -> PyResult<LibraryModel> {
        Ok(LibraryModel { model: models::spline(knots, prefix).map_err(raised)? })
    }

    /// Parses a combination of library models: `gaussian(g1_) + linear(bg_)`.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<LibraryModel> {
        Ok(LibraryModel { model: models::parse(text).map_err(raised)? })
    }

    /// Parses a formula of the independent `variables`. Its parameters have the order of the text, or of `parameters`.
    #[staticmethod]
    #[pyo3(signature = (text, variables, parameters=Vec::new()))]
    fn expression(
        text: &str,
        variables: Vec<String>,
        parameters: Vec<String>,
    ) -> PyResult<LibraryModel> {
        let model = models::Model::expression(text, variables).map_err(raised)?;
        Ok(LibraryModel { model: model.ordered(&parameters) })
    }

    fn __add__(&self, other: Operand<'_>) -> LibraryModel {
        joined!(self + other)
    }

    fn __radd__(&self, other: Operand<'_>) -> LibraryModel {
        joined!(other, + self)
    }

    fn __sub__(&self, other: Operand<'_>) -> LibraryModel {
        joined!(self - other)
    }

    fn __rsub__(&self, other: Operand<'_>) -> LibraryModel {
        joined!(other, -self)
    }

    fn __mul__(&self, other: Operand<'_>) -> LibraryModel {
        joined!(self * other)
    }

    fn __rmul__(&self, other: Operand<'_>) -> LibraryModel {
        joined!(other, *self)
    }

    fn __truediv__(&self, other: Operand<'_>) -> LibraryModel {
        joined!(self / other)
    }

    fn __rtruediv__(&self, other: Operand<'_>) -> LibraryModel {
        joined!(other, / self)
    }

    fn __neg__(&self) -> LibraryModel {
        LibraryModel { model: -self.model.clone() }
    }

    /// Returns the composition: this model with `inner` as its independent variable.
    fn of(&self, inner: &LibraryModel) -> LibraryModel {
        LibraryModel { model: self.model.clone().of(inner.model.clone()) }
    }

    fn prefixed(&self, prefix: &str) -> LibraryModel {
        LibraryModel { model: self.model.clone().prefixed(prefix) }
    }

    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.model.parameters()
    }

    #[getter]
    fn variables(&self) -> Vec<String> {
        self.model.variables()
    }

    /// (lower, upper) of each parameter.
    #[getter]
    fn bounds(&self) -> Vec<(f64, f64)> {
        self.model.bounds()
    }

    /// Computes an initial guess from the data, one value per parameter.
    fn guess(&self, points: Points<'_>) -> PyResult<Vec<f64>> {
        points.with_data(|data| self.model.guess(data).map_err(raised))
    }

    /// Returns the model for fits.
    fn model(&self) -> PyResult<Model> {
        Model::ready(self.model.curve().map_err(raised)?)
    }

    fn __repr__(&self) -> String {
        self.model.to_string()
    }
}

/// Returns the names of the library models.
#[pyfunction]
pub(crate) fn model_names() -> Vec<&'static str> {
    models::names()
}
