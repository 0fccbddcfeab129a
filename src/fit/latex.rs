//! LaTeX table of a fit: parameters with their errors, and statistics.

use super::Fit;
use super::SetOfMany;
use super::propagated::Propagated;
use super::rounding::rounded;
use crate::data::loss::Estimator;
use crate::error::quote::significant;
use crate::model::{escaped, power_of_ten, symbols};
use crate::solver::bounds::Side;

impl Fit {
    /// Returns the value of a parameter or a derived quantity with its standard error in parentheses, in units of the
    /// last digit: `1.235(12)` is 1.235 ± 0.012, `1.235(12)e-9` is (1.235 ± 0.012)·10⁻⁹. The error has two significant
    /// digits, and the value ends at the same digit. Without an error, the text contains the reason:
    /// `0.3 (fixed)`, `(at lower bound)`, `(undetermined)`, `(error unknown)`. `None` for an unknown name.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * x + 0.3 + 0.1 * (9.0 * x).sin()).collect();
    /// let fit = dualfit::CurveFit::new(|x, [slope, offset]| slope * x + offset)
    ///     .names(["slope", "offset"])
    ///     .fit(dualfit::Data::new(&x, &y)?, [1.0, 0.0])?;
    /// assert_eq!(fit.param_text("slope").as_deref(), Some("1.9953(70)"));
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn param_text(&self, name: &str) -> Option<String> {
        let found = self.quantity(name)?;
        let remark = match self.position(name) {
            Some(i) => self.remark(i),
            None => no_error(found.std_error),
        };
        let value = shown(found, remark);
        Some(remark.map_or(value.clone(), |remark| format!("{value} ({remark})")))
    }

    /// Returns a table for the package `booktabs`: one row per parameter with its value and standard error, as in
    /// [`param_text`](Fit::param_text), followed by the statistics. A fit that did not converge has an additional row
    /// with this statement.
    ///
    /// The names of parameters become symbols as in [`CurveFit::latex`](crate::CurveFit::latex).
    pub fn latex_table(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut lines = vec![
            "\\begin{tabular}{ll}".to_owned(),
            "\\toprule".into(),
            "Parameter & Value \\\\".into(),
            "\\midrule".into(),
        ];
        for (i, symbol) in symbols(&names).iter().enumerate() {
            lines.push(format!("${symbol}$ & {} \\\\", self.cell(i)));
        }
        lines.push("\\midrule".into());
        for (title, value) in self.statistics_cells() {
            lines.push(format!("{title} & {value} \\\\"));
        }
        if let Some(SetOfMany { sets, .. }) = self.part
            && sets > 1
        {
            lines.push(format!("\\multicolumn{{2}}{{l}}{{(of all {sets} sets)}} \\\\"));
        }
        if !self.converged() {
            let why = escaped(&self.termination.to_string());
            lines.push("\\midrule".into());
            lines.push(format!("\\multicolumn{{2}}{{l}}{{{why}}} \\\\"));
        }
        lines.extend(["\\bottomrule".to_owned(), "\\end{tabular}".into()]);
        lines.join("\n")
    }

    fn cell(&self, i: usize) -> String {
        let (value, std_error) = (self.params[i], self.covariance.errors[i]);
        let remark = self.remark(i);
        let value = shown(Propagated { value, std_error }, remark);
        let value = value.split(" ± ").map(power_of_ten).collect::<Vec<_>>().join(" \\pm ");
        remark.map_or(format!("${value}$"), |remark| format!("${value}$ ({remark})"))
    }

    /// Returns the reason why the parameter has no error; `None` if it has an error.
    pub(super) fn remark(&self, i: usize) -> Option<&'static str> {
        match (self.fixed[i], self.at_bound[i]) {
            (true, _) => Some("fixed"),
            (_, Some(Side::Lower)) => Some("at lower bound"),
            (_, Some(Side::Upper)) => Some("at upper bound"),
            _ => no_error(self.covariance.errors[i]),
        }
    }

    fn statistics_cells(&self) -> Vec<(&'static str, String)> {
        let number = |value: f64| format!("${}$", power_of_ten(&significant(value, 4)));
        let chi_square = match (self.estimator, self.loss.scale()) {
            (Estimator::Poisson, _) => ["deviance", "deviance per degree of freedom"],
            (_, Some(_)) => ["$\\chi^2$ (loss)", "$\\chi^2_\\nu$ (loss)"],
            (_, None) => ["$\\chi^2$", "$\\chi^2_\\nu$"],
        };
        let mut cells = vec![
            ("points", format!("${}$", self.points)),
            ("degrees of freedom", format!("${}$", self.degrees_of_freedom())),
            (chi_square[0], number(self.chi_square())),
        ];
        let optional = [(chi_square[1], self.reduced_chi_square()), ("$R^2$", self.r_squared())];
        cells.extend(optional.into_iter().filter_map(|(t, value)| Some((t, number(value?)))));
        cells.extend([("AIC", number(self.aic())), ("BIC", number(self.bic()))]);
        cells
    }
}

/// Returns the text of a value with its error, or with the `remark` instead of the error.
fn shown(Propagated { value, std_error }: Propagated, remark: Option<&str>) -> String {
    match (remark, rounded(value, std_error)) {
        (None, Some(text)) => text,
        (None, None) => format!("{value} ± {}", significant(std_error, 2)),
        (Some(_), _) => significant(value, 6),
    }
}

/// Returns the reason why an error is not finite; `None` if it is finite.
fn no_error(std_error: f64) -> Option<&'static str> {
    match std_error {
        f64::INFINITY => Some("undetermined"),
        error if error.is_nan() => Some("error unknown"),
        _ => None,
    }
}
