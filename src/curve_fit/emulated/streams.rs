//! Streams through the emulated device: the fits of the CPU, chunk by chunk, and what a device can do to
//! them at every call.

use super::SHARED;
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::double::{Faulty, Injected};
use crate::{Backend, CurveFit, Error, Estimator, Fit, Loss, SliceSource, Stream, StreamSigma};
use std::sync::Arc;

const START: [f64; 3] = [2.5, 0.8, 0.1];
const POINTS: usize = 20_000;

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

fn data() -> [Vec<f64>; 3] {
    let x: Vec<f64> = (0..POINTS).map(|i| 10.0 * i as f64 / POINTS as f64).collect();
    let y = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3 + 0.02 * (3.7e3 * x).sin()).collect();
    let sigma = x.iter().map(|x| 0.1 + 0.01 * x).collect();
    [x, y, sigma]
}

/// In chunks of 8192 points.
fn stream<'a>([x, y, sigma]: &'a [Vec<f64>; 3], sigmas: bool) -> Stream<'a> {
    let source = SliceSource::new(x, y).unwrap();
    let source = if sigmas { source.sigma(sigma).unwrap() } else { source };
    let kind = if sigmas { StreamSigma::Absolute } else { StreamSigma::Relative };
    Stream::new(source).sigma(kind).chunk_points(8192).subsample(false)
}

fn assert_same(there: &Fit, here: &Fit) {
    assert_eq!(there.converged(), here.converged());
    for ((d, c), e) in there.params().iter().zip(here.params()).zip(here.std_errors()) {
        assert!((d - c).abs() <= 1e-8 * e, "{d:e} against {c:e} ± {e:e}");
    }
    for (d, c) in there.std_errors().iter().zip(here.std_errors()) {
        assert!((d / c - 1.0).abs() < 1e-6, "error {d:e} against {c:e}");
    }
}

#[test]
fn streams_on_the_device_are_those_of_the_cpu() {
    let Some((_, device)) = &*SHARED else { return };
    let all = data();
    let on = |model: &CurveFit| CurveFit { device: Some(device.clone()), ..model.clone() };
    for loss in [Loss::Linear, Loss::Cauchy { scale: 0.5 }, Loss::Tukey { scale: 3.0 }] {
        for sigmas in [false, true] {
            let model = decay().loss(loss);
            let here = model.clone().backend(Backend::Cpu).fit_stream(stream(&all, sigmas), START);
            let there = on(&model).fit_stream(stream(&all, sigmas), START).unwrap();
            assert_eq!(there.stats().backend, "CUDA");
            assert!(there.stats().device_bytes > 0 && there.stats().passes > 2);
            assert_same(&there, &here.unwrap());
        }
    }
    let [x, y, _] = &all;
    let counts: Vec<f32> = y.iter().map(|y| (20.0 * y).round() as f32).collect();
    let model = decay().estimator(Estimator::Poisson);
    let source = || Stream::new(SliceSource::new(x, &counts).unwrap()).chunk_points(4096);
    let start = [50.0, 0.8, 2.0];
    let here = model.clone().backend(Backend::Cpu).fit_stream(source(), start).unwrap();
    let there = on(&model).fit_stream(source(), start).unwrap();
    assert_eq!(there.stats().backend, "CUDA");
    assert_same(&there, &here);
}

#[test]
fn a_native_model_is_no_stream_for_a_device() {
    let Some((_, device)) = &*SHARED else { return };
    let native = CurveFit::native(|x: f64, p: &[f64]| p[0] * (-p[1] * x).exp() + p[2], 3);
    let native = CurveFit { device: Some(device.clone()), ..native };
    let error = native.fit_stream(stream(&data(), false), START).unwrap_err();
    assert!(matches!(error, Error::NotOnDevice { .. }), "{error}");
}

#[test]
fn a_device_that_fails_at_any_call_of_a_stream_loses_nothing() {
    let Some((emulator, _)) = &*SHARED else { return };
    let all = data();
    let here = decay().backend(Backend::Cpu).fit_stream(stream(&all, true), START).unwrap();
    type Fault = fn(usize) -> Injected;
    let faults: [Fault; 3] = [
        |call| Injected::Lost { call },
        |launch| Injected::Refused { launch },
        |allocation| Injected::OutOfMemory { allocation },
    ];
    for take_over in [true, false] {
        for fault in faults {
            for k in 0.. {
                let driver = Arc::new(Faulty::new(emulator.clone(), fault(k)));
                let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
                let device = Arc::new(Device::new(driver.clone(), emulator.clone(), cache));
                let model = CurveFit { device: Some(device.clone()), take_over, ..decay() };
                let fit = model.fit_stream(stream(&all, true), START);
                match &fit {
                    Ok(fit) => assert_same(fit, &here),
                    Err(
                        Error::DeviceLost { .. }
                        | Error::DeviceFailed { .. }
                        | Error::DeviceOutOfMemory { .. },
                    ) if !take_over => {}
                    Err(error) => panic!("{error}"),
                }
                let fired = driver.has_fired();
                drop((model, fit, device));
                driver.assert_clean();
                if !fired {
                    assert!(k > 1, "only {k} calls");
                    break;
                }
            }
        }
    }
}
