//! The first pass over points: what it has seen so far, here or elsewhere.

use super::evaluated::Evaluated;
use crate::backend::cpu::Scratch;
use crate::data::loss::Estimator;
use crate::data::points::Given;
use crate::data::sample::Sample;
use crate::data::validate_stream::{PIECE, Survey, pieces_of};
use crate::normal::{GROUP, Normal, Tree};
use crate::solver::outcome::Fault;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Points of a group: parts begin at multiples of them.
pub(crate) const GROUP_POINTS: u64 = GROUP * PIECE as u64;

/// The first pass on the way: what it has seen, and the first point that it has not.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct FirstPass {
    pub(crate) survey: Survey,
    pub(crate) sample: Sample,
    /// The normal equations at the start, if points are of ordinary size; `None` if the start is not known yet.
    pub(crate) sums: Option<Tree<Normal>>,
    pub(crate) next: u64,
}

impl FirstPass {
    /// Of no points, the first of which will be number `first` and begin a group. `at_start`: whether the start is known.
    pub(crate) fn new(sample: Sample, at_start: bool, first: u64) -> FirstPass {
        let piece = pieces_of(first);
        let sums = at_start.then(|| Tree::new(piece));
        FirstPass { survey: Survey::new(piece), sample, sums, next: first }
    }

    /// Looks at a chunk, the first point of which is number `first`, and evaluates it at the start of `evaluated`.
    pub(crate) fn add(
        &mut self,
        evaluated: &Evaluated<'_>,
        scratch: &mut Scratch,
        (chunk, first): (Given<'_>, u64),
        estimator: Estimator,
    ) -> std::result::Result<(), Fault> {
        let mut survey = self.survey.clone();
        let points = survey.add(chunk, first, estimator)?;
        if let Some(sums) = &mut self.sums {
            let columns = vec![1.0; evaluated.model.free.len()];
            evaluated
                .on(scratch, &points, |cpu| cpu.add_normal(evaluated.start, &columns, sums))
                .map_err(|fault| fault.at_offset(first))?;
        }
        // All that was asked of these points is there, or a pass that goes on sees them again.
        self.survey = survey;
        self.sample.add(&points, first);
        self.next = first + points.len() as u64;
        Ok(())
    }

    /// Adds what was seen of the points that follow.
    ///
    /// # Errors
    /// In words, if they do not follow.
    pub(crate) fn follow(&mut self, other: FirstPass) -> std::result::Result<(), String> {
        if !self.sample.is_like(&other.sample) {
            return Err("their samples are not of one kind".into());
        }
        match (&mut self.sums, other.sums) {
            (None, None) => {}
            (Some(sums), Some(more)) => sums.follow(more)?,
            _ => return Err("only one of them has sums at the start".into()),
        }
        self.survey.follow(other.survey)?;
        self.sample.follow(other.sample);
        self.next = other.next;
        Ok(())
    }

    /// Brings together what only nothing can follow.
    pub(crate) fn close(&mut self) {
        self.survey.close();
        self.sums.iter_mut().for_each(Tree::close);
    }

    /// Whether it is what was asked for: a sample of that kind, and sums of so many free parameters, or none.
    pub(super) fn is_for(&self, sample: &Sample, free: Option<usize>) -> bool {
        let sums = match (&self.sums, free) {
            (None, None) => true,
            (Some(sums), Some(free)) => sums.sums().all(|sums| sums.is_of(free)),
            _ => false,
        };
        self.sample.is_like(sample) && sums
    }

    /// Whether what was read from bytes can be of these points, the first of which begins a group.
    pub(crate) fn is_sound(&self, points: Range<u64>) -> bool {
        let Range { start, end } = points;
        let pieces = pieces_of(start)..pieces_of(end);
        let sums = self.sums.as_ref().is_none_or(|sums| {
            let free = sums.sums().next().map_or(0, |sums| sums.n);
            sums.is_sound(pieces.clone(), |sums| sums.is_of(free))
        });
        let given = end.checked_sub(start) == Some(self.survey.given()) && self.next == end;
        sums && given && self.sample.is_sound() && self.survey.is_sound(pieces.clone())
    }
}
