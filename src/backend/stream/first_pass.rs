//! Intermediate state of the first pass over points, in one process or in a part of a distributed fit.

use crate::backend::cpu::Scratch;
use crate::backend::stream::pass_cache::Evaluated;
use crate::data::loss::Estimator;
use crate::data::points::Given;
use crate::data::sample::Sample;
use crate::data::validate_stream::{PIECE, Survey, pieces_of};
use crate::normal::{GROUP, Normal, Tree};
use crate::solver::outcome::Fault;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Points of a group. Every part of a distributed fit begins at a multiple of this number.
pub(crate) const GROUP_POINTS: u64 = GROUP * PIECE as u64;

/// Intermediate state of the first pass.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct FirstPass {
    pub(crate) survey: Survey,
    pub(crate) sample: Sample,
    /// The normal equations at the starting point, computed with the row unit 1 and all column factors 1; `None` if
    /// the starting point is not known yet.
    pub(crate) sums: Option<Tree<Normal>>,
    /// Number of the first point that the pass has not seen.
    pub(crate) next: u64,
}

impl FirstPass {
    /// Creates the state before any point. `first`: number of the first point, which begins a group. `at_start`: true
    /// if the starting point is known.
    pub(crate) fn new(sample: Sample, at_start: bool, first: u64) -> FirstPass {
        let piece = pieces_of(first);
        let sums = at_start.then(|| Tree::new(piece));
        FirstPass { survey: Survey::new(piece), sample, sums, next: first }
    }

    /// Validates and adds a chunk. If the starting point is known, also adds its normal equations there
    /// (`evaluated.start`). `first`: number of the first point of the chunk.
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
        // The state changes only after the evaluation succeeded. If it fails, a continued pass repeats the chunk.
        self.survey = survey;
        self.sample.add(&points, first);
        self.next = first + points.len() as u64;
        Ok(())
    }

    /// Merges the state of the following points.
    ///
    /// # Errors
    /// Returns a message if the points of `other` do not follow directly, or if samples or sums differ in kind.
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

    /// Merges the sums of all pieces after the last complete group into one, so that the reply to the leader is short.
    /// No points can be added afterwards.
    pub(crate) fn close(&mut self) {
        self.survey.close();
        self.sums.iter_mut().for_each(Tree::close);
    }

    /// Returns true if this state matches the request: a sample of the same kind as `sample`, and sums of `free` free
    /// parameters, or no sums if `free` is `None`.
    pub(super) fn is_for(&self, sample: &Sample, free: Option<usize>) -> bool {
        let sums = match (&self.sums, free) {
            (None, None) => true,
            (Some(sums), Some(free)) => sums.sums().all(|sums| sums.is_of(free)),
            _ => false,
        };
        self.sample.is_like(sample) && sums
    }

    /// Returns true if this state, which was read from bytes, is valid for `points`. The first point must begin a
    /// group.
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
