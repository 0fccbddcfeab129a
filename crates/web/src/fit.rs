//! A fit: columns of the table, the model, and the result with picture and code.

use crate::code::Code;
use crate::model::Model;
use crate::{called, read};
use dualfit::result::Side;
use dualfit::text::significant;
use dualfit::{Data, Fit, Missing, Start};
use dualfit_plot::FitPlot;
use serde::Deserialize;
use serde_json::{Value, json};
use std::error::Error;

/// Level of the confidence band in the picture.
const BAND: f64 = 0.95;
/// Significant digits of numbers in the page's tables.
const DIGITS: usize = 8;

/// A request for a fit. Columns are numbers from 0.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fitting {
    text: String,
    name: String,
    model: String,
    x: usize,
    y: usize,
    /// Standard deviations of y.
    sigma: Option<usize>,
    log_x: bool,
    log_y: bool,
    /// Width and height of the picture, in pixels.
    size: (u32, u32),
}

impl Fitting {
    pub(crate) fn run(&self) -> Result<Value, Box<dyn Error>> {
        let table = read(&self.text, &self.name)?;
        // Errors of a column number come from the table, before its name is used.
        let mut set = table.data(self.x, self.y)?.missing(Missing::Omit);
        if let Some(column) = self.sigma {
            set = set.sigma_column(column)?;
        }
        let x = called(&table, self.x);
        let model = Model::parse(&self.model, &x)?;
        let data = set.data()?;
        let fit = model.curve.fit(&data, Start::Guess)?;
        let code = Code {
            table: &table,
            text: &self.text,
            file: &self.name,
            model: &self.model,
            variable: model.variable.as_deref(),
            columns: (self.x, self.y, self.sigma),
        };
        let (picture, not_drawn) = match self.picture(&fit, &data, &x, &called(&table, self.y)) {
            Ok(svg) => (Some(svg), None),
            Err(why) => (None, Some(why.to_string())),
        };
        Ok(json!({
            "converged": fit.converged(),
            "message": fit.termination().to_string(),
            "omitted": fit.omitted(),
            "parameters": parameters(&fit),
            "derived": derived(&fit),
            "statistics": statistics(&fit),
            "warnings": fit.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "report": fit.to_string(),
            "picture": picture,
            "not_drawn": not_drawn,
            "notes": table.notes(&[self.x, self.y][..])?,
            "python": code.python()?,
            "rust": code.rust(),
        }))
    }

    /// Draws the points, the curve with its band if the errors are known, and the residuals.
    fn picture(
        &self,
        fit: &Fit,
        data: &Data<'_>,
        x: &str,
        y: &str,
    ) -> dualfit_plot::Result<String> {
        let plain = || {
            let plot = FitPlot::new(fit, data).x_label(x).y_label(y).size(self.size.0, self.size.1);
            plot.log_x(self.log_x).log_y(self.log_y).residuals(true)
        };
        let with_parts = || plain().components(true);
        let drawn = with_parts().band(BAND).to_svg().or_else(|_| with_parts().to_svg());
        drawn.or_else(|_| plain().to_svg())
    }
}

/// Returns a row per parameter: numbers, and the texts of the page's table.
fn parameters(fit: &Fit) -> Value {
    let rows = fit.names().iter().zip(fit.params()).zip(fit.std_errors());
    let row = |((name, &value), error): ((&String, &f64), f64)| {
        let side = fit.at_bound().into_iter().find(|(other, _)| other == name);
        let text = match side {
            Some((_, Side::Lower)) => "at its lower bound".into(),
            Some((_, Side::Upper)) => "at its upper bound".into(),
            None if error == f64::INFINITY => "undetermined".into(),
            None if error.is_nan() => "unknown".into(),
            None => significant(error, 4),
        };
        json!({ "name": name, "value": value, "error": error, "texts": [significant(value, DIGITS), text] })
    };
    rows.map(row).collect()
}

fn derived(fit: &Fit) -> Value {
    let row = |quantity: &dualfit::result::Derived| {
        let texts = [significant(quantity.value, DIGITS), significant(quantity.std_error, 4)];
        json!({ "name": quantity.name, "value": quantity.value, "error": quantity.std_error, "texts": texts })
    };
    fit.derived().iter().map(row).collect()
}

/// Returns pairs of a name and a text.
fn statistics(fit: &Fit) -> Value {
    let number = |value: Option<f64>| value.map_or_else(|| "unknown".into(), |v| significant(v, 6));
    json!([
        ["points", fit.points().to_string()],
        ["degrees of freedom", fit.degrees_of_freedom().to_string()],
        ["χ²", number(Some(fit.chi_square()))],
        ["reduced χ²", number(fit.reduced_chi_square())],
        ["R²", number(fit.r_squared())],
        ["RMSE", number(Some(fit.rmse()))],
        ["AIC", number(Some(fit.aic()))],
        ["evaluations", fit.evaluations().to_string()],
    ])
}
