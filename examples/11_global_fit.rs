//! Lesson 11: a joint fit of three decays with a shared rate.
//!
//! The same reaction was measured at three wavelengths. Each has its own amplitude and background. The rate is that of
//! the reaction, and all points together determine it.

use dualfit::{CurveFit, Data, GlobalFit, Sigma};
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let (rate, wavelengths) = (0.35, [(1.0, 0.20, 0.03), (0.4, 0.05, 0.02), (0.15, 0.40, 0.02)]);
    let t: Vec<f64> = (0..60).map(|i| 0.2 * f64::from(i)).collect();
    let mut random = StdRng::seed_from_u64(11);
    let mut sets = Vec::new();
    for (amplitude, offset, noise) in wavelengths {
        let normal = Normal::new(0.0, noise)?;
        let mut clean =
            |t: &f64| amplitude * (-rate * t).exp() + offset + normal.sample(&mut random);
        sets.push(t.iter().map(&mut clean).collect::<Vec<f64>>());
    }
    // Sets with different noise need their sigma, because the cost of the joint fit is the sum of their costs.
    let mut data = Vec::new();
    for (y, (.., noise)) in sets.iter().zip(wavelengths) {
        data.push(Data::new(&t, y)?.sigma(Sigma::Constant(noise))?);
    }

    let decay = CurveFit::parse("amplitude*exp(-rate*t) + offset", ["t"])?;
    println!("each by itself     rate");
    let mut apart = 0.0;
    for (i, data) in data.iter().enumerate() {
        let fit = decay.fit(data, [("rate", 1.0)])?; // amplitude and offset are linear
        let (found, error) = (fit.param("rate").unwrap(), fit.std_error("rate").unwrap());
        println!("set {}            {found:>6.4} ± {error:.4}", i + 1);
        apart += fit.chi_square();
    }

    let joint = GlobalFit::new(&decay).share(["rate"]).fit(data, [("rate", 1.0)])?;
    println!("\n{joint}\n");

    // Two parameters less increase chi-square by about 2 if all sets have the same rate.
    let rise = joint.fit().chi_square() - apart;
    println!("one rate instead of three: chi-square rises by {rise:.2}\n");

    let fit = joint.fit();
    println!(
        "shared rate       {:.4} ± {:.4}",
        fit.param("rate").unwrap(),
        fit.std_error("rate").unwrap()
    );
    let third = joint.set(2).unwrap(); // the third set's own curve, and its band
    let band = third.confidence_band(&[0.0, 12.0], 0.95)?;
    println!("third curve at 0  {:.4} to {:.4}", band.lower[0], band.upper[0]);
    println!("truth: rate {rate}, third curve at 0 {:.2}", wavelengths[2].0 + wavelengths[2].1);
    Ok(())
}
