//! The suite of all devices on the emulated one, through the public front.

mod faults;
#[path = "../../../tests/support/suite.rs"]
mod suite;

use crate::CurveFit;
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::emulated::{Emulator, Settings, emulator_or_skip};
use crate::support::nist;
use std::sync::{Arc, LazyLock};

/// One emulated device for all tests, so that kernels are compiled once.
static SHARED: LazyLock<Option<(Arc<Emulator>, Arc<Device>)>> = LazyLock::new(|| {
    let emulator = emulator_or_skip(Settings { multiprocessors: 2, ..Settings::default() })?;
    let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
    let device = Device::new(emulator.clone(), emulator.clone(), cache);
    Some((emulator, Arc::new(device)))
});

fn on_device(test: impl FnOnce(suite::Place<'_>)) {
    if let Some((_, device)) = &*SHARED {
        test(&|model: CurveFit| CurveFit { device: Some(device.clone()), ..model });
    }
}

#[test]
fn nist_is_solved_on_the_device() {
    on_device(suite::nist);
}

#[test]
fn every_size_fits_as_on_the_cpu() {
    on_device(suite::sizes);
}

#[test]
fn every_form_of_data_fits_as_on_the_cpu() {
    on_device(suite::data_forms);
}

#[test]
fn every_loss_fits_as_on_the_cpu() {
    on_device(suite::losses);
}

#[test]
fn bounds_and_fixed_parameters_hold_as_on_the_cpu() {
    on_device(suite::constraints);
}

#[test]
fn models_of_1_to_43_parameters_fit_as_on_the_cpu() {
    on_device(suite::shapes);
}

#[test]
fn bad_ends_are_those_of_the_cpu() {
    on_device(suite::bad_ends);
}

#[test]
fn mixed_precision_ends_at_the_digits_of_f64() {
    on_device(suite::mixed_precision);
}

#[test]
fn observers_see_every_step() {
    on_device(suite::observers);
}

#[test]
fn repeated_fits_give_the_same_bits_from_any_thread() {
    on_device(suite::repeats);
}
