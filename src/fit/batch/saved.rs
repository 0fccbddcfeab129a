//! Saved form of a batch: its flat arrays, with all numbers to the last bit, as for [`Fit`](crate::Fit).

use super::arrays::Arrays;
use super::status::FitStatus;
use super::{BatchFit, ChiSquareOf, Made};
use crate::error::names::{check_distinct, check_shown};
use crate::error::{Error, Result};
use crate::fit::propagated::Formula;
use crate::fit::saved::SavedFormula;
use crate::model::exact::{Exact, exact, plain};
use crate::model::json::{read, write};
use crate::model::saved::{check_index, check_version, expect};
use crate::solver::bounds::Side;
use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;

/// Saved form of a batch.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename = "BatchFit")]
pub(super) struct SavedBatch {
    version: u32,
    names: Vec<String>,
    fixed: Vec<bool>,
    params: Vec<Exact>,
    errors: Vec<Exact>,
    costs: Vec<Exact>,
    statuses: Vec<FitStatus>,
    iterations: Vec<u32>,
    evaluations: Vec<u32>,
    points: Vec<usize>,
    weights: Vec<Exact>,
    ranks: Vec<u32>,
    sides: Vec<Option<Side>>,
    covariances: Vec<Exact>,
    #[serde(default)]
    priors: usize,
    #[serde(default)]
    chi_square: ChiSquareOf,
    #[serde(default)]
    correlated: Vec<bool>,
    /// Names, programs and parameters of derived quantities.
    #[serde(default)]
    derived: Vec<(String, SavedFormula)>,
    #[serde(default)]
    derived_by_model: usize,
    seconds: Exact,
    threads: usize,
    made: Made,
}

impl BatchFit {
    /// Returns the batch as JSON, with all numbers to the last bit: [`from_json`](BatchFit::from_json) restores the
    /// same arrays and the same summary. Neither a batch nor its saved form contains the model.
    /// JSON has no infinities and no NaN; they are saved as `"inf"`, `"-inf"` and `"nan"`. `BatchFit` implements
    /// the traits of `serde`: a binary format needs a third of the space.
    ///
    /// # Errors
    /// No errors in practice: every batch can be written.
    pub fn to_json(&self) -> Result<String> {
        write(&SavedBatch::from(self.clone()), "batch")
    }

    /// Restores the batch from the text that [`to_json`](BatchFit::to_json) returned.
    ///
    /// # Errors
    /// [`Error::Saved`] if the text is not a saved batch, the version is unknown, or an array has the wrong length.
    pub fn from_json(text: &str) -> Result<BatchFit> {
        read::<SavedBatch>(text, "batch", VERSION)?.try_into()
    }
}

impl From<BatchFit> for SavedBatch {
    fn from(batch: BatchFit) -> SavedBatch {
        let BatchFit {
            names,
            fixed,
            arrays,
            derived,
            derived_by_model,
            priors,
            chi_square,
            correlated,
            seconds,
            threads,
            made,
        } = batch;
        let saved = |(name, formula): (String, Formula)| (name, SavedFormula::from(formula));
        SavedBatch {
            version: VERSION,
            names,
            fixed,
            params: exact(&arrays.params),
            errors: exact(&arrays.errors),
            costs: exact(&arrays.costs),
            statuses: arrays.statuses,
            iterations: arrays.iterations,
            evaluations: arrays.evaluations,
            points: arrays.points,
            weights: exact(&arrays.weights),
            ranks: arrays.ranks,
            sides: arrays.sides,
            covariances: exact(&arrays.covariances),
            priors,
            chi_square,
            correlated,
            derived: derived.into_iter().map(saved).collect(),
            derived_by_model,
            seconds: Exact(seconds),
            threads,
            made,
        }
    }
}

impl TryFrom<SavedBatch> for BatchFit {
    type Error = Error;
    fn try_from(saved: SavedBatch) -> Result<BatchFit> {
        check_version("batch", saved.version, VERSION)?;
        let (fits, width) = (saved.statuses.len(), saved.names.len());
        let wide = fits.saturating_mul(width);
        let derived = saved.derived.iter().map(|(name, ..)| name);
        let all: Vec<String> = saved.names.iter().chain(derived).cloned().collect();
        check_distinct(&all)?;
        check_shown(&all)?;
        for (what, got, expected) in [
            ("fixed", saved.fixed.len(), width),
            ("params", saved.params.len(), wide),
            ("errors", saved.errors.len(), wide),
            ("costs", saved.costs.len(), fits),
            ("iterations", saved.iterations.len(), fits),
            ("evaluations", saved.evaluations.len(), fits),
            ("points", saved.points.len(), fits),
            ("weights", saved.weights.len(), fits),
            ("ranks", saved.ranks.len(), fits),
        ] {
            expect("batch", what, got, expected)?;
        }
        // These arrays are empty if they were not requested.
        let square = wide.saturating_mul(width);
        for (what, got, expected) in [
            ("sides", saved.sides.len(), wide),
            ("covariances", saved.covariances.len(), square),
            ("correlated", saved.correlated.len(), fits),
        ] {
            expect("batch", what, got, if got == 0 { 0 } else { expected })?;
        }
        for status in &saved.statuses {
            if let FitStatus::Ended { undetermined: Some(parameter), .. }
            | FitStatus::BadStart { parameter }
            | FitStatus::BadBounds { parameter } = *status
            {
                check_index("a status of the saved batch", "parameter", parameter, width)?;
            }
        }
        let arrays = Arrays {
            width,
            params: plain(&saved.params),
            errors: plain(&saved.errors),
            costs: plain(&saved.costs),
            statuses: saved.statuses,
            iterations: saved.iterations,
            evaluations: saved.evaluations,
            points: saved.points,
            weights: plain(&saved.weights),
            ranks: saved.ranks,
            sides: saved.sides,
            covariances: plain(&saved.covariances),
        };
        let checked = |(name, formula): (String, SavedFormula)| -> Result<(String, Formula)> {
            Ok((name, formula.checked("batch", width)?))
        };
        let derived = saved.derived.into_iter().map(checked).collect::<Result<_>>()?;
        Ok(BatchFit {
            names: saved.names,
            fixed: saved.fixed,
            arrays,
            derived,
            derived_by_model: saved.derived_by_model,
            priors: saved.priors,
            chi_square: saved.chi_square,
            correlated: saved.correlated,
            seconds: saved.seconds.0,
            threads: saved.threads,
            made: saved.made,
        })
    }
}
