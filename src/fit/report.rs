//! Text report of a fit: the content of lmfit's report and further diagnostics.

use super::Fit;
use super::SetOfMany;
use super::propagated::Derived;
use crate::data::loss::{Estimator, Loss};
use crate::data::sigma::Spread;
use crate::error::quote::{significant, trimmed};
use crate::math::order::sort_few;
use std::fmt;

/// Correlations below this are not printed.
const WEAK_CORRELATION: f64 = 0.1;
/// Maximum number of printed correlations; the strongest come first.
const MOST_CORRELATIONS: usize = 12;
/// Maximum number of printed rows of a table, and of printed warnings. A joint fit lists the parameters of its first
/// set first, including the shared parameters.
pub(crate) const MOST_ROWS: usize = 60;

/// The setting that requests a search after a rejected fit.
const SEARCH: &str = "CurveFit::search(SearchOptions::default().when(SearchWhen::Rejected))";

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.ending())?;
        writeln!(f)?;
        self.parameter_table(f)?;
        writeln!(f)?;
        self.derived_table(f)?;
        self.statistics_lines(f)?;
        self.correlation_lines(f)?;
        if !self.warnings.is_empty() {
            writeln!(f)?;
        }
        for warning in self.warnings.iter().take(MOST_ROWS) {
            writeln!(f, "warning: {warning}")?;
        }
        more(f, self.warnings.len(), "warnings")?;
        if self.start_search().is_none() && self.would_search() {
            writeln!(f, "a search for the start may find a better minimum: {SEARCH}")?;
        }
        writeln!(f)?;
        self.computation_line(f)
    }
}

