//! An emulated device with an injected fault, and its driver, which records all calls and allocations.

use super::{SHARED, assign};
use crate::CurveFit;
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::emulated::Emulator;
use crate::backend::cuda::testing::faulty_driver::{Faulty, Injected};
use std::sync::Arc;

pub(super) struct Trial {
    pub(super) driver: Arc<Faulty<Arc<Emulator>>>,
    pub(super) device: Arc<Device>,
}

impl Trial {
    /// Returns a device with `memory` bytes of memory; `None` without an emulator.
    pub(super) fn new(injected: Injected, memory: usize) -> Option<Trial> {
        let (emulator, _) = SHARED.as_ref()?;
        let driver = Arc::new(Faulty::new(emulator.clone(), injected).with_memory(memory));
        let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
        let device = Arc::new(Device::new(driver.clone(), emulator.clone(), cache));
        Some(Trial { driver, device })
    }

    /// Returns the model on this device; if `take_over` is true, the CPU may continue the fit.
    pub(super) fn on_device(&self, model: CurveFit, take_over: bool) -> CurveFit {
        assign(model, &self.device, take_over)
    }

    /// Drops the device. Panics unless all its memory and modules were then released and no call was a misuse.
    pub(super) fn assert_clean(self) {
        let Trial { driver, device } = self;
        drop(device);
        driver.assert_clean();
    }
}
