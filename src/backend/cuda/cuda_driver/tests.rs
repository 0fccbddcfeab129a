//! Tests of the driver with a fake library without a device, which runs work as late as a device may. Each
//! test runs in its own process, where the loader finds that library.

use super::*;
use crate::backend::cuda::machine;
use crate::backend::cuda::testing::fake_driver::run_inside;
use rayon::prelude::*;
use std::sync::Arc;
use std::thread;

/// Runs `body` in a process with a fake driver.
fn with_driver(test: &str, definitions: &[&str], words: &str, body: impl FnOnce()) {
    run_inside(&format!("backend::cuda::cuda_driver::tests::{test}"), definitions, words, body);
}

const WHOLE: &str = "FAKE DRIVER: nothing leaks";

fn driver() -> CudaDriver {
    CudaDriver::new(0).unwrap()
}

/// Returns bytes that depend on their position and on `seed`.
fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(31) ^ (i >> 8) ^ seed) as u8).collect()
}

fn there_and_back(driver: &CudaDriver, length: usize, seed: usize) {
    let address = driver.allocate(length).unwrap();
    let mut source = pattern(length, seed);
    driver.upload(address, &source, Queue::Work).unwrap();
    source.fill(0xEE);
    let mut copy = vec![0; length];
    driver.download(address, &mut copy, Queue::Work).unwrap();
    driver.release(address);
    assert!(copy == pattern(length, seed), "{length} bytes came back changed");
}

fn lengths() -> Vec<usize> {
    let around = |length: usize| [length - 1, length, length + 1];
    let mut lengths = vec![0, 1, 7, 5 * LARGE + 12_345];
    lengths.extend(around(SMALL));
    lengths.extend(around(LARGE));
    lengths.extend(around(2 * LARGE));
    lengths
}

#[test]
fn what_is_uploaded_is_there_though_the_host_reuses_its_memory() {
    let test = "what_is_uploaded_is_there_though_the_host_reuses_its_memory";
    with_driver(test, &[], WHOLE, || {
        let driver = driver();
        assert!(lock(&driver.small).is_some() && lock(&driver.large).is_some());
        for (seed, length) in lengths().into_iter().enumerate() {
            there_and_back(&driver, length, seed);
        }
        // Many small uploads; none of them waits for the device.
        let address = driver.allocate(800).unwrap();
        for i in 0..100_u64 {
            driver.upload(Address(address.0 + 8 * i), &i.to_le_bytes(), Queue::Work).unwrap();
        }
        let mut copy = [0; 800];
        driver.download(address, &mut copy, Queue::Work).unwrap();
        let numbers = copy.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        assert!(numbers.eq(0..100));
        driver.release(address);
    });
}

#[test]
fn without_page_locked_memory_copies_are_made_all_the_same() {
    let test = "without_page_locked_memory_copies_are_made_all_the_same";
    with_driver(test, &["NO_PINNED"], WHOLE, || {
        let driver = driver();
        assert!(lock(&driver.small).is_none() && lock(&driver.large).is_none());
        for (seed, length) in lengths().into_iter().enumerate() {
            there_and_back(&driver, length, seed);
        }
    });
}

#[test]
fn threads_of_a_pool_upload_at_once() {
    with_driver("threads_of_a_pool_upload_at_once", &[], WHOLE, || {
        let driver = driver();
        // More tasks than threads: a thread that waits for its pieces may run the next task.
        (0..24).into_par_iter().for_each(|seed| there_and_back(&driver, LARGE + 1000 * seed, seed));
        thread::scope(|scope| {
            for seed in 0..8 {
                let driver = &driver;
                scope.spawn(move || {
                    for length in [100, SMALL, SMALL + 1, LARGE + 5] {
                        there_and_back(driver, length, seed);
                    }
                });
            }
        });
    });
}

