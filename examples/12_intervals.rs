//! Lesson 12: confidence intervals of a parameter if the model is not linear within the standard errors.
//!
//! A saturation curve with eight samples, few of them in its rising part. The data determine the lower limit of the
//! rate well and the upper limit badly, which value ± error cannot express.

use dualfit::result::{ContourOptions, NewPoint};
use dualfit::{CurveFit, Data, akaike_weights, compare_nested};
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let (limit, rate, noise) = (10.0, 0.7, 0.8);
    let t = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 9.0];
    let (normal, mut random) = (Normal::new(0.0, noise)?, StdRng::seed_from_u64(12));
    let y = t.map(|t| limit * (1.0 - f64::exp(-rate * t)) + normal.sample(&mut random));

    let model = CurveFit::parse("limit*(1 - exp(-rate*t))", ["t"])?;
    let data = Data::new(&t, &y)?;
    let fit = model.fit(&data, [("rate", 1.0)])?;
    println!("{fit}\n");

    println!("95 % of          t interval          by profile");
    let by_error = fit.confidence_intervals(0.95)?;
    for (i, name) in fit.names().iter().enumerate() {
        let profile = model.profile(&fit, &data, name)?.interval(0.95)?;
        let (low, high) = by_error[i];
        println!(
            "{name:<8}{low:>9.3} to {high:<9.3}{:>8.3} to {:.3}",
            profile.lower, profile.upper
        );
    }

    // The joint 95 % confidence region of both parameters is larger than either interval.
    let contour = model.contour(&fit, &data, ["limit", "rate"], &ContourOptions::default())?;
    let border: Vec<(f64, f64)> = contour.lines[1].paths.concat();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        border.iter().map(of).fold(ends, |(low, high), v| (low.min(v), high.max(v)))
    };
    let ((a, b), (c, d)) = (range(|p| p.0), range(|p| p.1));
    println!("both together: limit {a:.2} to {b:.2}, rate {c:.2} to {d:.2}\n");

    // The band of the curve, and the band of a new sample.
    let at = [0.25, 2.5, 12.0];
    let curve = fit.confidence_band(&at, 0.95)?;
    let sample = fit.prediction_band(&at, 0.95, NewPoint::Fitted)?;
    println!("time    95 % of the curve     of a sample");
    for i in 0..3 {
        print!("{:<6}{:>8.2} to {:<8.2}", at[i], curve.lower[i], curve.upper[i]);
        println!("{:>8.2} to {:.2}", sample.lower[i], sample.upper[i]);
    }

    // Tests of the residuals: are they random?
    let residuals = fit.diagnostics(&data)?;
    let largest = residuals.studentized.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
    let (runs, watson) = (residuals.runs, residuals.durbin_watson);
    println!(
        "\nlargest studentised residual {largest:.2}, {} runs of {:.1} expected",
        runs.runs, runs.expected
    );
    println!("Durbin-Watson {watson:.2}\n");

    // Comparison with an additional parameter, and with another model.
    let late = CurveFit::parse("limit*(1 - exp(-rate*t)) + offset", ["t"])?;
    let late = late.fit(&data, [("rate", 1.0)])?;
    println!(
        "an offset besides: p = {:.2} that it gains as much by chance",
        compare_nested(&fit, &late)?.p_value
    );
    let hyperbola = CurveFit::parse("limit*t/(half + t)", ["t"])?.fit(data, [("half", 1.0)])?;
    let weights = akaike_weights(&[&fit, &hyperbola])?;
    println!("weight of the exponential against a hyperbola: {:.2}", weights[0].corrected_weight);

    println!("\ntruth: limit {limit}, rate {rate}");
    Ok(())
}
