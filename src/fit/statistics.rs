//! Goodness-of-fit statistics.

use super::Fit;
use super::bands::reach;
use super::distributions::{check_level, half_width, sum_upper};
use crate::data::loss::Loss;
use crate::error::Result;

impl Fit {
    /// Half the sum of squared weighted residuals, or of their loss. Zero or infinite if the squares of very small or
    /// large data leave the range of f64; the other statistics are not affected.
    pub fn cost(&self) -> f64 {
        self.cost / self.row_unit / self.row_unit
    }

    /// The sum of squared weighted residuals, or of their loss: 2 × the cost. For counts it is the
    /// deviance, Σ 2(f − y + y·ln(y/f)). [Priors](crate::CurveFit::prior) count like points.
    pub fn chi_square(&self) -> f64 {
        2.0 * self.cost()
    }

    /// Number of used points.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Effective number of points: the sum of ρ'(z) over the points, z = (r/C)² of the
    /// [loss](crate::Loss) and its scale C. A point on the model has the weight 1. At r = C the weight is 1/2 for
    /// Cauchy and arctan losses and 0 for Tukey loss; it is nearly 0 far from the model. For least squares and counts
    /// the effective number is the number of [`points`](Fit::points).
    ///
    /// It is NaN if unknown: for a fit that a stream's observer stopped before its last pass, or a fit
    /// that was saved by a version without this number.
    pub fn effective_points(&self) -> f64 {
        self.weight
    }

    /// Number of estimated parameters, which are neither fixed nor at a bound.
    pub fn estimated(&self) -> usize {
        (0..self.params.len()).filter(|&i| !self.fixed[i] && self.at_bound[i].is_none()).count()
    }

    /// Degrees of freedom: points plus [priors](crate::CurveFit::prior) minus [`rank`](Fit::rank), at least 0. The rank
    /// is the number of estimated parameters minus the number of directions that the data do not determine. For the fit
    /// of one set of a [`JointFit`](crate::JointFit), points, priors and rank of all sets are used.
    pub fn degrees_of_freedom(&self) -> usize {
        let priors = self.part.map_or(self.priors.len(), |part| part.priors);
        (self.points + priors).saturating_sub(self.fitted_rank())
    }

    /// Returns the rank of the fit to which points and chi-square refer.
    pub(crate) fn fitted_rank(&self) -> usize {
        self.part.map_or(self.rank(), |part| part.rank)
    }

    /// Chi-square, or the deviance of counts, per degree of freedom; `None` without degrees of freedom. About 1 if the
    /// model is right and sigma absolute.
    pub fn reduced_chi_square(&self) -> Option<f64> {
        let dof = self.degrees_of_freedom();
        (dof > 0).then(|| self.chi_square() / dof as f64)
    }

    /// Probability of a χ² at least as large as the observed one if the model and sigma are right: the test of goodness
    /// of fit. A small value, such as below 0.01, is evidence against the model or sigma; a value near 1 indicates that
    /// sigma is too large. For counts χ² is the deviance. Its distribution is approximated by a multiple of chi-square
    /// whose mean and variance follow from the fitted expectations.
    ///
    /// `None` unless there are degrees of freedom, the loss is linear, and sigma is absolute or y are counts.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, Sigma};
    /// let data = Data::new(&[0.0, 1.0, 2.0, 3.0], &[1.1, 2.9, 5.2, 6.8])?.sigma(Sigma::Constant(0.1))?;
    /// let fit = CurveFit::new(|x, [a, b]| a + b * x).fit(data, [0.0, 1.0])?;
    /// assert!(fit.chi_square_p_value().unwrap() < 0.02); // χ² is 8.2 for 2 degrees of freedom
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn chi_square_p_value(&self) -> Option<f64> {
        let dof = self.degrees_of_freedom();
        let tells = dof > 0 && !self.scaled && self.loss == Loss::Linear;
        let rank = self.fitted_rank();
        let of_each = self.deviance.unwrap_or([1.0, 2.0]);
        let p_value = tells.then(|| sum_upper(self.chi_square(), of_each, dof + rank, rank));
        p_value.filter(|p| !p.is_nan())
    }

