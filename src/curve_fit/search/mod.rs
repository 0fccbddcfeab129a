//! The search for starts of parameters of which nothing is known.
//!
//! In rounds: values of the nonlinear parameters are drawn from their natural [`ranges`]; the linear parameters are solved
//! for at each draw, on a few hundred points ([`screen`]); the best candidates are fitted. Frequencies are scanned, and the
//! terms of a sum are redrawn one after the other, the rest at their best. The search ends if its best minimum was
//! reached several times and the data do not reject it, or after a fixed number of rounds. Nothing depends on time or on
//! the number of threads.

pub(super) mod batch;
pub(crate) mod options;
mod ranges;
pub(super) mod rejected;
mod screen;
mod symmetry;

use super::CurveFit;
use super::multi_start::sampling::sobol_point;
use super::start::CompleteStart;
use crate::backend::Backend;
use crate::data::Data;
use crate::data::loss::Estimator;
use crate::data::observations::Observations;
use crate::data::points::Points;
use crate::data::sample::{Sample, SampleHalf};
use crate::data::sigma::Weights;
use crate::error::Result;
use crate::fit::engine::{Request, Spent};
use crate::fit::multi_start::Optimum;
use crate::fit::multi_start::run::Trials;
use crate::fit::start_search::{REACHED, StartSearch};
use crate::model::native::Model;
use crate::solver::options::Options;
use ranges::{Frequencies, Range, ranges};
use screen::{Candidate, Screen};
use std::sync::atomic::AtomicBool;
use symmetry::Symmetries;

/// Draws of a round.
const DRAWS: usize = 96;
/// Candidates of a round that are fitted.
const FITTED: usize = 6;
/// Further ones, of a scan of frequencies and of redrawn terms.
const FITTED_BESIDE: usize = 4;
/// Frequencies scanned at most, for each parameter that is one.
const SCANNED: usize = 4096;
/// Draws of a group of parameters while the others stay.
const DRAWS_OF_GROUP: usize = 96;
/// Candidates that are fitted of those in which one group of the best fit so far was redrawn.
const FITTED_OF_GROUP: usize = 2;
/// Candidates of a round whose groups are redrawn.
const REDRAWN: usize = 2;
/// Rounds over all groups.
const SWEEPS: usize = 2;
/// Draws from which those are taken at which symmetries are tested.
const DRAWS_OF_SYMMETRIES: u32 = 12;
/// Fits that must have reached it, and be at least half of all, if the data reject it.
const ENOUGH: usize = 12;
/// Fits of a round that used up their evaluations and are continued, if they have the least cost so far.
const CONTINUED: usize = 2;
/// Evaluations of one of these fits. The final fit has the caller's limits.
const EVALUATIONS: usize = 60;
/// The same of those that are continued.
const LONG_EVALUATIONS: usize = 400;
/// Relative difference of the nonlinear parameters, and of the costs, of one minimum.
const SAME: f64 = 1e-4;
/// Candidates whose nonlinear parameters differ by less than this part are one.
const ALIKE: f64 = 0.1;

/// Points at all candidates together, after which no further round begins.
const MOST_WORK: usize = 20_000_000;
/// Points at most on which candidates are screened, and on which they are fitted.
const SCREENED_POINTS: usize = 1000;
const FITTED_POINTS: usize = 4000;

/// What is sought.
pub(super) struct Search<'a> {
    /// The model whose minimum is sought.
    pub(super) curve: &'a CurveFit,
    /// The same with its linear parameters alone free, and a plain loss.
    pub(super) linear: &'a CurveFit,
    /// One value per parameter: those that are known; of the others any.
    pub(super) base: Vec<f64>,
    /// Positions of the parameters to be drawn.
    pub(super) unknown: Vec<usize>,
    /// Starts that are fitted beside those drawn, one value per parameter each.
    pub(super) candidates: Vec<Vec<f64>>,
}

/// The best parameters, and how reliable they are.
pub(super) struct Found {
    pub(super) values: Vec<f64>,
    pub(super) report: StartSearch,
}

