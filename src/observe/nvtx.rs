//! Ranges for NVIDIA's profilers, by the library NVTX where there is one.
//!
//! The library is opened when the first range begins, under the names that the CUDA toolkit gives it,
//! or as `DUALFIT_NVTX` says. Where it is missing, or lacks a function, ranges do nothing.

use libloading::Library;
use std::ffi::{CStr, OsString, c_char, c_int};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// The library under its names, the newest first.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["nvToolsExt64_1.dll"]
} else {
    &["libnvToolsExt.so.1", "libnvToolsExt.so"]
};

/// The functions that are called.
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
    // SAFETY: the initialisers that run are those of NVTX, which any profiled program loads, or of what
    // the user named in its place.
    let library = unsafe { Library::new(library) }.ok()?;
    // SAFETY: the signatures are those of nvToolsExt.h, unchanged since its first version.
    let api = unsafe {
        NvtxApi {
            push: *library.get(c"nvtxRangePushA".to_bytes_with_nul()).ok()?,
            pop: *library.get(c"nvtxRangePop".to_bytes_with_nul()).ok()?,
        }
    };
    // A profiler may hold its code; it stays for the life of the process.
    std::mem::forget(library);
    Some(api)
}

/// A range of the thread that began it, inside of those that it began before.
pub(crate) struct Range {
    api: Option<NvtxApi>,
    /// Ranges are kept on a stack of each thread, so that none may end on another.
    stays: PhantomData<*const ()>,
}

impl Range {
    pub(crate) fn begin(name: &'static CStr) -> Range {
        let api = api();
        if let Some(api) = api {
            // SAFETY: the function is NVTX's own, and the name ends with a NUL.
            unsafe { (api.push)(name.as_ptr()) };
        }
        Range { api, stays: PhantomData }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(api) = self.api {
            // SAFETY: the function is NVTX's own; the range was begun on this thread, as `Range` is
            // not `Send`, and those inside it are dropped before it.
            unsafe { (api.pop)() };
        }
    }
}
