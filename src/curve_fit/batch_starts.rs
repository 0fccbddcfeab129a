//! The starts of the fits of a batch.
//!
//! In a batch of many fits the starts of a few are found as in single fits, and are templates for all others
//! ([`Templates`]). The model's own guess in the points of each fit is used where it leads to lower minima than the templates.

use super::CurveFit;
use super::search::batch::{SEARCHED, Templates};
use super::search::options::SearchWhen;
use super::start::{CompleteStart, Finder};
use crate::backend::Backend;
use crate::data::batch::Starts;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::Result;
use crate::fit::batch::engine::BatchRequest;
use crate::fit::batch::status::FitStatus;
use crate::fit::engine::Spent;
use crate::threads;
use std::time::Instant;

/// Fits whose starts a thread finds at a time.
const PORTION: usize = 64;
/// Relative difference of the costs of one minimum.
const SAME: f64 = 1e-6;
/// Evaluations from templates over those from the model's own guess at most: a guess costs about half a fit or more.
const MORE: f64 = 1.5;

impl CurveFit {
    /// The starts of all fits, each found in its own points. A fit of which none can be found has a status.
    ///
    /// # Errors
    /// What is wrong with the start or the guess of every fit.
    pub(super) fn found_starts<'s>(
        &self,
        request: &BatchRequest<'s>,
        start: &Start,
        statuses: &mut [FitStatus],
    ) -> Result<Starts<'s>> {
        let mut finder = Finder::new(self, start)?;
        finder.on_one_thread = request.is_wide();
        let unknown = || CompleteStart::given(vec![f64::NAN; self.names.len()]);
        let find = |(fit, status): (usize, &mut FitStatus)| -> Result<CompleteStart> {
            let (mut columns, mut y) = (Vec::new(), Vec::new());
            let points = match request.points(fit, &mut columns, &mut y) {
                Ok(points) => points,
                Err(found) => {
                    *status = found;
                    return Ok(unknown());
                }
            };
            let begin = finder.begin(&points)?;
            let Some(&parameter) = begin.unknown.first() else {
                // What is wrong with the model at the start the fit itself says.
                let values = begin.values.clone();
                let solved = finder.solved(begin, &points);
                return Ok(solved.unwrap_or_else(|_| CompleteStart::given(values)));
            };
            // A guess may know nothing of these points.
            let searched = match self.guess {
                Some(_) => None,
                None => match finder.searched(begin, &points) {
                    Err(error) if self.search.when == SearchWhen::Never => return Err(error),
                    found => found.ok(),
                },
            };
            Ok(searched.unwrap_or_else(|| {
                *status = FitStatus::BadStart { parameter };
                unknown()
            }))
        };
        let portion = |(first, statuses): (usize, &mut [FitStatus])| -> Result<Vec<_>> {
            (first * PORTION..).zip(statuses).map(find).collect()
        };
        let mut found = Vec::with_capacity(statuses.len());
        for portion in threads::map(statuses.chunks_mut(PORTION).enumerate(), portion) {
            found.append(&mut portion?);
        }
        let (mut sets, mut which) = (Vec::<Vec<usize>>::new(), Vec::with_capacity(found.len()));
        let mut values = Vec::with_capacity(found.len() * self.names.len());
        for (fit, CompleteStart { values: mut own, solved, .. }) in found.into_iter().enumerate() {
            clamp(&mut own, request.starts.bounds_of(fit, self.names.len()));
            values.extend(own);
            which.push(sets.iter().position(|set| *set == solved).unwrap_or_else(|| {
                sets.push(solved);
                sets.len() - 1
            }));
        }
        Ok(request.starts.found(values, (sets, which)))
    }

    /// The starts of all fits of a batch, adapted from the results of a few; `None` for few fits, if only linear parameters
    /// are missing, or if the model's own guess does better.
    ///
    /// # Errors
    /// A start or a model that is wrong for all fits.
    pub(super) fn searched_starts<'s>(
        &self,
        request: &BatchRequest<'s>,
    ) -> Result<Option<Starts<'s>>> {
        let fits = request.data.n_fits();
        let given = request.starts.sought().filter(|_| fits > SEARCHED);
        let Some(start) = given.filter(|_| self.search.when != SearchWhen::Never) else {
            return Ok(None);
        };
        let finder = Finder::new(self, start)?;
        let mut rooms: Vec<(Vec<_>, Vec<f64>)> = vec![Default::default(); SEARCHED];
        let some = rooms.iter_mut().enumerate().filter_map(|(k, (columns, y))| {
            request.points(k * (fits - 1) / (SEARCHED - 1), columns, y).ok()
        });
        let (mut ends, mut searched) = (Vec::new(), None);
        for points in some {
            let begin = finder.begin(&points)?;
            let sought = finder.sought(&begin);
            if sought.is_empty() {
                return Ok(None);
            }
            if searched.is_none() {
                searched = Some((begin.linear()?, sought));
            }
            let Ok(start) = finder.found(&points) else { continue };
            let is_searched = start.search.is_some();
            if let Some(end) = self.end(&points, start.values)? {
                ends.push(End { points, is_searched, ..end });
            }
        }
        let Some((linear, sought)) = searched.filter(|_| !ends.is_empty()) else {
            return Ok(None);
        };
        let templates = |ends: &[End<'_>]| {
            let found: Vec<(&Points<'_>, &[f64])> =
                ends.iter().map(|end| (&end.points, &end.params[..])).collect();
            Templates::of(self, (linear.clone(), &sought), &found, fits)
        };
        let (learnt, tested) = ends.split_at(ends.len() / 2);
        if self.guess.is_some()
            && (learnt.is_empty() || !self.do_as_well(&templates(learnt)?, tested)?)
        {
            return Ok(None);
        }
        let templates = templates(&ends)?;
        let start_of = |fit: usize| -> Result<Vec<f64>> {
            let (mut columns, mut y) = (Vec::new(), Vec::new());
            // Wrong data become the status of the fit when it is made.
            let own = match request.points(fit, &mut columns, &mut y) {
                Ok(points) => templates.start(&points),
                Err(_) => None,
            };
            let mut own = own.unwrap_or_else(|| ends[0].params.clone());
            clamp(&mut own, request.starts.bounds_of(fit, self.names.len()));
            self.completed(own)
        };
        let portion = |first: usize| -> Result<Vec<Vec<f64>>> {
            (first..fits.min(first + PORTION)).map(start_of).collect()
        };
        let mut values = Vec::with_capacity(fits * self.names.len());
        for portion in threads::map((0..fits).step_by(PORTION), portion) {
            values.extend(portion?.concat());
        }
        Ok(Some(request.starts.found(values, Default::default())))
    }

    /// Returns true if fits from templates reach the costs of fits from their own starts, at about their evaluations.
    fn do_as_well(&self, templates: &Templates<'_>, tested: &[End<'_>]) -> Result<bool> {
        let (mut own, mut adapted) = (0, 0);
        for end in tested {
            let Some(start) = templates.start(&end.points) else { return Ok(false) };
            let other = self.end(&end.points, start)?;
            let Some(other) = other.filter(|other| other.cost <= end.cost * (1.0 + SAME)) else {
                return Ok(false);
            };
            if !end.is_searched {
                own += end.evaluations;
                adapted += other.evaluations;
            }
        }
        Ok(adapted as f64 <= MORE * own as f64)
    }

    /// The end of the fit of these points from a start; `None` if there is none.
    ///
    /// # Errors
    /// Those that end a fit whatever its start.
    fn end<'p>(&self, points: &Points<'p>, start: Vec<f64>) -> Result<Option<End<'p>>> {
        let start = CompleteStart::given(self.completed(start)?);
        let alone = CurveFit { backend: Backend::Cpu, observer: None, ..self.clone() };
        let searched = alone.request(points, start, None, Spent::default(), |request| {
            request.search(Instant::now())
        });
        match searched {
            Ok(end) => Ok(Some(End {
                points: points.clone(),
                params: end.params,
                cost: end.cost,
                evaluations: end.work.evaluations,
                is_searched: false,
            })),
            Err(error) if error.is_at_start() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The end of the fit of some points.
struct End<'p> {
    points: Points<'p>,
    params: Vec<f64>,
    cost: f64,
    evaluations: usize,
    /// Whether its start was searched for.
    is_searched: bool,
}

/// Moves the start of a fit into the fit's own bounds, if it has any in order.
fn clamp(own: &mut [f64], bounds: Option<(&[f64], &[f64])>) {
    let Some((lower, upper)) = bounds else { return };
    let ends = lower.iter().zip(upper).map(|(&lower, &upper)| (lower, upper));
    let ordered = own.iter_mut().zip(ends).filter(|(_, (lower, upper))| lower <= upper);
    ordered.for_each(|(value, (lower, upper))| *value = value.clamp(lower, upper));
}
