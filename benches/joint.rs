//! Scaling of joint fits with the number of sets: 10 to 10,000 sets of 100 points, a·exp(−k1·t) + b·exp(−k2·t) with a
//! and b per set and shared rates. Measured are the time of a whole fit, the time of the views of all sets, and the
//! memory of a fit beyond the data. Slopes, times per set and times of views use the minimum of the measurements,
//! because machines are shared.
//!
//! Each size runs in its own process, so that the peak of memory belongs to this size. Numeric arguments replace the
//! sizes. If `DUALFIT_JOINT_FOLDER` names a folder, the data and results of the last size are written there for
//! `tests/record/joint.py`. Without `--bench` (as `cargo test --benches` runs it) there are few sets.

use dualfit::{Backend, CurveFit, Data, GlobalFit, JointFit};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Number of points per set.
const POINTS: usize = 100;
/// Shared rates of the simulation, and starting values.
const RATES: [f64; 2] = [1.5, 0.25];
const START: [(&str, f64); 4] = [("k1", 1.0), ("k2", 0.1), ("a", 1.0), ("b", 1.0)];
/// Number of sets of the warm-up fit before the measurement of memory.
const FEW: usize = 3;
/// Minimum number of sets in the regression of slopes: with fewer sets, fixed costs dominate.
const MANY: f64 = 100.0;

fn main() -> Outcome<()> {
    let (flags, numbers): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let numbers = numbers.iter().map(|n| Ok(n.parse()?)).collect::<Outcome<Vec<usize>>>()?;
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    if let (true, &[sets, repeats]) = (has("--child"), &numbers[..]) {
        return measure(sets, repeats);
    }
    let sizes = match (&numbers[..], has("--bench")) {
        ([], true) => vec![10, 30, 100, 300, 1000, 3000, 10_000],
        ([], false) => vec![3],
        _ => numbers,
    };
    println!(
        "| sets | parameters | ms of a fit, median | least | evaluations | µs for each set | ms of all views | MB beside the data |\n|---|---|---|---|---|---|---|---|"
    );
    let (mut times, mut views, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for sets in sizes {
        let repeats = if has("--bench") { (20_000 / sets).clamp(21, 101) } else { 1 };
        let [median, least, evaluations, viewing, bytes] = measured(sets, repeats)?;
        println!(
            "| {sets} | {} | {} | {} | {evaluations} | {:.1} | {} | {} |",
            2 * sets + 2,
            digits(1e3 * median),
            digits(1e3 * least),
            1e6 * least / sets as f64,
            digits(1e3 * viewing),
            digits(1e-6 * bytes)
        );
        let sets = sets as f64;
        times.push((sets, least));
        views.push((sets, viewing));
        memory.push((sets, bytes));
    }
    if let (Some(time), Some(views), Some(memory)) = (slope(&times), slope(&views), slope(&memory))
    {
        println!(
            "\nFrom {MANY} sets on time grows as their power {time:.2}, that of all views as {views:.2}, memory as {memory:.2}."
        );
    }
    Ok(())
}

/// Runs [`measure`] in its own process and returns the printed numbers.
fn measured(sets: usize, repeats: usize) -> Outcome<[f64; 5]> {
    let numbers = [sets.to_string(), repeats.to_string()];
    let child = Command::new(std::env::current_exe()?).arg("--child").args(numbers).output()?;
    if !child.status.success() {
        let said = String::from_utf8_lossy(&child.stderr);
        return Err(format!("{sets} sets: {}\n{said}", child.status).into());
    }
    let text = String::from_utf8(child.stdout)?;
    let found = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    found.try_into().map_err(|_| format!("{sets} sets: {text}").into())
}

/// Prints five numbers: median and minimum time of a fit in seconds, its evaluations, minimum time of all views in
/// seconds, and increase of memory to the peak of the first fit in bytes.
fn measure(sets: usize, repeats: usize) -> Outcome<()> {
    // Warm-up: loaded code and waiting threads take memory independently of the number of sets.
    Points::new(FEW)?.fitted()?;
    let points = Points::new(sets)?;
    let before = status_bytes("VmRSS:");
    // Resets the peak of memory, if the system allows it.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (_, joint) = points.fitted()?;
    let bytes = status_bytes("VmHWM:").zip(before).map_or(f64::NAN, |(peak, before)| peak - before);
    if let Some(folder) = std::env::var_os("DUALFIT_JOINT_FOLDER") {
        points.write(&joint, Path::new(&folder))?;
    }
    let (mut times, mut views) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        times.push(points.fitted()?.0);
        let begun = Instant::now();
        for set in 0..joint.sets() {
            black_box(joint.set(set).ok_or("a set has a view")?.std_errors());
        }
        views.push(begun.elapsed().as_secs_f64());
    }
    let evaluations = joint.fit().stats().evaluations;
    times.sort_by(f64::total_cmp);
    let (median, least) = (times[times.len() / 2], times[0]);
    let views = views.into_iter().fold(f64::INFINITY, f64::min);
    println!("{median:e} {least:e} {evaluations} {views:e} {bytes}");
    Ok(())
}

