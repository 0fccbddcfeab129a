//! Tests of device failures during a fit: an allocation or a launch fails, or the device is lost, at each driver call
//! in turn. Nothing panics, nothing leaks, and a fit that may continue on the CPU returns the CPU's result.

use super::trial::Trial;
use super::{SHARED, assign};
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::driver::{CompileError, Compiler, Image};
use crate::backend::cuda::testing::faulty_driver::{Call, Injected};
use crate::device::Processor;
use crate::{Backend, CurveFit, Data, Error, Fit, Sigma};
use std::sync::Arc;

const START: [f64; 3] = [2.5, 0.8, 0.1];

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

fn data(n: usize) -> [Vec<f64>; 3] {
    let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
    let y = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3 + 0.02 * (37.0 * x).sin()).collect();
    let sigma = x.iter().map(|x| 0.1 + 0.01 * x).collect();
    [x, y, sigma]
}

impl Trial {
    /// Fits `data` on the device. If `take_over` is true, the CPU may continue the fit.
    fn fit(&self, take_over: bool, [x, y, sigma]: &[Vec<f64>; 3]) -> Result<Fit, Error> {
        let data = Data::new(x, y)?.sigma(Sigma::Absolute(sigma))?;
        self.on_device(decay(), take_over).fit(data, START)
    }
}

fn same(fit: &Fit, cpu: &Fit) {
    // The terminations may differ: a fit that continues an interrupted one may begin at the minimum.
    assert_eq!(fit.converged(), cpu.converged());
    for (a, b) in fit.params().iter().zip(cpu.params()) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{:?} against {:?}", fit.params(), cpu.params());
    }
    for (a, b) in fit.std_errors().iter().zip(cpu.std_errors()) {
        assert!((a - b).abs() <= 1e-6 * b, "{:?} against {:?}", fit.std_errors(), cpu.std_errors());
    }
}

fn on_cpu([x, y, sigma]: &[Vec<f64>; 3]) -> Fit {
    let data = Data::new(x, y).unwrap().sigma(Sigma::Absolute(sigma)).unwrap();
    decay().backend(Backend::Cpu).fit(data, START).unwrap()
}

/// Runs the fit for k = 0, 1, 2, … with the fault `injected(k)`, until the fault does not occur any more, with and
/// without takeover by the CPU. Passes the results with a fault to `judge`.
fn at_every_call(
    injected: impl Fn(usize) -> Injected,
    judge: impl FnMut(&Result<Fit, Error>, bool),
) {
    at_calls((600, usize::MAX, 1), injected, judge);
}

/// Does the same as [`at_every_call`] for k = 0, `step`, 2 `step`, …, with this number of points and of bytes of
/// memory.
fn at_calls(
    (points, memory, step): (usize, usize, usize),
    injected: impl Fn(usize) -> Injected,
    mut judge: impl FnMut(&Result<Fit, Error>, bool),
) {
    let data = data(points);
    for take_over in [true, false] {
        for k in (0..).step_by(step) {
            let Some(trial) = Trial::new(injected(k), memory) else { return };
            let fit = trial.fit(take_over, &data);
            let fired = trial.driver.has_fired();
            if fired {
                judge(&fit, take_over);
            }
            trial.assert_clean();
            if !fired {
                assert!(k > 3, "only {k} calls were made");
                break;
            }
        }
    }
}

#[test]
fn a_device_lost_at_any_call_is_said_or_the_cpu_goes_on() {
    let cpu = on_cpu(&data(600));
    at_every_call(
        |call| Injected::Lost { call },
        |fit, take_over| match (fit, take_over) {
            (Ok(fit), true) => {
                same(fit, &cpu);
                assert!(fit.stats().reason.contains("fail"), "{}", fit.stats().reason);
            }
            (Err(Error::DeviceLost { message, .. }), false) => assert!(message.contains("719")),
            (other, _) => panic!("{other:?}"),
        },
    );
}

#[test]
fn a_launch_refused_at_any_call_is_said_or_the_cpu_goes_on() {
    let cpu = on_cpu(&data(600));
    at_every_call(
        |launch| Injected::Refused { launch },
        |fit, take_over| match (fit, take_over) {
            (Ok(fit), true) => same(fit, &cpu),
            (Err(Error::DeviceFailed { .. }), false) => {}
            (other, _) => panic!("{other:?}"),
        },
    );
}

