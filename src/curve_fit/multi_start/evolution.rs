//! Differential evolution: options and the entry point.

use super::MultiStart;
use super::sampling::{Sampling, points};
use crate::curve_fit::CurveFit;
use crate::data::Data;
use crate::data::start::Start;
use crate::error::{Error, Result};
use crate::fit::multi_start::Optima;
use crate::fit::multi_start::evolution::Evolution;
use crate::host::Instant;
use crate::observe::span;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::ops::RangeBounds;

/// Maximum number of members of all populations together.
const MOST: usize = 1 << 20;

/// Options of [`CurveFit::differential_evolution`].
#[derive(Clone, Debug, PartialEq)]
pub struct DifferentialEvolution {
    populations: usize,
    members: usize,
    generations: usize,
    tolerance: f64,
    /// Ranges and seed.
    starts: MultiStart,
}

impl Default for DifferentialEvolution {
    fn default() -> Self {
        DifferentialEvolution::new()
    }
}

impl DifferentialEvolution {
    /// Returns the default options: 4 populations with 15 members per free parameter, and at most 1000 generations.
    #[must_use]
    pub fn new() -> DifferentialEvolution {
        let starts = MultiStart::new(1).sampling(Sampling::LatinHypercube);
        DifferentialEvolution {
            populations: 4,
            members: 15,
            generations: 1000,
            tolerance: 0.01,
            starts,
        }
    }

    /// Sets the number of independent populations, 4 by default. The more populations reach the best optimum, the more
    /// likely it is the global one.
    #[must_use]
    pub fn populations(mut self, populations: usize) -> DifferentialEvolution {
        self.populations = populations;
        self
    }

    /// Sets the number of members of a population per free parameter, 15 by default; a population has at least 5
    /// members.
    #[must_use]
    pub fn members_per_parameter(mut self, members: usize) -> DifferentialEvolution {
        self.members = members;
        self
    }

    /// Sets the maximum number of generations, 1000 by default.
    #[must_use]
    pub fn generations(mut self, generations: usize) -> DifferentialEvolution {
        self.generations = generations;
        self
    }

    /// Sets the relative tolerance, 0.01 by default. A population has converged if the standard deviation of its costs
    /// is at most this fraction of their mean. The fit from its best member then refines the result.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> DifferentialEvolution {
        self.tolerance = tolerance;
        self
    }

    /// Sets the seed, 0 by default; see [`MultiStart::seed`].
    #[must_use]
    pub fn seed(mut self, seed: u64) -> DifferentialEvolution {
        self.starts = self.starts.seed(seed);
        self
    }

    /// Restricts the search for a parameter to a range inside its bounds; see [`MultiStart::range`].
    #[must_use]
    pub fn range(mut self, name: &str, range: impl RangeBounds<f64>) -> DifferentialEvolution {
        self.starts = self.starts.range(name, range);
        self
    }

    /// Restricts the search like [`range`](DifferentialEvolution::range), and searches in the logarithm of the
    /// parameter; see [`MultiStart::log_range`].
    #[must_use]
    pub fn log_range(mut self, name: &str, range: impl RangeBounds<f64>) -> DifferentialEvolution {
        self.starts = self.starts.log_range(name, range);
        self
    }
}

