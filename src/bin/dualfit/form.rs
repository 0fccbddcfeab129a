//! What the text of a model is: models of the library put together, or a formula of the user's own.

use crate::arguments::words::Range;
use crate::output::note;
use crate::refusal::{Outcome, Refusal};
use crate::said::refused;
use crate::words::nearest;
use dualfit::{CurveFit, models};

pub(crate) struct Form {
    pub(crate) curve: CurveFit,
    /// The names by which it calls the independent variables.
    pub(crate) variables: Vec<String>,
    /// Those that a model of the library brings with it.
    pub(crate) bounds: Vec<(String, Range)>,
}

impl Form {
    /// `own`: the independent variables of a formula.
    pub(crate) fn read(text: &str, own: Vec<String>) -> Outcome<Form> {
        let why = match models::parse(text) {
            Ok(model) => return Form::of_library(&model, own.len()),
            Err(why) => why,
        };
        if is_meant_for_library(text, &own) {
            return Err(refused(&why));
        }
        let curve = CurveFit::parse(text, &own).map_err(|why| refused(&why))?;
        let known = models::names();
        for name in curve.parameters().iter().filter(|name| known.contains(&name.as_str())) {
            note(format!(
                "\"{name}\" is a parameter in this formula, not the model of the library; formulas and models of the library cannot be mixed"
            ));
        }
        Ok(Form { curve, variables: own, bounds: Vec::new() })
    }

    fn of_library(model: &models::Model, columns: usize) -> Outcome<Form> {
        let curve = model.curve().map_err(|why| refused(&why))?;
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

/// Whether a text that the library does not understand was meant for it, and is no formula: a name alone
/// that is no variable, or one before a parenthesis that is, or nearly is, a model's and no function's.
fn is_meant_for_library(text: &str, variables: &[String]) -> bool {
    let names = names_in(text);
    let alone = text.trim();
    if let [only] = &names[..]
        && only.text == alone
    {
        return !variables.iter().any(|name| name == alone);
    }
    let is_model = |name: &Name<'_>| {
        let is_function = || CurveFit::parse(&format!("{}(x)", name.text), ["x"]).is_ok();
        name.is_called && nearest(name.text, models::names()).is_some() && !is_function()
    };
    names.iter().any(is_model)
}

/// A name in a text.
pub(crate) struct Name<'a> {
    pub(crate) text: &'a str,
    /// Whether a parenthesis follows, as behind that of a function.
    pub(crate) is_called: bool,
}

/// The names in a text, in order.
pub(crate) fn names_in(text: &str) -> Vec<Name<'_>> {
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

#[cfg(test)]
mod tests {
    use super::{is_meant_for_library, names_in};

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
        let meant = |text| is_meant_for_library(text, &["x".into()]);
        for text in ["gausian", "gaussian(g_) + lorentz", "gauss(g_) + linear(bg_)", "anything"] {
            assert!(meant(text), "{text}");
        }
        for text in ["x", "a*exp(-b x)", "a*sin(x", "growth*x + exb(x)"] {
            assert!(!meant(text), "{text}");
        }
    }
}
