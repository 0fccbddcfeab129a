//! Goodness-of-fit statistics.

use super::Fit;
use super::bands::reach;
use super::distributions::{check_level, half_width, sum_upper};
use crate::data::loss::Loss;
use crate::error::Result;

impl Fit {
    /// Half the sum of squared weighted residuals, or of their loss. Zero or infinite where the data
    /// are so small or large that their squares leave the range of f64; the other statistics do not
    /// suffer from that.
    pub fn cost(&self) -> f64 {
        self.cost / self.row_unit / self.row_unit
    }

    /// The sum of squared weighted residuals, or of their loss: twice the cost. Of counts it is the
    /// deviance, Σ 2(f − y + y·ln(y/f)). [Priors](crate::CurveFit::prior) count as points do.
    pub fn chi_square(&self) -> f64 {
        2.0 * self.cost()
    }

    /// Points that count.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Effective number of points: the sum of ρ'(z) over the points, z = (r/C)² of the
    /// [loss](crate::Loss) and its scale C. A point on the model counts 1, one at r = C half under Cauchy's
    /// loss and arctan's, none under Tukey's, one far away next to nothing. For least squares and counts
    /// it is the number of [`points`](Fit::points).
    ///
    /// It is NaN where it is not known: for a fit that a stream's observer stopped before its last pass, or one
    /// that was saved before this number was kept.
    pub fn effective_points(&self) -> f64 {
        self.weight
    }

    /// Parameters that were estimated: neither fixed nor held by a bound.
    pub fn estimated(&self) -> usize {
        (0..self.params.len()).filter(|&i| !self.fixed[i] && self.at_bound[i].is_none()).count()
    }

    /// Degrees of freedom: points, and [priors](crate::CurveFit::prior), minus [`rank`](Fit::rank), at least 0. The rank is the number of
    /// estimated parameters, less the directions that the data do not determine; of a set's fit in a
    /// [`JointFit`](crate::JointFit) it is that of all sets here, as points are.
    pub fn degrees_of_freedom(&self) -> usize {
        let priors = self.part.map_or(self.priors.len(), |part| part.priors);
        (self.points + priors).saturating_sub(self.fitted_rank())
    }

    /// The rank that points and chi-square belong to.
    pub(crate) fn fitted_rank(&self) -> usize {
        self.part.map_or(self.rank(), |part| part.rank)
    }

    /// Chi-square per degree of freedom, of counts the deviance; `None` without any. About 1 if the model is right and sigma
    /// absolute.
    pub fn reduced_chi_square(&self) -> Option<f64> {
        let dof = self.degrees_of_freedom();
        (dof > 0).then(|| self.chi_square() / dof as f64)
    }

    /// The probability that χ² is as large as this, or larger, if the model and sigma are right: the test of goodness
    /// of fit. A small one, below 0.01, say, speaks against one of them; one near 1 says that sigma is too large.
    /// Of counts χ² is the deviance, whose distribution is taken for that of a multiple of chi-square with the mean and
    /// the variance that the fitted expectations give it.
    ///
    /// `None` without degrees of freedom, unless sigma is absolute or y are counts, and under a robust loss.
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

    /// 1 − χ² / Σ(w(y − ȳ))², with the weighted mean ȳ; `None` if all y are equal, and under a robust
    /// loss, which is no sum of squares. For a nonlinear
    /// model it is no share of explained variance and does not compare models of different kinds; a
    /// small one still shows a fit that follows nothing.
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

    /// Akaike's information criterion, −2 ln L + 2k up to a constant of the data: n·ln(χ²/n) + 2k, as
    /// in lmfit, or χ² + 2k if sigma is absolute or y are counts. k is the [`rank`](Fit::rank), as in the degrees of
    /// freedom: a parameter that the data do not determine lowers no residual and costs nothing.
    ///
    /// Only differences between fits of the same data with the same kind of sigma mean something.
    /// Under a robust loss χ² is twice the loss and L a likelihood by its name only: compare fits with
    /// the same loss and scale.
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
    /// value ± t · standard error, with Student's t of the fit's degrees of freedom where the scatter was
    /// estimated, the normal distribution's where sigma is absolute or y are counts.
    ///
    /// That is right as far as the model is nearly linear in its parameters within their errors; where it
    /// is not, [`CurveFit::profile`](crate::CurveFit::profile) says more. A fixed parameter has the
    /// interval of its value alone, one that the data do not determine an infinite one. The ends are NaN
    /// where the standard error is: a parameter held by a bound has only a profile.
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
