//! A bootstrap as text.

use super::{Replicates, Resample, Resampled};
use crate::fit::significant::significant;
use std::fmt;

/// The level of the intervals in the table.
const LEVEL: f64 = 0.95;

impl fmt::Display for Replicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawn = match self.resample {
            Resample::Residuals => "residuals",
            Resample::Parametric => "errors",
            Resample::Pairs => "points",
        };
        write!(f, "{} replicates of drawn {drawn}, {} failed", self.len(), self.failed)?;
        if self.not_run > 0 {
            write!(f, ", {} not run: stopped by the caller", self.not_run)?;
        }
        if self.is_empty() {
            return Ok(());
        }
        write!(f, "\n\n{:>14}  {:>14}  {:>10}  {:>10}", "", "value", "std error", "bias")?;
        let derived = self.derived.iter().filter_map(|(name, _)| self.quantity(name).ok());
        let all: Vec<Resampled> = self.all().chain(derived).collect();
        let shows = all.iter().all(|row| row.percentile_interval(LEVEL).is_ok());
        if shows {
            write!(f, "  {:>26}", "percentiles, 95 %")?;
        }
        for row in &all {
            let [value, error, bias] = [(row.estimate(), 8), (row.std_error(), 3), (row.bias(), 2)]
                .map(|(number, digits)| significant(number, digits));
            write!(f, "\n{:>14}  {value:>14}  {error:>10}  {bias:>10}", row.name())?;
            if let Some(ends) = row.percentile_interval(LEVEL).ok().filter(|_| shows) {
                let [lower, upper] = [ends.lower, ends.upper].map(|end| significant(end, 5));
                write!(f, "  {lower:>12}  {upper:>12}")?;
            }
        }
        Ok(())
    }
}
