//! Pieces of a batch: consecutive fits as a separate batch, in which each fit is computed as in the whole batch.

use super::{BatchData, Deviations, SampleLayout};
use crate::data::sigma::Sigma;
use std::ops::Range;

impl BatchData<'_> {
    /// Returns the indices of the samples of consecutive fits.
    pub(crate) fn samples_of(&self, fits: &Range<usize>) -> Range<usize> {
        match self.layout {
            SampleLayout::Equal(n) => fits.start * n..fits.end * n,
            SampleLayout::Offsets(offsets) => offsets[fits.start]..offsets[fits.end],
            SampleLayout::Unknown => 0..0,
        }
    }

    /// Returns the data of consecutive fits. `offsets`: buffer for the offsets of the piece.
    pub(crate) fn piece<'p>(
        &'p self,
        fits: &Range<usize>,
        offsets: &'p mut Vec<usize>,
    ) -> BatchData<'p> {
        let samples = self.samples_of(fits);
        let layout = match self.layout {
            SampleLayout::Offsets(all) => {
                offsets.clear();
                offsets.extend(all[fits.start..=fits.end].iter().map(|&o| o - samples.start));
                SampleLayout::Offsets(offsets)
            }
            other => other,
        };
        let of_samples = matches!(self.deviations(), Deviations::OfSample(_));
        let sigma = match self.sigma {
            Sigma::PerFit(sigma) => Sigma::PerFit(&sigma[fits.clone()]),
            Sigma::Relative(sigma) if of_samples => Sigma::Relative(&sigma[samples.clone()]),
            Sigma::Absolute(sigma) if of_samples => Sigma::Absolute(&sigma[samples.clone()]),
            other => other,
        };
        let shares_mask = self.shares_mask();
        BatchData {
            columns: match self.own {
                true => self.columns.iter().map(|c| c.part(samples.clone())).collect(),
                false => self.columns.clone(),
            },
            own: self.own,
            samples: self.samples.part(samples.clone()),
            layout,
            sigma,
            mask: self.mask.map(|mask| if shares_mask { mask } else { &mask[samples.clone()] }),
            missing: self.missing,
            finite_x: self.finite_x,
            x_sigma: self.x_sigma.of_fit(samples, self.samples.len()),
            by_sample: fits.len() == 1 && (of_samples || !shares_mask),
        }
    }

    /// Returns the number of bytes per sample: the size of one value of each array that has one value per sample.
    pub(crate) fn bytes_per_sample(&self) -> usize {
        let columns: usize =
            if self.own { self.columns.iter().map(|c| c.width()).sum() } else { 0 };
        let sigma = match self.deviations() {
            Deviations::OfSample(_) => size_of::<f64>(),
            _ => 0,
        };
        let mask = usize::from(!self.shares_mask());
        columns + self.samples.width() + sigma + mask + self.x_sigma.bytes_per_sample()
    }
}
