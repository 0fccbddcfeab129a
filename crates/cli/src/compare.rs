//! `--compare`: other models of the same points, with Akaike weights, and tests of models that contain each other.

use crate::model::Model;
use crate::output::note;
use crate::points::Points;
use crate::refusal::{Outcome, in_our_words, refused_at};
use crate::watch::watched;
use crate::words::{aligned, on_a_line, significant};
use dualfit::error::UncertaintyError;
use dualfit::result::Akaike;
use dualfit::{Error, Fit, akaike_weights, compare_nested};
use serde_json::{Value, json};

pub(crate) struct Comparison {
    /// The main model first.
    models: Vec<Compared>,
}

struct Compared {
    text: String,
    parameters: usize,
    points: usize,
    chi_square: f64,
    akaike: Akaike,
    /// Probability of the test of the smaller against the larger of this model and the main one; `None` if they cannot
    /// contain each other.
    p_value: Option<f64>,
}

impl Comparison {
    /// Fits the other models and compares them with the main one.
    pub(crate) fn run(
        (main, fit): (&Model, &Fit),
        others: &[Model],
        points: &Points<'_>,
    ) -> Outcome<Option<Comparison>> {
        if others.is_empty() {
            return Ok(None);
        }
        let at = |why| refused_at(&why, points);
        let data = points.data().map_err(at)?;
        let fits = others.iter().map(|model| {
            let found = watched(&model.curve).fit(&data, model.start());
            found.map_err(|why| {
                let mut refusal = at(why);
                refusal.message = format!("--compare \"{}\": {}", model.text, refusal.message);
                refusal
            })
        });
        let fits = fits.collect::<Outcome<Vec<Fit>>>()?;
        let all: Vec<&Fit> = std::iter::once(fit).chain(&fits).collect();
        let weights = match akaike_weights(&all) {
            Err(why @ Error::Uncertainty(UncertaintyError::NotComparable { .. })) => {
                note(format!("--compare: {}", in_our_words(&why.to_string())));
                return Ok(None);
            }
            weights => weights?,
        };
        let texts = std::iter::once(main).chain(others).map(|model| on_a_line(&model.text));
        let mut models = Vec::new();
        for ((text, of), akaike) in texts.zip(all).zip(weights) {
            let nested = compare_nested(fit, of).or_else(|_| compare_nested(of, fit));
            let p_value = nested.ok().map(|test| test.p_value);
            let (parameters, points) = (of.estimated(), of.points());
            let chi_square = of.chi_square();
            models.push(Compared { text, parameters, points, chi_square, akaike, p_value });
        }
        Ok(Some(Comparison { models }))
    }

    /// Formats the comparison as a table, with an empty line and a title before it.
    pub(crate) fn table(&self) -> String {
        let titles = ["model", "parameters", "chi-square", "AIC", "AICc", "weight", "p"];
        let row = |of: &Compared| {
            let Compared { text, parameters, chi_square, akaike, p_value, .. } = of;
            let p = p_value.map_or_else(|| "-".into(), |p| significant(p, 3));
            let number = |value: f64| match value.is_finite() {
                true => significant(value, 6),
                false => "-".into(),
            };
            let (chi_square, aic) = (number(*chi_square), number(akaike.aic));
            let (aicc, weight) = (number(akaike.aicc), significant(akaike.weight, 3));
            vec![text.clone(), parameters.to_string(), chi_square, aic, aicc, weight, p]
        };
        let rows: Vec<Vec<String>> = self.models.iter().map(row).collect();
        let lines = aligned(&titles.map(String::from), &rows).join("\n");
        format!(
            "\ncomparison of models: weights by AIC; p tests the smaller of the first and this model, if the other contains it\n{lines}\n"
        )
    }

    /// Returns the entry `comparison` of the document.
    pub(crate) fn document(&self) -> Value {
        let one = |of: &Compared| {
            json!({
                "formula": of.text,
                "estimated": of.parameters,
                "points": of.points,
                "chi_square": of.chi_square,
                "aic": of.akaike.aic,
                "aicc": of.akaike.aicc,
                "weight": of.akaike.weight,
                "corrected_weight": of.akaike.corrected_weight,
                "p_value": of.p_value,
            })
        };
        self.models.iter().map(one).collect()
    }
}
