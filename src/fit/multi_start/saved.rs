//! Saved form of multi-start results: the complete best fit, and the numbers of the optima and of all ends.

use super::{Optima, Optimum, Trial, TrialEnd};
use crate::error::{Error, Named, NamedValues, Result};
use crate::fit::Fit;
use crate::fit::saved::SavedFit;
use crate::saved::exact::{self, exact_as};
use crate::saved::{Number, Saved, check_index, saved};
use serde::{Deserialize, Serialize};

saved! {
    /// The mirror of [`Optima`].
    #[serde(rename = "Optima")]
    "set of optima": struct SavedOptima of optima: Optima {
        best: SavedFit = optima.best.into(),
        distinct: Vec<Optimum>,
        trials: Vec<Trial>,
    }
}

impl Optima {
    /// Returns the results of all starts as JSON, with numbers to the last bit and the model of the best fit:
    /// [`from_json`](Optima::from_json) restores the same results and the same table. As in [`Fit::to_json`], a native
    /// model is not saved. `Optima` implements the traits of `serde` for other formats.
    ///
    /// # Errors
    /// No errors in practice: all results can be written.
    #[inline]
    pub fn to_json(&self) -> Result<String> {
        self.write()
    }

    /// Reads the output of [`to_json`](Optima::to_json).
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) if the text is not a saved result, the version is unknown, an array has
    /// the wrong length, or the best fit is damaged.
    #[inline]
    pub fn from_json(text: &str) -> Result<Optima> {
        Optima::read(text)
    }
}

impl SavedOptima {
    fn checked(self) -> Result<Optima> {
        let SavedOptima { best, distinct, trials, .. } = self;
        let best: Fit = best.try_into()?;
        let of_all = |what, params: &[f64]| Optima::expect(what, params.len(), best.names.len());
        for optimum in &distinct {
            for &trial in &optimum.trials {
                check_index("an optimum of the saved set", "trial", trial, trials.len())?;
            }
            of_all("params of an optimum", &optimum.params)?;
        }
        for trial in &trials {
            if let TrialEnd::Reached { params, .. } = &trial.end {
                of_all("params of a trial", params)?;
            }
            of_all("start of a trial", &trial.start)?;
        }
        Ok(Optima { best, distinct, trials })
    }
}

exact_as! {
    [] Named as (String, Number) => (
        |named| (named.name.clone(), Number(named.value)),
        |(name, value)| Named { name, value: value.0 }
    );
    [] NamedValues as Vec<(String, Number)> => (|values| values.0.form(), |form| NamedValues(Vec::restored(form)));
}

/// The mirror of errors that end a single start, not the whole search (`run::is_of_start`). Other errors cannot be
/// saved.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Error")]
#[non_exhaustive]
pub(super) enum StartError {
    #[serde(rename = "NonFinite")]
    ModelNonFiniteAtStart {
        index: usize,
        #[serde(with = "exact")]
        point: NamedValues,
        #[serde(with = "exact")]
        value: f64,
        #[serde(with = "exact")]
        params: NamedValues,
    },
    #[serde(rename = "PartialNonFinite")]
    PartialNonFiniteAtStart {
        name: String,
        index: usize,
        #[serde(with = "exact")]
        point: NamedValues,
        #[serde(with = "exact")]
        value: f64,
        #[serde(with = "exact")]
        params: NamedValues,
    },
    #[serde(rename = "NotPositive")]
    ModelNotPositiveAtStart {
        index: usize,
        #[serde(with = "exact")]
        point: NamedValues,
        #[serde(with = "exact")]
        value: f64,
        #[serde(with = "exact")]
        params: NamedValues,
    },
    #[serde(rename = "Overflow")]
    OverflowAtStart {
        #[serde(with = "exact")]
        params: NamedValues,
    },
    #[serde(rename = "Panicked")]
    ModelPanicked { message: String, place: String },
    #[serde(rename = "Stopped")]
    StoppedInFirstPass,
}
