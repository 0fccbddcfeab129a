//! Saved form of a bootstrap: the parameters of all refits.

use super::{Replicates, Resample};
use crate::error::names::position;
use crate::error::{Error, Result};
use crate::fit::replicates::resampled::Jackknife;
use crate::model::Expression;
use crate::model::exact::{Exact, exact, plain};
use crate::model::json::{read, write};
use crate::model::program::Program;
use crate::model::saved::{SavedProgram, check_version, expect};
use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;

/// Saved form of [`Replicates`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename = "Replicates")]
pub(super) struct SavedReplicates {
    version: u32,
    resample: Resample,
    names: Vec<String>,
    estimate: Vec<Exact>,
    derived: Vec<(String, SavedProgram)>,
    params: Vec<Exact>,
    jackknife: SavedJackknife,
    failed: usize,
    not_run: usize,
}

#[derive(Clone, Serialize, Deserialize)]
enum SavedJackknife {
    Symmetric,
    LeftOut(Vec<Exact>),
    Correlated,
    Failed,
}

impl Replicates {
    /// Returns all refits as JSON, with numbers to the last bit: [`from_json`](Replicates::from_json) restores
    /// replicates with the same intervals. `Replicates` implements the traits of `serde` for other formats.
    ///
    /// # Errors
    /// No errors in practice: all results can be written.
    pub fn to_json(&self) -> Result<String> {
        write(&SavedReplicates::from(self.clone()), "bootstrap")
    }

    /// Reads the output of [`to_json`](Replicates::to_json).
    ///
    /// # Errors
    /// [`Error::Saved`] if the text is not a saved bootstrap, the version is unknown, or an array has the wrong length;
    /// [`Error::UnknownParameter`] if a formula contains a parameter that the model does not have.
    pub fn from_json(text: &str) -> Result<Replicates> {
        read::<SavedReplicates>(text, "bootstrap", VERSION)?.try_into()
    }
}

impl From<Replicates> for SavedReplicates {
    fn from(made: Replicates) -> SavedReplicates {
        let formula =
            |(name, Expression(program)): (String, Expression)| (name, SavedProgram::from(program));
        SavedReplicates {
            version: VERSION,
            resample: made.resample,
            names: made.names,
            estimate: exact(&made.estimate),
            derived: made.derived.into_iter().map(formula).collect(),
            params: exact(&made.params),
            jackknife: match made.jackknife {
                Jackknife::Symmetric => SavedJackknife::Symmetric,
                Jackknife::LeftOut(params) => SavedJackknife::LeftOut(exact(&params)),
                Jackknife::Correlated => SavedJackknife::Correlated,
                Jackknife::Failed => SavedJackknife::Failed,
            },
            failed: made.failed,
            not_run: made.not_run,
        }
    }
}

impl TryFrom<SavedReplicates> for Replicates {
    type Error = Error;
    fn try_from(saved: SavedReplicates) -> Result<Replicates> {
        check_version("bootstrap", saved.version, VERSION)?;
        let p = saved.names.len();
        expect("bootstrap", "parameters of the fit", saved.estimate.len(), p)?;
        let rows = |params: &[Exact]| -> Result<Vec<f64>> {
            let whole = params.len() / p.max(1) * p;
            expect("bootstrap", "params", params.len(), whole)?;
            Ok(plain(params))
        };
        let formula = |(name, program): (String, SavedProgram)| -> Result<(String, Expression)> {
            let formula = Expression(Program::try_from(program)?);
            for parameter in formula.parameters() {
                position(&saved.names, parameter, "save the bootstrap again")?;
            }
            Ok((name, formula))
        };
        Ok(Replicates {
            resample: saved.resample,
            estimate: plain(&saved.estimate),
            derived: saved.derived.into_iter().map(formula).collect::<Result<_>>()?,
            params: rows(&saved.params)?,
            jackknife: match saved.jackknife {
                SavedJackknife::Symmetric => Jackknife::Symmetric,
                SavedJackknife::LeftOut(params) => Jackknife::LeftOut(rows(&params)?),
                SavedJackknife::Correlated => Jackknife::Correlated,
                SavedJackknife::Failed => Jackknife::Failed,
            },
            failed: saved.failed,
            not_run: saved.not_run,
            names: saved.names,
        })
    }
}
