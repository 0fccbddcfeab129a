//! Parsing of the text of a model: as library models or as a formula. Names in the text are columns or parameters.

use crate::arguments::words::Range;
use crate::output::note;
use crate::refusal::{Outcome, Refusal};
use crate::table::Table;
use crate::words::{nearest, without_unit};
use dualfit::{CurveFit, Error, models};

/// Library models that take numbers as arguments. `models::names` does not list them.
const OF_NUMBERS: [&str; 2] = ["polynomial", "spline"];

pub(crate) struct Form {
    pub(crate) curve: CurveFit,
    /// Names of the independent variables in the model.
    pub(crate) variables: Vec<String>,
    /// Default bounds of a library model; empty for a formula.
    pub(crate) bounds: Vec<(String, Range)>,
}

impl Form {
    /// Parses the text as a library model, or else as a formula of the independent variables `own`.
    pub(crate) fn read(text: &str, own: Vec<String>) -> Outcome<Form> {
        let why = match models::parse(text) {
            Ok(model) => return Form::of_library(&model, own.len()),
            Err(why) => why,
        };
        if is_one_name(text) && !own.iter().any(|name| name == text.trim()) {
            return Err(why.into());
        }
        let curve = CurveFit::parse(text, &own).map_err(|other| misunderstood(text, why, other))?;
        let known = models::names();
        for name in curve.parameters().iter().filter(|name| known.contains(&name.as_str())) {
            note(format!(
                "\"{name}\" is a parameter in this formula, not the model of the library; formulas and models of the library cannot be mixed"
            ));
        }
        Ok(Form { curve, variables: own, bounds: Vec::new() })
    }

    fn of_library(model: &models::Model, columns: usize) -> Outcome<Form> {
        let curve = model.curve()?;
        let variables = model.variables();
        if variables.len() != columns {
            return Err(Refusal::usage(format!(
                "{model} has {} independent variables ({}), and --x names {columns}; name a column for each, as in --x {}",
                variables.len(),
                variables.join(", "),
                variables.join(",")
            )));
        }
        let bounds = model.parameters().into_iter().zip(model.bounds()).collect();
        Ok(Form { curve, variables, bounds })
    }
}

fn is_one_name(text: &str) -> bool {
    matches!(&names_in(text)[..], [only] if only.text == text.trim())
}

/// Selects the error for a text that is neither a library model nor a formula: `by_library` if the text calls a
/// library model, or an unknown name similar to a library model; otherwise `as_formula`. A text that calls both
/// library models and functions of formulas gets a separate error.
fn misunderstood(text: &str, by_library: Error, as_formula: Error) -> Refusal {
    let mut known = models::names();
    known.extend(OF_NUMBERS);
    let names = names_in(text);
    let called = || names.iter().filter(|name| name.is_called).map(|name| name.text);
    let model = called().find(|name| known.contains(name) && !is_function(name));
    let function = called().find(|name| is_function(name) && !known.contains(name));
    let is_nearly_model = |name: &Name<'_>| {
        let is_near = nearest(name.text, known.iter().copied()).is_some();
        name.is_called && is_near && !is_function(name.text)
    };
    match (model, function) {
        (Some(model), Some(function)) => Refusal::usage(format!(
            "--model: {model} is a model of the library and {function} a function of formulas, which cannot be mixed; `dualfit models` lists the models' formulas"
        )),
        (Some(_), None) => by_library.into(),
        _ if place_of(&by_library, text).is_some_and(|name| is_nearly_model(&name))
            && !as_formula.to_string().contains("did you mean") =>
        {
            by_library.into()
        }
        _ => as_formula.into(),
    }
}

/// Returns the name in `text` at the position of a parse error.
fn place_of<'a>(error: &Error, text: &'a str) -> Option<Name<'a>> {
    let Error::Parse { column, .. } = error else { return None };
    let (at, _) = text.char_indices().nth(column.checked_sub(1)?)?;
    names_in(&text[at..]).into_iter().next()
}

/// Returns true if formulas can call `name` with 1, 2 or 3 arguments.
fn is_function(name: &str) -> bool {
    let reads = |arguments| CurveFit::parse(&format!("{name}({arguments})"), ["x"]).is_ok();
    ["x", "x, x", "x, x, x", "x < 1, x, x"].into_iter().any(reads)
}

/// A name in a text.
struct Name<'a> {
    text: &'a str,
    /// True if a parenthesis follows, as in a function call.
    is_called: bool,
}

/// Returns the names in a text, in order.
fn names_in(text: &str) -> Vec<Name<'_>> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut names, mut rest) = (Vec::new(), text);
    while let Some(start) = rest.find(part) {
        rest = &rest[start..];
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.starts_with(|c: char| !c.is_numeric()) {
            let is_called = behind.trim_start().starts_with('(');
            names.push(Name { text: name, is_called });
        }
        rest = behind;
    }
    names
}

