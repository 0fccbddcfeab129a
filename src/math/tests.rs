//! Tests of the elementary functions: accuracy compared with a correctly rounding library and with a recorded 100-digit
//! table, special values, and identical bits of all forms on all instruction sets.

mod accuracy;
mod faddeeva;
mod identity;
mod special;
mod table;

/// SplitMix64 generator, which makes failures reproducible.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 * f64::EPSILON * 0.5)
    }

    /// Returns a number with this biased exponent and random mantissa and sign.
    fn in_binade(&mut self, exponent: u64) -> f64 {
        f64::from_bits((self.bits() & 0x800f_ffff_ffff_ffff) | (exponent << 52))
    }
}

/// Returns true if the bits are equal; all NaN count as equal.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
