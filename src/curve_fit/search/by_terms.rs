//! Starting points of models that are sums, built term by term (matching pursuit: Mallat and Zhang, IEEE Trans. Signal
//! Process. 41, 1993, 3397).
//!
//! The first term is fitted alone. Each further term is placed at the largest residuals of the current curve, and all
//! terms so far are fitted together. Draws of all terms at once rarely find a small term next to a large term, because
//! the small term lowers the cost only after the large term is correct.

use super::draws::{Draws, Round};
use super::screen::{Candidate, Screen};
use crate::curve_fit::CurveFit;
use crate::curve_fit::ready::CompleteStart;
use crate::data::points::Points;
use crate::error::Result;
use crate::fit::engine::Spent;
use crate::fit::multi_start::run::Trials;
use crate::model::native::Model;
use std::sync::atomic::AtomicBool;

/// Number of draws that are fitted: for the first term, and for each added term.
const FITTED: [usize; 2] = [4, 2];

/// Search for a sum whose terms vanish if their linear parameters are 0.
pub(super) struct ByTerms<'a> {
    curve: &'a CurveFit,
    /// The points to which candidates are fitted.
    points: &'a Points<'a>,
    draws: &'a Draws<'a>,
    /// Linear parameters of each term of `draws`.
    linear: Vec<Vec<usize>>,
    /// Linear parameters of terms without nonlinear parameters.
    always: Vec<usize>,
}

/// Partial sum: some terms with their parameters. The linear parameters of all other terms are 0.
#[derive(Clone)]
struct Part {
    /// Positions in the list of terms.
    terms: Vec<usize>,
    params: Vec<f64>,
    cost: f64,
}

impl<'a> ByTerms<'a> {
    /// Prepares a search term by term. `linear`: positions of the parameters that are solved for. Returns `None` if the
    /// model is not a sum of such terms.
    ///
    /// # Errors
    /// Errors in the model or its ties.
    pub(super) fn new(
        curve: &'a CurveFit,
        points: &'a Points<'a>,
        draws: &'a Draws<'a>,
        linear: &[usize],
    ) -> Result<Option<ByTerms<'a>>> {
        let Model::Traced(program) = &curve.effective_model()? else { return Ok(None) };
        let all: Vec<usize> = draws.unknown.iter().chain(linear).copied().collect();
        let whole = program.terms(&all);
        let of_term = |term: &Vec<usize>| -> Vec<usize> {
            let own = whole.iter().filter(|whole| term.iter().any(|k| whole.contains(k)));
            own.flatten().copied().filter(|k| linear.contains(k)).collect()
        };
        let own: Vec<Vec<usize>> = draws.terms.iter().map(of_term).collect();
        let count = |k: usize| own.iter().filter(|own| own.contains(&k)).count();
        let is_sum = own.len() > 1
            && own.iter().all(|own| !own.is_empty() && own.iter().all(|&k| count(k) == 1));
        let always = linear.iter().copied().filter(|&k| count(k) == 0).collect();
        Ok(is_sum.then_some(ByTerms { curve, points, draws, linear: own, always }))
    }

    /// Computes candidates for the whole sum. Each candidate begins with a pair of terms, fitted in both orders. Then,
    /// repeatedly, the term that lowers the cost most is added. `first`: number of the first draw.
    ///
    /// # Errors
    /// Errors that do not depend on the starting point.
    pub(super) fn candidates(&self, first: u32) -> Result<Round> {
        let mut found = Round::default();
        let mut nothing = Part { terms: Vec::new(), params: self.draws.at(0), cost: f64::INFINITY };
        self.linear.iter().flatten().for_each(|&k| nothing.params[k] = 0.0);
        for begun in 0..self.linear.len() {
            let Some(single) = self.fitted(&nothing, begun, first, &mut found)? else { continue };
            for second in self.others(&single) {
                let pair = match self.linear.len() {
                    2 => Some(single.clone()),
                    _ => self.fitted(&single, second, first, &mut found)?,
                };
                let Some(mut part) = pair else { continue };
                while part.terms.len() + 1 < self.linear.len() {
                    match self.longer(&part, first, &mut found)? {
                        Some(longer) => part = longer,
                        None => break,
                    }
                }
                if let Some(last) = self.others(&part).next() {
                    let drawn = self.drawn(&self.draws.screen, &part, last, first, &mut found);
                    found.candidates.extend(drawn.into_iter().take(FITTED[1]));
                }
            }
        }
        Ok(found)
    }

    /// Returns the terms that are not in a partial sum.
    fn others(&self, part: &Part) -> impl Iterator<Item = usize> {
        let terms = part.terms.clone();
        (0..self.linear.len()).filter(move |term| !terms.contains(term))
    }

    /// Extends `part` by the term that lowers the cost most.
    fn longer(&self, part: &Part, first: u32, round: &mut Round) -> Result<Option<Part>> {
        let mut best: Option<Part> = None;
        for next in self.others(part) {
            let longer = self.fitted(part, next, first, round)?;
            let is_better = |part: &Part| best.as_ref().is_none_or(|best| part.cost < best.cost);
            best = longer.filter(is_better).or(best);
        }
        Ok(best)
    }

    /// Adds the term `next` to `part` and fits all its terms; `None` if the model is not finite at any draw.
    fn fitted(
        &self,
        part: &Part,
        next: usize,
        first: u32,
        round: &mut Round,
    ) -> Result<Option<Part>> {
        let mut terms = part.terms.clone();
        terms.push(next);
        let own = terms.iter().flat_map(|&t| &self.linear[t]);
        let linear: Vec<usize> = own.chain(&self.always).copied().collect();
        let solved = self.only(&linear);
        let solved = solved.ready(&linear)?;
        let screen = Screen { prepared: &solved.prepared, ..self.draws.screen };
        let drawn = self.drawn(&screen, part, next, first, round);
        let most = FITTED[usize::from(!part.terms.is_empty())];
        let starts: Vec<Vec<f64>> = drawn.into_iter().take(most).map(|c| c.params).collect();
        let Some(start) = starts.first().cloned() else { return Ok(None) };
        let nonlinear = terms.iter().flat_map(|&t| &self.draws.terms[t]);
        let curve = self.only(&nonlinear.copied().chain(linear).collect::<Vec<_>>());
        let start = CompleteStart::given(start);
        let request = curve.request(self.points, start, None, Spent::default())?;
        let mut trials = Trials::default();
        trials.add(&request, starts, &AtomicBool::new(false))?;
        round.evaluations += trials.evaluations();
        let cost = trials.least_cost();
        Ok(trials.best_params().map(|params| Part { terms, params, cost }))
    }

    /// Draws parameters of the term `next` while the nonlinear parameters of `part` are fixed. Returns distinct
    /// candidates by ascending cost.
    fn drawn(
        &self,
        screen: &Screen<'_>,
        part: &Part,
        next: usize,
        first: u32,
        round: &mut Round,
    ) -> Vec<Candidate> {
        let peaks = self.draws.left_by(&part.params);
        let drawn = self.draws.redrawn(&self.draws.terms[next], &part.params, &peaks, first);
        round.screened += drawn.len();
        self.draws.different(screen.sorted(&drawn), FITTED[0])
    }

    /// Returns the model with only these parameters free.
    fn only(&self, free: &[usize]) -> CurveFit {
        let fixed = (0..self.curve.names.len()).map(|i| !free.contains(&i)).collect();
        CurveFit { fixed, priors: Vec::new(), ..self.curve.clone() }.changed()
    }
}
