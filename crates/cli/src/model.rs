//! The model that was asked for, with all that was said of its parameters.

use crate::arguments::{ModelArguments, words};
use crate::form::Form;
use crate::refusal::{Outcome, Refusal};
use crate::said::misread;
use crate::table::{Table, without_unit};
use crate::variables;
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
        let (mut start, fixed) = (values(&asked.start, "--start")?, fixed(&asked.fix)?);
        let bounds = bounds(&asked.bound)?;
        let ties = formulas(&asked.tie, "--tie", "\"s2=2*s1\"")?;
        let said: Vec<&str> = start.iter().chain(&fixed.1).map(|(name, _)| name.as_str()).collect();
        let own = variables::variables(&asked.model, table, x, &said);
        let Form { mut curve, variables, bounds: mut limits } = Form::read(&asked.model, own)?;
        if limits.is_empty() {
            let (others, parameters) = (bounds.iter().map(|(name, _)| name), curve.parameters());
            let others = others.chain(&fixed.0).chain(ties.iter().map(|(name, _)| name));
            let said: Vec<&str> = said.iter().copied().chain(others.map(String::as_str)).collect();
            variables::check(&asked.model, parameters, &variables, table, (x, y), &said)?;
        }
        let known = curve.parameters().to_vec();
        let names = |option: &'static str, names: &[String]| {
            let check = |name: &String| expect(option, name, &known, &variables);
            names.iter().try_for_each(check)
        };
        names("--start", &firsts(&start))?;
        names("--bound", &firsts(&bounds))?;
        names("--fix", &fixed.0)?;
        start.retain(|(name, _)| !fixed.1.iter().any(|(other, _)| other == name));
        start.extend(fixed.1);
        let said = firsts(&bounds);
        for (name, (low, high)) in &bounds {
            curve = curve.bound(name, *low..=*high);
            let outside = |(n, v): &&(String, f64)| n == name && !(*low..=*high).contains(v);
            if let Some((_, value)) = start.iter().find(outside) {
                return Err(Refusal::usage(format!(
                    "{name} starts at {value}, outside its bounds {}; move it inside, or widen --bound",
                    shown(*low, *high)
                )));
            }
        }
        for name in &fixed.0 {
            curve = curve.fix(name);
        }
        for (name, formula) in &formulas(&asked.derive, "--derive", "\"half_life=ln(2)/k\"")? {
            let is_column = |other: &String| other == name || without_unit(other) == name;
            let taken = match () {
                () if known.contains(name) => "a parameter",
                () if variables.contains(name) || table.names().iter().any(is_column) => "a column",
                () => "",
            };
            if !taken.is_empty() {
                return Err(Refusal::usage(format!(
                    "--derive {name}: {taken} is called so; give the quantity a name of its own"
                )));
            }
            curve = curve.derive(name, formula).map_err(|why| misread("--derive", &why))?;
        }
        for (name, formula) in &ties {
            expect("--tie", name, &known, &variables)?;
            // A range that only a model of the library gave is the formula's to keep.
            if !said.iter().any(|other| other == name) {
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
        let options = Options { max_evaluations: asked.max_evaluations, ..Options::default() };
        curve = curve.options(options).backend(words::backend(&asked.device)?);
        limits.extend(bounds);
        let (text, fixed) = (asked.model.clone(), fixed.0);
        Ok(Model { text, variables, curve, start, bounds: limits, fixed })
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

fn firsts<T>(pairs: &[(String, T)]) -> Vec<String> {
    pairs.iter().map(|(name, _)| name.clone()).collect()
}

/// Values of parameters by name.
type Values = Vec<(String, f64)>;

fn values(given: &[String], option: &str) -> Outcome<Values> {
    let read = |part| {
        let (name, value) = words::assignment(part, option, "a=2,b=0.5")?;
        Ok((name.to_owned(), words::number(value, option, part)?))
    };
    words::parts(given).map(read).collect()
}

fn bounds(given: &[String]) -> Outcome<Vec<(String, words::Range)>> {
    let read = |part| {
        let (name, ends) = words::assignment(part, "--bound", "b=0..1")?;
        Ok((name.to_owned(), words::range(ends, "--bound", part)?))
    };
    words::parts(given).map(read).collect()
}

/// Names and formulas, each of which can be read.
fn formulas(
    given: &[String],
    option: &'static str,
    example: &str,
) -> Outcome<Vec<(String, String)>> {
    let read = |part: &String| {
        let (name, formula) = words::assignment(part, option, example)?;
        CurveFit::parse(formula, [""; 0]).map_err(|why| misread(option, &why))?;
        Ok((name.to_owned(), formula.to_owned()))
    };
    given.iter().map(read).collect()
}

/// The names of fixed parameters, and the values of those that have one there.
fn fixed(given: &[String]) -> Outcome<(Vec<String>, Values)> {
    let (mut names, mut with_values) = (Vec::new(), Vec::new());
    for part in words::parts(given) {
        if part.contains('=') {
            let (name, value) = words::assignment(part, "--fix", "c=0.1")?;
            with_values.push((name.to_owned(), words::number(value, "--fix", part)?));
            names.push(name.to_owned());
        } else {
            names.push(part.to_owned());
        }
    }
    Ok((names, with_values))
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
