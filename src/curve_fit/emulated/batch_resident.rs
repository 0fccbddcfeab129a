//! Resident data of a batch: they are uploaded once for any number of fits.

use super::SHARED;
use super::batches::{START, abscissae, agree, decay, decays};
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device as Cuda;
use crate::backend::cuda::emulated::{Settings, emulator_or_skip};
use crate::backend::cuda::testing::faulty_driver::{Faulty, Injected};
use crate::device::Device;
use crate::{Backend, BatchData, CurveFit, Loss, Sigma, Starts};
use std::sync::Arc;

const FITS: usize = 40;

/// Data of fits with unequal numbers of points, each with its own arrays.
struct Own {
    offsets: Vec<usize>,
    xs: Vec<f64>,
    stack: Vec<u16>,
    sigma: Vec<f64>,
    mask: Vec<bool>,
}

impl Own {
    fn new() -> Own {
        let offsets: Vec<usize> = (0..=FITS).map(|i| 20 * i + i * i / 10).collect();
        let lengths = offsets.windows(2).map(|pair| pair[1] - pair[0]);
        let xs: Vec<f64> = lengths.flat_map(abscissae).collect();
        let stack: Vec<u16> = xs
            .iter()
            .enumerate()
            .map(|(i, x)| (200.0 * (-x).exp() + 40.0 + 9.0 * (i as f64).sin()) as u16)
            .collect();
        let n = stack.len();
        Own {
            sigma: (0..n).map(|i| 3.0 + (i % 5) as f64).collect(),
            mask: (0..n).map(|i| i % 11 != 4).collect(),
            offsets,
            xs,
            stack,
        }
    }

    fn data(&self) -> BatchData<'_> {
        let data = BatchData::own(&self.xs, &self.stack).unwrap().offsets(&self.offsets).unwrap();
        data.sigma(Sigma::Absolute(&self.sigma)).unwrap().mask(&self.mask).unwrap()
    }
}

#[test]
fn data_that_stay_serve_models_starts_and_losses_and_are_sent_once() {
    let Some(emulator) = emulator_or_skip(Settings::default()) else { return };
    let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
    let device = Arc::new(Cuda::new(emulator.clone(), emulator.clone(), cache));
    let device = Device { device };
    let x = abscissae(20);
    let (stack, own, sigma) = (decays(&x, FITS), Own::new(), vec![0.5; FITS]);
    let shared = BatchData::shared(&x, &stack).unwrap();
    let mask: Vec<bool> = (0..20).map(|i| i != 3).collect();
    let line = CurveFit::new(|x, [a, b]| a * x + b);
    for data in [
        shared.clone(),
        shared.clone().sigma(Sigma::PerFit(&sigma)).unwrap(),
        shared.sigma(Sigma::Absolute(&sigma[..20])).unwrap().mask(&mask).unwrap(),
        own.data(),
    ] {
        let resident = device.upload_batch(&data).unwrap();
        assert_eq!(resident.n_fits(), FITS);
        let before = emulator.calls().uploaded_bytes;
        for fitter in [decay(), decay().loss(Loss::Huber { scale: 0.5 })] {
            let there = fitter.fit_batch(&resident, START).unwrap();
            agree(&there, &fitter.backend(Backend::Cpu).fit_batch(&data, START).unwrap());
        }
        let there = line.fit_batch(&resident, [1.0, 1.0]).unwrap();
        agree(&there, &line.clone().backend(Backend::Cpu).fit_batch(&data, [1.0, 1.0]).unwrap());
        let sent = emulator.calls().uploaded_bytes - before;
        assert!(sent < resident.bytes(), "{sent} bytes sent, {} held", resident.bytes());
    }
}

#[test]
fn results_of_data_that_stay_come_in_chunks() {
    let Some((emulator, _)) = &*SHARED else { return };
    let own = Own::new();
    let data = own.data();
    let starts = vec![[150.0, 0.7, 30.0]; FITS];
    let room = |memory| {
        let driver = Arc::new(Faulty::new(emulator.clone(), Injected::Nothing).with_memory(memory));
        let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
        (driver.clone(), Arc::new(Cuda::new(driver, emulator.clone(), cache)))
    };
    let held = {
        let device = Device { device: room(usize::MAX).1 };
        device.upload_batch(&data).unwrap().bytes()
    };
    let (driver, device) = room(held + 1800);
    let resident = Device { device: device.clone() }.upload_batch(&data).unwrap();
    let there = decay().fit_batch(&resident, &starts).unwrap();
    let here = decay().backend(Backend::Cpu).fit_batch(&data, Starts::from(&starts)).unwrap();
    agree(&there, &here);
    let (_, course) = there.made.device.as_ref().unwrap();
    assert!(course.chunks >= 3, "{course:?}");
    drop((resident, device));
    driver.assert_clean();
}
