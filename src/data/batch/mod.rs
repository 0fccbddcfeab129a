//! The data of a batch: the points of many fits of one model, and their sigma.

mod piece;
pub(crate) mod sent;
mod starts;

pub use starts::Starts;

use super::columns::{Columns, expect_columns, expect_length};
use super::points::{ColumnList, Given};
use super::sigma::{Sigma, Weights};
use super::values::Values;
use super::x_sigma::XSigma;
use super::{Data, Missing};
use crate::error::{Error, Result};
use std::ops::Range;

/// Standard deviations of the samples, with the layout of the array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deviations<'a> {
    /// No standard deviation, or one for all samples.
    Same,
    /// One per fit.
    OfFit(&'a [f64]),
    /// One per point, the same for every fit.
    OfPoint(&'a [f64]),
    /// One per sample.
    OfSample(&'a [f64]),
}

/// The points of many independent fits: independent variables, which are shared or separate for each fit, and a stack
/// of samples (values of y), one fit after the other.
///
/// All arrays are borrowed; nothing is copied. Lengths are checked here. Values are checked fit by
/// fit, and an error in the values of one fit becomes its
/// [`FitStatus`](crate::FitStatus).
///
/// ```
/// use dualfit::{BatchData, Sigma};
/// let x = [0.0, 1.0, 2.0];
/// let stack: Vec<u16> = vec![5, 3, 2, 9, 6, 4]; // two fits of three points
/// let data = BatchData::shared(&x, &stack)?.sigma(Sigma::Constant(0.5))?;
/// assert_eq!(data.n_fits(), 2);
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchData<'a> {
    pub(crate) columns: Vec<Values<'a>>,
    /// True if the columns are as long as the stack: each fit has its own range of them.
    pub(crate) own: bool,
    pub(crate) samples: Values<'a>,
    pub(crate) layout: SampleLayout<'a>,
    pub(crate) sigma: Sigma<'a>,
    pub(crate) mask: Option<&'a [bool]>,
    pub(crate) missing: Missing,
    /// True if the independent variables are shared and finite; they are checked once for all fits.
    finite_x: bool,
    pub(crate) x_sigma: XSigma<'a>,
    /// True for a piece of one fit whose sigma or mask has one value per sample of the larger batch. Without this flag
    /// such an array would count as one value per point, the same for every fit, because both lengths are equal here.
    pub(crate) by_sample: bool,
}

/// Assignment of samples to fits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SampleLayout<'a> {
    /// The number of points of each fit.
    Equal(usize),
    /// Index of the first sample of each fit, and the end of the last fit.
    Offsets(&'a [usize]),
    /// Not set yet.
    Unknown,
}

impl<'a> BatchData<'a> {
    /// Creates the data of fits that share their independent variables. `x`: columns as in
    /// [`Data::new`](crate::Data::new) with one value per point; `stack`: n_fits × n_points samples, row-major. An
    /// empty stack is a batch without fits.
    ///
    /// # Errors
    /// [`Error::EmptyData`] without points, [`Error::LengthMismatch`] if columns differ in length or
    /// the stack does not contain a whole number of fits.
    pub fn shared(x: impl Columns<'a>, stack: impl Into<Values<'a>>) -> Result<BatchData<'a>> {
        let data = BatchData::new(x.columns()?, false, stack.into())?;
        let points = data.columns.first().map_or(0, Values::len);
        data.points_per_fit(points)
    }

    /// Creates the data of fits with separate independent variables. `xs`: columns as long as the stack. Call
    /// [`points_per_fit`](BatchData::points_per_fit) or [`offsets`](BatchData::offsets) to assign the samples to fits.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if a column is not as long as the stack.
    pub fn own(xs: impl Columns<'a>, stack: impl Into<Values<'a>>) -> Result<BatchData<'a>> {
        BatchData::new(xs.columns()?, true, stack.into())?.check_own()
    }

    /// Checks the lengths of separate columns.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if separate columns are not as long as the stack.
    fn check_own(self) -> Result<BatchData<'a>> {
        if self.own {
            expect_columns(&self.columns, self.samples.len())?;
        }
        Ok(self)
    }

    fn new(columns: Vec<Values<'a>>, own: bool, samples: Values<'a>) -> Result<BatchData<'a>> {
        expect_columns(&columns, columns.first().map_or(0, Values::len))?;
        let (sigma, layout) = (Sigma::Unknown, SampleLayout::Unknown);
        let finite_x = !own && columns.iter().all(Values::is_finite);
        Ok(BatchData {
            columns,
            own,
            samples,
            layout,
            sigma,
            mask: None,
            missing: Missing::Error,
            finite_x,
            x_sigma: XSigma::default(),
            by_sample: false,
        })
    }

    /// Assigns `n` consecutive samples to every fit.
    ///
    /// # Errors
    /// [`Error::EmptyData`] if `n` is 0, [`Error::LengthMismatch`] if the stack does not contain a whole number
    /// of such fits or shared columns have another length.
    pub fn points_per_fit(mut self, n: usize) -> Result<BatchData<'a>> {
        if n == 0 {
            return Err(Error::EmptyData { given: 0, omitted: 0 });
        }
        if !self.own {
            expect_columns(&self.columns, n)?;
        }
        let got = self.samples.len();
        let expected = (got / n).max(1).saturating_mul(n);
        if !got.is_multiple_of(n) {
            let remedy = "the stack holds n_fits × n_points samples, one fit after the other";
            return Err(Error::LengthMismatch { what: "stack".into(), expected, got, remedy });
        }
        self.layout = SampleLayout::Equal(n);
        self.recheck()
    }

    /// Assigns the samples `offsets[i]..offsets[i + 1]` to fit i; n fits need n + 1 offsets. Columns must not be
    /// shared.
    ///
    /// # Errors
    /// [`Error::BatchLayout`] if the offsets do not ascend from 0 to the stack's length, or columns are
    /// shared.
    pub fn offsets(mut self, offsets: &'a [usize]) -> Result<BatchData<'a>> {
        let refuse = |message: String| Err(Error::BatchLayout { message });
        if !self.own && !self.columns.is_empty() {
            return refuse("fits that share their columns have equal lengths".into());
        }
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return refuse("there are no offsets; n fits have n + 1".into());
        };
        if first != 0 || last != self.samples.len() {
            let n = self.samples.len();
            return refuse(format!(
                "offsets run from {first} to {last} but the {n} samples from 0 to {n}"
            ));
        }
        if let Some(i) = offsets.windows(2).position(|pair| pair[1] < pair[0]) {
            let (a, b) = (offsets[i], offsets[i + 1]);
            return refuse(format!("offset {} is {b}, below offset {i}, which is {a}", i + 1));
        }
        self.layout = SampleLayout::Offsets(offsets);
        self.recheck()
    }

    /// Sets the sigma of the samples; [`Sigma::Unknown`] by default.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a slice of the wrong length,
    /// [`Error::BadOption`] for a constant that is not positive, [`Error::UnsuitedSigma`] for a covariance
    /// matrix or the variants for streams.
    pub fn sigma(mut self, sigma: Sigma<'a>) -> Result<BatchData<'a>> {
        self.sigma = sigma;
        self.recheck()
    }

    /// Sets the standard deviations of x, like [`Data::x_sigma`](crate::Data::x_sigma). For each independent variable:
    /// one for all samples, one per point (the same for every fit), or one per sample.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a wrong number of columns or values.
    pub fn x_sigma(mut self, sigma: impl Columns<'a>) -> Result<BatchData<'a>> {
        self.x_sigma = XSigma::new(sigma.columns()?, self.columns.len())?;
        self.recheck()
    }

    /// Selects the samples to be fitted: those where `mask` is true. `mask`: one value per point (the same for every
    /// fit), or one per sample.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a wrong length.
    pub fn mask(mut self, mask: &'a [bool]) -> Result<BatchData<'a>> {
        self.mask = Some(mask);
        self.recheck()
    }

    /// Sets the treatment of samples that are not finite: reject the fit, which then has the status
    /// [`FitStatus::BadData`](crate::FitStatus::BadData), or leave the samples out. The default is to reject.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> BatchData<'a> {
        self.missing = missing;
        self
    }

    /// Returns the number of fits; 0 until the layout is set.
    pub fn n_fits(&self) -> usize {
        match self.layout {
            SampleLayout::Equal(n) => self.samples.len() / n,
            SampleLayout::Offsets(offsets) => offsets.len() - 1,
            SampleLayout::Unknown => 0,
        }
    }

    /// Returns the number of points of each fit; `None` if it differs between fits or is not set.
    pub(crate) fn equal(&self) -> Option<usize> {
        match self.layout {
            SampleLayout::Equal(n) => Some(n),
            _ => None,
        }
    }

    /// Returns the index of the first sample of each fit and the end of the last fit, if offsets are set.
    pub(crate) fn offset_list(&self) -> Option<&'a [usize]> {
        match self.layout {
            SampleLayout::Offsets(offsets) => Some(offsets),
            _ => None,
        }
    }

    /// Returns the indices of the samples of a fit.
    pub(crate) fn range(&self, fit: usize) -> Range<usize> {
        match self.layout {
            SampleLayout::Equal(n) => fit * n..(fit + 1) * n,
            SampleLayout::Offsets(offsets) => offsets[fit]..offsets[fit + 1],
            SampleLayout::Unknown => 0..0,
        }
    }

    /// Returns the standard deviations of the samples.
    pub(crate) fn deviations(&self) -> Deviations<'a> {
        match self.sigma {
            Sigma::PerFit(sigma) => Deviations::OfFit(sigma),
            Sigma::Relative(sigma) | Sigma::Absolute(sigma) => match self.equal() {
                Some(points) if points == sigma.len() && !self.by_sample => {
                    Deviations::OfPoint(sigma)
                }
                _ => Deviations::OfSample(sigma),
            },
            _ => Deviations::Same,
        }
    }

    /// Returns true if there is no mask, or one mask for all fits.
    pub(crate) fn shares_mask(&self) -> bool {
        self.mask.is_none_or(|mask| Some(mask.len()) == self.equal() && !self.by_sample)
    }

    /// Checks that the samples are assigned to fits.
    ///
    /// # Errors
    /// [`Error::BatchLayout`] if the layout is not set.
    pub(crate) fn check_layout(&self) -> Result<()> {
        match self.layout {
            SampleLayout::Unknown => Err(Error::BatchLayout {
                message: "it has not been said which samples belong to which fit; call points_per_fit or offsets".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Checks sigma, and the arrays that depend on the layout if it is set. Setters can be called in any order.
    fn recheck(self) -> Result<BatchData<'a>> {
        self.sigma.check()?;
        match self.sigma {
            Sigma::Covariance(_) | Sigma::RelativeCovariance(_) => {
                let remedy = "give Sigma::Absolute or Sigma::Relative, or make the fits one by one with Data";
                return Err(self.sigma.unsuited("a batch", remedy));
            }
            Sigma::RelativeColumn | Sigma::AbsoluteColumn => {
                return Err(self.sigma.without_source("a batch"));
            }
            _ => {}
        }
        let Some(fits) = self.check_layout().ok().map(|()| self.n_fits()) else {
            return Ok(self);
        };
        let samples = self.samples.len();
        match self.deviations() {
            Deviations::OfFit(sigma) => {
                expect_length("sigma".into(), sigma.len(), fits, "one standard deviation per fit")?;
            }
            Deviations::OfSample(sigma) => {
                let remedy = match self.equal() {
                    Some(_) => {
                        "one standard deviation per point, the same for every fit, or one per sample"
                    }
                    None => {
                        "one standard deviation per sample, since the fits are of unequal length"
                    }
                };
                expect_length("sigma".into(), sigma.len(), samples, remedy)?;
            }
            Deviations::Same | Deviations::OfPoint(_) => {}
        }
        let remedy = match self.equal() {
            Some(_) => {
                "one standard deviation for all, one per point, the same for every fit, or one per sample"
            }
            None => {
                "one standard deviation for all, or one per sample, since the fits are of unequal length"
            }
        };
        self.x_sigma.expect(&[samples, self.equal().unwrap_or(samples)], remedy)?;
        if let Some(mask) = self.mask
            && !self.shares_mask()
        {
            let remedy = "one value per point, the same for every fit, or one per sample";
            expect_length("mask".into(), mask.len(), samples, remedy)?;
        }
        Ok(self)
    }

    /// Returns the data of each fit; nothing is copied.
    ///
    /// # Errors
    /// [`Error::BatchLayout`] if the layout is not set.
    pub(crate) fn each(&self) -> Result<Vec<Data<'a>>> {
        self.check_layout()?;
        let data = |fit: usize| {
            let range = self.range(fit);
            let own = |c: &Values<'a>| if self.own { c.part(range.clone()) } else { *c };
            Data {
                columns: self.columns.iter().map(own).collect(),
                y: self.samples.part(range.clone()),
                sigma: self.weights(fit),
                mask: self.mask_of(fit),
                missing: self.missing,
                infinite_x: false,
                x_sigma: self.x_sigma.of_fit(range, self.samples.len()),
            }
        };
        Ok((0..self.n_fits()).map(data).collect())
    }

    /// Returns the weights of the samples of one fit.
    fn weights(&self, fit: usize) -> Weights<'a> {
        let absolute = self.sigma.is_absolute();
        match (self.deviations(), self.sigma) {
            (Deviations::Same, Sigma::Constant(s)) => Weights::Constant(s),
            (Deviations::Same, _) => Weights::Equal,
            (Deviations::OfFit(s), _) => Weights::Constant(s[fit]),
            (Deviations::OfPoint(sigma), _) => Weights::Each { sigma, absolute },
            (Deviations::OfSample(s), _) => Weights::Each { sigma: &s[self.range(fit)], absolute },
        }
    }

    fn mask_of(&self, fit: usize) -> Option<&'a [bool]> {
        self.mask.map(|mask| if self.shares_mask() { mask } else { &mask[self.range(fit)] })
    }

    /// Returns the arrays of one fit. `columns`: buffer for its separate columns; `y`: buffer for samples that must be
    /// converted to f64; without it they keep their type.
    pub(crate) fn fit<'v>(
        &'v self,
        fit: usize,
        columns: &'v mut Vec<Values<'a>>,
        y: Option<&'v mut Vec<f64>>,
    ) -> Given<'v> {
        let range = self.range(fit);
        let columns = match self.own {
            false => ColumnList::Borrowed(&self.columns),
            true => {
                columns.clear();
                columns.extend(self.columns.iter().map(|c| c.part(range.clone())));
                ColumnList::Borrowed(columns)
            }
        };
        Given {
            columns,
            sigma: self.weights(fit),
            mask: self.mask_of(fit),
            x_sigma: self.x_sigma.of_fit(range.clone(), self.samples.len()),
            y: match y {
                Some(y) => self.samples.widened(range, y),
                None => self.samples.part(range),
            },
            missing: self.missing,
            infinite_x: false,
            known_x: self.finite_x,
        }
    }
}
