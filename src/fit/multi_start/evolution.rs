//! Differential evolution: populations that contract around low costs, and fits from the best member of each.
//!
//! The strategy is best/1/bin of R. Storn and K. Price, J. Global Optim. 11 (1997) 341, with a weight that is drawn
//! for each generation (dither). A member of a population is a point of the unit cube. Each member competes with a
//! trial point: some of its coordinates are those of the best member plus the weighted difference of two other
//! members; the other coordinates are the member's own. The point with the lower cost becomes the new member. All
//! trials of a generation depend only on the previous generation, so that their costs can be computed in parallel on
//! any number of threads.

use super::Optima;
use super::run::{fills_all_threads, from_all};
use crate::error::{Error, Result};
use crate::fit::engine::Request;
use crate::fit::point_source::View;
use crate::host::Instant;
use crate::math::order::sort_few;
use crate::normal::Normal;
use crate::observe::span;
use crate::solver::evaluator::Evaluator;
use crate::solver::observe::{Event, GenerationProgress, wants_to_stop};
use crate::threads;
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Range from which the weight of the difference is drawn for each generation; the default of SciPy.
/// `CROSSOVER` is the probability that a coordinate is changed, also the default of SciPy.
const WEIGHTS: (f64, f64) = (0.5, 1.0);
const CROSSOVER: f64 = 0.7;
/// Number of members whose costs a thread computes at a time.
const PORTION: usize = 4;

/// Request for an evolution.
pub(crate) struct Evolution<'a> {
    /// The initial populations in the unit cube, each with its own random number generator.
    pub(crate) populations: Vec<(Vec<Vec<f64>>, Xoshiro256PlusPlus)>,
    /// Maximum number of generations.
    pub(crate) generations: usize,
    /// Maximum standard deviation of the costs of a converged population, divided by their mean.
    pub(crate) tolerance: f64,
    /// Converts a point of the unit cube to all parameters.
    pub(crate) at: &'a (dyn Fn(&[f64]) -> Vec<f64> + Sync),
}

struct Population {
    members: Vec<Vec<f64>>,
    costs: Vec<f64>,
    random: Xoshiro256PlusPlus,
    evaluations: usize,
    together: bool,
}