/// Returns the name of each independent variable in the model. Candidates are, in this order, the name of its column,
/// the same name without unit, its number (`x1`, `x2`, …) and its letter (`x`, `y`, `z`); the first that occurs in the
/// text is returned. Names in `said` are parameters and are not used for variables.
pub(crate) fn variables_of(text: &str, table: &Table, x: &[usize], said: &[&str]) -> Vec<String> {
    let names = names_in(text);
    let occurs = |name: &str| names.iter().any(|found| found.text == name && !found.is_called);
    let mut found: Vec<String> = Vec::new();
    for (i, &column) in x.iter().enumerate() {
        let column = &table.names[column];
        let numbered = format!("x{}", i + 1);
        let letter = ["x", "y", "z"].get(i).copied();
        let usual = if x.len() == 1 { "x" } else { letter.unwrap_or(&numbered) };
        let free = |name: &&str| occurs(name) && !found.iter().any(|other| other == name);
        let candidates = [column, without_unit(column), &numbered, usual].into_iter().filter(free);
        // If `said` contains all candidates, the first is used, so that the error names it.
        let mut others = candidates.clone().filter(|name| !said.contains(name));
        let name = others.next().or(candidates.clone().next()).unwrap_or(usual);
        found.push(name.to_owned());
    }
    found
}

/// Returns an error if a parameter is probably a misspelled variable (its name is similar to the column of a variable
/// that does not occur in the text), or if it has the name of another column. `said`: names that options declare as
/// parameters. `y`: columns of the responses.
pub(crate) fn check_names(
    text: &str,
    parameters: &[String],
    variables: &[String],
    table: &Table,
    (x, y): (&[usize], &[usize]),
    said: &[&str],
) -> Outcome<()> {
    let names = names_in(text);
    let occurs = |name: &String| names.iter().any(|found| found.text == name && !found.is_called);
    let unsaid = || parameters.iter().filter(|name| !said.contains(&name.as_str()));
    let same = |name: &str, other: &str| name.to_lowercase() == other.to_lowercase();
    let refused = |message: String, name: &str| {
        Err(Refusal::usage(format!("{message}, or say --start {name}=1 if it is a parameter")))
    };
    for (&column, variable) in x.iter().zip(variables).filter(|(_, variable)| !occurs(variable)) {
        let column = table.names.get(column).map_or("", String::as_str);
        let known = [column, without_unit(column), variable.as_str()];
        let nearly = |name: &&String| {
            let long = |other: &&str| name.chars().count() > 2 && other.chars().count() > 2;
            known.iter().any(|other| same(name, other))
                || nearest(name, known.into_iter().filter(long)).is_some()
        };
        if let Some(name) = unsaid().find(nearly) {
            let meant = known.into_iter().find(|other| same(name, other));
            let meant = meant.unwrap_or(without_unit(column));
            return refused(
                format!("--model: \"{name}\" is no column; did you mean \"{meant}\"? Write it so"),
                name,
            );
        }
    }
    for name in unsaid().filter(|name| name.chars().count() > 1) {
        let is_it = |&column: &usize| {
            let used = x.contains(&column) || y.contains(&column);
            let called = &table.names[column];
            !used && (same(name, called) || same(name, without_unit(called)))
        };
        if let Some(column) = (0..table.names.len()).find(is_it) {
            let all = x.iter().chain([&column]).map(|&column| table.names[column].as_str());
            return refused(
                format!(
                    "--model: \"{name}\" is a column, but no variable; make it one with --x \"{}\"",
                    all.collect::<Vec<_>>().join(",")
                ),
                name,
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Form, names_in};

    #[test]
    fn names_are_found_between_operators() {
        let names = names_in("a*exp(-rate*time_1) + 2e5*c2 - 1.5e-3/µ");
        let called: Vec<_> =
            names.iter().filter(|name| name.is_called).map(|name| name.text).collect();
        let others: Vec<_> =
            names.iter().filter(|name| !name.is_called).map(|name| name.text).collect();
        assert_eq!(called, ["exp"]);
        assert_eq!(others, ["a", "rate", "time_1", "c2", "µ"]);
    }

    #[test]
    fn a_text_is_meant_for_the_library_if_it_names_its_models() {
        let refused = |text: &str| Form::read(text, vec!["x".into()]).err().unwrap().message;
        for text in ["gausian", "gaussian(g_) + lorentz", "gauss(g_) + linear(bg_)", "anything"] {
            assert!(refused(text).contains("there is no model"), "{text}: {}", refused(text));
        }
        for text in ["a*exp(-b x)", "a*sin(x", "growth*x + exb(x)", "voigt(v_) + a*x"] {
            let message = refused(text);
            assert!(!message.contains("model `"), "{text}: {message}");
        }
        assert!(refused("gaussian(g_)*exp(-x)").contains("cannot be mixed"));
        assert!(Form::read("x + a", vec!["x".into()]).is_ok());
        assert!(Form::read("a*voigt(x - c, s, g)", vec!["x".into()]).is_ok());
    }
}
