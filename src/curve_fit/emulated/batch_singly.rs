//! Batches whose fits run one by one on a device, as single fits do. Launches without cost make every batch such a batch.

use super::batch_faults::{
    assert_lost_is_said, assert_memory_loses_nothing, assert_refused_is_said,
};
use super::batches::{self, START, abscissae, agree, decay, decays};
use super::several_devices::Several;
use super::trial::Trial;
use super::{SHARED, assign};
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device as Cuda;
use crate::backend::cuda::emulated::{Settings, emulator_or_skip};
use crate::backend::cuda::testing::faulty_driver::Injected;
use crate::device::{Costs, Device};
use crate::{
    Backend, BatchData, BatchFit, CancelToken, CurveFit, Error, Event, FitStatus, Loss, Sigma,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const FITS: usize = 3;
const POINTS: usize = 600;

/// Returns the model with costs of launches for which single fits are the faster way.
fn singly(model: CurveFit) -> CurveFit {
    model.costs(Costs { launch_seconds: 0.0, ..Costs::default() })
}

/// Fits three decays, of which the second has a point that is not finite.
fn run(fitter: &CurveFit) -> Result<BatchFit, Error> {
    let x = abscissae(POINTS);
    let mut stack = decays(&x, FITS);
    stack[POINTS + 3] = f64::NAN;
    let sigma = vec![0.3; POINTS];
    let data = BatchData::shared(&x, &stack)?.sigma(Sigma::Absolute(&sigma))?;
    fitter.fit_batch(data, START)
}

fn on_cpu() -> BatchFit {
    run(&decay().backend(Backend::Cpu)).unwrap()
}

#[test]
fn fits_that_run_one_by_one_use_the_passes_of_single_fits() {
    let Some(emulator) = emulator_or_skip(Settings::default()) else { return };
    let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
    let device = Arc::new(Cuda::new(emulator.clone(), emulator.clone(), cache));
    let x = abscissae(POINTS);
    let stack = decays(&x, FITS);
    let (narrow_x, narrow): (Vec<f32>, Vec<u16>) = (
        x.iter().map(|&x| x as f32).collect::<Vec<_>>().repeat(FITS),
        stack.iter().map(|y| (100.0 * y) as u16).collect(),
    );
    let offsets = [0, 500, 1150, FITS * POINTS];
    let sigma: Vec<f64> = (0..FITS * POINTS).map(|i| 3.0 + (i % 5) as f64).collect();
    let mask: Vec<bool> = (0..FITS * POINTS).map(|i| i % 11 != 4).collect();
    let own = BatchData::own(&narrow_x, &narrow).unwrap().offsets(&offsets).unwrap();
    let own = own.sigma(Sigma::Absolute(&sigma)).unwrap().mask(&mask).unwrap();
    for (data, start) in
        [(BatchData::shared(&x, &stack).unwrap(), START), (own, [1500.0, 0.7, 300.0])]
    {
        for loss in [Loss::Linear, Loss::Tukey { scale: 10.0 }] {
            let free = (f64::NEG_INFINITY, f64::INFINITY);
            let fitter = decay().bounds([free, (0.0, 2.0), free]).loss(loss).keep_covariance(true);
            let there = assign(singly(fitter.clone()), &device, false);
            let there = there.fit_batch(&data, start).unwrap();
            let here = fitter.backend(Backend::Cpu).fit_batch(&data, start).unwrap();
            agree(&there, &here);
            for fit in 0..FITS {
                let of = |batch: &BatchFit| batch.covariance(fit).unwrap().to_vec();
                for (a, b) in of(&there).iter().zip(of(&here)) {
                    assert!((a - b).abs() <= 1e-6 * b.abs(), "fit {fit}: {a:e} against {b:e}");
                }
            }
            assert!(there.reason().contains("ran alone on a device"), "{}", there.reason());
            let (_, course) = there.made.device.as_ref().unwrap();
            assert_eq!((course.chunks, course.by_host), (FITS, 0), "{course:?}");
        }
        // Data of a batch on the device are uploaded again.
        let resident = Device { device: device.clone() }.upload_batch(&data).unwrap();
        let there = singly(decay()).fit_batch(&resident, start).unwrap();
        agree(&there, &decay().backend(Backend::Cpu).fit_batch(&data, start).unwrap());
    }
    let launched: Vec<String> = emulator.calls().launches.into_keys().collect();
    assert!(launched.contains(&"normal".to_owned()), "{launched:?}");
    for kernel in ["make_fits", "slim_fits"] {
        assert!(!launched.contains(&kernel.to_owned()), "{launched:?}");
    }
}

/// The tests of batches, fit by fit.
#[test]
fn fits_that_run_one_by_one_have_the_results_of_batches() {
    let Some((_, device)) = &*SHARED else { return };
    for test in [
        batches::starts_and_bounds_of_each_fit,
        batches::sigmas_masks_and_missing_samples,
        batches::fits_of_unequal_length_with_columns_of_their_own,
        batches::counts_of_batches,
        batches::bad_columns_sigmas_and_counts,
    ] {
        test(&|model: CurveFit| assign(singly(model), device, false));
    }
}

/// Each fit makes several calls.
const CALLS: usize = 3;

fn of_decays(trial: &Trial, take_over: bool) -> Result<BatchFit, Error> {
    run(&trial.on_device(singly(decay()), take_over))
}

#[test]
fn a_device_lost_between_single_fits_of_a_batch_is_said_or_the_cpu_makes_the_rest() {
    assert_lost_is_said(&of_decays, CALLS, &on_cpu());
}

#[test]
fn a_launch_or_memory_refused_to_single_fits_of_a_batch_loses_nothing() {
    let cpu = on_cpu();
    assert_refused_is_said(&of_decays, CALLS, &cpu);
    assert_memory_loses_nothing(&of_decays, CALLS, &cpu);
}

#[test]
fn other_devices_make_the_single_fits_of_a_lost_one() {
    let cpu = on_cpu();
    for call in (0..60).step_by(7) {
        let faults = [Injected::Lost { call }, Injected::Nothing];
        let Some(trial) = Several::new(&faults, usize::MAX) else { return };
        let batch = run(&trial.on_devices(singly(decay()), false)).unwrap();
        agree(&batch, &cpu);
        let said = batch.reason().contains("others took over");
        assert_eq!(said, trial.has_fired(), "{}", batch.reason());
        trial.assert_clean();
    }
}

/// An observer is called after each fit. It can stop the batch, and so can a token.
#[test]
fn single_fits_of_a_batch_are_watched() {
    for cancels in [false, true] {
        let Some(trial) = Trial::new(Injected::Nothing, usize::MAX) else { return };
        let (token, heard) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
        let (cancel, finished) = (token.clone(), heard.clone());
        let fitter = singly(decay()).cancel_token(token).observe(move |event| {
            let Event::Batch(progress) = event else { return ControlFlow::Continue(()) };
            assert_eq!(finished.fetch_add(1, Ordering::Relaxed) + 1, progress.finished);
            match (progress.finished, cancels) {
                (2, true) => cancel.cancel(),
                (2, false) => return ControlFlow::Break(()),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        let batch = run(&trial.on_device(fitter, true)).unwrap();
        assert_eq!(heard.load(Ordering::Relaxed), 2);
        let [first, second, third] = batch.statuses() else { panic!("{batch}") };
        assert!(first.is_determined() && *second == FitStatus::BadData { point: 3 });
        assert!(*third == FitStatus::NotRun && batch.fit(2).params()[0].is_nan());
        trial.assert_clean();
    }
}
