//! Reasons why no CUDA device is available.
//!
//! Each message names the searched and found components and the remedy in one sentence.

/// Reason why no CUDA device can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoCuda {
    /// The driver's library was not found.
    #[error(
        "no NVIDIA driver was found ({} cannot be loaded); {}",
        searched.join(", "),
        without_driver(*in_container)
    )]
    DriverLibraryNotFound {
        /// The names of the library that were tried.
        searched: Vec<String>,
        /// True if this process seems to run in a container. Containers use the driver of their host.
        in_container: bool,
    },
    /// The driver's library lacks a function that dualfit calls.
    #[error(
        "the driver's library {library} has no function `{symbol}`; install the NVIDIA driver of CUDA {}.{} or newer, or remove a library that is not the driver's from the search path",
        OLDEST.0,
        OLDEST.1
    )]
    SymbolMissing {
        /// The function.
        symbol: String,
        /// The library's name.
        library: String,
    },
    /// The driver is too old to load dualfit's kernels.
    #[error(
        "the NVIDIA driver speaks CUDA {}.{} but {}.{} is needed; install a newer driver",
        driver.0, driver.1, needs.0, needs.1
    )]
    DriverTooOld {
        /// Major and minor version of CUDA that the driver supports.
        driver: (u32, u32),
        /// The oldest sufficient version.
        needs: (u32, u32),
    },
    /// The device is too old for dualfit's kernels.
    #[error(
        "{name} has compute capability {}.{} but {}.{} is needed; choose another device, or use the CPU by Backend::Auto or Backend::Cpu",
        capability.0, capability.1, needs.0, needs.1
    )]
    DeviceTooOld {
        /// The device's name.
        name: String,
        /// Compute capability of the device, major and minor.
        capability: (u32, u32),
        /// The lowest sufficient compute capability.
        needs: (u32, u32),
    },
    /// The driver was found but failed to initialise itself or the device.
    #[error("the NVIDIA driver failed with code {code}, {text}; {}", remedy(*code))]
    InitFailed {
        /// The driver's code (`CUresult`).
        code: i32,
        /// The message of the driver, and the call.
        text: String,
    },
    /// The driver runs but reports no device.
    #[error("the NVIDIA driver sees no device{}", hidden(visible.as_deref(), *in_container))]
    NoDevice {
        /// The value of `CUDA_VISIBLE_DEVICES`, if set; this variable can hide devices.
        visible: Option<String>,
        /// True if this process seems to run in a container. Containers see only devices that are passed to them.
        in_container: bool,
    },
    /// There are devices, but no device has the requested number.
    #[error(
        "there is no CUDA device {ordinal}, only {count} device(s) numbered from 0; choose one of these{}",
        hiding(visible.as_deref())
    )]
    OrdinalOutOfRange {
        /// The requested number of the device.
        ordinal: usize,
        /// Number of devices.
        count: usize,
        /// The value of `CUDA_VISIBLE_DEVICES`, if set; this variable can hide devices.
        visible: Option<String>,
    },
    /// A list of devices is empty.
    #[error("the list of devices is empty; name one, or take Devices::All")]
    NoneNamed,
    /// `DUALFIT_DEVICE` is not the number of a device.
    #[error("DUALFIT_DEVICE is `{value}`; set it to the number of a device, or unset it")]
    DeviceVariable {
        /// The variable's value.
        value: String,
    },
    /// The library that compiles kernels was not found.
    #[error(
        "NVRTC, which compiles the kernels, was not found (searched: {}); `pip install {}` or install the CUDA toolkit of the driver's version, or set DUALFIT_NVRTC to the library or its folder",
        searched.join(", "),
        wheel(driver.0)
    )]
    NvrtcNotFound {
        /// Searched names, folders and files; for files that were found but not loaded, with the error.
        searched: Vec<String>,
        /// Major and minor version of CUDA that the driver supports. It cannot load kernels of a later major version.
        driver: (u32, u32),
    },
    /// The driver cannot load the kernels of this version of NVRTC.
    #[error(
        "NVRTC {}.{} makes kernels that the NVIDIA driver, which speaks CUDA {}.{}, cannot load; install a newer driver, or the NVRTC of CUDA {}, `pip install {}` for one",
        nvrtc.0, nvrtc.1, driver.0, driver.1, driver.0, wheel(driver.0)
    )]
    NvrtcTooNew {
        /// Major and minor version of NVRTC.
        nvrtc: (u32, u32),
        /// Major and minor version of CUDA that the driver supports.
        driver: (u32, u32),
    },
    /// NVRTC was found but failed.
    #[error("NVRTC failed: {reason}; set DUALFIT_NVRTC to another one, or reinstall it")]
    CompilerFailed {
        /// The message of NVRTC.
        reason: String,
    },
    /// `DUALFIT_FORCE_CPU` is set.
    #[error("DUALFIT_FORCE_CPU is set, so no CUDA device is used; unset it to use one")]
    ForcedCpu,
    /// dualfit was built without the feature `cuda`.
    #[error(
        "this build of dualfit has no CUDA (feature `cuda`); build it with that feature to use a device"
    )]
    NotCompiled,
}

