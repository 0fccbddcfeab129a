//! Settings of a fit other than its points: a dictionary from Python, the same for all kinds of fits.

use crate::arrays::slice;
use crate::failure::raised;
use crate::tape::{Node, replay};
use dualfit::device::Devices;
use dualfit::{
    Backend, CurveFit, Estimator, Loss, Options, Precision, SearchOptions, SearchWhen, Start, Var,
};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

/// Settings of a fit. Missing keys mean the defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    #[pyo3(default)]
    bounds: Vec<(String, f64, f64)>,
    #[pyo3(default)]
    fixed: Vec<String>,
    /// Additional parameters that only ties use.
    #[pyo3(default)]
    parameters: Vec<String>,
    #[pyo3(default)]
    ties: Vec<(String, String)>,
    #[pyo3(default)]
    derived: Vec<(String, String)>,
    #[pyo3(default)]
    priors: Vec<(String, f64, f64)>,
    #[pyo3(default)]
    scales: Vec<(String, f64)>,
    #[pyo3(default)]
    loss: Option<GivenLoss>,
    #[pyo3(default)]
    poisson: bool,
    /// `auto`, `cpu` or `cuda`.
    backend: String,
    #[pyo3(default)]
    devices: Option<Vec<usize>>,
    #[pyo3(default)]
    precision: Option<String>,
    #[pyo3(default)]
    clamp_start: bool,
    #[pyo3(default)]
    allow_underdetermined: bool,
    #[pyo3(default)]
    test_residuals: bool,
    /// `never`, `needed`, `rejected` or `always`.
    #[pyo3(default)]
    search: Option<String>,
    #[pyo3(default)]
    search_rounds: Option<usize>,
    #[pyo3(default)]
    search_seed: Option<u64>,
    #[pyo3(default)]
    ftol: Option<f64>,
    #[pyo3(default)]
    xtol: Option<f64>,
    #[pyo3(default)]
    gtol: Option<f64>,
    #[pyo3(default)]
    etol: Option<f64>,
    #[pyo3(default)]
    max_evaluations: Option<usize>,
    #[pyo3(default)]
    max_seconds: Option<f64>,
    #[pyo3(default)]
    initial_radius: Option<f64>,
    /// Called with every event. An exception ends the fit.
    #[pyo3(default)]
    pub(crate) callback: Option<Py<PyAny>>,
}

/// A loss by name, or by recorded operations of a function of residual/scale.
#[derive(FromPyObject)]
enum GivenLoss {
    Named((String, f64)),
    Recorded((Vec<Node>, f64)),
}

impl GivenLoss {
    fn loss(&self) -> PyResult<Loss> {
        match self {
            GivenLoss::Recorded((nodes, scale)) => {
                Loss::custom(*scale, |u| replay(nodes, &[], &[u]).unwrap_or(Var::from(f64::NAN)))
                    .map_err(raised)
            }
            GivenLoss::Named((name, _)) if name == "linear" => Ok(Loss::Linear),
            GivenLoss::Named((name, scale)) => {
                let all = Loss::robust(*scale).map(|loss| (written(loss), loss));
                match all.iter().find(|(written, _)| written == name) {
                    Some((_, loss)) => Ok(*loss),
                    None => Err(PyValueError::new_err(format!(
                        "there is no loss {name:?}; there are linear, {}, or give a function of u = residual/scale",
                        all.map(|(written, _)| written).join(", ")
                    ))),
                }
            }
        }
    }
}

/// Returns the name of a loss in Python: `soft_l1`.
fn written(loss: Loss) -> String {
    loss.name().to_lowercase().replace(' ', "_")
}

