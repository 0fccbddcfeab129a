//! Tests with a device that fails during the fit of a stream, at each of its calls in turn.

use super::SHARED;
use super::streams::{START, assert_same, data, decay, stream};
use super::trial::Trial;
use crate::backend::cuda::testing::faulty_driver::Injected;
use crate::{Backend, Error};

#[test]
fn a_device_that_fails_at_any_call_of_a_stream_loses_nothing() {
    if SHARED.is_none() {
        return;
    }
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
                let Some(trial) = Trial::new(fault(k), usize::MAX) else { return };
                let model = trial.on_device(decay(), take_over);
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
                let fired = trial.driver.has_fired();
                drop((model, fit));
                trial.assert_clean();
                if !fired {
                    assert!(k > 1, "only {k} calls");
                    break;
                }
            }
        }
    }
}
