//! Parameters that are tied to others by expressions, their substitution in a model, and known facts about parameters:
//! starting values, bounds and ties.
//!
//! A program is recorded again with the expressions in place of the tied parameters. The new program does not contain
//! tied parameters, and its partials with respect to the other parameters are exact. A native function is
//! called with the tied values, and the chain rule transforms the partials that it computes.

use super::dual::Dual;
use super::expression::Expression;
use super::native::{ArrayCalls, Calls, Model, Native, PointCalls};
use super::program::Program;
use super::scalar::Scalar;
use crate::error::names::position;
use crate::error::{Result, TieError};
use crate::model::parse::tokens::replace_names;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of partials computed together.
const LANES: usize = 8;

/// A tie as the user defined it: a parameter equals a formula.
#[derive(Clone, Debug)]
pub(crate) struct Tie {
    pub(crate) name: String,
    /// The formula as it was written.
    pub(crate) text: String,
    pub(crate) expression: Expression,
}

/// Ties of the parameters of a model, ordered so that each depends only on earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ties(Vec<Placed>);

/// A tie with the indices of its parameters in the model.
#[derive(Clone, Debug)]
struct Placed {
    /// Index of the tied parameter.
    index: usize,
    tie: Tie,
    /// Index in the model of each parameter of the formula.
    places: Vec<usize>,
}

impl Tie {
    /// Renames the tie of parameter `index`; `places` are the indices in `names` of the parameters of its formula.
    fn renamed(&self, names: &[String], index: usize, places: &[usize]) -> Tie {
        let own = self.expression.parameters();
        let name = |word: &str| {
            let k = own.iter().position(|name| name == word)?;
            Some(names[places[k]].clone())
        };
        let text = replace_names(&self.text, name);
        let parameters = places.iter().map(|&k| names[k].clone()).collect();
        let expression = self.expression.renamed(parameters);
        Tie { name: names[index].clone(), text, expression }
    }
}

impl Ties {
    /// Returns the ties in an order in which each depends only on earlier ones.
    pub(crate) fn said(&self) -> impl Iterator<Item = &Tie> {
        self.0.iter().map(|placed| &placed.tie)
    }

