//! Runs the text that a `Program` prints: an evaluator that knows nothing of the crate's own.
//!
//! What the listing says is then what the fit computes, and the partials, which the public interface
//! shows in no other way, can be evaluated.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::functions::for_each_function;
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

macro_rules! functions {
    (one { $($one:ident $One:ident),* } two { $($two:ident $Two:ident),* }) => {
        fn function(name: &str, arguments: &[f64]) -> Option<f64> {
            match *arguments {
                $([a] if name == stringify!($one) => Some(Scalar::$one(a)),)*
                $([a, b] if name == stringify!($two) => Some(Scalar::$two(a, b)),)*
                _ => None,
            }
        }
    };
}
for_each_function!(functions);

fn call(name: &str, arguments: &[f64]) -> Option<f64> {
    match (name, arguments) {
        ("not", &[a]) => Some(truth(a == 0.0)),
        ("pow", &[a, b]) => Some(Scalar::powf(a, b)),
        ("select", &[m, a, b]) => Some(if m != 0.0 { a } else { b }),
        _ => function(name, arguments),
    }
}
