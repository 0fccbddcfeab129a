//! Saved form of a batch: its flat arrays, with all numbers to the last bit, as for [`Fit`](crate::Fit).

use super::arrays::Arrays;
use super::status::FitStatus;
use super::{BatchFit, ChiSquareOf, Made};
use crate::error::Result;
use crate::error::names::{check_distinct, check_shown};
use crate::fit::propagated::Formula;
use crate::fit::saved::SavedFormula;
use crate::saved::{Saved, check_index, exact, move_fields, saved};
use crate::solver::bounds::Side;

saved! {
    /// The mirror of a batch.
    #[serde(rename = "BatchFit")]
    "batch": struct SavedBatch of batch: BatchFit {
        names: Vec<String>,
        fixed: Vec<bool>,
        #[serde(with = "exact")] params: Vec<f64> = batch.arrays.params,
        #[serde(with = "exact")] errors: Vec<f64> = batch.arrays.errors,
        #[serde(with = "exact")] costs: Vec<f64> = batch.arrays.costs,
        statuses: Vec<FitStatus> = batch.arrays.statuses,
        iterations: Vec<u32> = batch.arrays.iterations,
        evaluations: Vec<u32> = batch.arrays.evaluations,
        points: Vec<usize> = batch.arrays.points,
        #[serde(with = "exact")] weights: Vec<f64> = batch.arrays.weights,
        ranks: Vec<u32> = batch.arrays.ranks,
        sides: Vec<Option<Side>> = batch.arrays.sides,
        #[serde(with = "exact")] covariances: Vec<f64> = batch.arrays.covariances,
        #[serde(default)] priors: usize,
        #[serde(default)] chi_square: ChiSquareOf,
        #[serde(default)] correlated: Vec<bool>,
        /// Names, programs and parameters of derived quantities.
        #[serde(default)] derived: Vec<(String, SavedFormula)> =
            batch.derived.into_iter().map(|(name, formula)| (name, formula.into())).collect(),
        #[serde(default)] derived_by_model: usize,
        #[serde(with = "exact")] seconds: f64,
        threads: usize,
        made: Made,
    }
}

impl BatchFit {
    /// Returns the batch as JSON, with all numbers to the last bit: [`from_json`](BatchFit::from_json) restores the
    /// same arrays and the same summary. Neither a batch nor its saved form contains the model. JSON has no infinities
    /// and no NaN; they are saved as `"inf"`, `"-inf"` and `"nan"`. `BatchFit` implements the traits of `serde`: a
    /// binary format needs a third of the space.
    ///
    /// # Errors
    /// No errors in practice: every batch can be written.
    #[inline]
    pub fn to_json(&self) -> Result<String> {
        self.write()
    }

    /// Restores the batch from the text that [`to_json`](BatchFit::to_json) returned.
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) if the text is not a saved batch, the version is unknown, or an array has
    /// the wrong length.
    #[inline]
    pub fn from_json(text: &str) -> Result<BatchFit> {
        BatchFit::read(text)
    }
}

impl SavedBatch {
    fn checked(self) -> Result<BatchFit> {
        let (fits, width) = (self.statuses.len(), self.names.len());
        let wide = fits.saturating_mul(width);
        let derived = self.derived.iter().map(|(name, ..)| name);
        let all: Vec<String> = self.names.iter().chain(derived).cloned().collect();
        check_distinct(&all)?;
        check_shown(&all)?;
        BatchFit::expect("fixed", self.fixed.len(), width)?;
        BatchFit::expect("params", self.params.len(), wide)?;
        BatchFit::expect("errors", self.errors.len(), wide)?;
        BatchFit::expect("costs", self.costs.len(), fits)?;
        BatchFit::expect("iterations", self.iterations.len(), fits)?;
        BatchFit::expect("evaluations", self.evaluations.len(), fits)?;
        BatchFit::expect("points", self.points.len(), fits)?;
        BatchFit::expect("weights", self.weights.len(), fits)?;
        BatchFit::expect("ranks", self.ranks.len(), fits)?;
        // These arrays are empty if they were not requested.
        let square = wide.saturating_mul(width);
        for (what, got, expected) in [
            ("sides", self.sides.len(), wide),
            ("covariances", self.covariances.len(), square),
            ("correlated", self.correlated.len(), fits),
        ] {
            BatchFit::expect(what, got, if got == 0 { 0 } else { expected })?;
        }
        for status in &self.statuses {
            if let FitStatus::Ended { undetermined: Some(parameter), .. }
            | FitStatus::BadStart { parameter }
            | FitStatus::BadBounds { parameter } = *status
            {
                check_index("a status of the saved batch", "parameter", parameter, width)?;
            }
        }
        let checked = |(name, formula): (String, SavedFormula)| -> Result<(String, Formula)> {
            Ok((name, formula.checked::<BatchFit>(width)?))
        };
        let derived = self.derived.into_iter().map(checked).collect::<Result<_>>()?;
        let arrays = move_fields!(Arrays { width, } from self {
            params, errors, costs, statuses, iterations, evaluations, points, weights, ranks, sides, covariances
        });
        Ok(move_fields!(BatchFit { derived, arrays, } from self {
            names, fixed, derived_by_model, priors, chi_square, correlated, seconds, threads, made
        }))
    }
}
