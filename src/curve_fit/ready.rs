//! Inputs of a request: the prepared model, kept until the settings of its parameters change, and the complete start.

use crate::backend::cpu::Prepared;
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::data::x_sigma::XSigma;
use crate::error::Result;
use crate::fit::engine::Spent;
use crate::fit::start_search::StartSearch;
use crate::model::native::Model;
use crate::model::ties::Ties;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

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

/// A starting point with a value for every parameter.
pub(super) struct CompleteStart {
    /// One value per parameter.
    pub(super) values: Vec<f64>,
    /// Positions of the linear parameters that were solved for.
    pub(super) solved: Vec<usize>,
    /// Time to compute missing values.
    pub(super) took: Duration,
    /// Result of the search for the start; `None` if no search was made.
    pub(super) search: Option<StartSearch>,
}

impl CompleteStart {
    /// Returns a start whose values are all known.
    pub(super) fn given(values: Vec<f64>) -> CompleteStart {
        CompleteStart { values, solved: Vec::new(), took: Duration::ZERO, search: None }
    }

    /// Returns the time and the report of the search for this start.
    pub(super) fn spent(&self) -> Spent {
        Spent { finding: self.took, search: self.search, ..Spent::default() }
    }
}
