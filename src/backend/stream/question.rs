//! Queries of passes over points. A [`Question`] requests a reduction over all points. Each chunk or part contributes
//! to an [`Answer`]; the results of adjacent ranges of points are merged.

use crate::backend::cpu::Cpu;
use crate::data::loss::Loss;
use crate::data::validate_stream::PIECE;
use crate::normal::{BlockRow, Normal, RFactor, Summary, Tree, heaviest_first};
use crate::solver::evaluator::Evaluator;
use crate::solver::outcome::{BadPoint, Fault};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Arguments of an evaluation: all parameters, and the factors of the columns of J.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct At {
    pub(crate) params: Vec<f64>,
    pub(crate) columns: Vec<f64>,
}

/// Requested reduction over all points. Each variant corresponds to a method of [`Evaluator`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Question {
    /// Requests the normal equations.
    Normal(At),
    /// Requests the R factor of [J r].
    Factor(At),
    /// Requests the largest absolute partial with respect to each free parameter.
    Magnitudes { params: Vec<f64> },
    /// Requests the `count` largest weights.
    Heaviest { count: u64 },
    /// Requests the sum of squares of the weighted response, with weights limited to [`Terms::most_weight`].
    LimitWeights,
    /// Requests the rows of the points whose weights exceed [`Terms::most_weight`].
    HeavyRows(At),
    /// Requests a test whether the model passes through every point to rounding.
    IsExact { params: Vec<f64> },
    /// Requests the first point at which the model or a partial is not finite.
    FirstBadPoint { params: Vec<f64> },
}

/// Settings of the evaluation, common to all questions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) loss: Loss,
    /// Upper limit of the weight of a point, multiplied by the row unit (the power of two that multiplies all weighted
    /// residuals).
    pub(crate) most_weight: f64,
    /// Starting point of the fit; it sets the typical sizes of the parameters.
    pub(crate) start: Vec<f64>,
}

/// Result of a question for consecutive points. Each question has the result variant of the same name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Normal(Tree<Normal>),
    Factor(Tree<RFactor>),
    /// The largest absolute partial with respect to each free parameter.
    Magnitudes(Vec<f64>),
    /// Maximum number of weights, and the largest weights in descending order.
    Heaviest(u64, Vec<f64>),
    /// The sum of squares of the response, with limited weights.
    LimitWeights(Tree<Square>),
    /// Rows of [`Evaluator::heavy_rows`] in the order of the points.
    HeavyRows(Vec<f64>),
    IsExact(bool),
    FirstBadPoint(Option<BadPoint>),
}

/// A sum of squares.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Square(pub(crate) f64);

impl Summary for Square {
    fn clear(&mut self) {
        self.0 = 0.0;
    }

    fn merge(&mut self, other: &mut Square) {
        self.0 += other.0;
    }

    fn is_finite(&self) -> bool {
        self.0.is_finite()
    }
}

impl Question {
    /// Returns the parameters, if the question has them.
    pub(crate) fn params(&self) -> Option<&[f64]> {
        match self {
            Question::Normal(at) | Question::Factor(at) | Question::HeavyRows(at) => {
                Some(&at.params)
            }
            Question::Magnitudes { params }
            | Question::IsExact { params }
            | Question::FirstBadPoint { params } => Some(params),
            Question::Heaviest { .. } | Question::LimitWeights => None,
        }
    }

    /// Returns the factors of the columns, if the question has them.
    pub(crate) fn columns(&self) -> Option<&[f64]> {
        match self {
            Question::Normal(at) | Question::Factor(at) | Question::HeavyRows(at) => {
                Some(&at.columns)
            }
            _ => None,
        }
    }

    /// Returns the result for an empty range that ends before piece number `first`. `free`: number of free parameters.
    pub(crate) fn unanswered(&self, free: usize, first: u64) -> Answer {
        match self {
            Question::Normal(_) => Answer::Normal(Tree::new(first)),
            Question::Factor(_) => Answer::Factor(Tree::new(first)),
            Question::Magnitudes { .. } => Answer::Magnitudes(vec![0.0; free]),
            Question::Heaviest { count } => Answer::Heaviest(*count, Vec::new()),
            Question::LimitWeights => Answer::LimitWeights(Tree::new(first)),
            Question::HeavyRows(_) => Answer::HeavyRows(Vec::new()),
            Question::IsExact { .. } => Answer::IsExact(true),
            Question::FirstBadPoint { .. } => Answer::FirstBadPoint(None),
        }
    }
}

