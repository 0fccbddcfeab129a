//! Fits on a device at once, and on one device beside another, hold each other up and change each other's numbers in nothing.

#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::batches::Place;
use super::batches::{START, abscissae, decay, decays};
use dualfit::device::{DeviceInfo, devices};
use dualfit::{Backend, BatchData, CurveFit, Data};
use std::thread;

/// The tests, each handed to `$on_device`, which calls it with a [`Place`] or skips it.
macro_rules! at_once_on {
    ($on_device:ident) => {
        #[test]
        fn fits_at_once_have_the_bits_of_fits_one_after_the_other() {
            $on_device(at_once::fits_at_once_have_the_bits_of_fits_one_after_the_other);
        }
    };
}
pub(crate) use at_once_on;

/// A single fit and a batch, as bits; `n`: which of several.
fn numbers(model: &CurveFit, n: usize) -> Vec<u64> {
    let x = abscissae(3000 + 500 * n);
    let y = decays(&x, n + 1).split_off(n * x.len());
    let fit = model.fit(Data::new(&x, &y).unwrap(), START).unwrap();
    assert!(fit.converged());
    let short = abscissae(20 + n);
    let stack = decays(&short, 6);
    let batch = model.fit_batch(BatchData::shared(&short, &stack).unwrap(), START).unwrap();
    assert_eq!(batch.converged(), 6);
    let found = [fit.params(), &fit.std_errors(), batch.params(), batch.std_errors()].concat();
    found.into_iter().map(f64::to_bits).collect()
}

/// More of them than have queues of their own.
pub fn fits_at_once_have_the_bits_of_fits_one_after_the_other(place: Place<'_>) {
    let models: Vec<CurveFit> = (0..6).map(|_| place(decay())).collect();
    let alone: Vec<Vec<u64>> = models.iter().enumerate().map(|(n, m)| numbers(m, n)).collect();
    thread::scope(|scope| {
        for (n, (model, alone)) in models.iter().zip(&alone).enumerate() {
            scope.spawn(move || (0..2).for_each(|_| assert_eq!(&numbers(model, n), alone, "{n}")));
        }
    });
}

/// The devices like this one, with it.
pub fn alike(ordinal: usize) -> Vec<DeviceInfo> {
    let found = devices().unwrap_or_default();
    let kind = |d: &DeviceInfo| (d.name.clone(), d.multiprocessors);
    let wanted = found.get(ordinal).map(kind);
    found.into_iter().filter(|d| Some(kind(d)) == wanted).collect()
}

/// Runs if there are two equal devices.
pub fn devices_alike_give_the_same_bits() {
    let twins = alike(0);
    let Some(first) = twins.first() else { return };
    let on = |ordinal| numbers(&decay().backend(Backend::cuda(ordinal)), 1);
    let alone = on(first.ordinal);
    thread::scope(|scope| {
        for twin in &twins {
            let (on, alone) = (&on, &alone);
            scope.spawn(move || assert_eq!(&on(twin.ordinal), alone, "{twin}"));
        }
    });
}
