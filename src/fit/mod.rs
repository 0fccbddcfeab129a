//! What a fit found: parameters, their errors, how good the fit is, and what is doubtful about it.

mod approach;
pub(crate) mod bands;
pub(crate) mod batch;
mod block_covariance;
mod block_matrix;
mod closest;
pub(crate) mod compare;
pub(crate) mod components;
pub(crate) mod covariance;
mod curvature_bias;
pub(crate) mod diagnostics;
pub(crate) mod distributions;
pub(crate) mod end;
pub(crate) mod engine;
pub(crate) mod execution;
mod judge;
pub(crate) mod lack_of_fit;
mod last_workspace;
mod latex;
pub(crate) mod linear_start;
pub(crate) mod marginal;
pub(crate) mod multi_start;
pub(crate) mod placement;
pub(crate) mod priors;
pub(crate) mod propagated;
pub(crate) mod replicates;
pub(crate) mod report;
pub(crate) mod restart;
mod rounding;
#[cfg(feature = "serde")]
pub(crate) mod saved;
pub(crate) mod search;
pub(crate) mod significant;
pub(crate) mod start_search;
mod statistics;
pub(crate) mod stats;
pub(crate) mod stream;
pub(crate) mod supply;
pub(crate) mod table;
mod tied;
pub(crate) mod variable_projection;
pub(crate) mod warning;
pub(crate) mod warnings;

use crate::backend::cpu::predict;
use crate::data::Data;
use crate::data::columns::{Columns, expect_columns};
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Spread;
use crate::data::values::Values;
use crate::error::Result;
use crate::error::saved::SavedError;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::solver::bounds::Side;
use crate::solver::termination::Termination;
use covariance::Covariance;
use marginal::SetOfMany;
use nalgebra::DMatrix;
use priors::Prior;
use propagated::{Derived, Formula};
use start_search::StartSearch;
use stats::Stats;
use std::fmt;
use std::sync::Arc;
use warning::Warning;

/// The result of a fit, whether it converged or not: it always carries the best parameters reached
/// and says what they are worth.
///
/// Parameters are in the model's order, fixed ones included, wherever an array has one value per
/// parameter. `Display` prints a report.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "saved::SavedFit", into = "saved::SavedFit"))]
pub struct Fit {
    pub(crate) model: Model,
    pub(crate) names: Vec<String>,
    pub(crate) start: Vec<f64>,
    pub(crate) params: Vec<f64>,
    /// Tied ones included.
    pub(crate) fixed: Vec<bool>,
    pub(crate) ties: Arc<Ties>,
    /// The terms of the model, if it is known as a sum.
    pub(crate) components: Arc<[ComponentModel]>,
    pub(crate) derived: Vec<Derived>,
    /// Of the derived quantities, in their order; of a fit that an older version saved there are none.
    pub(crate) formulas: Vec<Formula>,
    pub(crate) priors: Vec<Prior>,
    pub(crate) bounds: Vec<(f64, f64)>,
    pub(crate) at_bound: Vec<Option<Side>>,
    pub(crate) covariance: Covariance,
    pub(crate) loss: Loss,
    pub(crate) estimator: Estimator,
    /// How far a single observation scatters.
    pub(crate) spread: Spread,
    /// Whether the covariance was scaled by the reduced chi-square.
    pub(crate) scaled: bool,
    /// In row units.
    pub(crate) cost: f64,
    pub(crate) row_unit: f64,
    /// By what twice a rise of the cost is divided to be compared with χ², in squares of row units; NaN where
    /// that is not known.
    pub(crate) cost_unit: f64,
    /// How many points count, by their weights; NaN if that is not known.
    pub(crate) weight: f64,
    /// Σ(w(y − mean))², in row units.
    pub(crate) scatter: f64,
    /// Of counts, mean and variance of the deviance of one at the fitted expectations.
    pub(crate) deviance: Option<[f64; 2]>,
    pub(crate) points: usize,
    pub(crate) omitted: usize,
    pub(crate) ignored: usize,
    pub(crate) termination: Termination,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) stats: Stats,
    /// Of a fit of several sets as one of them sees it.
    pub(crate) part: Option<SetOfMany>,
}

impl Fit {
    /// The parameters, in the model's order.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// The parameters' names, in the same order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The start that the fit was given.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The value of the parameter or the derived quantity called `name`.
    pub fn param(&self, name: &str) -> Option<f64> {
        self.quantity(name).map(|found| found.value)
    }

    /// The standard error of the parameter or the derived quantity called `name`; see [`std_errors`](Fit::std_errors).
    pub fn std_error(&self, name: &str) -> Option<f64> {
        self.quantity(name).map(|found| found.std_error)
    }

    /// The formula that the parameter called `name` is tied to, if it is; see
    /// [`CurveFit::tie`](crate::CurveFit::tie).
    pub fn tie(&self, name: &str) -> Option<&str> {
        self.ties.formula(self.position(name)?)
    }

    /// The priors of the fit: name, mean and standard deviation; see [`CurveFit::prior`](crate::CurveFit::prior).
    pub fn priors(&self) -> Vec<(&str, f64, f64)> {
        let each = self.priors.iter();
        each.map(|prior| (self.names[prior.param].as_str(), prior.mean, prior.sigma)).collect()
    }

