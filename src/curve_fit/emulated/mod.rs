//! The suite of all devices on the emulated one, through the public front.

mod batch;
mod faults;
#[path = "../../../tests/support/suite.rs"]
mod suite;

use crate::CurveFit;
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::emulated::{Emulator, Settings, emulator_or_skip};
use crate::backend::cuda::pool::Pooled;
use crate::support::nist;
use std::sync::{Arc, LazyLock};

/// One emulated device for all tests, so that kernels are compiled once.
static SHARED: LazyLock<Option<(Arc<Emulator>, Arc<Device>)>> = LazyLock::new(|| {
    let emulator = emulator_or_skip(Settings { multiprocessors: 2, ..Settings::default() })?;
    let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
    let pooled = Arc::new(Pooled::new(emulator.clone()));
    let device = Device::new(pooled, emulator.clone(), cache);
    Some((emulator, Arc::new(device)))
});

fn on_device(test: impl FnOnce(suite::Place<'_>)) {
    if let Some((_, device)) = &*SHARED {
        test(&|model: CurveFit| CurveFit { device: Some(device.clone()), ..model });
    }
}

suite::tests_on!(on_device);
