//! Lesson 3: outliers, an active bound, a fixed parameter, and an observer of a fit.
//!
//! A spectral line, recorded by a camera. Cosmic rays have hit a few pixels.

use dualfit::{CurveFit, Data, Event, Loss, Sigma};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::{error::Error, ops::ControlFlow};

fn main() -> Result<(), Box<dyn Error>> {
    let (truth, noise) = ([50.0, 656.28, 0.40, 5.0], 2.0);
    let (normal, mut random) = (Normal::new(0.0, noise)?, StdRng::seed_from_u64(6));
    let wavelength: Vec<f64> = (0..100).map(|i| 654.0 + 0.05 * f64::from(i)).collect();
    let mut light = Vec::new();
    for w in &wavelength {
        let line = truth[0] * (-((w - truth[1]) / truth[2]).powi(2) / 2.0).exp() + truth[3];
        let ray = if random.random_bool(0.08) { random.random_range(20.0..120.0) } else { 0.0 };
        light.push(line + normal.sample(&mut random) + ray);
    }

    let names = ["height", "center", "width", "background"];
    let line = CurveFit::new(|w, [h, c, s, b]| h * (-((w - c) / s).powi(2) / 2.0).exp() + b);
    let line = line.names(names);

    // The scale of a loss is the residual from which a point is suspect: here the usual multiples of sigma. Tukey's
    // loss ignores points that are far off, so its fit starts at the result of Cauchy's.
    let data = Data::new(&wavelength, &light)?.sigma(Sigma::Constant(noise))?;
    println!("{:14}{:<18}{:<18}{:<17}{}", "loss", names[0], names[1], names[2], names[3]);
    let mut start = vec![40.0, 656.0, 1.0, 0.0];
    for (name, loss) in [
        ("least squares", Loss::Linear),
        ("Huber", Loss::Huber { scale: 1.345 }),
        ("Cauchy", Loss::Cauchy { scale: 2.385 }),
        ("Tukey", Loss::Tukey { scale: 4.685 }),
    ] {
        let fit = line.clone().loss(loss).fit(&data, &start)?;
        print!("{name:<13}");
        for (p, s) in fit.params().iter().zip(fit.std_errors()) {
            print!("{p:>8.3} ± {s:<7.3}");
        }
        println!();
        start = fit.params().to_vec();
    }
    println!(
        "truth        {:>8.3}{:>18.3}{:>18.3}{:>18.3}\n",
        truth[0], truth[1], truth[2], truth[3]
    );

    // No line is narrower than the instrument's 0.40 nm, and a dark frame gave the background.
    let line = line.bound("width", 0.40..).fix("background").loss(Loss::Cauchy { scale: 2.385 });
    let line = line.observe(|event| {
        if let Event::Step(now) = event {
            println!("step {}  cost {:>9.3}  {:.4?}", now.iteration, now.cost, now.params);
        }
        ControlFlow::Continue(()) // Break would stop the fit here
    });
    let fit = line.fit(data, [40.0, 656.0, 1.0, 5.0])?;
    println!("\n{fit}\n\non a bound: {:?}", fit.at_bound());
    println!("height {:.2} ± {:.2}, truth {}", fit.params()[0], fit.std_errors()[0], truth[0]);
    Ok(())
}
