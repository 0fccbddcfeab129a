//! Profile likelihood of a single parameter: the cost minimised over all other parameters.
//!
//! A profile fixes one parameter at θ and minimises over all others; S(θ) is twice the minimum cost. The excess is
//! (S(θ) − S(θ̂))/s². Its signed root τ(θ) = sign(θ − θ̂) √((S(θ) − S(θ̂))/s²) is a straight line for a linear model,
//! and then equals (θ − θ̂)/SE (Bates and Watts, Nonlinear Regression Analysis, 1988, section 6.1). The confidence
//! interval contains the values for which |τ| is at most the quantile of Student's t, or of the normal distribution
//! if sigma is absolute or y are counts. Its coverage is correct to a higher order than that of value ± t · SE, and
//! it adapts to a cost that is asymmetric, flat, or cut off by a bound.

pub(crate) mod contour;
mod contour_lines;
mod derived;
pub(crate) mod interval;
mod refits;
#[cfg(feature = "json")]
mod saved;
mod scattered;
mod walk;

use super::CurveFit;
use crate::data::Data;
use crate::error::Result;
use crate::error::names::position;
use crate::error::uncertainty::UncertaintyError;
use crate::fit::Fit;
use crate::fit::distributions::{check_level, half_width};
use crate::observe::span;
use crate::threads;
use interval::{ProfileEnd, ProfileInterval, ProfileNode, interval_end};
use refits::Refits;
use walk::WalkSide;

/// Default level of [`CurveFit::profile`].
const USUAL_LEVEL: f64 = 0.999;

/// The profile of a parameter, from refits at values on both sides of the best value.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "json", serde(try_from = "saved::SavedProfile", into = "saved::SavedProfile"))]
pub struct Profile {
    name: String,
    /// Nodes in ascending order of the parameter, including the best fit.
    nodes: Vec<ProfileNode>,
    best: usize,
    ends: [ProfileEnd; 2],
    level: f64,
    dof: Option<f64>,
    better: Option<Box<Fit>>,
}

impl CurveFit {
    /// Computes the profile of the parameter or [derived](CurveFit::derive) quantity `name` around `fit`, which must be
    /// the fit of this model to `data`. Refits hold the parameter at values on both sides of the best value; each refit
    /// starts from the result of its neighbour. The profile extends to the level 99.9 %. The spacing of the values is
    /// selected such that the error of each end of a [`Profile::interval`] is about 1e-6 of its distance from the best
    /// value. If the profile flattens out below the level, it ends early with [`ProfileEnd::Open`].
    ///
    /// If the token is cancelled, the profile contains only the finished refits, and its ends are
    /// [`ProfileEnd::Failed`].
    ///
    /// A refit that finds a better minimum than `fit` ends the profile; [`Profile::better`] returns it. Refits use
    /// the bounds of all parameters, the loss and the noise model of the fit.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0];
    /// let y = [8.3, 10.3, 19.0, 16.0, 15.6, 19.8];
    /// let demand = CurveFit::new(|x, [limit, rate]| limit * (1.0 - (-rate * x).exp()))
    ///     .names(["limit", "rate"]);
    /// let data = Data::new(&x, &y)?;
    /// let fit = demand.fit(&data, [20.0, 0.5])?;
    /// let rate = demand.profile(&fit, data, "rate")?.interval(0.95)?;
    /// // Asymmetric, unlike value ± t · SE.
    /// let best = fit.param("rate").unwrap();
    /// assert!(rate.upper - best > 1.5 * (best - rate.lower));
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter);
    /// [`UncertaintyError::NoProfile`] for a parameter that is not free, for a quantity whose formula cannot be solved
    /// for a parameter, or if the scatter of the points cannot be estimated; [`UncertaintyError::OtherFit`] if `fit`
    /// does not belong to this model and these data; errors of [`fit`](CurveFit::fit).
    pub fn profile<'a>(&self, fit: &Fit, data: impl Into<Data<'a>>, name: &str) -> Result<Profile> {
        self.profile_to(fit, data, name, USUAL_LEVEL)
    }

    /// Computes the profile to another level; see [`profile`](CurveFit::profile).
    ///
    /// # Errors
    /// The errors of [`profile`](CurveFit::profile); [`Error::BadOption`](crate::Error::BadOption) unless
    /// 0 < `level` < 1.
    pub fn profile_to<'a>(
        &self,
        fit: &Fit,
        data: impl Into<Data<'a>>,
        name: &str,
        level: f64,
    ) -> Result<Profile> {
        let data = data.into();
        let _span = span!(INFO, "profile", points = data.y.len());
        check_level(level)?;
        if let Some((name, formula)) = self.derived.iter().find(|(derived, _)| derived == name) {
            return self.profile_of_derived(fit, &data, (name, formula), level);
        }
        let which = self.profiled(name)?;
        let refits = Refits::new(self, fit, data, &[which])?;
        let dof = fit.scatter_freedom();
        Profile::walked(&refits, half_width(level, dof).powi(2), level, dof)
    }

    /// Returns the position of a parameter that can be profiled.
    fn profiled(&self, name: &str) -> Result<usize> {
        let position = position(&self.names, name, "ask for one of these")?;
        if !self.free_positions().contains(&position) {
            let (reason, remedy) = ("it is fixed or follows from others", "free it, and fit again");
            return Err(UncertaintyError::NoProfile { name: name.into(), reason, remedy }.into());
        }
        Ok(position)
    }
}

