//! Input of the validation from the data of a fit.

use super::Data;
use super::points::{ColumnList, Given};

impl<'a> Data<'a> {
    /// Returns the arrays and settings as input of the validation.
    pub(crate) fn given(&self) -> Given<'a> {
        Given {
            columns: ColumnList::Owned(self.columns.clone()),
            y: self.y,
            sigma: self.sigma,
            mask: self.mask,
            missing: self.missing,
            infinite_x: self.infinite_x,
            x_sigma: self.x_sigma.clone(),
            known_x: false,
        }
    }
}
