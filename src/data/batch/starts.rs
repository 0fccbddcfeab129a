//! Starting points of the fits of a batch.

use crate::data::columns::expect_length;
use crate::data::start::Start;
use crate::error::Result;
use std::borrow::Cow;
use std::ops::Range;

/// The starts of a batch: one for all fits, or one per fit, row-major. Slices, vectors and arrays of
/// numbers or of `[f64; N]` convert into it, as does a [`Start`]. If the start is named values or [`Start::Guess`],
/// each fit computes missing values from its own points.
///
/// ```
/// use dualfit::{Start, Starts};
/// let one_for_all: Starts<'_> = [1.0, 0.5].into();
/// let per_fit: Starts<'_> = vec![[1.0, 0.5], [2.0, 0.4], [3.0, 0.3]].into();
/// let by_name: Starts<'_> = [("rate", 0.5)].into();
/// let guessed: Starts<'_> = Start::Guess.into();
/// ```
///
/// Starts can include separate bounds for each fit:
/// ```
/// # use dualfit::Starts;
/// let (lower, upper) = ([0.0, 0.1, 0.0, 0.2], [9.0, 1.0, 9.0, 2.0]); // two fits, two parameters
/// let starts = Starts::from([1.0, 0.5]).bounds(&lower, &upper);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Starts<'a> {
    values: Cow<'a, [f64]>,
    bounds: Option<(&'a [f64], &'a [f64])>,
    /// The incomplete start that each fit must complete; `None` if the starts are values or are already computed.
    sought: Option<Start>,
    /// Sets of linear parameters, as positions, and for each fit the index of its set. The values of these parameters
    /// in the start were computed by linear least squares.
    linear: (Vec<Vec<usize>>, Vec<usize>),
}

impl<'a> Starts<'a> {
    fn new(values: Cow<'a, [f64]>) -> Starts<'a> {
        Starts { values, bounds: None, sought: None, linear: Default::default() }
    }

    /// Sets separate bounds for each fit: n_fits × n_params values each, infinite for no bound. They replace the bounds
    /// of the [`CurveFit`](crate::CurveFit) and are ignored for fixed parameters. A fit whose bounds are not in order
    /// has the status [`FitStatus::BadBounds`](crate::FitStatus::BadBounds).
    #[must_use]
    pub fn bounds(mut self, lower: &'a [f64], upper: &'a [f64]) -> Starts<'a> {
        self.bounds = Some((lower, upper));
        self
    }

    /// Returns the incomplete start that each fit must complete; `None` if the starts are values.
    pub(crate) fn sought(&self) -> Option<&Start> {
        self.sought.as_ref()
    }

    /// Returns a copy with computed starts, row-major. `linear`: sets of positions of the linear parameters that were
    /// solved for, and for each fit the index of its set.
    pub(crate) fn found(&self, values: Vec<f64>, linear: (Vec<Vec<usize>>, Vec<usize>)) -> Self {
        Starts { values: Cow::Owned(values), bounds: self.bounds, sought: None, linear }
    }

    /// Returns the positions of the linear parameters that were solved for at the start of a fit.
    pub(crate) fn linear(&self, fit: usize) -> &[usize] {
        let (sets, which) = &self.linear;
        which.get(fit).map_or(&[], |&set| &sets[set])
    }

    /// Checks the lengths of starts and bounds.
    ///
    /// # Errors
    /// [`LengthMismatch`](crate::Error::LengthMismatch) unless there is one start for all fits or one per fit, and
    /// bounds, if set, have one value per fit and parameter.
    pub(crate) fn check(&self, fits: usize, params: usize) -> Result<()> {
        let expected = fits.saturating_mul(params);
        let got = self.values.len();
        if self.sought.is_none() && got != params {
            let remedy = "one start for all fits, or one per fit, one value per parameter each";
            expect_length("starts".into(), got, expected, remedy)?;
        }
        let (lower, upper) = self.bounds.unwrap_or_default();
        for (what, bounds) in [("lower bounds", lower), ("upper bounds", upper)] {
            if self.bounds.is_some() {
                let remedy = "one bound per fit and parameter, n_fits × n_params";
                expect_length(what.into(), bounds.len(), expected, remedy)?;
            }
        }
        Ok(())
    }

    /// Returns the start of a fit. `params`: number of parameters of the model.
    pub(crate) fn of(&self, fit: usize, params: usize) -> &[f64] {
        match self.values.len() == params {
            true => &self.values,
            false => &self.values[fit * params..(fit + 1) * params],
        }
    }

