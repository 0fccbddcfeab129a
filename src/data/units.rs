//! Powers of two that bring extreme data into the range where squares neither overflow nor vanish.
//!
//! Data of ordinary size are left alone: every tolerance is relative, so only the range matters, and
//! a unit of 1 keeps the usual case free of multiplications. Multiplying by a power of two changes
//! no digit.

/// Magnitudes between 2⁻³⁰⁰ and 2³⁰⁰ are left alone: squares of them, summed over any number of
/// points, stay far inside the range of f64.
const ORDINARY: std::ops::RangeInclusive<f64> =
    f64::from_bits((1023 - 300) << 52)..=f64::from_bits((1023 + 300) << 52);

/// The power of two that `magnitude` must be multiplied with to be of order 1, or 1 if it is of
/// ordinary size, zero, or not finite.
pub(crate) fn unit_of(magnitude: f64) -> f64 {
    if magnitude == 0.0 || !magnitude.is_finite() || is_ordinary(magnitude) {
        1.0
    } else {
        power_of_two(-exponent(magnitude))
    }
}

/// The unit of magnitudes of about 2 to the power `exponent`, which may be far outside the range of
/// f64.
pub(super) fn unit_of_exponent(exponent: i32) -> f64 {
    if (-300..=300).contains(&exponent) { 1.0 } else { power_of_two(-exponent) }
}

/// Whether a magnitude, positive, is of ordinary size.
pub(super) fn is_ordinary(magnitude: f64) -> bool {
    ORDINARY.contains(&magnitude)
}

/// The power of two next below `magnitude` or equal to it, as its exponent; `magnitude` is finite
/// and positive.
pub(super) fn exponent(magnitude: f64) -> i32 {
    const TWO_54: f64 = (1u64 << 54) as f64;
    let (normal, shift) =
        if magnitude.is_normal() { (magnitude, 0) } else { (magnitude * TWO_54, -54) };
    ((normal.to_bits() >> 52) & 0x7ff) as i32 - 1023 + shift
}

/// 2 to the power `k`, held within the range of normal numbers.
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k.clamp(-1022, 1023) + 1023) as u64) << 52)
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
        // The smallest subnormal would need 2^1074; the largest power of two there is must do.
        assert_eq!(5e-324 * unit_of(5e-324), f64::from_bits((1023 - 51) << 52));
    }
}