impl Settings {
    /// Returns `curve` with these settings.
    pub(crate) fn applied(&self, mut curve: CurveFit) -> PyResult<CurveFit> {
        for name in &self.parameters {
            curve = curve.parameter(name);
        }
        for (name, lower, upper) in &self.bounds {
            curve = curve.bound(name, *lower..=*upper);
        }
        for name in &self.fixed {
            curve = curve.fix(name);
        }
        for (name, formula) in &self.ties {
            curve = curve.tie(name, formula);
        }
        for (name, formula) in &self.derived {
            curve = curve.derive(name, formula);
        }
        for (name, mean, sigma) in &self.priors {
            curve = curve.prior(name, *mean, *sigma);
        }
        for (name, magnitude) in &self.scales {
            curve = curve.scale(name, *magnitude);
        }
        if let Some(loss) = &self.loss {
            curve = curve.loss(loss.loss()?);
        }
        if self.poisson {
            curve = curve.estimator(Estimator::Poisson);
        }
        if let Some(precision) = &self.precision {
            curve = curve.precision(match precision.as_str() {
                "double" => Precision::Double,
                "mixed" => Precision::Mixed,
                "single" => Precision::Single,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "there is no precision {precision:?}; there are \"double\", \"mixed\" and \"single\""
                    )));
                }
            });
        }
        curve = curve
            .clamp_start(self.clamp_start)
            .allow_underdetermined(self.allow_underdetermined)
            .test_residuals(self.test_residuals)
            .options(self.options()?)
            .search(self.search()?);
        Ok(curve.backend(self.backend()?))
    }

    fn search(&self) -> PyResult<SearchOptions> {
        let mut search = SearchOptions::default();
        if let Some(when) = &self.search {
            search.when = match when.as_str() {
                "never" => SearchWhen::Never,
                "needed" => SearchWhen::Needed,
                "rejected" => SearchWhen::Rejected,
                "always" => SearchWhen::Always,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "search is {when:?}; there are \"never\", \"needed\", \"rejected\" and \"always\""
                    )));
                }
            };
        }
        search.rounds = self.search_rounds.unwrap_or(search.rounds);
        search.seed = self.search_seed.unwrap_or(search.seed);
        Ok(search)
    }

    fn options(&self) -> PyResult<Options> {
        let mut options = Options::default();
        let pairs = [
            (self.ftol, &mut options.ftol),
            (self.xtol, &mut options.xtol),
            (self.gtol, &mut options.gtol),
            (self.etol, &mut options.etol),
            (self.initial_radius, &mut options.initial_radius),
        ];
        for (given, option) in pairs {
            if let Some(value) = given {
                *option = value;
            }
        }
        options.max_evaluations = self.max_evaluations;
        if let Some(seconds) = self.max_seconds {
            let time = Duration::try_from_secs_f64(seconds).map_err(|_| {
                PyValueError::new_err(format!(
                    "max_seconds is {seconds}; give a number that is not negative"
                ))
            })?;
            options.max_time = Some(time);
        }
        Ok(options)
    }

    fn backend(&self) -> PyResult<Backend> {
        match (self.backend.as_str(), &self.devices) {
            ("auto", _) => Ok(Backend::Auto),
            ("cpu", _) => Ok(Backend::Cpu),
            ("cuda", Some(devices)) => Ok(Backend::cuda(&devices[..])),
            ("cuda", None) => Ok(Backend::cuda(Devices::All)),
            (name, _) => Err(PyValueError::new_err(format!(
                "there is no backend {name:?}; there are \"auto\", \"cpu\" and \"cuda\", and cuda's devices by their numbers, \"cuda:0\" or \"cuda:0,1\""
            ))),
        }
    }
}

/// Starting point: values in the order of the parameters (for a batch also one row per fit), or pairs of name and
/// value.
#[derive(FromPyObject)]
pub(crate) enum Begin<'py> {
    Values(PyReadonlyArray1<'py, f64>),
    Named(Vec<(String, f64)>),
}

/// Returns the starting point, or `Start::Guess` if none is given.
pub(crate) fn start(begin: Option<&Begin<'_>>) -> PyResult<Start> {
    Ok(match begin {
        Some(Begin::Values(values)) => slice(values)?.into(),
        Some(Begin::Named(pairs)) => pairs.clone().into(),
        None => Start::Guess,
    })
}
