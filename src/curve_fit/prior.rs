//! Priors of parameters.

use super::CurveFit;
use crate::error::{Error, Result, SettingError, TieError};
use crate::fit::priors::Prior;
use crate::math::order::sort_few;

/// Minimum ratio of a prior's standard deviation to its mean. Below it, the cost due to rounding of the parameter
/// would be as large as the cost of the points.
const NARROWEST: f64 = 1e-12;

impl CurveFit {
    /// Sets the prior of a parameter: a normal distribution with `mean` and standard deviation `sigma`. The fit treats
    /// it as a measurement of the parameter: ((p − mean)/sigma)² is added to chi-square, and errors, correlations and
    /// degrees of freedom include it. A second call for the same parameter replaces the first.
    ///
    /// A prior is weighted relative to the points. Therefore the errors of the points must be known: either
    /// [`Sigma`](crate::Sigma) is absolute, or y are counts. Losses do not apply to priors.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, Sigma};
    /// let (t, y) = ([0.0, 1.0, 2.0, 3.0], [2.1, 1.3, 0.7, 0.5]);
    /// let decay = CurveFit::parse("a*exp(-k*t)", ["t"])?.prior("k", 0.5, 0.02);
    /// let data = Data::new(&t, &y)?.sigma(Sigma::Constant(0.1))?;
    /// let fit = decay.fit(data, [("a", 2.0), ("k", 1.0)])?;
    /// assert!(fit.std_error("k").unwrap() < 0.02);
    /// assert_eq!(fit.degrees_of_freedom(), 3); // four points, a prior, two parameters
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// Reported by the fit: [`Error::NonFiniteParameter`] for a mean that is not finite; [`Error::Setting`] for a sigma
    /// that is not positive and finite, or so small that rounding of the mean hides it (use [`fix`](CurveFit::fix)
    /// instead); [`Error::UnsuitedSigma`] if the errors of the points are not known; [`Error::Tie`] for a tied
    /// parameter.
    #[must_use]
    pub fn prior(mut self, name: &str, mean: f64, sigma: f64) -> CurveFit {
        let Some(param) = self.find(name) else { return self };
        let least = NARROWEST * mean.abs();
        if !mean.is_finite() {
            let (what, name) = ("prior mean", name.to_owned());
            self.refuse(Error::NonFiniteParameter { what, name, value: mean });
        } else if !(sigma > least && sigma.is_finite()) {
            let (what, name, value) = ("sigma of the prior", name.to_owned(), sigma);
            let requirement =
                "positive, finite and above 1e-12 of the mean (to hold the parameter, fix it)";
            self.refuse(SettingError { what, name, value, requirement }.into());
        } else {
            self.priors.retain(|prior| prior.param != param);
            self.priors.push(Prior { param, mean, sigma });
            sort_few(&mut self.priors, |a, b| a.param.cmp(&b.param));
        }
        self
    }

    /// Checks that no tied parameter has a prior and that, if there are priors, the errors of the points are known
    /// (`absolute`), not only up to a common factor.
    pub(super) fn check_priors(&self, absolute: bool) -> Result<()> {
        if let Some(prior) = self.priors.iter().find(|prior| self.is_tied(prior.param)) {
            let name = &self.names[prior.param];
            let tie = self.ties.iter().find(|tie| tie.name == *name);
            let text = tie.map_or("", |tie| &tie.text);
            let (besides, remedy) = ("has a prior", "leave one of them out");
            return Err(TieError::besides(name, text, besides, remedy).into());
        }
        if self.priors.is_empty() || absolute {
            return Ok(());
        }
        Err(Error::UnsuitedSigma {
            given: "Unknown or Relative",
            entry: "a fit with priors",
            remedy: "a prior is weighed against the points: say their errors with Sigma::Constant or Sigma::Absolute",
        })
    }

    /// Returns the mean of the prior of parameter `i`, moved inside the bounds; `None` if there is no prior.
    pub(super) fn expected(&self, i: usize) -> Option<f64> {
        let prior = self.priors.iter().find(|prior| prior.param == i)?;
        Some(self.inside(i, prior.mean))
    }
}
