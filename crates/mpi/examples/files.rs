//! A decay whose points lie in the files of a folder that all ranks see: `mpirun -n 4 target/release/examples/files FOLDER`.
//! Files are read anew for each question, so that no rank needs memory for its points.
//!
//! Where there is no such folder, rank 0 makes one, with five files of pairs of numbers. With `--alone` one process makes the
//! fit by `fit_stream`.

use dualfit::parts::Part;
use dualfit::source::{DirectorySource, NumberType, RangeSource, RawFile, RawSource, Source};
use dualfit::{CurveFit, Fit};
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::error::Error;
use std::fs;
use std::path::Path;

/// Points of the files that are made: no file ends where a rank does.
const SIZES: [u64; 5] = [1_000_003, 700_000, 1, 1_500_000, 900_001];

fn main() -> Result<(), Box<dyn Error>> {
    let universe = mpi::initialize().ok_or("MPI has been initialised before")?;
    let world = universe.world();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(arguments.first().ok_or("say where the files are")?);
    if world.rank() == 0 && !folder.exists() {
        make_files(folder)?;
    }
    world.barrier();
    let curve = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    let start = [2.0, 1.0, 0.3];
    let source = points_of(folder)?;
    if arguments.iter().any(|argument| argument == "--alone") {
        return tell(&curve.fit_stream(source, start)?, 0);
    }
    let points = source.shape().points.ok_or("files of pairs know their length")?;
    let mine = dualfit_mpi::share_of(&world, points);
    if mine.is_empty() {
        dualfit_mpi::answer_nothing(&world);
        return Ok(());
    }
    let mut part = Part::stream(&curve, RangeSource::new(source, mine.clone()), mine.start)?;
    match dualfit_mpi::fit_mpi(&curve, &world, &mut part, start, None)? {
        Some(fit) => tell(&fit, world.size()),
        None => Ok(()),
    }
}

/// The points of all files, pairs of x and y.
fn points_of(folder: &Path) -> Result<impl Source + use<>, Box<dyn Error>> {
    let open = |path: &Path| {
        let pairs = RawFile::new(path, [NumberType::F64; 2]);
        RawSource::open([pairs])?.x([0])?.y(1)
    };
    Ok(DirectorySource::open(folder, open)?)
}

fn make_files(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let all: u64 = SIZES.iter().sum();
    let mut begin = 0;
    for (number, size) in SIZES.into_iter().enumerate() {
        let points = (begin..begin + size).flat_map(|i| {
            let x = 4.0 * i as f64 / all as f64;
            let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let noise = (mixed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            [x, 2.5 * (-1.3 * x).exp() + 0.5 + 0.2 * noise]
        });
        let bytes: Vec<u8> = points.flat_map(f64::to_le_bytes).collect();
        fs::write(folder.join(format!("{number:03}.f64")), bytes)?;
        begin += size;
    }
    Ok(())
}

fn tell(fit: &Fit, ranks: i32) -> Result<(), Box<dyn Error>> {
    let numbers = [fit.params(), &fit.std_errors()].concat();
    let bits: Vec<String> = numbers.iter().map(|v| format!("{:016x}", v.to_bits())).collect();
    println!("{fit}");
    println!("bits {}", bits.join(" "));
    println!("{ranks} ranks; {}", fit.stats().stream.as_ref().ok_or("no stream")?);
    Ok(())
}
