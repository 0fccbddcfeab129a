//! Detection of the warnings of a fit.

use super::Fit;
use super::covariance::Direction;
use super::distributions::f_upper;
use super::start_search::{StartSearch, TESTED};
use super::verify::is_little;
use super::warning::Warning;
use crate::data::loss::Estimator;
use crate::error::quote::significant;
use crate::solver::termination::Termination;

/// Condition number above which a fit is ill-conditioned: half of the digits are lost.
const ILL_CONDITIONED: f64 = 1e7;
/// R² below which a fit is poor.
const POOR: f64 = 0.1;
/// Minimum ratio of a parameter's effect ‖Jⱼ‖·|pⱼ| at the start to the largest effect. Below it, the scale of the
/// parameter is poor.
const POOR_SCALING: f64 = 1e-10;
/// Fraction of the scatter of y below which a change of the model is rounding error.
const ROUNDING: f64 = 1e-10;
/// Maximum number of named parameters of a combination.
const MOST_PARTS: usize = 16;
/// A parameter has lost its effect if its partials are below the fraction `LOST` of its partials at the start, and its
/// error exceeds `WORTHLESS` times its start and `WORTHLESS` times its value.
const LOST: f64 = 1e-8;
/// Limit of the error of a parameter, relative to its start and its value; see [`LOST`].
const WORTHLESS: f64 = 1e6;
/// A parameter ran away if it changed by more than this factor and the fit did not converge.
const AWAY: f64 = 1e8;

/// Two minima are indistinguishable if χ² differs by less than this: the 95 % quantile for one degree of freedom.
const INDISTINGUISHABLE: f64 = 3.84;
/// Probability that noise alone reaches this R², above which a curve may describe only noise.
const CHANCE: f64 = 0.05;

/// Returns the warnings of `fit`. `unused`: true for parameters that the model does not contain; `distinct`: number of
/// different points; `effects`: effects ‖Jⱼ‖·|pⱼ| of the free parameters at the start, if known.
pub(super) fn warnings(
    fit: &Fit,
    unused: &[bool],
    bounds: &[(f64, f64)],
    distinct: usize,
    effects: &[Option<f64>],
) -> Vec<Warning> {
    let mut found = Vec::new();
    let name = |i: usize| fit.names[i].clone();
    for i in 0..fit.names.len() {
        if unused[i] && !fit.fixed[i] {
            found.push(Warning::UnusedParameter { name: name(i) });
        }
        if bounds[i].0 == bounds[i].1 {
            found.push(Warning::FixedByBounds { name: name(i) });
        }
        if let Some(side) = fit.at_bound[i] {
            found.push(Warning::AtBound { name: name(i), side });
        }
    }
    let estimated = fit.estimated();
    // If the caller or a time limit stopped the fit, its current point does not predict its result.
    let on_its_way = fit.termination.is_stopped();
    found.extend(weak(fit, unused));
    if !on_its_way {
        found.extend(ran_away(fit, effects));
    }
    if fit.scaled && estimated > 0 && fit.degrees_of_freedom() == 0 {
        found.push(Warning::NoDegreesOfFreedom);
    }
    if distinct + fit.priors.len() < estimated && distinct < fit.points {
        found.push(Warning::FewDistinctPoints { distinct, estimated });
    }
    if !on_its_way && is_little(fit.weight, fit.points, estimated) {
        let (effective, points) = (fit.weight, fit.points);
        found.push(Warning::FewPointsCount { effective, points, estimated });
    }
    if let Some(r_squared) =
        fit.r_squared().filter(|&r2| !on_its_way && r2 < if estimated > 1 { POOR } else { -POOR })
    {
        found.push(Warning::PoorFit { r_squared });
    }
    let strongest = effects.iter().flatten().copied().fold(0.0, f64::max);
    for (i, effect) in effects.iter().enumerate().filter_map(|(i, effect)| Some((i, (*effect)?))) {
        if effect > 0.0 && effect < POOR_SCALING * strongest {
            found.push(Warning::PoorScaling { name: name(i), ratio: effect / strongest });
        }
    }
    found
}

impl Fit {
    /// Returns true if a search for another start may find a better minimum.
    pub(crate) fn would_search(&self) -> bool {
        !self.termination.is_stopped() && self.estimated() > 0 && !self.is_convincing()
    }