impl Profile {
    /// Computes a profile from refits that hold one parameter, up to the excess (S − Ŝ)/s² = `reach`.
    fn walked(refits: &Refits<'_>, reach: f64, level: f64, dof: Option<f64>) -> Result<Profile> {
        let center = refits.center();
        let side = |sign: f64| walk::side(refits, &center, sign, reach);
        let (below, above) = threads::join(|| side(-1.0), || side(1.0));
        let WalkSide { mut nodes, end: lower } = below;
        nodes.reverse();
        let mut best = nodes.len();
        nodes.push(center);
        nodes.extend(above.nodes);
        walk::refine(refits, &mut nodes, &mut best);
        let better = refits.better(&nodes)?.map(Box::new);
        let name = refits.names()[0].clone();
        Ok(Profile { name, nodes, best, ends: [lower, above.end], level, dof, better })
    }

    /// Returns the name of the parameter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the best value.
    pub fn value(&self) -> f64 {
        self.nodes[self.best].value
    }

    /// Returns the level to which the profile was computed.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Returns the values at which the parameter was held, ascending.
    pub fn values(&self) -> Vec<f64> {
        self.nodes.iter().map(|node| node.value).collect()
    }

    /// Returns the signed root τ at each element of [`values`](Self::values): negative below the best value, 0 at the
    /// best value, positive above.
    pub fn taus(&self) -> Vec<f64> {
        let sign = |i: usize| if i < self.best { -1.0 } else { 1.0 };
        let tau = |(i, node): (usize, &ProfileNode)| sign(i) * node.excess.max(0.0).sqrt();
        self.nodes.iter().enumerate().map(tau).collect()
    }

    /// Returns all parameters at each element of [`values`](Self::values), in the order of the model.
    pub fn params(&self) -> Vec<&[f64]> {
        self.nodes.iter().map(|node| node.params.as_slice()).collect()
    }

    /// Returns a fit with a lower cost than the profiled fit, if a refit found one.
    pub fn better(&self) -> Option<&Fit> {
        self.better.as_deref()
    }

    /// Returns the interval that covers the true value with probability `level`: the values for which |τ| is at most
    /// the quantile.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) unless 0 < `level` < 1; [`UncertaintyError::BeyondProfile`] if
    /// `level` is above the [level](Self::level) of the profile; [`UncertaintyError::BetterMinimum`] if there is a
    /// [`better`](Profile::better) fit, which must then be profiled instead.
    pub fn interval(&self, level: f64) -> Result<ProfileInterval> {
        check_level(level)?;
        if level > self.level {
            return Err(UncertaintyError::BeyondProfile { level, covered: self.level }.into());
        }
        if let Some(better) = &self.better {
            let (name, cost) = (self.name.clone(), better.cost());
            return Err(UncertaintyError::BetterMinimum { name, cost }.into());
        }
        let excess = half_width(level, self.dof).powi(2);
        let (lower, lower_end) = self.end(excess, false);
        let (upper, upper_end) = self.end(excess, true);
        Ok(ProfileInterval { lower, upper, lower_end, upper_end })
    }

    /// Returns the first value, above or below the best value, at which the profile reaches `excess`.
    fn end(&self, excess: f64, above: bool) -> (f64, ProfileEnd) {
        let end = self.ends[usize::from(above)];
        interval_end((&self.nodes, self.best), end, excess, above)
    }
}
