//! List of the CUDA devices of the machine.

use super::device_info::{Bandwidth, DeviceInfo};
use super::machine;
use crate::backend::choice::Devices;
use crate::error::no_cuda::NoCuda;
use crate::error::{Error, Result};

impl DeviceInfo {
    /// Measures the bandwidth between host and device and of the device's memory, in about a second.
    ///
    /// # Errors
    /// Returns [`Error::CudaUnavailable`] if the device cannot be used, or if it failed.
    pub fn bandwidth(&self) -> Result<Bandwidth> {
        machine::bandwidth(self.ordinal).map_err(|reason| unavailable(Some(self.ordinal), reason))
    }
}

/// Returns the CUDA devices of the machine, at least one, in the order of their numbers.
///
/// ```no_run
/// for device in dualfit::device::devices()? {
///     println!("{device}");
/// }
/// # Ok::<(), dualfit::Error>(())
/// ```
///
/// Environment variables:
///
/// | variable | meaning |
/// |---|---|
/// | `DUALFIT_FORCE_CPU=1` | no device is searched for or used |
/// | `DUALFIT_DEVICE=n` | the only device that [`Backend::Auto`](crate::Backend::Auto) uses; by default the first device and all devices like it |
/// | `CUDA_VISIBLE_DEVICES` | the driver shows these devices only, numbered from 0 |
/// | `DUALFIT_NVRTC` | library or folder of NVRTC; several are separated as in `PATH` |
/// | `DUALFIT_CACHE_DIR` | the folder of compiled kernels; `off` keeps them in memory only |
/// | `DUALFIT_CACHE_LIMIT` | maximum size of that folder in bytes; 256 MiB by default |
///
/// # Errors
/// Returns [`Error::CudaUnavailable`] with the reason if there is no usable device: no driver, a driver that is too
/// old, lacks a function or does not start, no device, `DUALFIT_FORCE_CPU`, or a build without the feature `cuda`.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    let count = machine::count().map_err(|reason| unavailable(None, reason))?;
    let info =
        |ordinal| machine::describe(ordinal).map_err(|reason| unavailable(Some(ordinal), reason));
    (0..count).map(info).collect()
}

/// Returns the numbers of the selected devices. The number of a single selected device is not checked.
pub(crate) fn numbers(devices: Devices) -> std::result::Result<Vec<usize>, NoCuda> {
    if let Devices::One(number) = devices {
        return Ok(vec![number]);
    }
    let numbers = devices.numbers(machine::count()?);
    if numbers.is_empty() { Err(NoCuda::NoneNamed) } else { Ok(numbers) }
}

