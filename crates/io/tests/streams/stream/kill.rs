//! Processes that are killed at any moment of a fit and started again: the result equals that of an undisturbed fit.

use crate::stream::child;
use crate::stream::support::{Slowed, bits, folder, linspace, noise};
use dualfit::{Backend, CurveFit, Loss, Stream};
use dualfit_io::NumberType::F64;
use dualfit_io::{RawFile, RawSource};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TEST: &str = "stream::kill::a_fit_killed_at_any_moment_goes_on_to_the_same_result";
const POINTS: usize = 30_000;
const KILLS: usize = 50;
/// Time of reading a chunk, so that kills occur during reading.
const PAUSE: Duration = Duration::from_millis(2);

struct Files {
    points: PathBuf,
    checkpoint: PathBuf,
    result: PathBuf,
}

impl Files {
    fn new(folder: &Path) -> Files {
        let [points, checkpoint, result] =
            ["points.raw", "fit.checkpoint", "result"].map(|name| folder.join(name));
        Files { points, checkpoint, result }
    }

    fn write_points(&self) {
        let (x, e) = (linspace(0.0, 10.0, POINTS), noise(POINTS, 0.1, 21));
        let point = |(x, e): (&f64, &f64)| [*x, 2.0 * (-0.5 * x).exp() + 0.3 + e];
        let numbers = x.iter().zip(&e).flat_map(point);
        let bytes: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
        fs::write(&self.points, bytes).unwrap();
    }

    /// Computes the fit of a child process.
    fn fit(&self) {
        let source = RawSource::open([RawFile::new(&self.points, [F64, F64])]).unwrap();
        let stream = Stream::new(Slowed { source, pause: PAUSE })
            .memory_limit(1 << 19)
            .chunk_points(4096)
            .prefetch(0)
            .checkpoint(&self.checkpoint);
        let model = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu);
        let fit =
            model.loss(Loss::Huber { scale: 0.1 }).fit_stream(stream, [2.5, 0.8, 0.1]).unwrap();
        let resumed = fit.stats().stream.as_ref().unwrap().resumed_passes as u64;
        let numbers: Vec<String> =
            bits(&fit).into_iter().chain([resumed]).map(|number| number.to_string()).collect();
        fs::write(&self.result, numbers.join(" ")).unwrap();
    }

    /// Reads and removes the result of a child process: its bits, and the number of passes of earlier processes.
    fn take_result(&self) -> (String, u64) {
        let text = fs::read_to_string(&self.result).unwrap();
        fs::remove_file(&self.result).unwrap();
        let (bits, resumed) = text.rsplit_once(' ').unwrap();
        (bits.to_owned(), resumed.parse().unwrap())
    }
}

#[test]
fn a_fit_killed_at_any_moment_goes_on_to_the_same_result() {
    if let Some(folder) = child::task(TEST) {
        return Files::new(Path::new(&folder)).fit();
    }
    let folder = folder();
    let files = Files::new(folder.path());
    let start = || child::start(TEST, folder.path().to_str().unwrap());
    files.write_points();
    let points = fs::read(&files.points).unwrap();
    child::finish(start());
    let (whole, _) = files.take_result();
    // The first run may be slower, because the program is not in memory yet.
    let begun = Instant::now();
    child::finish(start());
    let mut time = begun.elapsed();
    assert_eq!(files.take_result(), (whole.clone(), 0));

    let mut random = Xoshiro256PlusPlus::seed_from_u64(50);
    let (mut killed, mut found, mut went_on) = (0, 0, 0);
    // If the load of the machine changes, the time between kills is adapted, and more cases are run.
    let mut case = 0;
    while case < KILLS || (case < 10 * KILLS && (killed < KILLS / 2 || went_on < KILLS / 5)) {
        let in_a_row = if case % 10 == 9 { 3 } else { 1 };
        for _ in 0..in_a_row {
            let mut child = start();
            std::thread::sleep(time.mul_f64(random.random_range(0.0..1.0)));
            child.kill().unwrap();
            let was_killed = !child.wait().unwrap().success();
            killed += usize::from(was_killed);
            let is_early = was_killed && !files.checkpoint.exists();
            time = time.mul_f64(if is_early {
                1.05
            } else if was_killed {
                1.0
            } else {
                0.9
            });
        }
        found += usize::from(files.checkpoint.exists());
        child::finish(start());
        let (result, resumed) = files.take_result();
        assert_eq!(result, whole, "case {case}, {resumed} passes resumed");
        went_on += usize::from(resumed > 0);
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["points.raw"]);
        case += 1;
    }
    assert_eq!(fs::read(&files.points).unwrap(), points);
    println!(
        "{killed} kills within {time:?} each, {found} of {case} left a checkpoint, {went_on} fits went on from one"
    );
    assert!(killed >= KILLS / 2 && went_on >= KILLS / 5, "{killed} kills, {went_on} went on");
}
