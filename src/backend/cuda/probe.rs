//! Check for a usable CUDA driver.
//!
//! cudarc panics if a library or one of its functions is missing. Therefore this check runs before any call of cudarc.
//! It opens the driver's library under the names that cudarc uses, looks up every function
//! that the backend calls, initialises the driver, and queries its version and its
//! devices. The result is kept until the process ends.

use crate::error::no_cuda::{NoCuda, OLDEST};
use libloading::Library;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::path::Path;
use std::sync::OnceLock;
use std::{env, fs};

/// Names of the driver's library that cudarc tries, in its order.
pub(crate) const LIBRARIES: [&str; 2] =
    if cfg!(windows) { ["cuda.dll", "nvcuda.dll"] } else { ["libcuda.so", "libcuda.so.1"] };

/// All functions of the driver that this module and [`cuda_driver`](super::cuda_driver) call.
pub(crate) const SYMBOLS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuStreamDestroy_v2",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventDestroy_v2",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuFuncSetAttribute",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuLaunchKernel",
];

/// `CUDA_ERROR_NO_DEVICE`.
const NO_DEVICE: c_int = 100;

/// An initialised driver with devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StartedDriver {
    /// Major and minor version of CUDA that the driver supports.
    pub(crate) driver_version: (u32, u32),
    /// Number of devices, at least one.
    pub(crate) devices: usize,
}

/// Returns the driver of this process, unless `DUALFIT_FORCE_CPU` is set.
pub(crate) fn driver() -> Result<StartedDriver, NoCuda> {
    static FOUND: OnceLock<Result<StartedDriver, NoCuda>> = OnceLock::new();
    if is_forced(env::var_os("DUALFIT_FORCE_CPU").as_deref()) {
        return Err(NoCuda::ForcedCpu);
    }
    FOUND.get_or_init(|| probe(&LIBRARIES)).clone()
}

/// Returns the driver, if it has device `ordinal`.
pub(crate) fn device(ordinal: usize) -> Result<StartedDriver, NoCuda> {
    let found = driver()?;
    let count = found.devices;
    if ordinal >= count {
        return Err(NoCuda::OrdinalOutOfRange { ordinal, count, visible: visible_devices() });
    }
    Ok(found)
}

/// Returns the default device: the device of `DUALFIT_DEVICE`, or the first.
pub(crate) fn preferred() -> Result<usize, NoCuda> {
    driver()?;
    let ordinal = ordinal(env::var_os("DUALFIT_DEVICE").as_deref())?;
    device(ordinal).map(|_| ordinal)
}

/// Returns true if `DUALFIT_DEVICE` names the default device of fits.
pub(crate) fn names_one() -> bool {
    env::var_os("DUALFIT_DEVICE").is_some_and(|value| !value.is_empty())
}

fn is_forced(variable: Option<&OsStr>) -> bool {
    variable.is_some_and(|value| !value.is_empty() && value != "0")
}

fn ordinal(variable: Option<&OsStr>) -> Result<usize, NoCuda> {
    let Some(value) = variable.filter(|value| !value.is_empty()) else { return Ok(0) };
    let value = value.to_string_lossy();
    value.trim().parse().map_err(|_| NoCuda::DeviceVariable { value: value.into_owned() })
}

fn no_device() -> NoCuda {
    let in_container = is_container(Path::new("/"));
    NoCuda::NoDevice { visible: visible_devices(), in_container }
}

fn visible_devices() -> Option<String> {
    env::var_os("CUDA_VISIBLE_DEVICES").map(|value| value.to_string_lossy().into_owned())
}

