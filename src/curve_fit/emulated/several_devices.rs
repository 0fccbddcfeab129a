//! Tests of fits on several emulated devices. If a device fails at any call, the other devices compute its share of the
//! points or fits, and the result has the same bits.

use super::batches::{START, abscissae, decay, decays};
use super::several;
use super::several::{SEGMENT, Shared, in_segments, of_fit};
use super::trial::Trial;
use crate::backend::cuda::testing::faulty_driver::Injected;
use crate::device::Processor;
use crate::fit::placement::AssignedDevices;
use crate::{BatchData, BatchFit, CurveFit, Data, Error, Fit};

/// Emulated devices with injected faults.
pub(super) struct Several(Vec<Trial>);

impl Several {
    /// Creates one device with `memory` bytes of memory per injected fault; `None` without an emulator.
    pub(super) fn new(injected: &[Injected], memory: usize) -> Option<Several> {
        let trials = injected.iter().map(|&injected| Trial::new(injected, memory));
        trials.collect::<Option<_>>().map(Several)
    }

    pub(super) fn on_devices(&self, model: CurveFit, take_over: bool) -> CurveFit {
        let devices = self.0.iter().map(|trial| trial.device.clone()).collect();
        CurveFit { assigned: AssignedDevices { devices, take_over }, ..model }
    }

    fn fit(&self, take_over: bool) -> Result<Fit, Error> {
        self.fit_of(3 * SEGMENT + 200, take_over)
    }

    fn fit_of(&self, points: usize, take_over: bool) -> Result<Fit, Error> {
        let x = abscissae(points);
        let y = decays(&x, 1);
        self.on_devices(in_segments(decay()), take_over).fit(Data::new(&x, &y)?, START)
    }

    fn batch(&self, take_over: bool) -> Result<BatchFit, Error> {
        let x = abscissae(20);
        let stack = decays(&x, 40);
        self.on_devices(decay(), take_over).fit_batch(BatchData::shared(&x, &stack)?, START)
    }

    /// Returns true if a device that should fail has failed.
    pub(super) fn has_fired(&self) -> bool {
        self.0.iter().any(|trial| trial.driver.has_fired())
    }

    fn all_fired(&self) -> bool {
        self.0.iter().all(|trial| trial.driver.has_fired())
    }

    pub(super) fn assert_clean(self) {
        self.0.into_iter().for_each(Trial::assert_clean);
    }
}

