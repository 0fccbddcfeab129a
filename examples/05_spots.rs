//! Lesson 5: a batch of many small fits: microscopy beyond the resolution limit of light.
//!
//! Molecules on a spiral light up for a moment, a few at a time. Diffraction blurs each into a spot of 300 nm, but the
//! centre of a spot of a thousand photons can be estimated to 6 nm. The movie is cut into regions of 11 × 11 pixels
//! around spots, one call fits them all, and their centres draw the spiral.
//!
//! `spots_before.png` and `spots_after.png` are written to the folder in the first argument, or to `target`.

mod picture;

use dualfit::result::BatchFitView;
use dualfit::{BatchData, CurveFit, Estimator, Scalar};
use picture::Scale;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Exp1, Poisson};
use std::error::Error;
use std::f64::consts::TAU;

const SIDE: usize = 64; // pixels of the camera, 100 nm each
const WIDTH: f64 = 1.3; // standard deviation of a spot, in pixels
const BACKGROUND: f64 = 5.0; // photons in a pixel
const REACH: usize = 5; // pixels of a region to each side of its middle
const FINE: usize = 10; // pixels of the last picture to one of the camera's

/// Returns the expected photons of a pixel: the Gaussian is integrated over the area of the pixel.
fn spot<T: Scalar>([x, y]: [T; 2], [x0, y0, width, photons, background]: [T; 5]) -> T {
    let below = |edge: T| (edge / (width * 2f64.sqrt())).erf() * 0.5;
    let share = |d: T| below(d + 0.5) - below(d - 0.5);
    photons * share(x - x0) * share(y - y0) + background
}

fn main() -> Result<(), Box<dyn Error>> {
    let (movie, lit) = film(2000)?;
    let (mut stack, mut starts, mut middles) = (Vec::<u16>::new(), Vec::new(), Vec::new());
    for (frame, pixels) in movie.iter().enumerate() {
        for (x, y) in candidates(pixels) {
            let rows = (y - REACH..=y + REACH).map(|row| row * SIDE + x);
            let region = rows.flat_map(|middle| &pixels[middle - REACH..=middle + REACH]);
            let photons: f64 = region.clone().map(|&n| f64::from(n) - BACKGROUND).sum();
            stack.extend(region);
            starts.push([0.0, 0.0, WIDTH, photons.max(100.0), BACKGROUND]);
            middles.push((frame, x as f64, y as f64));
        }
    }

    // Few photons: least squares would be biased.
    let far = f64::INFINITY;
    let model = CurveFit::multivariate(spot)
        .names(["x", "y", "width", "photons", "background"])
        .bounds([(-5.0, 5.0), (-5.0, 5.0), (0.5, 4.0), (1.0, far), (0.1, far)])
        .estimator(Estimator::Poisson);
    let side = 2 * REACH + 1;
    let (xs, ys): (Vec<f64>, Vec<f64>) = (0..side * side)
        .map(|i| ((i % side) as f64 - REACH as f64, (i / side) as f64 - REACH as f64))
        .unzip();
    let batch = model.fit_batch(BatchData::shared([&xs, &ys], &stack)?, &starts)?;
    println!("{batch}");

    // Two molecules that are too close appear as one spot, but it is wide or the fit is poor.
    let single = |fit: &BatchFitView| {
        let (p, s) = (fit.params(), fit.std_errors());
        fit.status().is_determined()
            && s[0].max(s[1]) < 0.15
            && (p[2] - WIDTH).abs() < 3.0 * s[2]
            && fit.reduced_chi_square().is_some_and(|deviance| deviance < 1.4)
    };
    let mut fine = vec![0.0; (SIDE * FINE).pow(2)];
    let (mut said, mut bound, mut off, mut pull) = (vec![], vec![], vec![], vec![]);
    for fit in batch.iter().filter(single) {
        let (frame, u, v) = middles[fit.index()];
        let (x, y, error) = (u + fit.params()[0], v + fit.params()[1], fit.std_errors()[0]);
        add(&mut fine, x, y, error);
        let distance = |m: &[f64; 5]| (m[0] - x).hypot(m[1] - y);
        let nearest = lit[frame].iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let truth = nearest.ok_or("a spot where no molecule was lit")?;
        said.push(100.0 * error);
        bound.push(100.0 * cramer_rao(&xs, &ys, [truth[0] - u, truth[1] - v, WIDTH, truth[3]]));
        off.push(100.0 * (x - truth[0]).abs());
        pull.push((x - truth[0]).abs() / error);
    }
    let within = |errors: f64| {
        100.0 * pull.iter().filter(|p| **p < errors).count() as f64 / pull.len() as f64
    };
    println!("{} of {} spots are single and sharp. Their x:", said.len(), batch.n_fits());
    println!("  median error bar {:.2} nm, Cramér-Rao bound {:.2} nm", median(said), median(bound));
    println!("  median distance from the truth {:.2} nm", median(off));
    println!(
        "  the truth is within one error bar of {:.1} %, two of {:.1} %",
        within(1.0),
        within(2.0)
    );

    let mut sum = vec![0.0; SIDE * SIDE];
    for pixels in &movie {
        sum.iter_mut().zip(pixels).for_each(|(sum, &n)| *sum += f64::from(n));
    }
    for (name, values, width, zoom, range, unit) in [
        ("spots_before.png", sum, SIDE, FINE, [9600.0, 18000.0], "photons"),
        ("spots_after.png", fine, SIDE * FINE, 1, [0.0, 4000.0], "1/µm²"),
    ] {
        let scale = Scale { map: colorous::INFERNO, range };
        let mut image = picture::draw(&values, width, zoom as u32, &scale);
        picture::scale_bar(&mut image, 10 * FINE as u32, "1 µm");
        picture::save(&picture::color_bar(&image, &scale, unit), name)?;
    }
    Ok(())
}