#[test]
fn the_device_is_described() {
    let definitions = ["DEVICES=2", "VERSION=12040", "TIME_LIMIT=1"];
    with_driver("the_device_is_described", &definitions, "1 passed", || {
        let driver = CudaDriver::new(1).unwrap();
        let expected = Properties {
            ordinal: 1,
            name: "Fake device 1".into(),
            capability: (9, 0),
            multiprocessors: 132,
            clock_hertz: 1.98e9,
            memory_bytes_per_second: 2.0 * 3.201e9 * 768.0,
            driver_version: (12, 4),
            has_time_limit: true,
        };
        assert_eq!(*driver.properties(), expected);
        let beyond = CudaDriver::new(2).unwrap_err();
        assert!(
            matches!(beyond, NoCuda::OrdinalOutOfRange { ordinal: 2, count: 2, .. }),
            "{beyond}"
        );
        // If there is a compiler for the device: up to four concurrent users get their own queues; a later user gets
        // the queues of a user that has finished.
        if let Ok(first) = machine::open(0) {
            assert!(!Arc::ptr_eq(&first, &machine::open(1).unwrap()));
            let place = Arc::as_ptr(&first);
            let others: Vec<_> = (0..3).map(|_| machine::open(0).unwrap()).collect();
            let all: std::collections::HashSet<_> = others.iter().map(Arc::as_ptr).collect();
            assert!(all.len() == 3 && !all.contains(&place));
            let fifth = Arc::as_ptr(&machine::open(0).unwrap());
            assert!(fifth == place || all.contains(&fifth));
            drop(first);
            assert_eq!(Arc::as_ptr(&machine::open(0).unwrap()), place);
        }
    });
}

#[test]
fn memory_is_counted_and_its_end_is_told() {
    with_driver("memory_is_counted_and_its_end_is_told", &["MEMORY=1000000"], WHOLE, || {
        let driver = driver();
        assert_eq!(driver.memory(), Ok(Memory { free: 1_000_000, total: 1_000_000 }));
        let address = driver.allocate(600_000).unwrap();
        assert_eq!(driver.memory().unwrap().free, 400_000);
        let refused = driver.allocate(400_001);
        assert_eq!(refused, Err(DriverError::OutOfMemory { requested: 400_001 }));
        // A failed allocation does not make the device lost.
        driver.release(address);
        let address = driver.allocate(1_000_000).unwrap();
        driver.release(address);
        assert_eq!(driver.memory().unwrap().free, 1_000_000);
        assert_eq!(
            driver.allocate(usize::MAX),
            Err(DriverError::OutOfMemory { requested: usize::MAX })
        );
    });
}

fn add(driver: &CudaDriver, module: Module, at: Address, n: u64, term: f64) {
    let arguments: [&[u8]; 3] = [&at.0.to_ne_bytes(), &n.to_ne_bytes(), &term.to_ne_bytes()];
    driver.launch(module, "add", Geometry { blocks: 4, threads: 128 }, &arguments).unwrap();
}

#[test]
fn kernels_run_in_the_order_of_the_calls() {
    with_driver("kernels_run_in_the_order_of_the_calls", &[], WHOLE, || {
        let driver = driver();
        let module = driver.load(b"FAKE").unwrap();
        let address = driver.allocate(80).unwrap();
        let value = || {
            let mut bytes = [0; 80];
            driver.download(address, &mut bytes, Queue::Work).unwrap();
            f64::from_ne_bytes(bytes[72..].try_into().unwrap())
        };
        driver.clear(address, 80).unwrap();
        for term in [1.0, 2.0, 0.25] {
            add(&driver, module, address, 10, term);
        }
        assert_eq!(value(), 3.25);
        driver.upload(address, &[0; 80], Queue::Work).unwrap();
        add(&driver, module, address, 9, 1.0);
        driver.clear(address, 0).unwrap();
        assert_eq!(value(), 0.0);
        add(&driver, module, address, 10, 7.0);
        driver.clear(address, 80).unwrap();
        assert_eq!(value(), 0.0);
        // Memory that is released while work is pending is freed after that work.
        add(&driver, module, address, 10, 1.0);
        driver.release(address);
        let address = driver.allocate(80).unwrap();
        add(&driver, module, address, 10, 1.0);
        driver.unload(module);
        driver.release(address);
        // The driver unloads remaining modules when it is dropped.
        driver.load(b"FAKE").unwrap();
    });
}