/// Points of all sets, set after set.
struct Points {
    t: Vec<f64>,
    y: Vec<f64>,
}

impl Points {
    /// Simulates sets, each with its own times, with normal noise of standard deviation 0.05.
    fn new(sets: usize) -> Outcome<Points> {
        let mut random = StdRng::seed_from_u64(20_261_125);
        let noise = Normal::new(0.0, 0.05)?;
        let (mut t, mut y) = (Vec::with_capacity(sets * POINTS), Vec::with_capacity(sets * POINTS));
        for _ in 0..sets {
            let mut within = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
            let (a, b, last) = (within(0.5, 4.5), within(0.5, 2.5), within(8.0, 12.0));
            for i in 0..POINTS {
                let time = last * i as f64 / (POINTS - 1) as f64;
                let value = a * (-RATES[0] * time).exp() + b * (-RATES[1] * time).exp();
                t.push(time);
                y.push(value + noise.sample(&mut random));
            }
        }
        Ok(Points { t, y })
    }

    /// Fits the sets, and returns the seconds for model, data, fit and all standard errors.
    fn fitted(&self) -> Outcome<(f64, JointFit)> {
        let begun = Instant::now();
        let curve = CurveFit::new(|t, [k1, k2, a, b]| a * (-k1 * t).exp() + b * (-k2 * t).exp());
        let curve = curve.names(["k1", "k2", "a", "b"]).backend(Backend::Cpu);
        let sets = self.t.chunks(POINTS).zip(self.y.chunks(POINTS));
        let sets = sets.map(|(t, y)| Data::new(t, y)).collect::<Result<Vec<_>, _>>()?;
        let joint = GlobalFit::new(&curve).share(["k1", "k2"]).fit(sets, START)?;
        let errors = joint.fit().std_errors();
        let seconds = begun.elapsed().as_secs_f64();
        assert!(joint.converged() && errors.iter().all(|e| e.is_finite()), "{}", joint.fit());
        for ((k, truth), error) in joint.fit().params().iter().zip(RATES).zip(errors) {
            assert!((k - truth).abs() < 6.0 * error, "{k} ± {error} is not {truth}");
        }
        Ok((seconds, joint))
    }

    /// Writes files of f64 in native byte order: times, values, starting point, result, standard errors.
    fn write(&self, joint: &JointFit, folder: &Path) -> Outcome<()> {
        let write = |name: &str, numbers: &[f64]| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
            fs::write(folder.join(name), bytes)
        };
        write("times.f64", &self.t)?;
        write("values.f64", &self.y)?;
        write("start.f64", joint.fit().start())?;
        write("found.f64", joint.fit().params())?;
        write("errors.f64", &joint.fit().std_errors())?;
        Ok(())
    }
}

/// Returns the exponent of growth with the number of sets: slope of a least-squares line in logarithms.
fn slope(grows: &[(f64, f64)]) -> Option<f64> {
    let many = grows.iter().filter(|(sets, _)| *sets >= MANY);
    let logs: Vec<(f64, f64)> = many.map(|(sets, value)| (sets.ln(), value.ln())).collect();
    let n = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|log| log.0), mean(|log| log.1));
    let square: f64 = logs.iter().map(|log| (log.0 - x).powi(2)).sum();
    let product: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    (logs.len() > 1).then(|| product / square)
}

/// Formats a number with three digits.
fn digits(number: f64) -> String {
    let after = 2 - number.abs().log10().floor().clamp(-3.0, 2.0) as i32;
    format!("{number:.*}", after as usize)
}

/// Reads a value of `/proc/self/status`, in bytes.
fn status_bytes(line: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let found = status.lines().find_map(|found| found.strip_prefix(line))?;
    Some(1024.0 * found.split_whitespace().next()?.parse::<f64>().ok()?)
}