/// Frames of photons, and the parameters of the spots in each frame.
type Film = (Vec<Vec<u16>>, Vec<Vec<[f64; 5]>>);

fn film(frames: usize) -> Result<Film, Box<dyn Error>> {
    let mut random = StdRng::seed_from_u64(5);
    let (mut movie, mut all) = (Vec::new(), Vec::new());
    for _ in 0..frames {
        let mut lit = Vec::new();
        for _ in 0..Poisson::new(3.0)?.sample(&mut random) as usize {
            // Evenly along a spiral whose turns become closer towards the centre.
            let inwards = random.random::<f64>().powf(0.4);
            let (r, angle) = (25.0 * inwards.powf(1.5), 10.0 * TAU * inwards);
            let brightness: f64 = Exp1.sample(&mut random);
            let middle = SIDE as f64 / 2.0;
            let (x, y) = (middle + r * angle.cos(), middle + r * angle.sin());
            lit.push([x, y, WIDTH, 400.0 + 1000.0 * brightness, 0.0]);
        }
        let mut pixels = Vec::new();
        for i in 0..SIDE * SIDE {
            let at = [(i % SIDE) as f64, (i / SIDE) as f64];
            let near = |m: &&[f64; 5]| (m[0] - at[0]).abs().max((m[1] - at[1]).abs()) < 8.0;
            let light: f64 = lit.iter().filter(near).map(|&molecule| spot(at, molecule)).sum();
            pixels.push(Poisson::new(light + BACKGROUND)?.sample(&mut random) as u16);
        }
        movie.push(pixels);
        all.push(lit);
    }
    Ok((movie, all))
}

/// Returns the pixels whose square of 3 × 3 pixels is the brightest nearby, and exceeds the background by 6 standard
/// deviations of the background.
fn candidates(pixels: &[u16]) -> Vec<(usize, usize)> {
    let mut squares = vec![0.0; SIDE * SIDE];
    for (x, y) in (1..SIDE - 1).flat_map(|y| (1..SIDE - 1).map(move |x| (x, y))) {
        let rows = (y - 1..=y + 1).flat_map(|row| &pixels[row * SIDE + x - 1..row * SIDE + x + 2]);
        squares[y * SIDE + x] = rows.map(|&n| f64::from(n)).sum();
    }
    let threshold = 9.0 * BACKGROUND + 6.0 * (9.0 * BACKGROUND).sqrt();
    let inner = || REACH..SIDE - REACH;
    let brightest = |&(x, y): &(usize, usize)| {
        let here = squares[y * SIDE + x];
        let near = (y - 3..=y + 3).flat_map(|row| &squares[row * SIDE + x - 3..row * SIDE + x + 4]);
        here > threshold && near.filter(|&&s| s >= here).count() == 1
    };
    inner().flat_map(|y| inner().map(move |x| (x, y))).filter(brightest).collect()
}

/// Returns the Cramér-Rao bound, the minimum standard error of an unbiased estimate of x, from the Fisher information
/// Σ (∂f/∂x)²/f. By symmetry x is not correlated with the other parameters.
fn cramer_rao(xs: &[f64], ys: &[f64], [x, y, width, photons]: [f64; 4]) -> f64 {
    let information = |(&u, &v): (&f64, &f64)| {
        let f = |h: f64| spot([u, v], [x + h, y, width, photons, BACKGROUND]);
        ((f(1e-4) - f(-1e-4)) / 2e-4).powi(2) / f(0.0)
    };
    xs.iter().zip(ys).map(information).sum::<f64>().sqrt().recip()
}

/// Draws a molecule at x, y of the camera, in molecules per µm². Its width is the standard error, but at least one
/// pixel of the picture.
fn add(fine: &mut [f64], x: f64, y: f64, error: f64) {
    let zoom = FINE as f64;
    let (x, y, s) = ((x + 0.5) * zoom - 0.5, (y + 0.5) * zoom - 0.5, (error * zoom).max(1.0));
    let near = |c: f64| (c - 4.0 * s).max(0.0) as usize..=(c + 4.0 * s) as usize;
    for (u, v) in near(y).flat_map(|v| near(x).map(move |u| (u, v))) {
        let square = (u as f64 - x).powi(2) + (v as f64 - y).powi(2);
        fine[v * SIDE * FINE + u] += 1e4 * (-square / (2.0 * s * s)).exp() / (TAU * s * s);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