fn on_devices(test: impl FnOnce(Shared<'_>)) {
    if let Some(trial) = Several::new(&[Injected::Nothing; 3], usize::MAX) {
        test(&|model, devices| {
            let mut model = trial.on_devices(model, false);
            model.assigned.devices.truncate(devices);
            Some(model)
        });
        trial.assert_clean();
    }
}

several::several_on!(on_devices);

fn of_batch(batch: &BatchFit) -> Vec<u64> {
    [batch.params(), batch.std_errors()].concat().iter().map(|n| n.to_bits()).collect()
}

/// Tests a fit and a batch on three devices, the first or the last of which fails. The failure is injected at each call
/// in turn.
fn one_fails(injected: impl Fn(usize) -> Injected) {
    let Some(sound) = Several::new(&[Injected::Nothing; 3], usize::MAX) else { return };
    let fit = of_fit(&sound.fit(false).expect("a fit"));
    let batch = of_batch(&sound.batch(false).expect("a batch"));
    sound.assert_clean();
    for failing in [0, 2] {
        for batches in [false, true] {
            for k in 0.. {
                let mut faults = [Injected::Nothing; 3];
                faults[failing] = injected(k);
                let trial = Several::new(&faults, usize::MAX).expect("devices");
                let (found, reason) = if batches {
                    let found = trial.batch(false).expect("a batch");
                    assert_eq!(found.processor(), Processor::Cuda);
                    assert_eq!(of_batch(&found), batch, "device {failing}, call {k}");
                    (found.converged() == 40, found.reason().to_owned())
                } else {
                    let found = trial.fit(false).expect("a fit");
                    assert_eq!(of_fit(&found), fit, "device {failing}, call {k}");
                    (found.converged(), found.stats().reason.clone())
                };
                let fired = trial.has_fired();
                assert!(found, "{reason}");
                if let Injected::Lost { .. } = faults[failing] {
                    assert_eq!(reason.contains("took over"), fired, "{reason}");
                }
                trial.assert_clean();
                if !fired {
                    assert!(k > 3 || !matches!(faults[failing], Injected::Lost { .. }), "{k}");
                    break;
                }
            }
        }
    }
}

#[test]
fn what_a_lost_device_had_is_done_by_the_others() {
    one_fails(|call| Injected::Lost { call });
}

#[test]
fn what_a_device_refuses_is_done_by_the_others() {
    one_fails(|launch| Injected::Refused { launch });
}

/// Points that do not fit into memory are processed in chunks, or on another device, with the same result.
#[test]
fn memory_that_one_device_refuses_is_no_error() {
    let Some(sound) = Several::new(&[Injected::Nothing; 2], usize::MAX) else { return };
    let whole = sound.fit(false).expect("a fit");
    for allocation in 0.. {
        let faults = [Injected::Nothing, Injected::OutOfMemory { allocation }];
        let trial = Several::new(&faults, usize::MAX).expect("devices");
        let fit = trial.fit(false).expect("a fit");
        for ((a, b), e) in fit.params().iter().zip(whole.params()).zip(whole.std_errors()) {
            assert!(fit.converged() && (a - b).abs() <= 1e-9 * e, "{a:e} against {b:e}");
        }
        let fired = trial.has_fired();
        trial.assert_clean();
        if !fired {
            assert!(allocation > 3);
            break;
        }
    }
    sound.assert_clean();
}

/// The remaining device has too little memory for the share of the lost device and processes this share in chunks.
#[test]
fn a_share_that_finds_no_room_goes_through_in_chunks() {
    const POINTS: usize = 9 * SEGMENT;
    let memory = 16 * POINTS * 4 / 5;
    let Some(sound) = Several::new(&[Injected::Nothing; 2], memory) else { return };
    let whole = sound.fit_of(POINTS, false).expect("a fit");
    assert_eq!(whole.stats().chunks, 1);
    sound.assert_clean();
    for call in [8, 12, 16, 20] {
        let faults = [Injected::Nothing, Injected::Lost { call }];
        let Some(trial) = Several::new(&faults, memory) else { return };
        let fit = trial.fit_of(POINTS, false).expect("a fit");
        assert!(trial.has_fired() && fit.stats().chunks > 1, "{call}: {}", fit.stats().chunks);
        for ((a, b), e) in fit.params().iter().zip(whole.params()).zip(whole.std_errors()) {
            assert!(fit.converged() && (a - b).abs() <= 1e-9 * e, "{a:e} against {b:e}");
        }
        trial.assert_clean();
    }
}

#[test]
fn where_all_devices_are_lost_that_is_said_or_the_cpu_goes_on() {
    let Some(sound) = Several::new(&[Injected::Nothing; 2], usize::MAX) else { return };
    let (whole, batches) = (sound.fit(false).expect("a fit"), sound.batch(false).expect("a batch"));
    sound.assert_clean();
    for take_over in [true, false] {
        for call in (0..60).step_by(3) {
            let faults = [Injected::Lost { call }, Injected::Lost { call: call / 2 }];
            let trial = Several::new(&faults, usize::MAX).expect("devices");
            let fit = trial.fit(take_over);
            let lost = trial.all_fired();
            match fit {
                Ok(fit) if take_over || !lost => {
                    for ((a, b), e) in
                        fit.params().iter().zip(whole.params()).zip(whole.std_errors())
                    {
                        assert!(fit.converged() && (a - b).abs() <= 1e-6 * e, "{a:e}, {b:e}");
                    }
                    let on = if lost { Processor::Cpu } else { Processor::Cuda };
                    assert_eq!(fit.stats().processor, on, "{}", fit.stats().reason);
                }
                Err(Error::DeviceLost { .. }) if !take_over && lost => {}
                other => panic!("call {call}, all lost: {lost}: {other:?}"),
            }
            trial.assert_clean();
            let trial = Several::new(&faults, usize::MAX).expect("devices");
            let batch = trial.batch(take_over);
            let lost = trial.all_fired();
            match batch {
                Ok(batch) if take_over || !lost => {
                    assert_eq!(batch.converged(), batches.converged());
                    assert_eq!(batch.reason().contains("the device failed"), lost);
                }
                Err(Error::DeviceLost { .. }) if !take_over && lost => {}
                other => panic!("call {call}, all lost: {lost}: {other:?}"),
            }
            trial.assert_clean();
        }
    }
}
