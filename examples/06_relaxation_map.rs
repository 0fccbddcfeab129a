//! Lesson 6: a fit in every pixel of an image, with bounds, known noise and one starting point per pixel.
//!
//! A magnetic resonance scanner images vials of gel at 16 echo times. The signal of every pixel decays with the time T2
//! of its gel, and one call computes a map of T2 from the 16 images.
//!
//! `relaxation_echo.png` and `relaxation_map.png` are written to the folder in the first argument, or to `target`.

mod picture;

use dualfit::{BatchData, CurveFit, Sigma};
use picture::Scale;
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::error::Error;

const SIDE: usize = 128; // pixels of 1.5 mm
const ECHOES: u32 = 16;

/// Discs of the phantom: name, centre and radius in pixels, T2 in ms, and the signal without decay.
const DISCS: [(&str, [f64; 3], f64, f64); 8] = [
    ("bath", [63.5, 63.5, 56.0], 110.0, 700.0),
    ("vial 1", [98.5, 63.5, 12.0], 25.0, 1000.0),
    ("vial 2", [81.0, 93.8, 12.0], 40.0, 1000.0),
    ("vial 3", [46.0, 93.8, 12.0], 60.0, 1000.0),
    ("vial 4", [28.5, 63.5, 12.0], 85.0, 1000.0),
    ("vial 5", [46.0, 33.2, 12.0], 140.0, 1000.0),
    ("vial 6", [81.0, 33.2, 12.0], 170.0, 1000.0),
    ("vial 7", [63.5, 63.5, 12.0], 200.0, 1000.0),
];

fn main() -> Result<(), Box<dyn Error>> {
    let te: Vec<f64> = (1..=ECHOES).map(|echo| 15.0 * f64::from(echo)).collect();
    let images = scan(&te)?;

    // The noise is estimated from a corner that contains only air: there the mean square of magnitudes is 2σ².
    let air = (0..16).flat_map(|row| &images[0][row * SIDE..row * SIDE + 16]);
    let noise = (air.map(|&v| f64::from(v).powi(2)).sum::<f64>() / 512.0).sqrt();

    // Air is excluded. The starting points are lines through the logarithms of two echoes.
    let inside: Vec<usize> =
        (0..SIDE * SIDE).filter(|&i| f64::from(images[0][i]) > 10.0 * noise).collect();
    let (mut stack, mut starts) = (Vec::<u16>::new(), Vec::new());
    for &i in &inside {
        stack.extend(images.iter().map(|image| image[i]));
        let [first, third] = [0, 2].map(|echo| f64::from(images[echo][i].max(1)));
        let t2 = ((te[2] - te[0]) / (first / third).ln().max(0.05)).max(10.0);
        starts.push([first * (te[0] / t2).exp(), t2, noise]);
    }

    // Signal and noise add in quadrature: if the signal has decayed, the magnitude is the noise floor. In pixels whose
    // signal does not decay so far, only the bounds determine the floor.
    let model = CurveFit::new(|te, [signal, t2, floor]| (signal * (-te / t2).exp()).hypot(floor))
        .names(["signal", "T2", "floor"])
        .bounds([(0.0, 1e5), (1.0, 2000.0), (0.5 * noise, 2.0 * noise)]);
    let data = BatchData::shared(&te, &stack)?.sigma(Sigma::Constant(noise))?;
    let batch = model.fit_batch(data, &starts)?;
    println!("{batch}\n{:.0} fits per second", batch.n_fits() as f64 / batch.seconds());
    let held = batch.iter().filter(|fit| fit.at_bound().next().is_some()).count();
    println!("{held} with the floor on a bound: the signal outlives the last echo\n");

    let mut map = vec![f64::NAN; SIDE * SIDE];
    let mut found = vec![(Vec::new(), Vec::new()); DISCS.len()];
    for fit in batch.iter().filter(|fit| fit.status().is_determined()) {
        let pixel = inside[fit.index()];
        let (t2, error) = (fit.params()[1], fit.std_errors()[1]);
        map[pixel] = t2;
        if let Some(disc) = disc(pixel) {
            found[disc].0.push(t2);
            found[disc].1.push(error);
        }
    }
    println!("T2 in ms   pixels     median        scatter   error bar   truth");
    for ((name, _, truth, _), (t2, errors)) in DISCS.into_iter().zip(found) {
        let (pixels, [low, middle, high]) = (t2.len(), quartiles(t2));
        let scatter = (high - low) / 1.349; // the quartiles of normal numbers are 1.349 σ apart
        let error = 1.253 * scatter / (pixels as f64).sqrt();
        print!("{name:<9}{pixels:>8}{middle:>11.2} ± {error:<7.2}{scatter:>8.2}");
        println!("{:>12.2}{truth:>8}", quartiles(errors)[1]);
    }

    let echo: Vec<f64> = images[0].iter().map(|&v| f64::from(v)).collect();
    let gray = Scale { map: colorous::GREYS, range: [1000.0, 0.0] }; // this map has white at 0
    let colors = Scale { map: colorous::VIRIDIS, range: [0.0, 220.0] };
    for (name, values, scale, unit) in [
        ("relaxation_echo.png", echo, gray, "signal"),
        ("relaxation_map.png", map, colors, "T2/ms"),
    ] {
        let mut image = picture::draw(&values, SIDE, 5, &scale);
        picture::scale_bar(&mut image, 100, "30 mm");
        picture::save(&picture::color_bar(&image, &scale, unit), name)?;
    }
    Ok(())
}

/// Returns the last disc that contains a pixel: the vials are inside the bath.
fn disc(pixel: usize) -> Option<usize> {
    let (x, y) = ((pixel % SIDE) as f64, (pixel / SIDE) as f64);
    DISCS.iter().rposition(|(_, [u, v, radius], ..)| (x - u).hypot(y - v) < *radius)
}

/// Simulates one image per echo: magnitudes of complex numbers with normal noise in both parts.
fn scan(te: &[f64]) -> Result<Vec<Vec<u16>>, Box<dyn Error>> {
    let (noise, mut random) = (Normal::new(0.0, 10.0)?, StdRng::seed_from_u64(6));
    let mut image = |te: f64| {
        let magnitude = |pixel| {
            let signal = disc(pixel).map_or(0.0, |d| DISCS[d].3 * (-te / DISCS[d].2).exp());
            let (re, im) = (signal + noise.sample(&mut random), noise.sample(&mut random));
            re.hypot(im).round() as u16
        };
        (0..SIDE * SIDE).map(magnitude).collect()
    };
    Ok(te.iter().map(|&te| image(te)).collect())
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}
