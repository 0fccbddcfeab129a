//! Tests of device failures during a batch: an allocation or a launch fails, or the device is lost, at each driver call
//! in turn.

use super::batches::{START, abscissae, agree, decay, decays};
use super::trial::Trial;
use super::{SHARED, assign};
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::emulated::Emulator;
use crate::backend::cuda::memory::Pooled;
use crate::backend::cuda::testing::deferred_driver::Deferred;
use crate::backend::cuda::testing::faulty_driver::{Call, Faulty, Injected};
use crate::device::Costs;
use crate::{Backend, BatchData, BatchFit, CancelToken, CurveFit, Error, Event, Sigma, Starts};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const FITS: usize = 30;
const POINTS: usize = 20;

impl Trial {
    /// Fits a batch in which each fit has its own arrays. If `take_over` is true, the CPU may continue it.
    fn batch(&self, take_over: bool, fitter: CurveFit) -> Result<BatchFit, Error> {
        run(self.on_device(fitter, take_over))
    }
}

fn run(fitter: CurveFit) -> Result<BatchFit, Error> {
    let xs = abscissae(POINTS).repeat(FITS);
    let mut stack = decays(&xs[..POINTS], FITS);
    stack[5 * POINTS + 3] = f64::NAN;
    let sigma = vec![0.3; FITS * POINTS];
    let data =
        BatchData::own(&xs, &stack)?.points_per_fit(POINTS)?.sigma(Sigma::Absolute(&sigma))?;
    let (lower, upper) = (vec![-1e3; 3 * FITS], vec![1e3; 3 * FITS]);
    let starts = vec![START; FITS];
    fitter.fit_batch(&data, Starts::from(&starts).bounds(&lower, &upper))
}

fn on_cpu() -> BatchFit {
    run(decay().backend(Backend::Cpu)).unwrap()
}

/// A batch on a device with an injected fault, with or without takeover by the CPU.
type OnFaulty<'a> = &'a dyn Fn(&Trial, bool) -> Result<BatchFit, Error>;

