//! The suite of all devices on the emulated one, through the public front.

mod batch_faults;
mod batch_poisoned;
mod batch_resident;
#[path = "../../../tests/support/batches.rs"]
mod batches;
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
batches::batches_on!(on_device:
    shapes_and_numbers_of_parameters,
    each_fit_is_the_single_fit_of_its_points,
    losses_bounds_and_fixed_parameters,
    starts_and_bounds_of_each_fit,
    all_types_of_samples_and_columns,
    sigmas_masks_and_missing_samples,
    fits_of_unequal_length_with_columns_of_their_own,
    counts_of_batches,
    what_the_data_do_not_determine,
    bad_columns_sigmas_and_counts,
    spots,
    second_runs,
);
