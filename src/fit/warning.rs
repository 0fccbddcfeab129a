//! Warnings about the reliability of a fit.

use crate::error::quote::significant;
use crate::solver::bounds::Side;
use std::fmt;

/// A reason why numbers of a fit may be unreliable.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Warning {
    /// The model does not contain this parameter; or, for a native model, no other value of the parameter changes the
    /// model at any point. Therefore the data cannot determine it.
    UnusedParameter {
        /// The parameter.
        name: String,
    },
    /// The data do not determine all parameters: the model does not change along a combination of them.
    RankDeficient {
        /// Number of directions that the data determine.
        rank: usize,
        /// Number of estimated parameters.
        estimated: usize,
        /// A change of parameters that does not change the model, such as `a by 1 % with d by −1 %`, or the name of a
        /// single parameter.
        combination: String,
    },
    /// Parameters are nearly exchangeable; their least determined combination has few correct digits.
    IllConditioned {
        /// Condition number of the Jacobian with columns scaled to equal length.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        condition: f64,
        /// The least determined change of parameters, such as `a by 1 % with d by −0.98 %`.
        combination: String,
    },
    /// During the fit this parameter lost its effect on the model, such as the rate of a decay that ends before the
    /// second point. Its value is meaningless, and the data hardly need the term to which it belongs.
    LostEffect {
        /// The parameter.
        name: String,
        /// Its partials divided by its partials at the start.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        ratio: f64,
    },
    /// At the minimum the model does not change with this parameter to first order; for example, the model contains
    /// its square and the best value is 0. The cost rises on both sides, but the standard error, which is of first
    /// order, is meaningless. Use a profile interval, or fit the square itself.
    NoSlope {
        /// The parameter.
        name: String,
    },
    /// The fit did not converge, and this parameter became many orders of magnitude larger or smaller:
    /// its best value may be infinite, or 0.
    RanAway {
        /// The parameter.
        name: String,
        /// Its starting value.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        start: f64,
        /// Its final value.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        value: f64,
    },
    /// A parameter is at a bound and therefore has no standard error.
    AtBound {
        /// The parameter.
        name: String,
        /// The side of the bound.
        side: Side,
    },
    /// A parameter's lower and upper bound are equal; it was fixed there.
    FixedByBounds {
        /// The parameter.
        name: String,
    },
    /// A stream's last checkpoint could not be written; the fit continued without it.
    CheckpointNotWritten {
        /// The cause.
        why: String,
    },
    /// There are as many parameters as points. Therefore the scatter and the errors are unknown.
    NoDegreesOfFreedom,
    /// There are fewer different points than parameters.
    FewDistinctPoints {
        /// Number of different values of x.
        distinct: usize,
        /// Number of estimated parameters.
        estimated: usize,
    },
    /// Under the robust loss only few points keep weight: a few per parameter, or a small fraction of all points. The
    /// residuals of the other points exceed the scale of the loss. The result may be one of many minima, each near a
    /// few points; the standard errors do not reflect this.
    FewPointsCount {
        /// Effective number of points: [`Fit::effective_points`](crate::Fit::effective_points).
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        effective: f64,
        /// Number of points.
        points: usize,
        /// Number of estimated parameters.
        estimated: usize,
    },
    /// The fit is hardly better than a constant. Its minimum may be far from the best minimum.
    PoorFit {
        /// R² of the fit.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        r_squared: f64,
    },
    /// The fit converged, but its chi-square is too large to be chance: the model is wrong, this is not the best
    /// minimum, or sigma is too small. It is tested only if sigma is absolute or y are counts, for which chi-square is
    /// the deviance. About 1 of 10,000 fits with the right model has this warning.
    Rejected {
        /// [`Fit::chi_square`](crate::Fit::chi_square).
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        chi_square: f64,
        /// [`Fit::degrees_of_freedom`](crate::Fit::degrees_of_freedom).
        degrees_of_freedom: usize,
        /// [`Fit::chi_square_p_value`](crate::Fit::chi_square_p_value).
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        p_value: f64,
    },
    /// The fit converged, but residuals of neighbouring points are similar: the curve misses a trend of the data, this
    /// is not the best minimum, or the errors of neighbours are not independent. Standard errors are then too small.
    /// At most 1 of 1000 fits with the right model has this warning.
    CorrelatedResiduals {
        /// Durbin and Watson's statistic of the residuals in order of x: about 2 if they are independent, near 0 if
        /// neighbours are similar.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        durbin_watson: f64,
        /// The probability of residuals with at least this correlation in a fit with the right model.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        p_value: f64,
        /// The data set of a joint fit with the most significant correlation, counted from 0.
        set: Option<usize>,
    },
    /// The errors of x bias this parameter by at least 0.4 of its standard error, because the curve bends within these
    /// errors. More points do not reduce the bias.
    Biased {
        /// The parameter.
        name: String,
        /// The estimated bias, in the unit of the parameter; positive if the value is too large.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        bias: f64,
        /// The bias divided by the standard error.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        ratio: f64,
    },
    /// Only one of several starts reached the best optimum. A better optimum may exist.
    ReachedOnce {
        /// Number of starts that converged.
        starts: usize,
        /// The probability that a further start finds an optimum that no start has reached; see
        /// [`Optima::chance_of_unseen`](crate::Optima::chance_of_unseen).
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        unseen: f64,
        /// Number of further starts that, with a probability of 95 %, find an optimum that is as hard to reach.
        more: usize,
    },
    /// Few fits of the search for a start reached this minimum (fewer than three, or less than one in twelve), or the
    /// search was stopped. A better minimum may exist.
    UncertainMinimum {
        /// Number of fits of the search that reached this minimum.
        reached: usize,
        /// Number of fits of the search.
        fits: usize,
    },
    /// The search for a start found another minimum that fits the data as well: its parameters differ, and its cost is
    /// not significantly higher.
    OtherMinimum {
        /// Its cost divided by the cost of this fit.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        cost_ratio: f64,
    },
    /// The data do not need a term of the model: without it, the rest of the model fits them as well. The errors of its
    /// parameters mean little. It is tested for a factor of a term that is less than three errors from 0 and without
    /// which other parameters have no effect; not for joint fits and models that are not traced.
    UnneededTerm {
        /// The factor of the term, such as its amplitude.
        name: String,
        /// The parameters that have no effect if the factor is 0.
        lost: Vec<String>,
        /// The probability that noise alone gives the term at least its effect on chi-square; for this, the nonlinear
        /// parameters count like linear ones.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        p_value: f64,
    },
    /// A search found the start, and the data may be noise about a constant: in noise, the best curve of a search can
    /// reach the same R² by chance. It is tested only with at least 20 degrees of freedom.
    NoSignal {
        /// R² of the fit.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        r_squared: f64,
        /// The probability that a search reaches this R² in noise: the p-value of the F test against a constant, times
        /// the number of points.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        p_value: f64,
    },
    /// At the start this parameter's effect on the model was many orders of magnitude below the strongest effect.
    PoorScaling {
        /// The parameter.
        name: String,
        /// Its effect divided by the strongest effect.
        #[cfg_attr(feature = "json", serde(with = "crate::saved::exact"))]
        ratio: f64,
    },
}

