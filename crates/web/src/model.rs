//! The model of a request: a composite of library models or a formula.

use dualfit::{CurveFit, models};
use std::error::Error;

/// A model with the names that its code needs.
pub(crate) struct Model {
    pub(crate) curve: CurveFit,
    /// Name of the independent variable in a formula; `None` for models of the library.
    pub(crate) variable: Option<String>,
}

impl Model {
    /// Parses the text of a model. The variable of a formula is the name of the column of x, with or without its unit,
    /// or else x or t.
    pub(crate) fn parse(text: &str, column: &str) -> Result<Model, Box<dyn Error>> {
        let names = names_in(text);
        let refused = match models::parse(text) {
            Ok(model) if model.variables().len() == 1 => {
                return Ok(Model { curve: model.curve()?, variable: None });
            }
            Ok(model) => {
                let count = model.variables().len();
                return Err(format!(
                    "{model} has {count} independent variables; this page fits models of one"
                )
                .into());
            }
            Err(refused) => refused,
        };
        // One name, or a text that calls a library model, is not meant as a formula.
        let is_one_name = names == [text.trim()] && text.trim() != "x";
        let known = models::names();
        let is_called = |name: &str| known.contains(&name) && text.contains(&format!("{name}("));
        if is_one_name || names.iter().any(|name| is_called(name)) {
            return Err(refused.into());
        }
        let candidates = [column, dualfit_io::without_unit(column), "x", "t"];
        let variable = candidates.into_iter().find(|name| names.contains(name));
        let Some(variable) = variable else {
            // A fault of the formula is reported first.
            CurveFit::parse(text, ["x"])?;
            return Err(format!(
                "the formula contains neither x nor t nor the name of the column, {column}; write one of them for the independent variable"
            )
            .into());
        };
        Ok(Model { curve: CurveFit::parse(text, [variable])?, variable: Some(variable.to_owned()) })
    }
}

/// Returns the names in a text, in order.
fn names_in(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_')).collect()
}
