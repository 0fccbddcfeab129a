//! A fit as a JSON document. Numbers that are not finite are null.

use crate::model::Model;
use crate::points::Points;
use crate::refusal::in_our_words;
use crate::report::Intervals;
use dualfit::Fit;
use dualfit::result::Side;
use serde_json::{Value, json};

/// Returns the document of `dualfit fit --json`.
pub(crate) fn document(
    points: &Points<'_>,
    model: &Model,
    fit: &Fit,
    intervals: Option<&Intervals>,
) -> Value {
    let Points { table, roles, .. } = points;
    let called = |column: usize| table.called(column);
    let mut origin = json!({
        "dualfit": env!("CARGO_PKG_VERSION"),
        "model": formula(model),
        "data": {
            "file": table.name,
            "x": roles.inputs.x.iter().map(|&column| called(column)).collect::<Vec<_>>(),
            "y": called(roles.y),
            "sigma": roles.inputs.sigma.map(|sigma| sigma.json(table)),
            "rows_missing": points.missing,
            "rows_out_of_range": points.outside,
        },
    });
    if points.has_covariance() {
        origin["data"]["covariance"] = true.into();
    }
    if !roles.inputs.x_sigma.is_empty() {
        let x_sigma = roles.inputs.x_sigma.iter().map(|sigma| sigma.json(table));
        origin["data"]["x_sigma"] = x_sigma.collect();
    }
    for (&column, name) in
        roles.inputs.x.iter().chain([&roles.y]).map(|column| (column, called(*column)))
    {
        if let Some(first) = table.origin(column) {
            origin["data"]["seconds_since"][name] = first.into();
        }
    }
    let document = joined(origin, found(model, fit));
    match intervals {
        None => document,
        Some(Intervals { level, method, ends, .. }) => {
            let intervals = json!({ "level": level, "method": method, "ends": ends });
            joined(document, json!({ "intervals": intervals }))
        }
    }
}

/// Concatenates the entries of two objects.
pub(crate) fn joined(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut all), Value::Object(more)) => {
            all.extend(more);
            Value::Object(all)
        }
        (first, _) => first,
    }
}

pub(crate) fn formula(model: &Model) -> Value {
    json!({ "formula": model.text, "variables": model.variables })
}

/// Returns the results of a fit.
pub(crate) fn found(model: &Model, fit: &Fit) -> Value {
    let n = fit.names().len();
    let by_rows = |at: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        (0..n).map(|i| (0..n).map(|j| at(i, j)).collect()).collect()
    };
    let (covariance, correlation, stats) = (fit.covariance(), fit.correlation(), fit.stats());
    let derived = fit.derived().iter();
    let derived =
        derived.map(|d| json!({ "name": d.name, "value": d.value, "std_error": d.std_error }));
    json!({
        "converged": fit.converged(),
        // Name and description of the termination.
        "termination": format!("{:?}", fit.termination()),
        "message": in_our_words(&fit.termination().to_string()),
        "parameters": (0..n).map(|i| parameter(model, fit, i)).collect::<Value>(),
        "derived": derived.collect::<Value>(),
        "covariance": by_rows(&|i, j| covariance[(i, j)]),
        "correlation": by_rows(&|i, j| correlation[(i, j)]),
        "statistics": {
            "points": fit.points(),
            "effective_points": fit.effective_points(),
            "estimated": fit.estimated(),
            "degrees_of_freedom": fit.degrees_of_freedom(),
            "rank": fit.rank(),
            "condition": fit.condition(),
            "chi_square": fit.chi_square(),
            "reduced_chi_square": fit.reduced_chi_square(),
            "rmse": fit.rmse(),
            "r_squared": fit.r_squared(),
            "adjusted_r_squared": fit.adjusted_r_squared(),
            "aic": fit.aic(),
            "bic": fit.bic(),
        },
        "start_search": fit.start_search().map(|search| json!({
            "candidates": search.screened,
            "fits": search.fits,
            "reached": search.reached,
            "next_cost_ratio": search.next_cost_ratio,
        })),
        "warnings": fit.warnings().iter().map(|w| in_our_words(&w.to_string())).collect::<Value>(),
        "computation": {
            "backend": stats.processor.to_string(),
            "device": stats.device,
            "threads": stats.threads,
            "evaluations": stats.evaluations,
            "iterations": stats.iterations,
        },
    })
}

fn parameter(model: &Model, fit: &Fit, i: usize) -> Value {
    let (name, std_error) = (&fit.names()[i], fit.std_errors()[i]);
    let (lower, upper) = model.bounds_of(name);
    let side = fit.at_bound().into_iter().find(|(other, _)| other == name);
    let tie = fit.tie(name);
    let state = match side.map(|(_, side)| side) {
        _ if tie.is_some() => "tied",
        _ if model.fixed.contains(name) || lower == upper => "fixed",
        Some(Side::Lower) => "at lower bound",
        Some(Side::Upper) => "at upper bound",
        None if std_error == f64::INFINITY => "undetermined",
        None if std_error.is_nan() => "error unknown",
        None => "estimated",
    };
    let mut parameter = json!({
        "name": name,
        "value": fit.params()[i],
        "std_error": std_error,
        "state": state,
        "start": fit.start()[i],
        "lower": lower,
        "upper": upper,
    });
    if let Some(tie) = tie {
        parameter["tie"] = tie.into();
    }
    if let Some((_, mean, sigma)) = fit.priors().into_iter().find(|(other, ..)| other == name) {
        parameter["prior"] = json!({ "mean": mean, "sigma": sigma });
    }
    parameter
}

/// Formats a document with indentation and a newline at the end.
pub(crate) fn printed(document: &Value) -> String {
    format!("{document:#}\n")
}