impl CurveFit {
    /// Searches the region within the bounds by differential evolution (Storn and Price, J. Global Optim. 11 (1997)
    /// 341; best/1/bin with dither, like SciPy's function of this name), and then fits from the best member of each
    /// population and from `start`. It is intended for a cost with too many minima for the independent starts of
    /// [`multi_start`](CurveFit::multi_start).
    ///
    /// Fixed parameters keep the values of `start`. Free parameters are searched within their bounds, or within a
    /// [`range`](DifferentialEvolution::range) inside the bounds. If this interval is not finite, a finite part of it
    /// is derived from the unit of the parameter as in [`multi_start`](CurveFit::multi_start). The populations are
    /// independent and start as Latin hypercubes. No search can prove that there is no lower minimum, but a lower
    /// minimum is unlikely if several populations reach the same one. [`Optima::distinct`] counts the fits that reached
    /// each optimum, including the fit from `start`. The best fit has
    /// [`Warning::ReachedOnce`](crate::Warning::ReachedOnce) if only one fit reached it.
    ///
    /// The costs of a generation are computed without partials: members are distributed over all cores or, for large
    /// data, evaluated one after another by threads that share the points. On the CPU, the result is bit-identical for
    /// any number of threads. The observer receives each [generation](crate::Event::Generation) and the steps of the
    /// fits. If it breaks, the result is the best member so far.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, DifferentialEvolution};
    /// let x: Vec<f64> = (0..80).map(|i| 0.1 * f64::from(i)).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 2.0 * (5.3 * x + 0.4).sin() + 0.1 * (31.0 * x).cos()).collect();
    /// let wave = CurveFit::new(|x, [a, frequency, phase]| a * (frequency * x + phase).sin())
    ///     .names(["amplitude", "frequency", "phase"])
    ///     .bounds([(0.0, 10.0), (0.0, 10.0), (-3.2, 3.2)]);
    /// let search = DifferentialEvolution::new().seed(7);
    /// let optima = wave.differential_evolution(Data::new(&x, &y)?, [1.0, 2.0, 0.0], &search)?;
    /// assert!((optima.best().param("frequency").unwrap() - 5.3).abs() < 0.01);
    /// assert_eq!(optima.distinct()[0].hits(), 4); // all populations
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`multi_start`](CurveFit::multi_start); [`Error::BadOption`] if there are no populations, if the
    /// tolerance is negative or NaN, or if there are more than 2²⁰ members.
    pub fn differential_evolution<'a>(
        &self,
        data: impl Into<Data<'a>>,
        start: impl Into<Start>,
        search: &DifferentialEvolution,
    ) -> Result<Optima> {
        let data = data.into();
        let _span = span!(INFO, "differential_evolution", points = data.y.len());
        let begun = Instant::now();
        let start = start.into();
        self.accepts(data.columns.len(), &start)?;
        let members = (search.members.saturating_mul(self.free_positions().len())).max(5);
        search.check(members)?;
        let mut plan = self.plan(&search.starts)?;
        let validated = self.validate(&data)?;
        let (request, stop) = self.request_of_many(&validated, &start, &mut plan, begun)?;
        let (first, ties) = (request.start.clone(), request.ties.clone());
        let at = |point: &[f64]| {
            let mut params = first.clone();
            plan.ranges.iter().zip(point).for_each(|((i, range), &u)| params[*i] = range.at(u));
            ties.complete(&mut params);
            params
        };
        let (sampling, dimensions) = (search.starts.sampling, plan.ranges.len());
        let mut random = Xoshiro256PlusPlus::seed_from_u64(search.starts.seed);
        let population = |_| {
            let drawn = points(sampling, members, dimensions, random.next_u64());
            let own = random.clone();
            random.jump();
            (drawn, own)
        };
        let evolution = Evolution {
            populations: (0..search.populations).map(population).collect(),
            generations: if dimensions == 0 { 0 } else { search.generations },
            tolerance: search.tolerance,
            at: &at,
        };
        evolution.optima(request, &stop)
    }
}

impl DifferentialEvolution {
    fn check(&self, members: usize) -> Result<()> {
        let wrong = |name, value, requirement| Err(Error::BadOption { name, value, requirement });
        let all = members.saturating_mul(self.populations);
        match () {
            () if self.populations == 0 => wrong("populations", 0.0, "at least 1"),
            () if all > MOST => wrong("members", all as f64, "at most 1048576 in all populations"),
            () if self.tolerance >= 0.0 => Ok(()),
            () => wrong("tolerance", self.tolerance, "0 or more"),
        }
    }
}
