//! A model for other programs, as LaTeX, and from a program that was kept.

use super::CurveFit;
use crate::error::names::check_distinct;
use crate::error::{Error, Result};
use crate::model::native::Model;
use crate::model::program::Program;
use std::sync::Arc;

impl CurveFit {
    /// A model that was traced before: what [`program`](CurveFit::program) gave, perhaps saved in between.
    /// Its partials are recorded anew; names of parameters are the program's.
    ///
    /// ```
    /// let line = dualfit::CurveFit::parse("a*x + b", ["x"])?;
    /// let again = dualfit::CurveFit::from_program(&line.program()?);
    /// assert_eq!(again.parameters(), ["a", "b"]);
    /// assert_eq!(again.program()?, line.program()?);
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    pub fn from_program(program: &Program) -> CurveFit {
        let names = program.params().to_vec();
        let refused = check_distinct(&names).err();
        let model = Ok(Model::Traced(Arc::new(program.value_only())));
        let mut curve = CurveFit::with_names(model, names);
        curve.refused = refused;
        curve
    }

    /// The model as LaTeX, for mathematics mode with the package `amsmath`; see
    /// [`Program::latex`](crate::program::Program::latex).
    ///
    /// ```
    /// let decay = dualfit::CurveFit::parse("A*exp(-t/tau) + offset", ["t"])?;
    /// assert_eq!(
    ///     decay.latex()?,
    ///     r"f(t) = A \exp\!\left(-\frac{t}{\tau}\right) + \mathrm{offset}"
    /// );
    /// # Ok::<(), dualfit::Error>(())
    /// ```
    ///
    /// # Errors
    /// What was wrong with the model, or [`Error::NotTraced`] for a native one.
    pub fn latex(&self) -> Result<String> {
        match self.model.as_ref().map_err(Clone::clone)? {
            Model::Traced(program) => Ok(program.latex()),
            Model::Native(_) => Err(Error::NotTraced),
        }
    }
}