    /// Returns true if the fit converged and nothing suggests that another start would find a better minimum.
    pub(crate) fn is_convincing(&self) -> bool {
        let suggests_search = |warning: &Warning| {
            matches!(
                warning,
                Warning::RankDeficient { .. }
                    | Warning::LostEffect { .. }
                    | Warning::RanAway { .. }
                    | Warning::PoorFit { .. }
                    | Warning::Rejected { .. }
                    | Warning::CorrelatedResiduals { .. }
            )
        };
        self.converged() && !self.warnings.iter().any(suggests_search)
    }
}

/// Returns the warnings of a fit about the search for its start.
pub(crate) fn of_search(search: &StartSearch, fit: &Fit) -> Vec<Warning> {
    let StartSearch { reached, fits, next_cost_ratio, .. } = *search;
    let rare = search.is_uncertain().then_some(Warning::UncertainMinimum { reached, fits });
    let degrees = fit.degrees_of_freedom() as f64;
    let as_good = |ratio: &f64| fit.cost > 0.0 && (ratio - 1.0) * degrees < INDISTINGUISHABLE;
    let other = next_cost_ratio.filter(as_good);
    let other = other.map(|cost_ratio| Warning::OtherMinimum { cost_ratio });
    rare.into_iter().chain(other).chain(no_signal(fit)).collect()
}

/// Returns the warning if the F test does not prefer the curve to a constant. A search tests about as many independent
/// curves as there are points; therefore the p-value is multiplied by the number of points.
fn no_signal(fit: &Fit) -> Option<Warning> {
    let (degrees, rank) = (fit.degrees_of_freedom(), fit.rank());
    let r_squared = fit.r_squared().filter(|&r2| degrees >= TESTED && rank > 1 && r2 < 1.0)?;
    let (above, below) = ((rank - 1) as f64, degrees as f64);
    let ratio = (r_squared / above) / ((1.0 - r_squared) / below);
    let p_value = f_upper(ratio.max(0.0), above, below) * fit.points() as f64;
    (p_value > CHANCE).then_some(Warning::NoSignal { r_squared, p_value: p_value.min(1.0) })
}

/// Returns the warnings about combinations of parameters that the data determine badly or not at all.
pub(super) fn weak(fit: &Fit, unused: &[bool]) -> Vec<Warning> {
    // The termination already states that no parameter has an effect.
    if fit.termination == Termination::ZeroGradientAtStart && fit.rank() == 0 {
        return Vec::new();
    }
    let warning = |direction: &Direction| {
        // Unused parameters have their own warning.
        let used = direction.parts.iter().copied().filter(|&(i, _)| !unused[i]);
        let used: Vec<(usize, f64)> = used.collect();
        if used.is_empty() {
            return None;
        }
        let combination = || combination(&used, &fit.names, &shown(fit));
        let (rank, estimated, condition) = (fit.rank(), fit.estimated(), fit.condition());
        // At a minimum, a single undetermined parameter has no slope: it changes the cost in second order only.
        if let ([(i, _)], true) = (&used[..], direction.undetermined && fit.converged())
            && fit.part.is_none()
        {
            return Some(Warning::NoSlope { name: fit.names[*i].clone() });
        }
        match direction.undetermined {
            true => Some(Warning::RankDeficient { rank, estimated, combination: combination() }),
            false if condition > ILL_CONDITIONED => {
                Some(Warning::IllConditioned { condition, combination: combination() })
            }
            false => None,
        }
    };
    fit.covariance.weak.iter().filter_map(warning).collect()
}

/// Returns the values of the parameters; small values become 0. A value is small if a change of this size moves the
/// model by less than the standard deviation of a point, or by less than the rounding error of y.
fn shown(fit: &Fit) -> Vec<f64> {
    let error = if fit.scaled { fit.residual_std_error().unwrap_or(0.0) } else { 1.0 };
    let least = (error * fit.row_unit).max(ROUNDING * fit.scatter.sqrt());
    let of = |(&value, &unit): (&f64, &f64)| if value.abs() <= least * unit { 0.0 } else { value };
    fit.params.iter().zip(&fit.covariance.units).map(of).collect()
}