impl Fit {
    fn parameter_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.names.iter().take(MOST_ROWS);
        let name_width = shown.map(|n| n.chars().count()).max().unwrap_or(0).max(9);
        writeln!(
            f,
            "{:<name_width$}  {:>14}    {:>12}  {:>10}  {:>12}",
            "parameter", "value", "std. error", "relative", "start"
        )?;
        for (i, name) in self.names.iter().enumerate().take(MOST_ROWS) {
            let (value, error) = (self.params[i], self.covariance.errors[i]);
            let start = trimmed(self.start[i]);
            write!(f, "{name:<name_width$}  {:>14}", significant(value, 8))?;
            if let Some(formula) = self.ties.formula(i) {
                writeln!(f, "  {}  == {formula}", error_cell(error))?;
                continue;
            }
            match (self.fixed[i], self.at_bound[i]) {
                (true, _) if value.is_nan() => writeln!(f, "    {:>12}", "left out")?,
                (true, _) => writeln!(f, "    {:>12}  {:>10}  {start:>12}", "fixed", "")?,
                (_, Some(_)) => writeln!(f, "    {:>12}  {:>10}  {start:>12}", "at bound", "")?,
                _ if error == f64::INFINITY => {
                    writeln!(f, "    {:>12}  {:>10}  {start:>12}", "undetermined", "")?;
                }
                _ if error.is_nan() => {
                    writeln!(f, "    {:>12}  {:>10}  {start:>12}", "unknown", "")?;
                }
                _ => {
                    let relative = match value {
                        0.0 => String::new(),
                        _ => format!("{} %", significant(100.0 * error / value.abs(), 3)),
                    };
                    let error = significant(error, 4);
                    writeln!(f, "  ± {error:>12}  {relative:>10}  {start:>12}")?;
                }
            }
        }
        more(f, self.names.len(), "parameters")
    }

    /// Prints the derived quantities, if there are some, and an empty line.
    fn derived_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.derived.is_empty() {
            return Ok(());
        }
        let widths = self.derived.iter().take(MOST_ROWS).map(|d| d.name.chars().count());
        let width = widths.max().unwrap_or(0).max(9);
        writeln!(f, "{:<width$}  {:>14}    {:>12}", "derived", "value", "std. error")?;
        for Derived { name, value, std_error } in self.derived.iter().take(MOST_ROWS) {
            let (shown, error) = (significant(*value, 8), error_cell(*std_error));
            let error = if value.is_finite() { error } else { format!("  {:>12}", "not finite") };
            writeln!(f, "{name:<width$}  {shown:>14}  {error}")?;
        }
        more(f, self.derived.len(), "derived quantities")?;
        writeln!(f)
    }

    fn statistics_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let optional = |v: Option<f64>| v.map_or("none".to_owned(), |v| significant(v, 6));
        let [loss, reduced] = self.loss_titles();
        let rows = [
            [
                ("points", self.points.to_string()),
                ("estimated", self.estimated().to_string()),
                ("degrees of freedom", self.degrees_of_freedom().to_string()),
            ],
            [
                (loss, significant(self.chi_square(), 6)),
                (reduced, optional(self.reduced_chi_square())),
                (self.rmse_title(), significant(self.rmse(), 6)),
            ],
            [
                ("R²", optional(self.r_squared())),
                ("adjusted R²", optional(self.adjusted_r_squared())),
                ("loss", self.estimate_name().to_owned()),
            ],
            [
                ("AIC", significant(self.aic(), 6)),
                ("BIC", significant(self.bic(), 6)),
                ("condition", significant(self.condition(), 3)),
            ],
        ];
        for row in rows {
            let cells: Vec<String> =
                row.iter().map(|(name, value)| format!("{name:<18} {value:>12}")).collect();
            writeln!(f, "{}", cells.join("   "))?;
        }
        if let Some(p_value) = self.chi_square_p_value() {
            let title = format!("p of {loss}");
            writeln!(f, "{title:<18} {:>12}", significant(p_value, 3))?;
        }
        if self.omitted > 0 {
            writeln!(f, "{} point(s) masked or omitted", self.omitted)?;
        }
        if self.ignored > 0 {
            writeln!(f, "{} point(s) without weight: infinite sigma", self.ignored)?;
        }
        for (name, mean, sigma) in self.priors().into_iter().take(MOST_ROWS) {
            let (mean, sigma) = (significant(mean, 6), significant(sigma, 3));
            writeln!(f, "prior of {name}: {mean} ± {sigma}")?;
        }
        if let Some(scale) = self.loss.scale() {
            let effective = significant(self.weight, 4);
            writeln!(
                f,
                "residuals beyond {} count less; all together the points count as {effective}",
                trimmed(scale)
            )?;
        }
        let errors = match self.scaled {
            _ if self.estimator == Estimator::Poisson => {
                "Poisson maximum likelihood; standard errors follow from the Fisher information"
            }
            true if self.loss != Loss::Linear => {
                "standard errors are scaled by how far the points pull"
            }
            true => "standard errors are scaled by the scatter of the residuals",
            false if self.loss != Loss::Linear => {
                "standard errors follow from the given sigma, and are longer if outliers pull"
            }
            false => "standard errors follow from the given sigma alone",
        };
        writeln!(f, "{errors}")?;
        if let Some(search) = self.start_search() {
            writeln!(f, "{search}")?;
        }
        match self.part {
            Some(SetOfMany { set, sets, .. }) if sets > 1 => {
                writeln!(
                    f,
                    "set {set} of {sets}: points, chi-square and what follows from them are those of all"
                )
            }
            _ => Ok(()),
        }
    }

    /// Returns the titles of twice the cost and of its ratio to the degrees of freedom. Under a robust loss, twice the
    /// cost is not a sum of squares.
    fn loss_titles(&self) -> [&'static str; 2] {
        match (self.estimator, self.loss.scale()) {
            (Estimator::Poisson, _) => ["deviance", "deviance / dof"],
            (_, Some(_)) => ["chi-square (loss)", "reduced χ²"],
            (_, None) => ["chi-square", "reduced χ²"],
        }
    }

    /// Returns the title of the RMSE. Residuals are in units of sigma if sigma of y or x is known; residuals of counts
    /// are in units of their own standard deviation.
    fn rmse_title(&self) -> &'static str {
        if self.spread == Spread::Measured { "RMSE" } else { "RMSE / sigma" }
    }

    fn estimate_name(&self) -> &'static str {
        match self.estimator {
            Estimator::Poisson => "Poisson",
            Estimator::LeastSquares => self.loss.name(),
        }
    }

    fn correlation_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only correlations of parameters that the table shows.
        let shown: Vec<usize> = (0..self.names.len().min(MOST_ROWS)).collect();
        let correlation = self.covariance.correlations(&shown);
        let n = shown.len();
        let mut pairs: Vec<(usize, usize, f64)> = (0..n)
            .flat_map(|j| (0..j).map(move |i| (i, j)))
            .map(|(i, j)| (i, j, correlation[(i, j)]))
            .filter(|(_, _, r)| r.abs() >= WEAK_CORRELATION)
            .collect();
        if pairs.is_empty() {
            return Ok(());
        }
        sort_few(&mut pairs, |a, b| b.2.abs().total_cmp(&a.2.abs()));
        writeln!(f)?;
        writeln!(f, "correlations of at least {WEAK_CORRELATION}")?;
        let label =
            |&(i, j, _): &(usize, usize, f64)| format!("{}, {}", self.names[i], self.names[j]);
        let shown = &pairs[..pairs.len().min(MOST_CORRELATIONS)];
        let width = shown.iter().map(|p| label(p).chars().count()).max().unwrap_or(0);
        for pair in shown {
            writeln!(f, "  {:<width$}  {:>7.4}", label(pair), pair.2)?;
        }
        match pairs.len() - shown.len() {
            0 => Ok(()),
            more => writeln!(f, "  and {more} weaker"),
        }
    }

    fn computation_line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = &self.stats;
        let ms = |seconds: f64| significant(1e3 * seconds, 3);
        writeln!(f, "{s}")?;
        write!(
            f,
            "  (prepare {} ms, check data {} ms, find start {} ms, solve {} ms, covariance {} ms)",
            ms(s.prepare_seconds),
            ms(s.validate_seconds),
            ms(s.start_seconds),
            ms(s.solve_seconds),
            ms(s.covariance_seconds)
        )
    }
}

/// Prints the number of omitted lines out of `count`, if some are omitted.
fn more(f: &mut fmt::Formatter<'_>, count: usize, what: &str) -> fmt::Result {
    match count.saturating_sub(MOST_ROWS) {
        0 => Ok(()),
        left => writeln!(f, "and {left} more {what}"),
    }
}

/// Formats the standard error of a derived quantity, or the reason why the quantity has no standard error.
fn error_cell(error: f64) -> String {
    match error {
        e if e.is_finite() => format!("± {:>12}", significant(e, 4)),
        f64::INFINITY => format!("  {:>12}", "undetermined"),
        _ => format!("  {:>12}", "unknown"),
    }
}
