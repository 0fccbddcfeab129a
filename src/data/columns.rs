//! The independent variables: their columns, and the types in which a closure receives them.

use super::values::{Real, Values};
use crate::error::{Error, Result};
use crate::model::var::Var;

/// The independent variables of the data: `&x` for one, `[&x, &y]` for several, a vector of columns
/// if their number is known at run time only. All columns have one value per point.
pub trait Columns<'a> {
    /// Argument type of a model's closure: [`Var`], `[Var; D]` or `Vec<Var>`.
    type X: Arguments;

    /// Returns the columns, in order.
    ///
    /// # Errors
    /// If the elements of a column are not contiguous, which can happen with arrays of other crates.
    fn columns(self) -> Result<Vec<Values<'a>>>;
}

/// Argument type with which a closure receives its independent variables.
pub trait Arguments {
    /// Creates the arguments from one variable per column. Missing variables are NaN.
    fn arguments(columns: &[Var]) -> Self;

    /// Returns the number of columns of the closure's argument; `None` if any number is possible.
    fn count() -> Option<usize>;
}

impl Arguments for Var {
    fn arguments(columns: &[Var]) -> Var {
        columns.first().copied().unwrap_or(Var::from(f64::NAN))
    }

    fn count() -> Option<usize> {
        Some(1)
    }
}

impl<const D: usize> Arguments for [Var; D] {
    fn arguments(columns: &[Var]) -> [Var; D] {
        std::array::from_fn(|i| columns.get(i).copied().unwrap_or(Var::from(f64::NAN)))
    }

    fn count() -> Option<usize> {
        Some(D)
    }
}

impl Arguments for Vec<Var> {
    fn arguments(columns: &[Var]) -> Vec<Var> {
        columns.to_vec()
    }

    fn count() -> Option<usize> {
        None
    }
}

impl<'a, T: Real> Columns<'a> for &'a [T] {
    type X = Var;
    fn columns(self) -> Result<Vec<Values<'a>>> {
        Ok(vec![self.into()])
    }
}

impl<'a, T: Real> Columns<'a> for &'a Vec<T> {
    type X = Var;
    fn columns(self) -> Result<Vec<Values<'a>>> {
        Ok(vec![self.into()])
    }
}

impl<'a, T: Real, const N: usize> Columns<'a> for &'a [T; N] {
    type X = Var;
    fn columns(self) -> Result<Vec<Values<'a>>> {
        Ok(vec![self.into()])
    }
}

impl<'a, T: TryInto<Values<'a>>, const D: usize> Columns<'a> for [T; D]
where
    Error: From<T::Error>,
{
    type X = [Var; D];
    fn columns(self) -> Result<Vec<Values<'a>>> {
        self.into_iter().map(|column| Ok(column.try_into()?)).collect()
    }
}

impl<'a, T: TryInto<Values<'a>>> Columns<'a> for Vec<T>
where
    Error: From<T::Error>,
{
    type X = Vec<Var>;
    fn columns(self) -> Result<Vec<Values<'a>>> {
        self.into_iter().map(|column| Ok(column.try_into()?)).collect()
    }
}

/// Returns the name of a column: `x` for a single column, `x column 0, 1, …` for several.
pub(crate) fn column_name(index: usize, count: usize) -> String {
    if count == 1 { "x".into() } else { format!("x column {index}") }
}

/// Checks the lengths of the columns of x.
///
/// # Errors
/// [`Error::LengthMismatch`] for the first column whose length is not `expected`.
pub(crate) fn expect_columns(columns: &[Values<'_>], expected: usize) -> Result<()> {
    let remedy = "x is given as k columns of length n, one value per point";
    for (i, column) in columns.iter().enumerate() {
        expect_length(column_name(i, columns.len()), column.len(), expected, remedy)?;
    }
    Ok(())
}

pub(crate) fn expect_length(
    what: String,
    got: usize,
    expected: usize,
    remedy: &'static str,
) -> Result<()> {
    if got == expected {
        Ok(())
    } else {
        Err(Error::LengthMismatch { what, expected, got, remedy })
    }
}
