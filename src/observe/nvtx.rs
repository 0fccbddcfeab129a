//! Ranges for NVIDIA's profilers, from the library NVTX if it is installed.
//!
//! The library is opened when the first range begins, under its names in the CUDA toolkit or under the name in
//! `DUALFIT_NVTX`. If the library or one of its functions is missing, ranges do nothing.

use libloading::Library;
use std::ffi::{CStr, OsString, c_char, c_int};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// File names of the library, the newest first.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["nvToolsExt64_1.dll"]
} else {
    &["libnvToolsExt.so.1", "libnvToolsExt.so"]
};

/// Functions of NVTX that are called.
#[derive(Clone, Copy)]
struct NvtxApi {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
}

fn api() -> Option<NvtxApi> {
    static FOUND: OnceLock<Option<NvtxApi>> = OnceLock::new();
    *FOUND.get_or_init(|| match std::env::var_os("DUALFIT_NVTX") {
        Some(library) => open(&library),
        None => LIBRARIES.iter().find_map(|name| open(&OsString::from(name))),
    })
}

fn open(library: &OsString) -> Option<NvtxApi> {
    // SAFETY: loading runs the initialisers of NVTX, which every profiled program loads, or of the library that the
    // user named instead.
    let library = unsafe { Library::new(library) }.ok()?;
    // SAFETY: the signatures are those of nvToolsExt.h, unchanged since its first version.
    let api = unsafe {
        NvtxApi {
            push: *library.get(c"nvtxRangePushA".to_bytes_with_nul()).ok()?,
            pop: *library.get(c"nvtxRangePop".to_bytes_with_nul()).ok()?,
        }
    };
    // A profiler may keep pointers to the library's code; therefore the library is never unloaded.
    std::mem::forget(library);
    Some(api)
}

/// Range of the current thread, nested in the open ranges that this thread began before.
pub(crate) struct Range {
    api: Option<NvtxApi>,
    /// Makes the type not `Send`: each thread has its own stack of ranges, and a range must end on its thread.
    stays: PhantomData<*const ()>,
}

impl Range {
    pub(crate) fn begin(name: &'static CStr) -> Range {
        let api = api();
        if let Some(api) = api {
            // SAFETY: the function is from NVTX, and the name ends with a NUL.
            unsafe { (api.push)(name.as_ptr()) };
        }
        Range { api, stays: PhantomData }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(api) = self.api {
            // SAFETY: the function is from NVTX. The range was begun on this thread, because `Range` is not `Send`, and
            // nested ranges are dropped before it.
            unsafe { (api.pop)() };
        }
    }
}