impl Answer {
    /// Adds the points of `cpu`, which must follow the points added before. `first`: number of their first point.
    pub(crate) fn add(
        &mut self,
        question: &Question,
        cpu: &mut Cpu<'_>,
        first: u64,
    ) -> Result<(), Fault> {
        match (self, question) {
            (Answer::Normal(sums), Question::Normal(At { params, columns })) => {
                cpu.add_normal(params, columns, sums)
            }
            (Answer::Factor(sums), Question::Factor(At { params, columns })) => {
                cpu.add_factor(params, columns, sums)
            }
            (Answer::Magnitudes(largest), Question::Magnitudes { params }) => {
                let mut part = largest.clone();
                cpu.magnitudes(params, &mut part)?;
                largest.iter_mut().zip(&part).for_each(|(l, &p)| *l = l.max(p));
                Ok(())
            }
            (Answer::Heaviest(count, all), Question::Heaviest { .. }) => {
                let most = usize::try_from(*count).unwrap_or(usize::MAX);
                all.extend(cpu.heaviest(most, f64::INFINITY));
                keep_largest(all, most);
                Ok(())
            }
            (Answer::LimitWeights(sums), Question::LimitWeights) => {
                cpu.squares_of_limited(PIECE).for_each(|square| sums.add(&mut Square(square)));
                Ok(())
            }
            (Answer::HeavyRows(rows), Question::HeavyRows(At { params, columns })) => {
                rows.extend(cpu.rows_beyond(params, columns)?);
                Ok(())
            }
            (Answer::IsExact(exact), Question::IsExact { params }) => {
                *exact = *exact && cpu.is_exact(params)?;
                Ok(())
            }
            (Answer::FirstBadPoint(found), Question::FirstBadPoint { params }) => {
                *found = found.take().or_else(|| {
                    let mut point = cpu.first_bad_point(params)?;
                    point.index += first as usize;
                    Some(point)
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns true if further points cannot change the result.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self, Answer::FirstBadPoint(Some(_)) | Answer::IsExact(false))
    }

    /// Merges the sums after the last complete group, which shortens the message. No points can be added afterwards.
    pub(crate) fn close(&mut self) {
        match self {
            Answer::Normal(sums) => sums.close(),
            Answer::Factor(sums) => sums.close(),
            Answer::LimitWeights(sums) => sums.close(),
            _ => {}
        }
    }

    /// Merges the result of the following points.
    ///
    /// # Errors
    /// Returns a message if `other` belongs to a different question or its points do not follow the points of `self`.
    pub(crate) fn follow(&mut self, other: Answer) -> Result<(), String> {
        match (self, other) {
            (Answer::Normal(sums), Answer::Normal(more)) => sums.follow(more),
            (Answer::Factor(sums), Answer::Factor(more)) => sums.follow(more),
            (Answer::LimitWeights(sums), Answer::LimitWeights(more)) => sums.follow(more),
            (Answer::Magnitudes(largest), Answer::Magnitudes(more))
                if largest.len() == more.len() =>
            {
                largest.iter_mut().zip(more).for_each(|(l, m)| *l = l.max(m));
                Ok(())
            }
            (Answer::Heaviest(count, all), Answer::Heaviest(same, more)) if *count == same => {
                all.extend(more);
                keep_largest(all, usize::try_from(same).unwrap_or(usize::MAX));
                Ok(())
            }
            (Answer::HeavyRows(rows), Answer::HeavyRows(more)) => {
                rows.extend(more);
                Ok(())
            }
            (Answer::IsExact(exact), Answer::IsExact(more)) => {
                *exact &= more;
                Ok(())
            }
            (Answer::FirstBadPoint(found), Answer::FirstBadPoint(more)) => {
                *found = found.take().or(more);
                Ok(())
            }
            _ => Err("they are answers to different questions".into()),
        }
    }

    /// Returns true if the sums cover exactly the pieces in `range` and all have the same number of parameters.
    pub(crate) fn is_whole(&self, range: Range<u64>) -> bool {
        match self {
            Answer::Normal(sums) => {
                let free = sums.sums().next().map_or(0, |sums| sums.n);
                sums.is_sound(range, |sums| sums.is_of(free))
            }
            Answer::Factor(sums) => {
                let free = sums.sums().next().map_or(0, |sums| sums.n);
                sums.is_sound(range, |sums| sums.is_of(free))
            }
            Answer::LimitWeights(sums) => sums.is_sound(range, |_| true),
            _ => true,
        }
    }

    /// Returns true if all sums have `free` free parameters.
    pub(crate) fn is_of(&self, free: usize) -> bool {
        match self {
            Answer::Normal(sums) => sums.sums().all(|sums| sums.is_of(free)),
            Answer::Factor(sums) => sums.sums().all(|sums| sums.is_of(free)),
            _ => true,
        }
    }

    /// Returns true if this is a valid result of `question`, for `free` free parameters and `x` independent variables.
    pub(crate) fn is_to(&self, question: &Question, (free, x): (usize, usize)) -> bool {
        match (self, question) {
            (Answer::Normal(_), Question::Normal(_)) | (Answer::Factor(_), Question::Factor(_)) => {
                self.is_of(free)
            }
            (Answer::LimitWeights(_), Question::LimitWeights) => true,
            (Answer::Magnitudes(largest), Question::Magnitudes { .. }) => largest.len() == free,
            (Answer::Heaviest(same, all), Question::Heaviest { count }) => {
                same == count && all.len() as u64 <= *count && all.is_sorted_by(|a, b| a >= b)
            }
            (Answer::HeavyRows(rows), Question::HeavyRows(_)) => {
                rows.len().is_multiple_of(free + 1)
            }
            (Answer::IsExact(_), Question::IsExact { .. }) => true,
            (Answer::FirstBadPoint(found), Question::FirstBadPoint { .. }) => found
                .as_ref()
                .is_none_or(|point| point.x.len() == x && point.partial.is_none_or(|j| j < free)),
            _ => false,
        }
    }

    /// Returns the heavy rows, the row with the largest element first; empty for all other results.
    pub(crate) fn rows(self, free: usize) -> Vec<BlockRow> {
        match self {
            Answer::HeavyRows(rows) => heaviest_first(BlockRow::of_all(&rows, free + 1)),
            _ => Vec::new(),
        }
    }
}

fn keep_largest(all: &mut Vec<f64>, count: usize) {
    all.sort_by(f64::total_cmp);
    all.reverse();
    all.truncate(count);
}
