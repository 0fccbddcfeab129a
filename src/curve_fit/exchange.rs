//! A model for other programs: as LaTeX.

use super::CurveFit;
use crate::error::{Error, Result};
use crate::model::native::Model;

impl CurveFit {
    /// The model as LaTeX, for mathematics mode with the package `amsmath`; see
    /// [`Program::latex`](crate::Program::latex).
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
