//! A fit that was saved without its model gets it back.

use super::CurveFit;
use super::same_fit::check_same_parameters;
use crate::error::Result;
use crate::fit::Fit;
use crate::model::native::Model;

impl Fit {
    /// The fit with the native model of `curve`, if it was saved without one: what needs the model, as
    /// [`predict`](Fit::predict) and the bands, is there again. Nothing tells one ordinary function from another, so it is
    /// for the caller to bring the one that was fitted. A fit that has its model stays as it is.
    ///
    /// ```
    /// # #[cfg(feature = "serde")] {
    /// use dualfit::{CurveFit, Data, Fit};
    /// let line = CurveFit::native(|x, p| p[0] * x + p[1], 2);
    /// let fit = line.fit(Data::new(&[0.0, 1.0, 2.0], &[1.1, 2.9, 5.0])?, [1.0, 1.0])?;
    /// let saved = fit.to_json()?;
    /// // In another program, which has the function:
    /// let again = Fit::from_json(&saved)?.with_model(&line)?;
    /// assert_eq!(again.predict(&[4.0])?, fit.predict(&[4.0])?);
    /// # }
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`UncertaintyError::OtherFit`](crate::error::UncertaintyError::OtherFit) if `curve` has other parameters; [`Error::ColumnCount`](crate::Error::ColumnCount) if its model has
    /// other independent variables; what is wrong with `curve`.
    pub fn with_model(mut self, curve: &CurveFit) -> Result<Fit> {
        let columns = match &self.model {
            Model::Native(native) if native.lost => native.columns,
            _ => return Ok(self),
        };
        curve.check()?;
        check_same_parameters(curve, &self)?;
        let model = curve.effective_model()?;
        model.expect_columns(columns)?;
        self.model = model;
        Ok(self)
    }
}
