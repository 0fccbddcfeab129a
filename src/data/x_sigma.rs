//! Standard deviations of the independent variables, for fits with errors in x.

use super::columns::{column_name, expect_length};
use super::sigma::{Sigma, Weights};
use super::values::Values;
use crate::error::{Error, Result};
use std::ops::Range;

/// The standard deviations of each independent variable: one per point, or one number for all points.
/// Without columns every x is exact.
#[derive(Clone, Debug, Default)]
pub(crate) struct XSigma<'a> {
    columns: Vec<Values<'a>>,
}

impl<'a> XSigma<'a> {
    /// Creates the standard deviations. `expected`: number of independent variables.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the number of columns is not `expected`.
    pub(crate) fn new(columns: Vec<Values<'a>>, expected: usize) -> Result<XSigma<'a>> {
        let remedy = "one column of standard deviations per column of x, zeros where x is exact";
        expect_length("columns of x_sigma".into(), columns.len(), expected, remedy)?;
        Ok(XSigma { columns })
    }

    /// Creates the standard deviations from one column per independent variable with one value per point, or no
    /// columns.
    pub(crate) fn of(columns: Vec<Values<'a>>) -> XSigma<'a> {
        XSigma { columns }
    }

    /// Checks the lengths of the columns.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the length of a column is neither 1 nor in `lengths`.
    pub(crate) fn expect(&self, lengths: &[usize], remedy: &'static str) -> Result<()> {
        for (c, column) in self.columns.iter().enumerate() {
            let len = column.len();
            if len != 1 && !lengths.contains(&len) {
                expect_length(self.name(c), len, lengths[0], remedy)?;
            }
        }
        Ok(())
    }

    /// Checks the values. `kept`: the used points.
    ///
    /// # Errors
    /// [`Error::BadXSigma`] for the first invalid standard deviation of a used point;
    /// [`Error::UnsuitedSigma`] if errors of x cannot be compared with errors of y.
    pub(crate) fn check(
        &self,
        weights: Weights<'_>,
        kept: impl Iterator<Item = usize>,
    ) -> Result<()> {
        if self.is_exact() {
            return Ok(());
        }
        match weights {
            Weights::Equal => self.check_beside(Sigma::Unknown)?,
            Weights::Covariance { matrix, absolute: true } => {
                self.check_beside(Sigma::Covariance(matrix))?;
            }
            Weights::Covariance { matrix, absolute: false } => {
                self.check_beside(Sigma::RelativeCovariance(matrix))?;
            }
            Weights::Constant(_) | Weights::Each { .. } => {}
        }
        let kept: Vec<usize> = kept.collect();
        for c in 0..self.columns.len() {
            let bad = |&&i: &&usize| !(0.0..f64::INFINITY).contains(&self.at(c, i));
            if let Some(&index) = kept.iter().find(bad) {
                return Err(Error::BadXSigma {
                    what: self.name(c),
                    index,
                    value: self.at(c, index),
                });
            }
        }
        Ok(())
    }

    /// Checks that `sigma`, the sigma of y, can be combined with errors of x.
    ///
    /// # Errors
    /// [`Error::UnsuitedSigma`] if errors of x cannot be compared with errors of y.
    pub(crate) fn check_beside(&self, sigma: Sigma<'_>) -> Result<()> {
        let remedy = match sigma {
            _ if self.is_exact() => return Ok(()),
            Sigma::Unknown => "errors of x are weighed against those of y: say what these are",
            Sigma::Covariance(_) | Sigma::RelativeCovariance(_) => "give each point its own sigma",
            _ => return Ok(()),
        };
        Err(sigma.unsuited("a fit with errors in x", remedy))
    }

    /// Returns true if every x is exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the indices of the independent variables with errors.
    pub(crate) fn inexact(&self) -> Vec<usize> {
        let exact = |c: &Values<'_>| c.len() == 1 && c.at(0) == 0.0;
        (0..self.columns.len()).filter(|&c| !exact(&self.columns[c])).collect()
    }

    /// Returns the standard deviation of variable `column` at point `i`.
    pub(crate) fn at(&self, column: usize, i: usize) -> f64 {
        let values = &self.columns[column];
        values.at(if values.len() == 1 { 0 } else { i })
    }

    /// Returns true if the individual standard deviations of point `i` are finite.
    pub(crate) fn is_finite_at(&self, i: usize) -> bool {
        self.columns.iter().all(|c| c.len() == 1 || c.at(i).is_finite())
    }

    /// Returns the columns, in order.
    pub(crate) fn columns(&self) -> &[Values<'a>] {
        &self.columns
    }

    /// Returns the bytes per sample: the size of a value, added over all columns with more than one value.
    pub(crate) fn bytes_per_sample(&self) -> usize {
        self.columns.iter().filter(|c| c.len() > 1).map(Values::width).sum()
    }

    /// Returns the standard deviations of the samples `range` of a batch of `samples` samples. Columns of another
    /// length are shared by all fits.
    pub(crate) fn of_fit(&self, range: Range<usize>, samples: usize) -> XSigma<'a> {
        let own = |c: &Values<'a>| match c.len() == samples && samples > 1 {
            true => c.part(range.clone()),
            false => *c,
        };
        XSigma { columns: self.columns.iter().map(own).collect() }
    }

    fn name(&self, column: usize) -> String {
        column_name(column, self.columns.len()).replacen('x', "x_sigma", 1)
    }
}
