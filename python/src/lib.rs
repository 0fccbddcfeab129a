//! Compiled core of the Python package `dualfit`: models, fits and results of the crate, for the modules in Python.
//!
//! Only the exceptions are public in Python; the public functions and classes are in `dualfit/*.py`.

mod agreement;
mod arrays;
mod batch;
mod bootstrap;
mod chunks;
mod compare;
mod contour;
mod devices;
mod failure;
mod fit;
mod joint;
mod library;
mod model;
mod native;
mod points;
mod profile;
mod search;
mod settings;
mod stream;
mod tape;
mod watch;

use pyo3::prelude::*;

/// The compiled part of `dualfit`.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("GROUP", dualfit::parts::Part::GROUP)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("FitError", module.py().get_type::<failure::FitError>())?;
    module.add("PartialError", module.py().get_type::<failure::PartialError>())?;
    module.add("CudaError", module.py().get_type::<failure::CudaError>())?;
    module.add_class::<model::Model>()?;
    module.add_class::<library::LibraryModel>()?;
    module.add_class::<fit::Fit>()?;
    module.add_class::<batch::BatchFit>()?;
    module.add_class::<profile::Profile>()?;
    module.add_class::<bootstrap::Replicates>()?;
    module.add_class::<joint::JointFit>()?;
    module.add_function(wrap_pyfunction!(arrays::all_finite, module)?)?;
    module.add_function(wrap_pyfunction!(batch::fit_batch, module)?)?;
    module.add_function(wrap_pyfunction!(search::multi_start, module)?)?;
    module.add_function(wrap_pyfunction!(search::differential_evolution, module)?)?;
    module.add_function(wrap_pyfunction!(bootstrap::bootstrap, module)?)?;
    module.add_function(wrap_pyfunction!(contour::contour, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_nested, module)?)?;
    module.add_function(wrap_pyfunction!(compare::akaike_weights, module)?)?;
    module.add_function(wrap_pyfunction!(joint::fit_joint, module)?)?;
    module.add_function(wrap_pyfunction!(stream::fit_stream, module)?)?;
    module.add_function(wrap_pyfunction!(stream::fit_parts, module)?)?;
    module.add_function(wrap_pyfunction!(stream::answer, module)?)?;
    module.add_function(wrap_pyfunction!(stream::answer_stream, module)?)?;
    module.add_function(wrap_pyfunction!(stream::merged, module)?)?;
    module.add_function(wrap_pyfunction!(library::model_names, module)?)?;
    module.add_function(wrap_pyfunction!(devices::devices, module)?)
}
