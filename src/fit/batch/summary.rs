//! Summary of a batch: the number of fits with each status, and quartiles of the parameters.

use super::{BatchFit, BatchFitView};
use crate::error::quote::significant;
use crate::fit::propagated::Propagated;
use crate::fit::table::{ParameterTable, TableCell};
use crate::fit::verify::is_little;
use crate::math::order::sort_few;
use std::fmt;

impl BatchFit {
    /// Number of fits of each status, the most frequent first.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for status in &self.arrays.statuses {
            let kind = status.kind();
            match counts.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, count)) => *count += 1,
                None => counts.push((kind, 1)),
            }
        }
        sort_few(&mut counts, |a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        counts
    }

    /// Returns the quartiles (25, 50 and 75 %) of a parameter over the converged fits.
    fn quartiles(&self, parameter: usize) -> Option<[f64; 3]> {
        let converged = self.iter().filter(|fit| fit.converged());
        let mut values: Vec<f64> = converged.map(|fit| fit.params()[parameter]).collect();
        if values.is_empty() {
            return None;
        }
        let mut at = |quarters: usize| {
            let nth = (values.len() - 1) * quarters / 4;
            *values.select_nth_unstable_by(nth, f64::total_cmp).1
        };
        Some([at(1), at(2), at(3)])
    }
}

impl fmt::Display for BatchFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fits, seconds) = (self.n_fits(), self.seconds);
        write!(f, "{fits} fits of {} parameters in {seconds:.3} s", self.n_params())?;
        match self.device() {
            None => writeln!(f, " on the CPU ({} threads)", self.threads)?,
            Some(device) => writeln!(f, " on {device}, {} of them by the CPU", self.left_to_cpu())?,
        }
        if let Some(parts) = self.parts() {
            writeln!(f, "  {parts}")?;
        }
        for (kind, count) in self.counts() {
            let percent = 100.0 * count as f64 / fits as f64;
            writeln!(f, "  {count:>9}  {percent:>6.2} %  {kind}")?;
        }
        let few = |fit: &BatchFitView<'_>| {
            fit.converged() && is_little(fit.effective_points(), fit.points(), fit.rank())
        };
        let few = self.iter().filter(few).count();
        if few > 0 {
            writeln!(f, "  of {few} that converged only few points count under the loss")?;
        }
        let rejected = self.iter().filter(BatchFitView::is_rejected).count();
        if rejected > 0 {
            writeln!(f, "  of {rejected} that converged the data reject the curve")?;
        }
        if let Some(fit) = self.first_bad() {
            writeln!(
                f,
                "  the first that did not converge is fit {fit}: {}",
                self.fit(fit).status_text()
            )?;
        }
        let mut first = true;
        for (i, name) in self.names.iter().enumerate().filter(|&(i, _)| !self.fixed[i]) {
            let Some([low, middle, high]) = self.quartiles(i) else { break };
            if std::mem::take(&mut first) {
                let (quarter, three) = ("25 %", "75 %");
                writeln!(f, "  {:<16} {quarter:>14} {:>14} {three:>14}", "parameter", "median")?;
            }
            let [low, middle, high] = [low, middle, high].map(|value| significant(value, 7));
            writeln!(f, "  {name:<16} {low:>14} {middle:>14} {high:>14}")?;
        }
        Ok(())
    }
}

impl BatchFit {
    /// Returns a table with one row per fit. The columns are its number, its status, the parameters and the quantities
    /// from [`derive`](crate::CurveFit::derive), the cost, and the number of used points. The standard error of each
    /// parameter or quantity follows its value (column name with ` std. error`). Numbers of fits that were not made are
    /// NaN.
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
