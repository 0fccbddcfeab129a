//! Lesson 10: a spectrum of two overlapping peaks on a sloping background, from models of the library.
//!
//! The models compute initial guesses from the data, so no positions of the peaks are given. Width and height of a peak
//! are derived from its parameters, with standard errors.

use dualfit::{CurveFit, Data, Sigma, Start, models};
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    // Areas, centers and widths of the peaks; slope and intercept of the background.
    let truth = [120.0, 35.0, 4.0, 60.0, 47.0, 3.0, -0.05, 8.0];
    let gauss = |x: f64, [area, center, sigma]: [f64; 3]| {
        area / (sigma * std::f64::consts::TAU.sqrt())
            * (-((x - center) / sigma).powi(2) / 2.0).exp()
    };
    let (noise, mut random) = (0.25, StdRng::seed_from_u64(10));
    let normal = Normal::new(0.0, noise)?;
    let energy: Vec<f64> = (0..160).map(|i| 0.5 * f64::from(i)).collect();
    let mut counts = Vec::new();
    for &x in &energy {
        let [a, b, c, d, e, f, slope, intercept] = truth;
        let clean = gauss(x, [a, b, c]) + gauss(x, [d, e, f]) + slope * x + intercept;
        counts.push(clean + normal.sample(&mut random));
    }

    // Prefixes distinguish the parameters of two models of the same kind.
    let spectrum = models::gaussian("a_") + models::gaussian("b_") + models::linear("bg_");
    println!("{spectrum}\n");
    let data = Data::new(&energy, &counts)?.sigma(Sigma::Constant(noise))?;
    let fit = CurveFit::from(&spectrum).fit(data, Start::Guess)?;
    println!("{fit}\n"); // with widths and heights, which follow from the parameters

    // The standard error of any other formula of the parameters.
    let share = fit.propagate("a_amplitude/(a_amplitude + b_amplitude)")?;
    println!("share of the first peak: {:.4} ± {:.4}\n", share.value, share.std_error);

    // The confidence band of the curve with a probability of 95 % at each point, and the terms of the sum.
    let at = [20.0, 35.0, 41.5, 47.0, 75.0];
    let band = fit.confidence_band(&at, 0.95)?;
    let parts = fit.components(&at)?;
    let names: String = parts.iter().map(|part| format!("{:>18}", part.name)).collect();
    println!("energy     curve   95 % band       {names}");
    for (i, x) in at.iter().enumerate() {
        print!("{x:>6} {:>9.3}   {:>6.3} to {:<6.3}", band.center[i], band.lower[i], band.upper[i]);
        for part in &parts {
            print!("{:>10.3} ± {:.3}", part.values[i], part.std_errors[i]);
        }
        println!();
    }

    println!("\nparameter           fit              truth   off by");
    for (i, name) in fit.names().iter().enumerate() {
        let (p, s) = (fit.params()[i], fit.std_errors()[i]);
        let off = (p - truth[i]) / s;
        println!("{name:<13}{p:>9.4} ± {s:<8.4}{:>8.2}{off:>7.1} σ", truth[i]);
    }
    Ok(())
}
