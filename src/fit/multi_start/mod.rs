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

/// The result of [`CurveFit::multi_start`](crate::CurveFit::multi_start). `Display` prints a table of
/// the optima, with how many starts reached each, and why the other starts did not converge.
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
/// Two ends are one optimum if going from either to the other would, by the linear model there (JᵀJ),
/// cost no more than a step of a hundredth of a standard error, and if their costs differ by no more
/// than that; or if no parameter differs by more than what the tolerances and rounding leave open. A
/// hundredth of a standard error is far below what the data can tell, and separate minima of a
/// sum of squares do not lie so close.
///
/// Equal terms that have exchanged their parameters, like two peaks of a sum, are one optimum: the curve is the same.
/// Other symmetries are not looked for: an amplitude that changes its sign while a phase moves by π makes two optima
/// of one cost. If there are many of one cost without such a symmetry, the data leave a curved valley of
/// solutions; the best fit's [`warnings`](Fit::warnings) then name parameters that are not determined.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    params: Vec<f64>,
    cost: f64,
    termination: Termination,
    trials: Vec<usize>,
}

impl Optimum {
    /// All parameters, in the model's order, of the end with the least cost.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// The cost there, as [`Fit::cost`].
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Why the fit stopped that reached it.
    pub fn termination(&self) -> Termination {
        self.termination
    }

    /// Number of starts that ended here.
    pub fn hits(&self) -> usize {
        self.trials.len()
    }

    /// Their positions in [`Optima::trials`], the one with the least cost first.
    pub fn trials(&self) -> &[usize] {
        &self.trials
    }
}

/// One start and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    start: Vec<f64>,
    end: TrialEnd,
    /// Evaluations of the model that led to the start.
    searched: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum TrialEnd {
    Reached {
        params: Vec<f64>,
        cost: f64,
        termination: Termination,
        evaluations: usize,
    },
    Failed(Error),
    /// The caller had stopped the search before.
    NotBegun,
}

impl Trial {
    /// All parameters at the start, in the model's order.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The best parameters reached; `None` if there was no fit from here.
    pub fn params(&self) -> Option<&[f64]> {
        match &self.end {
            TrialEnd::Reached { params, .. } => Some(params),
            _ => None,
        }
    }

    /// The cost there, as [`Fit::cost`].
    pub fn cost(&self) -> Option<f64> {
        match self.end {
            TrialEnd::Reached { cost, .. } => Some(cost),
            _ => None,
        }
    }

    /// Why the fit stopped; `None` if there was none.
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

    /// Why there was no fit from here: what [`CurveFit::fit`](crate::CurveFit::fit) would have said.
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
    /// Evaluations of the model alone, over all points, by the population of
    /// [`differential_evolution`](crate::CurveFit::differential_evolution) of which the start was the best; 0
    /// for other starts.
    pub fn searched(&self) -> usize {
        self.searched
    }
}

impl Optima {
    /// The fit with the least cost among those that converged or, if none did, among all; the same, to
    /// the bit, as [`CurveFit::fit`](crate::CurveFit::fit) from its start. Of several with one cost it
    /// is that of the earliest start.
    pub fn best(&self) -> &Fit {
        &self.best
    }

    /// The best fit alone.
    pub fn into_best(self) -> Fit {
        self.best
    }

    /// The optima that were found, by ascending cost. The first is the best fit's if any start converged;
    /// there is none if no start did.
    pub fn distinct(&self) -> &[Optimum] {
        &self.distinct
    }

    /// The probability that one more start ends in an optimum that none has reached, as Good and Turing estimate it
    /// (I. J. Good, Biometrika 40, 1953): the part of the starts that converged whose optimum no other start
    /// reached. `None` if no start converged. Starts that are drawn evenly meet less often than independent ones, so
    /// for them it is an upper estimate.
    ///
    /// Where the best optimum itself was reached once the best fit has [`Warning::ReachedOnce`](crate::Warning).
    pub fn chance_of_unseen(&self) -> Option<f64> {
        chance_of_unseen(&self.distinct)
    }

    /// All starts: the one given, those of [`MultiStart::also_from`](crate::MultiStart::also_from), and
    /// the drawn ones.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Number of starts that ended in a minimum.
    pub fn converged(&self) -> usize {
        self.trials.iter().filter(|trial| trial.converged()).count()
    }

    /// Evaluations of model and partials over all points, those of all starts together.
    pub fn evaluations(&self) -> usize {
        self.trials.iter().map(Trial::evaluations).sum()
    }
}

fn chance_of_unseen(distinct: &[Optimum]) -> Option<f64> {
    let starts: usize = distinct.iter().map(Optimum::hits).sum();
    let once = distinct.iter().filter(|optimum| optimum.hits() == 1).count();
    (starts > 0).then(|| once as f64 / starts as f64)
}