    /// √χ²ᵣ, the standard deviation of the (weighted) residuals; `None` without degrees of freedom.
    pub fn residual_std_error(&self) -> Option<f64> {
        let dof = self.degrees_of_freedom();
        (dof > 0).then(|| (2.0 * self.cost / dof as f64).sqrt() / self.row_unit)
    }

    /// R² = 1 − χ² / Σ(w(y − ȳ))², with the weighted mean ȳ; `None` if all y are equal, and under a robust
    /// loss, which is not a sum of squares. For a nonlinear model R² is not the fraction of explained variance and
    /// cannot compare models of different kinds; a small value still shows that the curve does not follow the data.
    pub fn r_squared(&self) -> Option<f64> {
        let squares = self.loss == Loss::Linear && self.scatter > 0.0;
        squares.then(|| 1.0 - 2.0 * self.cost / self.scatter)
    }

    /// R² with each sum divided by its degrees of freedom.
    pub fn adjusted_r_squared(&self) -> Option<f64> {
        let dof = self.degrees_of_freedom();
        let total = (self.points as f64 - 1.0) / dof as f64;
        if dof == 0 { None } else { self.r_squared().map(|r2| 1.0 - (1.0 - r2) * total) }
    }

    /// Root mean square of the weighted residuals, √(χ²/n); in the units of y if no sigma was given.
    pub fn rmse(&self) -> f64 {
        (2.0 * self.cost / self.points as f64).sqrt() / self.row_unit
    }

    /// Akaike's information criterion, −2 ln L + 2k up to a constant that depends only on the data: n·ln(χ²/n) + 2k, as
    /// in lmfit, or χ² + 2k if sigma is absolute or y are counts. k is the [`rank`](Fit::rank), as in the degrees of
    /// freedom: a parameter that the data do not determine reduces no residual and is not counted.
    ///
    /// Only differences between fits of the same data with the same kind of sigma are meaningful. Under a robust loss
    /// χ² is 2 × the loss and L is not a true likelihood: compare only fits with the same loss and scale.
    pub fn aic(&self) -> f64 {
        self.deviance() + 2.0 * self.fitted_rank() as f64
    }

    /// The Bayesian information criterion, −2 ln L + k·ln n up to the same constant, with the same k
    /// and the same reservations as [`aic`](Fit::aic).
    pub fn bic(&self) -> f64 {
        self.deviance() + self.fitted_rank() as f64 * (self.points as f64).ln()
    }

    fn deviance(&self) -> f64 {
        let n = self.points as f64;
        match self.scaled {
            true => n * ((2.0 * self.cost / n).ln() - 2.0 * self.row_unit.ln()),
            false => self.chi_square(),
        }
    }
}

impl Fit {
    /// One interval (lower, upper) per parameter that covers its true value with probability `level`:
    /// value ± t · standard error. If the scatter was estimated, t is a quantile of Student's t with the fit's degrees
    /// of freedom; if sigma is absolute or y are counts, it is a quantile of the normal distribution.
    ///
    /// The interval is accurate if the model is nearly linear in its parameters within their errors; otherwise use
    /// [`CurveFit::profile`](crate::CurveFit::profile). The interval of a fixed parameter contains only its value; the
    /// interval of an undetermined parameter is infinite. The ends are NaN if the standard error is NaN: for a
    /// parameter at a bound, only a profile is available.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) unless 0 < `level` < 1.
    pub fn confidence_intervals(&self, level: f64) -> Result<Vec<(f64, f64)>> {
        check_level(level)?;
        let width = half_width(level, self.scatter_freedom());
        let interval = |(value, error): (&f64, &f64)| {
            let reach = reach(width, *error);
            (value - reach, value + reach)
        };
        Ok(self.params.iter().zip(&self.covariance.errors).map(interval).collect())
    }
}