    /// Returns the start of all fits, if there is one for all.
    pub(crate) fn shared(&self, params: usize) -> Option<&[f64]> {
        (self.values.len() == params).then_some(&*self.values)
    }

    /// Returns the starts of consecutive fits, row-major, if each fit has its own start.
    pub(crate) fn of_range(&self, fits: Range<usize>, params: usize) -> &[f64] {
        &self.values[fits.start * params..fits.end * params]
    }

    /// Returns a range of the separate lower and upper bounds, if set. `range`: indices of values.
    pub(crate) fn bounds_of_range(&self, range: Range<usize>) -> Option<(&'a [f64], &'a [f64])> {
        self.bounds.map(|(lower, upper)| (&lower[range.clone()], &upper[range]))
    }

    /// Returns the start of all fits, if there is one for all and all have the same bounds.
    pub(crate) fn of_all(&self, params: usize) -> Option<&[f64]> {
        self.shared(params).filter(|_| self.bounds.is_none())
    }

    /// Returns true if the fits have separate bounds.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bounds.is_some()
    }

    /// Returns the starts of consecutive fits, before missing values are computed. `params`: number of parameters.
    pub(crate) fn piece(&self, fits: &Range<usize>, params: usize) -> Starts<'_> {
        let range = fits.start * params..fits.end * params;
        let values = match self.sought.is_some() || self.values.len() == params {
            true => &*self.values,
            false => &self.values[range.clone()],
        };
        Starts {
            values: Cow::Borrowed(values),
            bounds: self.bounds_of_range(range),
            sought: self.sought.clone(),
            linear: Default::default(),
        }
    }

    /// Returns one start for all fits or one per fit; empty if they are still to be computed.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the separate lower and upper bounds of the fits, if set.
    pub(crate) fn own_bounds(&self) -> Option<(&'a [f64], &'a [f64])> {
        self.bounds
    }

    /// Returns the separate lower and upper bounds of a fit, if set.
    pub(crate) fn bounds_of(&self, fit: usize, params: usize) -> Option<(&'a [f64], &'a [f64])> {
        self.bounds_of_range(fit * params..(fit + 1) * params)
    }
}

impl From<Start> for Starts<'_> {
    fn from(start: Start) -> Self {
        match start {
            Start::Values(values) => Starts::new(Cow::Owned(values)),
            start => Starts { sought: Some(start), ..Starts::new(Cow::Owned(Vec::new())) },
        }
    }
}

impl<const N: usize> From<[(&str, f64); N]> for Starts<'_> {
    fn from(pairs: [(&str, f64); N]) -> Self {
        Start::from(pairs).into()
    }
}

impl<'a> From<&'a [f64]> for Starts<'a> {
    fn from(starts: &'a [f64]) -> Self {
        Starts::new(Cow::Borrowed(starts))
    }
}

impl<'a> From<&'a Vec<f64>> for Starts<'a> {
    fn from(starts: &'a Vec<f64>) -> Self {
        Starts::new(Cow::Borrowed(starts))
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Starts<'a> {
    fn from(starts: &'a [f64; N]) -> Self {
        Starts::new(Cow::Borrowed(starts))
    }
}

impl From<Vec<f64>> for Starts<'_> {
    fn from(starts: Vec<f64>) -> Self {
        Starts::new(Cow::Owned(starts))
    }
}

impl<const N: usize> From<[f64; N]> for Starts<'_> {
    fn from(starts: [f64; N]) -> Self {
        Starts::new(Cow::Owned(starts.to_vec()))
    }
}

impl<'a, const N: usize> From<&'a [[f64; N]]> for Starts<'a> {
    fn from(starts: &'a [[f64; N]]) -> Self {
        Starts::new(Cow::Borrowed(starts.as_flattened()))
    }
}

impl<'a, const N: usize> From<&'a Vec<[f64; N]>> for Starts<'a> {
    fn from(starts: &'a Vec<[f64; N]>) -> Self {
        Starts::new(Cow::Borrowed(starts.as_flattened()))
    }
}

impl<'a, const N: usize, const M: usize> From<&'a [[f64; N]; M]> for Starts<'a> {
    fn from(starts: &'a [[f64; N]; M]) -> Self {
        Starts::new(Cow::Borrowed(starts.as_flattened()))
    }
}

impl<const N: usize> From<Vec<[f64; N]>> for Starts<'_> {
    fn from(starts: Vec<[f64; N]>) -> Self {
        Starts::new(Cow::Owned(starts.into_flattened()))
    }
}
