//! Results of a batch as a printed table, as a JSON document and as CSV.

use super::Entry;
use crate::json::{formula, found, joined, printed};
use crate::model::Model;
use crate::output::{BAD, DOUBTFUL, GOOD, explain, extension, print, put, put_table, styled};
use crate::predictions::{Predictions, Reported};
use crate::refusal::{DONE, NOT_CONVERGED, Outcome, in_our_words};
use crate::words::{aligned, counted, on_a_line, seconds, significant, visible};
use dualfit::{Fit, JointFit};
use serde_json::{Value, json};
use std::fmt::Display;
use std::path::Path;

/// Maximum number of rows of the printed table if all rows are also written to a file.
const MOST_ROWS: usize = 20;

pub(crate) struct Results<'a> {
    pub(crate) model: &'a Model,
    pub(crate) entries: &'a [Entry],
    /// Name of the column that divides rows into groups.
    pub(crate) by: Option<String>,
    /// Joint fit of all groups; the entries are views of it.
    pub(crate) joint: Option<&'a JointFit>,
    /// Predictions of each entry; `None` for an entry without a fit. Empty if no predictions were requested.
    pub(crate) predictions: Vec<Option<Predictions<'a>>>,
    pub(crate) seconds: f64,
}

/// Output files.
#[derive(Clone, Copy)]
pub(crate) struct Files<'a> {
    pub(crate) out: Option<&'a Path>,
    pub(crate) predictions: Option<&'a Path>,
}

impl Results<'_> {
    /// Writes and prints the results. Returns the exit code.
    pub(crate) fn end(&self, files: Files<'_>, json: bool, on_stdout: bool) -> Outcome<u8> {
        let out = files.out;
        // If all fits failed, the first error is reported.
        if self.entries.iter().all(|entry| entry.outcome.is_err())
            && let Some(Entry { outcome: Err(refusal), .. }) = self.entries.first()
        {
            return Err(refusal.clone());
        }
        match out {
            Some(path) if extension(path) == "json" => put(path, self.document().as_bytes())?,
            Some(path) => put_table(path, &self.header(), self.records())?,
            None => {}
        }
        if let Some(predictions) = self.predictions.iter().flatten().next() {
            predictions.note_what_is_unknown();
        }
        let reported = self.reported();
        let text = || self.table(out) + &reported.table(files.predictions);
        match json {
            true => print(&self.document())?,
            false if on_stdout => explain(&text()),
            false => print(&text())?,
        }
        if let Some(path) = files.predictions {
            reported.write(path)?;
        }
        Ok(if self.converged() == self.entries.len() { DONE } else { NOT_CONVERGED })
    }

    fn reported(&self) -> Reported<'_> {
        let fits = self.entries.iter().zip(&self.predictions);
        let fits = fits.filter_map(|(entry, of)| Some((entry.group.as_deref(), of.as_ref()?)));
        Reported { by: self.by.as_deref(), fits: fits.collect() }
    }

    fn converged(&self) -> usize {
        self.entries.iter().filter(|entry| entry.converged()).count()
    }

    /// Returns the document of `dualfit batch --json`.
    fn document(&self) -> String {
        let one = |entry: &Entry| {
            let mut origin = json!({ "file": entry.file, "y": entry.column });
            if let Some(group) = &entry.group {
                origin["group"] = json!(group);
            }
            joined(
                origin,
                match &entry.outcome {
                    Err(refusal) => json!({ "error": refusal.message }),
                    Ok(fit) => found(self.model, fit),
                },
            )
        };
        let mut document = json!({
            "dualfit": env!("CARGO_PKG_VERSION"),
            "model": formula(self.model),
            "converged": self.converged(),
            "fits": self.entries.iter().map(one).collect::<Value>(),
        });
        if let Some(by) = &self.by {
            document["by"] = json!(by);
        }
        for (i, predictions) in self.predictions.iter().enumerate() {
            if let Some(predictions) = predictions {
                document["fits"][i]["predictions"] = predictions.document();
            }
        }
        if let Some(joint) = self.joint {
            document["joint"] = found(self.model, joint.fit());
        }
        printed(&document)
    }

    /// Returns the header of the CSV.
    fn header(&self) -> Vec<String> {
        let last = ["points", "chi_square", "reduced_chi_square", "r_squared", "message"];
        let names = self.model.curve.parameters().iter();
        let pairs = names.flat_map(|name| [name.clone(), format!("{name}_error")]);
        let first = ["file", "y"].into_iter().chain(self.by.is_some().then_some("group"));
        let first = first.chain(["converged"]).map(String::from);
        first.chain(pairs).chain(last.map(String::from)).collect()
    }

    /// Returns the rows of the CSV, one per fit; NaN becomes an empty field.
    fn records(&self) -> impl Iterator<Item = Vec<String>> {
        self.entries.iter().map(|entry| record(entry, self.model.curve.parameters().len()))
    }

    /// Formats the printed table. `out`: the file that receives all rows, if there is one.
    fn table(&self, out: Option<&Path>) -> String {
        let names = self.model.curve.parameters();
        let mut titles = vec![self.by.clone().unwrap_or_else(|| "fit".into())];
        for name in names {
            titles.extend([name.clone(), "±".into()]);
        }
        titles.extend(["reduced χ²".into(), String::new()]);
        let shown = match out {
            Some(_) => self.entries.len().min(MOST_ROWS),
            None => self.entries.len(),
        };
        let of_one_table = self.entries.iter().all(|entry| entry.file == self.entries[0].file);
        let mut columns = self.entries.iter().map(|entry| &entry.column).filter(|c| !c.is_empty());
        let first = columns.next();
        let of_one_column = columns.all(|column| Some(column) == first);
        let of_column =
            |entry: &Entry| match (of_one_table, of_one_column || entry.column.is_empty()) {
                (true, _) => entry.column.clone(),
                (_, true) => entry.file.clone(),
                _ => format!("{}: {}", entry.file, entry.column),
            };
        let label = |entry: &Entry| match &entry.group {
            Some(group) => visible(group).into_owned(),
            None => of_column(entry),
        };
        let rows: Vec<Vec<String>> = self.entries[..shown]
            .iter()
            .map(|entry| row(label(entry), entry, names.len()))
            .collect();
        let mut text = format!("model: {}\n\n", on_a_line(&self.model.text));
        for (i, line) in aligned(&titles, &rows).iter().enumerate() {
            // The error message follows the aligned columns, so that it does not widen them.
            let why = i.checked_sub(1).and_then(|i| self.entries[i].complaint());
            let why = why.map_or_else(String::new, |why| format!("  {}", styled(BAD, why)));
            text += &format!("{line}{why}\n");
        }
        if shown < self.entries.len() {
            let file = out.map(|path| path.display().to_string()).unwrap_or_default();
            let file = if file == "-" { "standard output".into() } else { file };
            text += &format!("and {} more, all in {file}\n", self.entries.len() - shown);
        }
        let (converged, all) = (self.converged(), self.entries.len());
        let style = if converged == all { GOOD } else { BAD };
        let told = match self.joint {
            None => format!("{converged} of {} converged", counted(all, "fit")),
            Some(joint) => {
                format!("joint fit of {} {}", counted(all, "group"), joint.fit().termination())
            }
        };
        let told = format!("\n{} in {}\n", styled(style, told), seconds(self.seconds));
        text + &told + &self.doubts()
    }

    /// Replaces the numbers of sets in a message by the labels of the groups.
    fn with_labels(&self, text: String) -> String {
        let labels = self.entries.iter().filter_map(|entry| entry.group.as_deref()).enumerate();
        labels.fold(text, |text, (set, label)| {
            text.replace(&format!("of set {} ", set + 1), &format!("of group {} ", visible(label)))
        })
    }

    /// Returns a line about warnings, which the table does not show; empty if there are none.
    fn doubts(&self) -> String {
        let of_entries = self.entries.iter().filter_map(Entry::fit);
        let warned = of_entries.filter(|fit| !fit.warnings().is_empty()).count();
        match (self.joint, warned) {
            (Some(joint), _) => {
                let warnings = joint.fit().warnings().iter();
                let line = |warning: &dyn Display| {
                    let text = self.with_labels(in_our_words(&warning.to_string()));
                    format!("{}\n", styled(DOUBTFUL, format!("warning: {text}")))
                };
                warnings.map(|warning| line(warning)).collect()
            }
            (None, 0) => String::new(),
            (None, warned) => {
                let has = if warned == 1 { "has" } else { "have" };
                let text = format!("{} {has} warnings, which --json shows", counted(warned, "fit"));
                format!("{}\n", styled(DOUBTFUL, text))
            }
        }
    }
}

