//! Distributed batch of fits of spots in images: `mpirun -n 4 target/release/examples/spots 20000`.
//!
//! With `--alone`, rank 0 computes all fits, for comparison: the results are the same to the bit.

use dualfit::{BatchData, CurveFit, Estimator};
use mpi::Threading;
use mpi::traits::Communicator;

const SIDE: usize = 15;

/// Returns the photons of the pixels of spot number `spot`, from a hash: the same on any machine.
fn image(spot: u64) -> impl Iterator<Item = u16> {
    let random = move |i: u64| {
        let mixed = (1000 * spot + i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let center = [0, 1].map(|i| 6.0 + 2.0 * random(i));
    (0..SIDE * SIDE).map(move |i| {
        let [u, v] = [i % SIDE, i / SIDE].map(|at| at as f64);
        let square = (u - center[0]).powi(2) + (v - center[1]).powi(2);
        let expected = 500.0 * (-square / 4.5).exp() + 12.0;
        (expected + 3.4 * expected.sqrt() * (random(2 + i as u64) - 0.5)) as u16
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Other threads compute fits, but only this thread calls MPI.
    let initialised = mpi::initialize_with_threading(Threading::Funneled);
    let (universe, _) = initialised.ok_or("MPI has been initialised before")?;
    let world = universe.world();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let spots: u64 = arguments.first().ok_or("say how many spots there are")?.parse()?;
    let spot = CurveFit::multivariate(|[x, y], [photons, u, v, width, background]| {
        let square = (x - u).powi(2) + (y - v).powi(2);
        photons * (-square / (2.0 * width * width)).exp() + background
    })
    .names(["photons", "u", "v", "width", "background"])
    .estimator(Estimator::Poisson);

    // Only rank 0 has images.
    let first = world.rank() == 0;
    let images: Vec<u16> = (0..if first { spots } else { 0 }).flat_map(image).collect();
    let pixel = |along: fn(usize) -> usize| -> Vec<f64> {
        (0..SIDE * SIDE).map(|i| along(i) as f64).collect()
    };
    let pixels = [pixel(|i| i % SIDE), pixel(|i| i / SIDE)];
    let data = BatchData::shared([&pixels[0], &pixels[1]], &images)?;
    let start = [400.0, 7.0, 7.0, 1.2, 10.0];
    let fits = match arguments.iter().any(|argument| argument == "--alone") {
        true => first.then(|| spot.fit_batch(&data, start)).transpose()?,
        false => {
            let batch = first.then(|| (&data, start.into()));
            dualfit_mpi::fit_batch_mpi(&spot, &world, batch)?
        }
    };
    if let Some(fits) = fits {
        print!("{fits}");
        let all = fits.params().iter().chain(fits.std_errors()).chain(fits.costs());
        let mixed = all.fold(0_u64, |sum, v| sum.rotate_left(7).wrapping_mul(31) ^ v.to_bits());
        println!("bits {mixed:016x}, made by {} ranks in {:.3} s", world.size(), fits.seconds());
    }
    Ok(())
}
