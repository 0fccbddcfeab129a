//! Models by name, which find their own starts, and are put together.

use crate::failure::raised;
use crate::model::Model;
use crate::points::Points;
use dualfit::models;
use pyo3::prelude::*;

/// A model of the library, a formula, or what they are put together to.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct LibraryModel {
    model: models::Model,
}

/// What stands beside a model in a sum or a product.
#[derive(FromPyObject)]
enum Operand<'py> {
    Model(PyRef<'py, LibraryModel>),
    Number(f64),
}

/// The four operations, with a model or a number on the other side.
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
    /// The model of a name, with a prefix for the names of its parameters.
    #[staticmethod]
    #[pyo3(signature = (name, prefix=""))]
    fn by_name(name: &str, prefix: &str) -> PyResult<LibraryModel> {
        let model = models::by_name(name).map_err(raised)?.prefixed(prefix);
        Ok(LibraryModel { model })
    }

    /// A polynomial of a degree: c0 + c1·x + c2·x² + …
    #[staticmethod]
    #[pyo3(signature = (degree, prefix=""))]
    fn polynomial(degree: usize, prefix: &str) -> PyResult<LibraryModel> {
        Ok(LibraryModel { model: models::polynomial(degree, prefix).map_err(raised)? })
    }

    /// A cubic spline with these knots, in B-splines.
    #[staticmethod]
    #[pyo3(signature = (knots, prefix=""))]
    fn spline(knots: Vec<f64>, prefix: &str) -> PyResult<LibraryModel> {
        Ok(LibraryModel { model: models::spline(knots, prefix).map_err(raised)? })
    }

    /// What text describes: `gaussian(g1_) + linear(bg_)`.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<LibraryModel> {
        Ok(LibraryModel { model: models::parse(text).map_err(raised)? })
    }

    /// A formula over the independent `variables`; its parameters are in the order of the text, or in this one.
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

    /// This model with the value of `inner` in the place of its variable.
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

    /// A start found in the data, one value per parameter.
    fn guess(&self, points: Points<'_>) -> PyResult<Vec<f64>> {
        points.with_data(|data| self.model.guess(data).map_err(raised))
    }

    /// What is fitted.
    fn model(&self) -> PyResult<Model> {
        Model::ready(self.model.curve().map_err(raised)?)
    }

    fn __repr__(&self) -> String {
        self.model.to_string()
    }
}

/// The names of the models of the library.
#[pyfunction]
pub(crate) fn model_names() -> Vec<&'static str> {
    models::names()
}
