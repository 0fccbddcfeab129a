//! Saved form of multi-start results: the complete best fit, and the numbers of the optima and of all ends.

use super::{Optima, Optimum, Trial, TrialEnd};
use crate::error::{Error, Named, NamedValues, Result};
use crate::fit::Fit;
use crate::fit::saved::SavedFit;
use crate::model::exact::{Exact, exact, plain};
use crate::model::json::{read, write};
use crate::model::saved::{check_index, check_version, expect};
use crate::solver::termination::Termination;
use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;

/// Saved form of [`Optima`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename = "Optima")]
pub(super) struct SavedOptima {
    version: u32,
    best: SavedFit,
    distinct: Vec<SavedOptimum>,
    trials: Vec<SavedTrial>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedOptimum {
    params: Vec<Exact>,
    cost: Exact,
    termination: Termination,
    trials: Vec<usize>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedTrial {
    start: Vec<Exact>,
    end: SavedEnd,
    #[serde(default)]
    searched: usize,
}

#[derive(Clone, Serialize, Deserialize)]
enum SavedEnd {
    Reached { params: Vec<Exact>, cost: Exact, termination: Termination, evaluations: usize },
    Failed(#[serde(with = "start_error")] Error),
    NotBegun,
}

impl Optima {
    /// Returns the results of all starts as JSON, with numbers to the last bit and the model of the best fit:
    /// [`from_json`](Optima::from_json) restores the same results and the same table. As in
    /// [`Fit::to_json`], a native model is not saved. `Optima` implements the traits of `serde` for
    /// other formats.
    ///
    /// # Errors
    /// No errors in practice: all results can be written.
    pub fn to_json(&self) -> Result<String> {
        write(&SavedOptima::from(self.clone()), "set of optima")
    }

    /// Reads the output of [`to_json`](Optima::to_json).
    ///
    /// # Errors
    /// [`Error::Saved`] if the text is not a saved result, the version is unknown, an array has the wrong length, or
    /// the best fit is damaged.
    pub fn from_json(text: &str) -> Result<Optima> {
        read::<SavedOptima>(text, "set of optima", VERSION)?.try_into()
    }
}

impl From<Optima> for SavedOptima {
    fn from(optima: Optima) -> SavedOptima {
        let optimum = |optimum: Optimum| SavedOptimum {
            params: exact(&optimum.params),
            cost: Exact(optimum.cost),
            termination: optimum.termination,
            trials: optimum.trials,
        };
        let trial = |Trial { start, end, searched }: Trial| {
            let end = match end {
                TrialEnd::Reached { params, cost, termination, evaluations } => {
                    let (params, cost) = (exact(&params), Exact(cost));
                    SavedEnd::Reached { params, cost, termination, evaluations }
                }
                TrialEnd::Failed(error) => SavedEnd::Failed(error),
                TrialEnd::NotBegun => SavedEnd::NotBegun,
            };
            SavedTrial { start: exact(&start), end, searched }
        };
        SavedOptima {
            version: VERSION,
            best: optima.best.into(),
            distinct: optima.distinct.into_iter().map(optimum).collect(),
            trials: optima.trials.into_iter().map(trial).collect(),
        }
    }
}

impl TryFrom<SavedOptima> for Optima {
    type Error = Error;
    fn try_from(saved: SavedOptima) -> Result<Optima> {
        check_version("set of optima", saved.version, VERSION)?;
        let best: Fit = saved.best.try_into()?;
        let (p, starts) = (best.names.len(), saved.trials.len());
        let of_all = |what, params: &[Exact]| -> Result<Vec<f64>> {
            expect("set of optima", what, params.len(), p)?;
            Ok(plain(params))
        };
        let optimum = |saved: SavedOptimum| -> Result<Optimum> {
            for &trial in &saved.trials {
                check_index("an optimum of the saved set", "trial", trial, starts)?;
            }
            Ok(Optimum {
                params: of_all("params of an optimum", &saved.params)?,
                cost: saved.cost.0,
                termination: saved.termination,
                trials: saved.trials,
            })
        };
        let trial = |saved: SavedTrial| -> Result<Trial> {
            let end = match saved.end {
                SavedEnd::Reached { params, cost, termination, evaluations } => {
                    let (params, cost) = (of_all("params of a trial", &params)?, cost.0);
                    TrialEnd::Reached { params, cost, termination, evaluations }
                }
                SavedEnd::Failed(error) => TrialEnd::Failed(error),
                SavedEnd::NotBegun => TrialEnd::NotBegun,
            };
            let start = of_all("start of a trial", &saved.start)?;
            Ok(Trial { start, end, searched: saved.searched })
        };
        let distinct = saved.distinct.into_iter().map(optimum).collect::<Result<_>>()?;
        let trials = saved.trials.into_iter().map(trial).collect::<Result<_>>()?;
        Ok(Optima { best, distinct, trials })
    }
}

/// The errors that end a single start, not the whole search (`run::is_of_start`).
mod start_error {
    use super::{Error, Exact, Named, NamedValues};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

    type Values = Vec<(String, Exact)>;

    #[derive(Serialize, Deserialize)]
    enum StartError {
        NonFinite { index: usize, point: Values, value: Exact, params: Values },
        PartialNonFinite { name: String, index: usize, point: Values, value: Exact, params: Values },
        NotPositive { index: usize, point: Values, value: Exact, params: Values },
        Overflow { params: Values },
        Panicked { message: String, place: String },
        Stopped,
    }

    fn said(values: &NamedValues) -> Values {
        values.0.iter().map(|named| (named.name.clone(), Exact(named.value))).collect()
    }

    fn named(values: Values) -> NamedValues {
        let named = |(name, value): (String, Exact)| Named { name, value: value.0 };
        NamedValues(values.into_iter().map(named).collect())
    }

    pub(super) fn serialize<S: Serializer>(error: &Error, to: S) -> Result<S::Ok, S::Error> {
        let saved = match error.clone() {
            Error::ModelNonFiniteAtStart { index, point, value, params } => {
                let (point, params) = (said(&point), said(&params));
                StartError::NonFinite { index, point, value: Exact(value), params }
            }
            Error::PartialNonFiniteAtStart { name, index, point, value, params } => {
                let (point, params) = (said(&point), said(&params));
                StartError::PartialNonFinite { name, index, point, value: Exact(value), params }
            }
            Error::ModelNotPositiveAtStart { index, point, value, params } => {
                let (point, params) = (said(&point), said(&params));
                StartError::NotPositive { index, point, value: Exact(value), params }
            }
            Error::OverflowAtStart { params } => StartError::Overflow { params: said(&params) },
            Error::ModelPanicked { message, place } => StartError::Panicked { message, place },
            Error::StoppedInFirstPass => StartError::Stopped,
            other => {
                return Err(ser::Error::custom(format!("this is no error of a start: {other}")));
            }
        };
        saved.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Error, D::Error> {
        Ok(match StartError::deserialize(from)? {
            StartError::NonFinite { index, point, value, params } => {
                let (point, params) = (named(point), named(params));
                Error::ModelNonFiniteAtStart { index, point, value: value.0, params }
            }
            StartError::PartialNonFinite { name, index, point, value, params } => {
                let (point, params) = (named(point), named(params));
                Error::PartialNonFiniteAtStart { name, index, point, value: value.0, params }
            }
            StartError::NotPositive { index, point, value, params } => {
                let (point, params) = (named(point), named(params));
                Error::ModelNotPositiveAtStart { index, point, value: value.0, params }
            }
            StartError::Overflow { params } => Error::OverflowAtStart { params: named(params) },
            StartError::Panicked { message, place } => Error::ModelPanicked { message, place },
            StartError::Stopped => Error::StoppedInFirstPass,
        })
    }
}
