//! The data of one fit as they are to be checked.

use super::Data;
use super::points::{ColumnList, Given};

impl<'a> Data<'a> {
    /// The arrays as they are to be checked.
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