impl Search<'_> {
    /// Searches for the parameters of the least cost; `None` if the model has no finite value wherever it was tried.
    ///
    /// # Errors
    /// Those that end a fit whatever its start.
    pub(super) fn best(&self, points: &Points<'_>) -> Result<Option<Found>> {
        // Errors in x would take the closest point of the curve to each point.
        let exact = points.as_measurements().filter(|_| !points.x_sigma.is_exact());
        let points = exact.as_ref().unwrap_or(points);
        on_sample(points, FITTED_POINTS, |fitted| {
            let measured = fitted.as_measurements();
            let measured = measured.as_ref().unwrap_or(fitted);
            on_sample(measured, SCREENED_POINTS, |screened| self.best_of(fitted, screened))
        })
    }

    /// `screened`: a sample of the points, as measurements.
    fn best_of(&self, points: &Points<'_>, screened: &Points<'_>) -> Result<Option<Found>> {
        let curve = CurveFit {
            backend: Backend::Cpu,
            observer: None,
            underdetermined: true,
            options: Options { max_evaluations: Some(EVALUATIONS), ..self.curve.options },
            ..self.curve.clone()
        };
        let free = self.linear.free_positions();
        let ready = self.linear.ready(&free)?;
        let screen =
            Screen { prepared: &ready.prepared, points: screened, bounds: &self.curve.bounds };
        let model = self.curve.effective_model()?;
        let seen = Observations::of(points);
        let ranges = ranges(&model, &self.unknown, &self.curve.bounds, &seen);
        let terms = match &model {
            Model::Traced(program) => program.terms(&self.unknown),
            Model::Native(_) => Vec::new(),
        };
        let phases: Vec<usize> = self
            .unknown
            .iter()
            .zip(&ranges)
            .filter(|(_, range)| range.is_phase)
            .map(|(&k, _)| k)
            .collect();
        let (peaks, symmetries) = (Peaks::of(seen), Symmetries::default());
        let mut draws = Draws { search: self, screen, ranges, peaks, terms, symmetries };
        let some: Vec<Vec<f64>> = (0..DRAWS_OF_SYMMETRIES).map(|i| draws.at(i)).collect();
        let some: Vec<Candidate> = draws.screen.each(&some).into_iter().flatten().collect();
        draws.symmetries = Symmetries::of(&draws.screen, &some, &draws.terms, &phases);
        let start = CompleteStart::given(self.base.clone());
        curve
            .request(points, start, None, Spent::default(), |request| self.rounds(&request, &draws))
    }

    fn rounds(&self, request: &Request<'_>, draws: &Draws<'_>) -> Result<Option<Found>> {
        let stop = AtomicBool::new(false);
        let mut trials = Trials::default();
        // Fits whose start does not depend on those before: they count as evidence.
        let mut independent: Vec<bool> = Vec::new();
        let (mut screened, mut settled) = (0, false);
        for round in 0..self.curve.search.rounds.max(1) {
            let best = trials.best_params();
            let Round { screened: count, candidates, dependent } =
                draws.round(round, best.as_deref());
            screened += count;
            let given = if round == 0 { &self.candidates[..] } else { &[] };
            independent
                .extend(given.iter().chain(candidates.iter().map(|c| &c.params)).map(|_| true));
            independent.extend(dependent.iter().map(|_| false));
            let drawn = candidates.into_iter().chain(dependent).map(|candidate| candidate.params);
            let starts = given.iter().cloned().chain(drawn);
            let starts = starts.map(|params| self.curve.completed(params));
            trials.add(request, starts.collect::<Result<_>>()?, &stop)?;
            let open = trials.best_open(CONTINUED);
            if !open.is_empty() {
                independent.extend(open.iter().map(|_| true));
                let options =
                    Options { max_evaluations: Some(LONG_EVALUATIONS), ..self.curve.options };
                trials.add(&Request { options: &options, ..request.clone() }, open, &stop)?;
            }
            let minima = draws.merged(trials.optima(request), &independent);
            let reached = minima.first().map_or(0, |best| best.reached);
            let fits = independent.iter().filter(|is| **is).count();
            let nearly_all = reached >= ENOUGH && 2 * reached >= fits;
            settled = nearly_all || (reached >= REACHED && trials.is_convincing(request)?);
            let work = screened.saturating_mul(draws.screen.points.used);
            if settled
                || work > MOST_WORK
                || request.observer.is_some_and(|observer| observer.is_cancelled())
            {
                break;
            }
        }
        let Some(best) = trials.best_params() else { return Ok(None) };
        let optima = draws.merged(trials.optima(request), &independent);
        let report = StartSearch {
            screened,
            fits: independent.iter().filter(|is| **is).count(),
            reached: optima.first().map_or(0, |best| best.reached),
            next_cost_ratio: optima.get(1).map(|next| next.cost / optima[0].cost),
            points: request.points.used,
            settled,
        };
        Ok(Some(Found { values: draws.canonical(best), report }))
    }
}

