//! Lesson 9: a figure for a paper, with a confidence band and residuals.
//!
//! The light of a fluorescent dye after a flash, with a weaker and slower component.

use dualfit::{CurveFit, Data, Sigma};
use dualfit_plot::FitPlot;
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let (truth, mut random) = ([8.0, 1.4, 2.0, 6.0], StdRng::seed_from_u64(9));
    let decay =
        |t: f64, [a, fast, b, slow]: [f64; 4]| a * (-t / fast).exp() + b * (-t / slow).exp();
    let time: Vec<f64> = (0..90).map(|i| 0.2 * f64::from(i)).collect();
    let sigma: Vec<f64> = time.iter().map(|&t| 0.08 + 0.02 * decay(t, truth)).collect();
    let mut light = Vec::new();
    for (&t, &s) in time.iter().zip(&sigma) {
        light.push(decay(t, truth) + Normal::new(0.0, s)?.sample(&mut random));
    }

    let model = CurveFit::parse("A*exp(-t/tau_1) + B*exp(-t/tau_2)", ["t"])?;
    let data = Data::new(&time, &light)?.sigma(Sigma::Absolute(&sigma))?;
    let fit = model.fit(&data, [5.0, 1.0, 3.0, 10.0])?;
    println!("{fit}\n");

    // The picture is written to the folder in the first argument, or to the current one.
    let folder = env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let (a, fast) = (fit.params()[0], fit.params()[1]);
    let (b, slow) = (fit.params()[2], fit.params()[3]);
    let part = |height: f64, tau: f64| -> Vec<f64> {
        time.iter().map(|t| height * (-t / tau).exp()).collect()
    };
    let figure = FitPlot::new(&fit, &data)
        .x_label("time / ns")
        .y_label("intensity / kHz")
        .band(0.95)
        .component("fast", &time, &part(a, fast))
        .component("slow", &time, &part(b, slow))
        .residuals(true);
    for name in ["figure.svg", "figure.png"] {
        figure.save(folder.join(name))?;
    }

    // The formula and the table of parameters in LaTeX, for the text of the paper.
    println!("{}\n\n{}\n", model.latex()?, fit.latex_table());
    println!("written: figure.svg, figure.png");
    let value = |name| fit.param_text(name).unwrap_or_default();
    println!("tau_1 = {}, truth {:.1}", value("tau_1"), truth[1]);
    println!("tau_2 = {}, truth {:.1}", value("tau_2"), truth[3]);
    Ok(())
}
