//! Results of the bootstrap: the parameters of every refit, and quantities computed from them.

mod interval;
mod resampled;
#[cfg(feature = "json")]
mod saved;

use crate::error::Result;
use crate::error::names::position;
use crate::error::quote::significant;
use crate::error::uncertainty::UncertaintyError;
pub(crate) use crate::fit::replicates::resampled::Jackknife;
use crate::model::Expression;
use crate::model::program::Program;
use crate::model::var::Var;
pub use interval::BootstrapInterval;
pub use resampled::Resampled;
use std::fmt;

/// Kind of draws of a bootstrap: A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application, 1997,
/// sections 6.2 and 7.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Resample {
    /// The fitted curve plus the fit's own residuals, drawn with replacement. Each residual is in units of its sigma
    /// and is divided by √(1 − h) for its leverage h (under a robust loss by √(1 − k/n) for the rank k and n points);
    /// the mean of all residuals is subtracted. The method assumes that the model is right and that the errors in
    /// units of sigma have one distribution, which need not be normal. The residuals, not sigma, determine the size of
    /// the errors. For correlated data with the covariance LLᵀ it draws from L⁻¹(y − f). It does not support counts or
    /// errors in x.
    #[default]
    Residuals,
    /// The fitted curve with normal errors: with the given sigma, or the estimated sigma if sigma is
    /// unknown or relative; for correlated data with their covariance. Counts are drawn from Poisson's
    /// distribution; if x has errors, x is drawn about the closest points of the curve.
    /// It assumes that the model and the distribution are right.
    Parametric,
    /// Whole points (x, y, sigma), drawn with replacement. It assumes only that points are independent. Use it if
    /// errors differ from point to point in an unknown way, or if the model is only an approximation. It needs many
    /// more points than parameters. A model of all points
    /// ([`CurveFit::native_arrays`](crate::CurveFit::native_arrays)) must use the x that it receives.
    Pairs,
}

/// The result of [`CurveFit::bootstrap`](crate::CurveFit::bootstrap). `Display` prints a table of the parameters.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "json",
    serde(try_from = "saved::SavedReplicates", into = "saved::SavedReplicates")
)]
pub struct Replicates {
    pub(crate) resample: Resample,
    pub(crate) names: Vec<String>,
    /// The parameters of the fit.
    pub(crate) estimate: Vec<f64>,
    pub(crate) derived: Vec<(String, Expression)>,
    /// Row-major.
    pub(crate) params: Vec<f64>,
    pub(crate) jackknife: Jackknife,
    pub(crate) failed: usize,
    pub(crate) not_run: usize,
}

impl Replicates {
    /// Kind of the draws.
    pub fn resample(&self) -> Resample {
        self.resample
    }

    /// The names of the parameters, in the order of the model.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All parameters of the refits that converged, in the order in which they were drawn: n × n_params,
    /// row-major.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// Number of refits that converged.
    pub fn len(&self) -> usize {
        self.params.len() / self.names.len().max(1)
    }

    /// Returns true if no refit converged.
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// Number of refits that did not converge, or did not determine a parameter that the fit determines. Their results
    /// are left out. If more than a tenth of the refits failed, intervals return an error.
    pub fn failed(&self) -> usize {
        self.failed
    }

    /// Number of refits that did not finish or did not start because the caller stopped the bootstrap.
    pub fn not_run(&self) -> usize {
        self.not_run
    }

    /// The standard deviation of each parameter over the refits; NaN for fewer than two refits.
    pub fn std_errors(&self) -> Vec<f64> {
        self.all().map(|param| param.std_error()).collect()
    }

    /// The estimated bias of each parameter: the mean over the refits minus the fitted value. Subtracting the bias
    /// seldom helps, because its own uncertainty is the standard error / √n for n replicates.
    pub fn bias(&self) -> Vec<f64> {
        self.all().map(|param| param.bias()).collect()
    }

    /// [`Resampled::percentile_interval`] of each parameter.
    ///
    /// # Errors
    /// The errors of that function.
    pub fn percentile_intervals(&self, level: f64) -> Result<Vec<BootstrapInterval>> {
        self.all().map(|param| param.percentile_interval(level)).collect()
    }

    /// [`Resampled::bca_interval`] of each parameter.
    ///
    /// # Errors
    /// The errors of that function.
    pub fn bca_intervals(&self, level: f64) -> Result<Vec<BootstrapInterval>> {
        self.all().map(|param| param.bca_interval(level)).collect()
    }

