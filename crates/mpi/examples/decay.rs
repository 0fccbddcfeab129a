//! Distributed fit of a decay; each rank generates its points: `mpirun -n 4 target/release/examples/decay 4000000`.
//!
//! With `--checkpoint FILE` the fit resumes from the file after a rank has died. Two options are for tests:
//! `--die-at N` aborts the last rank after N calls of the model per point, and `--bad-at I` sets point number I to NaN.

use dualfit::parts::Part;
use dualfit::{CurveFit, Data};
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::path::PathBuf;
use std::time::Instant;

/// Returns point number `i` of `n`.
fn point(i: u64, n: u64) -> (f64, f64) {
    let x = 4.0 * i as f64 / n as f64;
    let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let noise = (mixed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    (x, 2.5 * (-1.3 * x).exp() + 0.5 + 0.2 * noise)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let universe = mpi::initialize().ok_or("MPI has been initialised before")?;
    let world = universe.world();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let points: u64 = arguments.first().ok_or("say how many points there are")?.parse()?;
    let checkpoint = after("--checkpoint").map(PathBuf::from);
    let die_at: Option<u64> = after("--die-at").map(|n| n.parse()).transpose()?;
    let mine = dualfit_mpi::share_of(&world, points);
    let bad_at: Option<u64> = after("--bad-at").map(|i| i.parse()).transpose()?;
    let value_at =
        |i| if bad_at == Some(i) { (point(i, points).0, f64::NAN) } else { point(i, points) };
    let (x, y): (Vec<f64>, Vec<f64>) = mine.map(value_at).unzip();
    let last = world.rank() == world.size() - 1;
    let value = move |x: f64, p: &[f64]| p[0] * (-p[1] * x).exp() + p[2];
    let curve = match die_at {
        // A native model can count its calls, because it is called for each point. With `--die-at`, all ranks use one.
        Some(die_at) if last => {
            let calls = std::sync::atomic::AtomicU64::new(0);
            let limit = die_at * x.len() as u64;
            CurveFit::native(3, move |x: f64, p: &[f64]| {
                if calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= limit {
                    std::process::abort();
                }
                value(x, p)
            })
        }
        _ => CurveFit::native(3, value),
    };
    let curve = if arguments.iter().any(|a| a == "--native") || die_at.is_some() {
        curve
    } else {
        CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
    };
    let begun = Instant::now();
    let start = [2.0, 1.0, 0.3];
    let part = match x.is_empty() {
        true => Ok(None),
        false => Data::new(&x, &y).and_then(|data| Part::new(&curve, data, 0)).map(Some),
    };
    let mut part = dualfit_mpi::numbered(&world, part)?;
    let fit = dualfit_mpi::fit_mpi(&curve, &world, &mut part, start, |parts| match &checkpoint {
        Some(path) => parts.checkpoint(path),
        None => parts,
    });
    if let Err(error) = &fit {
        println!("rank {}: {error}", world.rank());
        // MPI ends the job with the first rank that fails; the barrier lets all ranks print their error first.
        world.barrier();
    }
    let fit = fit?;
    if let Some(fit) = fit {
        let numbers = [fit.params(), &fit.std_errors()].concat();
        let bits: Vec<String> = numbers.iter().map(|v| format!("{:016x}", v.to_bits())).collect();
        println!("{fit}");
        println!("bits {}", bits.join(" "));
        let stream = fit.stats().stream.as_ref().ok_or("no parts")?;
        println!(
            "{} ranks, {} evaluations, {:.3} s; {stream}",
            world.size(),
            fit.stats().evaluations,
            begun.elapsed().as_secs_f64()
        );
    }
    Ok(())
}
