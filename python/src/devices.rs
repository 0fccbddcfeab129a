//! The CUDA devices of this machine.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one dictionary per device, in the order of their numbers; an empty list if there is no driver.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let found = py.detach(dualfit::device::devices);
    let described = |device: &dualfit::device::DeviceInfo| {
        let dict = PyDict::new(py);
        dict.set_item("number", device.ordinal)?;
        dict.set_item("name", &device.name)?;
        dict.set_item("memory_total", device.memory_total)?;
        dict.set_item("memory_free", device.memory_free)?;
        dict.set_item("compute_capability", device.compute_capability)?;
        dict.set_item("multiprocessors", device.multiprocessors)?;
        dict.set_item("driver_version", device.driver_version)?;
        dict.set_item("nvrtc_version", device.nvrtc_version)?;
        dict.set_item("problem", device.problem.as_ref().map(ToString::to_string))?;
        dict.set_item("text", device.to_string())?;
        Ok(dict)
    };
    found.unwrap_or_default().iter().map(described).collect()
}
