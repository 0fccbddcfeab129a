//! What a device can do to a stream, at every call.

use super::SHARED;
use super::streams::{START, assert_same, data, decay, stream};
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::testing::faulty_driver::{Faulty, Injected};
use crate::{Backend, CurveFit, Error};
use std::sync::Arc;

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