/// A minimum and how many fits reached it or one of its equals.
struct Minimum {
    /// The nonlinear parameters.
    values: Vec<f64>,
    cost: f64,
    reached: usize,
}

/// What a round draws.
struct Round {
    screened: usize,
    candidates: Vec<Candidate>,
    /// Those that were drawn about the best fit so far.
    dependent: Vec<Candidate>,
}

/// Candidates of all rounds.
struct Draws<'a> {
    search: &'a Search<'a>,
    screen: Screen<'a>,
    /// Of the parameters to be drawn.
    ranges: Vec<Range>,
    peaks: Peaks,
    /// The parameters of each additive term, out of those to be drawn.
    terms: Vec<Vec<usize>>,
    symmetries: Symmetries,
}

impl Draws<'_> {
    /// The candidates of a round that are to be fitted. `best`: the parameters of the best fit so far.
    fn round(&self, round: usize, best: Option<&[f64]>) -> Round {
        let first = (round * DRAWS) as u32;
        let drawn: Vec<Vec<f64>> = (first..first + DRAWS as u32).map(|i| self.at(i)).collect();
        let drawn = self.screen.sorted(&drawn);
        let mut screened = DRAWS;
        let mut scanned = Vec::new();
        for (k, range) in self.ranges.iter().enumerate() {
            if let Some(frequencies) = range.frequencies {
                scanned.extend(self.scan(k, frequencies, first, None));
            }
        }
        screened += scanned.len();
        let scanned = self.screen.sorted(&scanned);
        let mut chosen = self.different(scanned, FITTED_BESIDE);
        chosen.extend(self.different(drawn, FITTED));
        chosen.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let groups = self.groups(round);
        let mut redrawn = Vec::new();
        for candidate in chosen.iter().take(if groups.is_empty() { 0 } else { REDRAWN }) {
            let (count, better) = self.group_by_group(&groups, candidate.clone(), first);
            screened += count;
            redrawn.push(better);
        }
        chosen.extend(redrawn);
        let mut dependent = Vec::new();
        if let Some(best) = best {
            for group in &groups {
                let all = self.redrawn(group, best, first);
                screened += all.len();
                dependent.extend(self.different(self.screen.sorted(&all), FITTED_OF_GROUP));
            }
        }
        Round { screened, candidates: chosen, dependent }
    }

    /// The groups of parameters that are redrawn in a round, one after the other: the terms of a sum; in later rounds in
    /// turn with single parameters.
    fn groups(&self, round: usize) -> Vec<Vec<usize>> {
        let several = self.terms.len() > 1;
        match round {
            0 if !several => Vec::new(),
            _ if several && round % 2 == 0 => self.terms.clone(),
            _ => self.search.unknown.iter().map(|&k| vec![k]).collect(),
        }
    }

    /// Draw number `i`: one value per parameter.
    fn at(&self, i: u32) -> Vec<f64> {
        let mut params = self.search.base.clone();
        let u = sobol_point(i, self.ranges.len(), self.search.curve.search.seed as u32);
        for ((&k, range), &u) in self.search.unknown.iter().zip(&self.ranges).zip(&u) {
            params[k] = range.at(u);
        }
        // Every second draw puts each term at a point whose response is far from the median.
        if i % 2 == 1 {
            let whole = std::slice::from_ref(&self.search.unknown);
            let terms = if self.terms.is_empty() { whole } else { &self.terms };
            for (t, term) in terms.iter().enumerate() {
                let point = self.peaks.at(u[t % u.len()], i as usize / 2);
                for (&k, range) in self.search.unknown.iter().zip(&self.ranges) {
                    if let (true, Some(column)) = (term.contains(&k), range.position) {
                        params[k] = range.inside(self.peaks.seen.columns[column][point]);
                    }
                }
            }
        }
        params
    }

    /// All frequencies of parameter `k` of those to be drawn; the other parameters are those of `about`, or drawn anew for
    /// each.
    fn scan(
        &self,
        k: usize,
        Frequencies { highest, step }: Frequencies,
        first: u32,
        about: Option<&[f64]>,
    ) -> Vec<Vec<f64>> {
        let count = ((highest.abs() / step.abs()).ceil() as usize).clamp(1, SCANNED);
        let place = self.search.unknown[k];
        let at = |i: usize| {
            let mut params = match about {
                Some(about) => about.to_vec(),
                None => self.at(first + i as u32),
            };
            params[place] = self.ranges[k].inside(highest * (i as f64 + 0.5) / count as f64);
            params
        };
        (0..count).map(at).collect()
    }

    /// The candidate after each group of parameters was redrawn with the others at their best.
    fn group_by_group(
        &self,
        groups: &[Vec<usize>],
        mut best: Candidate,
        first: u32,
    ) -> (usize, Candidate) {
        let mut screened = 0;
        for sweep in 0..SWEEPS {
            for group in groups {
                let first = first + (sweep * DRAWS_OF_GROUP) as u32;
                let all = self.redrawn(group, &best.params, first);
                screened += all.len();
                let better = self.screen.sorted(&all).into_iter().next();
                if let Some(better) = better.filter(|better| better.cost < best.cost) {
                    best = better;
                }
            }
        }
        (screened, best)
    }

    /// Draws of a group of parameters, and scans of its frequencies; the other parameters are those of `about`.
    fn redrawn(&self, group: &[usize], about: &[f64], first: u32) -> Vec<Vec<f64>> {
        let mut all = Vec::new();
        for i in 0..DRAWS_OF_GROUP {
            let drawn = self.at(first + i as u32);
            let mut params = about.to_vec();
            group.iter().for_each(|&k| params[k] = drawn[k]);
            all.push(params);
        }
        for (k, range) in self.ranges.iter().enumerate() {
            let own = group.contains(&self.search.unknown[k]);
            if let (true, Some(frequencies)) = (own, range.frequencies) {
                all.extend(self.scan(k, frequencies, first, Some(about)));
            }
        }
        all
    }

    /// Optima by ascending cost, equal ones as one.
    fn merged(&self, optima: Vec<Optimum>, independent: &[bool]) -> Vec<Minimum> {
        let mut minima: Vec<Minimum> = Vec::new();
        for optimum in optima {
            let (params, _) = self.symmetries.canonical(optimum.params());
            let values: Vec<f64> = self.search.unknown.iter().map(|&k| params[k]).collect();
            let near = |(p, q): (&f64, &f64)| (p - q).abs() <= SAME * p.abs().max(q.abs());
            let is_equal = |other: &&mut Minimum| {
                optimum.cost() <= other.cost * (1.0 + SAME)
                    && values.iter().zip(&other.values).all(near)
            };
            let reached = optimum.trials().iter().filter(|&&k| independent[k]).count();
            match minima.iter_mut().find(is_equal) {
                Some(other) => other.reached += reached,
                None => minima.push(Minimum { values, cost: optimum.cost(), reached }),
            }
        }
        minima
    }

    /// The equal parameters that are returned: see [`Symmetries`].
    fn canonical(&self, best: Vec<f64>) -> Vec<f64> {
        let (params, differs) = self.symmetries.canonical(&best);
        let mut all = vec![params.clone()];
        all.extend(self.symmetries.other_sides(&params));
        if all.len() == 1 && !differs {
            return best;
        }
        let negative = |c: &Candidate| c.params.iter().filter(|p| **p < 0.0).count();
        let bounds = &self.search.curve.bounds;
        let allowed = |c: &Candidate| {
            c.params
                .iter()
                .zip(bounds)
                .all(|(p, (lower, upper))| p.is_nan() || (lower..=upper).contains(&p))
        };
        let solved = self.screen.each(&all).into_iter().flatten().filter(allowed);
        solved.min_by_key(negative).map_or(best, |candidate| candidate.params)
    }

    /// The first `most` candidates that differ from each other, of sorted ones.
    fn different(&self, sorted: Vec<Candidate>, most: usize) -> Vec<Candidate> {
        let alike = |a: &Candidate, b: &Candidate| {
            self.search.unknown.iter().all(|&k| {
                let (p, q) = (a.params[k], b.params[k]);
                (p - q).abs() <= ALIKE * p.abs().max(q.abs())
            })
        };
        let mut chosen: Vec<Candidate> = Vec::new();
        for candidate in sorted {
            if chosen.len() == most {
                break;
            }
            if !chosen.iter().any(|other| alike(other, &candidate)) {
                chosen.push(candidate);
            }
        }
        chosen
    }
}

