//! Runs the text that a `Program` prints: an evaluator that knows nothing of the crate's own.
//!
//! What the listing says is then what the fit computes, and the partials, which the public interface
//! shows in no other way, can be evaluated.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use dualfit::Scalar;
use dualfit::program::Program;
use std::collections::HashMap;

/// The outputs of `program`, by name (`f`, `df/da`, …), in order, at one point.
pub fn run(program: &Program, x: &[f64], p: &[f64]) -> Vec<(String, f64)> {
    let text = program.to_string();
    let mut known: HashMap<&str, f64> = HashMap::new();
    known.extend(program.columns().iter().map(String::as_str).zip(x.iter().copied()));
    known.extend(program.params().iter().map(String::as_str).zip(p.iter().copied()));
    let mut outputs = Vec::new();
    let mut at_outputs = false;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("# ") {
            at_outputs = title == "outputs";
            continue;
        }
        let (name, expression) = line.split_once(" = ").expect(line);
        let value = evaluate(expression, &known);
        if at_outputs {
            outputs.push((name.to_owned(), value));
        } else {
            known.insert(name, value);
        }
    }
    outputs
}

/// The lines under the given title, without it.
pub fn section<'t>(text: &'t str, title: &str) -> Vec<&'t str> {
    let mut lines = text.lines().skip_while(|line| line.strip_prefix("# ") != Some(title));
    lines.next();
    lines.take_while(|line| !line.starts_with('#')).collect()
}

fn evaluate(expression: &str, known: &HashMap<&str, f64>) -> f64 {
    let operand = |text: &str| match known.get(text) {
        Some(&value) => value,
        None => text.parse().unwrap_or_else(|_| panic!("{text} in {expression}")),
    };
    if let Some((name, arguments)) = expression.strip_suffix(')').and_then(|e| e.split_once('(')) {
        let arguments: Vec<&str> = arguments.split(", ").collect();
        if let ("polygamma", [order, a]) = (name, &arguments[..]) {
            return operand(a).polygamma(order.parse().expect("an order"));
        }
        let values: Vec<f64> = arguments.iter().map(|a| operand(a)).collect();
        return call(name, &values).unwrap_or_else(|| panic!("{expression}"));
    }
    match expression.split(' ').collect::<Vec<_>>()[..] {
        [a] => match a.strip_prefix('-').and_then(|name| known.get(name)) {
            Some(value) => -value,
            None => operand(a),
        },
        [a, sign, b] => {
            infix(sign, operand(a), operand(b)).unwrap_or_else(|| panic!("{expression}"))
        }
        _ => panic!("{expression}"),
    }
}

fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

fn infix(sign: &str, a: f64, b: f64) -> Option<f64> {
    Some(match sign {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "<" => truth(a < b),
        "<=" => truth(a <= b),
        "==" => truth(a == b),
        "and" => truth(a != 0.0 && b != 0.0),
        "or" => truth(a != 0.0 || b != 0.0),
        _ => return None,
    })
}

fn call(name: &str, arguments: &[f64]) -> Option<f64> {
    Some(match (name, arguments) {
        ("not", &[a]) => truth(a == 0.0),
        ("abs", &[a]) => Scalar::abs(a),
        ("floor", &[a]) => Scalar::floor(a),
        ("sqrt", &[a]) => Scalar::sqrt(a),
        ("cbrt", &[a]) => Scalar::cbrt(a),
        ("exp", &[a]) => Scalar::exp(a),
        ("exp_m1", &[a]) => Scalar::exp_m1(a),
        ("ln", &[a]) => Scalar::ln(a),
        ("ln_1p", &[a]) => Scalar::ln_1p(a),
        ("log2", &[a]) => Scalar::log2(a),
        ("log10", &[a]) => Scalar::log10(a),
        ("sin", &[a]) => Scalar::sin(a),
        ("cos", &[a]) => Scalar::cos(a),
        ("tan", &[a]) => Scalar::tan(a),
        ("asin", &[a]) => Scalar::asin(a),
        ("acos", &[a]) => Scalar::acos(a),
        ("atan", &[a]) => Scalar::atan(a),
        ("sinh", &[a]) => Scalar::sinh(a),
        ("cosh", &[a]) => Scalar::cosh(a),
        ("tanh", &[a]) => Scalar::tanh(a),
        ("erf", &[a]) => Scalar::erf(a),
        ("erfc", &[a]) => Scalar::erfc(a),
        ("erfcx", &[a]) => Scalar::erfcx(a),
        ("wright_omega", &[a]) => Scalar::wright_omega(a),
        ("faddeeva_re", &[a, b]) => Scalar::faddeeva_re(a, b),
        ("faddeeva_im", &[a, b]) => Scalar::faddeeva_im(a, b),
        ("faddeeva_slope_re", &[a, b]) => Scalar::faddeeva_slope_re(a, b),
        ("faddeeva_slope_im", &[a, b]) => Scalar::faddeeva_slope_im(a, b),
        ("ln_gamma", &[a]) => Scalar::ln_gamma(a),
        ("pow", &[a, b]) => Scalar::powf(a, b),
        ("atan2", &[a, b]) => Scalar::atan2(a, b),
        ("hypot", &[a, b]) => Scalar::hypot(a, b),
        ("min", &[a, b]) => Scalar::min(a, b),
        ("max", &[a, b]) => Scalar::max(a, b),
        ("select", &[m, a, b]) => {
            if m != 0.0 {
                a
            } else {
                b
            }
        }
        _ => return None,
    })
}
