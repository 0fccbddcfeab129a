//! CUDA C++ of a program, printed once for each kind of data and loss.

use super::cache::Origin;
use super::device::{Device, LoadError, LoadedKernels};
use super::driver::DriverError;
use super::interface::{Rule, Size, inputs_by_value};
use super::machine;
use super::source::{self, Arithmetic, FEW_PARAMETERS, Spec, Storage, Summation, Weighting};
use crate::backend::choice::Costs;
use crate::data::loss::{Estimator, Loss};
use crate::data::loss_formula::LossFormula;
use crate::model::program::Program;
use crate::model::tape::depends_on_point;
use crate::threads;
use std::sync::{Arc, Mutex, OnceLock};

/// Key of a source text in addition to the program: types of columns and response, weights, loss, arithmetic and
/// summation.
type TextKey =
    (Vec<Storage>, Storage, Weighting, (Rule, Option<LossFormula>), (Arithmetic, Summation));

/// Kind of data and loss for which a model has separate kernels.
#[derive(Clone)]
pub(crate) struct Variant {
    /// Types of the columns and of the response.
    pub(crate) storages: (Vec<Storage>, Storage),
    pub(crate) weights: Weighting,
    pub(crate) rule: (Loss, Estimator),
    pub(crate) arithmetic: Arithmetic,
}

/// The source texts of one kind.
struct Texts {
    passes: Arc<str>,
    /// The factor pass, if it runs on a device.
    factor: Option<Arc<str>>,
}

/// A program with partials with respect to the free parameters, and its source texts so far.
pub(crate) struct CompiledModel {
    pub(crate) program: Arc<Program>,
    /// Units of work per point, as defined in [`Costs`](crate::device::Costs).
    pub(crate) units: f64,
    texts: Mutex<Vec<(TextKey, Arc<Texts>)>>,
}

/// The kernels of a fit on a device.
pub(crate) struct FitKernels {
    device: Arc<Device>,
    texts: Arc<Texts>,
    pub(crate) passes: Arc<LoadedKernels>,
    /// Maximum number of points of a launch.
    pub(crate) most_points: usize,
    /// True if a pass receives its inputs by value.
    pub(crate) inputs_by_value: bool,
    factor: OnceLock<Arc<LoadedKernels>>,
}

impl CompiledModel {
    pub(crate) fn new(program: Arc<Program>) -> CompiledModel {
        let units = crate::backend::choice::units(&program, &depends_on_point(&program.nodes));
        CompiledModel { program, units, texts: Mutex::default() }
    }

    /// Returns the number of free parameters.
    pub(crate) fn free(&self) -> usize {
        self.program.partials.len()
    }

    /// Returns the kernels on `device`, and their origin.
    pub(crate) fn kernels(
        &self,
        device: &Arc<Device>,
        variant: &Variant,
    ) -> Result<(FitKernels, Origin), LoadError> {
        let texts = self.texts(device, variant);
        let (passes, origin) = device.kernels(&texts.passes)?;
        let factor = OnceLock::new();
        let properties = device.driver.properties();
        let most_points = Costs::default().points_of_launch(self.units, properties);
        let Program { columns, params, .. } = &*self.program;
        let (columns, params) = (columns.len(), params.len());
        let inputs_by_value = inputs_by_value(Size { columns, params, free: self.free() });
        let device = device.clone();
        let kernels = FitKernels { device, texts, passes, most_points, inputs_by_value, factor };
        Ok((kernels, origin))
    }

    /// Returns true if [`kernels`](Self::kernels) would find the model's kernels loaded.
    pub(crate) fn is_loaded(&self, device: &Device, variant: &Variant) -> bool {
        device.is_loaded(&self.texts(device, variant).passes)
    }

    fn texts(&self, device: &Device, variant: &Variant) -> Arc<Texts> {
        machine::has_device();
        let Variant { storages: (columns, response), weights, rule: (loss, estimator), arithmetic } =
            variant.clone();
        let rule = (Rule::of(loss, estimator), loss.formula());
        let (program, free) = (&self.program, self.free());
        let spec = Spec { program, free, columns, response, weights, loss, estimator, arithmetic };
        let summation = Summation::of(&spec, device.properties().capability);
        let kind = (spec.columns.clone(), response, weights, rule, (arithmetic, summation));
        let mut printed = threads::lock(&self.texts);
        if let Some((_, texts)) = printed.iter().find(|(k, _)| *k == kind) {
            return texts.clone();
        }
        let few = free <= FEW_PARAMETERS;
        let texts = Arc::new(Texts {
            passes: source::passes(&spec, summation).into(),
            factor: few.then(|| source::factor_pass(&spec).into()),
        });
        printed.push((kind, texts.clone()));
        texts
    }
}

impl FitKernels {
    /// Returns the kernel of the factor pass. It is compiled when a fit first needs it, because few fits do.
    pub(crate) fn factor(&self) -> Result<&LoadedKernels, DriverError> {
        if let Some(ready) = self.factor.get() {
            return Ok(ready);
        }
        let failed = |text| DriverError::Failed { call: "the compiler", code: 0, text };
        let text = self.texts.factor.as_ref();
        let text = text.ok_or_else(|| failed("there is no such kernel".into()))?;
        let loaded = self.device.kernels(text).map_err(|error| match error {
            LoadError::Driver(error) => error,
            LoadError::Compile { error, .. } => failed(error.to_string()),
        });
        let (kernels, _) = loaded?;
        Ok(self.factor.get_or_init(|| kernels))
    }
}
