//! The test suite for devices, run on the emulated device through the public interface.

#[path = "../../../tests/support/around.rs"]
mod around;
mod batch_faults;
mod batch_poisoned;
mod batch_resident;
mod batch_singly;
mod batch_unusual;
#[path = "../../../tests/support/batches.rs"]
mod batches;
#[path = "../../../tests/support/batches_f32.rs"]
mod batches_f32;
mod faults;
mod parts;
#[path = "../../../tests/support/questions.rs"]
mod questions;
mod same_answer;
#[path = "../../../tests/support/several.rs"]
mod several;
mod several_devices;
mod stream_faults;
#[path = "../../../tests/support/streams.rs"]
mod streams;
#[path = "../../../tests/support/suite.rs"]
mod suite;
mod trial;

use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device as Cuda;
use crate::backend::cuda::emulated::{Emulator, Settings, emulator_or_skip};
use crate::backend::cuda::memory::Pooled;
use crate::device::{Device, Processor};
use crate::fit::placement::AssignedDevices;
use crate::support::{losses, nist};
use crate::{Backend, CurveFit, Data, Error, Estimator, Sigma};
use std::sync::{Arc, LazyLock};

/// One emulated device for all tests, so that kernels are compiled once.
static SHARED: LazyLock<Option<(Arc<Emulator>, Arc<Cuda>)>> = LazyLock::new(|| {
    let emulator = emulator_or_skip(Settings { multiprocessors: 2, ..Settings::default() })?;
    let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
    let pooled = Arc::new(Pooled::new(emulator.clone()));
    let device = Cuda::new(pooled, emulator.clone(), cache);
    Some((emulator, Arc::new(device)))
});

fn on_device(test: impl FnOnce(suite::Place<'_>)) {
    if let Some((_, device)) = &*SHARED {
        test(&|model: CurveFit| assign(model, device, false));
    }
}

/// Returns the model with a device that computes all its fits; if `take_over` is true, the CPU may continue them.
fn assign(model: CurveFit, device: &Arc<Cuda>, take_over: bool) -> CurveFit {
    let devices = vec![device.clone()];
    CurveFit { assigned: AssignedDevices { devices, take_over }, ..model }
}

suite::tests_on!(on_device);

/// Data of magnitude 1e-100 are uploaded in other units than counts.
#[test]
fn uploaded_data_serve_as_counts_and_as_measurements() {
    let Some((_, device)) = &*SHARED else { return };
    let device = Device { device: device.clone() };
    let x: Vec<f64> = (0..300).map(|i| 0.03 * f64::from(i)).collect();
    let decay = || CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    let counting = || decay().estimator(Estimator::Poisson);
    for scale in [1.0, 1e-100] {
        let y: Vec<f64> = x
            .iter()
            .enumerate()
            .map(|(i, x)| scale * ((9.0 * (-x).exp()).round() + (i % 3) as f64))
            .collect();
        let mask: Vec<bool> = (0..300).map(|i| i % 7 != 0).collect();
        let data = Data::new(&x, &y).unwrap().mask(&mask).unwrap();
        let start = [8.0 * scale, 1.2, 1.5 * scale];
        let uploaded = device.upload(&data).unwrap();
        for model in [counting(), decay(), counting()] {
            let there = model.fit(&uploaded, start).unwrap();
            let here = model.backend(Backend::Cpu).fit(data.clone(), start).unwrap();
            assert!(
                there.converged() && there.stats().processor == Processor::Cuda,
                "{}",
                there.stats()
            );
            for ((d, c), e) in there.params().iter().zip(here.params()).zip(here.std_errors()) {
                assert!((d - c).abs() <= 1e-9 * e, "{scale:e}: {d:e} against {c:e}");
            }
            for (d, c) in there.std_errors().iter().zip(here.std_errors()) {
                assert!((d / c - 1.0).abs() < 1e-6, "{scale:e}: error {d:e} against {c:e}");
            }
        }
    }
    let y: Vec<f64> = x.iter().map(|x| 1.0 - x).collect();
    let uploaded = device.upload(Data::new(&x, &y).unwrap()).unwrap();
    for _ in 0..2 {
        let error = counting().fit(&uploaded, [1.0, 1.0, 1.0]).unwrap_err();
        assert!(matches!(error, Error::NegativeCount { index: 34, .. }), "{error}");
    }
    assert!(decay().fit(&uploaded, [1.0, 1.0, 1.0]).is_ok());
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Constant(2.0)).unwrap();
    let error = counting().fit(&device.upload(&data).unwrap(), [1.0, 1.0, 1.0]).unwrap_err();
    assert_eq!(error, Error::NotForCounts { what: "sigma" });
}
batches::batches_on!(on_device);
batches_f32::batches_f32_on!(on_device);
streams::streams_on!(on_device);
around::around_on!(on_device);
