//! `dualfit devices` and `dualfit bench`: list of the devices, and timing of fits of a decay.

use crate::output::{note, print};
use crate::refusal::{DONE, Outcome, Refusal};
use crate::words::{aligned, seconds};
use dualfit::device::Device;
use dualfit::{Backend, CurveFit, Data, Fit};
use std::time::Instant;

const TRUTH: [f64; 3] = [2.5, 1.3, 0.5];
const START: [f64; 3] = [1.0, 1.0, 0.0];
const NOISE: f64 = 0.05;
/// Maximum number of points of a fit, limited by memory: x and y then take 2 GiB each.
const MOST_POINTS: usize = 1 << 28;

/// Prints the CUDA devices, optionally with their bandwidths, or the reason why there is no device.
pub(crate) fn devices(bandwidth: bool) -> Outcome<u8> {
    let mut text = String::new();
    let devices = dualfit::device::devices().unwrap_or_else(|reason| {
        text += &format!("No CUDA device: fits run on the CPU.\n{reason}\n");
        Vec::new()
    });
    for device in &devices {
        text += &format!("{device}\n");
        if bandwidth {
            let rates = device.bandwidth().map(|rates| rates.to_string());
            text += &format!("  {}\n", rates.unwrap_or_else(|reason| reason.to_string()));
        }
    }
    print(&text)?;
    Ok(DONE)
}

/// Measures and prints the time of fits.
pub(crate) fn bench(sizes: &[usize], repeat: u32) -> Outcome<u8> {
    if let Some(wrong) = sizes.iter().find(|size| !(10..=MOST_POINTS).contains(size)) {
        let message = format!("--points {wrong}: a size is between 10 and {MOST_POINTS}");
        return Err(Refusal::usage(message));
    }
    let device = match dualfit::device::devices().and_then(|_| Device::open(0)) {
        Ok(device) => Some(device),
        Err(reason) => {
            note(format!("no device is measured: {}", Refusal::from(reason).message));
            None
        }
    };
    if cfg!(debug_assertions) {
        note("this program was built without optimisation; install it with `cargo install`");
    }
    let mut titles = vec!["points", "CPU fastest", "CPU median"];
    if device.is_some() {
        titles.extend(["first on device", "device fastest", "device median", "resident fastest"]);
    }
    let titles: Vec<String> = titles.into_iter().map(String::from).collect();
    let (mut rows, mut how) = (Vec::new(), String::new());
    for &size in sizes {
        let (x, y) = decay(size);
        let data = Data::new(&x, &y)?;
        let model = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
        let cpu = model.clone().backend(Backend::Cpu);
        let (times, fit) = timed(repeat, || cpu.fit(&data, START))?;
        let stats = fit.stats();
        how = format!("CPU: {}, up to {} thread(s)\n", stats.instruction_set, stats.threads);
        let mut row = vec![size.to_string(), seconds(times[0]), seconds(times[times.len() / 2])];
        if let Some(device) = &device {
            let gpu = model.backend(Backend::cuda(0));
            let (first, _) = timed(1, || gpu.fit(&data, START))?;
            let (times, _) = timed(repeat, || gpu.fit(&data, START))?;
            let there = device.upload(&data)?;
            let (resident, _) = timed(repeat, || gpu.fit(&there, START))?;
            row.extend([first[0], times[0], times[times.len() / 2], resident[0]].map(seconds));
        }
        rows.push(row);
    }
    let mut notes = String::from("\n");
    if let Some(device) = &device {
        how += &format!("{device}\n");
        notes += "The first fit on the device compiles or loads its kernels. Fits on the device copy their points\nthere; resident ones find them there.\n\n";
    }
    let table = aligned(&titles, &rows).join("\n");
    print(&format!(
        "whole fits of a*exp(-b*x) + c to simulated points in f64, {repeat} of each size\n{how}\n{table}\n{notes}Times are of this machine under its present load. Other models and data take other times.\n"
    ))?;
    Ok(DONE)
}

/// Returns the time of each call in seconds, ascending, and the last fit.
fn timed(repeat: u32, fit: impl Fn() -> dualfit::Result<Fit>) -> Outcome<(Vec<f64>, Fit)> {
    let once = || {
        let begun = Instant::now();
        fit().map(|fit| (begun.elapsed().as_secs_f64(), fit))
    };
    let (seconds, mut last) = once()?;
    let mut times = vec![seconds];
    for _ in 1..repeat {
        let (seconds, fit) = once()?;
        times.push(seconds);
        last = fit;
    }
    times.sort_by(f64::total_cmp);
    Ok((times, last))
}

/// Returns points of a decay with deterministic noise: fractional parts of multiples of irrational numbers are evenly
/// distributed, and the sum of three of them is nearly normal.
fn decay(size: usize) -> (Vec<f64>, Vec<f64>) {
    let part = |i: usize, step: f64| (i as f64 * step).fract() - 0.5;
    let [a, b, c] = TRUTH;
    (0..size)
        .map(|i| {
            let x = 5.0 * i as f64 / size as f64;
            let noise =
                part(i, 0.618_033_988_75) + part(i, 0.754_877_666_25) + part(i, 0.569_840_290_99);
            (x, a * (-b * x).exp() + c + NOISE * 2.0 * noise)
        })
        .unzip()
}
