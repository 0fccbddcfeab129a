//! `dualfit fit`: one model, one table, one fit.

use crate::arguments::FitArguments;
use crate::batch::groups;
use crate::compare::Comparison;
use crate::contour::{self, Pair};
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
use dualfit::{CurveFit, Data, DifferentialEvolution, Fit, MultiStart, Termination};
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
    let x = &roles.inputs.x;
    let (mut model, mut others) = Model::all(&asked.model, &asked.compare, &table, x, roles.y)?;
    let pair = Pair::read(&asked.contour, &model, asked.json)?;
    let new = At::read(&asked.at, asked.interval, &asked.table, &table, x)?;
    let mut points = Points::take(&table, roles, &asked.table)?;
    if let Some(path) = &asked.covariance {
        points = points.with_covariance(path, &asked.table)?;
    }
    let token = stop_on_interrupt();
    for model in std::iter::once(&mut model).chain(&mut others) {
        model.curve = model.curve.clone().cancel_token(token.clone());
    }

    let at = |why| refused_at(&why, &points);
    let data = points.data().map_err(at)?;
    // Dropped before the result is printed, to end the progress display.
    let curve = watched(&model.curve);
    let seed = asked.seed.unwrap_or_default();
    let (fit, optima) = fitted(&curve, &model, &data, asked).map_err(at)?;
    let whole = (&curve, &fit, &data);
    let bootstrapped = Bootstrapped::run(&asked.bootstrap, seed, asked.interval, whole);
    let bootstrapped = bootstrapped.map_err(at)?;
    let comparison = Comparison::run((&model, &fit), &others, &points)?;
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

    let whole = (&model, &fit, &data);
    let contour = pair.map(|pair| pair.compute(asked.interval, whole)).transpose().map_err(at)?;
    let predictions = new.as_ref().map(|new| new.predict(&fit, &points)).transpose()?;
    predictions.iter().for_each(Predictions::note_what_is_unknown);
    let reported = Reported { by: None, fits: predictions.iter().map(|of| (None, of)).collect() };

    if asked.json {
        let mut document = document(&points, &model, &fit, intervals.as_ref());
        if let Some(bootstrapped) = &bootstrapped {
            document["bootstrap"] = bootstrapped.document();
        }
        if let Some(comparison) = &comparison {
            document["comparison"] = comparison.document();
        }
        if let Some(contour) = &contour {
            document["contour"] = contour::document(contour);
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
        report += &comparison.map_or_else(String::new, |found| found.table());
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
    if let (Some(path), Some(contour)) = (&asked.contour.contour_plot, &contour) {
        contour::picture(path, contour)?;
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

/// Fits the model, or searches for the best fit. Returns a table of the optima after a search.
fn fitted(
    curve: &CurveFit,
    model: &Model,
    data: &Data<'_>,
    asked: &FitArguments,
) -> dualfit::Result<(Fit, String)> {
    let seed = asked.seed.unwrap_or_default();
    let optima = match asked.multi_start {
        None if asked.evolution => {
            let search = DifferentialEvolution::new().seed(seed);
            curve.differential_evolution(data, model.start(), &search)?
        }
        None => return Ok((curve.fit(data, model.start())?, String::new())),
        Some(count) => {
            curve.multi_start(data, model.start(), &MultiStart::new(count).seed(seed))?
        }
    };
    let table = format!("\n{}\n", optima.to_string().trim_end());
    Ok((optima.into_best(), table))
}

/// Checks the request before the table is read. Returns true if a result other than the report goes to standard output.
fn check(asked: &FitArguments) -> Outcome<bool> {
    let (plot, contour) = (asked.plot.as_deref(), asked.contour.contour_plot.as_deref());
    for (option, path) in [("--plot", plot), ("--contour-plot", contour)] {
        destinations::expect_form(option, path, "the kind of picture", ["svg", "png"])?;
    }
    let draws = asked.multi_start.is_some() || asked.evolution;
    if let (Some(seed), false, None) = (asked.seed, draws, asked.bootstrap.bootstrap) {
        return Err(Refusal::usage(format!(
            "--seed {seed}: nothing is drawn; it belongs to --multi-start, --evolution or --bootstrap"
        )));
    }
    check_level("--interval", asked.interval)?;
    check_band(asked)?;
    if asked.components && asked.plot.is_none() && asked.residuals.is_none() {
        return Err(Refusal::usage("--components: say where to, with --plot or --residuals"));
    }
    let outputs = [
        ("--plot", plot),
        ("--contour-plot", contour),
        ("--save", asked.save.as_deref()),
        ("--residuals", asked.residuals.as_deref()),
        ("--predictions", asked.at.predictions.as_deref()),
    ];
    let others = [asked.at.at.as_deref().map(Path::new), asked.covariance.as_deref()];
    let others = others.into_iter().flatten();
    let inputs: Vec<&Path> = std::iter::once(asked.file.as_path()).chain(others).collect();
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
