//! Rows of a table divided into groups.

use super::keys::ColumnKeys;
use super::set::DataSet;
use super::{ColumnKey, Table};
use crate::error::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// The rows of a table in groups: those with the same word in a column, as the number of a run or the name of a
/// sample. [`Table::groups`] makes them.
///
/// Groups come in the order in which their first rows do, and their rows in the table's order, wherever in it they
/// stand. What is compared is the text as it is written, without spaces around it: in a text table `1` and `1.0` are
/// two groups.
///
/// ```
/// # #[cfg(feature = "csv")] {
/// use dualfit::{CurveFit, GlobalFit, Table, source::CsvOptions};
/// let text = "run,t,y\nb,0,3.1\na,0,2.1\nb,1,1.9\na,1,1.2\na,2,0.8\nb,2,1.1\n";
/// let table = Table::from_reader("runs", text.as_bytes(), CsvOptions::detected())?;
/// let groups = table.groups("run")?;
/// assert_eq!(groups.labels(), ["b", "a"]);
///
/// let set = groups.data("t", "y")?;
/// let decay = CurveFit::new(|t, [a, rate]| a * (-rate * t).exp()).names(["a", "rate"]);
/// let each = decay.fit_batch(set.batch()?, [1.0, 1.0])?; // every group by itself
/// let joint = GlobalFit::new(&decay).share(["rate"]).fit(set.each(), [1.0, 1.0, 1.0])?; // one rate for all
/// assert_eq!((each.n_fits(), joint.sets()), (2, 2));
/// # }
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Groups {
    table: Table,
    division: Arc<Division>,
}

/// Which rows belong to which group.
#[derive(Debug)]
pub(super) struct Division {
    pub(super) labels: Vec<String>,
    /// All rows, group after group.
    pub(super) rows: Vec<usize>,
    /// Where each group begins, and where the last one ends.
    pub(super) offsets: Vec<usize>,
}

impl Groups {
    /// `words`: one for each row.
    pub(super) fn new(table: &Table, words: &[String]) -> Groups {
        let mut labels: Vec<String> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut group_of = |word| {
            *known.entry(word).or_insert_with(|| {
                labels.push(String::from(word));
                labels.len() - 1
            })
        };
        let group_of: Vec<usize> = words.iter().map(|word| group_of(word)).collect();
        let mut offsets = vec![0; labels.len() + 1];
        group_of.iter().for_each(|&group| offsets[group + 1] += 1);
        for group in 0..labels.len() {
            offsets[group + 1] += offsets[group];
        }
        let mut rows: Vec<usize> = (0..words.len()).collect();
        rows.sort_by_key(|&row| group_of[row]);
        let division = Arc::new(Division { labels, rows, offsets });
        Groups { table: table.clone(), division }
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.division.labels.len()
    }

    /// Whether there are none; never so for those of a table.
    pub fn is_empty(&self) -> bool {
        self.division.labels.is_empty()
    }

    /// What the rows of each group have in common.
    pub fn labels(&self) -> &[String] {
        &self.division.labels
    }

    /// The rows of a group, counted from 0, in the table's order; none if there is no such group.
    pub fn rows(&self, group: usize) -> &[usize] {
        let Division { rows, offsets, .. } = &*self.division;
        let (begin, end) = (offsets.get(group), offsets.get(group + 1));
        begin.zip(end).map_or(&[], |(&begin, &end)| &rows[begin..end])
    }

    /// As [`Table::data`], with the points group after group.
    ///
    /// # Errors
    /// As [`Table::data`].
    pub fn data(&self, x: impl ColumnKeys, y: impl ColumnKey) -> Result<DataSet> {
        let (x, y) = (self.table.numbers_of(x)?, self.table.find(y)?);
        DataSet::new(&self.table, Some(self.division.clone()), &x, y)
    }
}
