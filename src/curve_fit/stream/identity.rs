//! What a checkpoint of a stream belongs to.

use crate::curve_fit::CurveFit;
use crate::data::source::Shape;
use crate::data::source::prefetch::Prefetch;
use crate::data::stream::StreamPoints;
use crate::error::Result;
use crate::fit::stream::checkpoint::Identity;
use crate::model::native::Model;
use sha2::{Digest, Sha256};

impl CurveFit {
    /// What a checkpoint of this fit belongs to.
    pub(super) fn identity(
        &self,
        model: &Model,
        start: &[f64],
        prefetch: &Prefetch<'_>,
        said: &StreamPoints,
        subsample: bool,
    ) -> Result<Identity> {
        let text = match model {
            Model::Traced(program) => program.to_string(),
            Model::Native(_) => format!("native, {} parameters", self.names.len()),
        };
        let digest: String =
            Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let fixed = |i: usize| if self.fixed[i] { ", fixed" } else { "" };
        let parameter = |i: usize| {
            let (lower, upper) = self.bounds[i];
            format!("{} from {:?} in [{lower:?}, {upper:?}]{}", self.names[i], start[i], fixed(i))
        };
        let parameters: Vec<String> = (0..self.names.len()).map(parameter).collect();
        let Shape { x, y, sigma, .. } = &prefetch.shape;
        Ok(Identity(vec![
            ("model", digest),
            ("parameters", parameters.join("; ")),
            ("loss and estimator", format!("{:?}, {:?}", self.loss, self.estimator)),
            ("options", format!("{:?}", self.options)),
            ("columns", format!("{x:?}, {y:?}, sigma: {sigma}")),
            ("treatment of points", format!("{said:?}, sample: {subsample}")),
            ("source", prefetch.fingerprint()?),
        ]))
    }
}
