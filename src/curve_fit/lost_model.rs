//! Restoration of the model of a fit that was saved without its model, replacement of models, and checks that a fit
//! belongs to given model and data.

use super::CurveFit;
use crate::data::Data;
use crate::error::Result;
use crate::error::uncertainty::UncertaintyError;
use crate::fit::Fit;
use crate::model::native::Model;

impl Fit {
    /// Returns the fit with the native model of `curve`, if the fit was saved without its model. Methods that need the
    /// model, such as [`predict`](Fit::predict) and the bands, then work again. Functions cannot be compared; the
    /// caller must pass the function that was fitted. A fit that has its model is returned unchanged.
    ///
    /// ```
    /// # #[cfg(feature = "json")] {
    /// use dualfit::{CurveFit, Data, Fit};
    /// let line = CurveFit::native(2, |x, p| p[0] * x + p[1]);
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

    /// Returns the fit with the model of `curve` instead of its own model. Parameters, errors and statistics do not
    /// change; [`predict`](Fit::predict) and the bands evaluate the new model. This is useful for a function whose form
    /// depends on the points, for example by a division by the largest x: for other points it is a different model with
    /// the same parameters.
    ///
    /// Ties of the fit also apply to the new model. The result has no [components](Fit::components).
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

/// Relative tolerance between the cost of a fit and the cost computed from its model and data.
const SAME_COST: f64 = 1e-6;

/// Checks that `fit` has the same parameters as `curve`.
///
/// # Errors
/// [`UncertaintyError::OtherFit`] if they differ.
pub(super) fn check_same_parameters(curve: &CurveFit, fit: &Fit) -> Result<()> {
    if fit.names == curve.names {
        return Ok(());
    }
    let (found, expected) = (fit.names.join(", "), curve.names.join(", "));
    let what = "the list of parameters";
    Err(UncertaintyError::OtherFit { what, found, expected }.into())
}

/// Checks that `fit` is a fit of the model of `curve` to `data`.
///
/// # Errors
/// [`UncertaintyError::OtherFit`] if the parameters of `fit`, its number of points, or its cost differ from those of
/// `curve` and `data`; the errors of [`CurveFit::fit`].
pub(super) fn check_same_fit(curve: &CurveFit, fit: &Fit, data: &Data<'_>) -> Result<()> {
    check_same_parameters(curve, fit)?;
    let mut fixed = curve.clone().changed();
    fixed.observer = None;
    // Tied parameters are computed from the fixed ones.
    (0..fixed.names.len()).for_each(|k| fixed.fixed[k] = !fixed.is_tied(k));
    let same = fixed.fit(data, &fit.params)?;
    let tolerance = SAME_COST * same.cost.max(fit.cost);
    if same.points != fit.points || (same.cost - fit.cost).abs() > tolerance {
        let (what, found) = ("the cost", format!("{} of {} points", fit.cost(), fit.points));
        let expected = format!("{} of {} points", same.cost(), same.points);
        return Err(UncertaintyError::OtherFit { what, found, expected }.into());
    }
    Ok(())
}
