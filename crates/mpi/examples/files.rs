//! Distributed fit of a decay with points in files. Each rank reads its files again for each request, and does not keep
//! the points in memory.
//!
//! - `mpirun -n 4 target/release/examples/files points`: all ranks read the folder `points`, each takes its share.
//! - `mpirun -n 4 target/release/examples/files 'disk/{rank}'`: each rank has a folder of its own, `disk/0` and so on.
//!
//! A folder that does not exist is created, with files of pairs (x, y). With `--from-start` the fit omits the search
//! for a starting point on a subsample. With `--from-start --alone` one process fits all files of a folder by
//! `fit_stream`; the result has the same bits.

use dualfit::error::SourceError;
use dualfit::parts::Part;
use dualfit::source::{RangeSource, Source};
use dualfit::{CurveFit, Fit, Stream};
use dualfit_io::{DirectorySource, NumberType, RawFile, RawSource};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::error::Error;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Number of points in all created files, and maximum per file. Boundaries of files and of ranks differ.
const POINTS: u64 = 4_100_005;
const OF_FILE: u64 = 700_001;

fn main() -> Result<(), Box<dyn Error>> {
    let universe = mpi::initialize().ok_or("MPI has been initialised before")?;
    let world = universe.world();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("say where the files are")?;
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let curve = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    let start = [2.0, 1.0, 0.3];
    if has("--alone") {
        let stream = Stream::new(points_of(Path::new(folder))?).subsample(!has("--from-start"));
        return tell(&curve.fit_stream(stream, start)?, 0);
    }
    let part = match folder.contains("{rank}") {
        true => own_part(&curve, &world, folder),
        false => part_of_shared(&curve, &world, Path::new(folder)),
    };
    let mut part = dualfit_mpi::numbered(&world, part)?;
    let fit = dualfit_mpi::fit_mpi(&curve, &world, &mut part, start, |parts| {
        parts.subsample(!has("--from-start"))
    })?;
    fit.map_or(Ok(()), |fit| tell(&fit, world.size()))
}

/// Returns a part with all points of this rank's own folder.
fn own_part(
    curve: &CurveFit,
    world: &SimpleCommunicator,
    folder: &str,
) -> dualfit::Result<Part<'static>> {
    let folder = folder.replace("{rank}", &world.rank().to_string());
    make_files(Path::new(&folder), dualfit_mpi::share_of(world, POINTS))?;
    Part::stream(curve, points_of(Path::new(&folder))?, 0)
}

/// Returns a part with this rank's share of a folder that all ranks can read. A share can begin and end within a file.
fn part_of_shared(
    curve: &CurveFit,
    world: &SimpleCommunicator,
    folder: &Path,
) -> dualfit::Result<Part<'static>> {
    let made = if world.rank() == 0 { make_files(folder, 0..POINTS) } else { Ok(()) };
    world.barrier();
    made?;
    let source = points_of(folder)?;
    // The number of points of such files is known.
    let mine = dualfit_mpi::share_of(world, source.shape().points.unwrap_or(0));
    Part::stream(curve, RangeSource::new(source, mine), 0)
}

/// Opens all files of a folder, as pairs of x and y.
fn points_of(folder: &Path) -> Result<impl Source + use<>, SourceError> {
    DirectorySource::open(folder, |path: &Path| {
        let pairs = RawFile::new(path, [NumberType::F64; 2]);
        RawSource::open([pairs])?.x([0])?.y(1)
    })
}

/// Creates the folder with these points, unless it exists.
fn make_files(folder: &Path, points: Range<u64>) -> Result<(), SourceError> {
    let cannot = |why: io::Error| SourceError::new(folder.display().to_string(), why.to_string());
    if folder.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(cannot)?;
    for begin in points.clone().step_by(OF_FILE as usize) {
        let pairs = (begin..points.end.min(begin + OF_FILE)).flat_map(|i| {
            let x = 4.0 * i as f64 / POINTS as f64;
            let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let noise = (mixed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            [x, 2.5 * (-1.3 * x).exp() + 0.5 + 0.2 * noise]
        });
        let bytes: Vec<u8> = pairs.flat_map(f64::to_le_bytes).collect();
        fs::write(folder.join(format!("{begin:08}.f64")), bytes).map_err(cannot)?;
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
