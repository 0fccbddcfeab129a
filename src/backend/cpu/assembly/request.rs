//! Inputs and outputs of machine code.

use crate::backend::cpu::gram::LANES;
use arrayvec::ArrayVec;

/// Maximum number of columns, and of outputs, of machine code.
pub(crate) const FEW: usize = 48;

/// Collects arrays, or one value per array, without allocation. Returns `None` if an array is missing or if there are
/// more than [`FEW`].
pub(crate) fn in_a_row<T>(arrays: impl Iterator<Item = Option<T>>) -> Option<ArrayVec<T, FEW>> {
    let mut row = ArrayVec::new();
    for array in arrays {
        row.try_push(array?).ok()?;
    }
    Some(row)
}

/// Weights of residuals and partials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weighted {
    Not,
    /// One number for all points.
    Alike,
    /// An array of weights.
    Each,
    /// One number, divided by the standard deviation of each point.
    BySigma,
}

/// Uniform numbers, which are the same at every point.
#[derive(Clone, Copy)]
pub(crate) enum Same<'a> {
    /// The numbers of one fit, and the common factor of its weights.
    OfOne(&'a [f64], f64),
    /// The numbers of eight fits in lanes.
    ByLane(&'a [[f64; LANES]]),
}

/// Rows whose products are summed. The residual is (value of the program − `y`) · weight.
pub(crate) struct Rows<'a> {
    /// The columns of the program, then y, then the weights or sigmas if each row has its own. All have the same
    /// length.
    pub(crate) arrays: &'a [&'a [f64]],
    pub(crate) weighted: Weighted,
    pub(crate) same: Same<'a>,
}

/// Buffer for uniform numbers in the layout that a routine reads.
pub(crate) type Table = Vec<f64>;

/// Input and output arrays of a routine that writes outputs.
pub(crate) struct Outputs<'a> {
    /// The columns of the program, all of the same length.
    pub(crate) columns: &'a [&'a [f64]],
    /// The outputs that steps compute. The length of each buffer is the number of points, rounded up to a multiple of
    /// eight.
    pub(crate) outputs: &'a [*mut f64],
    pub(crate) points: usize,
}
