//! Lesson 4: two independent variables, a model as text, single precision, missing points.
//!
//! A fit locates a point of light on a camera of 24 × 24 pixels, some of them dead, to a few hundredths of a pixel. The
//! model is written twice: as code, and as text.

use dualfit::{CurveFit, Data, Missing, Scalar};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::error::Error;

/// A generic function works for the fit and for plain numbers. Numeric constants must be right operands.
fn spot<T: Scalar>([x, y]: [T; 2], [height, x0, y0, width, background]: [T; 5]) -> T {
    let r2 = (x - x0).powi(2) + (y - y0).powi(2);
    height * (-r2 / (width.powi(2) * 2.0)).exp() + background
}

const TEXT: &str = "height * exp(-((x - x0)^2 + (y - y0)^2) / (2 * width^2)) + background";

fn main() -> Result<(), Box<dyn Error>> {
    let truth = [120.0, 11.37, 12.84, 1.90, 10.0];
    let (noise, mut random) = (Normal::new(0.0, 3.0)?, StdRng::seed_from_u64(4));

    // One column per variable, one value per pixel. The data can be f32, as from a camera.
    let x: Vec<f32> = (0..576u16).map(|i| f32::from(i % 24)).collect();
    let y: Vec<f32> = (0..576u16).map(|i| f32::from(i / 24)).collect();
    let mut light = Vec::new();
    for (&x, &y) in x.iter().zip(&y) {
        let value = spot([f64::from(x), f64::from(y)], truth) + noise.sample(&mut random);
        light.push(if random.random_bool(0.02) { f32::NAN } else { value as f32 });
    }
    let data = Data::new([&x, &y], &light)?;
    let start = [100.0, 11.0, 12.0, 3.0, 0.0];

    // The parameters of a text are in the order of their first occurrence, here the same as in the function.
    let text = CurveFit::parse(TEXT, ["x", "y"])?;
    let code = CurveFit::multivariate(spot).names(text.parameters());

    println!("as they are: {}\n", code.fit(&data, start).unwrap_err());
    let data = data.missing(Missing::Omit);
    let (fit, typed) = (code.fit(&data, start)?, text.fit(data, start)?);
    println!("{fit}\n");
    println!("as text, the same numbers to the last bit: {}\n", fit.params() == typed.params());

    println!("parameter         fit               truth   off by");
    let errors = fit.std_errors();
    for i in 0..5 {
        let (name, p, s, t) = (&fit.names()[i], fit.params()[i], errors[i], truth[i]);
        println!("{name:<12}{p:>9.4} ± {s:<8.4}{t:>9.2}{:>7.1} σ", (p - t) / s);
    }
    let center = fit.predict([&[11.37], &[12.84]])?[0];
    println!("light at the true center: {center:.2}, truth {}", truth[0] + truth[4]);
    Ok(())
}
