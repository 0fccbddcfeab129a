//! Result of a fit: parameters, standard errors, goodness of fit and warnings.

pub(crate) mod bands;
pub(crate) mod batch;
mod block_covariance;
mod block_matrix;
pub(crate) mod compare;
pub(crate) mod covariance;
mod curvature_bias;
pub(crate) mod diagnostics;
pub(crate) mod distributions;
pub(crate) mod end;
pub(crate) mod engine;
pub(crate) mod execution;
pub(crate) mod in_memory;
pub(crate) mod lack_of_fit;
mod latex;
pub(crate) mod linear_start;
pub(crate) mod marginal;
pub(crate) mod multi_start;
pub(crate) mod placement;
pub(crate) mod point_source;
pub(crate) mod priors;
pub(crate) mod propagated;
pub(crate) mod replicates;
pub(crate) mod report;
pub(crate) mod retry;
mod rounding;
#[cfg(feature = "json")]
pub(crate) mod saved;
pub(crate) mod search;
pub(crate) mod spec;
pub(crate) mod start_search;
mod statistics;
pub(crate) mod stats;
pub(crate) mod stream;
pub(crate) mod subsample_start;
pub(crate) mod table;
mod unneeded;
pub(crate) mod variable_projection;
pub(crate) mod verify;
pub(crate) mod warning;
pub(crate) mod warnings;

use crate::backend::cpu::closest::{Closest, closest_points};
use crate::backend::cpu::predict;
use crate::data::Data;
use crate::data::columns::{Columns, expect_columns};
use crate::data::loss::{Estimator, Loss};
use crate::data::matrix::Matrix;
use crate::data::points::Points;
use crate::data::sigma::Spread;
use crate::data::values::Values;
use crate::error::Result;
use crate::error::saved::SavedError;
use crate::model::Expression;
use crate::model::component::ComponentModel;
use crate::model::native::Model;
use crate::model::ties::Ties;
use crate::model::var::Var;
use crate::solver::bounds::Side;
use crate::solver::termination::Termination;
use covariance::Covariance;
use priors::Prior;
use propagated::{Derived, Formula, Propagated, propagated_closure};
use start_search::StartSearch;
use stats::Stats;
use std::fmt;
use std::sync::Arc;
use warning::Warning;

/// Result of a fit, converged or not: the best parameters reached, and their reliability.
///
/// Arrays with one value per parameter are in the order of the model and include fixed parameters.
/// `Display` prints a report.
#[derive(Clone)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "json", serde(try_from = "saved::SavedFit", into = "saved::SavedFit"))]
pub struct Fit {
    pub(crate) model: Model,
    pub(crate) names: Vec<String>,
    pub(crate) start: Vec<f64>,
    pub(crate) params: Vec<f64>,
    /// True for fixed and tied parameters.
    pub(crate) fixed: Vec<bool>,
    pub(crate) ties: Arc<Ties>,
    /// The terms of the model, if it is known as a sum.
    pub(crate) components: Arc<[ComponentModel]>,
    pub(crate) derived: Vec<Derived>,
    /// Formulas of the derived quantities, in their order; empty for fits saved by older versions.
    pub(crate) formulas: Vec<Formula>,
    pub(crate) priors: Vec<Prior>,
    pub(crate) bounds: Vec<(f64, f64)>,
    pub(crate) at_bound: Vec<Option<Side>>,
    pub(crate) covariance: Covariance,
    pub(crate) loss: Loss,
    pub(crate) estimator: Estimator,
    /// Scatter of a single observation.
    pub(crate) spread: Spread,
    /// True if the covariance was scaled by the reduced chi-square.
    pub(crate) scaled: bool,
    /// The cost, multiplied by `row_unit`². The power of two `row_unit` multiplies weighted residuals.
    pub(crate) cost: f64,
    pub(crate) row_unit: f64,
    /// Divisor that makes 2 × (increase of `cost`) comparable with χ²; NaN if unknown.
    pub(crate) cost_unit: f64,
    /// Effective number of points: sum of their weights under the loss; NaN if unknown.
    pub(crate) weight: f64,
    /// Σ(w(y − mean))², multiplied by `row_unit`².
    pub(crate) scatter: f64,
    /// For counts: mean and variance of the deviance of one count at the fitted expectations.
    pub(crate) deviance: Option<[f64; 2]>,
    pub(crate) points: usize,
    pub(crate) omitted: usize,
    pub(crate) ignored: usize,
    pub(crate) termination: Termination,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) stats: Stats,
    /// Properties of the joint fit, if this is the fit of one of its sets.
    pub(crate) part: Option<SetOfMany>,
}

