//! [`DataSet`]: the points of a table with their own copies of the numbers.

use super::columns::Table;
use super::division::Division;
use super::keys::ColumnKeys;
use crate::error::Result;
use crate::format::roles::ColumnKey;
use dualfit::arrays::Values;
use dualfit::{BatchData, Data, Missing, Sigma};
use std::ops::Range;
use std::sync::Arc;

/// The points of a table for one fit, or for one fit of each group if [`Groups`](super::Groups) created the set. It
/// owns its numbers and has no lifetime parameter, so that a structure can contain it.
///
/// [`data`](DataSet::data) borrows the points as [`Data`], for [`CurveFit::fit`](dualfit::CurveFit::fit) and others.
/// The points of a group are adjacent, group after group.
///
/// ```
/// # #[cfg(feature = "csv")] {
/// use dualfit::Fit;
/// use dualfit_io::{DataSet, Table, CsvOptions};
/// struct Experiment {
///     points: DataSet,
///     fit: Option<Fit>,
/// }
/// let text = "t;y;s\n0;1,0;0,1\n1;2,1;0,1\n2;2,9;0,2\n";
/// let table = Table::from_reader("text", text.as_bytes(), CsvOptions::detected())?;
/// let points = table.data("t", "y")?.sigma_column("s")?;
/// let mut experiment = Experiment { points, fit: None };
/// let line = dualfit::CurveFit::new(|t, [a, b]| a + b * t);
/// experiment.fit = Some(line.fit(experiment.points.data()?, [0.0, 1.0])?);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DataSet {
    table: Table,
    division: Option<Arc<Division>>,
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    sigma: Deviations,
    x_sigma: Vec<Vec<f64>>,
    mask: Option<Vec<bool>>,
    missing: Missing,
    infinite_x: bool,
}

/// Standard deviations of y.
#[derive(Clone, Debug)]
enum Deviations {
    Unknown,
    Constant(f64),
    Each { sigma: Vec<f64>, absolute: bool },
}

impl Table {
    /// Returns the points of a fit: all rows of these columns. `x`: the independent variables, one column or several,
    /// such as `"t"` or `["t", "T"]`. `y`: the response.
    ///
    /// # Errors
    /// The errors of [`columns`](Table::columns).
    pub fn data(&self, x: impl ColumnKeys, y: impl ColumnKey) -> Result<DataSet> {
        DataSet::new(self, None, &self.numbers_of(x)?, self.find(y)?)
    }
}

impl DataSet {
    pub(super) fn new(
        table: &Table,
        division: Option<Arc<Division>>,
        x: &[usize],
        y: usize,
    ) -> Result<DataSet> {
        let mut set = DataSet {
            table: table.clone(),
            division,
            x: Vec::new(),
            y: Vec::new(),
            sigma: Deviations::Unknown,
            x_sigma: Vec::new(),
            mask: None,
            missing: Missing::Error,
            infinite_x: false,
        };
        let mut columns = set.values(&[x, &[y]].concat())?;
        set.y = columns.pop().unwrap_or_default();
        set.x = columns;
        Ok(set)
    }

    /// Returns the values of columns in the order of the points.
    fn values(&self, columns: &[usize]) -> Result<Vec<Vec<f64>>> {
        let values = self.table.values(columns)?;
        Ok(values.into_iter().map(|column| self.in_order(column)).collect())
    }

