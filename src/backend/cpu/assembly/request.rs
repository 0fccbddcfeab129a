//! Inputs and outputs of machine code.

use crate::backend::cpu::gram::LANES;
use crate::backend::cpu::robust::Shape;
use crate::data::loss::{Estimator, Loss};
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
use crate::data::values::Storage;
use crate::data::values::Values;
use crate::normal::pair;
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

/// Number types of the arrays of a routine. Arrays other than the columns and y are in f64.
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Elements {
    /// Type of all columns: f64 or f32.
    pub(super) columns: Storage,
    pub(super) y: Storage,
}

#[cfg(all(feature = "jit", target_arch = "x86_64"))]
impl Elements {
    /// Number of values of the type.
    pub(super) const COUNT: usize = 2 * Storage::COUNT;

    /// Returns the types of these arrays, of which the first `columns` are columns. Returns `None` if the columns have
    /// different types or integers, or if an array after y is not in f64. `arrays`: all but the flags.
    pub(super) fn of(arrays: &[Values<'_>], columns: usize) -> Option<Elements> {
        let mut arrays = arrays.iter().map(Values::storage);
        let first = arrays.clone().next().filter(|_| columns > 0).unwrap_or_default();
        let are_alike = arrays.by_ref().take(columns).all(|storage| storage == first);
        let y = arrays.next()?;
        let is_supported = matches!(first, Storage::F64 | Storage::F32)
            && are_alike
            && arrays.all(|storage| storage == Storage::F64);
        is_supported.then_some(Elements { columns: first, y })
    }

    pub(super) fn index(self) -> usize {
        Storage::COUNT * usize::from(self.columns == Storage::F32) + self.y as usize
    }
}

/// Weights of residuals and partials. For counts, weights of the products: 1, or 0 for points to be left out.
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

#[cfg(all(feature = "jit", target_arch = "x86_64"))]
impl Weighted {
    /// Number of values of the type.
    pub(super) const COUNT: usize = 4;

    /// Returns true if there is an array of weights or standard deviations.
    pub(super) fn has_array(self) -> bool {
        matches!(self, Weighted::Each | Weighted::BySigma)
    }
}

/// Weights that the loss or the estimator gives to the products of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Estimate {
    /// All weights are 1; the cost is half the sum of the squares.
    Squares,
    Robust(Shape),
    /// Counts with Poisson errors.
    Counts,
}

impl Estimate {
    /// Number of values of the type.
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    pub(super) const COUNT: usize = 7;

    /// Returns `None` for a custom loss, which machine code does not support.
    pub(crate) fn of(loss: Loss, estimator: Estimator) -> Option<Estimate> {
        match (estimator, loss) {
            (Estimator::Poisson, _) => Some(Estimate::Counts),
            (_, Loss::Linear) => Some(Estimate::Squares),
            (_, loss) => Shape::of(loss).map(|(shape, _)| Estimate::Robust(shape)),
        }
    }

    /// Returns the number of sums for `k` columns: their products and, unless it is half a sum of squares, the cost.
    pub(crate) fn sums(self, k: usize) -> usize {
        pair(0, k) + usize::from(self.has_costs())
    }

    /// Returns true if costs are summed in addition to products.
    pub(crate) fn has_costs(self) -> bool {
        self != Estimate::Squares
    }

    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    pub(super) fn index(self) -> usize {
        match self {
            Estimate::Squares => 0,
            Estimate::Counts => 1,
            Estimate::Robust(shape) => 2 + shape as usize,
        }
    }
}

/// Numbers that routines read in addition to the uniform numbers of a program, the same at every point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shared {
    /// Common factor of the weights of residuals and partials.
    pub(crate) weight: f64,
    /// 1/C of a loss, or the upper limit of the weight 1/f of counts.
    pub(crate) unit: f64,
    /// ½C² of a loss.
    pub(crate) half_square: f64,
}

impl Shared {
    pub(crate) const COUNT: usize = 3;
    pub(crate) const WEIGHT: usize = 0;
    pub(crate) const UNIT: usize = 1;
    pub(crate) const HALF_SQUARE: usize = 2;

    /// Returns the numbers for a loss, or for counts whose weights have the upper limit `most`.
    pub(crate) fn of(weight: f64, loss: Loss, estimator: Estimator, most: f64) -> Shared {
        match (estimator, loss.scale()) {
            (Estimator::Poisson, _) => Shared { weight, unit: most, half_square: 0.0 },
            (_, Some(scale)) => {
                Shared { weight, unit: scale.recip(), half_square: 0.5 * scale * scale }
            }
            (_, None) => Shared { weight, ..Shared::default() },
        }
    }

    /// Returns the numbers in the order of their positions.
    pub(crate) fn numbers(&self) -> [f64; Shared::COUNT] {
        [self.weight, self.unit, self.half_square]
    }
}

/// Uniform numbers, which are the same at every point.
#[derive(Clone, Copy)]
pub(crate) enum Same<'a> {
    /// The numbers of one fit.
    OfOne(&'a [f64], Shared),
    /// The numbers of eight fits in lanes, then those of [`Shared`].
    ByLane(&'a [[f64; LANES]]),
}

/// Rows whose products are summed. The residual is (value of the program − `y`) · weight. If the estimate is not
/// [`Estimate::Squares`], the costs are summed, too, after the products.
pub(crate) struct Rows<'a> {
    /// The columns of the program, then y, then the weights or sigmas if each row has its own, then the flags if
    /// `has_flags`. All have the same length. Numbers of other types are converted to f64; see [`Elements`].
    pub(crate) arrays: &'a [Values<'a>],
    /// If true, the last array has a byte for each row, which is 0 if the row is left out.
    pub(crate) has_flags: bool,
    pub(crate) weighted: Weighted,
    pub(crate) estimate: Estimate,
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