fn unavailable(ordinal: Option<usize>, reason: NoCuda) -> Error {
    Error::CudaUnavailable { ordinal, reason }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;
    use crate::backend::choice::Costs;
    use crate::backend::cuda::cuda_driver;
    use crate::backend::cuda::testing::fake_driver::run_inside;

    #[test]
    fn all_devices_are_told() {
        let test = "backend::cuda::devices::tests::all_devices_are_told";
        run_inside(test, &["DEVICES=2", "VERSION=99000"], "1 passed", || {
            let devices = devices().unwrap();
            assert_eq!(devices.iter().map(|device| device.ordinal).collect::<Vec<_>>(), [0, 1]);
            let second = &devices[1];
            assert_eq!((second.name.as_str(), second.multiprocessors), ("Fake device 1", 132));
            assert_eq!((second.memory_total, second.memory_free), (1 << 28, Some(1 << 28)));
            assert_eq!((second.compute_capability, second.driver_version), ((9, 0), (99, 0)));
            let without = matches!(second.problem, Some(NoCuda::NvrtcNotFound { .. }));
            assert_eq!(second.nvrtc_version.is_none(), without, "{second}");
            // The fake driver loads no real image; this is reported as an error.
            let refused = second.bandwidth().unwrap_err().to_string();
            assert!(refused.starts_with("device 1 was asked for but CUDA is not"), "{refused}");
        });
    }

    #[test]
    fn no_broken_driver_panics() {
        let test = "backend::cuda::devices::tests::no_broken_driver_panics";
        for (definition, words) in [
            ("EMPTY", "the driver's library libcuda.so has no function `cuInit`"),
            ("WITHOUT_cuLaunchKernel", "has no function `cuLaunchKernel`"),
            ("WITHOUT_cuGetErrorString", "has no function `cuGetErrorString`"),
            ("VERSION=10020", "the NVIDIA driver speaks CUDA 10.2 but 11.2 is needed"),
            ("INIT=100", "the NVIDIA driver sees no device"),
            ("INIT=803", "the NVIDIA driver failed with code 803"),
            ("INIT=999", "the NVIDIA driver failed with code 999"),
            ("DEVICES=0", "the NVIDIA driver sees no device"),
        ] {
            run_inside(test, &[definition], words, || {
                let error = devices().unwrap_err();
                assert!(matches!(error, Error::CudaUnavailable { ordinal: None, .. }));
                println!("{error}");
                let line = crate::CurveFit::new(|x, [a]| a * x).backend(crate::Backend::cuda(0));
                let refused = line.fit(crate::Data::new(&[1.0, 2.0], &[1.0, 2.0]).unwrap(), [1.0]);
                let refused = refused.unwrap_err();
                assert!(matches!(refused, Error::CudaUnavailable { ordinal: Some(0), .. }));
            });
        }
    }

    #[test]
    fn a_device_that_another_process_holds_is_told_of() {
        let test = "backend::cuda::devices::tests::a_device_that_another_process_holds_is_told_of";
        run_inside(test, &["BUSY"], "1 passed", || {
            let devices = devices().unwrap();
            let [device] = &devices[..] else { panic!("{devices:?}") };
            assert_eq!((device.memory_total, device.memory_free), (1 << 28, None));
            assert!(
                matches!(device.problem, Some(NoCuda::InitFailed { code: 46, .. })),
                "{device}"
            );
        });
    }

    #[test]
    fn a_device_that_is_too_old_is_refused() {
        let test = "backend::cuda::devices::tests::a_device_that_is_too_old_is_refused";
        let words = "Fake device 0 has compute capability 6.1 but 7.0 is needed; choose another";
        run_inside(test, &["CAPABILITY=61"], words, || {
            let is_typed = |reason: &NoCuda| {
                matches!(reason, NoCuda::DeviceTooOld { capability: (6, 1), needs: (7, 0), .. })
            };
            let problem = devices().unwrap().remove(0).problem;
            assert!(problem.as_ref().is_some_and(is_typed), "{problem:?}");
            // On this cost of the CPU, `Backend::Auto` would choose any device.
            let costs = Costs::default().cpu_unit_seconds(1.0);
            let line = crate::CurveFit::new(|x, [a]| a * x).costs(costs);
            let data = || crate::Data::new(&[1.0, 2.0], &[2.0, 4.0]).unwrap();
            let fit = line.clone().fit(data(), [1.0]).unwrap();
            assert!((fit.params()[0] - 2.0).abs() < 1e-9, "{fit}");
            let reason = fit.stats().reason.to_string();
            assert_eq!(fit.stats().device, None);
            assert_eq!(reason, problem.unwrap().to_string());
            let refused = line.backend(crate::Backend::cuda(0)).fit(data(), [1.0]).unwrap_err();
            println!("{refused}");
            match refused {
                Error::CudaUnavailable { ordinal: Some(0), reason } => assert!(is_typed(&reason)),
                other => panic!("{other}"),
            }
        });
    }

    #[test]
    fn the_oldest_supported_device_is_not_refused() {
        let test = "backend::cuda::devices::tests::the_oldest_supported_device_is_not_refused";
        run_inside(test, &["CAPABILITY=70"], "1 passed", || {
            let device = devices().unwrap().remove(0);
            assert_eq!(device.compute_capability, (7, 0));
            assert!(!matches!(device.problem, Some(NoCuda::DeviceTooOld { .. })), "{device}");
            cuda_driver::CudaDriver::new(0).unwrap();
        });
    }

    #[test]
    fn a_device_is_one_line() {
        let whole = DeviceInfo {
            ordinal: 1,
            name: "H200".into(),
            memory_total: 141 << 30,
            memory_free: Some(70 << 30),
            compute_capability: (9, 0),
            multiprocessors: 132,
            driver_version: (13, 1),
            nvrtc_version: Some((12, 9)),
            has_time_limit: false,
            problem: None,
        };
        assert_eq!(
            whole.to_string(),
            "CUDA device 1: H200, compute capability 9.0, 132 multiprocessors, 70.0 GiB free of \
             141.0 GiB, driver for CUDA 13.1, NVRTC 12.9"
        );
        let limited = DeviceInfo { has_time_limit: true, ..whole.clone() }.to_string();
        assert!(limited.ends_with("NVRTC 12.9, ends what computes for seconds"), "{limited}");
        let problem =
            Some(NoCuda::NvrtcNotFound { searched: vec!["here".into()], driver: (13, 1) });
        let unusable = DeviceInfo { nvrtc_version: None, memory_free: None, problem, ..whole };
        let line = unusable.to_string();
        assert!(line.contains("132 multiprocessors, 141.0 GiB, driver for CUDA 13.1; nothing can"));
        assert!(line.contains("(searched: here)") && !line.contains('\n'), "{line}");
    }
}
