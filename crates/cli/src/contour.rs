//! `--contour`: joint confidence regions of two parameters from the profile likelihood.

use crate::arguments::analyses::ContourArguments;
use crate::model::{Model, expect};
use crate::output::{is_stdout, note, put};
use crate::refusal::{Outcome, Refusal};
use crate::report::start_of;
use crate::written::undrawn;
use dualfit::result::{Contour, ContourLine, ContourOptions};
use dualfit::{Data, Fit};
use dualfit_plot::ContourPlot;
use serde_json::{Value, json};
use std::path::Path;

/// The two parameters of a contour.
pub(crate) struct Pair<'a> {
    names: [&'a str; 2],
}

impl<'a> Pair<'a> {
    /// Checks the names and that there is an output; `None` without `--contour`. `json`: true if the document is
    /// printed.
    pub(crate) fn read(
        asked: &'a ContourArguments,
        model: &Model,
        json: bool,
    ) -> Outcome<Option<Pair<'a>>> {
        let names = match &asked.contour[..] {
            [] => return Ok(None),
            [first, second] if first != second => [first.as_str(), second.as_str()],
            others => {
                let text = others.join(",");
                return Err(Refusal::usage(format!(
                    "--contour {text}: give two different parameters, as in --contour a,b"
                )));
            }
        };
        for name in names {
            expect("--contour", name, model.curve.parameters(), &model.variables)?;
        }
        match json || asked.contour_plot.is_some() {
            true => Ok(Some(Pair { names })),
            false => Err(Refusal::usage(format!(
                "--contour {}: say where to, with --contour-plot or --json",
                names.join(",")
            ))),
        }
    }

    /// Computes the regions. `level`: level of the outer line; by default there are lines for 68.27 % and 95 %.
    pub(crate) fn compute(
        &self,
        level: Option<f64>,
        (model, fit, data): (&Model, &Fit, &Data<'_>),
    ) -> dualfit::Result<Contour> {
        let options = ContourOptions::default();
        let options = match level {
            Some(level) => options.levels([level]),
            None => options,
        };
        let contour = model.curve.contour(fit, data.clone(), self.names, &options)?;
        if let Some(better) = &contour.better {
            note(format!(
                "--contour came upon a better minimum; fit again with --start {}",
                start_of(better)
            ));
        }
        Ok(contour)
    }
}

/// Returns the entry `contour` of the document.
pub(crate) fn document(contour: &Contour) -> Value {
    let line = |ContourLine { level, excess, paths }: &ContourLine| json!({ "level": level, "excess": excess, "paths": paths });
    json!({
        "names": contour.names,
        "best": contour.best,
        "lines": contour.lines.iter().map(line).collect::<Value>(),
    })
}

/// Draws the regions.
pub(crate) fn picture(path: &Path, contour: &Contour) -> Outcome<()> {
    let plot = ContourPlot::of(contour);
    let failed = |why| undrawn("--contour-plot", path, why);
    match is_stdout(path) {
        true => put(path, plot.to_svg().map_err(failed)?.as_bytes()),
        false => plot.save(path).map_err(failed),
    }
}
