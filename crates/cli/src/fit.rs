//! `dualfit fit`: one model, one table, one fit.

use crate::arguments::FitArguments;
use crate::batch::groups;
use crate::json::{document, printed};
use crate::model::Model;
use crate::output::{explain, note, print, put};
use crate::points::{Points, Roles};
use crate::predictions::{At, Predictions, Reported};
use crate::refusal::{DONE, NOT_CONVERGED, Outcome, Refusal, refused_at};
use crate::replicates::Bootstrapped;
use crate::report::{self, Intervals};
use crate::table::Table;
use crate::watch::{clear_progress, stop_on_interrupt, watched};
use crate::{destinations, written};
use dualfit::{Fit, MultiStart, Termination};
use std::path::Path;

/// Default level of profile intervals.
const PROFILED: f64 = 0.95;

pub(crate) fn run(asked: &FitArguments) -> Outcome<u8> {
    if let Some(column) = &asked.by {
        return groups::run(asked, column);
    }
    let on_stdout = check(asked)?;
    let table = Table::open(&asked.file, &asked.table)?;
    let roles = Roles::choose(&table, &asked.table, asked.y.as_deref(), None)?;
    roles.hint_at_errors(&table);
    let mut model = Model::new(&asked.model, &table, &roles.inputs.x, &[roles.y])?;
    let x = &roles.inputs.x;
    let new = At::read(&asked.at, asked.interval, &asked.table, &table, x)?;
    let points = Points::take(&table, roles, &asked.table)?;
    let token = stop_on_interrupt();
    model.curve = model.curve.cancel_token(token.clone());

    let at = |why| refused_at(&why, &points);
    let data = points.data().map_err(at)?;
    // Dropped before the result is printed, to end the progress display.
    let curve = watched(&model.curve);
    let (fit, optima) = match asked.multi_start {
        None => (curve.fit(&data, model.start()).map_err(at)?, String::new()),
        Some(count) => {
            let starts = MultiStart::new(count);
            let optima = curve.multi_start(&data, model.start(), &starts);
            let optima = optima.map_err(at)?;
            let table = format!("\n{}\n", optima.to_string().trim_end());
            (optima.into_best(), table)
        }
    };
    let whole = (&curve, &fit, &data);
    let bootstrapped = Bootstrapped::run(&asked.bootstrap, asked.interval, whole).map_err(at)?;
    drop(curve);
    clear_progress();
    let intervals = match (asked.interval, asked.profile) {
        (None, false) => None,
        (Some(level), false) => Some(Intervals::new(&fit, level)?),
        (level, true) => {
            let level = level.unwrap_or(PROFILED);
            let profiled = Intervals::profiled(&model.curve, &fit, &data, level);
            Some(profiled.map_err(at)?)
        }
    };

    let predictions = new.as_ref().map(|new| new.predict(&fit, &points)).transpose()?;
    predictions.iter().for_each(Predictions::note_what_is_unknown);
    let reported = Reported { by: None, fits: predictions.iter().map(|of| (None, of)).collect() };

    if asked.json {
        let mut document = document(&points, &model, &fit, intervals.as_ref());
        if let Some(bootstrapped) = &bootstrapped {
            document["bootstrap"] = bootstrapped.document();
        }
        if let Some(predictions) = &predictions {
            document["predictions"] = predictions.document();
        }
        print(&printed(&document))?;
    } else {
        let heading = report::heading(&points, &model);
        let intervals = intervals.map_or_else(String::new, |found| found.table());
        let mut report = format!("{heading}\n{}{intervals}{optima}", report::coloured(&fit));
        report += &bootstrapped.map_or_else(String::new, |found| found.table());
        let file = asked.at.predictions.as_deref();
        report += &reported.table(file);
        match on_stdout {
            true => explain(&report),
            false => print(&report)?,
        }
    }
    if asked.components && fit.components(vec![&[0.0; 0][..]; points.x.len()])?.len() < 2 {
        note(
            "--components: the model is no sum of models of the library, so there are none to show",
        );
    }
    if let Some(path) = &asked.plot {
        written::picture(path, &points, &fit, asked)?;
    }
    if let Some(path) = &asked.save {
        let text = fit.to_json().map_err(at)?;
        put(path, text.as_bytes())?;
    }
    if let Some(path) = &asked.at.predictions {
        reported.write(path)?;
    }
    if let Some(path) = &asked.residuals {
        written::residuals(path, &points, &fit, asked)?;
    }
    Ok(exit_code(&fit, token.is_cancelled()))
}

/// Checks the request before the table is read. Returns true if a result other than the report goes to standard output.
fn check(asked: &FitArguments) -> Outcome<bool> {
    let plot = asked.plot.as_deref();
    destinations::expect_form("--plot", plot, "the kind of picture", ["svg", "png"])?;
    check_level("--interval", asked.interval)?;
    check_band(asked)?;
    if asked.components && asked.plot.is_none() && asked.residuals.is_none() {
        return Err(Refusal::usage("--components: say where to, with --plot or --residuals"));
    }
    let outputs = [
        ("--plot", plot),
        ("--save", asked.save.as_deref()),
        ("--residuals", asked.residuals.as_deref()),
        ("--predictions", asked.at.predictions.as_deref()),
    ];
    let new = asked.at.at.as_deref().map(Path::new);
    let inputs: Vec<&Path> = std::iter::once(asked.file.as_path()).chain(new).collect();
    destinations::check(&inputs, &outputs, asked.json)
}

/// Checks the probability of an option.
pub(crate) fn check_level(option: &str, level: Option<f64>) -> Outcome<()> {
    match level.filter(|level| !(*level > 0.0 && *level < 1.0)) {
        None => Ok(()),
        Some(level) => Err(Refusal::usage(format!(
            "{option} {level}: give a probability between 0 and 1, such as 0.95"
        ))),
    }
}

/// Checks the level of `--band`, and that there is an output for the band.
pub(crate) fn check_band(asked: &FitArguments) -> Outcome<()> {
    check_level("--band", asked.band)?;
    match (asked.band, &asked.plot, &asked.residuals) {
        (Some(level), None, None) => {
            Err(Refusal::usage(format!("--band {level}: say where to, with --plot or --residuals")))
        }
        _ => Ok(()),
    }
}

/// Returns the exit code. A model with only fixed parameters is evaluated as requested, which is success. A search
/// that was stopped may have missed the best minimum, even if its fit converged.
fn exit_code(fit: &Fit, stopped: bool) -> u8 {
    match (fit.converged() || fit.termination() == Termination::AllFixed) && !stopped {
        true => DONE,
        false => NOT_CONVERGED,
    }
}
