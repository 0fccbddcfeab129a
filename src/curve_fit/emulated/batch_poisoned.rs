//! Faulty fits among good ones: each has the same status as on the CPU, and its
//! neighbours have the same bits as without it, for any groups of lanes, blocks and orders.

use super::batches::{Place, START, abscissae, agree_but_for, both, check, decay, decays};
use super::{assign, on_device};
use crate::backend::cuda::cache::Cache;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::emulated::{Settings, emulator_or_skip};
use crate::{Backend, BatchData, BatchFit, FitStatus, Starts};
use std::sync::Arc;

const FITS: usize = 60;
const POINTS: usize = 20;
/// Value of y at saturated points.
const FULL: f64 = 65_535.0;
/// Fits whose results may differ from the CPU: fit 20 is a flat frame without an amplitude, so that its rate is
/// arbitrary; fit 35 starts far from the solution and ends in an unbounded valley of the cost.
const VAGUE: [usize; 2] = [20, 35];

/// Makes some fits faulty; the indices are the numbers of the fits.
fn poisoned(stack: &mut [f64], starts: &mut [[f64; 3]]) {
    let frame = |fit: usize| fit * POINTS..(fit + 1) * POINTS;
    stack[3 * POINTS + 7] = f64::NAN;
    stack[4 * POINTS] = f64::INFINITY;
    stack[frame(9)].fill(0.0);
    stack[frame(14)].fill(f64::NAN);
    stack[frame(20)].fill(FULL);
    stack[frame(19)].iter_mut().for_each(|y| *y = y.min(22.0));
    stack[frame(21)].fill(f64::MAX);
    stack[frame(22)].fill(1e-300);
    starts[30] = [f64::NAN, 1.0, 1.0];
    // The model overflows, loses its partials, or is at its limits.
    starts[31] = [1.0, -1e4, 1.0];
    starts[32] = [0.0, 1.0, 0.0];
    starts[33] = [1e200, 1.0, 1.0];
    starts[34] = [1.0, 1e6, 1.0];
    starts[35] = [-1e3, -3.0, 1e5];
}

fn bits(batch: &BatchFit, fit: usize) -> Vec<u64> {
    let view = batch.fit(fit);
    let numbers = view.params().iter().chain(view.std_errors()).copied();
    numbers.chain([view.cost()]).map(f64::to_bits).collect()
}

#[test]
fn a_bad_fit_has_its_status_and_touches_no_neighbour() {
    on_device(poisoned_batch);
}

fn poisoned_batch(place: Place<'_>) {
    let x = abscissae(POINTS);
    let sound = decays(&x, FITS);
    let (mut stack, mut starts) = (sound.clone(), vec![START; FITS]);
    poisoned(&mut stack, &mut starts);
    let wrong: Vec<usize> = (0..FITS)
        .filter(|&i| {
            let frame = i * POINTS..(i + 1) * POINTS;
            starts[i].map(f64::to_bits) != START.map(f64::to_bits)
                || stack[frame.clone()]
                    .iter()
                    .zip(&sound[frame])
                    .any(|(a, b)| a.to_bits() != b.to_bits())
        })
        .collect();
    assert_eq!(wrong.len(), 14);
    let data = BatchData::shared(&x, &stack).unwrap();
    let [batch, cpu] = both(&decay(), &data, &starts, place);
    agree_but_for(&batch, &cpu, &VAGUE);
    assert!(batch.left_to_cpu() < wrong.len(), "{}", batch.left_to_cpu());
    assert_eq!(batch.statuses()[3], FitStatus::BadData { point: 7 });
    assert_eq!(batch.statuses()[14], FitStatus::BadData { point: 0 });
    assert_eq!(batch.statuses()[30], FitStatus::BadStart { parameter: 0 });
    let clean = check(&decay(), &BatchData::shared(&x, &sound).unwrap(), START, 0, place);
    for fit in (0..FITS).filter(|fit| !wrong.contains(fit)) {
        assert_eq!(bits(&batch, fit), bits(&clean, fit), "fit {fit}");
    }
}

#[test]
fn neither_blocks_nor_their_order_change_a_bit() {
    let x = abscissae(POINTS);
    let (mut stack, mut starts) = (decays(&x, FITS), vec![START; FITS]);
    poisoned(&mut stack, &mut starts);
    let data = BatchData::shared(&x, &stack).unwrap();
    let on = |multiprocessors, seed| {
        let settings = Settings { multiprocessors, seed, ..Settings::default() };
        let emulator = emulator_or_skip(settings)?;
        let cache: &'static Cache = Box::leak(Box::new(Cache::in_memory()));
        let device = Arc::new(Device::new(emulator.clone(), emulator, cache));
        let fitter = assign(decay(), &device, false);
        Some(fitter.fit_batch(&data, &starts).unwrap())
    };
    let Some(first) = on(1, 0) else { return };
    let cpu = decay().backend(Backend::Cpu).fit_batch(&data, Starts::from(&starts)).unwrap();
    agree_but_for(&first, &cpu, &VAGUE);
    for (multiprocessors, seed) in [(7, 0), (1, 5), (3, 1)] {
        let other = on(multiprocessors, seed).unwrap();
        assert_eq!(other.statuses(), first.statuses());
        for fit in 0..FITS {
            assert_eq!(bits(&other, fit), bits(&first, fit), "fit {fit}");
        }
    }
}