    /// Permutes the values of the table's rows to the order of the points.
    fn in_order<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        match &self.division {
            None => values,
            Some(division) => division.rows.iter().map(|&row| values[row]).collect(),
        }
    }

    /// Sets the standard deviations of y, in the unit of y: [`Sigma::Absolute`].
    ///
    /// # Errors
    /// The errors of [`Table::data`]. [`Error::SigmaNotPositive`](dualfit::Error::SigmaNotPositive) occurs later, when
    /// the fit begins.
    pub fn sigma_column(self, column: impl ColumnKey) -> Result<DataSet> {
        self.each_sigma(column, true)
    }

    /// Sets the standard deviations of y up to a common factor: [`Sigma::Relative`].
    ///
    /// # Errors
    /// The errors of [`sigma_column`](DataSet::sigma_column).
    pub fn relative_sigma_column(self, column: impl ColumnKey) -> Result<DataSet> {
        self.each_sigma(column, false)
    }

    fn each_sigma(mut self, column: impl ColumnKey, absolute: bool) -> Result<DataSet> {
        let sigma = self.values(&[self.table.find(column)?])?.remove(0);
        self.expect_rows("sigma", sigma.len())?;
        self.sigma = Deviations::Each { sigma, absolute };
        Ok(self)
    }

    /// Sets the same standard deviation for all y, in the unit of y: [`Sigma::Constant`].
    ///
    /// # Errors
    /// [`Error::BadOption`](dualfit::Error::BadOption) if `value` is not positive.
    pub fn sigma(mut self, value: f64) -> Result<DataSet> {
        self.sigma = Deviations::Constant(value);
        self.data()?;
        Ok(self)
    }

    /// Sets the standard deviations of x, one column per independent variable; see [`Data::x_sigma`].
    ///
    /// # Errors
    /// The errors of [`Table::data`]; [`Error::LengthMismatch`](dualfit::Error::LengthMismatch) for another number of
    /// columns.
    pub fn x_sigma_column(mut self, columns: impl ColumnKeys) -> Result<DataSet> {
        let columns = self.table.numbers_of(columns)?;
        let remedy = "one column of standard deviations per column of x";
        expect_length("columns of x_sigma", columns.len(), self.x.len(), remedy)?;
        self.x_sigma = self.values(&columns)?;
        self.expect_rows("x_sigma", self.x_sigma.first().map_or(self.len(), Vec::len))?;
        Ok(self)
    }

    /// Sets the treatment of points that are not finite; see [`Data::missing`].
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> DataSet {
        self.missing = missing;
        self
    }

    /// Fits only the rows for which `mask` is true. `mask`: one value per row of the table.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](dualfit::Error::LengthMismatch) if there is not one value per row.
    pub fn mask(mut self, mask: Vec<bool>) -> Result<DataSet> {
        self.expect_rows("mask", mask.len())?;
        self.mask = Some(self.in_order(mask));
        Ok(self)
    }

    /// Accepts infinite values of x; see [`Data::allow_infinite_x`].
    #[must_use]
    pub fn allow_infinite_x(mut self, allow: bool) -> DataSet {
        self.infinite_x = allow;
        self
    }

    /// Borrows all points of all groups for a fit.
    pub fn data(&self) -> Result<Data<'_>> {
        self.part(0..self.len())
    }

    /// Borrows the points of each group for a joint fit, in the order of [`labels`](DataSet::labels). Without groups,
    /// the result has one element with all points.
    pub fn each(&self) -> Result<Vec<Data<'_>>> {
        match &self.division {
            None => Ok(vec![self.data()?]),
            Some(division) => division.offsets.windows(2).map(|o| self.part(o[0]..o[1])).collect(),
        }
    }

    /// Borrows the groups as a batch with one fit per group. Without groups, the batch has one fit.
    ///
    /// # Errors
    /// A set from a table does not cause errors.
    pub fn batch(&self) -> Result<BatchData<'_>> {
        let x: Vec<Values<'_>> = self.x.iter().map(Values::from).collect();
        let data = BatchData::own(x, &self.y)?;
        let data = match &self.division {
            None => data.points_per_fit(self.len())?,
            Some(division) => data.offsets(&division.offsets)?,
        };
        let data = data.missing(self.missing).sigma(self.sigma.of(&(0..self.len())))?;
        let data = match self.x_sigma.is_empty() {
            true => data,
            false => data.x_sigma(self.x_sigma.iter().collect::<Vec<_>>())?,
        };
        match &self.mask {
            None => Ok(data),
            Some(mask) => Ok(data.mask(mask)?),
        }
    }

    /// Returns the names of the groups; empty without groups.
    pub fn labels(&self) -> &[String] {
        self.division.as_ref().map_or(&[], |division| &division.labels)
    }

    /// Returns the row of a point in the table, from 0; `None` if there is no such point.
    pub fn row(&self, point: usize) -> Option<usize> {
        match &self.division {
            None => Some(point).filter(|&point| point < self.len()),
            Some(division) => division.rows.get(point).copied(),
        }
    }

    /// Returns the independent variables, one value for each point.
    pub fn x(&self) -> &[Vec<f64>] {
        &self.x
    }

    /// Returns the response, one value for each point.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// Returns the table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Returns true if there are no points; a set from a table is never empty.
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    fn expect_rows(&self, what: &str, found: usize) -> Result<()> {
        expect_length(what, found, self.len(), "one value per row of the table")
    }

    fn part(&self, range: Range<usize>) -> Result<Data<'_>> {
        let part = |column| Values::from(&Vec::as_slice(column)[range.clone()]);
        let columns: Vec<Values<'_>> = self.x.iter().map(part).collect();
        let data = Data::new(columns, part(&self.y))?
            .sigma(self.sigma.of(&range))?
            .missing(self.missing)
            .allow_infinite_x(self.infinite_x);
        let data = match self.x_sigma.is_empty() {
            true => data,
            false => data.x_sigma(self.x_sigma.iter().map(part).collect::<Vec<_>>())?,
        };
        match &self.mask {
            None => Ok(data),
            Some(mask) => Ok(data.mask(&mask[range])?),
        }
    }
}

impl Deviations {
    /// Returns the standard deviations of a range of points.
    fn of(&self, range: &Range<usize>) -> Sigma<'_> {
        match self {
            Deviations::Unknown => Sigma::Unknown,
            Deviations::Constant(sigma) => Sigma::Constant(*sigma),
            Deviations::Each { sigma, absolute: true } => Sigma::Absolute(&sigma[range.clone()]),
            Deviations::Each { sigma, absolute: false } => Sigma::Relative(&sigma[range.clone()]),
        }
    }
}

fn expect_length(what: &str, got: usize, expected: usize, remedy: &'static str) -> Result<()> {
    match got == expected {
        true => Ok(()),
        false => {
            Err(dualfit::Error::LengthMismatch { what: what.into(), expected, got, remedy }.into())
        }
    }
}
