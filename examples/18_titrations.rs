//! Lesson 18: twenty titrations with a shared binding constant, and a test if the constant is the same for all.
//!
//! A protein is titrated with a ligand twenty times. The signal rises from an offset by a span, and each titration has
//! its own offset and span; the dissociation constant Kd belongs to the protein. In no titration does the signal
//! saturate, so each titration alone determines Kd badly.

use dualfit::{CurveFit, Data, GlobalFit, JointFit, Scalar, Sigma, compare_nested};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::error::Error;

const PROTEIN: f64 = 2.0; // µM
const KD: f64 = 8.0; // µM
const NOISE: f64 = 0.02; // of the signal
const RUNS: usize = 20;

/// Returns the signal at a concentration of ligand in µM: linear in the fraction of the protein with bound ligand.
fn signal<T: Scalar>(ligand: T, [kd, span, offset]: [T; 3]) -> T {
    let sum = ligand + kd + PROTEIN;
    offset + span * (sum - (sum * sum - ligand * (4.0 * PROTEIN)).sqrt()) / (2.0 * PROTEIN)
}

/// Simulates titrations at these concentrations; `last` is the Kd of the last one.
fn titrate(ligand: &[f64], last: f64) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let (mut random, noise) = (StdRng::seed_from_u64(18), Normal::new(0.0, NOISE)?);
    let mut titration = |run: usize| {
        let kd = if run + 1 < RUNS { KD } else { last };
        let own = [kd, random.random_range(0.5..1.5), random.random_range(0.1..0.3)];
        ligand.iter().map(|&l| signal(l, own) + noise.sample(&mut random)).collect()
    };
    Ok((0..RUNS).map(&mut titration).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let ligand = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 20.0];
    let curve = CurveFit::new(signal).names(["Kd", "span", "offset"]).bound("Kd", 0.0..);
    let start = [("Kd", 5.0)]; // spans and offsets are linear

    // Without a shared parameter, a joint fit is equivalent to separate fits.
    let both = |runs: &[Vec<f64>]| -> dualfit::Result<(JointFit, JointFit)> {
        let data = runs.iter().map(|run| Data::new(&ligand, run)?.sigma(Sigma::Constant(NOISE)));
        let data = data.collect::<dualfit::Result<Vec<_>>>()?;
        let apart = GlobalFit::new(&curve).fit(data.clone(), start)?;
        Ok((apart, GlobalFit::new(&curve).share(["Kd"]).fit(data, start)?))
    };
    let (apart, joint) = both(&titrate(&ligand, KD)?)?;
    println!("each alone, Kd in µM");
    let (mut bars, mut sum, mut weights) = (0.0, 0.0, 0.0);
    for run in 0..RUNS {
        let fit = apart.set(run).ok_or("no such titration")?;
        let (kd, error) = (fit.params()[0], fit.std_errors()[0]);
        print!("{kd:>7.2} ± {error:.2}{}", if run % 5 == 4 { "\n" } else { "" });
        let weight = error.powi(-2);
        (bars, sum, weights) = (bars + error, sum + weight * kd, weights + weight);
    }
    let fit = joint.fit();
    let (kd, error) = (fit.param("Kd").unwrap(), fit.std_error("Kd").unwrap());
    println!("their weighted mean   {:.2} ± {:.2}", sum / weights, weights.powf(-0.5));
    println!("\nall together {}", fit.termination());
    println!("one Kd for all        {kd:.2} ± {error:.2}");
    println!("error bars alone are longer by a factor of {:.1}\n", bars / RUNS as f64 / error);

    // If all titrations have the same Kd, 19 parameters less increase chi-square by about 19.
    let mutant = KD / 2.0;
    println!("one Kd in place of {RUNS}    chi-square rises by   of the last        p");
    for (what, last) in [("of one protein", KD), ("the last a mutant", mutant)] {
        let (apart, joint) = both(&titrate(&ligand, last)?)?;
        let test = compare_nested(joint.fit(), apart.fit())?;
        let of_last = joint.chi_squares()[RUNS - 1] - apart.chi_squares()[RUNS - 1];
        print!("{what:<23}{:>21.1}{of_last:>14.1}", test.statistic);
        match test.p_value {
            p if p < 0.001 => println!("  < 0.001"),
            p => println!("{p:>9.3}"),
        }
    }
    println!("\ntruth: Kd {KD:.1} and of the mutant {mutant:.1}");
    Ok(())
}
