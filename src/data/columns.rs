//! The independent variables: one column each, and how many a closure is called with.

use super::values::{Real, Values};
use crate::error::{Error, Result};
use crate::model::var::Var;

/// The independent variables of the data: `&x` for one, `[&x, &y]` for several, a vector of columns
/// where their number is known at run time only. All columns have one value per point.
pub trait Columns<'a> {
    /// Argument type of a model's closure: [`Var`], `[Var; D]` or `Vec<Var>`.
    type X: Arguments;

    /// The columns, in order.
    ///
    /// # Errors
    /// Where the numbers of a column do not lie side by side, as they may not in arrays of other
    /// crates.
    fn columns(self) -> Result<Vec<Values<'a>>>;
}

/// Form in which a closure receives its independent variables.
pub trait Arguments {
    /// The arguments from one variable per column. Variables that are missing are NaN.
    fn arguments(columns: &[Var]) -> Self;

    /// Number of columns that the closure takes, or `None` if any number will do.
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

/// `x` for a single column, `x column 0, 1, …` for several.
pub(crate) fn column_name(index: usize, count: usize) -> String {
    if count == 1 { "x".into() } else { format!("x column {index}") }
}

/// # Errors
/// [`Error::LengthMismatch`] for the first column that has not `expected` values.
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