/// CUDA version of the oldest supported driver. NVRTC 11.2 is the first version that lists the architectures that it
/// supports; a driver loads the machine code of every NVRTC of its major version.
pub(crate) const OLDEST: (u32, u32) = (11, 2);

/// Returns the wheel with the NVRTC for a driver of this major version of CUDA. From 13 on the name of the wheel
/// contains no version; the text adds a version constraint, because pip would otherwise install the newest version.
fn wheel(major: u32) -> String {
    match major {
        ..=12 => format!("nvidia-cuda-nvrtc-cu{major}"),
        _ => format!("\"nvidia-cuda-nvrtc=={major}.*\""),
    }
}

/// Instructions for passing the devices of the host to a container.
const GIVE_DEVICES: &str = "start the container with its GPUs: `docker run --gpus all` and the NVIDIA Container Toolkit on the host, `--device nvidia.com/gpu=all` with podman, a limit of `nvidia.com/gpu` with Kubernetes";

fn without_driver(in_container: bool) -> &'static str {
    match in_container {
        true => GIVE_DEVICES,
        false => {
            "install the driver of the card, or add the folder of its library to the loader's search path"
        }
    }
}

fn remedy(code: i32) -> &'static str {
    match code {
        34 => "remove the toolkit's folder `stubs` from the loader's search path",
        46 | 201 => "another process has the device for itself: wait for it, or choose another",
        802 => "start the service nvidia-fabricmanager, or wait until it is ready",
        803 => "reboot, or reload the kernel's module, so that it and the driver's library agree",
        804 => "remove the compatibility package of CUDA, which is not for this card",
        702 => {
            "start a new process, and give the card of a display less work at once: its kernels are ended after seconds"
        }
        4 | 214 | 220 | 700 | 709 | 710 | 714..=719 | 721 => {
            "start a new process: after such a fault CUDA refuses every call of this one"
        }
        _ => "see whether `nvidia-smi` works, and reboot or reinstall the driver if it does not",
    }
}

fn hidden(visible: Option<&str>, in_container: bool) -> String {
    match visible {
        Some(value) => format!(
            ", and CUDA_VISIBLE_DEVICES is `{value}`; unset it, or set it to devices that exist"
        ),
        None if in_container => format!("; {GIVE_DEVICES}"),
        None => "; check that `nvidia-smi` lists one".into(),
    }
}

fn hiding(visible: Option<&str>) -> String {
    visible.map_or_else(String::new, |value| {
        format!(", or change CUDA_VISIBLE_DEVICES, which is `{value}`")
    })
}

/// Error of a call of the device driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "errors of devices, which this build does not open")
)]
pub(crate) enum DriverError {
    /// The device cannot allocate this number of bytes.
    #[error("the device has no {requested} bytes of memory left")]
    OutOfMemory { requested: usize },
    /// The device or its context is lost, or one of its kernels faulted: every later call fails, too.
    #[error("the device is lost: {call} returned {code} ({text}){}", cause(*code))]
    Lost { call: &'static str, code: i32, text: String },
    /// One call failed.
    #[error("{call} returned {code} ({text})")]
    Failed { call: &'static str, code: i32, text: String },
}

/// Returns an explanation of an error code for the message, or an empty text.
fn cause(code: i32) -> &'static str {
    const LAUNCH_TIMEOUT: i32 = 702;
    match code {
        LAUNCH_TIMEOUT => ", because a card with a display may not compute for seconds",
        _ => "",
    }
}