impl Warning {
    /// Returns the warning with its parameter renamed by `own`; `None` if `own` returns `None`, or for warnings about
    /// combinations of parameters. Warnings without a parameter stay unchanged.
    pub(super) fn renamed(&self, own: &dyn Fn(&String) -> Option<String>) -> Option<Warning> {
        let mut warning = self.clone();
        match &mut warning {
            Warning::RankDeficient { .. } | Warning::IllConditioned { .. } => return None,
            Warning::UnusedParameter { name }
            | Warning::LostEffect { name, .. }
            | Warning::RanAway { name, .. }
            | Warning::NoSlope { name }
            | Warning::AtBound { name, .. }
            | Warning::FixedByBounds { name }
            | Warning::Biased { name, .. }
            | Warning::PoorScaling { name, .. } => *name = own(name)?,
            Warning::UnneededTerm { name, lost, .. } => {
                *name = own(name)?;
                *lost = lost.iter().map(own).collect::<Option<_>>()?;
            }
            Warning::CheckpointNotWritten { .. }
            | Warning::NoDegreesOfFreedom
            | Warning::FewDistinctPoints { .. }
            | Warning::FewPointsCount { .. }
            | Warning::ReachedOnce { .. }
            | Warning::UncertainMinimum { .. }
            | Warning::OtherMinimum { .. }
            | Warning::NoSignal { .. }
            | Warning::Rejected { .. }
            | Warning::CorrelatedResiduals { .. }
            | Warning::PoorFit { .. } => {}
        }
        Some(warning)
    }
}

