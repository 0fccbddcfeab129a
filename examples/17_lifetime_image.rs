//! Lesson 17: a joint fit of an image of 10,000 decays with two shared lifetimes.
//!
//! Pulses of light excite a coenzyme in a layer of cells, and in every pixel the photons are counted by their delay.
//! The lifetime of a free molecule is 0.5 ns, and of a molecule bound to a protein 2.5 ns. The two amplitudes of a
//! pixel are the amounts of both. The 200 photons of a pixel do not determine four parameters well. But the lifetimes
//! are properties of the molecule, and all pixels together determine them.
//!
//! `lifetimes_alone.png`, `lifetimes_joint.png` and `lifetimes_truth.png`, maps of the bound molecules, are written to
//! the folder in the first argument, or to `target`.

mod picture;

use dualfit::{BatchData, CurveFit, Estimator, GlobalFit};
use picture::Scale;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Poisson};
use std::error::Error;

const SIDE: usize = 100; // pixels of 0.5 µm
const CELLS: usize = 4; // along a side of the image
const BINS: u32 = 60; // of 0.2 ns
const LIFETIMES: [f64; 2] = [0.5, 2.5]; // in ns, of free and of bound molecules

fn main() -> Result<(), Box<dyn Error>> {
    let mut random = StdRng::seed_from_u64(17);
    let truth = layer(&mut random);
    let delays: Vec<f64> = (0..BINS).map(|bin| 0.2 * (f64::from(bin) + 0.5)).collect();
    let counts = expose(&truth, &delays, &mut random)?;

    let far = f64::INFINITY;
    let decay = CurveFit::new(|t, [tau_free, tau_bound, free, bound]| {
        free * (-t / tau_free).exp() + bound * (-t / tau_bound).exp()
    })
    .names(["tau_free", "tau_bound", "free", "bound"])
    .bounds([(0.1, 1.2), (1.2, 10.0), (0.0, far), (0.0, far)])
    .estimator(Estimator::Poisson);
    let start = [("tau_free", 0.4), ("tau_bound", 3.0)]; // the amplitudes are linear

    let pixels = BatchData::shared(&delays, &counts)?;
    let alone = decay.fit_batch(&pixels, start)?;
    let held = alone.iter().filter(|fit| fit.at_bound().next().is_some()).count();
    println!("each pixel alone:\n{alone}  {held} of them end on a bound\n");

    let joint = GlobalFit::new(&decay).share(["tau_free", "tau_bound"]).over(&pixels, start)?;
    let fit = joint.fit();
    println!("all pixels together:\n{}", fit.termination());
    println!("{} parameters, {} on a bound\n", fit.names().len(), fit.at_bound().len());

    let alone = |k: usize| -> Vec<Found> {
        alone.iter().map(|fit| (fit.params()[k], fit.std_errors()[k])).collect()
    };
    let together = |name: &str| -> Vec<Found> {
        let found = joint.param(name).zip(joint.std_error(name));
        found.into_iter().flat_map(|(values, errors)| values.into_iter().zip(errors)).collect()
    };
    let truth = |k: usize| -> Vec<f64> { truth.iter().map(|pixel| pixel[k]).collect() };

    println!("lifetime in ns   one pixel: scatter   error bar   all pixels          truth");
    for (k, truth) in LIFETIMES.into_iter().enumerate() {
        let [scatter, bar, _] = compared(&alone(k), &vec![truth; SIDE * SIDE]);
        let (value, error) = (fit.params()[k], fit.std_errors()[k]);
        print!("{:<17}{scatter:>18.3}{bar:>12.3}", fit.names()[k]);
        println!("   {value:.4} ± {error:.4}{truth:>9}");
    }
    println!("\nphotons in a bin        scatter   error bar   the truth is within it");
    for (name, k) in [("free", 0), ("bound", 1)] {
        for (how, found) in [("alone", alone(2 + k)), ("together", together(name))] {
            let [scatter, bar, within] = compared(&found, &truth(k));
            println!("{name:<8}{how:<12}{scatter:>11.2}{bar:>12.2}{within:>15.1} %");
        }
    }

    let values = |found: Vec<Found>| found.into_iter().map(|(value, _)| value).collect();
    let scale = Scale { map: colorous::VIRIDIS, range: [0.0, 24.0] };
    for (name, map) in [
        ("lifetimes_alone.png", values(alone(3))),
        ("lifetimes_joint.png", values(together("bound"))),
        ("lifetimes_truth.png", truth(1)),
    ] {
        let mut image = picture::draw(&map, SIDE, 5, &scale);
        picture::scale_bar(&mut image, 100, "10 µm");
        picture::save(&picture::color_bar(&image, &scale, "photons"), name)?;
    }
    Ok(())
}

/// A value and its standard error.
type Found = (f64, f64);

/// Returns the root mean square deviation from the truth, the mean error bar, and the percentage of pixels with the
/// truth within the error bar. Values on a bound have no error bar.
fn compared(found: &[Found], truth: &[f64]) -> [f64; 3] {
    let off = |((value, _), truth): (&Found, &f64)| (value - truth).powi(2);
    let square = found.iter().zip(truth).map(off).sum::<f64>() / found.len() as f64;
    let (mut bars, mut sum, mut within) = (0.0, 0.0, 0.0);
    for ((value, error), truth) in found.iter().zip(truth).filter(|(found, _)| found.1.is_finite())
    {
        bars += 1.0;
        sum += error;
        within += f64::from(u8::from((value - truth).abs() < *error));
    }
    [square.sqrt(), sum / bars, 100.0 * within / bars]
}

/// Simulates amplitudes of the free and the bound molecules in every pixel, in photons per bin.
fn layer(random: &mut StdRng) -> Vec<[f64; 2]> {
    let step = (SIDE / CELLS) as f64;
    let mut cells = Vec::new();
    for i in 0..CELLS * CELLS {
        let mut near = |k: usize| step * (k as f64 + random.random_range(0.25..0.75));
        let middle = [near(i % CELLS), near(i / CELLS)];
        cells.push((middle, [random.random_range(15.0..35.0), random.random_range(6.0..20.0)]));
    }
    // A pixel belongs to the nearest cell.
    let pixel = |i: usize| {
        let (x, y) = ((i % SIDE) as f64, (i / SIDE) as f64);
        let distance = |([u, v], _): &([f64; 2], _)| (x - u).hypot(y - v);
        let mut cells = cells.clone();
        cells.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        let ([first, second], [free, bound]) = ([0, 1].map(|k| distance(&cells[k])), cells[0].1);
        if second - first < 2.0 {
            [0.4 * free, 0.4 * bound] // between two cells
        } else if first < 5.0 {
            [free, 0.4 * bound] // in the nucleus
        } else {
            [free, bound]
        }
    };
    (0..SIDE * SIDE).map(pixel).collect()
}

/// Simulates photon counts in the bins of every pixel, one pixel after the other.
fn expose(
    pixels: &[[f64; 2]],
    delays: &[f64],
    random: &mut StdRng,
) -> Result<Vec<u16>, Box<dyn Error>> {
    let mut counts = Vec::new();
    for amplitudes in pixels {
        for t in delays {
            let light = |k: usize| amplitudes[k] * (-t / LIFETIMES[k]).exp();
            counts.push(Poisson::new(light(0) + light(1))?.sample(random) as u16);
        }
    }
    Ok(counts)
}
