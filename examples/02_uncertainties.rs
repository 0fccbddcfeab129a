//! Lesson 2: knowledge of the errors of the data determines the error bars of the parameters.
//!
//! A detector counts the decays of a source in bins of 0.25 s over a background. The standard deviation of a count n is
//! √n, so sigma is known, and its three meanings can be compared.

use dualfit::{CurveFit, Data, Sigma};
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Poisson};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let (amplitude, rate, background) = (900.0, 0.12, 40.0);
    let t: Vec<f64> = (0..200).map(|i| 0.25 * f64::from(i)).collect();
    let mut random = StdRng::seed_from_u64(2);
    let mut counts = Vec::new();
    for t in &t {
        let mean: f64 = amplitude * (-rate * t).exp() + background;
        counts.push(Poisson::new(mean)?.sample(&mut random));
    }
    let names = ["amplitude", "rate", "background"];
    let decay = CurveFit::new(|t, [a, rate, b]| a * (-rate * t).exp() + b).names(names);
    let fit = |sigma| decay.fit(Data::new(&t, &counts)?.sigma(sigma)?, [500.0, 0.5, 10.0]);

    // √ of the mean from a first fit: √ of the count itself would favour bins with low counts.
    let sigma: Vec<f64> = fit(Sigma::Unknown)?.predict(&t)?.iter().map(|n| n.sqrt()).collect();
    println!("sigma is         amplitude           rate           background   reduced χ²");
    for (meaning, sigma) in [
        ("unknown", Sigma::Unknown), // one error for all points, which is wrong here
        ("relative", Sigma::Relative(&sigma)), // right up to a factor, which the scatter measures
        ("absolute", Sigma::Absolute(&sigma)), // right; a reduced χ² near 1 agrees
    ] {
        let fit = fit(sigma)?;
        let (p, s) = (fit.params(), fit.std_errors());
        print!("{meaning:<10}{:>9.2} ± {:<5.2}{:>9.5} ± {:.5}", p[0], s[0], p[1], s[1]);
        println!("{:>8.2} ± {:<5.2}{:>9.2}", p[2], s[2], fit.reduced_chi_square().unwrap());
    }
    println!("{:<10}{amplitude:>9.2}{rate:>17.5}{background:>18.2}\n", "truth");

    // The standard error of a derived quantity: the area under the decay.
    let fit = fit(Sigma::Absolute(&sigma))?;
    let (a, rate, c) = (fit.params()[0], fit.params()[1], fit.covariance());
    let relative = c[(0, 0)] / (a * a) + c[(1, 1)] / (rate * rate) - 2.0 * c[(0, 1)] / (a * rate);
    let (area, error) = (a / rate, a / rate * relative.sqrt());
    println!("area under the decay, amplitude / rate: {area:.0} ± {error:.0}, truth 7500");
    println!("correlation of amplitude and rate: {:.3}\n", fit.correlation()[(0, 1)]);

    // Two factors that occur only as a product cannot be determined separately by any data.
    let product = CurveFit::parse("efficiency * activity * exp(-rate * t) + background", ["t"])?;
    let data = Data::new(&t, &counts)?.sigma(Sigma::Absolute(&sigma))?;
    let fit = product.fit(&data, [0.3, 1000.0, 0.1, 10.0])?;
    println!("{fit}\n\nrank {} of 4, undetermined {:?}\n", fit.rank(), fit.undetermined());
    let fit = product.fix("efficiency").fit(data, [0.3, 1000.0, 0.1, 10.0])?;
    let (activity, error) = (fit.param("activity").unwrap(), fit.std_error("activity").unwrap());
    println!("with the efficiency fixed at 0.3: activity {activity:.0} ± {error:.0}, truth 3000");
    Ok(())
}