/// Opens the first of `libraries` that can be loaded, and initialises the driver.
pub(crate) fn probe<S: AsRef<OsStr>>(libraries: &[S]) -> Result<StartedDriver, NoCuda> {
    let names = || libraries.iter().map(|name| name.as_ref().to_string_lossy().into_owned());
    // SAFETY: the initialisers belong to the NVIDIA driver, which any CUDA program loads.
    let open = |name: &S| unsafe { Library::new(name.as_ref()) }.ok();
    let opened = libraries.iter().zip(names()).find_map(|(name, said)| Some((open(name)?, said)));
    let Some((library, name)) = opened else {
        let in_container = is_container(Path::new("/"));
        return Err(NoCuda::DriverLibraryNotFound { searched: names().collect(), in_container });
    };
    let found = start(&library, &name);
    // The driver has its own threads and exit handlers, therefore the library must stay loaded.
    std::mem::forget(library);
    found
}

fn start(library: &Library, name: &str) -> Result<StartedDriver, NoCuda> {
    let missing = |symbol: &str| NoCuda::SymbolMissing {
        symbol: symbol.to_owned(),
        library: name.to_owned(),
    };
    for &symbol in SYMBOLS {
        // SAFETY: the address is not used, only its existence.
        if unsafe { library.get::<*const ()>(symbol) }.is_err() {
            return Err(missing(symbol));
        }
    }
    // SAFETY: the signatures of these functions are those of cuda.h, unchanged since CUDA 6; each is
    // called with pointers to live numbers of the right type, `cuInit` before `cuDeviceGetCount`.
    unsafe {
        let init = library
            .get::<unsafe extern "C" fn(c_uint) -> c_int>("cuInit")
            .map_err(|_| missing("cuInit"))?;
        let get_version = library
            .get::<unsafe extern "C" fn(*mut c_int) -> c_int>("cuDriverGetVersion")
            .map_err(|_| missing("cuDriverGetVersion"))?;
        let get_count = library
            .get::<unsafe extern "C" fn(*mut c_int) -> c_int>("cuDeviceGetCount")
            .map_err(|_| missing("cuDeviceGetCount"))?;

        // The version can be queried before the initialisation, and can explain a failure of the initialisation.
        let mut version = 0;
        check(library, "cuDriverGetVersion", get_version(&mut version))?;
        let driver_version = (version.max(0) as u32 / 1000, version.max(0) as u32 % 1000 / 10);
        if driver_version < OLDEST {
            return Err(NoCuda::DriverTooOld { driver: driver_version, needs: OLDEST });
        }
        check(library, "cuInit", init(0))?;
        let mut count = 0;
        check(library, "cuDeviceGetCount", get_count(&mut count))?;
        match usize::try_from(count) {
            Ok(devices) if devices > 0 => Ok(StartedDriver { driver_version, devices }),
            _ => Err(no_device()),
        }
    }
}

/// Returns an error for a code other than success, with the driver's text for the code.
fn check(library: &Library, call: &str, code: c_int) -> Result<(), NoCuda> {
    match code {
        0 => Ok(()),
        NO_DEVICE => Err(no_device()),
        _ => Err(NoCuda::InitFailed { code, text: format!("{} in {call}", text(library, code)) }),
    }
}

fn text(library: &Library, code: c_int) -> String {
    type GetErrorString = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
    // SAFETY: the signature is that of cuda.h. The text is a constant of the library with a NUL at
    // its end; for a code that the driver does not know, the pointer stays or becomes null.
    unsafe {
        let mut text: *const c_char = std::ptr::null();
        if let Ok(get) = library.get::<GetErrorString>("cuGetErrorString") {
            get(code, &mut text);
        }
        match text.is_null() {
            true => "a code that the driver does not explain".into(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

/// Files that Docker and Podman create in the root of a container.
const MARKS: [&str; 2] = [".dockerenv", "run/.containerenv"];
/// Names of the control groups of container runtimes.
const GROUPS: [&str; 5] = ["docker", "containerd", "kubepods", "libpod", "lxc"];

/// Returns true if this process runs in a container, which has the driver and the devices that it was started with.
/// `root` is the root of the file system.
fn is_container(root: &Path) -> bool {
    let groups = fs::read_to_string(root.join("proc/1/cgroup")).unwrap_or_default();
    MARKS.iter().any(|mark| root.join(mark).exists())
        || GROUPS.iter().any(|group| groups.contains(group))
}

#[cfg(test)]
mod tests;
