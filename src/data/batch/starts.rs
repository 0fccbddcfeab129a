//! Where the fits of a batch begin.

use crate::error::{Error, Result};
use std::borrow::Cow;

/// The starts of a batch: one for all fits, or one per fit, row-major. Slices, vectors and arrays of
/// numbers or of `[f64; N]` convert into it.
///
/// ```
/// use dualfit::Starts;
/// let one_for_all: Starts<'_> = [1.0, 0.5].into();
/// let per_fit: Starts<'_> = vec![[1.0, 0.5], [2.0, 0.4], [3.0, 0.3]].into();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Starts<'a>(Cow<'a, [f64]>);

impl Starts<'_> {
    /// # Errors
    /// [`Error::LengthMismatch`] unless there is one start for all, or one per fit.
    pub(crate) fn check(&self, fits: usize, params: usize) -> Result<()> {
        let got = self.0.len();
        let expected = fits.checked_mul(params);
        if got == params || Some(got) == expected {
            return Ok(());
        }
        let remedy = "one start for all fits, or one per fit, one value per parameter each";
        let expected = expected.unwrap_or(usize::MAX);
        Err(Error::LengthMismatch { what: "starts".into(), expected, got, remedy })
    }

    /// The start of a fit, of a model of `params` parameters.
    pub(crate) fn of(&self, fit: usize, params: usize) -> &[f64] {
        match self.0.len() == params {
            true => &self.0,
            false => &self.0[fit * params..(fit + 1) * params],
        }
    }
}

impl<'a> From<&'a [f64]> for Starts<'a> {
    fn from(starts: &'a [f64]) -> Self {
        Starts(Cow::Borrowed(starts))
    }
}

impl<'a> From<&'a Vec<f64>> for Starts<'a> {
    fn from(starts: &'a Vec<f64>) -> Self {
        Starts(Cow::Borrowed(starts))
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Starts<'a> {
    fn from(starts: &'a [f64; N]) -> Self {
        Starts(Cow::Borrowed(starts))
    }
}

impl From<Vec<f64>> for Starts<'_> {
    fn from(starts: Vec<f64>) -> Self {
        Starts(Cow::Owned(starts))
    }
}

impl<const N: usize> From<[f64; N]> for Starts<'_> {
    fn from(starts: [f64; N]) -> Self {
        Starts(Cow::Owned(starts.to_vec()))
    }
}

impl<'a, const N: usize> From<&'a [[f64; N]]> for Starts<'a> {
    fn from(starts: &'a [[f64; N]]) -> Self {
        Starts(Cow::Borrowed(starts.as_flattened()))
    }
}

impl<'a, const N: usize> From<&'a Vec<[f64; N]>> for Starts<'a> {
    fn from(starts: &'a Vec<[f64; N]>) -> Self {
        Starts(Cow::Borrowed(starts.as_flattened()))
    }
}

impl<'a, const N: usize, const M: usize> From<&'a [[f64; N]; M]> for Starts<'a> {
    fn from(starts: &'a [[f64; N]; M]) -> Self {
        Starts(Cow::Borrowed(starts.as_flattened()))
    }
}

impl<const N: usize> From<Vec<[f64; N]>> for Starts<'_> {
    fn from(starts: Vec<[f64; N]>) -> Self {
        Starts(Cow::Owned(starts.into_flattened()))
    }
}
