//! What a checkpoint of a stream belongs to.

use crate::curve_fit::CurveFit;
use crate::curve_fit::start::CompleteStart;
use crate::data::source::Shape;
use crate::data::start::Start;
use crate::data::stream::StreamPoints;
use crate::error::Result;
use crate::fit::stream::checkpoint::Identity;
use crate::model::native::Model;
use sha2::{Digest, Sha256};

impl CurveFit {
    /// Where each parameter begins, in words: what is not given is found in the points.
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

    /// SHA-256 of a model, and of the positions of its free parameters, if they are to be in it.
    pub(super) fn digest(&self, model: &Model, free: &[usize]) -> [u8; 32] {
        let text = match model {
            Model::Traced(program) => program.to_string(),
            Model::Native(_) => format!("native, {} parameters", self.names.len()),
        };
        let free = free.iter().flat_map(|&k| (k as u64).to_le_bytes());
        Sha256::digest(text.into_bytes().into_iter().chain(free).collect::<Vec<u8>>()).into()
    }

    /// What a checkpoint of this fit belongs to.
    pub(super) fn identity(
        &self,
        model: &Model,
        from: &[String],
        (shape, of_points): (&Shape, String),
        said: &StreamPoints,
        subsample: bool,
    ) -> Identity {
        let digest = self.digest(model, &[]);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let fixed = |i: usize| if self.fixed[i] { ", fixed" } else { "" };
        let parameter = |i: usize| {
            let (lower, upper) = self.bounds[i];
            format!("{} from {} in [{lower:?}, {upper:?}]{}", self.names[i], from[i], fixed(i))
        };
        let parameters: Vec<String> = (0..self.names.len()).map(parameter).collect();
        let Shape { x, y, sigma, .. } = shape;
        Identity(vec![
            ("model", digest),
            ("parameters", parameters.join("; ")),
            ("loss and estimator", format!("{:?}, {:?}", self.loss, self.estimator)),
            ("options", format!("{:?}", self.options)),
            ("columns", format!("{x:?}, {y:?}, sigma: {sigma}")),
            ("treatment of points", format!("{said:?}, sample: {subsample}")),
            ("source", of_points),
        ])
    }
}
