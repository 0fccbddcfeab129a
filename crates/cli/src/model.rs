//! The model that was asked for, with all that was said of its parameters.

use crate::arguments::{ModelArguments, words};
use crate::form::{Form, check_names, variables_of};
use crate::refusal::misread;
use crate::refusal::{Outcome, Refusal};
use crate::table::{Table, without_unit};
use crate::words::{did_you_mean, listed};
use dualfit::{CurveFit, Estimator, Options, Start};

pub(crate) struct Model {
    pub(crate) text: String,
    /// The names by which it calls the independent variables.
    pub(crate) variables: Vec<String>,
    pub(crate) curve: CurveFit,
    /// Where parameters start.
    start: Vec<(String, f64)>,
    bounds: Vec<(String, words::Range)>,
    pub(crate) fixed: Vec<String>,
}

impl Model {
    /// `x`: the columns of the independent variables. `y`: those of the responses.
    pub(crate) fn new(
        asked: &ModelArguments,
        table: &Table,
        x: &[usize],
        y: &[usize],
    ) -> Outcome<Model> {
        let mut start = pairs(&asked.start, "--start", "a=2,b=0.5", words::number)?;
        let bounds = pairs(&asked.bound, "--bound", "b=0..1", words::range)?;
        let ties = formulas(&asked.tie, "--tie", "\"s2=2*s1\"")?;
        // Those that are kept at a value, and those that are kept at their start.
        let (at_values, at_starts): (Vec<String>, Vec<String>) =
            words::parts(&asked.fix).map(String::from).partition(|part| part.contains('='));
        let values = pairs(&at_values, "--fix", "c=0.1", words::number)?;
        let fixed: Vec<String> = names_of(&values).map(String::from).chain(at_starts).collect();
        let said: Vec<&str> = names_of(&start).chain(names_of(&values)).collect();
        let own = variables_of(&asked.model, table, x, &said);
        let Form { mut curve, variables, bounds: mut limits } = Form::read(&asked.model, own)?;
        if limits.is_empty() {
            let others = names_of(&bounds).chain(names_of(&ties));
            let others = others.chain(fixed.iter().map(String::as_str));
            let said: Vec<&str> = said.iter().copied().chain(others).collect();
            let parameters = curve.parameters();
            check_names(&asked.model, parameters, &variables, table, (x, y), &said)?;
        }
        let known = curve.parameters().to_vec();
        let named = names_of(&start).map(|name| ("--start", name));
        let named = named.chain(names_of(&bounds).map(|name| ("--bound", name)));
        for (option, name) in named.chain(fixed.iter().map(|name| ("--fix", name.as_str()))) {
            expect(option, name, &known, &variables)?;
        }
        start.retain(|(name, _)| names_of(&values).all(|other| other != name));
        start.extend(values);
        for (name, (low, high)) in &bounds {
            curve = curve.bound(name, *low..=*high);
        }
        for name in &fixed {
            curve = curve.fix(name);
        }
        for (name, formula) in &formulas(&asked.derive, "--derive", "\"half_life=ln(2)/k\"")? {
            let is_column = |other: &String| other == name || without_unit(other) == name;
            if variables.contains(name) || table.names.iter().any(is_column) {
                return Err(Refusal::usage(format!(
                    "--derive {name}: a column is called so; give the quantity a name of its own"
                )));
            }
            curve = curve.derive(name, formula);
        }
        for (name, formula) in &ties {
            expect("--tie", name, &known, &variables)?;
            // A range that only a model of the library gave is the formula's to keep.
            if names_of(&bounds).all(|other| other != name) {
                curve = curve.bound(name, ..);
            }
            curve = curve.tie(name, formula);
        }
        if asked.poisson {
            curve = curve.estimator(Estimator::Poisson);
        }
        if let Some(loss) = &asked.loss {
            curve = curve.loss(words::loss(loss)?);
        }
        let options = Options::default().max_evaluations(asked.max_evaluations);
        curve = curve.options(options).backend(words::backend(&asked.device)?);
        limits.extend(bounds);
        Ok(Model { text: asked.model.clone(), variables, curve, start, bounds: limits, fixed })
    }

    /// The bounds of a parameter, as said last; ±∞ for none.
    pub(crate) fn bounds_of(&self, name: &str) -> words::Range {
        let said = self.bounds.iter().rev().find(|(other, _)| other == name);
        said.map_or((f64::NEG_INFINITY, f64::INFINITY), |(_, ends)| *ends)
    }

    /// What is known of the start; the rest is found.
    pub(crate) fn start(&self) -> Start {
        Start::Named(self.start.clone())
    }
}

/// `0..1`, as it is said on the command line.
pub(crate) fn shown(low: f64, high: f64) -> String {
    let end = |value: f64| match value {
        // The library's bound for what must be above 0.
        f64::MIN_POSITIVE => "0".into(),
        _ if value.is_finite() => format!("{value:?}").trim_end_matches(".0").to_owned(),
        _ => String::new(),
    };
    format!("{}..{}", end(low), end(high))
}

fn names_of<T>(pairs: &[(String, T)]) -> impl Iterator<Item = &str> + Clone {
    pairs.iter().map(|(name, _)| name.as_str())
}

/// What is said of parameters by their names.
type Said<T> = Vec<(String, T)>;

/// `name=value,name=value`, where `read` understands a value.
fn pairs<T>(
    given: &[String],
    option: &str,
    example: &str,
    read: impl Fn(&str, &str, &str) -> Outcome<T>,
) -> Outcome<Said<T>> {
    let pair = |part| {
        let (name, value) = words::assignment(part, option, example)?;
        Ok((name.to_owned(), read(value, option, part)?))
    };
    words::parts(given).map(pair).collect()
}

/// Names and formulas, each of which can be read.
fn formulas(given: &[String], option: &str, example: &str) -> Outcome<Said<String>> {
    let read = |part: &String| {
        let (name, formula) = words::assignment(part, option, example)?;
        CurveFit::parse(formula, [""; 0]).map_err(|why| misread(option, &why))?;
        Ok((name.to_owned(), formula.to_owned()))
    };
    given.iter().map(read).collect()
}

fn expect(option: &str, name: &str, known: &[String], variables: &[String]) -> Outcome<()> {
    if known.iter().any(|other| other == name) {
        return Ok(());
    }
    let message = if variables.iter().any(|other| other == name) {
        format!("{option} {name}: it is the independent variable, no parameter")
    } else {
        let names = || known.iter().map(String::as_str);
        let near = did_you_mean(name, names());
        format!(
            "{option} {name}: the model has no such parameter{near}; it has {}{}",
            listed(names()),
            taken(name)
        )
    };
    Err(Refusal::usage(message))
}

/// What a name is in a formula that no parameter can have.
fn taken(name: &str) -> &'static str {
    match name {
        "e" => "; in a formula e is the number 2.718…, so call the parameter otherwise",
        "pi" => "; in a formula pi is the number 3.141…, so call the parameter otherwise",
        _ => "",
    }
}