/// Data of the joint fit to which the fit of one set belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct SetOfMany {
    /// Number of the set, counted from 1.
    pub(crate) set: usize,
    pub(crate) sets: usize,
    /// Number of used points of the set.
    pub(crate) points: usize,
    /// Number of directions that the data determine in the space of the parameters of all sets.
    pub(crate) rank: usize,
    /// Number of priors of the parameters of all sets.
    #[cfg_attr(feature = "json", serde(default))]
    pub(crate) priors: usize,
}

impl Fit {
    /// The parameters, in the order of the model.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// The names of the parameters, in the same order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The starting point of the fit.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The value of the parameter or derived quantity `name`; `None` for an unknown name.
    pub fn param(&self, name: &str) -> Option<f64> {
        self.quantity(name).map(|found| found.value)
    }

    /// The standard error of the parameter or derived quantity `name`; see [`std_errors`](Fit::std_errors).
    pub fn std_error(&self, name: &str) -> Option<f64> {
        self.quantity(name).map(|found| found.std_error)
    }

    /// The formula of the tied parameter `name`; `None` if it is not tied. See [`CurveFit::tie`](crate::CurveFit::tie).
    pub fn tie(&self, name: &str) -> Option<&str> {
        self.ties.formula(self.position(name)?)
    }

    /// The priors of the fit: name, mean and standard deviation; see [`CurveFit::prior`](crate::CurveFit::prior).
    pub fn priors(&self) -> Vec<(&str, f64, f64)> {
        let each = self.priors.iter();
        each.map(|prior| (self.names[prior.param].as_str(), prior.mean, prior.sigma)).collect()
    }

    /// One standard error per parameter: 0 if the parameter was fixed, infinite if the data do not determine it,
    /// NaN if it is at a bound or if there is no degree of freedom to estimate the scatter.
    pub fn std_errors(&self) -> Vec<f64> {
        self.covariance.errors.clone()
    }

    /// The covariance matrix of the parameters, p × p: V Σ⁻² Vᵀ from the singular value decomposition of the weighted
    /// Jacobian, times the reduced chi-square unless the errors of the data are absolute. For robust losses see
    /// [`Sigma`](crate::Sigma).
    ///
    /// Rows and columns of fixed parameters are 0. Undetermined parameters have an infinite variance and NaN
    /// covariances. Parameters at a bound have NaN.
    pub fn covariance(&self) -> &Matrix {
        self.covariance.matrix()
    }

    /// The correlation matrix of the parameters, p × p; NaN if a variance is zero or not finite.
    pub fn correlation(&self) -> Matrix {
        self.covariance.correlation().clone()
    }

    /// Number of directions in the space of the free parameters that the data determine. For a set's fit in a
    /// [`JointFit`](crate::JointFit) it refers to the set's own parameters.
    pub fn rank(&self) -> usize {
        self.covariance.rank
    }

    /// Ratio of the largest to the smallest singular value of the Jacobian with columns scaled to equal
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

    /// The parameters at a bound, with the side of the bound.
    pub fn at_bound(&self) -> Vec<(&str, Side)> {
        let names = self.names.iter().map(String::as_str);
        names.zip(&self.at_bound).filter_map(|(name, side)| Some((name, (*side)?))).collect()
    }

    /// The reason why the iteration ended.
    pub fn termination(&self) -> Termination {
        self.termination
    }

    /// The estimator: least squares, or maximum likelihood for counts.
    pub fn estimator(&self) -> Estimator {
        self.estimator
    }

    /// Returns true if the parameters are a minimum of the cost.
    pub fn converged(&self) -> bool {
        self.termination.is_converged()
    }

