//! Joint fits: one fit of several sets of points whose models share parameters.

use crate::failure::{in_python, raised, raised_in_sets};
use crate::fit::Fit;
use crate::model::Model;
use crate::native::Calls;
use crate::points::Points;
use crate::settings::{Begin, Settings, start};
use crate::watch::{Thread, watched};
use dualfit::GlobalFit;
use dualfit::error::GlobalError;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::cell::OnceCell;
use std::sync::Arc;

/// Settings of the parameters of a joint fit, by names such as `rate` or `amplitude_2`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Joint {
    /// Parameters of a common model that have one value for all sets.
    shared: Vec<String>,
    bounds: Vec<(String, f64, f64)>,
    fixed: Vec<String>,
    leave_out: bool,
}

/// The result of a joint fit.
#[pyclass(frozen, module = "dualfit._core")]
pub(crate) struct JointFit {
    joint: dualfit::JointFit,
    /// The functions of the models that call Python: one for all sets or one per set.
    calls: Vec<Option<Arc<Calls>>>,
}

/// Fits several sets together. `models` and `settings`: one for all sets, or one per set. `at`: function that an error
/// message needs for the values of x; see [`raised_in_sets`].
#[pyfunction]
#[pyo3(signature = (models, sets, begin, settings, joint, at))]
pub(crate) fn fit_joint(
    py: Python<'_>,
    models: Vec<PyRef<'_, Model>>,
    sets: Vec<Points<'_>>,
    begin: Option<Begin<'_>>,
    settings: Vec<Settings>,
    joint: Joint,
    at: Py<PyAny>,
) -> PyResult<JointFit> {
    let curves = models.iter().zip(&settings).map(|(model, settings)| model.told(settings));
    let mut curves = curves.collect::<PyResult<Vec<_>>>()?;
    let callback = settings.into_iter().next().and_then(|settings| settings.callback);
    if curves.is_empty() {
        return Err(PyValueError::new_err("there is no model"));
    }
    let first = curves.remove(0);
    let matrices: Vec<OnceCell<_>> = sets.iter().map(|_| OnceCell::new()).collect();
    let mut data = Vec::with_capacity(sets.len());
    for (set, (points, matrix)) in sets.iter().zip(&matrices).enumerate() {
        let in_set = |error| GlobalError::InSet { set: set + 1, error: Box::new(error) };
        data.push(points.data(matrix)?.map_err(|error| raised(in_set(error).into()))?);
    }
    let calls: Vec<Option<Arc<Calls>>> = models.iter().map(|model| model.calls.clone()).collect();
    let start = start(begin.as_ref())?;
    let called = calls.iter().filter_map(|calls| calls.as_deref());
    let made = watched(py, first, Thread::Own, called, callback, move |first| {
        let mut global = match curves.is_empty() {
            true => GlobalFit::new(&first).share(&joint.shared),
            false => GlobalFit::of([&first].into_iter().chain(&curves)),
        };
        for (name, lower, upper) in &joint.bounds {
            global = global.bound(name, *lower..=*upper);
        }
        global = joint.fixed.iter().fold(global, |global, name| global.fix(name));
        Ok(global.leave_out_bad_sets(joint.leave_out).fit(data, start))
    })?;
    let made = made.map_err(|error| raised_in_sets(py, error, &at))?;
    Ok(JointFit { joint: made, calls })
}

#[pymethods]
impl JointFit {
    /// The fit of all parameters.
    fn fit(&self) -> Fit {
        Fit { fit: self.joint.fit().clone(), calls: None }
    }

    /// Returns the fit of one set; `None` if it was left out.
    fn set(&self, index: usize) -> Option<Fit> {
        let calls = self.calls.get(index).or(self.calls.first()).cloned().flatten();
        Some(Fit { fit: self.joint.set(index)?, calls })
    }

    /// Returns values and standard errors of a parameter or a derived quantity of the sets' models, one per set.
    #[allow(clippy::type_complexity)]
    fn quantity<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let found = self.joint.quantity(name)?.into_iter();
        let (values, errors): (Vec<f64>, Vec<f64>) =
            found.map(|found| (found.value, found.std_error)).unzip();
        Some((PyArray1::from_vec(py, values), PyArray1::from_vec(py, errors)))
    }

    #[getter]
    fn chi_squares<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.joint.chi_squares())
    }

    /// Indices of the sets that were left out, with the reasons.
    #[getter]
    fn left_out(&self) -> Vec<(usize, String)> {
        self.joint.left_out().map(|(set, why)| (set, in_python(why))).collect()
    }

    fn to_json(&self) -> PyResult<String> {
        self.joint.to_json().map_err(raised)
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<JointFit> {
        Ok(JointFit {
            joint: dualfit::JointFit::from_json(text).map_err(raised)?,
            calls: Vec::new(),
        })
    }

    fn __len__(&self) -> usize {
        self.joint.sets()
    }

    fn __str__(&self) -> String {
        in_python(&self.joint.to_string())
    }
}
