//! What is known of a model beyond its value: where to look for a start, and what its parameters say.

use super::CurveFit;
use crate::data::observations::Observations;
use crate::error::Result;
use crate::error::names::{NameError, check_shown, position};
use crate::model::Expression;
use std::sync::Arc;

impl CurveFit {
    /// What finds a start in the points: called with those that count, it returns one value per
    /// parameter, NaN for one that it does not know.
    #[must_use]
    pub fn guess(
        mut self,
        guess: impl Fn(&Observations) -> Vec<f64> + Send + Sync + 'static,
    ) -> CurveFit {
        self.guess = Some(Arc::new(guess));
        self
    }

    /// A quantity that follows from the parameters, reported with its error: `.derive("fwhm",
    /// "2*sqrt(2*ln(2))*sigma")`. The formula is read as by [`parse`](CurveFit::parse), over the
    /// names of the parameters, tied and fixed ones too. [`fit`](CurveFit::fit) refuses a formula that cannot be
    /// read, a name in it that is none of the parameters, and a quantity that is called as a parameter or
    /// another quantity is. See [`Fit::derived`](crate::Fit::derived); batches do not work them out.
    #[must_use]
    pub fn derive(mut self, name: &str, formula: &str) -> CurveFit {
        match Expression::parse(formula, &[]) {
            Ok(expression) => self.derived.push((name.to_owned(), expression)),
            Err(error) => self.refuse(error),
        }
        self
    }

    /// # Errors
    /// [`Error::Name`](crate::Error::Name) for a name that a parameter has or another quantity, or that cannot be shown;
    /// [`Error::UnknownParameter`](crate::Error::UnknownParameter) for a name in a formula that is none of the parameters.
    pub(super) fn check_derived(&self) -> Result<()> {
        check_shown(self.derived.iter().map(|(name, _)| name))?;
        for (i, (name, _)) in self.derived.iter().enumerate() {
            let taken = if self.names.contains(name) {
                "a parameter"
            } else if self.derived[..i].iter().any(|(other, _)| other == name) {
                "another one"
            } else {
                continue;
            };
            let remedy = "give the derived quantity a name of its own";
            return Err(NameError::taken(name, "a derived quantity", taken, remedy));
        }
        for name in self.derived.iter().flat_map(|(_, formula)| formula.parameters()) {
            position(&self.names, name, "correct the formula of the derived quantity")?;
        }
        Ok(())
    }
}