    /// Evaluates a quantity for every refit: a parameter, a quantity from
    /// [`CurveFit::derive`](crate::CurveFit::derive), or an expression of the parameters as for
    /// [`Fit::propagate`](crate::Fit::propagate), such as `"ln(2) / rate"`.
    ///
    /// # Errors
    /// [`Error::Parse`](crate::Error::Parse) with the column of the syntax error,
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a name that the model does not have,
    /// [`UncertaintyError::UndefinedQuantity`] if the quantity is not finite for some refit.
    pub fn quantity(&self, expression: &str) -> Result<Resampled> {
        let asked = self.derived.iter().find(|(name, _)| name == expression);
        if let Some(k) = self.names.iter().position(|name| name == expression) {
            return self.each(expression, |params| params[k]);
        }
        let parsed;
        let formula = match asked {
            Some((_, formula)) => formula,
            None => {
                parsed = Expression::parse(expression, &[])?.substituted(&self.derived)?;
                &parsed
            }
        };
        let place = |name: &String| position(&self.names, name, "correct the formula");
        let places = formula.parameters().iter().map(place).collect::<Result<Vec<_>>>()?;
        self.each(expression, |params| {
            let named: Vec<f64> = places.iter().map(|&k| params[k]).collect();
            formula.evaluate(&[], &named)
        })
    }

    /// Evaluates a closure over the parameters, in the order of the model, for every refit; see
    /// [`Fit::propagate_fn`](crate::Fit::propagate_fn).
    ///
    /// # Errors
    /// [`Error::ModelPanicked`](crate::Error::ModelPanicked) if the closure panics,
    /// [`Error::ForeignVariable`](crate::Error::ForeignVariable) if it uses a variable that it was not given, and
    /// [`UncertaintyError::UndefinedQuantity`] if the quantity is not finite for some refit.
    pub fn quantity_fn(&self, quantity: impl Fn(&[Var]) -> Var) -> Result<Resampled> {
        let program = Program::trace(0, self.names.len(), |_, p| quantity(p))?;
        self.each("the quantity", |params| program.evaluate(&[], params))
    }

    /// The quantities from [`CurveFit::derive`](crate::CurveFit::derive), in order.
    ///
    /// # Errors
    /// As [`quantity`](Replicates::quantity).
    pub fn derived(&self) -> Result<Vec<Resampled>> {
        self.derived.iter().map(|(name, _)| self.quantity(name)).collect()
    }

    /// Returns the values of every parameter.
    fn all(&self) -> impl Iterator<Item = Resampled> {
        (0..self.names.len()).map(|k| self.resampled(&self.names[k], |params| params[k]))
    }

    /// Evaluates a function of the parameters for every refit; it is an error if a value is not finite.
    fn each(&self, name: &str, of: impl Fn(&[f64]) -> f64) -> Result<Resampled> {
        let found = self.resampled(name, of);
        let count = found.undefined();
        if count > 0 {
            let (quantity, replicates) = (name.to_owned(), self.len());
            return Err(UncertaintyError::UndefinedQuantity { quantity, count, replicates }.into());
        }
        Ok(found)
    }

    fn resampled(&self, name: &str, of: impl Fn(&[f64]) -> f64) -> Resampled {
        let width = self.names.len().max(1);
        let rows = |params: &[f64]| params.chunks(width).map(&of).collect::<Vec<f64>>();
        let jackknife = match &self.jackknife {
            Jackknife::LeftOut(params) => Jackknife::LeftOut(rows(params)),
            other => other.clone(),
        };
        Resampled {
            name: name.to_owned(),
            estimate: of(&self.estimate),
            values: rows(&self.params),
            jackknife,
            failed: self.failed,
        }
    }
}

/// The level of the intervals in the table.
const LEVEL: f64 = 0.95;

impl fmt::Display for Replicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawn = match self.resample {
            Resample::Residuals => "residuals",
            Resample::Parametric => "errors",
            Resample::Pairs => "points",
        };
        write!(f, "{} replicates of drawn {drawn}, {} failed", self.len(), self.failed)?;
        if self.not_run > 0 {
            write!(f, ", {} not run: stopped by the caller", self.not_run)?;
        }
        if self.is_empty() {
            return Ok(());
        }
        write!(f, "\n\n{:>14}  {:>14}  {:>10}  {:>10}", "", "value", "std error", "bias")?;
        let derived = self.derived.iter().filter_map(|(name, _)| self.quantity(name).ok());
        let all: Vec<Resampled> = self.all().chain(derived).collect();
        let shows = all.iter().all(|row| row.percentile_interval(LEVEL).is_ok());
        if shows {
            write!(f, "  {:>26}", "percentiles, 95 %")?;
        }
        for row in &all {
            let [value, error, bias] = [(row.estimate(), 8), (row.std_error(), 3), (row.bias(), 2)]
                .map(|(number, digits)| significant(number, digits));
            write!(f, "\n{:>14}  {value:>14}  {error:>10}  {bias:>10}", row.name())?;
            if let Some(ends) = row.percentile_interval(LEVEL).ok().filter(|_| shows) {
                let [lower, upper] = [ends.lower, ends.upper].map(|end| significant(end, 5));
                write!(f, "  {lower:>12}  {upper:>12}")?;
            }
        }
        Ok(())
    }
}