    /// One standard error per parameter: 0 if it was fixed, infinite if the data do not determine it,
    /// NaN if there is none to give, because the parameter sits on a bound or because no degree of
    /// freedom is left to measure the scatter with.
    pub fn std_errors(&self) -> Vec<f64> {
        self.covariance.errors.clone()
    }

    /// The covariance matrix of the parameters, p × p: V Σ⁻² Vᵀ of the weighted Jacobian's singular
    /// value decomposition, times the reduced chi-square unless the data's errors are absolute; under a robust loss see
    /// [`Sigma`](crate::Sigma).
    ///
    /// Fixed parameters have zeros; undetermined ones an infinite variance and NaN beside it;
    /// parameters on a bound NaN.
    pub fn covariance(&self) -> &DMatrix<f64> {
        self.covariance.matrix()
    }

    /// The correlation matrix of the parameters, p × p; NaN where a variance is zero or not finite.
    pub fn correlation(&self) -> DMatrix<f64> {
        self.covariance.correlation().clone()
    }

    /// Number of directions in the space of the free parameters that the data determine. Of a set's fit in a
    /// [`JointFit`](crate::JointFit) it is that of the set's own parameters.
    pub fn rank(&self) -> usize {
        self.covariance.rank
    }

    /// Ratio of the largest to the smallest singular value of the Jacobian, its columns scaled to one
    /// length; infinite if the data leave a direction undetermined. Above about 1e7 the last digits of
    /// parameters and errors are doubtful.
    pub fn condition(&self) -> f64 {
        self.covariance.condition
    }

    /// Names of the parameters that the data do not determine.
    pub fn undetermined(&self) -> Vec<&str> {
        let infinite = |i: &usize| self.covariance.errors[*i] == f64::INFINITY;
        (0..self.names.len()).filter(infinite).map(|i| self.names[i].as_str()).collect()
    }

    /// The parameters that sit on a bound, and on which.
    pub fn at_bound(&self) -> Vec<(&str, Side)> {
        let names = self.names.iter().map(String::as_str);
        names.zip(&self.at_bound).filter_map(|(name, side)| Some((name, (*side)?))).collect()
    }

    /// Why the fit stopped.
    pub fn termination(&self) -> Termination {
        self.termination
    }

    /// Whether the parameters are a minimum of the cost.
    pub fn converged(&self) -> bool {
        self.termination.is_converged()
    }

    /// What a careful reader should know before trusting the numbers.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Evaluations of model and partials over all points, the final one for the covariance not
    /// counted.
    pub fn evaluations(&self) -> usize {
        self.stats.evaluations
    }

    /// Result of the search for the start and its reliability; `None` if no search was made.
    pub fn start_search(&self) -> Option<&StartSearch> {
        self.stats.start_search.as_ref()
    }

    /// How the fit was computed: backend, passes, seconds, memory.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// This fit if it converged, else an error message's worth of it.
    ///
    /// # Errors
    /// The fit itself, boxed, if it did not converge.
    pub fn require_convergence(self) -> std::result::Result<Fit, Box<Fit>> {
        if self.converged() { Ok(self) } else { Err(Box::new(self)) }
    }

    /// The fitted model at the points `x`, one column per variable as in [`Data::new`]; one value per
    /// point.
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) or [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the columns do not fit the model,
    /// [`Error::ModelPanicked`](crate::Error::ModelPanicked) if a native model panics, [`SavedError::NoModel`] if the fit was saved
    /// without such a model.
    pub fn predict<'a>(&self, x: impl Columns<'a>) -> Result<Vec<f64>> {
        let columns = x.columns()?;
        let n = self.points_in(&columns)?;
        self.check_model()?;
        predict::values(&self.model, &columns, n, &self.params)
    }

    /// How many points such columns are.
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) or [`Error::LengthMismatch`](crate::Error::LengthMismatch) if they do not fit the model.
    fn points_in(&self, columns: &[Values<'_>]) -> Result<usize> {
        self.model.expect_columns(columns.len())?;
        let n = columns.first().map_or(0, Values::len);
        expect_columns(columns, n)?;
        Ok(n)
    }

    /// Residuals y − model at the points of `data`, in the units of y, masked and missing ones
    /// included (NaN where they are not finite).
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) if the data have another number of columns than the model.
    pub fn residuals<'a>(&self, data: impl Into<Data<'a>>) -> Result<Vec<f64>> {
        let data = data.into();
        let model = self.predict(data.columns)?;
        Ok(model.iter().enumerate().map(|(i, f)| data.y.at(i) - f).collect())
    }

    /// # Errors
    /// [`SavedError::NoModel`] if there is none to be evaluated.
    pub(crate) fn check_model(&self) -> Result<()> {
        match &self.model {
            Model::Native(native) if native.lost => Err(SavedError::NoModel.into()),
            _ => Ok(()),
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }

    /// Points left out by a mask or by [`Missing::Omit`](crate::Missing::Omit).
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Points without weight because their sigma is infinite; they do not count as degrees of
    /// freedom.
    pub fn ignored(&self) -> usize {
        self.ignored
    }
}

impl fmt::Debug for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fit")
            .field("names", &self.names)
            .field("params", &self.params)
            .field("std_errors", &self.covariance.errors)
            .field("cost", &self.cost())
            .field("termination", &self.termination)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}
