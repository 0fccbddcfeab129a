//! A model prepared for fits, kept until the settings of its parameters change.

use crate::backend::cpu::Prepared;
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::data::x_sigma::XSigma;
use crate::error::Result;
use crate::model::native::Model;
use crate::model::ties::Ties;
use std::borrow::Cow;
use std::sync::Arc;

/// A model with partials with respect to its free parameters, in the form that each backend requires.
pub(super) struct Ready {
    /// Model in which tied parameters are replaced by their formulas.
    pub(super) model: Model,
    pub(super) ties: Arc<Ties>,
    pub(super) prepared: Prepared,
    /// Code for devices; `None` for a native model.
    pub(super) printed: Option<Arc<CompiledModel>>,
}

impl Ready {
    /// Returns the prepared model for data with these errors in x.
    ///
    /// # Errors
    /// [`Error::ModelKind`](crate::Error::ModelKind) for a native model if x has errors.
    pub(super) fn prepared(&self, x_sigma: &XSigma<'_>) -> Result<Cow<'_, Prepared>> {
        Ok(match x_sigma.is_exact() {
            true => Cow::Borrowed(&self.prepared),
            false => Cow::Owned(self.prepared.with_errors_in_x(&self.model, x_sigma.inexact())?),
        })
    }
}
