//! A fit as a JSON document. Numbers that are not finite are null.

use crate::intervals::Intervals;
use crate::model::Model;
use crate::points::{Points, Roles};
use crate::refusal::{Outcome, Refusal};
use crate::table::Table;
use dualfit::{Derived, Fit, Side};
use serde::Serialize;

/// The document of `dualfit fit --json`.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    dualfit: &'static str,
    model: Formula<'a>,
    data: Origin<'a>,
    #[serde(flatten)]
    found: Found<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<Level<'a>>,
}

/// Confidence intervals, one per parameter.
#[derive(Serialize)]
struct Level<'a> {
    level: f64,
    method: &'a str,
    ends: &'a [(f64, f64)],
}

#[derive(Serialize)]
pub(crate) struct Formula<'a> {
    formula: &'a str,
    variables: &'a [String],
}

#[derive(Serialize)]
struct Origin<'a> {
    file: &'a str,
    x: Vec<String>,
    y: String,
    sigma: Option<String>,
    rows_missing: usize,
    rows_out_of_range: usize,
}

/// What a fit found.
#[derive(Serialize)]
pub(crate) struct Found<'a> {
    converged: bool,
    /// The name of the reason, and the sentence.
    termination: String,
    message: String,
    parameters: Vec<Parameter<'a>>,
    derived: Vec<Quantity<'a>>,
    /// By rows.
    covariance: Vec<Vec<f64>>,
    correlation: Vec<Vec<f64>>,
    statistics: Statistics,
    warnings: Vec<String>,
    computation: Computation<'a>,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    value: f64,
    std_error: f64,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tie: Option<&'a str>,
    start: f64,
    lower: f64,
    upper: f64,
}

/// What follows from the parameters.
#[derive(Serialize)]
struct Quantity<'a> {
    name: &'a str,
    value: f64,
    std_error: f64,
}

#[derive(Serialize)]
struct Statistics {
    points: usize,
    effective_points: f64,
    estimated: usize,
    degrees_of_freedom: usize,
    rank: usize,
    condition: f64,
    chi_square: f64,
    reduced_chi_square: Option<f64>,
    rmse: f64,
    r_squared: Option<f64>,
    adjusted_r_squared: Option<f64>,
    aic: f64,
    bic: f64,
}

#[derive(Serialize)]
struct Computation<'a> {
    backend: &'a str,
    device: Option<&'a str>,
    threads: usize,
    evaluations: usize,
    iterations: usize,
}

impl<'a> Document<'a> {
    pub(crate) fn new(
        table: &'a Table,
        roles: &Roles,
        points: &Points,
        model: &'a Model,
        fit: &'a Fit,
        intervals: Option<&'a Intervals>,
    ) -> Document<'a> {
        let called = |column: usize| table.called(column);
        Document {
            dualfit: env!("CARGO_PKG_VERSION"),
            model: Formula::of(model),
            data: Origin {
                file: &table.name,
                x: roles.x.iter().map(|&column| called(column)).collect(),
                y: called(roles.y),
                sigma: roles.sigma.map(called),
                rows_missing: points.missing,
                rows_out_of_range: points.outside,
            },
            found: Found::new(model, fit),
            intervals: intervals.map(|Intervals { level, method, ends, .. }| Level {
                level: *level,
                method,
                ends,
            }),
        }
    }
}

impl<'a> Formula<'a> {
    pub(crate) fn of(model: &'a Model) -> Formula<'a> {
        Formula { formula: &model.text, variables: &model.variables }
    }
}

impl<'a> Found<'a> {
    pub(crate) fn new(model: &Model, fit: &'a Fit) -> Found<'a> {
        let n = fit.names().len();
        let by_rows = |at: &dyn Fn(usize, usize) -> f64| {
            (0..n).map(|i| (0..n).map(|j| at(i, j)).collect()).collect()
        };
        let (covariance, correlation) = (fit.covariance(), fit.correlation());
        let stats = fit.stats();
        Found {
            converged: fit.converged(),
            termination: format!("{:?}", fit.termination()),
            message: fit.termination().to_string(),
            parameters: (0..n).map(|i| Parameter::new(model, fit, i)).collect(),
            derived: fit.derived().iter().map(Quantity::of).collect(),
            covariance: by_rows(&|i, j| covariance[(i, j)]),
            correlation: by_rows(&|i, j| correlation[(i, j)]),
            statistics: Statistics {
                points: fit.points(),
                effective_points: fit.effective_points(),
                estimated: fit.estimated(),
                degrees_of_freedom: fit.degrees_of_freedom(),
                rank: fit.rank(),
                condition: fit.condition(),
                chi_square: fit.chi_square(),
                reduced_chi_square: fit.reduced_chi_square(),
                rmse: fit.rmse(),
                r_squared: fit.r_squared(),
                adjusted_r_squared: fit.adjusted_r_squared(),
                aic: fit.aic(),
                bic: fit.bic(),
            },
            warnings: fit.warnings().iter().map(ToString::to_string).collect(),
            computation: Computation {
                backend: stats.backend,
                device: stats.device.as_deref(),
                threads: stats.threads,
                evaluations: stats.evaluations,
                iterations: stats.iterations,
            },
        }
    }
}

impl<'a> Parameter<'a> {
    fn new(model: &Model, fit: &'a Fit, i: usize) -> Parameter<'a> {
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
        let (value, start) = (fit.params()[i], fit.start()[i]);
        Parameter { name, value, std_error, state, tie, start, lower, upper }
    }
}

impl<'a> Quantity<'a> {
    fn of(derived: &'a Derived) -> Quantity<'a> {
        let Derived { name, value, std_error } = derived;
        Quantity { name, value: *value, std_error: *std_error }
    }
}

/// With indentation, and a newline at the end.
pub(crate) fn printed(document: &impl Serialize) -> Outcome<String> {
    let text = serde_json::to_string_pretty(document);
    let refused = |why| Refusal::file(format!("the result cannot be written as JSON: {why}"));
    text.map(|text| text + "\n").map_err(refused)
}
