//! Error codes, counts of calls, and fault injection for tests.

use std::collections::BTreeMap;
use std::ffi::CStr;

// Error codes of `cuda.h`, without the prefix `CUDA_ERROR_`.
pub(crate) const INVALID_VALUE: i32 = 1;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const NOT_INITIALIZED: i32 = 3;
pub(crate) const NO_DEVICE: i32 = 100;
pub(crate) const INVALID_DEVICE: i32 = 101;
pub(crate) const INVALID_IMAGE: i32 = 200;
pub(crate) const INVALID_CONTEXT: i32 = 201;
pub(crate) const NO_BINARY_FOR_GPU: i32 = 209;
pub(crate) const INVALID_PTX: i32 = 218;
pub(crate) const INVALID_HANDLE: i32 = 400;
pub(crate) const NOT_FOUND: i32 = 500;
pub(crate) const LAUNCH_OUT_OF_RESOURCES: i32 = 701;
pub(crate) const CONTEXT_IS_DESTROYED: i32 = 709;
pub(crate) const UNKNOWN: i32 = 999;

/// Error codes with their names and texts.
const TEXTS: [(i32, &CStr, &CStr); 38] = [
    (0, c"CUDA_SUCCESS", c"no error"),
    (INVALID_VALUE, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (OUT_OF_MEMORY, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (NOT_INITIALIZED, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (4, c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down"),
    (46, c"CUDA_ERROR_DEVICE_UNAVAILABLE", c"CUDA-capable device(s) is/are busy or unavailable"),
    (NO_DEVICE, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
    (INVALID_DEVICE, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (INVALID_IMAGE, c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid"),
    (INVALID_CONTEXT, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
    (
        NO_BINARY_FOR_GPU,
        c"CUDA_ERROR_NO_BINARY_FOR_GPU",
        c"no kernel image is available for execution on the device",
    ),
    (214, c"CUDA_ERROR_ECC_UNCORRECTABLE", c"uncorrectable ECC error encountered"),
    (INVALID_PTX, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
    (220, c"CUDA_ERROR_NVLINK_UNCORRECTABLE", c"uncorrectable NVLink error detected"),
    (
        222,
        c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        c"the provided PTX was compiled with an unsupported toolchain.",
    ),
    (300, c"CUDA_ERROR_INVALID_SOURCE", c"device kernel image is invalid"),
    (301, c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found"),
    (304, c"CUDA_ERROR_OPERATING_SYSTEM", c"OS call failed or operation not supported on this OS"),
    (INVALID_HANDLE, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
    (NOT_FOUND, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (600, c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
    (
        LAUNCH_OUT_OF_RESOURCES,
        c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        c"too many resources requested for launch",
    ),
    (702, c"CUDA_ERROR_LAUNCH_TIMEOUT", c"the launch timed out and was terminated"),
    (704, c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", c"peer access is already enabled"),
    (CONTEXT_IS_DESTROYED, c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"context is destroyed"),
    (710, c"CUDA_ERROR_ASSERT", c"device-side assert triggered"),
    (714, c"CUDA_ERROR_HARDWARE_STACK_ERROR", c"hardware stack error"),
    (715, c"CUDA_ERROR_ILLEGAL_INSTRUCTION", c"an illegal instruction was encountered"),
    (716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
    (
        717,
        c"CUDA_ERROR_INVALID_ADDRESS_SPACE",
        c"operation not supported on global/shared address space",
    ),
    (718, c"CUDA_ERROR_INVALID_PC", c"invalid program counter"),
    (719, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
    (800, c"CUDA_ERROR_NOT_PERMITTED", c"operation not permitted"),
    (801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
    (802, c"CUDA_ERROR_SYSTEM_NOT_READY", c"system not yet initialized"),
    (909, c"CUDA_ERROR_TIMEOUT", c"wait operation timed out"),
    (UNKNOWN, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

/// Returns the name and the text of an error code.
pub(crate) fn texts(code: i32) -> Option<(&'static CStr, &'static CStr)> {
    TEXTS.iter().find(|text| text.0 == code).map(|&(_, name, says)| (name, says))
}

/// Returns true if a failure with this code makes the context unusable: an illegal address, a launch timeout, and
/// errors in the execution of a kernel.
pub(crate) fn is_sticky(code: i32) -> bool {
    matches!(code, 700 | 702 | 714..=719)
}

/// Injected fault: a call that fails without any effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// `None`: any function; then `at` counts all calls.
    pub(crate) function: Option<String>,
    /// Number of the call that fails, counted from 1.
    pub(crate) at: u64,
    pub(crate) code: i32,
}

impl Failure {
    /// Reads `FUNCTION:COUNT:CODE`.
    ///
    /// # Errors
    /// If the text does not have this form.
    pub(crate) fn parse(text: &str) -> Result<Failure, String> {
        let wrong = || format!("SOFT_CUDA_FAIL is no FUNCTION:COUNT:CODE: {text}");
        let [function, at, code] = text.split(':').collect::<Vec<_>>()[..] else {
            return Err(wrong());
        };
        let function = (function != "*").then(|| function.to_owned());
        let at = at.parse().map_err(|_| wrong())?;
        Ok(Failure { function, at, code: code.parse().map_err(|_| wrong())? })
    }
}

/// Number of calls of each function, and the faults to inject.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) of_each: BTreeMap<&'static str, u64>,
    all: u64,
    failures: Vec<Failure>,
}

impl Calls {
    /// Creates the counts, which are all 0.
    pub(crate) fn new(failures: Vec<Failure>) -> Calls {
        Calls { failures, ..Calls::default() }
    }

    /// Counts a call of the function `name`.
    ///
    /// # Errors
    /// Returns the code of the injected fault if this call must fail.
    pub(crate) fn count(&mut self, name: &'static str) -> Result<(), i32> {
        self.all += 1;
        let of_this = self.of_each.entry(name).or_default();
        *of_this += 1;
        let is_now = |failure: &&Failure| match &failure.function {
            Some(function) => function == name && failure.at == *of_this,
            None => failure.at == self.all,
        };
        match self.failures.iter().find(is_now) {
            Some(failure) => Err(failure.code),
            None => Ok(()),
        }
    }
}
