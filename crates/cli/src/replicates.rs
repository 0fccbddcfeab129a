//! `--bootstrap`: standard errors and intervals of parameters and derived quantities from refits of drawn data.

use crate::arguments::analyses::BootstrapArguments;
use crate::output::note;
use crate::refusal::in_our_words;
use crate::words::{aligned, counted, percent, significant};
use dualfit::error::UncertaintyError;
use dualfit::{Bootstrap, CurveFit, Data, Error, Fit};
use serde_json::{Value, json};

/// Default level of the intervals.
const LEVEL: f64 = 0.95;

/// Result of a bootstrap.
pub(crate) struct Bootstrapped {
    asked: BootstrapArguments,
    seed: u64,
    level: f64,
    /// Numbers of refits that converged, that failed, and that were not run.
    converged: usize,
    failed: usize,
    not_run: usize,
    quantities: Vec<Quantity>,
}

/// A parameter or derived quantity over the refits.
struct Quantity {
    name: String,
    std_error: f64,
    bias: f64,
    /// Ends of the percentile interval; NaN if there are too few refits for the level.
    ends: (f64, f64),
}

impl Bootstrapped {
    /// Repeats `fit` on drawn data; `None` without `--bootstrap`, and with a note if the fit did not converge.
    pub(crate) fn run(
        asked: &BootstrapArguments,
        seed: u64,
        level: Option<f64>,
        (curve, fit, data): (&CurveFit, &Fit, &Data<'_>),
    ) -> dualfit::Result<Option<Bootstrapped>> {
        let Some(count) = asked.bootstrap else { return Ok(None) };
        if !fit.converged() {
            note("--bootstrap: the fit did not converge, so it is not repeated");
            return Ok(None);
        }
        let level = level.unwrap_or(LEVEL);
        let how = Bootstrap::new(count).seed(seed).resample(asked.resample.kind());
        let replicates = curve.bootstrap(fit, data.clone(), &how)?;
        let derived = fit.derived().iter().map(|derived| &derived.name);
        let (mut quantities, mut no_intervals) = (Vec::new(), None);
        for name in fit.names().iter().chain(derived) {
            let values = match replicates.quantity(name) {
                Err(why @ Error::Uncertainty(UncertaintyError::UndefinedQuantity { .. })) => {
                    note(format!("--bootstrap: {}", in_our_words(&why.to_string())));
                    continue;
                }
                values => values?,
            };
            let ends = values.percentile_interval(level);
            let ends = ends.map(|found| (found.lower, found.upper)).unwrap_or_else(|why| {
                no_intervals = Some(why);
                (f64::NAN, f64::NAN)
            });
            let (std_error, bias) = (values.std_error(), values.bias());
            quantities.push(Quantity { name: name.clone(), std_error, bias, ends });
        }
        if let Some(why) = no_intervals {
            note(format!("--bootstrap: no intervals: {}", in_our_words(&why.to_string())));
        }
        let (converged, failed) = (replicates.len(), replicates.failed());
        let (asked, not_run) = (asked.clone(), replicates.not_run());
        Ok(Some(Bootstrapped { asked, seed, level, converged, failed, not_run, quantities }))
    }

    /// Formats the result as a table, with an empty line and a title before it.
    pub(crate) fn table(&self) -> String {
        let Bootstrapped { asked, level, converged, failed, not_run, quantities, .. } = self;
        let titles = ["parameter", "std. error", "bias", "from", "to"].map(String::from);
        let number = |value: f64, digits: usize| match value.is_nan() {
            true => String::from("-"),
            false => significant(value, digits),
        };
        let row = |Quantity { name, std_error, bias, ends: (low, high) }: &Quantity| {
            let cells = [(*std_error, 4), (*bias, 2), (*low, 7), (*high, 7)];
            let cells = cells.map(|(value, digits)| number(value, digits));
            std::iter::once(name.clone()).chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = quantities.iter().map(row).collect();
        let others = [(*failed, "did not converge"), (*not_run, "were not run")];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        let others: String = others.map(|(count, what)| format!(", {count} {what}")).collect();
        let has_intervals = quantities.iter().any(|quantity| !quantity.ends.0.is_nan());
        let intervals = match has_intervals {
            true => format!("; {} % intervals from percentiles", percent(*level)),
            false => String::new(),
        };
        format!(
            "\nbootstrap, {} with drawn {}{others}{intervals}\n{}\n",
            counted(*converged, "refit"),
            asked.resample.drawn(),
            aligned(&titles, &rows).join("\n")
        )
    }

    /// Returns the entry `bootstrap` of the document.
    pub(crate) fn document(&self) -> Value {
        let Bootstrapped { asked, seed, level, converged, failed, not_run, quantities } = self;
        let quantity = |Quantity { name, std_error, bias, ends }: &Quantity| json!({ "name": name, "std_error": std_error, "bias": bias, "interval": ends });
        json!({
            "resample": asked.resample.name(),
            "seed": seed,
            "converged": converged,
            "failed": failed,
            "not_run": not_run,
            "level": level,
            "quantities": quantities.iter().map(quantity).collect::<Value>(),
        })
    }
}
