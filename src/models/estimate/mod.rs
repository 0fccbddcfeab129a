//! Tools of those who look for a start in noisy points.

pub(crate) mod projection;
pub(crate) mod sketch;

/// The largest value of a start: a model may still double it.
const LARGEST: f64 = 1e300;

/// Values as a start may have them: what is not a number is 1, what is infinite is large.
pub(crate) fn tame<const N: usize>(values: [f64; N]) -> Vec<f64> {
    let tame = |v: f64| if v.is_nan() { 1.0 } else { v.clamp(-LARGEST, LARGEST) };
    values.map(tame).to_vec()
}

#[cfg(test)]
mod tests {
    #[test]
    fn starts_are_finite() {
        let tamed = super::tame([f64::NAN, f64::NEG_INFINITY, -2.5]);
        assert_eq!(tamed, [1.0, -1e300, -2.5]);
    }
}