    /// Resolves the names of the ties `said` among the parameters `names`, and orders the ties.
    ///
    /// # Errors
    /// Returns an error if a name is unknown, a parameter is tied twice, or ties form a cycle.
    pub(crate) fn among(names: &[String], said: &[Tie]) -> Result<Ties> {
        let mut waiting: Vec<Placed> = Vec::with_capacity(said.len());
        for tie in said {
            let correct = format!("correct the tie of `{}`", tie.name);
            let index = position(names, &tie.name, correct.as_str())?;
            if let Some(before) = waiting.iter().find(|placed| placed.index == index) {
                let besides = format!("to `{}`", tie.text);
                let remedy = "leave one of these ties out";
                return Err(TieError::besides(&tie.name, &before.tie.text, besides, remedy).into());
            }
            let remedy = format!("{correct}, or add the parameter by CurveFit::parameter");
            let place = |name: &String| position(names, name, remedy.as_str());
            let places = tie.expression.parameters().iter().map(place).collect::<Result<_>>()?;
            waiting.push(Placed { index, tie: tie.clone(), places });
        }
        let mut ordered = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            let waits =
                |placed: &Placed| waiting.iter().any(|other| placed.places.contains(&other.index));
            let Some(next) = waiting.iter().position(|placed| !waits(placed)) else {
                return Err(TieError::Cycle { names: circle(&waiting) }.into());
            };
            ordered.push(waiting.remove(next));
        }
        Ok(Ties(ordered))
    }

    /// Joins the ties of several sets. `sets`: for each set the ties, and the indices of its parameters in `names`, the
    /// names of all parameters. The ties are renamed accordingly.
    ///
    /// # Errors
    /// Returns an error if sets that share a parameter tie it to different formulas, or if only some of them tie it.
    pub(crate) fn joined(sets: &[(&Ties, &[usize])], names: &[String]) -> Result<Ties> {
        let mut all: Vec<Placed> = Vec::new();
        let moved = |placed: &Placed, to: &[usize]| {
            let places: Vec<usize> = placed.places.iter().map(|&k| to[k]).collect();
            let (index, tie) =
                (to[placed.index], placed.tie.renamed(names, to[placed.index], &places));
            Placed { index, tie, places }
        };
        let differs = |placed: &Placed| {
            let name = names[placed.index].clone();
            Err(TieError::DiffersBetweenSets { name }.into())
        };
        // One entry per parameter: its tie, and the number of sets that have the parameter but do not tie it.
        let (mut known, mut free) = (vec![None; names.len()], vec![0_usize; names.len()]);
        for (ties, to) in sets {
            to.iter().for_each(|&k| free[k] += 1);
            for placed in ties.0.iter().map(|placed| moved(placed, to)) {
                free[placed.index] -= 1;
                match known[placed.index].map(|at: usize| &all[at]) {
                    Some(other) => {
                        let is_same =
                            (&placed.places, &placed.tie.text) == (&other.places, &other.tie.text);
                        if !is_same {
                            return differs(&placed);
                        }
                    }
                    None => {
                        known[placed.index] = Some(all.len());
                        all.push(placed);
                    }
                }
            }
        }
        match all.iter().find(|placed| free[placed.index] > 0) {
            Some(placed) => differs(placed),
            None => Ok(Ties(all)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the formula that parameter `index` is tied to, as it was written.
    pub(crate) fn formula(&self, index: usize) -> Option<&str> {
        self.0.iter().find(|placed| placed.index == index).map(|placed| placed.tie.text.as_str())
    }

    /// Returns the indices of the tied parameters.
    pub(crate) fn tied(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|placed| placed.index)
    }

    /// Computes the tied parameters from the others, in place.
    pub(crate) fn complete<S: Scalar>(&self, params: &mut [S]) {
        for Placed { index, tie, places } in &self.0 {
            let named: Vec<S> = places.iter().map(|&k| params[k]).collect();
            params[*index] = tie.expression.evaluate(&[], &named);
        }
    }

    /// Returns for each tied parameter its partials with respect to the untied parameters. `params` must be complete.
    pub(crate) fn partials(&self, params: &[f64]) -> Vec<(usize, Vec<(usize, f64)>)> {
        let mut rows: Vec<(usize, Vec<(usize, f64)>)> = Vec::with_capacity(self.0.len());
        let mut row_of = vec![None; params.len()];
        for Placed { index, tie, places } in &self.0 {
            let mut row: BTreeMap<usize, f64> = BTreeMap::new();
            for (group, some) in places.chunks(LANES).enumerate() {
                let variable = |(i, &k): (usize, &usize)| {
                    let lane = if i / LANES == group { i % LANES } else { LANES };
                    Dual::<f64, LANES>::variable(params[k], lane)
                };
                let named: Vec<Dual<f64, LANES>> =
                    places.iter().enumerate().map(variable).collect();
                let partials = tie.expression.evaluate(&[], &named).partials;
                for (&k, partial) in some.iter().zip(partials) {
                    match row_of[k].map(|at: usize| &rows[at].1) {
                        None => *row.entry(k).or_default() += partial,
                        // Chain rule if the other parameter is also tied.
                        Some(further) => further.iter().for_each(|(k, slope)| {
                            *row.entry(*k).or_default() += partial * slope;
                        }),
                    }
                }
            }
            row_of[*index] = Some(rows.len());
            rows.push((*index, row.into_iter().collect()));
        }
        rows
    }

    /// Substitutes the ties: returns the model as a function of the other parameters alone.
    ///
    /// # Errors
    /// None in practice: replaying a program cannot panic.
    pub(crate) fn substituted(&self, model: &Model) -> Result<Model> {
        Ok(match model {
            Model::Traced(program) => Model::Traced(Arc::new(self.in_program(program)?)),
            Model::Native(native) => Model::Native(self.in_native(native)),
        })
    }

    fn in_program(&self, program: &Program) -> Result<Program> {
        program.rewritten(|x, p| {
            let mut p = p.to_vec();
            self.complete(&mut p);
            program.evaluate(x, &p)
        })
    }

    fn in_native(&self, native: &Native) -> Native {
        let calls = match &native.calls {
            Calls::Points(calls) => {
                let (ties, value) = (self.clone(), calls.value.clone());
                let value = Arc::new(move |x: &[f64], p: &[f64]| value(x, &ties.completed(p)));
                let jacobian = calls.jacobian.clone().map(|jacobian| {
                    let ties = self.clone();
                    let chained = move |x: &[f64], p: &[f64], out: &mut [f64]| {
                        let p = ties.completed(p);
                        jacobian(x, &p, out);
                        let mut rows: Vec<&mut [f64]> = out.chunks_mut(1).collect();
                        ties.chain(&p, &mut rows);
                    };
                    Arc::new(chained) as Arc<_>
                });
                Calls::Points(PointCalls { value, jacobian })
            }
            Calls::Arrays(calls) => {
                let (ties, value) = (self.clone(), calls.value.clone());
                let value = Arc::new(move |x: &[&[f64]], p: &[f64], out: &mut [f64]| {
                    value(x, &ties.completed(p), out);
                });
                let jacobian = calls.jacobian.clone().map(|jacobian| {
                    let ties = self.clone();
                    let chained = move |x: &[&[f64]], p: &[f64], rows: &mut [&mut [f64]]| {
                        let p = ties.completed(p);
                        jacobian(x, &p, rows);
                        ties.chain(&p, rows);
                    };
                    Arc::new(chained) as Arc<_>
                });
                Calls::Arrays(ArrayCalls { value, jacobian, ..*calls })
            }
        };
        Native { calls, ..native.clone() }
    }

    /// Returns all parameters, with the tied ones computed by their formulas.
    fn completed(&self, p: &[f64]) -> Vec<f64> {
        let mut p = p.to_vec();
        self.complete(&mut p);
        p
    }

    /// Applies the chain rule: multiplies the partials with respect to a tied parameter by the partials of its formula,
    /// and adds them to the partials with respect to the parameters of the formula. `rows`: the partials of each
    /// parameter.
    fn chain(&self, p: &[f64], rows: &mut [&mut [f64]]) {
        for (tied, by_others) in self.partials(p) {
            let by_tied = rows[tied].to_vec();
            rows[tied].fill(0.0);
            for (k, d) in by_others {
                rows[k].iter_mut().zip(&by_tied).for_each(|(out, by)| *out += by * d);
            }
        }
    }
}

/// Returns the names of tied parameters that form a cycle: each depends on the next, the last on the first.
fn circle(waiting: &[Placed]) -> Vec<String> {
    let next =
        |placed: &Placed| waiting.iter().position(|other| placed.places.contains(&other.index));
    let (mut way, mut at) = (Vec::new(), 0);
    while !way.contains(&at) {
        way.push(at);
        match next(&waiting[at]) {
            Some(next) => at = next,
            None => break,
        }
    }
    let begin = way.iter().position(|&i| i == at).unwrap_or(0);
    way[begin..].iter().map(|&i| waiting[i].tie.name.clone()).collect()
}

/// Known facts about the parameters: one entry per parameter, in the model's order.
pub(crate) struct Known {
    /// Starting values; the parameters may move away from them.
    pub(crate) starts: Vec<Option<f64>>,
    /// Bounds of the parameters; both are equal for a fixed parameter.
    pub(crate) limits: Vec<(f64, f64)>,
    /// Formulas of tied parameters.
    pub(crate) ties: Ties,
}

impl Known {
    /// Creates the facts for parameters with these bounds, without starting values and ties.
    pub(crate) fn within(limits: Vec<(f64, f64)>) -> Known {
        Known { starts: vec![None; limits.len()], limits, ties: Ties::default() }
    }

    /// Returns the range of the starting value: one value if it is known, else the bounds.
    pub(crate) fn range(&self, i: usize) -> (f64, f64) {
        let start = self.starts.get(i).copied().flatten().map(|value| (value, value));
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        start.unwrap_or_else(|| self.limits.get(i).copied().unwrap_or(free))
    }

    /// Returns the parameters moved into their bounds; tied parameters are computed from the others.
    pub(crate) fn allowed(&self, params: &[f64]) -> Vec<f64> {
        self.within_ranges(params, |i| self.limits[i])
    }

    /// Returns the parameters moved into the ranges of their starting values; tied parameters are computed from the
    /// others.
    pub(crate) fn begun(&self, params: &[f64]) -> Vec<f64> {
        self.within_ranges(params, |i| self.range(i))
    }

    fn within_ranges(&self, params: &[f64], range: impl Fn(usize) -> (f64, f64)) -> Vec<f64> {
        let inside = |(i, &value): (usize, &f64)| nearest(value, range(i));
        let mut inside: Vec<f64> = params.iter().enumerate().map(inside).collect();
        self.ties.complete(&mut inside);
        inside
    }
}

/// Returns the value of the range that is nearest to `value`. A NaN stays NaN unless the range is one value.
pub(crate) fn nearest(value: f64, (low, high): (f64, f64)) -> f64 {
    if low == high || value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}
