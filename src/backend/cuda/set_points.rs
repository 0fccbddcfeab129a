//! The points of several sets in the memory of a device, one set after the other.

use super::driver::{Driver, DriverError, Queue};
use super::interface::{BatchLayout, Filled, SigmaOf, Size};
use super::memory::Buffer;
use super::source::Weighting;
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::sigma::Weights;
use crate::observe::span;
use std::ops::Range;
use std::sync::Arc;

/// Numbers gathered at a time on their way to the device.
const STAGED: usize = 1 << 16;

/// The points that count of consecutive sets of one kind, in f64 whatever they are stored as.
pub(crate) struct SetPoints {
    columns: Vec<Buffer>,
    y: Buffer,
    sigma: Option<Buffer>,
    /// Of counts, for each set: the expectation below which a point without events weighs no more.
    pub(super) darkest: Option<Buffer>,
    offsets: Buffer,
    /// Points before each set, and those of all.
    ends: Vec<u64>,
}

/// What the points of these sets weigh on a device.
pub(crate) fn weighting(sets: &[&Points<'_>]) -> Weighting {
    match sets.iter().all(|points| matches!(points.sigma, Weights::Equal)) {
        true => Weighting::One,
        false => Weighting::Each,
    }
}

/// Bytes of a point on a device.
pub(crate) fn bytes_per_point(columns: usize, weights: Weighting) -> usize {
    (columns + 1 + usize::from(weights == Weighting::Each)) * size_of::<f64>()
}

/// Adds the standard deviations of the points that count, 1 where none is known.
fn push_sigma(points: &Points<'_>, out: &mut Vec<f64>) {
    match points.sigma {
        Weights::Constant(sigma) => out.extend(points.kept().map(|_| sigma)),
        Weights::Each { sigma, .. } => out.extend(points.kept().map(|i| sigma[i])),
        Weights::Equal | Weights::Covariance { .. } => out.extend(points.kept().map(|_| 1.0)),
    }
}

impl SetPoints {
    /// Of sets of one estimator, of ordinary size and with as many columns. `weights`: what those of all sets weigh, of which
    /// these may be some. `most_bytes`: what they may take.
    pub(crate) fn of(
        driver: &Arc<dyn Driver>,
        sets: &[&Points<'_>],
        weights: Weighting,
        most_bytes: usize,
    ) -> Result<SetPoints, DriverError> {
        let ends = sets.iter().scan(0, |end, points| {
            *end += points.used as u64;
            Some(*end)
        });
        let ends: Vec<u64> = std::iter::once(0).chain(ends).collect();
        let count = ends.last().map_or(0, |&end| end as usize);
        let _span = span!(DEBUG, "upload", points = count);
        let columns = sets.first().map_or(0, |points| points.columns.len());
        let requested = count.saturating_mul(bytes_per_point(columns, weights));
        if requested > most_bytes {
            return Err(DriverError::OutOfMemory { requested });
        }
        let array = |push: &dyn Fn(&Points<'_>, &mut Vec<f64>)| {
            let buffer = Buffer::of::<f64>(driver, count)?;
            let (mut staged, mut written) = (Vec::new(), 0);
            for (k, points) in sets.iter().enumerate() {
                push(points, &mut staged);
                if staged.len() >= STAGED || k + 1 == sets.len() {
                    buffer.write(Queue::Work, written, &staged)?;
                    written += staged.len();
                    staged.clear();
                }
            }
            Ok(buffer)
        };
        let column = |c: usize| {
            array(&|points, out| points.columns[c].visit(points.kept(), |_, x| out.push(x)))
        };
        let darkest = |points: &&Points<'_>| points.darkest();
        let is_of_counts = sets.iter().any(|points| points.estimator == Estimator::Poisson);
        Ok(SetPoints {
            columns: (0..columns).map(column).collect::<Result<_, DriverError>>()?,
            y: array(&|points, out| points.y.visit(points.kept(), |_, y| out.push(y)))?,
            sigma: match weights {
                Weighting::Each => Some(array(&push_sigma)?),
                Weighting::One | Weighting::Same => None,
            },
            darkest: match is_of_counts {
                true => {
                    let darkest: Vec<f64> = sets.iter().map(darkest).collect();
                    Some(Buffer::with(driver, Queue::Work, &darkest)?)
                }
                false => None,
            },
            offsets: Buffer::with(driver, Queue::Work, &ends)?,
            ends,
        })
    }

    /// How many sets there are.
    pub(super) fn sets(&self) -> usize {
        self.ends.len() - 1
    }

    /// The sets from number `first` on that have no more than `most` points together; one at least.
    pub(super) fn launch(&self, first: usize, most: usize) -> Range<usize> {
        let behind = self.ends[first].saturating_add(most as u64);
        let end = self.ends.partition_point(|&end| end <= behind) - 1;
        first..end.max(first + 1)
    }

    /// The kernels' `Batch` of these sets, for a loss of this scale.
    pub(super) fn batch(&self, loss_scale: f64, (params, free): (usize, usize)) -> Vec<u64> {
        let size = Size { columns: self.columns.len(), params, free };
        let mut batch = Filled::<BatchLayout>::new(size);
        let of = batch.layout.clone();
        batch.set(&of.data.x, self.columns.iter().map(Buffer::address));
        batch.set(&of.data.y, [self.y.address()]);
        batch.set(&of.data.constant_weight, [1.0]);
        batch.set(&of.data.loss_scale, [loss_scale]);
        batch.set(&of.sigma, self.sigma.as_ref().map(Buffer::address));
        let none = if self.sigma.is_some() { SigmaOf::OfSample } else { SigmaOf::NoSigma };
        batch.set(&of.sigma_of, [none]);
        batch.set(&of.offsets, [self.offsets.address()]);
        batch.set(&of.fits, [self.sets()]);
        batch.set(&of.own, [true]);
        batch.words
    }

    /// Bytes of device memory held.
    pub(super) fn bytes(&self) -> usize {
        let others =
            [Some(&self.y), Some(&self.offsets), self.sigma.as_ref(), self.darkest.as_ref()];
        self.columns.iter().chain(others.into_iter().flatten()).map(Buffer::bytes).sum()
    }
}