/// Runs the batch of `make` for k = 0, 1, 2, … with the fault `injected(k)`, until the fault does not occur any more, with
/// and without takeover by the CPU. Passes the results with a fault to `judge`. More than `least` calls must be possible.
fn at_every_call(
    (make, least): (OnFaulty<'_>, usize),
    injected: impl Fn(usize) -> Injected,
    judge: impl Fn(&Result<BatchFit, Error>, bool),
) {
    for take_over in [true, false] {
        for k in 0.. {
            let Some(trial) = Trial::new(injected(k), usize::MAX) else { return };
            let batch = make(&trial, take_over);
            let fired = trial.driver.has_fired();
            if fired {
                judge(&batch, take_over);
            }
            trial.assert_clean();
            if !fired {
                assert!(k > least, "only {k} calls were made");
                break;
            }
        }
    }
}

/// A device that is lost at any call is an error, or the CPU computes the rest.
pub(super) fn assert_lost_is_said(make: OnFaulty<'_>, least: usize, cpu: &BatchFit) {
    at_every_call(
        (make, least),
        |call| Injected::Lost { call },
        |batch, take_over| match (batch, take_over) {
            (Ok(batch), true) => {
                agree(batch, cpu);
                assert!(batch.reason().contains("the device failed"), "{}", batch.reason());
            }
            (Err(Error::DeviceLost { message, .. }), false) => assert!(message.contains("719")),
            (other, _) => panic!("{other:?}"),
        },
    );
}

/// A launch that is refused at any call is an error, or the CPU computes the rest.
pub(super) fn assert_refused_is_said(make: OnFaulty<'_>, least: usize, cpu: &BatchFit) {
    at_every_call(
        (make, least),
        |launch| Injected::Refused { launch },
        |batch, take_over| match (batch, take_over) {
            (Ok(batch), true) => agree(batch, cpu),
            (Err(Error::DeviceFailed { .. }), false) => {}
            (other, _) => panic!("{other:?}"),
        },
    );
}

/// Memory that is refused at any call is an error, or smaller chunks or the CPU do without it.
pub(super) fn assert_memory_loses_nothing(make: OnFaulty<'_>, least: usize, cpu: &BatchFit) {
    at_every_call(
        (make, least),
        |allocation| Injected::OutOfMemory { allocation },
        |batch, take_over| match (batch, take_over) {
            (Ok(batch), _) => agree(batch, cpu),
            // The counter and the data that all fits share do not shrink in smaller chunks.
            (Err(Error::DeviceOutOfMemory { .. }), false) => {}
            (other, _) => panic!("{other:?}"),
        },
    );
}

fn of_decays(trial: &Trial, take_over: bool) -> Result<BatchFit, Error> {
    trial.batch(take_over, decay())
}

#[test]
fn a_device_lost_at_any_call_is_said_or_the_cpu_makes_the_rest() {
    assert_lost_is_said(&of_decays, 0, &on_cpu());
}

#[test]
fn a_launch_refused_is_said_or_the_cpu_makes_the_rest() {
    assert_refused_is_said(&of_decays, 0, &on_cpu());
}

#[test]
fn an_allocation_refused_at_any_call_loses_nothing() {
    assert_memory_loses_nothing(&of_decays, 0, &on_cpu());
}

#[test]
fn a_batch_larger_than_the_memory_goes_through_it_in_chunks() {
    let cpu = on_cpu();
    let Some(trial) = Trial::new(Injected::Nothing, 6000) else { return };
    let batch = trial.batch(false, decay()).unwrap();
    agree(&batch, &cpu);
    let (_, course) = batch.made.device.as_ref().unwrap();
    assert!(course.chunks >= 4, "{course:?}");
    assert_eq!((course.by_host, &course.failed), (0, &None));
    assert!(trial.driver.peak_bytes() <= 6000);
    trial.assert_clean();
    let Some(trial) = Trial::new(Injected::Nothing, 500) else { return };
    match trial.batch(false, decay()) {
        Err(Error::DeviceOutOfMemory { free, .. }) => assert!(free <= 500),
        other => panic!("{other:?}"),
    }
    trial.assert_clean();
}

/// A launch has at most as many fits as are expected to take a fraction of a second, but at least as many as the device
/// runs concurrently.
#[test]
fn a_batch_of_much_work_takes_several_launches() {
    let x = abscissae(POINTS);
    let stack = decays(&x, 120);
    let data = BatchData::shared(&x, &stack).unwrap();
    let cpu = decay().backend(Backend::Cpu).fit_batch(&data, START).unwrap();
    for (passes, chunks) in [(12.0, 1), (1e9, 3)] {
        let Some(trial) = Trial::new(Injected::Nothing, usize::MAX) else { return };
        let fitter = decay().costs(Costs { passes, ..Costs::default() });
        let fitter = trial.on_device(fitter, false);
        let batch = fitter.fit_batch(&data, START).unwrap();
        drop(fitter);
        agree(&batch, &cpu);
        let (_, course) = batch.made.device.as_ref().unwrap();
        assert_eq!((course.chunks, course.by_host), (chunks, 0), "{course:?}");
        trial.assert_clean();
    }
}

type Late = Faulty<Deferred<Arc<Emulator>>>;

/// Returns a device with `most` bytes of memory, which is pooled for reuse. Its kernels run as late as the driver
/// interface permits.
fn late(most: usize) -> Option<(Arc<Late>, Arc<Device>)> {
    let (emulator, _) = SHARED.as_ref()?;
    let late = Deferred::new(emulator.clone());
    let driver = Arc::new(Faulty::new(late, Injected::Nothing).with_memory(most));
    let pooled = Arc::new(Pooled::new(driver.clone()));
    let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
    Some((driver, Arc::new(Device::new(pooled, emulator.clone(), cache))))
}

/// Uploads of the next chunk must not overwrite data that late kernels still read.
#[test]
fn chunks_that_overlap_do_not_meet() {
    let cpu = on_cpu();
    for most in [6000, 9000, 20_000] {
        let Some((_, device)) = late(most) else { return };
        let fitter = assign(decay(), &device, false);
        let batch = run(fitter).unwrap();
        agree(&batch, &cpu);
        let (_, course) = batch.made.device.as_ref().unwrap();
        assert!(course.chunks > 1 && course.by_host == 0, "{most}: {course:?}");
    }
}

/// There is one fence per chunk, before its two kernels, and no other. The memory of the previous chunk is reused without an additional fence,
/// because an upload after such a fence would wait for the running kernel.
#[test]
fn uploads_of_a_chunk_wait_for_no_kernel_but_the_one_before() {
    let Some((driver, device)) = late(usize::MAX) else { return };
    let (x, costs) = (abscissae(POINTS), Costs { passes: 1e9, ..Costs::default() });
    let stack = decays(&x, 200);
    let fitter = assign(decay().costs(costs), &device, false);
    let batch = fitter.fit_batch(BatchData::shared(&x, &stack).unwrap(), START).unwrap();
    let (_, course) = batch.made.device.as_ref().unwrap();
    assert!(course.chunks >= 4, "{course:?}");
    assert_eq!(driver.count(Call::Fence), course.chunks);
    assert_eq!(driver.count(Call::Launch), 2 * course.chunks);
}

/// Chunks reuse the memory of earlier chunks. Numbers there do not become results of fits that the device does not
/// compute.
#[test]
fn fits_without_a_result_on_the_device_do_not_get_numbers_of_earlier_chunks() {
    let x = abscissae(POINTS);
    let (mut stack, mut starts) = (decays(&x, 60), vec![START; 60]);
    for bad in [7, 33, 51] {
        stack[bad * POINTS + 4] = f64::NAN;
        starts[bad + 2] = [f64::NAN; 3];
    }
    let data = BatchData::shared(&x, &stack).unwrap();
    let cpu = decay().keep_covariance(true).backend(Backend::Cpu);
    let cpu = cpu.fit_batch(&data, &starts).unwrap();
    let Some((_, device)) = late(9000) else { return };
    let fitter = assign(decay().keep_covariance(true), &device, false);
    let batch = fitter.fit_batch(&data, &starts).unwrap();
    let (_, course) = batch.made.device.as_ref().unwrap();
    assert!(course.chunks > 3 && course.by_host == 3, "{course:?}");
    agree(&batch, &cpu);
    for (i, (there, here)) in batch.iter().zip(cpu.iter()).enumerate() {
        let [there, here] = [there, here].map(|fit| fit.covariance().unwrap());
        for (a, b) in there.iter().zip(here) {
            let equal = (a - b).abs() <= 1e-6 * b.abs() || (a.is_nan() && b.is_nan());
            assert!(equal, "fit {i}: covariance {a} against {b}");
        }
    }
}

/// A device fails while its results are read; the CPU takes over, and is stopped. Fits that were not run have no
/// numbers of the device.
#[test]
fn results_read_before_a_failure_are_dropped() {
    let mut not_run = 0;
    for call in 0.. {
        let Some(trial) = Trial::new(Injected::Lost { call }, usize::MAX) else { return };
        let fitter = decay().observe(|_| ControlFlow::Break(()));
        let batch = trial.batch(true, fitter).unwrap();
        for fit in batch.iter().filter(|fit| fit.status() == crate::FitStatus::NotRun) {
            not_run += 1;
            let numbers = fit.params().iter().chain(fit.std_errors()).copied();
            assert!(numbers.chain([fit.cost()]).all(f64::is_nan), "call {call}: {fit:?}");
        }
        let fired = trial.driver.has_fired();
        trial.assert_clean();
        if !fired {
            break;
        }
    }
    assert!(not_run > 0, "the observer has stopped nothing");
}

#[test]
fn an_observer_hears_of_chunks_and_stops_between_them() {
    let Some(trial) = Trial::new(Injected::Nothing, 6000) else { return };
    let last = Arc::new(AtomicUsize::new(0));
    let heard = last.clone();
    let fitter = decay().observe(move |event| {
        let Event::Batch(progress) = event else { return ControlFlow::Continue(()) };
        assert!(heard.swap(progress.finished, Ordering::Relaxed) < progress.finished);
        assert_eq!(progress.n_fits, FITS);
        if progress.finished > FITS / 2 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let batch = trial.batch(false, fitter).unwrap();
    let finished = last.load(Ordering::Relaxed);
    assert!(finished > FITS / 2 && finished < FITS, "{finished}");
    for (i, status) in batch.statuses().iter().enumerate() {
        assert_eq!(*status == crate::FitStatus::NotRun, i >= finished, "fit {i}");
    }
    trial.assert_clean();
}

#[test]
fn a_cancelled_token_stops_between_chunks() {
    for last in [0, FITS / 2] {
        let Some(trial) = Trial::new(Injected::Nothing, 6000) else { return };
        let token = CancelToken::new();
        let (cancel, heard) = (token.clone(), Arc::new(AtomicUsize::new(0)));
        let finished = heard.clone();
        if last == 0 {
            token.cancel();
        }
        let fitter = decay().cancel_token(token).observe(move |event| {
            let Event::Batch(progress) = event else { return ControlFlow::Continue(()) };
            heard.store(progress.finished, Ordering::Relaxed);
            if progress.finished > last {
                cancel.cancel();
            }
            ControlFlow::Continue(())
        });
        let batch = trial.batch(false, fitter).unwrap();
        let finished = finished.load(Ordering::Relaxed);
        assert!(finished < FITS && (finished > last || last == 0), "{finished}");
        for (i, status) in batch.statuses().iter().enumerate() {
            assert_eq!(*status == crate::FitStatus::NotRun, i >= finished, "fit {i}");
            assert!(i < finished || batch.fit(i).params()[0].is_nan(), "fit {i}");
        }
        trial.assert_clean();
    }
}

#[test]
fn many_batches_leave_nothing_behind() {
    let Some(trial) = Trial::new(Injected::Nothing, usize::MAX) else { return };
    trial.batch(false, decay()).unwrap();
    let held = trial.driver.held();
    for _ in 0..30 {
        trial.batch(false, decay()).unwrap();
    }
    assert_eq!(trial.driver.held(), held);
    assert_eq!(trial.driver.count(Call::Load), 2, "both kernels are loaded once");
    trial.assert_clean();
}
