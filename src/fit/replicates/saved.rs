//! Saved form of a bootstrap: the parameters of all refits.

use super::{Replicates, Resample};
use crate::error::Result;
use crate::fit::replicates::resampled::Jackknife;
use crate::fit::saved::{expressions_of, programs_of};
use crate::model::saved::SavedProgram;
use crate::saved::{Saved, exact, move_fields, saved};

saved! {
    /// The mirror of the replicates of a bootstrap.
    #[serde(rename = "Replicates")]
    "bootstrap": struct SavedReplicates of made: Replicates {
        resample: Resample,
        names: Vec<String>,
        #[serde(with = "exact")] estimate: Vec<f64>,
        derived: Vec<(String, SavedProgram)> = programs_of(made.derived),
        #[serde(with = "exact")] params: Vec<f64>,
        jackknife: Jackknife,
        failed: usize,
        not_run: usize,
    }
}

impl Replicates {
    /// Returns all refits as JSON, with numbers to the last bit. The bootstrap that
    /// [`from_json`](Replicates::from_json) reads from it has the same intervals. `Replicates` implements the traits of
    /// `serde`, so that other formats work, too.
    ///
    /// # Errors
    /// No errors in practice: all results can be written.
    #[inline]
    pub fn to_json(&self) -> Result<String> {
        self.write()
    }

    /// Reads the output of [`to_json`](Replicates::to_json).
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) for another kind of text, an unknown version, or arrays of wrong lengths;
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a formula of parameters that the model does not
    /// have.
    #[inline]
    pub fn from_json(text: &str) -> Result<Replicates> {
        Replicates::read(text)
    }
}

impl SavedReplicates {
    fn checked(self) -> Result<Replicates> {
        let p = self.names.len();
        Replicates::expect("parameters of the fit", self.estimate.len(), p)?;
        let derived = expressions_of(self.derived, &self.names, "save the bootstrap again")?;
        let whole_rows = |params: &[f64]| {
            Replicates::expect("params", params.len(), params.len() / p.max(1) * p)
        };
        whole_rows(&self.params)?;
        if let Jackknife::LeftOut(params) = &self.jackknife {
            whole_rows(params)?;
        }
        Ok(move_fields!(Replicates { derived, } from self {
            resample, names, estimate, params, jackknife, failed, not_run
        }))
    }
}
