//! Largest magnitudes and counts of points, which can be merged over parts of the points, and units: powers of two
//! that keep squares in the range of f64.

use serde::{Deserialize, Serialize};

/// The largest |y|, 1/σ and |y|/σ of the used points.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Largest {
    pub(super) y: f64,
    pub(super) weight: f64,
    pub(super) row: f64,
}

/// Numbers of used points, of omitted points (masked or missing), and of points ignored because sigma is infinite.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) used: usize,
    pub(super) omitted: usize,
    pub(super) ignored: usize,
}

impl Tally {
    pub(super) fn merge(self, other: Tally) -> Tally {
        Tally {
            used: self.used + other.used,
            omitted: self.omitted + other.omitted,
            ignored: self.ignored + other.ignored,
        }
    }
}

impl Largest {
    pub(super) fn merge(self, other: Largest) -> Largest {
        Largest {
            y: self.y.max(other.y),
            weight: self.weight.max(other.weight),
            row: self.row.max(other.row),
        }
    }
}

/// Range of magnitudes that are not scaled, 2⁻³⁰⁰ to 2³⁰⁰: the sum of their squares over any number of points stays
/// far inside the range of f64. Every tolerance is relative, so only the range matters, and a unit of 1 avoids
/// multiplications in the usual case. Multiplication by a power of two is exact.
const ORDINARY: std::ops::RangeInclusive<f64> =
    f64::from_bits((1023 - 300) << 52)..=f64::from_bits((1023 + 300) << 52);

/// Returns the power of two that scales `magnitude` to order 1, or 1 if `magnitude` is of ordinary size, zero or not
/// finite.
pub(crate) fn unit_of(magnitude: f64) -> f64 {
    if magnitude == 0.0 || !magnitude.is_finite() || is_ordinary(magnitude) {
        1.0
    } else {
        power_of_two(-exponent(magnitude))
    }
}

/// Returns the unit of magnitudes of about 2 to the power `exponent`. The magnitude may be far outside the range of
/// f64.
pub(super) fn unit_of_exponent(exponent: i32) -> f64 {
    if (-300..=300).contains(&exponent) { 1.0 } else { power_of_two(-exponent) }
}

/// Returns true if a positive magnitude has an ordinary size.
pub(super) fn is_ordinary(magnitude: f64) -> bool {
    ORDINARY.contains(&magnitude)
}

/// Returns the exponent of the largest power of two that is at most `magnitude`, which must be finite and positive.
pub(super) fn exponent(magnitude: f64) -> i32 {
    const TWO_54: f64 = (1u64 << 54) as f64;
    let (normal, shift) =
        if magnitude.is_normal() { (magnitude, 0) } else { (magnitude * TWO_54, -54) };
    ((normal.to_bits() >> 52) & 0x7ff) as i32 - 1023 + shift
}

/// Returns 2 to the power `k`, clamped to the range of normal numbers.
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// Powers of two by which y, the weights 1/σ and the weighted residuals (rows) are multiplied so that they are of
/// order 1 and their squares stay in range; all 1 for data of ordinary size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Units {
    pub(crate) y: f64,
    pub(crate) weight: f64,
    pub(crate) row: f64,
}

impl Units {
    /// Units of data of ordinary size.
    pub(crate) const ORDINARY: Units = Units { y: 1.0, weight: 1.0, row: 1.0 };

    /// Returns the units for the largest weight and the largest row, given as binary exponents. `y`: unit of y.
    pub(super) fn of_exponents(y: f64, weight: i32, row: i32) -> Units {
        Units { y, weight: unit_of_exponent(weight), row: unit_of_exponent(row) }
    }
}

#[cfg(test)]
mod tests {
    use super::unit_of;

    #[test]
    fn ordinary_magnitudes_have_unit_one_and_extreme_ones_become_order_one() {
        for v in [0.0, 1.0, 1e-30, 1e30, 1e90, f64::INFINITY, f64::NAN] {
            assert_eq!(unit_of(v), 1.0);
        }
        for v in [1e-300, 1e-200, 1e200, 1e300, 3e-308] {
            let scaled = v * unit_of(v);
            assert!((1.0..2.0).contains(&scaled), "{v} became {scaled}");
        }
        // The smallest subnormal would need 2^1074; it is multiplied by the largest power of two instead.
        assert_eq!(5e-324 * unit_of(5e-324), f64::from_bits((1023 - 51) << 52));
    }
}