    /// Warnings about the reliability of the result.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Evaluations of model and partials over all points, without the final evaluation for the covariance.
    pub fn evaluations(&self) -> usize {
        self.stats.evaluations
    }

    /// Result of the search for the start and its reliability; `None` if no search was made.
    pub fn start_search(&self) -> Option<&StartSearch> {
        self.stats.start_search.as_ref()
    }

    /// Statistics of the computation: backend, passes, seconds, memory.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns this fit if it converged, else an error.
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
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) or [`Error::LengthMismatch`](crate::Error::LengthMismatch) if
    /// the columns do not fit the model, [`Error::ModelPanicked`](crate::Error::ModelPanicked) if a native model
    /// panics, [`SavedError::NoModel`] if the fit was saved without such a model.
    pub fn predict<'a>(&self, x: impl Columns<'a>) -> Result<Vec<f64>> {
        let columns = x.columns()?;
        let n = self.points_in(&columns)?;
        self.check_model()?;
        predict::values(&self.model, &columns, n, &self.params)
    }

    /// Returns the number of points in the columns.
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) or [`Error::LengthMismatch`](crate::Error::LengthMismatch) if
    /// the columns do not fit the model.
    fn points_in(&self, columns: &[Values<'_>]) -> Result<usize> {
        self.model.expect_columns(columns.len())?;
        let n = columns.first().map_or(0, Values::len);
        expect_columns(columns, n)?;
        Ok(n)
    }

    /// Residuals y − model at all points of `data`, in the units of y, including masked and missing points. NaN for
    /// residuals that are not finite.
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) if data and model differ in the number of columns.
    pub fn residuals<'a>(&self, data: impl Into<Data<'a>>) -> Result<Vec<f64>> {
        let data = data.into();
        let model = self.predict(data.columns)?;
        Ok(model.iter().enumerate().map(|(i, f)| data.y.at(i) - f).collect())
    }

    /// Checks that the model can be evaluated.
    ///
    /// # Errors
    /// [`SavedError::NoModel`] if the native model was not saved with the fit.
    pub(crate) fn check_model(&self) -> Result<()> {
        match &self.model {
            Model::Native(native) if native.lost => Err(SavedError::NoModel.into()),
            _ => Ok(()),
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| n == name)
    }

    /// Number of points left out by a mask or by [`Missing::Omit`](crate::Missing::Omit).
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Number of points without weight because their sigma is infinite. They do not count as degrees of freedom.
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

impl Fit {
    /// Computes the points of the fitted curve that are closest to the points of `data`, in units of the errors of x
    /// and y. Returns one column per independent variable, each with one value per given point. Without
    /// [`x_sigma`](Data::x_sigma) they equal x. [`predict`](Fit::predict) returns y at these points.
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) if the data have another number of columns than the model,
    /// errors in the data, [`Error::ModelKind`](crate::Error::ModelKind) for a native model if x has errors.
    pub fn closest<'a>(&self, data: impl Into<Data<'a>>) -> Result<Vec<Vec<f64>>> {
        self.check_model()?;
        let data = data.into();
        self.model.expect_columns(data.columns.len())?;
        let points = Points::validate(&data)?;
        match self.closest_of(&points)? {
            Some(closest) => Ok(closest.x),
            None => Ok(points.columns.iter().map(Values::to_f64).collect()),
        }
    }

    /// Computes the closest points; `None` if every x is exact.
    pub(super) fn closest_of(&self, points: &Points<'_>) -> Result<Option<Closest>> {
        match points.x_sigma.is_exact() {
            true => Ok(None),
            false => closest_points(&self.model, points, &self.params).map(Some),
        }
    }
}

