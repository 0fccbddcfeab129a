//! Tests of the residuals of each fit of a batch for correlation.

use super::BatchFit;
use super::request::BatchRequest;
use crate::backend::cpu::{Cpu, Scratch};
use crate::fit::lack_of_fit::ResidualTests;
use crate::threads;
use std::sync::Mutex;

/// Fits that a thread tests at a time.
const PORTION: usize = 256;

/// Tests the residuals of each converged fit in one pass over its values. Returns true for each fit with correlated
/// residuals.
pub(crate) fn correlated(request: &BatchRequest<'_>, batch: &BatchFit) -> Vec<bool> {
    let portion = |(first, found): (usize, &mut [bool])| {
        let (mut columns, mut y, scratch) = (Vec::new(), Vec::new(), Mutex::<Scratch>::default());
        for (fit, found) in (first * PORTION..).zip(found) {
            let view = batch.fit(fit);
            let Some(termination) = view.termination().filter(|_| view.converged()) else {
                continue;
            };
            let Ok(points) = request.points(fit, &mut columns, Some(&mut y)) else { continue };
            let params = view.params();
            let mut cpu =
                Cpu::reusing(&scratch, &request.spec.prepared, &points, request.spec.loss, params)
                    .on_one_thread();
            let tests = ResidualTests::of(&mut cpu, (params, termination), view.rank());
            *found = tests.are_correlated();
        }
    };
    let mut found = vec![false; batch.n_fits()];
    threads::map(found.chunks_mut(PORTION).enumerate(), portion);
    found
}
