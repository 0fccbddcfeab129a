//! Candidates of a search for a start. They are drawn from the ranges of the parameters, taken from scans of
//! frequencies, or derived from a good candidate by redrawing some of its parameters.

use super::ranges::{Frequencies, Range};
use super::screen::{Candidate, Screen, sorted};
use super::symmetry::{self, Symmetries};
use crate::curve_fit::multi_start::sampling::sobol_point;
use crate::data::points::Observations;
use crate::fit::multi_start::Optimum;
use crate::math::bits::ascending;
use crate::model::program::Program;
use std::borrow::Cow;

/// Number of draws of a round.
const DRAWS: usize = 96;
/// Number of candidates with the lowest cost that are fitted in a round.
const FITTED: usize = 6;
/// Number of draws of a round that are fitted regardless of their cost.
const FITTED_AT_RANDOM: usize = 4;
/// Number of candidates from scans of frequencies that are fitted in a round.
const FITTED_BESIDE: usize = 4;
/// Maximum number of frequencies scanned for a parameter that is a frequency.
const SCANNED: usize = 4096;
/// Number of draws of a group of parameters while the other parameters keep their values.
const DRAWS_OF_GROUP: usize = 96;
/// Number of candidates to be fitted per group that is redrawn about a fit.
const FITTED_OF_GROUP: usize = 2;
/// Number of candidates to be fitted in which two terms of a fit are exchanged.
const FITTED_OF_EXCHANGES: usize = 2;
/// Number of candidates to be fitted in which the sign of one parameter of a fit is changed.
const FITTED_OF_SIGNS: usize = 1;
/// Number of candidates of a round whose groups are redrawn.
const REDRAWN: usize = 2;
/// Number of sweeps over all groups of a candidate.
const SWEEPS: usize = 2;
/// Two candidates count as equal if each drawn parameter differs by at most this relative difference.
const ALIKE: f64 = 0.1;
/// Relative difference of nonlinear parameters and costs up to which two results count as the same minimum.
const SAME: f64 = 1e-4;

/// A minimum, and the number of fits that reached it or a minimum equivalent by symmetry.
pub(super) struct Minimum {
    pub(super) params: Vec<f64>,
    /// Nonlinear parameters of the canonical representative of the equivalent minima.
    values: Vec<f64>,
    pub(super) cost: f64,
    /// Number of fits from independent starts.
    pub(super) reached: usize,
    /// Number of all fits.
    pub(super) fits: usize,
}

/// Candidates of a round.
#[derive(Default)]
pub(super) struct Round {
    /// Number of candidates whose cost was computed.
    pub(super) screened: usize,
    /// Number of evaluations of fits that produced candidates.
    pub(super) evaluations: usize,
    /// Candidates to be fitted.
    pub(super) candidates: Vec<Candidate>,
}

/// Generator of the candidates of all rounds.
pub(super) struct Draws<'a> {
    /// One value per parameter: known values, and arbitrary values for the others.
    pub(super) base: &'a [f64],
    /// Positions of the parameters to be drawn.
    pub(super) unknown: &'a [usize],
    pub(super) seed: u32,
    pub(super) screen: Screen<'a>,
    /// Ranges of the parameters to be drawn.
    pub(super) ranges: Vec<Range>,
    /// For each drawn parameter that is a position: the quantity with which the model compares it, one value per point.
    pub(super) along: Vec<Option<Vec<f64>>>,
    /// The points on which candidates are screened.
    pub(super) seen: Observations,
    pub(super) peaks: Peaks,
    /// The model without its partials, if it is traced.
    pub(super) program: Option<Program>,
    /// Parameters to be drawn, by additive term.
    pub(super) terms: Vec<Vec<usize>>,
    pub(super) symmetries: Symmetries,
}