impl Fit {
    /// Returns the value and the standard error of an expression of the parameters, such as
    /// `"2*sqrt(2*ln(2))*sigma"`. Its syntax is that of [`CurveFit::parse`](crate::CurveFit::parse).
    ///
    /// The standard error is ‖Hᵀg‖ (delta method): g are the exact partials of the expression, and HHᵀ is the
    /// covariance. It includes the correlations of the parameters. It is computed from H because gᵀHHᵀg would lose
    /// its digits if the errors of the parameters nearly cancel. Fixed parameters and parameters at an active bound
    /// contribute nothing.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let decay = dualfit::CurveFit::parse("a * exp(-b * x)", ["x"])?;
    /// let fit = decay.fit(dualfit::Data::new(&x, &y)?, [1.0, 1.0])?;
    /// let half_life = fit.propagate("ln(2) / b")?;
    /// let b = fit.param("b").unwrap();
    /// let relative = fit.std_error("b").unwrap() / b;
    /// assert!((half_life.std_error / half_life.value - relative).abs() < 1e-12);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// The expression may also name [derived](Fit::derived) quantities.
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) with the column of the syntax error;
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a name that is neither a parameter nor a derived
    /// quantity.
    pub fn propagate(&self, expression: &str) -> Result<Propagated> {
        let named = |(derived, formula): (&Derived, &Formula)| {
            let names = formula.places.iter().map(|&k| self.names[k].clone()).collect();
            (derived.name.clone(), formula.expression.renamed(names))
        };
        let known: Vec<_> = self.derived.iter().zip(&self.formulas).map(named).collect();
        let formula =
            Formula::of(&Expression::parse(expression, &[])?.substituted(&known)?, &self.names)?;
        Ok(formula.propagated(&self.params, &self.covariance))
    }

    /// Returns the value and the standard error of the parameter or the [derived](Fit::derived) quantity `name`.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let decay = dualfit::CurveFit::parse("a * exp(-b * x)", ["x"])?
    ///     .derive("half_life", "ln(2) / b");
    /// let fit = decay.fit(dualfit::Data::new(&x, &y)?, [("b", 2.0)])?;
    /// let half_life = fit.quantity("half_life").unwrap();
    /// assert_eq!(half_life, fit.propagate("ln(2) / b")?);
    /// assert_eq!(fit.quantity("b").unwrap().std_error, fit.std_error("b").unwrap());
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn quantity(&self, name: &str) -> Option<Propagated> {
        if let Some(i) = self.position(name) {
            let (value, std_error) = (self.params[i], self.covariance.errors[i]);
            return Some(Propagated { value, std_error });
        }
        let Derived { value, std_error, .. } = *self.derived.iter().find(|d| d.name == name)?;
        Some(Propagated { value, std_error })
    }

    /// Returns the value and the standard error of a quantity that a closure computes from the parameters. The closure
    /// receives all parameters in the model's order.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let fit = dualfit::curve_fit(|x, [a, b]| a * (-b * x).exp(), &x, &y, [1.0, 1.0])?;
    /// let area = fit.propagate_fn(|p| p[0] / p[1])?;
    /// assert!(area.std_error > 0.0);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ModelPanicked`](crate::Error::ModelPanicked) if the closure panics;
    /// [`Error::ForeignVariable`](crate::Error::ForeignVariable) if it uses a variable of another closure.
    pub fn propagate_fn(&self, quantity: impl Fn(&[Var]) -> Var) -> Result<Propagated> {
        propagated_closure(quantity, &self.params, &self.covariance)
    }

    /// Returns the quantities defined by [`CurveFit::derive`](crate::CurveFit::derive), in order.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let decay = dualfit::CurveFit::parse("a * exp(-b * x)", ["x"])?
    ///     .derive("half_life", "ln(2) / b");
    /// let fit = decay.fit(dualfit::Data::new(&x, &y)?, [("b", 2.0)])?;
    /// let half_life = &fit.derived()[0];
    /// assert_eq!(half_life.value, fit.propagate("ln(2) / b")?.value);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Computes the derived quantities from their names and formulas.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a name in a formula that is not
    /// a parameter.
    pub(crate) fn derive(&mut self, asked: &[(String, Expression)]) -> Result<()> {
        for (name, expression) in asked {
            self.add_derived(name.clone(), Formula::of(expression, &self.names)?);
        }
        Ok(())
    }

    /// Computes one derived quantity and appends it.
    pub(crate) fn add_derived(&mut self, name: String, formula: Formula) {
        let Propagated { value, std_error } = formula.propagated(&self.params, &self.covariance);
        self.derived.push(Derived { name, value, std_error });
        self.formulas.push(formula);
    }
}
