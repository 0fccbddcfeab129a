//! Numbers as people write them: 2π for 6.283185307179586, 1.5 × 10⁻⁹ for 1.5e-9.

use std::f64::consts::{E, LN_2, LN_10, PI};

/// A number that is not negative as a product over another; empty for 1.
pub(super) struct Written {
    pub(super) over: Vec<String>,
    pub(super) under: Vec<String>,
}

/// Numbers with names, which occur where a formula was computed ahead.
const NAMED: [(f64, &str); 11] = [
    (PI, "\\pi"),
    (E, "e"),
    (LN_2, "\\ln(2)"),
    (LN_10, "\\ln(10)"),
    (2.506_628_274_631_000_2, "\\sqrt{2 \\pi}"),
    (1.772_453_850_905_516, "\\sqrt{\\pi}"),
    (std::f64::consts::SQRT_2, "\\sqrt{2}"),
    (1.732_050_807_568_877_2, "\\sqrt{3}"),
    (1.177_410_022_515_474_7, "\\sqrt{2 \\ln(2)}"),
    (0.832_554_611_157_697_8, "\\sqrt{\\ln(2)}"),
    (3.0, "3"),
];
const FACTORS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 180.0, 16.0];
/// Relative error of a constant that was computed by a few operations.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

pub(super) fn written(value: f64) -> Written {
    let plain = || Written { over: vec![decimal(value)], under: Vec::new() };
    if value == 1.0 {
        return Written { over: Vec::new(), under: Vec::new() };
    }
    let is = |other: f64| (value / other - 1.0).abs() <= ROUNDING;
    if !value.is_finite() || decimal(value).len() < 12 {
        // Halves and the like.
        return match (1..=6).map(|k| f64::from(1u32 << k)).find(|d| value * d == 1.0) {
            Some(d) => Written { over: Vec::new(), under: vec![decimal(d)] },
            None => plain(),
        };
    }
    for (named, text) in NAMED {
        for factor in FACTORS {
            let number = |f: f64| (f != 1.0).then(|| decimal(f));
            let both = || number(factor).into_iter().chain([text.to_owned()]).collect();
            let name = || vec![text.to_owned()];
            let factor_alone = || number(factor).into_iter().collect();
            if is(factor * named) {
                return Written { over: both(), under: Vec::new() };
            }
            if is(named / factor) {
                return Written { over: name(), under: factor_alone() };
            }
            if is(factor / named) {
                return Written { over: factor_alone(), under: name() };
            }
            if is(1.0 / (factor * named)) {
                return Written { over: Vec::new(), under: both() };
            }
        }
    }
    plain()
}

/// The shortest decimal that is the number, with a power of ten where that is shorter.
fn decimal(value: f64) -> String {
    if value.is_nan() {
        return "\\mathrm{NaN}".into();
    }
    if value.is_infinite() {
        return "\\infty".into();
    }
    if value == 0.0 || (1e-4..1e6).contains(&value) {
        return value.to_string();
    }
    let scientific = format!("{value:e}");
    match scientific.split_once('e') {
        Some(("1", exponent)) => format!("10^{{{exponent}}}"),
        Some((digits, exponent)) => format!("{digits} \\times 10^{{{exponent}}}"),
        None => scientific,
    }
}
