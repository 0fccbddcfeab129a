//! Setter of the search options, and the search after a fit that did not converge or that is rejected because its
//! residuals fail a test.

use crate::curve_fit::CurveFit;
use crate::curve_fit::ready::CompleteStart;
use crate::curve_fit::search::options::{SearchOptions, SearchWhen};
use crate::curve_fit::start::Finder;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::Result;
use crate::fit::Fit;
use crate::fit::start_search::StartSearch;
use crate::fit::warnings::of_search;

impl CurveFit {
    /// Sets the options of the search for a start; see [`SearchWhen::Needed`] for the default.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, SearchOptions, SearchWhen};
    /// let x: Vec<f64> = (0..100).map(|i| 0.1 * f64::from(i)).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 2.0 * (5.3 * x).sin() + 0.1 * (31.0 * x).cos()).collect();
    /// let wave = CurveFit::new(|x, [a, w, p]| a * (w * x + p).sin());
    /// // From a frequency that is far off the nearest minimum is not that of the data.
    /// let near = wave.fit(Data::new(&x, &y)?, [1.0, 2.0, 0.0])?;
    /// assert!(near.r_squared().unwrap() < 0.1);
    /// let searching = wave.search(SearchOptions::default().when(SearchWhen::Rejected));
    /// let best = searching.fit(Data::new(&x, &y)?, [1.0, 2.0, 0.0])?;
    /// assert!((best.params()[1] - 5.3).abs() < 0.01);
    /// println!("{}", best.start_search().unwrap());
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    #[must_use]
    pub fn search(mut self, search: SearchOptions) -> CurveFit {
        self.search = search;
        self
    }

    /// Returns true if a search must follow a fit with this result.
    pub(in crate::curve_fit) fn searches_after(&self, start: &Start, fit: &Result<Fit>) -> bool {
        let is_given = |i: usize, pairs: &[(String, f64)]| {
            pairs.iter().any(|(name, _)| *name == self.names[i])
        };
        let complete = self.guess.is_none()
            || match start {
                Start::Values(_) => true,
                Start::Named(pairs) => {
                    self.free_positions().into_iter().all(|i| is_given(i, pairs))
                }
                Start::Guess => false,
            };
        let wanted = match self.search.when {
            SearchWhen::Never => return false,
            SearchWhen::Always => return !self.free_positions().is_empty(),
            SearchWhen::Rejected => true,
            SearchWhen::Needed => !complete,
        };
        let limited = |fit: &Fit| self.options.is_limited() && !fit.converged();
        wanted
            && match fit {
                Ok(fit) => fit.would_search() && !limited(fit),
                Err(error) => error.is_at_start(),
            }
    }

    /// Searches for another start after `fit`, which began at `values`. Returns `None` if the search finds no start.
    ///
    /// # Errors
    /// Errors of the search.
    pub(in crate::curve_fit) fn start_after(
        &self,
        fit: &Result<Fit>,
        values: Vec<f64>,
        points: &Points<'_>,
    ) -> Result<Option<CompleteStart>> {
        let ended = fit.as_ref().map(|fit| fit.params.clone()).ok();
        let finder = Finder::new(self, &Start::Guess)?;
        finder.searched_for_all(ended.into_iter().collect(), values, points)
    }

    /// Returns the better of two fits. `other` began at the start that was found by the search with this `report`.
    pub(in crate::curve_fit) fn better_of(
        fit: Result<Fit>,
        other: Result<Fit>,
        report: Option<StartSearch>,
    ) -> Result<Fit> {
        match (fit, other) {
            (Ok(fit), Ok(other)) if is_better(&other, &fit) => Ok(other),
            (Ok(mut fit), _) => {
                fit.stats.start_search = report;
                let warnings = report.map_or_else(Vec::new, |report| of_search(&report, &fit));
                fit.warnings.extend(warnings);
                Ok(fit)
            }
            (Err(_), Ok(other)) => Ok(other),
            (fit, Err(_)) => fit,
        }
    }
}

/// Returns true if `other`, a fit of the same points, has a lower cost, or if the costs are equal and only `other`
/// converged.
fn is_better(other: &Fit, fit: &Fit) -> bool {
    const SAME: f64 = 1e-9;
    let lower = other.cost < fit.cost * (1.0 - SAME);
    lower || (other.converged() && !fit.converged() && other.cost <= fit.cost * (1.0 + SAME))
}
