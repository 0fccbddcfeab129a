//! The requested model with its parameter settings.

use crate::arguments::ModelArguments;
use crate::arguments::words::{Pairs, Prior, Range};
use crate::form::{Form, check_names, variables_of};
use crate::refusal::{Outcome, Refusal, misread};
use crate::table::Table;
use crate::words::{did_you_mean, listed, on_a_line, without_unit};
use dualfit::{CurveFit, Estimator, Options, SearchOptions, Start};

pub(crate) struct Model {
    pub(crate) text: String,
    /// Names of the independent variables in the model.
    pub(crate) variables: Vec<String>,
    pub(crate) curve: CurveFit,
    /// Starting values given for parameters.
    start: Vec<(String, f64)>,
    bounds: Vec<(String, Range)>,
    pub(crate) fixed: Vec<String>,
}

impl Model {
    /// Creates the model from the arguments and checks the names in them. `x`: columns of the independent variables.
    /// `y`: columns of the responses.
    pub(crate) fn new(
        asked: &ModelArguments,
        table: &Table,
        x: &[usize],
        y: &[usize],
    ) -> Outcome<Model> {
        let (mut start, bounds) = (Pairs::of(&asked.start), Pairs::of(&asked.bound));
        let (fix, priors) = (Pairs::of(&asked.fix), Pairs::of(&asked.prior));
        let fixed: Vec<String> = names_of(&fix).map(String::from).collect();
        // Parameters that `--fix` fixes at a given value. Without a value, `--fix` uses the starting value.
        let values = fix.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let values: Vec<(String, f64)> = values.collect();
        for (option, formulas) in [("--tie", &asked.tie), ("--derive", &asked.derive)] {
            for (_, formula) in formulas {
                CurveFit::parse(formula, [""; 0]).map_err(|why| misread(option, &why))?;
            }
        }
        let said: Vec<&str> = names_of(&start).chain(names_of(&values)).collect();
        let own = variables_of(&asked.model, table, x, &said);
        let Form { mut curve, variables, bounds: mut limits } = Form::read(&asked.model, own)?;
        if limits.is_empty() {
            let others = names_of(&bounds).chain(names_of(&asked.tie)).chain(names_of(&priors));
            let others = others.chain(fixed.iter().map(String::as_str));
            let said: Vec<&str> = said.iter().copied().chain(others).collect();
            let parameters = curve.parameters();
            check_names(&asked.model, parameters, &variables, table, (x, y), &said)?;
        }
        let known = curve.parameters().to_vec();
        let named = names_of(&start).map(|name| ("--start", name));
        let named = named.chain(names_of(&bounds).map(|name| ("--bound", name)));
        let named = named.chain(fixed.iter().map(|name| ("--fix", name.as_str())));
        let named = named.chain(names_of(&priors).map(|name| ("--prior", name)));
        for (option, name) in named.chain(names_of(&asked.tie).map(|name| ("--tie", name))) {
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
        for (name, Prior { mean, sigma }) in &priors {
            curve = curve.prior(name, *mean, *sigma);
        }
        for (name, formula) in &asked.derive {
            let is_column = |other: &String| other == name || without_unit(other) == name;
            if variables.contains(name) || table.names.iter().any(is_column) {
                return Err(Refusal::usage(format!(
                    "--derive {name}: a column is called so; give the quantity a name of its own"
                )));
            }
            curve = curve.derive(name, formula);
        }
        for (name, formula) in &asked.tie {
            // Default bounds of a library model do not apply to a tied parameter.
            if names_of(&bounds).all(|other| other != name) {
                curve = curve.bound(name, ..);
            }
            curve = curve.tie(name, formula);
        }
        if asked.poisson {
            curve = curve.estimator(Estimator::Poisson);
        }
        if let Some(loss) = asked.loss {
            curve = curve.loss(loss);
        }
        let options = Options::default().max_evaluations(asked.max_evaluations);
        let search = SearchOptions::default().when(asked.search.when());
        curve = curve.options(options).search(search).backend(asked.device);
        limits.extend(bounds);
        Ok(Model { text: asked.model.clone(), variables, curve, start, bounds: limits, fixed })
    }

    /// Creates the main model and the models to compare it with. Each has the settings of those parameters that it has.
    pub(crate) fn all(
        asked: &ModelArguments,
        others: &[String],
        table: &Table,
        x: &[usize],
        y: usize,
    ) -> Outcome<(Model, Vec<Model>)> {
        let start = Pairs::of(&asked.start);
        let said: Vec<&str> = names_of(&start).collect();
        let compared = |text: &str, mut refusal: Refusal| {
            let message = refusal.message.strip_prefix("--model").unwrap_or(&refusal.message);
            let message = message.trim_start_matches([',', ':', ' ']);
            refusal.message = format!("--compare \"{}\": {message}", on_a_line(text));
            refusal
        };
        let parameters = |text: &String| -> Outcome<Vec<String>> {
            let form = Form::read(text, variables_of(text, table, x, &said));
            Ok(form.map_err(|why| compared(text, why))?.curve.parameters().to_vec())
        };
        let known = others.iter().map(parameters).collect::<Outcome<Vec<_>>>()?;
        let has = |known: &[String], name: &str| known.iter().any(|other| other == name);
        let main = match others {
            [] => Model::new(asked, table, x, &[y])?,
            _ => {
                let own = Form::read(&asked.model, variables_of(&asked.model, table, x, &said))?;
                let own = own.curve.parameters();
                // A name that no model has is an error of the main model.
                let keep = |name: &str| has(own, name) || !known.iter().any(|all| has(all, name));
                Model::new(&asked.of_model(&asked.model, keep), table, x, &[y])?
            }
        };
        let other = |(text, known): (&String, &Vec<String>)| {
            let mut asked = asked.of_model(text, |name| has(known, name));
            asked.derive.clear();
            Model::new(&asked, table, x, &[y]).map_err(|why| compared(text, why))
        };
        Ok((main, others.iter().zip(&known).map(other).collect::<Outcome<_>>()?))
    }

    /// Returns the bounds of a parameter; ±∞ if it has no bounds. If bounds were set several times, the last ones apply.
    pub(crate) fn bounds_of(&self, name: &str) -> Range {
        let said = self.bounds.iter().rev().find(|(other, _)| other == name);
        said.map_or((f64::NEG_INFINITY, f64::INFINITY), |(_, ends)| *ends)
    }

    /// Returns the given starting values; the library finds the others.
    pub(crate) fn start(&self) -> Start {
        Start::Named(self.start.clone())
    }
}

fn names_of<T>(pairs: &[(String, T)]) -> impl Iterator<Item = &str> + Clone {
    pairs.iter().map(|(name, _)| name.as_str())
}

/// Returns an error if `name` is not a parameter of the model.
pub(crate) fn expect(
    option: &str,
    name: &str,
    known: &[String],
    variables: &[String],
) -> Outcome<()> {
    if known.iter().any(|other| other == name) {
        return Ok(());
    }
    let message = if variables.iter().any(|other| other == name) {
        format!("{option} {name}: {name} is the independent variable, not a parameter")
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

/// Returns a hint if `name` is a constant of formulas and therefore cannot be a parameter; otherwise an empty text.
fn taken(name: &str) -> &'static str {
    match name {
        "e" => "; in a formula e is the number 2.718…, so call the parameter otherwise",
        "pi" => "; in a formula pi is the number 3.141…, so call the parameter otherwise",
        _ => "",
    }
}