impl Entry {
    pub(crate) fn fit(&self) -> Option<&Fit> {
        self.outcome.as_ref().ok()
    }

    pub(crate) fn converged(&self) -> bool {
        self.outcome.as_ref().is_ok_and(Fit::converged)
    }

    /// Returns the first line of the error, or the reason why the fit did not converge; `None` if it converged.
    pub(crate) fn complaint(&self) -> Option<String> {
        match &self.outcome {
            Err(refusal) => Some(refusal.message.lines().next().unwrap_or_default().to_owned()),
            Ok(fit) if fit.converged() => None,
            Ok(fit) => {
                let said = fit.termination().to_string();
                said.split(';').next().map(str::to_owned)
            }
        }
    }
}

fn row(label: String, entry: &Entry, parameters: usize) -> Vec<String> {
    let mut row = vec![label];
    match &entry.outcome {
        Err(_) => row.resize(2 * parameters + 2, String::from("-")),
        Ok(fit) => {
            for (value, error) in fit.params().iter().zip(fit.std_errors()) {
                let error = if error == 0.0 { "fixed".into() } else { significant(error, 3) };
                row.extend([significant(*value, 7), error]);
            }
            let reduced = fit.reduced_chi_square();
            row.push(reduced.map_or_else(|| "-".into(), |value| significant(value, 5)));
        }
    }
    row
}

fn record(entry: &Entry, parameters: usize) -> Vec<String> {
    let number = |value: f64| if value.is_nan() { String::new() } else { format!("{value:?}") };
    let optional = |value: Option<f64>| value.map_or_else(String::new, number);
    let mut row = vec![entry.file.clone(), entry.column.clone()];
    row.extend(entry.group.clone());
    row.push(entry.converged().to_string());
    match &entry.outcome {
        Err(refusal) => {
            row.resize(row.len() + 2 * parameters + 4, String::new());
            row.push(refusal.message.clone());
        }
        Ok(fit) => {
            for (value, error) in fit.params().iter().zip(fit.std_errors()) {
                row.extend([number(*value), number(error)]);
            }
            row.extend([fit.points().to_string(), number(fit.chi_square())]);
            row.extend([optional(fit.reduced_chi_square()), optional(fit.r_squared())]);
            row.push(in_our_words(&fit.termination().to_string()));
        }
    }
    row
}
