//! When a fit searches for its start, and how long.

use crate::setters::setters;

/// When fits search for starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchWhen {
    /// Never: a parameter without a start is [`StartError::Unknown`](crate::error::StartError::Unknown).
    Never,
    /// If a parameter has no start; if the start is the model's own guess and the model is a sum of several terms; and if the
    /// start was that guess and the fit from there does not converge or the data reject it. A complete start of the caller is
    /// never searched for. The default.
    #[default]
    Needed,
    /// Also if the fit from a start of the caller's does not converge or the data reject it. The fit with the lower
    /// cost is returned.
    Rejected,
    /// For every fit; the one with the lower cost is returned.
    Always,
}

/// Options of the search for a start: see [`CurveFit::search`](crate::CurveFit::search).
///
/// ```
/// use dualfit::{SearchOptions, SearchWhen};
/// let thorough = SearchOptions::default().when(SearchWhen::Rejected).rounds(32_usize).seed(7_u64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchOptions {
    /// When a search is made; [`SearchWhen::Needed`] by default.
    pub when: SearchWhen,
    /// Rounds at most, 8 by default; four times as many for sums of more than two terms with nonlinear parameters. A round
    /// draws about a hundred values of the nonlinear parameters, more if there are frequencies or several terms, and fits the best few. A search ends earlier if its best minimum was reached
    /// several times and the data do not reject it, or after 3 million values and partials at points per permitted round:
    /// 50 to 300 ms for 8 rounds.
    pub rounds: usize,
    /// Seed of the draws, 0 by default. The same seed gives the same search on any number of threads.
    pub seed: u64,
}

setters!(SearchOptions { when: SearchWhen, rounds: usize, seed: u64 });

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions { when: SearchWhen::Needed, rounds: 8, seed: 0 }
    }
}