#[test]
fn an_allocation_refused_at_any_call_loses_nothing() {
    let cpu = on_cpu(&data(600));
    at_every_call(
        |allocation| Injected::OutOfMemory { allocation },
        |fit, take_over| match (fit, take_over) {
            (Ok(fit), _) => same(fit, &cpu),
            (Err(Error::DeviceOutOfMemory { .. }), false) => {}
            (other, _) => panic!("{other:?}"),
        },
    );
}

/// A compiler that rejects all sources.
struct Refusing;

impl Compiler for Refusing {
    fn identity(&self) -> String {
        "a compiler that refuses".into()
    }

    fn compile(&self, _: &str, _: (u32, u32)) -> Result<Image, CompileError> {
        Err(CompileError::Refused { log: "model(3): error: no".into() })
    }
}

#[test]
fn kernels_that_do_not_compile_are_shown_with_the_log_or_the_cpu_goes_on() {
    let Some((emulator, _)) = SHARED.as_ref() else { return };
    let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
    let device = Arc::new(Device::new(emulator.clone(), Arc::new(Refusing), cache));
    let [x, y, _] = data(100);
    let fit = |take_over| {
        let model = assign(decay(), &device, take_over);
        model.fit(Data::new(&x, &y).unwrap(), START)
    };
    match fit(false) {
        Err(Error::KernelNotCompiled { message, source_text }) => {
            assert!(message.contains("model(3): error: no"), "{message}");
            assert!(source_text.contains("model_point"), "{source_text}");
        }
        other => panic!("{other:?}"),
    }
    let stats = fit(true).unwrap().stats().clone();
    assert_eq!(stats.processor, Processor::Cpu);
    assert!(stats.reason.contains("do not compile"), "{}", stats.reason);
}

#[test]
fn data_larger_than_the_memory_go_through_it_in_chunks() {
    let data = data(20_000);
    let cpu = on_cpu(&data);
    let all = 20_000 * 3 * 8;
    let Some(trial) = Trial::new(Injected::Nothing, all / 2) else { return };
    let fit = trial.fit(false, &data).unwrap();
    same(&fit, &cpu);
    assert!(fit.stats().chunks > 1, "{}", fit.stats());
    assert!(fit.stats().device_bytes < all / 2, "{}", fit.stats().device_bytes);
    assert!(trial.driver.peak_bytes() <= all / 2);
    trial.assert_clean();
}

/// The device is also lost in the middle of a pass, while an upload and a kernel are in progress.
#[test]
fn a_device_lost_between_chunks_is_said_or_the_cpu_goes_on() {
    const MEMORY: usize = 110_000;
    let cpu = on_cpu(&data(5000));
    let Some(trial) = Trial::new(Injected::Nothing, MEMORY) else { return };
    assert!(trial.fit(false, &data(5000)).unwrap().stats().chunks > 3);
    trial.assert_clean();
    at_calls(
        (5000, MEMORY, 13),
        |call| Injected::Lost { call },
        |fit, take_over| match (fit, take_over) {
            (Ok(fit), true) => same(fit, &cpu),
            (Err(Error::DeviceLost { .. }), false) => {}
            (other, _) => panic!("{other:?}"),
        },
    );
}

#[test]
fn no_room_for_even_a_small_chunk_is_said() {
    let Some(trial) = Trial::new(Injected::Nothing, 10_000) else { return };
    match trial.fit(false, &data(5000)) {
        Err(Error::DeviceOutOfMemory { free, .. }) => assert!(free <= 10_000),
        other => panic!("{other:?}"),
    }
    trial.assert_clean();
}

#[test]
fn a_thousand_fits_leave_nothing_behind() {
    let data = data(40);
    let Some(trial) = Trial::new(Injected::Nothing, usize::MAX) else { return };
    let first = trial.fit(false, &data).unwrap();
    let (after_one, peak) = (trial.driver.held(), trial.driver.peak_bytes());
    assert!(first.stats().device_bytes <= peak);
    for _ in 0..1000 {
        trial.fit(false, &data).unwrap();
    }
    assert_eq!(trial.driver.held(), after_one);
    assert_eq!(trial.driver.peak_bytes(), peak, "later fits take no more memory than the first");
    assert_eq!(trial.driver.count(Call::Load), 1, "the passes are loaded once");
    trial.assert_clean();
}
