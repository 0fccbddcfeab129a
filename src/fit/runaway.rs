//! Parameters that left the place where they mean something: a decay so fast that one point sees it, an
//! amplitude that vanishes while its rate grows. The best value is then at infinity or at 0, and no fit
//! comes to it; that is the fate of a term which the data do not need.

use super::Fit;
use super::warning::Warning;

/// A parameter has no effect left where its partials are below this part of those at the start,
const LOST: f64 = 1e-8;
/// and its error is so many times larger than it ever was.
const WORTHLESS: f64 = 1e6;
/// It ran away where it became so many times larger or smaller and the fit came to no end.
const AWAY: f64 = 1e8;

/// `effects`: ‖Jⱼ‖·|pⱼ| of each free parameter at the start.
pub(super) fn warnings(fit: &Fit, effects: &[f64]) -> Vec<Warning> {
    let free = (0..fit.names.len()).filter(|&k| !fit.fixed[k]);
    let found = |(k, &effect): (usize, &f64)| {
        let (name, start, value) = (fit.names[k].clone(), fit.start[k], fit.params[k]);
        let ratio = start.abs() / fit.covariance.units[k] / effect;
        let error = fit.covariance.errors[k];
        // Such a one is named as undetermined.
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
    free.zip(effects).filter_map(found).collect()
}

impl Fit {
    /// Why the fit stopped, in words; where the warnings tell more than those of the termination alone,
    /// they refer to them.
    pub(super) fn ending(&self) -> String {
        use crate::solver::termination::Termination::{MaxEvaluations, NoProgress};
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
            false => self.termination.to_string(),
        }
    }
}
