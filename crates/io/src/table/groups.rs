//! Groups of rows of a table.

use super::columns::Table;
use super::division::Division;
use super::keys::ColumnKeys;
use super::set::DataSet;
use crate::error::{Result, TableError};
use crate::format::roles::ColumnKey;
use std::sync::Arc;

/// Groups of rows with the same word in a column, for example the number of a run or the name of a sample. Returned by
/// [`Table::groups`].
///
/// Groups are in the order of their first rows, and the rows of a group in the order of the table; they need not be
/// adjacent. Texts are compared as written, without spaces around them: in a text table `1` and `1.0` are
/// two groups.
///
/// ```
/// # #[cfg(feature = "csv")] {
/// use dualfit::{CurveFit, GlobalFit};
/// use dualfit_io::{Table, CsvOptions};
/// let text = "run,t,y\nb,0,3.1\na,0,2.1\nb,1,1.9\na,1,1.2\na,2,0.8\nb,2,1.1\n";
/// let table = Table::from_reader("runs", text.as_bytes(), CsvOptions::detected())?;
/// let groups = table.groups("run")?;
/// assert_eq!(groups.labels(), ["b", "a"]);
///
/// let set = groups.data("t", "y")?;
/// let decay = CurveFit::new(|t, [a, rate]| a * (-rate * t).exp()).names(["a", "rate"]);
/// let each = decay.fit_batch(set.batch()?, [1.0, 1.0])?; // every group by itself
/// let joint = GlobalFit::new(&decay).share(["rate"]).fit(set.each()?, [1.0, 1.0, 1.0])?; // one rate for all
/// assert_eq!((each.n_fits(), joint.sets()), (2, 2));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Groups {
    table: Table,
    division: Arc<Division>,
}

impl Table {
    /// Groups the rows with the same value in this column; see [`Groups`].
    ///
    /// # Errors
    /// The errors of [`words`](Table::words); [`TableError::NoGroup`] if a row has no value in the column: an empty
    /// field, `NA`, `NaN` or `null`.
    pub fn groups(&self, column: impl ColumnKey) -> Result<Groups> {
        const NONE: [&str; 6] = ["", "na", "n/a", "#n/a", "nan", "null"];
        let column = self.find(column)?;
        let words = self.words(column)?;
        let is_none = |word: &String| NONE.iter().any(|none| none.eq_ignore_ascii_case(word));
        match words.iter().position(is_none) {
            None => {
                let division = Arc::new(Division::new(&words));
                Ok(Groups { table: self.clone(), division })
            }
            Some(row) => Err(TableError::NoGroup {
                place: self.place(row as u64, column),
                column: self.names()[column].clone(),
                count: words.iter().filter(|word| is_none(word)).count(),
            }),
        }
    }
}

impl Groups {
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.division.labels.len()
    }

    /// Returns true if there are no groups; the groups of a table are never empty.
    pub fn is_empty(&self) -> bool {
        self.division.labels.is_empty()
    }

    /// Returns the common word of each group.
    pub fn labels(&self) -> &[String] {
        &self.division.labels
    }

    /// Returns the rows of a group, counted from 0, in the order of the table; empty if there is no such group.
    pub fn rows(&self, group: usize) -> &[usize] {
        let Division { rows, offsets, .. } = &*self.division;
        let (begin, end) = (offsets.get(group), offsets.get(group + 1));
        begin.zip(end).map_or(&[], |(&begin, &end)| &rows[begin..end])
    }

    /// Returns the points of a fit like [`Table::data`], but in the order of the groups.
    ///
    /// # Errors
    /// The errors of [`Table::data`].
    pub fn data(&self, x: impl ColumnKeys, y: impl ColumnKey) -> Result<DataSet> {
        let (x, y) = (self.table.numbers_of(x)?, self.table.find(y)?);
        DataSet::new(&self.table, Some(self.division.clone()), &x, y)
    }
}
