//! Comparison with `tests/data/math_reference.csv`, recorded to 100 digits by `tests/record/math_reference.py`.
//! It measures the error in fractions of an ulp and is the only reference for the gamma functions.

use super::super as math;
use std::collections::BTreeMap;

const TABLE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/math_reference.csv"));

/// Returns the distance from |x| to the next larger double.
fn ulp(x: f64) -> f64 {
    let x = x.abs().min(f64::MAX);
    if x < f64::MAX { x.next_up() - x } else { x - x.next_down() }
}

/// Returns |got - (hi + lo)|, sufficiently exact if the three are close to each other.
fn error(got: f64, hi: f64, lo: f64) -> f64 {
    if got == hi { lo.abs() } else { ((got - hi) - lo).abs() }
}

fn evaluate(name: &str, x: f64, y: f64) -> Option<f64> {
    macro_rules! named {
        ($($unary:ident)*) => {
            match name {
                $(stringify!($unary) => math::$unary(x),)*
                "ln_gamma_negative" => math::ln_gamma(x),
                "digamma_negative" => math::digamma(x),
                "j0_zero" => math::j0(x),
                "j1_zero" => math::j1(x),
                "y0_zero" => math::y0(x),
                "y1_zero" => math::y1(x),
                "pow" => math::pow(x, y),
                "atan2" => math::atan2(x, y),
                "hypot" => math::hypot(x, y),
                "polygamma" => math::polygamma(y as u32, x),
                _ => return None,
            }
        };
    }
    Some(
        named!(exp ln sin cos tan tanh atan erf erfc exp_m1 ln_1p log2 log10 sinh cosh asin acos cbrt
        ln_gamma digamma erfcx wright_omega asinh acosh atanh exp2 gamma e1 i0 i0e i1 i1e k0 k0e
        k1 k1e j0 j1 y0 y1),
    )
}

/// Returns the documented bound and its unit. The unit is an ulp, except near zeros: there it is 2^-52 of
/// the larger of 1 and the value, or an ulp of the amplitude of the wave.
fn bound_and_unit(name: &str, x: f64, hi: f64, y: f64) -> (f64, f64) {
    match name {
        "ln_gamma_negative" | "digamma_negative" => (2.0, f64::EPSILON * hi.abs().max(1.0)),
        "polygamma" if y > 170.0 => (2000.0, ulp(hi)),
        "polygamma" if y > 4.0 => (y.max(15.0), ulp(hi)),
        "polygamma" => (5.0, ulp(hi)),
        "j0" | "j1" | "y0" | "y1" => {
            let wave = (2.0 / (std::f64::consts::PI * x.abs())).sqrt();
            let wave = if name.starts_with('j') { wave.min(1.0).min(x.abs()) } else { wave };
            (3.0, ulp(hi.abs().max(wave)))
        }
        "i0" | "i0e" | "i1" | "i1e" => (4.0, ulp(hi)),
        _ => (2.0, ulp(hi)),
    }
}

#[test]
fn agrees_with_a_hundred_digits() {
    let mut worst: BTreeMap<String, (f64, f64, f64)> = BTreeMap::new();
    let mut failures = Vec::new();
    for line in TABLE.lines() {
        let (name, numbers) = line.split_once(',').expect("a row has commas");
        let numbers: Vec<f64> = numbers
            .split(',')
            .map(|hex| f64::from_bits(u64::from_str_radix(hex, 16).expect("hexadecimal bits")))
            .collect();
        let &[x, y, hi, lo] = numbers.as_slice() else { panic!("four numbers in {line}") };
        let got = evaluate(name, x, y).unwrap_or_else(|| panic!("unknown function in {line}"));
        let (bound, unit) = bound_and_unit(name, x, hi, y);
        let e = if hi.is_finite() {
            error(got, hi, lo) / unit
        } else if got == hi {
            0.0
        } else {
            f64::INFINITY
        };
        let key = if name == "polygamma" { format!("{name} {y}") } else { name.to_owned() };
        let entry = worst.entry(key).or_insert((0.0, x, y));
        if e > entry.0 || e.is_nan() {
            *entry = (e, x, y);
        }
        if e > bound || e.is_nan() {
            failures.push(format!("{name}({x:e}, {y:e}) = {got:e}, expected {hi:e}: {e}"));
        }
    }
    for (name, (e, x, y)) in &worst {
        println!("{name}: {e:.2} at {x:e}, {y:e}");
    }
    assert!(worst.len() > 25, "the table is incomplete");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
