//! Profile likelihood: how far a single parameter can go while all others follow.
//!
//! With S(θ) twice the cost minimised over all other parameters while one is held at θ, the signed root
//! τ(θ) = sign(θ − θ̂) √((S(θ) − S(θ̂))/s²) is a straight line for a linear model, and then equals
//! (θ − θ̂)/SE (Bates and Watts, Nonlinear Regression Analysis, 1988, section 6.1). The interval where
//! |τ| is at most the quantile of Student's t, or of the normal distribution where sigma is absolute or y
//! are counts, is right to a higher order than value ± t · SE, and follows the cost where that is lopsided,
//! flat, or cut off by a bound.

pub(crate) mod contour;
mod contour_lines;
mod derived;
pub(crate) mod interval;
mod refits;
#[cfg(feature = "serde")]
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
use interval::{ProfileEnd, ProfileInterval};
use refits::Refits;
use walk::{ProfileNode, WalkSide};

/// The level that [`CurveFit::profile`] goes to.
const USUAL_LEVEL: f64 = 0.999;

/// The profile of a parameter, from refits at values on both sides of the best one.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "saved::SavedProfile", into = "saved::SavedProfile")
)]
pub struct Profile {
    name: String,
    /// Ascending in the parameter; one of them is the best fit.
    nodes: Vec<ProfileNode>,
    best: usize,
    ends: [ProfileEnd; 2],
    level: f64,
    dof: Option<f64>,
    better: Option<Box<Fit>>,
}

impl CurveFit {
    /// The profile of the parameter or the [derived](CurveFit::derive) quantity `name` about `fit`, which this model made
    /// of `data`: refits with it held at values on both sides, each from the end of its neighbour, to the level 99.9 %, or
    /// as far as the profile goes. The values lie so close that each end of a [`Profile::interval`] is exact to
    /// about 1e-6 of its distance from the best value. Where the profile flattens out below the level, it
    /// ends soon: [`ProfileEnd::Open`].
    ///
    /// A token that is cancelled ends it with the refits that are finished; the ends are [`ProfileEnd::Failed`] then.
    ///
    /// A refit that finds a better minimum than `fit` ends the profile: [`Profile::better`] has it. Bounds
    /// of all parameters hold; robust losses and counts are profiled as they were fitted.
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
    /// // Lopsided, as value ± t · SE cannot be.
    /// let best = fit.param("rate").unwrap();
    /// assert!(rate.upper - best > 1.5 * (best - rate.lower));
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter);
    /// [`UncertaintyError::NoProfile`] for a parameter that is not free, for a quantity whose formula no parameter can be
    /// computed from, and where nothing measures the scatter; [`UncertaintyError::OtherFit`] if `fit` is not of this model and these data; and as
    /// [`fit`](CurveFit::fit).
    pub fn profile<'a>(&self, fit: &Fit, data: impl Into<Data<'a>>, name: &str) -> Result<Profile> {
        self.profile_to(fit, data, name, USUAL_LEVEL)
    }

    /// As [`profile`](CurveFit::profile), to another level.
    ///
    /// # Errors
    /// As there, and [`Error::BadOption`](crate::Error::BadOption) unless 0 < `level` < 1.
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

    /// The position of a parameter that has a profile.
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
    /// From refits that hold one parameter, to an excess (S − Ŝ)/s² of `reach`.
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

    /// The parameter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The best value.
    pub fn value(&self) -> f64 {
        self.nodes[self.best].value
    }

    /// The level that the profile was made to.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The values that the parameter was held at, ascending.
    pub fn values(&self) -> Vec<f64> {
        self.nodes.iter().map(|node| node.value).collect()
    }

    /// The signed root τ at each of those values: −√ below the best one, 0 there, √ above.
    pub fn taus(&self) -> Vec<f64> {
        let sign = |i: usize| if i < self.best { -1.0 } else { 1.0 };
        let tau = |(i, node): (usize, &ProfileNode)| sign(i) * node.excess.max(0.0).sqrt();
        self.nodes.iter().enumerate().map(tau).collect()
    }

    /// All parameters at each of those values, in the model's order: how the others follow.
    pub fn params(&self) -> Vec<&[f64]> {
        self.nodes.iter().map(|node| node.params.as_slice()).collect()
    }

    /// A fit with a lower cost than the one that was profiled, if a refit came upon one.
    pub fn better(&self) -> Option<&Fit> {
        self.better.as_deref()
    }

    /// The interval that covers the true value with probability `level`: where |τ| is at most the
    /// quantile.
    ///
    /// # Errors
    /// [`Error::BadOption`](crate::Error::BadOption) unless 0 < `level` < 1; [`UncertaintyError::BeyondProfile`] if it is
    /// above the one that the profile was made to; [`UncertaintyError::BetterMinimum`] if there is a
    /// [`better`](Profile::better) fit, whose profile is the one to look at.
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
}
