//! A batch as a table: one row for each fit.

use super::BatchFit;
use crate::fit::propagated::Propagated;
use crate::fit::table::{ParameterTable, TableCell};

impl BatchFit {
    /// All fits as a table, one row each: its number, its status, each parameter and each quantity from
    /// [`derive`](crate::CurveFit::derive), each followed by its standard error (its name with ` std. error`),
    /// the cost, and the number of used points. Numbers of fits that
    /// were not made are NaN.
    ///
    /// ```
    /// use dualfit::{BatchData, CurveFit};
    /// let (x, y) = ([0.0, 1.0, 2.0], [1.0, 3.0, 5.5, 2.0, 2.1, 1.9]);
    /// let line = CurveFit::new(|x, [a, b]| a + b * x).names(["offset", "slope"]);
    /// let batch = line.fit_batch(BatchData::shared(&x, &y)?, [0.0, 1.0])?;
    /// let table = batch.table().to_string();
    /// assert!(table.starts_with("fit  status     offset  offset std. error   slope  slope std. error"));
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn table(&self) -> ParameterTable {
        let mut heads = vec!["fit".to_owned(), "status".to_owned()];
        let names = self.names.iter().map(String::as_str).chain(self.asked_for());
        heads.extend(names.flat_map(|name| [name.to_owned(), format!("{name} std. error")]));
        heads.extend(["cost".to_owned(), "points".to_owned()]);
        let row = |fit: super::BatchFitView<'_>| {
            let mut row = Vec::with_capacity(heads.len());
            row.extend([TableCell::Count(fit.index()), TableCell::Words(fit.status().kind())]);
            for (&value, &error) in fit.params().iter().zip(fit.std_errors()) {
                row.extend([TableCell::Value(value, error), TableCell::Error(error)]);
            }
            for name in self.asked_for() {
                let Some(Propagated { value, std_error }) = fit.quantity(name) else { continue };
                row.extend([TableCell::Value(value, std_error), TableCell::Error(std_error)]);
            }
            row.extend([TableCell::Plain(fit.cost()), TableCell::Count(fit.points())]);
            row
        };
        let rows = self.iter().map(row).collect();
        ParameterTable::new(heads, rows)
    }
}
