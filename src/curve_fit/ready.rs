//! A model made ready for fits, kept until what was said of its parameters changes.

use super::CurveFit;
use crate::backend::cpu::Prepared;
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::data::x_sigma::XSigma;
use crate::error::Result;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::observe::span;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// A model with partials by its free parameters, in the form that each backend takes.
pub(super) struct Ready {
    /// With the formulas of tied parameters in their places.
    pub(super) model: Model,
    pub(super) ties: Arc<Ties>,
    pub(super) prepared: Prepared,
    /// For devices; `None` for a native model.
    pub(super) printed: Option<CompiledModel>,
}

impl Ready {
    /// The model for data with such errors in x.
    ///
    /// # Errors
    /// [`Error::ModelKind`](crate::Error::ModelKind) for a native model of such data.
    pub(super) fn prepared(&self, x_sigma: &XSigma<'_>) -> Result<Cow<'_, Prepared>> {
        Ok(match x_sigma.is_exact() {
            true => Cow::Borrowed(&self.prepared),
            false => Cow::Owned(self.prepared.with_errors_in_x(&self.model, x_sigma.inexact())?),
        })
    }
}

impl CurveFit {
    /// The model in its `free` parameters.
    pub(super) fn ready(&self, free: &[usize]) -> Result<Arc<Ready>> {
        if let Some(ready) = self.ready.get() {
            return Ok(ready.clone());
        }
        let _span = span!(DEBUG, "prepare", parameters = free.len());
        let (model, ties) = (self.effective_model()?, self.placed_ties()?);
        let (prepared, printed) = match &model {
            Model::Traced(program) => {
                let program = Arc::new(program.with_partials(free)?);
                (Prepared::traced(program.clone(), free), Some(CompiledModel::new(program)))
            }
            Model::Native(native) => (Prepared::native(native, free, &self.bounds), None),
        };
        let fresh = Arc::new(Ready { model, ties: Arc::new(ties), prepared, printed });
        Ok(self.ready.get_or_init(|| fresh).clone())
    }

    /// Forgets what was prepared for the parameters as they were.
    pub(super) fn changed(mut self) -> CurveFit {
        self.ready = OnceLock::new();
        self
    }

    /// As [`changed`](Self::changed), after a change of bounds or of what is fixed: a traced model is prepared for the
    /// parameters that are free, wherever they may go.
    pub(super) fn changed_in_place(self) -> CurveFit {
        let suits = |ready: &Arc<Ready>| {
            matches!(ready.model, Model::Traced(_)) && ready.prepared.free == self.free_positions()
        };
        match self.ready.get().is_some_and(suits) {
            true => self,
            false => self.changed(),
        }
    }
}
