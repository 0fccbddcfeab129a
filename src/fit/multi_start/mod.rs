//! Results of fits from many starts: the best fit, the distinct optima, and the termination of each start.

mod distinct;
pub(crate) mod evolution;
mod exchange;
mod report;
pub(crate) mod run;
#[cfg(feature = "json")]
mod saved;

use super::Fit;
use crate::error::Error;
use crate::solver::termination::Termination;

/// The result of [`CurveFit::multi_start`](crate::CurveFit::multi_start). `Display` prints a table of the optima with
/// the number of starts that reached each, and the reasons why the other starts did not converge.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "json", serde(try_from = "saved::SavedOptima", into = "saved::SavedOptima"))]
pub struct Optima {
    best: Fit,
    distinct: Vec<Optimum>,
    trials: Vec<Trial>,
}

/// A minimum of the cost that one or more starts reached.
///
/// Let Δ be the increase of the cost in the linear model (JᵀJ) after a step of a hundredth of a standard error. Two
/// results belong to one optimum if their costs differ by at most Δ and the step from each to the other increases the
/// cost of its linear model by at most Δ. They also belong to one optimum if their parameters agree within tolerances
/// and rounding. A hundredth of a standard error is far below the resolution of the data, and separate minima of a sum
/// of squares are not that close.
///
/// Results that differ by an exchange of the parameters of equal terms, such as two peaks of a sum, belong to one
/// optimum, because the curve is the same. Other symmetries are not detected: an amplitude that changes its sign while
/// a phase changes by π gives two optima of equal cost. Many optima of equal cost without such a symmetry indicate a
/// curved valley of solutions; the [`warnings`](Fit::warnings) of the best fit then name parameters that are not
/// determined.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Optimum {
    #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
    params: Vec<f64>,
    #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
    cost: f64,
    termination: Termination,
    trials: Vec<usize>,
}

impl Optimum {
    /// All parameters of the result with the least cost, in the order of the model.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// The cost at these parameters; see [`Fit::cost`].
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Termination of the fit with the least cost.
    pub fn termination(&self) -> Termination {
        self.termination
    }

    /// Number of starts that reached the optimum.
    pub fn hits(&self) -> usize {
        self.trials.len()
    }

    /// Positions, in [`Optima::trials`], of the starts that reached the optimum, the least cost first.
    pub fn trials(&self) -> &[usize] {
        &self.trials
    }
}

/// One start and its result.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub struct Trial {
    #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
    start: Vec<f64>,
    end: TrialEnd,
    /// Evaluations of the model that led to the start.
    #[cfg_attr(feature = "json", serde(default))]
    searched: usize,
}

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
enum TrialEnd {
    Reached {
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        params: Vec<f64>,
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        cost: f64,
        termination: Termination,
        evaluations: usize,
    },
    Failed(#[cfg_attr(feature = "json", serde(with = "saved::StartError"))] Error),
    /// The caller stopped the search before this fit.
    NotBegun,
}

impl Trial {
    /// All parameters at the start, in the order of the model.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The best parameters reached; `None` if there was no fit from this start.
    pub fn params(&self) -> Option<&[f64]> {
        match &self.end {
            TrialEnd::Reached { params, .. } => Some(params),
            _ => None,
        }
    }

    /// The cost at these parameters; see [`Fit::cost`].
    pub fn cost(&self) -> Option<f64> {
        match self.end {
            TrialEnd::Reached { cost, .. } => Some(cost),
            _ => None,
        }
    }

    /// The reason why the fit ended; `None` if there was no fit.
    pub fn termination(&self) -> Option<Termination> {
        match self.end {
            TrialEnd::Reached { termination, .. } => Some(termination),
            _ => None,
        }
    }

    /// Returns true if the fit ended in a minimum.
    pub fn converged(&self) -> bool {
        self.termination().is_some_and(Termination::is_converged)
    }

    /// The reason why there was no fit from this start: the error that [`CurveFit::fit`](crate::CurveFit::fit) would
    /// return.
    pub fn error(&self) -> Option<&Error> {
        match &self.end {
            TrialEnd::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Evaluations of model and partials over all points; 0 if there was no fit.
    pub fn evaluations(&self) -> usize {
        match self.end {
            TrialEnd::Reached { evaluations, .. } => evaluations,
            _ => 0,
        }
    }
}

impl Trial {
    /// Evaluations of the model without partials, over all points, by the population of
    /// [`differential_evolution`](crate::CurveFit::differential_evolution) whose best member is this start; 0 for
    /// starts that are not from a population.
    pub fn searched(&self) -> usize {
        self.searched
    }
}

impl Optima {
    /// The converged fit with the least cost or, if no fit converged, the fit with the least cost. It equals, to the
    /// bit, the result of [`CurveFit::fit`](crate::CurveFit::fit) from its start. Among equal costs, the earliest start
    /// is used.
    pub fn best(&self) -> &Fit {
        &self.best
    }

    /// Converts the result into the best fit.
    pub fn into_best(self) -> Fit {
        self.best
    }

    /// The optima, by ascending cost. The first one belongs to the best fit. The list is empty if no start converged.
    pub fn distinct(&self) -> &[Optimum] {
        &self.distinct
    }

    /// The estimated probability that another start ends in an unknown optimum (Good-Turing estimate; I. J. Good,
    /// Biometrika 40, 1953): the fraction of the converged starts whose optimum no other start reached. `None` if no
    /// start converged. The estimate is for independent starts. Evenly drawn starts (Sobol, Latin hypercube) share an
    /// optimum less often; for them the value is too high rather than too low.
    ///
    /// If only one start reached the best optimum, the best fit has [`Warning::ReachedOnce`](crate::Warning).
    pub fn chance_of_unseen(&self) -> Option<f64> {
        chance_of_unseen(&self.distinct)
    }

    /// All starts: the given start, the starts of [`MultiStart::also_from`](crate::MultiStart::also_from), and the
    /// drawn starts.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Number of starts that ended in a minimum.
    pub fn converged(&self) -> usize {
        self.trials.iter().filter(|trial| trial.converged()).count()
    }

    /// Evaluations of model and partials over all points, summed over all starts.
    pub fn evaluations(&self) -> usize {
        self.trials.iter().map(Trial::evaluations).sum()
    }
}

fn chance_of_unseen(distinct: &[Optimum]) -> Option<f64> {
    let starts: usize = distinct.iter().map(Optimum::hits).sum();
    let once = distinct.iter().filter(|optimum| optimum.hits() == 1).count();
    (starts > 0).then(|| once as f64 / starts as f64)
}
