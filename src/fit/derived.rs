//! Quantities that were asked for with a fit.

use super::Fit;
use super::propagated::{Propagated, propagated, propagated_at};
use crate::error::Result;
use crate::model::Expression;

/// A quantity that follows from the parameters, as [`CurveFit::derive`](crate::CurveFit::derive) asked
/// for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Its name.
    pub name: String,
    /// Its value at the fitted parameters.
    pub value: f64,
    /// Its standard error, as [`Fit::propagate`](crate::Fit::propagate) gives it.
    pub std_error: f64,
}

impl Fit {
    /// The quantities that [`CurveFit::derive`](crate::CurveFit::derive) asked for, in that order.
    ///
    /// ```
    /// # let x: Vec<f64> = (0..50).map(|i| 0.1 * f64::from(i)).collect();
    /// # let y: Vec<f64> = x.iter().map(|x| 2.0 * (-x).exp() + 0.05 * (9.0 * x).sin()).collect();
    /// let decay = dualfit::CurveFit::parse("a * exp(-b * x)", ["x"])?
    ///     .derive("half_life", "ln(2) / b");
    /// let fit = decay.fit(dualfit::Data::new(&x, &y)?, [("b", 2.0)])?;
    /// let half_life = &fit.derived()[0];
    /// assert_eq!(half_life.value, fit.propagate("ln(2) / b")?.value);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Works out what was asked for, by names and formulas.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a name in a formula that is none
    /// of the parameters.
    pub(crate) fn derive(&mut self, asked: &[(String, Expression)]) -> Result<()> {
        let derived = asked.iter().map(|(name, expression)| {
            let found = propagated(expression, &self.names, &self.params, &self.covariance)?;
            let Propagated { value, std_error } = found;
            Ok(Derived { name: name.clone(), value, std_error })
        });
        self.derived = derived.collect::<Result<_>>()?;
        Ok(())
    }

    /// Works out a further quantity. `places`: the parameter that each name of the formula is.
    pub(crate) fn derive_at(&mut self, name: String, formula: &Expression, places: &[usize]) {
        let found = propagated_at(formula, places, &self.params, &self.covariance);
        let Propagated { value, std_error } = found;
        self.derived.push(Derived { name, value, std_error });
    }
}
