//! Lesson 1: a fit, its report, and its accuracy.
//!
//! Thurber's electron mobility of a semiconductor against the logarithm of its density is one of the harder problems
//! of NIST's Statistical Reference Datasets, whose solutions are certified to 11 digits. The model is a closure; its
//! derivatives are exact and computed automatically.
//!
//! Run it with `cargo run --release --example 01_curve_fit`.

use dualfit::{CurveFit, Data};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let Certified { x, y, names, start, values, errors } =
        read(include_str!("../tests/data/nist/Thurber.txt"))?;

    let mobility = CurveFit::new(|x, [b1, b2, b3, b4, b5, b6, b7]| {
        (b1 + x * (b2 + x * (b3 + x * b4))) / (1.0 + x * (b5 + x * (b6 + x * b7)))
    })
    .names(&names);
    let fit = mobility.fit(Data::new(&x, &y)?, &start)?;
    println!("{fit}\n");

    // Compares the fit with the certified values: the number of correct digits, at most 11.
    println!("NIST       certified value   digits   certified std. dev.   digits");
    for (i, error) in fit.std_errors().into_iter().enumerate() {
        let digits = |found: f64, truth: f64| (-(found / truth - 1.0).abs().log10()).min(11.0);
        let (p, s) = (digits(fit.params()[i], values[i]), digits(error, errors[i]));
        println!("{:<8}{:>18.7}{p:>9.1}{:>22.7}{s:>9.1}", names[i], values[i], errors[i]);
    }
    Ok(())
}

/// A problem of NIST: the data, and name, start, certified value and error of each parameter.
#[derive(Default)]
struct Certified {
    x: Vec<f64>,
    y: Vec<f64>,
    names: Vec<String>,
    start: Vec<f64>,
    values: Vec<f64>,
    errors: Vec<f64>,
}

/// Reads lines `parameter name start1 start2 value error`, and after `data` lines `x y`.
fn read(text: &str) -> Result<Certified, Box<dyn Error>> {
    let mut all = Certified::default();
    for words in text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        if let ["parameter", name, start, _, value, error] = words[..] {
            all.names.push(name.to_owned());
            all.start.push(start.parse()?);
            all.values.push(value.parse()?);
            all.errors.push(error.parse()?);
        } else if let [Ok(x), Ok(y)] = words.iter().map(|w| w.parse()).collect::<Vec<_>>()[..] {
            all.x.push(x);
            all.y.push(y);
        }
    }
    Ok(all)
}
