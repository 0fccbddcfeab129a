//! Conversion of a composite to a fit with names, bounds, an initial guess and derived quantities.

use super::assemble::{Assembled, shown};
use super::model::Model;
use crate::curve_fit::CurveFit;
use crate::data::Data;
use crate::data::points::Observations;
use crate::data::points::Points;
use crate::error::Result;
use crate::model::ties::Known;
use std::fmt;

impl Model {
    /// Returns the independent variables, in the order of the columns of the data; empty for an invalid model.
    pub fn variables(&self) -> Vec<String> {
        Assembled::of(self).map_or_else(|_| Vec::new(), |assembled| assembled.variables)
    }

    /// Returns the complete formula with prefixed names, in the syntax of [`CurveFit::parse`].
    ///
    /// # Errors
    /// The errors of [`curve`](Model::curve).
    pub fn formula(&self) -> Result<String> {
        Ok(Assembled::of(self)?.formula)
    }

    /// Returns an initial guess from the data: one value per parameter, in their order. Parameters of an
    /// [`expression`](Model::expression) without an [`estimate`](Model::estimate) are NaN.
    ///
    /// # Errors
    /// The errors of [`curve`](Model::curve), and those of [`CurveFit::fit`] for invalid data.
    pub fn guess<'a>(&self, data: impl Into<Data<'a>>) -> Result<Vec<f64>> {
        let data = data.into();
        let assembled = Assembled::of(self)?;
        let points = Points::validate(&data)?;
        Ok(assembled.start(&Observations::of(&points), &Known::within(self.bounds())))
    }

    /// Returns the model as a [`CurveFit`] with names, bounds, initial guess and derived quantities.
    ///
    /// # Errors
    /// Returns [`Error::Model`](crate::Error::Model) if two parameters have the same name, if a name with its prefix is
    /// not valid, or if the outer model of a nesting has several variables. Returns
    /// [`Error::Parse`](crate::Error::Parse) if the formula is nested too deeply.
    pub fn curve(&self) -> Result<CurveFit> {
        let assembled = Assembled::of(self)?;
        let mut curve = CurveFit::of_expression(&assembled.expression, self.parameters())?;
        curve = curve.sum_of(self.terms()?).bounds(self.bounds());
        let derived = self.derived();
        for (name, formula) in &derived {
            curve = curve.derive(name, formula);
        }
        curve.derived_by_model = derived.len();
        Ok(curve.guess_knowing(move |points, known| assembled.start(points, known)))
    }
}

impl From<&Model> for CurveFit {
    /// Converts like [`Model::curve`]; the fit reports errors in the model.
    fn from(model: &Model) -> CurveFit {
        model.curve().unwrap_or_else(|error| CurveFit::senseless(error, model.parameters()))
    }
}

impl From<Model> for CurveFit {
    /// Converts like [`Model::curve`]; the fit reports errors in the model.
    fn from(model: Model) -> CurveFit {
        CurveFit::from(&model)
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({self})")
    }
}

/// Formats in the syntax of [`models::parse`](super::parse), for example `gaussian(g1_) + linear(bg_)`. The formula of
/// an [`expression`](Model::expression) is written in parentheses.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self))
    }
}