/// Points at which positions are drawn, the more often the farther their response is from the median.
struct Peaks {
    seen: Observations,
    /// Running sums of the squared distances from the median, and the two points of the largest and least response.
    sums: Vec<f64>,
    extremes: [usize; 2],
}

impl Peaks {
    fn of(seen: Observations) -> Peaks {
        let mut sorted: Vec<usize> = (0..seen.y.len()).collect();
        sorted.sort_by(|&a, &b| seen.y[a].total_cmp(&seen.y[b]));
        let at = |k: usize| sorted.get(k).copied().unwrap_or(0);
        let extremes = [at(sorted.len().saturating_sub(1)), at(0)];
        let median = seen.y.get(at(sorted.len() / 2)).copied().unwrap_or(0.0);
        let scale = seen.y.iter().fold(f64::MIN_POSITIVE, |most, y| most.max((y - median).abs()));
        let mut sum = 0.0;
        let sums = seen.y.iter().map(|y| {
            sum += ((y - median) / scale).powi(2);
            sum
        });
        Peaks { sums: sums.collect(), extremes, seen }
    }

    /// The point at the part `u` of the distribution, for draw number `i`: the first ones are the extremes.
    fn at(&self, u: f64, i: usize) -> usize {
        if let Some(&extreme) = self.extremes.get(i) {
            return extreme;
        }
        let total = self.sums.last().copied().unwrap_or(0.0);
        self.sums.partition_point(|sum| *sum < u * total).min(self.sums.len().saturating_sub(1))
    }
}

/// Calls `work` with a sample of at most `most` of the points; with all of them if there are not more, or if they are
/// correlated.
fn on_sample<R>(
    points: &Points<'_>,
    most: usize,
    work: impl FnOnce(&Points<'_>) -> Result<R>,
) -> Result<R> {
    if points.used <= most || points.correlation.is_some() {
        return work(points);
    }
    let mut sample = Sample::new(points.columns.len(), points.sigmas().is_some(), most);
    sample.add(points, 0);
    let columns = sample.part(SampleHalf::All);
    let (x, rest) = columns.split_at(points.columns.len());
    let sigma = match (points.sigma, rest.get(1)) {
        (Weights::Each { absolute, .. }, Some(sigma)) => Weights::Each { sigma, absolute },
        (sigma, _) => sigma,
    };
    let data = Data {
        sigma,
        infinite_x: points.infinite_x,
        ..Data::new(x.iter().collect::<Vec<_>>(), &rest[0])?
    };
    let mut sampled = Points::validate(&data)?;
    if points.estimator == Estimator::Poisson {
        sampled.count_events()?;
    }
    work(&sampled)
}