#[test]
fn a_refused_call_is_told_and_harms_nothing() {
    with_driver("a_refused_call_is_told_and_harms_nothing", &[], WHOLE, || {
        let driver = driver();
        let failed = |call, code| {
            let text = format!("fake error {code}");
            Err::<(), _>(DriverError::Failed { call, code, text })
        };
        assert_eq!(driver.load(b"no image").map(drop), failed("cuModuleLoadData", 200));
        let module = driver.load(b"FAKE").unwrap();
        let geometry = Geometry { blocks: 1, threads: 32 };
        let launch = |name| driver.launch(module, name, geometry, &[]);
        for kernel in ["refuse", "copy", "nothing"] {
            driver.prefer_shared(module, kernel, 100);
        }
        let resident = ["add", "refuse", "nothing"].map(|k| driver.resident_blocks(module, k, 128));
        assert_eq!(resident, [Some(16), Some(0), None]);
        assert_eq!(launch("refuse"), failed("cuLaunchKernel", 701));
        assert_eq!(launch("nothing"), failed("cuModuleGetFunction", 500));
        assert_eq!(launch("nul\0"), failed("cuModuleGetFunction", 500));
        let none = Geometry { blocks: 0, threads: 32 };
        assert_eq!(driver.launch(module, "fault", none, &[]), failed("cuLaunchKernel", 1));
        driver.unload(module);
        driver.unload(module);
        assert!(matches!(launch("add"), Err(DriverError::Failed { code: 400, .. })));
        assert_eq!(driver.upload(Address(8), &[0; 8], Queue::Work), failed("cuMemcpyHtoDAsync", 1));
        there_and_back(&driver, 100, 1);
    });
}

#[test]
fn a_fault_of_a_kernel_ends_the_device() {
    with_driver("a_fault_of_a_kernel_ends_the_device", &[], "1 passed", || {
        let driver = CudaDriver::new(0).unwrap();
        let module = driver.load(b"FAKE").unwrap();
        let address = driver.allocate(100_000).unwrap();
        driver.upload(address, &[1; 100_000], Queue::Work).unwrap();
        let geometry = Geometry { blocks: 1, threads: 32 };
        // The launch succeeds; the first call that waits for it returns the error.
        driver.launch(module, "fault", geometry, &[]).unwrap();
        let lost = driver.download(address, &mut [0; 10], Queue::Work).unwrap_err();
        let text = "fake error 700".into();
        assert_eq!(lost, DriverError::Lost { call: "cuEventSynchronize", code: 700, text });
        assert_eq!(driver.upload(address, &[1; 10], Queue::Work), Err(lost.clone()));
        assert_eq!(driver.upload(address, &[1; 100_000], Queue::Work), Err(lost.clone()));
        assert_eq!(driver.download(address, &mut [0; 10], Queue::Work), Err(lost.clone()));
        assert_eq!(driver.clear(address, 10), Err(lost.clone()));
        assert_eq!(driver.memory(), Err(lost.clone()));
        assert_eq!(driver.allocate(10), Err(lost.clone()));
        assert_eq!(driver.load(b"FAKE"), Err(lost.clone()));
        assert_eq!(driver.launch(module, "add", geometry, &[]), Err(lost));
        driver.release(address);
        driver.unload(module);
        // A new driver for the same device fails with the same error, because the context stays broken.
        let refused = CudaDriver::new(0).unwrap_err();
        assert!(matches!(refused, NoCuda::InitFailed { code: 700, .. }), "{refused}");
    });
}

#[test]
fn a_device_that_another_process_holds_is_told() {
    with_driver("a_device_that_another_process_holds_is_told", &["BUSY"], "1 passed", || {
        let refused = CudaDriver::new(0).unwrap_err();
        let text = "fake error 46 in cuDevicePrimaryCtxRetain".into();
        assert_eq!(refused, NoCuda::InitFailed { code: 46, text });
        assert!(refused.to_string().contains("another process has the device"));
    });
}

#[test]
fn a_driver_is_used_from_any_thread() {
    fn any_thread<T: Send + Sync>() {}
    any_thread::<CudaDriver>();
}
