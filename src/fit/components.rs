//! Values and standard errors of the single terms of a fitted sum.

use super::Fit;
use crate::data::columns::Columns;
use crate::error::Result;
use crate::model::component::ComponentModel;
use crate::model::native::Model;

/// One term of a fitted sum of models, such as a peak of a spectrum. Arrays have one value per point.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// The prefix of the model, such as `g_`; the model's name if the prefix is empty; prefix and name if two terms
    /// have the same prefix. For a product, a quotient or a nested model it is the text of its models.
    pub name: String,
    /// The values, with their sign in the sum. The values of all components add up to the curve.
    pub values: Vec<f64>,
    /// Standard errors of the values, from the covariance of all parameters. As in a [`Band`](crate::result::Band),
    /// they are infinite if the data do not determine the value, and NaN if the error is not defined. The errors of
    /// components do not add up to the error of the curve, in which they mostly cancel.
    pub std_errors: Vec<f64>,
}

impl Fit {
    /// Evaluates the terms of the outermost sum of a composite of [`models`](crate::models) at the points `x`, one
    /// column per variable as in [`Data::new`](crate::Data::new). The terms are in the order of the sum. A product, a
    /// quotient or a nested model is one term; a number before a sum is a factor of each term. Tied parameters have the
    /// values of their formulas.
    ///
    /// A single library model is its only component. A closure, a formula, and the stacked model of a joint fit have no
    /// components; use [`JointFit::set`](crate::JointFit::set) for the sets of a joint fit.
    ///
    /// ```
    /// use dualfit::{CurveFit, Data, Start, models};
    /// let x: Vec<f64> = (0..120).map(|i| 0.1 * f64::from(i)).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 3.0 * (-(x - 5.0f64).powi(2)).exp() + 0.2 * x + 1.0).collect();
    /// let model = models::gaussian("peak_") + models::linear("bg_");
    /// let fit = CurveFit::from(model).fit(Data::new(&x, &y)?, Start::Guess)?;
    /// let parts = fit.components(&[5.0])?;
    /// assert_eq!([&*parts[0].name, &*parts[1].name], ["peak_", "bg_"]);
    /// assert!((parts[0].values[0] - 3.0).abs() < 1e-6 && (parts[1].values[0] - 2.0).abs() < 1e-6);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ColumnCount`](crate::Error::ColumnCount) or [`Error::LengthMismatch`](crate::Error::LengthMismatch) if
    /// the columns do not fit the model.
    pub fn components<'a>(&self, x: impl Columns<'a>) -> Result<Vec<Component>> {
        let columns = x.columns()?;
        let n = self.points_in(&columns)?;
        let Model::Traced(whole) = &self.model else { return Ok(Vec::new()) };
        let component = |component: &ComponentModel| {
            let model = component.within(whole, &self.ties)?;
            let found = self.linearised(&model, &columns, n, |_, value, gradient| {
                (value, self.covariance.error_of(gradient))
            })?;
            let (values, std_errors) = found.into_iter().unzip();
            Ok(Component { name: component.name.clone(), values, std_errors })
        };
        self.components.iter().map(component).collect()
    }
}
