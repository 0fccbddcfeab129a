//! Measurement of the bandwidths between the host and a device, and of the device's memory.

use super::cache::Cache;
use super::cuda_driver::{self, CudaDriver};
use super::device::LoadedKernels;
use super::device_info::Bandwidth;
use super::driver::{Driver, DriverError, Geometry, Queue};
use super::memory::Buffer;
use super::nvrtc::Nvrtc;
use super::probe;
use crate::backend::cuda::driver::CompileError;
use crate::error::no_cuda::NoCuda;
use crate::host::Instant;
use std::sync::Arc;

const SOURCE: &str = include_str!("../../../kernels/bandwidth.cuh");

/// Size of the copies and reads within the device, in bytes; much larger than its caches.
const DEVICE_BYTES: usize = 256 << 20;
/// Size of the copies between host and device, in bytes.
const HOST_BYTES: usize = 64 << 20;
/// Number of launches that are timed together; the start of a launch overlaps with the previous launch.
const LAUNCHES: usize = 20;
/// Repetitions of each measurement. The best counts, because disturbances only make a measurement slower.
const REPETITIONS: usize = 5;

/// Measures device `ordinal`, in about a second.
pub(super) fn of_device(ordinal: usize) -> Result<Bandwidth, NoCuda> {
    let found = probe::device(ordinal)?;
    let driver = CudaDriver::new(ordinal)?;
    let capability = driver.properties().capability;
    let nvrtc = Nvrtc::find(capability, found.driver_version)?;
    let compiled = Cache::shared().image(&*nvrtc, SOURCE, capability);
    let reason = |error: CompileError| NoCuda::CompilerFailed { reason: error.to_string() };
    let (image, _) = compiled.map_err(reason)?;
    let driver: Arc<dyn Driver> = Arc::new(driver);
    measure(&driver, &image.bytes, DEVICE_BYTES, HOST_BYTES).map_err(cuda_driver::refused)
}

fn measure(
    driver: &Arc<dyn Driver>,
    image: &[u8],
    device_bytes: usize,
    host_bytes: usize,
) -> Result<Bandwidth, DriverError> {
    let kernels = LoadedKernels::load(driver, image)?;
    // Two buffers, each at most a quarter of the free memory; pairs of doubles.
    let bytes = device_bytes.min(driver.memory()?.free / 4).max(16) / 16 * 16;
    let (from, to) = (Buffer::of::<u8>(driver, bytes)?, Buffer::of::<u8>(driver, bytes)?);
    // All zeros, as the reading kernel requires.
    let mut host = vec![0_u8; host_bytes.min(bytes)];
    from.clear()?;
    to.clear()?;
    let wait = || to.read(Queue::Work, 0, &mut [0_u8; 8]);

    let upload = || from.write(Queue::Work, 0, &host).and_then(|()| wait());
    let host_to_device = best(host.len(), upload)?;
    let device_to_host = best(host.len(), || from.read(Queue::Work, 0, &mut host))?;

    let pairs = (bytes as i64 / 16).to_ne_bytes();
    let geometry =
        Geometry { blocks: 8 * driver.properties().multiprocessors.max(1), threads: 256 };
    let addresses = [from.address(), to.address()].map(u64::to_ne_bytes);
    let arguments: [&[u8]; 3] = [&addresses[0], &addresses[1], &pairs];
    let launches = |kernel| {
        let launch = |_| kernels.launch(kernel, geometry, &arguments);
        (0..LAUNCHES).try_for_each(launch).and_then(|()| wait())
    };
    let device_to_device = best(2 * LAUNCHES * bytes, || launches("copy_pairs"))?;
    let memory_read = best(LAUNCHES * bytes, || launches("read_pairs"))?;
    Ok(Bandwidth { host_to_device, device_to_host, device_to_device, memory_read })
}

/// Returns the bytes per second of the fastest repetition, after a warm-up.
fn best(
    bytes: usize,
    mut work: impl FnMut() -> Result<(), DriverError>,
) -> Result<f64, DriverError> {
    work()?;
    let mut seconds = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let begun = Instant::now();
        work()?;
        seconds = seconds.min(begun.elapsed().as_secs_f64());
    }
    Ok(bytes as f64 / seconds.max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::driver::Compiler;
    use crate::backend::cuda::nvrtc::tests::available;
    use crate::backend::cuda::testing::faulty_driver::{Call, Faulty, Idle, Injected};

    #[test]
    fn whatever_fails_everything_is_given_back() {
        let measured = |driver: &Arc<Faulty<Idle>>| {
            let driver: Arc<dyn Driver> = driver.clone();
            measure(&driver, b"", 1 << 20, 1 << 16)
        };
        let all = Arc::new(Faulty::new(Idle::new(), Injected::Nothing));
        let found = measured(&all).unwrap();
        assert!(found.host_to_device > 0.0 && found.memory_read.is_finite());
        assert_eq!(all.count(Call::Launch), 2 * LAUNCHES * (REPETITIONS + 1));
        all.assert_clean();
        for call in 0..all.calls() {
            let driver = Arc::new(Faulty::new(Idle::new(), Injected::Lost { call }));
            assert!(measured(&driver).is_err() && driver.has_fired());
            driver.assert_clean();
        }
        for allocation in 0..2 {
            let driver = Arc::new(Faulty::new(Idle::new(), Injected::OutOfMemory { allocation }));
            let refused = measured(&driver);
            assert!(matches!(refused, Err(DriverError::OutOfMemory { .. })), "{refused:?}");
            driver.assert_clean();
        }
    }

    #[test]
    fn a_device_with_little_memory_is_measured_with_less() {
        let faulty = Arc::new(Faulty::new(Idle::new(), Injected::Nothing).with_memory(4096));
        let driver: Arc<dyn Driver> = faulty.clone();
        measure(&driver, b"", DEVICE_BYTES, HOST_BYTES).unwrap();
        drop(driver);
        assert!(faulty.peak_bytes() <= 4096);
        faulty.assert_clean();
    }

    #[test]
    fn the_kernels_compile_for_every_architecture_without_spills() {
        for capability in [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)] {
            let Some(nvrtc) = available(capability) else { return };
            let image = nvrtc.compile(SOURCE, capability).unwrap();
            let spills = image.log.matches(" 0 bytes spill stores, 0 bytes spill loads").count();
            assert_eq!(spills, 2, "{}", image.log);
        }
    }
}
