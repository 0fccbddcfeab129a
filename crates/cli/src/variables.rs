//! Which names of a formula are columns, and which only look so.

use crate::form::names_in;
use crate::refusal::{Outcome, Refusal};
use crate::table::{Table, without_unit};
use crate::words::nearest;

/// How the model calls each independent variable: by the column's name if that stands in its text; else
/// `x`, or `x1`, `x2`, … if those do, or `x`, `y`, `z`. `said` are parameters, of which none is a variable.
pub(crate) fn variables(text: &str, table: &Table, x: &[usize], said: &[&str]) -> Vec<String> {
    let names = names_in(text);
    let occurs = |name: &str| names.iter().any(|found| found.text == name && !found.is_called);
    let mut found: Vec<String> = Vec::new();
    for (i, &column) in x.iter().enumerate() {
        let column = &table.names()[column];
        let numbered = format!("x{}", i + 1);
        let letter = ["x", "y", "z"].get(i).copied();
        let usual = if x.len() == 1 { "x" } else { letter.unwrap_or(&numbered) };
        let free = |name: &&str| occurs(name) && !found.iter().any(|other| other == name);
        let candidates = [column, without_unit(column), &numbered, usual].into_iter().filter(free);
        // If all of them are said to be parameters, that is what is wrong.
        let mut others = candidates.clone().filter(|name| !said.contains(name));
        let name = others.next().or(candidates.clone().next()).unwrap_or(usual);
        found.push(name.to_owned());
    }
    found
}

/// Refuses parameters that are almost the variable's column, which then does not occur, or that are called as
/// another column is. `said`: those of which an option says that they are parameters. `y`: the responses.
pub(crate) fn check(
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
        let column = table.names().get(column).map_or("", String::as_str);
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
            let called = &table.names()[column];
            !used && (same(name, called) || same(name, without_unit(called)))
        };
        if let Some(column) = (0..table.names().len()).find(is_it) {
            let all = x.iter().chain([&column]).map(|&column| table.names()[column].as_str());
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