/// Returns a combination of parameters as text, such as `a by 1 % with d by −1 %`. Changes are relative to the values,
/// and the largest change is 1 %; for a parameter that is 0, the text contains the change itself. Small changes matter
/// as much as large changes; therefore each has two significant digits.
fn combination(parts: &[(usize, f64)], names: &[String], params: &[f64]) -> String {
    let relative = |&(i, change): &(usize, f64)| change / params[i];
    let finite = parts.iter().map(relative).filter(|r| r.is_finite());
    let largest = finite.fold(0.0, |m: f64, r| m.max(r.abs()));
    let size = if largest > 0.0 { 0.01 / largest } else { 1.0 };
    let part = |part: &(usize, f64)| {
        let (i, change) = *part;
        let sign = |v: f64| if v < 0.0 { "−" } else { "" };
        match relative(part) {
            r if r.is_finite() => {
                format!("{} by {}{} %", names[i], sign(r), digits(100.0 * r.abs() * size))
            }
            _ => format!("{} by {}{}", names[i], sign(change), digits(change.abs() * size)),
        }
    };
    let shown = parts.iter().take(MOST_PARTS).map(part).collect::<Vec<_>>().join(" with ");
    match parts {
        [(i, _)] => names[*i].clone(),
        parts if parts.len() > MOST_PARTS => {
            format!("{shown} and {} more", parts.len() - MOST_PARTS)
        }
        _ => shown,
    }
}

/// Formats two significant digits, without a zero after the decimal point.
fn digits(value: f64) -> String {
    let text = significant(value, 2);
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Returns the warnings about parameters that lost their meaning, such as the rate of a decay that affects only one
/// point, or an amplitude that vanishes while its rate grows. The best value is then infinite or 0, and no fit reaches
/// it. This happens to a term that the data do not need. `effects`: ‖Jⱼ‖·|pⱼ| of each free parameter at the start.
fn ran_away(fit: &Fit, effects: &[Option<f64>]) -> Vec<Warning> {
    let found = |(k, effect): (usize, &Option<f64>)| {
        let effect = (*effect)?;
        let (name, start, value) = (fit.names[k].clone(), fit.start[k], fit.params[k]);
        let ratio = start.abs() / fit.covariance.units[k] / effect;
        let error = fit.covariance.errors[k];
        // An undetermined parameter has its own warning.
        if error == f64::INFINITY {
            return None;
        }
        if ratio < LOST && error > WORTHLESS * start.abs().max(value.abs()) {
            return Some(match fit.converged() {
                true => Warning::NoSlope { name },
                false => Warning::LostEffect { name, ratio },
            });
        }
        let change = (value / start).abs();
        let away = change.is_finite() && change > 0.0 && !(1.0 / AWAY..=AWAY).contains(&change);
        (away && !fit.converged()).then_some(Warning::RanAway { name, start, value })
    };
    effects.iter().enumerate().filter_map(found).collect()
}

impl Fit {
    /// Returns the reason of termination as text, which refers to the warnings if they explain more.
    pub(super) fn ending(&self) -> String {
        use Termination::{MaxEvaluations, NoProgress};
        let tells = |warning: &Warning| {
            matches!(
                warning,
                Warning::RankDeficient { .. }
                    | Warning::IllConditioned { .. }
                    | Warning::LostEffect { .. }
                    | Warning::RanAway { .. }
            )
        };
        let end = match self.termination {
            NoProgress => "no step lowers the cost",
            MaxEvaluations => "limit of evaluations reached",
            _ => return self.termination.to_string(),
        };
        match self.warnings.iter().any(tells) {
            true => format!(
                "not converged: {end}; the data hardly determine all parameters, see the warnings"
            ),
            // The cost of counts can decrease towards a model of 0, where it is not defined.
            false if self.estimator == Estimator::Poisson && self.termination == NoProgress => {
                format!(
                    "{}; keep the model above 0 by a bound, such as 0 for a background",
                    self.termination
                )
            }
            false => self.termination.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::combination;

    #[test]
    fn no_part_of_a_combination_is_lost_in_rounding() {
        let names = ["a", "b", "c", "d"].map(String::from);
        let params = [2.0, -1e9, 0.0, 1e-3];
        let text = combination(&[(0, 1.0), (1, 0.5), (3, -4.9e-4)], &names, &params);
        assert_eq!(text, "a by 1 % with b by −1.0e-9 % with d by −0.98 %");
        let text = combination(&[(0, 2.0), (2, -0.123_456)], &names, &params);
        assert_eq!(text, "a by 1 % with c by −0.0012");
        assert_eq!(combination(&[(3, 7.0)], &names, &params), "d");
    }
}