impl Evolution<'_> {
    /// Evolves the populations. Then fits `request` from the best member of each population, by ascending cost, and
    /// last from its own start.
    ///
    /// # Errors
    /// The errors of [`from_all`], and [`Error::ObserverPanicked`].
    pub(crate) fn optima(self, request: Request<'_>, stop: &AtomicBool) -> Result<Optima> {
        let begun = Instant::now();
        let own = request.start.clone();
        let mut populations = self.begun(&request)?;
        for generation in 1..=self.generations {
            let cancelled = request.spec.is_cancelled();
            if cancelled || stop.load(Relaxed) || populations.iter().all(|p| p.together) {
                break;
            }
            let _span = span!(DEBUG, "generation", number = generation);
            self.next(&request, &mut populations)?;
            if let Some(observer) = request.spec.observer() {
                let costs = populations.iter().flat_map(|p| &p.costs);
                let row = request.points.units.row;
                let now = GenerationProgress {
                    generation,
                    generations: self.generations,
                    evaluations: populations.iter().map(|p| p.evaluations).sum(),
                    cost: costs.fold(f64::INFINITY, |least, &cost| least.min(cost)) / row / row,
                    elapsed: begun.elapsed(),
                };
                let stops = wants_to_stop(observer, Event::Generation(now));
                let stops = stops.map_err(|message| Error::ObserverPanicked { message })?;
                stop.fetch_or(stops, Relaxed);
            }
        }
        sort_few(&mut populations, |a, b| a.costs[a.best()].total_cmp(&b.costs[b.best()]));
        let best = |population: &Population| (self.at)(&population.members[population.best()]);
        let starts: Vec<Vec<f64>> = populations.iter().map(best).chain([own]).collect();
        let request = Request { start: starts[0].clone(), linear: Vec::new(), ..request };
        let mut optima = from_all(request, starts, stop)?;
        for (trial, population) in optima.trials.iter_mut().zip(&populations) {
            trial.searched = population.evaluations;
        }
        Ok(optima)
    }

    fn begun(&self, request: &Request<'_>) -> Result<Vec<Population>> {
        let all: Vec<Vec<f64>> =
            self.populations.iter().flat_map(|(members, _)| members.clone()).collect();
        let mut costs = self.costs(request, &all)?.into_iter();
        let population = |(members, random): &(Vec<Vec<f64>>, Xoshiro256PlusPlus)| Population {
            members: members.clone(),
            costs: costs.by_ref().take(members.len()).collect(),
            random: random.clone(),
            evaluations: members.len(),
            together: false,
        };
        Ok(self.populations.iter().map(population).collect())
    }

    /// Computes one generation of all populations that have not converged.
    fn next(&self, request: &Request<'_>, populations: &mut [Population]) -> Result<()> {
        let mut active: Vec<&mut Population> =
            populations.iter_mut().filter(|population| !population.together).collect();
        let trials: Vec<Vec<f64>> = active.iter_mut().flat_map(|p| p.trials()).collect();
        let costs = self.costs(request, &trials)?;
        let mut trials = trials.into_iter().zip(costs);
        for population in active {
            let members = population.members.iter_mut().zip(&mut population.costs);
            for ((member, cost), (trial, lower)) in members.zip(&mut trials) {
                if lower <= *cost {
                    (*member, *cost) = (trial, lower);
                }
            }
            population.evaluations += population.members.len();
            population.together = population.spread() <= self.tolerance;
        }
        Ok(())
    }

    /// Computes the cost at each point, multiplied by `units.row`² (`units.row`: power of two that multiplies weighted
    /// residuals); infinite if the cost is not defined, or not computed because the caller cancelled the search.
    fn costs(&self, request: &Request<'_>, points: &[Vec<f64>]) -> Result<Vec<f64>> {
        let n = request.spec.prepared.free.len();
        let (columns, view) = (vec![1.0; n], View::of(request.spec.loss, &request.start));
        let cost = |evaluator: &mut dyn Evaluator, normal: &mut Normal, point: &Vec<f64>| {
            if request.spec.is_cancelled() {
                return f64::INFINITY;
            }
            // The evaluator computes JᵀJ only for costs below this limit. No cost is below 0.
            evaluator.expect_below(0.0);
            let found = evaluator.normal(&(self.at)(point), &columns, normal);
            let cost = if found.is_ok() { normal.cost } else { f64::INFINITY };
            if cost.is_nan() { f64::INFINITY } else { cost }
        };
        let several = |request: &Request<'_>, points: &[Vec<f64>]| -> Result<Vec<f64>> {
            let (mut evaluator, mut normal) = (request.evaluator(&view)?, Normal::zero(n));
            Ok(points.iter().map(|point| cost(&mut *evaluator, &mut normal, point)).collect())
        };
        if request.source.is_on_device() || fills_all_threads(request)? {
            return several(request, points);
        }
        let mut request = request.clone();
        request.spec.on_one_thread = true;
        let request = &request;
        let parts = threads::map(points.chunks(PORTION), |part| several(request, part));
        let mut costs = Vec::with_capacity(points.len());
        for part in parts {
            costs.extend(part?);
        }
        Ok(costs)
    }
}

impl Population {
    /// Returns the position of the lowest cost.
    fn best(&self) -> usize {
        let lowest = (0..self.costs.len()).min_by(|&a, &b| self.costs[a].total_cmp(&self.costs[b]));
        lowest.unwrap_or(0)
    }

    /// Creates a trial for each member.
    fn trials(&mut self) -> Vec<Vec<f64>> {
        let best = self.best();
        let weight = WEIGHTS.0 + (WEIGHTS.1 - WEIGHTS.0) * self.random.random::<f64>();
        (0..self.members.len()).map(|k| self.trial(k, best, weight)).collect()
    }

    fn trial(&mut self, k: usize, best: usize, weight: f64) -> Vec<f64> {
        let (members, random) = (&self.members, &mut self.random);
        let mut trial = members[k].clone();
        let a = other(random, members.len(), &[k]);
        let b = other(random, members.len(), &[k, a]);
        let always = random.random_range(0..trial.len());
        for (d, value) in trial.iter_mut().enumerate() {
            if random.random::<f64>() < CROSSOVER || d == always {
                let moved = members[best][d] + weight * (members[a][d] - members[b][d]);
                let inside = (0.0..=1.0).contains(&moved);
                *value = if inside { moved } else { random.random::<f64>() };
            }
        }
        trial
    }

    /// Returns the standard deviation of the costs divided by their mean; NaN while a cost is infinite.
    fn spread(&self) -> f64 {
        let n = self.costs.len() as f64;
        let mean = self.costs.iter().sum::<f64>() / n;
        let variance = self.costs.iter().map(|cost| (cost - mean).powi(2)).sum::<f64>() / n;
        // If curves pass through all points, all costs become 0.
        if mean == 0.0 { 0.0 } else { variance.sqrt() / mean }
    }
}

/// Draws a number below `n` that does not occur in `than`.
fn other(random: &mut impl Rng, n: usize, than: &[usize]) -> usize {
    loop {
        let found = random.random_range(0..n);
        if !than.contains(&found) {
            return found;
        }
    }
}