/// Lists names, such as "`a`, `b` and `c`".
fn joined<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// Formats a probability with one or two digits.
fn probability(p: f64) -> String {
    match p {
        p if p < f64::MIN_POSITIVE => "p < 1e-307".to_owned(),
        p if p < 1e-3 => format!("p = {p:.0e}"),
        p => format!("p = {}", significant(p, 2)),
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::UnusedParameter { name } => {
                write!(f, "`{name}` does not change the model at any point; nothing determines it")
            }
            Warning::RankDeficient { rank, estimated, combination } => write!(
                f,
                "the data determine {rank} of {estimated} parameters; {}",
                match combination.contains(' ') {
                    true => format!(
                        "the curve at the points stays the same under the change {combination}: fix one of these parameters, or rewrite the model"
                    ),
                    false => format!(
                        "the curve at the points does not change with `{combination}`: fix it, or leave it out of the model"
                    ),
                }
            ),
            Warning::IllConditioned { condition, combination } => write!(
                f,
                "ill-conditioned (condition {condition:.1e}); changing {combination} changes next to nothing: the model may have too many parameters"
            ),
            Warning::LostEffect { name, ratio } => write!(
                f,
                "`{name}` has lost its effect on the model ({ratio:.1e} of that at the start), so its value means nothing: bound or fix it, or leave out the term that it belongs to"
            ),
            Warning::NoSlope { name } => write!(
                f,
                "at the minimum the model does not change with `{name}` to first order, so its error bar means nothing: take its profile interval, or fit what the model depends on linearly there, like its square"
            ),
            Warning::RanAway { name, start, value } => write!(
                f,
                "`{name}` went from {} to {} and came to no end; its best value may be infinite or 0: bound it, or leave out the term that it belongs to",
                significant(*start, 4),
                significant(*value, 4)
            ),
            Warning::AtBound { name, side } => {
                let side = if *side == Side::Lower { "lower" } else { "upper" };
                write!(f, "`{name}` is on its {side} bound and has no standard error")
            }
            Warning::FixedByBounds { name } => {
                write!(f, "`{name}` has equal bounds and was kept fixed")
            }
            Warning::CheckpointNotWritten { why } => f.write_str(why),
            Warning::NoDegreesOfFreedom => {
                write!(
                    f,
                    "as many parameters as points: the scatter is unknown, so there are no errors without absolute sigma"
                )
            }
            Warning::FewDistinctPoints { distinct, estimated } => {
                write!(f, "only {distinct} different points for {estimated} parameters")
            }
            Warning::FewPointsCount { effective, points, estimated } => write!(
                f,
                "under the loss only {} of {points} points count for {estimated} parameters, so that errors mean little: raise the scale of the loss, or try another start",
                significant(*effective, 2)
            ),
            Warning::PoorFit { r_squared } if *r_squared < 0.0 => write!(
                f,
                "the fit is worse than a constant (R² = {r_squared:.3}); try another start or model"
            ),
            Warning::PoorFit { r_squared } => write!(
                f,
                "the fit is hardly better than a constant (R² = {r_squared:.3}); try another start"
            ),
            Warning::Rejected { chi_square, degrees_of_freedom, p_value } => write!(
                f,
                "the data reject this fit: chi-square is {} for {degrees_of_freedom} degrees of freedom ({}); look at the residuals: the curve may miss something, another start may find a better minimum, or sigma is too small",
                significant(*chi_square, 4),
                probability(*p_value)
            ),
            Warning::CorrelatedResiduals { durbin_watson, p_value, set } => {
                let of_set = set.map_or(String::new(), |set| format!(" of set {}", set + 1));
                write!(
                    f,
                    "the residuals{of_set} are not independent (Durbin-Watson {}, {}): the curve misses a trend of the data, so standard errors are too small; look at the residuals, try another start, or add what the model lacks, such as a background",
                    significant(*durbin_watson, 2),
                    probability(*p_value)
                )
            }
            Warning::Biased { name, bias, ratio } => write!(
                f,
                "`{name}` is probably too {} by {}, {} of its standard errors, because the curve bends within the errors of x; subtract this bias, or check it by fits of simulated data",
                if *bias > 0.0 { "large" } else { "small" },
                significant(bias.abs(), 2),
                significant(ratio.abs(), 2)
            ),
            Warning::ReachedOnce { starts, unseen, more } => write!(
                f,
                "1 of {starts} starts reached this optimum, so there may be a better one: one more start finds a new optimum with a probability of at most about {unseen:.2}, and {more} further starts find an optimum that is as hard to reach with a probability of 95 %"
            ),
            Warning::UncertainMinimum { reached, fits } => write!(
                f,
                "the start was searched for, and {reached} of {fits} fits reached this minimum, so there may be a better one: give a start or bounds, or search more"
            ),
            Warning::UnneededTerm { name, lost, p_value } => write!(
                f,
                "the data do not need the term of {}: with `{name}` = 0 the rest of the model fits as well ({}); fit without the term",
                joined(std::iter::once(name).chain(lost)),
                probability(*p_value)
            ),
            Warning::OtherMinimum { cost_ratio } => write!(
                f,
                "other parameters fit the data as well: the search for a start found a second minimum with {} times the cost of this one; bounds or more data would decide",
                significant(*cost_ratio, 6)
            ),
            Warning::NoSignal { r_squared, p_value } => write!(
                f,
                "the data may be noise about a constant: a search finds a curve with R² = {r_squared:.2} in noise, too ({}); more points or a start from other data would decide",
                probability(*p_value)
            ),
            Warning::PoorScaling { name, ratio } => write!(
                f,
                "at the start `{name}` had {ratio:.1e} of the strongest parameter's effect; check the order of magnitude of its start"
            ),
        }
    }
}
