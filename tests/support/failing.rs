//! A task of each kind while any call of the driver fails: the results of the CPU, or an error that names the device.
//!
//! `tests/device/soft_cuda/faults` has each call fail in turn.

#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::streams::{START, decay as model};
use dualfit::device::{Costs, Device};
use dualfit::source::SliceSource;
use dualfit::{Backend, BatchData, CurveFit, Data, Error, Result, Stream};

const POINTS: usize = 600;
const FITS: usize = 12;

fn data() -> [Vec<f64>; 2] {
    let x: Vec<f64> = (0..POINTS).map(|i| 10.0 * (i % 50) as f64 / 50.0).collect();
    let y = x
        .iter()
        .enumerate()
        .map(|(i, x)| 2.0 * (-0.5 * x).exp() + 0.3 + 0.02 * (3.7e3 * i as f64).sin());
    let y = y.collect();
    [x, y]
}

fn decay() -> CurveFit {
    // Any device is worthwhile.
    let costs = Costs::default().cpu_unit_seconds(1.0).startup_seconds(0.0).compile_seconds(0.0);
    model().costs(costs)
}

/// Fits on a backend: parameters and standard errors.
type Task = fn(Backend) -> Result<Vec<f64>>;

/// The tasks: a fit, a batch, a stream.
const TASKS: [Task; 3] = [
    |backend| {
        let [x, y] = data();
        let fit = decay().backend(backend).fit(Data::new(&x, &y)?, START)?;
        Ok([fit.params(), &fit.std_errors()].concat())
    },
    |backend| {
        let [x, y] = data();
        let n = x.len() / FITS;
        let data = BatchData::shared(&x[..n], &y[..n * FITS])?;
        let made = decay().backend(backend).fit_batch(&data, START)?;
        Ok([made.params(), made.std_errors()].concat())
    },
    |backend| {
        let [x, y] = data();
        let source = SliceSource::new(&x, &y)?;
        let stream = Stream::new(source).chunk_points(256).subsample(false);
        let fit = decay().backend(backend).fit_stream(stream, START)?;
        Ok([fit.params(), &fit.std_errors()].concat())
    },
];

/// Data that stay on the device serve a fit.
fn resident() -> Result<Vec<f64>> {
    let [x, y] = data();
    let there = Device::open(0)?.upload(Data::new(&x, &y)?)?;
    let fit = decay().fit(&there, START)?;
    Ok([fit.params(), &fit.std_errors()].concat())
}

fn assert_near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (p, q) in found.iter().zip(expected) {
        let same = (p - q).abs() <= 1e-6 * q.abs() || (p.is_nan() && q.is_nan());
        assert!(same, "{what}: {p:e} in place of {q:e}");
    }
}

fn is_of_the_device(error: &Error) -> bool {
    use Error::{CudaUnavailable, DeviceFailed, DeviceLost, DeviceOutOfMemory, KernelNotCompiled};
    matches!(
        error,
        CudaUnavailable { .. }
            | DeviceOutOfMemory { .. }
            | DeviceFailed { .. }
            | DeviceLost { .. }
            | KernelNotCompiled { .. }
    )
}

/// On a required device a task may fail with an error; with `Backend::Auto` it may not.
pub fn whatever_call_fails_nothing_is_lost() {
    let fails = std::env::var_os("SOFT_CUDA_FAIL").is_some();
    let rounds = std::env::var("DUALFIT_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let expected = TASKS.map(|task| task(Backend::Cpu).expect("a fit on the CPU"));
    for round in 0..rounds {
        let mut there: Vec<_> = TASKS.iter().map(|task| task(Backend::cuda(0))).collect();
        there.push(resident());
        for (number, found) in there.iter().enumerate() {
            let what = format!("round {round}, task {number}");
            match found {
                Ok(found) => assert_near(found, &expected[number % TASKS.len()], &what),
                Err(error) if fails && is_of_the_device(error) => println!("{what}: {error}"),
                Err(error) => panic!("{what}: {error:?}"),
            }
        }
        for (number, task) in TASKS.iter().enumerate() {
            let what = format!("round {round}, task {number}, wherever it is made");
            let found = task(Backend::Auto).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert_near(&found, &expected[number], &what);
        }
    }
}
