//! Tests of streams with device faults at every call and with missing fences.

use super::streamed::{Case, LAZY, Lazy, Sums, Trial};
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::passes::PassKind;
use crate::backend::cuda::testing::faulty_driver::Injected;
use crate::normal::{Normal, RFactor};

const CHUNKS: [usize; 1] = [150];

fn case(n: usize) -> Case {
    Case::new(n, 1100)
}

fn run(case: &Case, trial: &Trial) -> Result<Sums, DriverError> {
    let mut streamed = case.streamed(&trial.device, 1100)?;
    let found = case.sums(&mut streamed, &CHUNKS);
    // A stream that failed can begin again, unless the device is lost.
    if let Err(DriverError::Failed { .. }) = found {
        return case.sums(&mut streamed, &CHUNKS).map_err(|error| panic!("{error}"));
    }
    found
}

/// Injects a fault into each call of two passes in turn, until all calls are covered.
fn at_every_call(injected: impl Fn(usize) -> Injected, judge: impl Fn(&Result<Sums, DriverError>)) {
    for (n, lazy) in [(3, Lazy::Uploads), (3, Lazy::Kernels), (34, Lazy::Uploads)] {
        for k in 0.. {
            let Some(trial) = Trial::new(lazy, injected(k), usize::MAX) else { return };
            let found = run(&case(n), &trial);
            let fired = trial.driver.has_fired();
            match fired {
                true => judge(&found),
                false => drop(found.expect("nothing was injected")),
            }
            trial.assert_clean();
            if !fired {
                assert!(k > 3, "only {k} calls were made");
                break;
            }
        }
    }
}

#[test]
fn a_device_lost_at_any_call_is_said() {
    at_every_call(
        |call| Injected::Lost { call },
        |found| assert!(matches!(found, Err(DriverError::Lost { .. })), "{found:?}"),
    );
}

/// The pass fails, and the next pass succeeds.
#[test]
fn a_launch_refused_at_any_call_ends_a_pass() {
    at_every_call(|launch| Injected::Refused { launch }, |found| assert!(found.is_ok()));
}

#[test]
fn an_allocation_refused_at_any_call_is_made_up_for_or_said() {
    at_every_call(
        |allocation| Injected::OutOfMemory { allocation },
        |found| {
            let refused = matches!(found, Err(DriverError::OutOfMemory { .. }));
            assert!(found.is_ok() || refused, "{found:?}");
        },
    );
}

#[test]
fn chunks_for_which_there_is_no_memory_are_passed_over_in_parts() {
    let case = Case::new(3, 40_000);
    let all = 40_000 * 2 * 8;
    for lazy in LAZY {
        let Some(sound) = Trial::sound(lazy) else { return };
        let mut whole = case.streamed(&sound.device, 40_000).unwrap();
        assert_eq!(whole.capacity(), 40_000);
        let expected = case.sums(&mut whole, &[40_000]).unwrap();
        let trial = Trial::new(lazy, Injected::Nothing, all / 4).unwrap();
        let mut streamed = case.streamed(&trial.device, 40_000).unwrap();
        assert!((1024..5000).contains(&streamed.capacity()), "{}", streamed.capacity());
        let found = case.sums(&mut streamed, &[40_000]).unwrap();
        found.assert_close(&expected, 3, 1e-12, "in parts");
        assert!(trial.driver.peak_bytes() <= all / 4 && streamed.bytes() <= all / 4);
        drop(streamed);
        trial.assert_clean();
        // The allocation fails although the device reported enough free memory.
        let trial = Trial::new(lazy, Injected::OutOfMemory { allocation: 2 }, usize::MAX).unwrap();
        let mut streamed = case.streamed(&trial.device, 40_000).unwrap();
        assert!(trial.driver.has_fired());
        assert_eq!(streamed.capacity(), 20_000);
        let found = case.sums(&mut streamed, &[40_000]).unwrap();
        found.assert_close(&expected, 3, 1e-12, "in halves");
        drop(streamed);
        trial.assert_clean();
    }
}

/// If uploads are late, every missing fence of two passes causes wrong sums. If kernels are late, every missing fence
/// between two launches that use one buffer causes wrong sums.
#[test]
fn no_fence_can_be_left_out() {
    let case = case(3);
    let per_pass = 1100_usize.div_ceil(CHUNKS[0]);
    for lazy in LAZY {
        let Some(trial) = Trial::sound(lazy) else { return };
        let right = run(&case, &trial).unwrap().bits();
        for fence in 0..2 * per_pass {
            let trial = Trial::new(lazy, Injected::Unfenced { fence }, usize::MAX).unwrap();
            let found = run(&case, &trial).unwrap();
            assert!(trial.driver.has_fired());
            let needed = match lazy {
                Lazy::Uploads => true,
                // No upload follows the last chunk's fence, and no launch precedes the first fence.
                Lazy::Kernels => (1..per_pass - 1).contains(&(fence % per_pass)),
            };
            let harmed = found.bits() != right;
            assert!(harmed || !needed, "{lazy:?}: without fence {fence} all is right");
        }
    }
}

#[test]
fn passes_that_are_not_begun_and_chunks_of_another_kind_are_refused() {
    let case = case(3);
    let Some(trial) = Trial::sound(Lazy::Uploads) else { return };
    let mut streamed = case.streamed(&trial.device, 1100).unwrap();
    let (params, columns) = case.at();
    let (mut normal, mut factor) = (Normal::zero(3), RFactor::zero(3));
    let said = |result: Result<(), DriverError>, words: &str| match result {
        Err(error @ DriverError::Failed { .. }) => assert!(error.to_string().contains(words)),
        other => panic!("{other:?}"),
    };
    said(streamed.add(&case.all(), &mut normal), "no pass was begun");
    said(streamed.finish(&mut normal), "no such pass");
    streamed.begin(PassKind::Normal, &params, &columns).unwrap();
    said(streamed.add(&case.all(), &mut factor), "no pass was begun");
    streamed.begin(PassKind::Normal, &params, &columns).unwrap();
    said(streamed.finish(&mut factor), "no such pass");
    streamed.begin(PassKind::Normal, &params, &columns).unwrap();
    said(streamed.add(&case.clone().weighted().all(), &mut normal), "another kind");
    said(streamed.add(&Case::new(3, 10).single().all(), &mut normal), "another kind");
    // No points were added.
    streamed.finish(&mut normal).unwrap();
    assert_eq!(normal, Normal::zero(3));
    drop(streamed);
    trial.assert_clean();
}
