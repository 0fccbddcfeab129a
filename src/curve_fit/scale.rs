//! The sizes of parameters, where their starts do not tell them.

use super::CurveFit;
use crate::error::Error;
use crate::model::native::Model;

impl CurveFit {
    /// The typical size of a parameter, positive: for one whose start is 0, or far from what it becomes.
    ///
    /// Steps of the differences that are a native model's partials are relative to the parameter as it
    /// is, and to no less than a thousandth of this, in place of a thousandth of the start or, where
    /// that is 0, of 1. The search that goes on where a fit from a solved start did not converge (see
    /// [`Start`](crate::Start)) changes a parameter by parts of its value or of this, whichever is
    /// larger. Nothing else depends on it: traced models have exact partials, and the solver scales
    /// parameters by their effect on the points.
    ///
    /// ```
    /// let line = dualfit::CurveFit::native(|x: f64, p: &[f64]| p[0] * (x - p[1]), 2)
    ///     .names(["slope", "shift"])
    ///     .scale("shift", 1e-9);
    /// ```
    #[must_use]
    pub fn scale(mut self, name: &str, magnitude: f64) -> CurveFit {
        let Some(i) = self.find(name) else { return self };
        if !(magnitude > 0.0 && magnitude.is_finite()) {
            let (value, requirement) = (magnitude, "positive and finite");
            self.refuse(Error::BadOption { name: "scale", value, requirement });
            return self;
        }
        self.scales[i] = magnitude;
        if let Ok(Model::Native(native)) = &mut self.model {
            native.scales[i] = magnitude;
        }
        self.changed()
    }
}
