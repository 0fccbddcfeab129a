//! A fit that was saved without its model gets it back, or a fit gets another model.

use super::CurveFit;
use super::same_fit::check_same_parameters;
use crate::error::Result;
use crate::fit::Fit;
use crate::model::native::Model;

impl Fit {
    /// Returns the fit with the native model of `curve`, if it was saved without its model: methods that need the
    /// model, such as [`predict`](Fit::predict) and the bands, work again. Functions cannot be compared; the caller is
    /// responsible for passing the function that was fitted. A fit that has its model is returned unchanged.
    ///
    /// ```
    /// # #[cfg(feature = "serde")] {
    /// use dualfit::{CurveFit, Data, Fit};
    /// let line = CurveFit::native(|x, p| p[0] * x + p[1], 2);
    /// let fit = line.fit(Data::new(&[0.0, 1.0, 2.0], &[1.1, 2.9, 5.0])?, [1.0, 1.0])?;
    /// let saved = fit.to_json()?;
    /// // In another program that has the function:
    /// let again = Fit::from_json(&saved)?.with_model(&line)?;
    /// assert_eq!(again.predict(&[4.0])?, fit.predict(&[4.0])?);
    /// # }
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`UncertaintyError::OtherFit`](crate::error::UncertaintyError::OtherFit) if `curve` has other parameters;
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) if its model has other independent variables; errors in
    /// `curve`.
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

    /// Returns the fit with the model of `curve` in place of its own. Parameters, errors and statistics stay;
    /// [`predict`](Fit::predict) and the bands evaluate the other model. Use it for a function whose form depends on
    /// the points, for example a division by the largest x: at other points it is a different model with the same
    /// parameters.
    ///
    /// Ties of the fit hold in the other model, too. The result has no [components](Fit::components).
    ///
    /// ```
    /// use dualfit::{CurveFit, Data};
    /// let line = |largest: f64| CurveFit::new(move |x, [a, b]| a * x / largest + b);
    /// let fit = line(2.0).fit(Data::new(&[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0])?, [1.0, 1.0])?;
    /// let elsewhere = fit.replace_model(&line(4.0))?;
    /// assert!((elsewhere.predict(&[4.0])?[0] - 3.0).abs() < 1e-9);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`UncertaintyError::OtherFit`](crate::error::UncertaintyError::OtherFit) if `curve` has other parameters; the
    /// error of `curve` if its model is invalid.
    pub fn replace_model(&self, curve: &CurveFit) -> Result<Fit> {
        curve.check()?;
        check_same_parameters(curve, self)?;
        let model = curve.model.as_ref().map_err(Clone::clone)?;
        let model = match self.ties.is_empty() {
            true => model.clone(),
            false => self.ties.substituted(model)?,
        };
        Ok(Fit { model, components: [].into(), ..self.clone() })
    }
}
