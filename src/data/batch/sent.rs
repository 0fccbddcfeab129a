//! Serialisation of a batch in a message, without conversion of number types. A received batch is validated before use.

use super::{BatchData, SampleLayout, Starts};
use crate::data::Missing;
use crate::data::raw::{Raw, RawValues};
use crate::data::sigma::Sigma;
use crate::data::start::Start;
use crate::data::values::Values;
use crate::data::x_sigma::XSigma;
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The data of a batch.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SentData<'a> {
    columns: Vec<RawValues<'a>>,
    own: bool,
    samples: RawValues<'a>,
    layout: SentLayout<'a>,
    sigma: SentSigma<'a>,
    mask: Option<Raw<'a, u8>>,
    omits_missing: bool,
    x_sigma: Vec<RawValues<'a>>,
    by_sample: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum SentLayout<'a> {
    Equal(u64),
    /// The number of samples of each fit.
    Lengths(Cow<'a, [u64]>),
}

#[derive(Debug, Serialize, Deserialize)]
enum SentSigma<'a> {
    Unknown,
    Constant(f64),
    PerFit(Raw<'a, f64>),
    Relative(Raw<'a, f64>),
    Absolute(Raw<'a, f64>),
}

/// The starts of a batch: one for all fits, one per fit, or an incomplete start that each fit completes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SentStarts<'a> {
    values: Raw<'a, f64>,
    /// Separate bounds of each fit.
    bounds: Option<[Raw<'a, f64>; 2]>,
    sought: Option<Vec<(String, f64)>>,
}

impl<'a> From<&'a BatchData<'_>> for SentData<'a> {
    fn from(data: &'a BatchData<'_>) -> Self {
        let raw = |columns: &'a [Values<'_>]| columns.iter().map(|&c| c.into()).collect();
        SentData {
            columns: raw(&data.columns),
            own: data.own,
            samples: data.samples.into(),
            layout: match data.layout {
                SampleLayout::Equal(n) => SentLayout::Equal(n as u64),
                SampleLayout::Offsets(offsets) => SentLayout::Lengths(
                    offsets.windows(2).map(|pair| (pair[1] - pair[0]) as u64).collect(),
                ),
                SampleLayout::Unknown => SentLayout::Equal(0),
            },
            sigma: match data.sigma {
                Sigma::Constant(sigma) => SentSigma::Constant(sigma),
                Sigma::PerFit(sigma) => SentSigma::PerFit(sigma.into()),
                Sigma::Relative(sigma) => SentSigma::Relative(sigma.into()),
                Sigma::Absolute(sigma) => SentSigma::Absolute(sigma.into()),
                // A batch rejects the other variants.
                _ => SentSigma::Unknown,
            },
            mask: data.mask.map(|mask| bytemuck::cast_slice(mask).into()),
            omits_missing: data.missing == Missing::Omit,
            x_sigma: raw(data.x_sigma.columns()),
            by_sample: data.by_sample,
        }
    }
}

/// Owned arrays that a received batch borrows.
#[derive(Default)]
pub(crate) struct Room {
    offsets: Vec<usize>,
    mask: Vec<bool>,
}

impl SentData<'_> {
    /// Returns the batch. It borrows from `self` and from `room`, which is filled here.
    ///
    /// # Errors
    /// Errors of the constructors and setters of [`BatchData`].
    pub(crate) fn data<'r>(&'r self, room: &'r mut Room) -> Result<BatchData<'r>> {
        let columns = self.columns.iter().map(RawValues::values).collect();
        let data = BatchData::new(columns, self.own, self.samples.values())?;
        room.mask = self.mask.iter().flat_map(|mask| mask.0.iter().map(|&b| b != 0)).collect();
        let data = match &self.layout {
            SentLayout::Equal(n) => {
                let data = data.points_per_fit(usize::try_from(*n).unwrap_or(usize::MAX))?;
                data.check_own()?
            }
            SentLayout::Lengths(lengths) => {
                let ends = lengths.iter().scan(0_usize, |end, &length| {
                    // A saturated sum differs from the number of samples and is therefore rejected by `offsets`.
                    *end = end.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
                    Some(*end)
                });
                room.offsets = std::iter::once(0).chain(ends).collect();
                data.check_own()?.offsets(&room.offsets)?
            }
        };
        let data = BatchData { by_sample: self.by_sample && data.n_fits() == 1, ..data };
        let data = data.sigma(match &self.sigma {
            SentSigma::Unknown => Sigma::Unknown,
            SentSigma::Constant(sigma) => Sigma::Constant(*sigma),
            SentSigma::PerFit(sigma) => Sigma::PerFit(&sigma.0),
            SentSigma::Relative(sigma) => Sigma::Relative(&sigma.0),
            SentSigma::Absolute(sigma) => Sigma::Absolute(&sigma.0),
        })?;
        let data = match self.mask {
            Some(_) => data.mask(&room.mask)?,
            None => data,
        };
        let data = data.missing(if self.omits_missing { Missing::Omit } else { Missing::Error });
        if self.x_sigma.is_empty() {
            return Ok(data);
        }
        let columns = self.x_sigma.iter().map(RawValues::values).collect();
        let x_sigma = XSigma::new(columns, data.columns.len())?;
        BatchData { x_sigma, ..data }.recheck()
    }
}

impl<'a> From<&'a Starts<'_>> for SentStarts<'a> {
    fn from(starts: &'a Starts<'_>) -> Self {
        SentStarts {
            values: starts.values().into(),
            bounds: starts.own_bounds().map(|(lower, upper)| [lower.into(), upper.into()]),
            sought: starts.sought().map(|start| match start {
                Start::Named(pairs) => pairs.clone(),
                Start::Values(_) | Start::Guess => Vec::new(),
            }),
        }
    }
}

impl SentStarts<'_> {
    pub(crate) fn starts(&self) -> Starts<'_> {
        let starts = match &self.sought {
            None => Starts::from(&*self.values.0),
            Some(pairs) if pairs.is_empty() => Start::Guess.into(),
            Some(pairs) => Start::Named(pairs.clone()).into(),
        };
        match &self.bounds {
            Some([lower, upper]) => starts.bounds(&lower.0, &upper.0),
            None => starts,
        }
    }
}
