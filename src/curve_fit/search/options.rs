//! Options of the search for a start: condition, number of rounds, seed.

use crate::setters::setters;

/// Condition under which a fit searches for its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchWhen {
    /// Never: a parameter without a start is [`StartError::Unknown`](crate::error::StartError::Unknown).
    Never,
    /// The default. A fit searches if a parameter has no start. If the start is the guess that comes with the model, it
    /// also searches if the model is a sum of several terms, if the fit does not converge, or if the data reject the
    /// fit. A fit with a complete start from the caller never searches.
    #[default]
    Needed,
    /// A fit searches in the cases of `Needed`, and also if the fit from the caller's start does not converge or is
    /// rejected by the data. The result with the lower cost is returned.
    Rejected,
    /// Every fit searches. The result with the lower cost is returned.
    Always,
}

/// Options of the search for a start; see [`CurveFit::search`](crate::CurveFit::search).
///
/// ```
/// use dualfit::{SearchOptions, SearchWhen};
/// let thorough = SearchOptions::default().when(SearchWhen::Rejected).rounds(32_usize).seed(7_u64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Condition of the search; [`SearchWhen::Needed`] by default.
    pub when: SearchWhen,
    /// Maximum number of rounds, 8 by default; four times this number for sums of more than two terms with nonlinear
    /// parameters. A round draws about a hundred values of the nonlinear parameters, more if there are frequencies or
    /// several terms, and fits the best few. The search ends earlier if its best minimum was reached several times and
    /// the data do not reject it. It also ends after 3 million computed values and partials, counted at each point, per
    /// permitted round: 50 to 300 ms for 8 rounds.
    pub rounds: usize,
    /// Seed of the draws, 0 by default. The same seed produces the same search on any number of threads.
    pub seed: u64,
}

setters!(SearchOptions { when: SearchWhen, rounds: usize, seed: u64 });

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions { when: SearchWhen::Needed, rounds: 8, seed: 0 }
    }
}
