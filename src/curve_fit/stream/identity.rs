//! Identity of a fit: the properties that must match those in a checkpoint, and the properties that the leader of a
//! distributed fit and its parts must share.

use crate::curve_fit::CurveFit;
use crate::curve_fit::ready::CompleteStart;
use crate::data::source::Shape;
use crate::data::start::Start;
use crate::data::stream::StreamPoints;
use crate::error::Result;
use crate::fit::stream::checkpoint::Identity;
use crate::model::native::Model;

impl CurveFit {
    /// Returns the starting value of each parameter as text, or "the data" if it is computed from the points.
    pub(super) fn begins(
        &self,
        start: &Start,
        complete: Option<&CompleteStart>,
    ) -> Result<Vec<String>> {
        let given = match complete {
            Some(found) => found.values.iter().copied().map(Some).collect(),
            None => self.given(start)?,
        };
        let word = |value: &Option<f64>| value.map_or("the data".into(), |v| format!("{v:?}"));
        Ok(given.iter().map(word).collect())
    }

    /// Returns the operations of a traced model, one per line, or the number of parameters of a native model.
    pub(in crate::curve_fit) fn listing(&self, model: &Model) -> String {
        match model {
            Model::Traced(program) => {
                let text = program.to_string();
                let operations = text.lines().filter(|line| !line.starts_with('#'));
                operations.collect::<Vec<_>>().join("\n")
            }
            Model::Native(_) => format!("native, {} parameters", self.names.len()),
        }
    }

    /// Returns the properties in which the leader of a fit and each of its parts must agree: names and values.
    pub(super) fn shared_identity(&self, model: &Model, free: &[usize]) -> Identity {
        let named = |positions: &[usize]| {
            positions.iter().map(|&k| self.names[k].as_str()).collect::<Vec<_>>().join(", ")
        };
        Identity(vec![
            ("parameters", self.names.join(", ")),
            ("free parameters", named(free)),
            ("model", self.listing(model)),
        ])
    }

    /// Returns the identity that a checkpoint of this fit must match.
    pub(super) fn identity(
        &self,
        model: &Model,
        from: &[String],
        (shape, of_points): (&Shape, String),
        said: &StreamPoints,
        subsample: bool,
    ) -> Identity {
        let fixed = |i: usize| if self.fixed[i] { ", fixed" } else { "" };
        let parameter = |i: usize| {
            let (lower, upper) = self.bounds[i];
            format!("{} from {} in [{lower:?}, {upper:?}]{}", self.names[i], from[i], fixed(i))
        };
        let parameters: Vec<String> = (0..self.names.len()).map(parameter).collect();
        let Shape { x, y, sigma, .. } = shape;
        Identity(vec![
            ("model", self.listing(model)),
            ("parameters", parameters.join("; ")),
            ("loss and estimator", format!("{:?}, {:?}", self.loss, self.estimator)),
            ("options", format!("{:?}", self.options)),
            ("columns", format!("{x:?}, {y:?}, sigma: {sigma}")),
            ("treatment of points", format!("{said:?}, sample: {subsample}")),
            ("source", of_points),
        ])
    }
}
