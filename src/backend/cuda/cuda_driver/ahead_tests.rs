//! Tests of uploads ahead with the fake driver. Its streams run only as far as a caller waits for them; therefore work
//! that no fence orders yields wrong results.

use super::*;
use crate::backend::cuda::testing::fake_driver::run_inside;
use rayon::prelude::*;

fn with_driver(test: &str, definitions: &[&str], body: impl FnOnce()) {
    let test = format!("backend::cuda::cuda_driver::ahead_tests::{test}");
    run_inside(&test, definitions, "FAKE DRIVER: nothing leaks", body);
}

fn values(chunk: usize, count: usize) -> Vec<f64> {
    (0..count).map(|i| (chunk * count + i) as f64).collect()
}

/// A driver with its only module.
struct Loaded(CudaDriver, Module);

fn loaded() -> Loaded {
    let driver = CudaDriver::new(0).unwrap();
    let module = driver.load(b"FAKE").unwrap();
    Loaded(driver, module)
}

/// Uploads chunks of `count` numbers to `rooms` buffers in turn, with or without fences; a kernel copies each chunk to
/// its own part of the result. Returns true if all chunks arrive.
fn arrives(
    Loaded(driver, module): &Loaded,
    (chunks, rooms, count): (usize, usize, usize),
    fences: bool,
) -> bool {
    let bytes = 8 * count;
    let room: Vec<Address> = (0..rooms).map(|_| driver.allocate(bytes).unwrap()).collect();
    let results = driver.allocate(chunks * bytes).unwrap();
    driver.clear(results, chunks * bytes).unwrap();
    for chunk in 0..chunks {
        let from = room[chunk % rooms];
        let mut source = values(chunk, count);
        driver.upload(from, bytemuck::cast_slice(&source), Queue::Ahead).unwrap();
        source.fill(-1.0);
        if fences {
            driver.fence().unwrap();
        }
        let to = results.0 + (chunk * bytes) as u64;
        let words = [to, count as u64, from.0];
        let arguments: Vec<&[u8]> = words.iter().map(bytemuck::bytes_of).collect();
        driver.launch(*module, "copy", Geometry { blocks: 1, threads: 32 }, &arguments).unwrap();
    }
    let mut found = vec![0.0; chunks * count];
    driver.download(results, bytemuck::cast_slice_mut(&mut found), Queue::Work).unwrap();
    room.into_iter().chain([results]).for_each(|address| driver.release(address));
    found == (0..chunks).flat_map(|chunk| values(chunk, count)).collect::<Vec<f64>>()
}

/// Chunks that are smaller and larger than the staging buffers: uploads run as late as possible, or at once with the
/// kernels that follow them.
const COUNTS: [usize; 4] = [1, 1000, LARGE / 8, 3 * LARGE / 8 + 17];

#[test]
fn fences_order_uploads_and_kernels() {
    with_driver("fences_order_uploads_and_kernels", &[], || {
        let driver = loaded();
        for count in COUNTS {
            for rooms in [2, 3] {
                assert!(arrives(&driver, (7, rooms, count), true), "{rooms} rooms of {count}");
            }
        }
        assert!(driver.0.ahead.get().is_some_and(|staging| lock(staging).is_some()));
    });
}

#[test]
fn without_fences_the_order_is_wrong() {
    with_driver("without_fences_the_order_is_wrong", &[], || {
        let driver = loaded();
        for count in COUNTS {
            assert!(!arrives(&driver, (7, 2, count), false), "rooms of {count}");
        }
    });
}

/// A buffer that is reused after one fence instead of two is overwritten while its kernel reads it.
#[test]
fn a_room_used_again_too_early_is_found() {
    with_driver("a_room_used_again_too_early_is_found", &[], || {
        let driver = loaded();
        let large = 3 * LARGE / 8;
        assert!(!arrives(&driver, (7, 1, large), true), "one room");
        assert!(arrives(&driver, (7, 2, large), true), "two rooms");
    });
}

#[test]
fn without_page_locked_memory_uploads_ahead_are_made_all_the_same() {
    let test = "without_page_locked_memory_uploads_ahead_are_made_all_the_same";
    with_driver(test, &["NO_PINNED"], || {
        let driver = loaded();
        for count in COUNTS {
            assert!(arrives(&driver, (5, 2, count), true), "{count}");
        }
        assert!(driver.0.ahead.get().is_some_and(|staging| lock(staging).is_none()));
    });
}

#[test]
fn threads_of_a_pool_upload_ahead_at_once() {
    with_driver("threads_of_a_pool_upload_ahead_at_once", &[], || {
        let driver = loaded();
        (0..12).into_par_iter().for_each(|i| {
            let count = COUNTS[i % 4];
            assert!(arrives(&driver, (4, 2, count), true), "{count}");
        });
    });
}

/// A wait for a mark waits for the work before it, and for no later work unless 16 marks followed, which use the events
/// again.
#[test]
fn results_are_read_while_later_work_waits() {
    with_driver("results_are_read_while_later_work_waits", &[], || {
        let Loaded(driver, _) = &loaded();
        for count in COUNTS {
            let (expected, mut found) = (values(1, count), vec![0.0; count]);
            let results = driver.allocate(8 * count).unwrap();
            let mut read = |queue| {
                driver.download(results, bytemuck::cast_slice_mut(&mut found), queue).unwrap();
                found.clone()
            };
            driver.upload(results, bytemuck::cast_slice(&expected), Queue::Work).unwrap();
            let mark = driver.mark().unwrap();
            driver.clear(results, 8 * count).unwrap();
            driver.wait(mark).unwrap();
            assert_eq!(read(Queue::Results), expected, "{count}: after the mark");
            let later = (0..16).map(|_| driver.mark().unwrap()).last();
            driver.wait(mark).unwrap();
            assert_eq!(read(Queue::Results), vec![0.0; count], "{count}: after {later:?}");
            driver.release(results);
        }
    });
}

/// The driver waits for pending uploads when it is dropped or memory is released.
#[test]
fn uploads_ahead_end_before_their_memory() {
    with_driver("uploads_ahead_end_before_their_memory", &[], || {
        let loaded = loaded();
        let Loaded(driver, _) = &loaded;
        let (first, second) = (driver.allocate(100).unwrap(), driver.allocate(100_000).unwrap());
        driver.upload(first, &[1; 100], Queue::Ahead).unwrap();
        driver.release(first);
        driver.upload(second, &[1; 100_000], Queue::Ahead).unwrap();
        driver.fence().unwrap();
        driver.upload(second, &[1; 0], Queue::Ahead).unwrap();
        driver.release(second);
        let refused = driver.upload(Address(8), &[0; 8], Queue::Ahead).unwrap_err();
        let text = "fake error 1".into();
        assert_eq!(refused, DriverError::Failed { call: "cuMemcpyHtoDAsync", code: 1, text });
        assert!(arrives(&loaded, (3, 2, 10), true));
    });
}
