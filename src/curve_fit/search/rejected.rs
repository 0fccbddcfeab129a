//! A search after a fit that did not converge or whose curve the data reject.

use super::options::SearchWhen;
use crate::curve_fit::CurveFit;
use crate::curve_fit::start::{CompleteStart, Finder};
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::solver::termination::Termination;

impl CurveFit {
    /// Returns true if a search is to follow a fit that ended so.
    pub(in crate::curve_fit) fn searches_after(&self, start: &Start, fit: &Result<Fit>) -> bool {
        let complete = match start {
            Start::Values(_) => true,
            Start::Named(_) | Start::Guess => self.guess.is_none(),
        };
        let wanted = match self.search.when {
            SearchWhen::Never => return false,
            SearchWhen::Always => return !self.free_positions().is_empty(),
            SearchWhen::Rejected => true,
            SearchWhen::Needed => !complete,
        };
        let stopped = |fit: &Fit| {
            let limited = self.options.is_limited() && !fit.converged();
            limited || matches!(fit.termination, Termination::Stopped | Termination::TimeLimit)
        };
        wanted
            && match fit {
                Ok(fit) => !fit.is_convincing() && !stopped(fit) && fit.estimated() > 0,
                Err(error) => is_of_start(error),
            }
    }

    /// The fit, or one from the start that a search finds if that has a lower cost. `values`: the start of the fit.
    pub(in crate::curve_fit) fn or_searched(
        &self,
        fit: Result<Fit>,
        values: Vec<f64>,
        points: &Points<'_>,
        fit_from: impl FnOnce(CompleteStart) -> Result<Fit>,
    ) -> Result<Fit> {
        let ended = fit.as_ref().map(|fit| fit.params.clone()).ok();
        let finder = Finder::new(self, &Start::Guess)?;
        let found = finder.searched_for_all(ended.into_iter().collect(), values, points)?;
        let Some(found) = found else { return fit };
        let report = found.search;
        let other = fit_from(found);
        match (fit, other) {
            (Ok(fit), Ok(other)) if is_better(&other, &fit) => Ok(other),
            (Ok(mut fit), _) => {
                fit.stats.start_search = report;
                let warnings = report.map_or_else(Vec::new, |report| report.warnings(&fit));
                fit.warnings.extend(warnings);
                Ok(fit)
            }
            (Err(_), Ok(other)) => Ok(other),
            (fit, Err(_)) => fit,
        }
    }
}

/// Returns true if another fit of the same points has a lower cost, or the same and is a minimum.
fn is_better(other: &Fit, fit: &Fit) -> bool {
    const SAME: f64 = 1e-9;
    let lower = other.cost < fit.cost * (1.0 - SAME);
    lower || (other.converged() && !fit.converged() && other.cost <= fit.cost * (1.0 + SAME))
}

/// Returns true if another start may succeed.
fn is_of_start(error: &Error) -> bool {
    matches!(
        error,
        Error::ModelNonFiniteAtStart { .. }
            | Error::PartialNonFiniteAtStart { .. }
            | Error::ModelNotPositiveAtStart { .. }
            | Error::OverflowAtStart { .. }
    )
}
