//! Joint fits on devices that sum up their sets together: one launch for a pass, the same bits however many devices there are,
//! and what a device fails at others do, or the CPU.

use super::joints::{decay, decays};
use super::several_devices::Several;
use super::trial::Trial;
use crate::backend::cuda::testing::faulty_driver::{Call, Injected};
use crate::device::Processor;
use crate::{Backend, CurveFit, Data, Error, GlobalFit, JointFit};

const SETS: usize = 40;

fn joint(curve: &CurveFit) -> Result<JointFit, Error> {
    let lengths: Vec<usize> = (0..SETS).map(|k| 5 + 3 * k % 17).collect();
    let sets = decays(&lengths);
    let data = sets.iter().map(|[x, y]| Data::new(x, y)).collect::<Result<Vec<_>, _>>()?;
    GlobalFit::new(curve).share(["rate"]).fit(data, [("rate", 0.5)])
}

fn bits(fit: &JointFit) -> Vec<u64> {
    let fit = fit.fit();
    fit.params().iter().copied().chain(fit.std_errors()).map(f64::to_bits).collect()
}

fn assert_same(fit: &JointFit, expected: &JointFit) {
    let (fit, expected) = (fit.fit(), expected.fit());
    assert!(fit.converged());
    for ((a, b), e) in fit.params().iter().zip(expected.params()).zip(expected.std_errors()) {
        assert!((a - b).abs() <= 1e-6 * e, "{a:e} against {b:e} ± {e:e}");
    }
}

fn on_cpu() -> JointFit {
    joint(&decay().backend(Backend::Cpu)).expect("a fit")
}

#[test]
fn a_pass_over_all_sets_is_a_launch() {
    let Some(trial) = Trial::new(Injected::Nothing, usize::MAX) else { return };
    let fit = joint(&trial.on_device(decay(), false)).expect("a fit");
    let (launches, passes) = (trial.driver.count(Call::Launch), fit.fit().stats().passes);
    assert_eq!(launches, passes);
    assert_same(&fit, &on_cpu());
    trial.assert_clean();
}

#[test]
fn sets_on_several_devices_have_the_same_bits() {
    let fit = |devices: usize| {
        let several = Several::new(&vec![Injected::Nothing; devices], usize::MAX)?;
        let fit = joint(&several.on_devices(decay(), false)).expect("a fit");
        several.assert_clean();
        Some(bits(&fit))
    };
    let Some(alone) = fit(1) else { return };
    // As many as there are sets, and more.
    for devices in [2, 3, SETS, SETS + 1] {
        assert_eq!(fit(devices).as_ref(), Some(&alone), "{devices}");
    }
}

/// At every call, until there are no more.
fn one_fails(injected: impl Fn(usize) -> Injected) {
    let cpu = on_cpu();
    let Some(sound) = Several::new(&[Injected::Nothing; 3], usize::MAX) else { return };
    let expected = bits(&joint(&sound.on_devices(decay(), false)).expect("a fit"));
    for failing in [0, 2] {
        for k in 0.. {
            let mut faults = [Injected::Nothing; 3];
            faults[failing] = injected(k);
            let trial = Several::new(&faults, usize::MAX).expect("devices");
            let fit = joint(&trial.on_devices(decay(), false)).expect("a fit");
            assert_eq!(bits(&fit), expected, "device {failing}, call {k}");
            let (stats, fired) = (fit.fit().stats().clone(), trial.has_fired());
            assert_eq!(stats.processor, Processor::Cuda);
            assert_eq!(stats.reason.contains("took over"), fired, "{}", stats.reason);
            trial.assert_clean();
            if !fired {
                assert!(k > 3, "{k}");
                break;
            }
        }
    }
    for take_over in [true, false] {
        for k in 0.. {
            let Some(trial) = Trial::new(injected(k), usize::MAX) else { return };
            let fit = joint(&trial.on_device(decay(), take_over));
            let fired = trial.driver.has_fired();
            match fit {
                Ok(fit) if take_over || !fired => {
                    assert_same(&fit, &cpu);
                    let stats = fit.fit().stats();
                    let on = if fired { Processor::Cpu } else { Processor::Cuda };
                    assert_eq!(stats.processor, on, "{}", stats.reason);
                    assert_eq!(stats.reason.contains("failed"), fired, "{}", stats.reason);
                }
                Err(Error::DeviceLost { .. } | Error::DeviceFailed { .. })
                    if fired && !take_over => {}
                other => panic!("call {k}, {fired}: {other:?}"),
            }
            trial.assert_clean();
            if !fired {
                assert!(k > 3, "{k}");
                break;
            }
        }
    }
}

#[test]
fn sets_of_a_lost_device_go_to_others_or_to_the_cpu() {
    one_fails(|call| Injected::Lost { call });
}

#[test]
fn sets_of_a_device_that_refuses_go_to_others_or_to_the_cpu() {
    one_fails(|launch| Injected::Refused { launch });
}

/// Sets that find no room together are passed over one by one.
#[test]
fn memory_that_is_refused_is_no_error_for_sets() {
    let cpu = on_cpu();
    for allocation in 0.. {
        let Some(trial) = Trial::new(Injected::OutOfMemory { allocation }, usize::MAX) else {
            return;
        };
        let fit = joint(&trial.on_device(decay(), true)).expect("a fit");
        assert_same(&fit, &cpu);
        let fired = trial.driver.has_fired();
        trial.assert_clean();
        if !fired {
            assert!(allocation > 3);
            break;
        }
    }
}
