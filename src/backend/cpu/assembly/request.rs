//! What is asked of machine code.

use crate::backend::cpu::gram::LANES;
use arrayvec::ArrayVec;

/// Columns, and outputs, that machine code may have.
pub(crate) const FEW: usize = 48;

/// Arrays, or whatever is one for each, in a row that takes no memory of its own; `None` if one is missing or they are
/// too many.
pub(crate) fn in_a_row<T>(arrays: impl Iterator<Item = Option<T>>) -> Option<ArrayVec<T, FEW>> {
    let mut row = ArrayVec::new();
    for array in arrays {
        row.try_push(array?).ok()?;
    }
    Some(row)
}

/// Which weights residuals and partials have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weighted {
    Not,
    /// A number for all points.
    Alike,
    /// An array of them.
    Each,
    /// A number over each of an array of standard deviations.
    BySigma,
}

/// Numbers that are the same at every point, as a routine reads them.
#[derive(Clone, Copy)]
pub(crate) enum Same<'a> {
    /// Of one fit, and what its weights have in common.
    OfOne(&'a [f64], f64),
    /// Of fits side by side.
    ByLane(&'a [[f64; LANES]]),
}

/// Rows whose products are added up: a residual is the program's value less `y`, times its weight.
pub(crate) struct Rows<'a> {
    /// The program's columns, then y and, where each row has one, its weight or sigma; all of one length.
    pub(crate) arrays: &'a [&'a [f64]],
    pub(crate) weighted: Weighted,
    pub(crate) same: Same<'a>,
}

/// Room for numbers that are the same at every point, as a routine reads them.
pub(crate) type Table = Vec<f64>;

/// Arrays that outputs are computed from and written to.
pub(crate) struct Outputs<'a> {
    /// The program's columns, of one length.
    pub(crate) columns: &'a [&'a [f64]],
    /// The outputs that steps compute, each with room for a multiple of eight points.
    pub(crate) outputs: &'a [*mut f64],
    pub(crate) points: usize,
}