impl Draws<'_> {
    /// Draws the candidates of a round that are independent of earlier fits.
    pub(super) fn round(&self, round: usize) -> Round {
        let first = first_of(round);
        let drawn: Vec<Vec<f64>> = (first..first + DRAWS as u32).map(|i| self.at(i)).collect();
        let drawn = self.screen.each(&drawn);
        // All of the best draws can be near one minimum; therefore some other draws are also fitted.
        let any: Vec<Candidate> = drawn[..FITTED_AT_RANDOM].iter().flatten().cloned().collect();
        let drawn = sorted(drawn);
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
        let mut chosen = sorted(chosen.into_iter().map(Some).collect());
        let groups = self.groups(round);
        let mut redrawn = Vec::new();
        for candidate in chosen.iter().take(if groups.is_empty() { 0 } else { REDRAWN }) {
            let (count, better) = self.group_by_group(&groups, candidate.clone(), first);
            screened += count;
            redrawn.push(better);
        }
        chosen.extend(redrawn);
        chosen.extend(any);
        Round { screened, candidates: chosen, ..Round::default() }
    }

    /// Returns the candidates of a round derived from the parameters of a fit: one group redrawn, two terms exchanged,
    /// or the sign of one parameter changed.
    pub(super) fn about(&self, params: &[f64], round: usize) -> Round {
        let first = first_of(round);
        let mut found = Round::default();
        let mut add = |all: Vec<Vec<f64>>, most: usize| {
            found.screened += all.len();
            found.candidates.extend(self.different(self.screen.sorted(&all), most));
        };
        let peaks = self.left_by(params);
        for group in &self.groups(round) {
            add(self.redrawn(group, params, &peaks, first), FITTED_OF_GROUP);
        }
        add(self.exchanged(params), FITTED_OF_EXCHANGES);
        add(self.with_other_signs(params), FITTED_OF_SIGNS);
        found
    }

    /// Returns up to two candidates for each pair of terms: one with all pairs of parameters of the same kind
    /// exchanged, and one with only the positions exchanged.
    fn exchanged(&self, about: &[f64]) -> Vec<Vec<f64>> {
        let mut all = Vec::new();
        for (j, a) in self.terms.iter().enumerate() {
            for b in &self.terms[j + 1..] {
                let mut params = about.to_vec();
                self.alike(a, b).into_iter().for_each(|(k, l)| params.swap(k, l));
                let positions = self.with_exchanged_positions(a, b, about);
                all.extend([Some(params), positions].into_iter().flatten().filter(|p| p != about));
            }
        }
        all
    }

    /// Returns candidates in which the sign of one parameter is changed, because there is often one minimum for each
    /// sign of an asymmetry or a slope. Positions, phases and frequencies are not changed.
    fn with_other_signs(&self, about: &[f64]) -> Vec<Vec<f64>> {
        let changed = |(&k, range): (&usize, &Range)| {
            let is_sign =
                range.position.is_none() && range.frequencies.is_none() && !range.is_phase;
            let mut params = about.to_vec();
            params[k] = range.inside(-about[k]);
            (is_sign && params[k] != about[k] && !self.symmetries.is_sign(k)).then_some(params)
        };
        self.unknown.iter().zip(&self.ranges).filter_map(changed).collect()
    }

    /// Exchanges the first positions of two terms. If the model compares them with different quantities, for example
    /// with two columns, each term moves to the data point that is nearest to the position of the other term.
    fn with_exchanged_positions(
        &self,
        a: &[usize],
        b: &[usize],
        about: &[f64],
    ) -> Option<Vec<f64>> {
        let position = |term: &[usize]| {
            let mut own = self.unknown.iter().zip(&self.along);
            own.find_map(|(k, along)| Some((*k, along.as_ref().filter(|_| term.contains(k))?)))
        };
        let ((k, own), (l, other)) = (position(a)?, position(b)?);
        let mut params = about.to_vec();
        if own == other {
            params.swap(k, l);
            return Some(params);
        }
        let nearest = |along: &[f64], value: f64| {
            let distance = |i: &usize| (along[*i] - value).abs();
            (0..along.len()).min_by(|i, j| distance(i).total_cmp(&distance(j)))
        };
        params[k] = own[nearest(other, about[l])?];
        params[l] = other[nearest(own, about[k])?];
        Some(params)
    }

    /// Returns pairs of parameters of the same kind, one from each of two terms.
    fn alike(&self, a: &[usize], b: &[usize]) -> Vec<(usize, usize)> {
        let mut left = b.to_vec();
        let mut pairs = Vec::new();
        for &k in a {
            let is_alike = |&l: &usize| {
                self.range(k).zip(self.range(l)).is_some_and(|(own, other)| own.is_alike(other))
            };
            if let Some(place) = left.iter().position(is_alike) {
                pairs.push((k, left.remove(place)));
            }
        }
        pairs
    }

    /// Returns the range of parameter `k`, if it is to be drawn.
    fn range(&self, k: usize) -> Option<&Range> {
        let mut own = self.unknown.iter().zip(&self.ranges);
        own.find(|(other, _)| **other == k).map(|(_, range)| range)
    }

    /// Returns the groups of parameters that a round redraws one after the other. For a sum, the groups are its terms
    /// in even rounds and single parameters in odd rounds. For other models, they are single parameters, except in
    /// round 0, which has no groups.
    fn groups(&self, round: usize) -> Vec<Vec<usize>> {
        let several = self.terms.len() > 1;
        match round {
            0 if !several => Vec::new(),
            _ if several && round.is_multiple_of(2) => self.terms.clone(),
            _ => self.unknown.iter().map(|&k| vec![k]).collect(),
        }
    }

    /// Returns draw number `i`, one value per parameter.
    pub(super) fn at(&self, i: u32) -> Vec<f64> {
        self.drawn(i, &self.peaks)
    }

    /// Returns draw number `i`. Every second draw places positions at `peaks`.
    fn drawn(&self, i: u32, peaks: &Peaks) -> Vec<f64> {
        let mut params = self.base.to_vec();
        let u = sobol_point(i, self.ranges.len(), self.seed);
        for ((&k, range), &u) in self.unknown.iter().zip(&self.ranges).zip(&u) {
            params[k] = range.at(u);
        }
        // Every second draw puts each term at a point whose response is far from the median.
        if i % 2 == 1 {
            for (t, term) in self.terms.iter().enumerate() {
                let point = peaks.at(u[t % u.len()], i as usize / 2);
                for (j, &k) in self.unknown.iter().enumerate() {
                    if let (true, Some(along)) = (term.contains(&k), &self.along[j]) {
                        params[k] = self.ranges[j].inside(along[point]);
                    }
                }
            }
        }
        params
    }

    /// Scans all frequencies of parameter `unknown[k]`. The other parameters are drawn anew for each frequency. If
    /// `about` = (values, positions) is given, only the parameters at these positions are drawn, and the others are
    /// taken from these values.
    fn scan(
        &self,
        k: usize,
        Frequencies { highest, step }: Frequencies,
        first: u32,
        about: Option<(&[f64], &[usize])>,
    ) -> Vec<Vec<f64>> {
        let count = ((highest.abs() / step.abs()).ceil() as usize).clamp(1, SCANNED);
        let place = self.unknown[k];
        let at = |i: usize| {
            let drawn = self.at(first + i as u32);
            let mut params = match about {
                Some((about, moved)) => mixed(about, moved, &drawn),
                None => drawn,
            };
            params[place] = self.ranges[k].inside(highest * (i as f64 + 0.5) / count as f64);
            params
        };
        (0..count).map(at).collect()
    }

    /// Redraws each group of parameters while the other parameters keep the values of the best candidate. Returns the
    /// number of screened draws and the best candidate.
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
                let all = self.redrawn(group, &best.params, &self.left_by(&best.params), first);
                screened += all.len();
                let better = self.screen.sorted(&all).into_iter().next();
                if let Some(better) = better.filter(|better| better.cost < best.cost) {
                    best = better;
                }
            }
        }
        (screened, best)
    }

    /// Returns candidates in which a group of parameters is redrawn, with positions at `peaks`, and candidates in which
    /// a frequency of the group is scanned and phases are drawn. All other parameters have the values of `about`.
    pub(super) fn redrawn(
        &self,
        group: &[usize],
        about: &[f64],
        peaks: &Peaks,
        first: u32,
    ) -> Vec<Vec<f64>> {
        let draw = |i: usize| mixed(about, group, &self.drawn(first + i as u32, peaks));
        let mut all: Vec<Vec<f64>> = (0..DRAWS_OF_GROUP).map(draw).collect();
        let phases = self.unknown.iter().zip(&self.ranges).filter(|(_, range)| range.is_phase);
        let moved: Vec<usize> = group.iter().chain(phases.map(|(k, _)| k)).copied().collect();
        for (k, range) in self.ranges.iter().enumerate() {
            let own = group.contains(&self.unknown[k]);
            if let (true, Some(frequencies)) = (own, range.frequencies) {
                all.extend(self.scan(k, frequencies, first, Some((about, &moved))));
            }
        }
        all
    }

    /// Returns the peaks of the residuals at these parameters. If the model is native or not finite, returns the peaks
    /// of y.
    pub(super) fn left_by(&self, params: &[f64]) -> Cow<'_, Peaks> {
        let Observations { columns, y, .. } = &self.seen;
        let Some(program) = &self.program else { return Cow::Borrowed(&self.peaks) };
        let values = program.values(columns, y.len(), params);
        let left: Vec<f64> = y.iter().zip(values).map(|(y, value)| y - value).collect();
        match left.iter().all(|value| value.is_finite()) {
            true => Cow::Owned(Peaks::of(&left)),
            false => Cow::Borrowed(&self.peaks),
        }
    }

    /// Returns the optima by ascending cost, with equivalent optima merged.
    pub(super) fn merged(&self, optima: Vec<Optimum>, independent: &[bool]) -> Vec<Minimum> {
        let mut minima: Vec<Minimum> = Vec::new();
        for optimum in optima {
            let (params, _) = self.symmetries.canonical(optimum.params());
            let values: Vec<f64> = self.unknown.iter().map(|&k| params[k]).collect();
            let near = |(p, q): (&f64, &f64)| (p - q).abs() <= SAME * p.abs().max(q.abs());
            let is_equal = |other: &&mut Minimum| {
                optimum.cost() <= other.cost * (1.0 + SAME)
                    && values.iter().zip(&other.values).all(near)
            };
            let reached = optimum.trials().iter().filter(|&&k| independent[k]).count();
            let fits = optimum.hits();
            match minima.iter_mut().find(is_equal) {
                Some(other) => {
                    other.reached += reached;
                    other.fits += fits;
                }
                None => {
                    let (params, cost) = (optimum.params().to_vec(), optimum.cost());
                    minima.push(Minimum { params, values, cost, reached, fits });
                }
            }
        }
        minima
    }

    /// Returns the equivalent of `best` with the fewest negative parameters, apart from phases (see [`Symmetries`]), or
    /// `best` itself if no equivalent within the bounds has the same cost.
    pub(super) fn canonical(&self, best: Vec<f64>) -> Vec<f64> {
        let (params, differs) = self.symmetries.canonical(&best);
        let others = self.symmetries.other_sides(&params);
        if others.is_empty() && !differs {
            return best;
        }
        let mut all = vec![best.clone(), params];
        all.extend(others);
        let mut solved = self.screen.each(&all).into_iter();
        let Some(most) = solved.next().flatten().map(|own| own.cost * (1.0 + SAME)) else {
            return best;
        };
        let most = most + symmetry::ROUNDING * self.screen.points.summary.square;
        let bounds = self.screen.bounds;
        let allowed = |c: &Candidate| {
            c.params
                .iter()
                .zip(bounds)
                .all(|(p, (lower, upper))| p.is_nan() || (lower..=upper).contains(&p))
        };
        let equal = solved.flatten().filter(|c| c.cost <= most && allowed(c));
        equal.min_by_key(|c| self.negative(&c.params)).map_or(best, |candidate| candidate.params)
    }

    /// Returns the number of negative parameters, apart from phases.
    pub(super) fn negative(&self, params: &[f64]) -> usize {
        let is_negative = |&k: &usize| params[k] < 0.0 && !self.symmetries.is_phase(k);
        (0..params.len()).filter(is_negative).count()
    }

    /// Returns the first `most` distinct candidates of a sorted list.
    pub(super) fn different(&self, sorted: Vec<Candidate>, most: usize) -> Vec<Candidate> {
        let alike = |a: &Candidate, b: &Candidate| {
            self.unknown.iter().all(|&k| {
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

/// Returns the number of the first draw of a round.
pub(super) fn first_of(round: usize) -> u32 {
    (round * DRAWS) as u32
}

/// Returns the parameters `about`, with the values at the positions `moved` taken from `drawn`.
fn mixed(about: &[f64], moved: &[usize], drawn: &[f64]) -> Vec<f64> {
    let mut params = about.to_vec();
    moved.iter().for_each(|&k| params[k] = drawn[k]);
    params
}

/// Distribution over points. The probability of a point is proportional to its squared distance from the median.
#[derive(Clone)]
pub(super) struct Peaks {
    /// Cumulative sums of the squared distances from the median, one per point. `extremes`: the points with the largest
    /// and the smallest value.
    sums: Vec<f64>,
    extremes: [usize; 2],
}

impl Peaks {
    /// Builds the distribution from responses or residuals, one value per point.
    pub(super) fn of(values: &[f64]) -> Peaks {
        let sorted = ascending(values);
        let at = |k: usize| sorted.get(k).copied().unwrap_or(0);
        let extremes = [at(sorted.len().saturating_sub(1)), at(0)];
        let median = values.get(at(sorted.len() / 2)).copied().unwrap_or(0.0);
        let scale = values.iter().fold(f64::MIN_POSITIVE, |most, y| most.max((y - median).abs()));
        let mut sum = 0.0;
        let sums = values.iter().map(|y| {
            sum += ((y - median) / scale).powi(2);
            sum
        });
        Peaks { sums: sums.collect(), extremes }
    }

    /// Returns the point at the quantile `u` of the distribution, for draw number `i`. Draws 0 and 1 are the extremes.
    pub(super) fn at(&self, u: f64, i: usize) -> usize {
        if let Some(&extreme) = self.extremes.get(i) {
            return extreme;
        }
        let total = self.sums.last().copied().unwrap_or(0.0);
        self.sums.partition_point(|sum| *sum < u * total).min(self.sums.len().saturating_sub(1))
    }
}
