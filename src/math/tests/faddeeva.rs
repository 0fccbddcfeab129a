//! w(z) and its derivative against `tests/data/faddeeva.csv`, recorded by `tests/record/faddeeva.py`,
//! and against values that others computed.

use super::super as math;
use super::same;

const TABLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/faddeeva.csv"));

/// Where digits are lost by nature, numbers are compared with this unit instead of with themselves.
type Part = (&'static str, fn(f64, f64) -> f64);

const PARTS: [Part; 4] = [
    ("re", math::faddeeva_re),
    ("im", math::faddeeva_im),
    ("slope re", math::faddeeva_slope_re),
    ("slope im", math::faddeeva_slope_im),
];

/// The largest error by part: of Re w and Im w above the axis relative to themselves, of all else to the
/// modulus, below the axis to that of e^(-z²) with the factors of its derivative.
#[test]
fn agrees_with_recorded_digits() {
    let mut worst = [[(0.0, 0.0, 0.0); 4]; 2];
    let mut rows = 0;
    for line in TABLE.lines() {
        let numbers: Vec<f64> = line
            .split(',')
            .map(|hex| f64::from_bits(u64::from_str_radix(hex, 16).expect("hexadecimal bits")))
            .collect();
        let &[x, y, ref expected @ ..] = numbers.as_slice() else { panic!("no row: {line}") };
        let below = y < 0.0;
        for (k, (_, f)) in PARTS.iter().enumerate() {
            let found = f(x, y);
            let pair = &expected[k / 2 * 2..][..2];
            let unit = if k < 2 && !below { expected[k].abs() } else { pair[0].hypot(pair[1]) };
            // Of a subnormal the last bit is the unit.
            let error = if same(found, expected[k]) || found == expected[k] {
                0.0
            } else {
                ((found - expected[k]).abs() - 1e-323).max(0.0) / unit
            };
            let entry = &mut worst[usize::from(below)][k];
            if !(error <= entry.0) {
                *entry = (error, x, y);
            }
        }
        rows += 1;
    }
    for (place, worst) in ["above", "below"].iter().zip(worst) {
        for ((name, _), (error, x, y)) in PARTS.iter().zip(worst) {
            println!("{place} {name}: {error:.1e} at {x:e}, {y:e}");
        }
    }
    assert!(rows > 1500, "the table is incomplete");
    assert!(worst[0][..2].iter().all(|w| w.0 < 1e-13), "{worst:?}");
    assert!(worst[0][2..].iter().all(|w| w.0 < 1e-12), "{worst:?}");
    assert!(worst[1].iter().all(|w| w.0 < 1e-12), "{worst:?}");
}
