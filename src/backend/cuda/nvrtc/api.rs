//! Safe wrappers of the functions of NVRTC: the lowest layer of [`nvrtc`](super).
//!
//! The signatures are from `nvrtc.h` of CUDA 11.2 to 13; within this range functions were only added.

use super::search::companions;
use crate::backend::cuda::driver::{CompileError, Image};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

/// A version or a compute capability: major and minor.
pub(super) type Version = (u32, u32);

/// Target of a compilation for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Machine code of the device itself, a cubin.
    Machine(Version),
    /// Portable code, PTX, for the newest supported architecture older than the device's; the driver compiles it.
    Portable(Version),
}

/// `nvrtcProgram`.
type Handle = *mut c_void;
type Strings = *const *const c_char;
type Measure = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Copy = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

/// `NVRTC_ERROR_COMPILATION`.
const REFUSED: c_int = 6;

/// The functions of one NVRTC library. The library stays loaded until the process ends.
#[derive(Debug)]
pub(crate) struct NvrtcApi {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    count_architectures: unsafe extern "C" fn(*mut c_int) -> c_int,
    get_architectures: unsafe extern "C" fn(*mut c_int) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut Handle,
        *const c_char,
        *const c_char,
        c_int,
        Strings,
        Strings,
    ) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, Strings) -> c_int,
    log: (Measure, Copy),
    cubin: (Measure, Copy),
    ptx: (Measure, Copy),
}

impl NvrtcApi {
    /// Opens the library at this path, or with this name in the loader's search path.
    pub(crate) fn open(file: &Path) -> Result<NvrtcApi, String> {
        for companion in companions(file) {
            // SAFETY: as for NVRTC itself, to which the companion belongs. If it cannot be loaded, NVRTC reports that.
            if let Ok(library) = unsafe { Library::new(companion) } {
                std::mem::forget(library);
            }
        }
        // SAFETY: the initialisers belong to a library that the user, the loader's
        // configuration, a toolkit or a wheel names NVRTC.
        let library = unsafe { Library::new(file) }.map_err(|error| error.to_string())?;
        // SAFETY: each function has its signature from `nvrtc.h`.
        let api = unsafe {
            NvrtcApi {
                version: *find(&library, "nvrtcVersion")?,
                count_architectures: *find(&library, "nvrtcGetNumSupportedArchs")?,
                get_architectures: *find(&library, "nvrtcGetSupportedArchs")?,
                error_string: *find(&library, "nvrtcGetErrorString")?,
                create: *find(&library, "nvrtcCreateProgram")?,
                destroy: *find(&library, "nvrtcDestroyProgram")?,
                compile: *find(&library, "nvrtcCompileProgram")?,
                log: (
                    *find(&library, "nvrtcGetProgramLogSize")?,
                    *find(&library, "nvrtcGetProgramLog")?,
                ),
                cubin: (*find(&library, "nvrtcGetCUBINSize")?, *find(&library, "nvrtcGetCUBIN")?),
                ptx: (*find(&library, "nvrtcGetPTXSize")?, *find(&library, "nvrtcGetPTX")?),
            }
        };
        // The functions are used without the library handle, and NVRTC keeps its own state.
        std::mem::forget(library);
        Ok(api)
    }

    pub(crate) fn version(&self) -> Result<(u32, u32), String> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers refer to live numbers.
        self.check("nvrtcVersion", unsafe { (self.version)(&mut major, &mut minor) })?;
        Ok((major.max(0) as u32, minor.max(0) as u32))
    }

    /// Returns the compute capabilities that this NVRTC compiles for.
    pub(crate) fn architectures(&self) -> Result<Vec<(u32, u32)>, String> {
        let mut count = 0;
        // SAFETY: the pointer refers to a live number.
        let code = unsafe { (self.count_architectures)(&mut count) };
        self.check("nvrtcGetNumSupportedArchs", code)?;
        let mut numbers: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the function writes `count` numbers.
        let code = unsafe { (self.get_architectures)(numbers.as_mut_ptr()) };
        self.check("nvrtcGetSupportedArchs", code)?;
        // 121 is compute capability 12.1.
        Ok(numbers.into_iter().map(|n| (n.max(0) as u32 / 10, n.max(0) as u32 % 10)).collect())
    }

    /// Compiles `source`. The image does not include the NUL at the end of the texts of NVRTC.
    pub(crate) fn compile(
        &self,
        source: &str,
        options: &[&str],
        target: Target,
    ) -> Result<Image, CompileError> {
        let unavailable = |reason| CompileError::Unavailable { reason };
        let nul = |_| CompileError::Refused { log: "the source has a NUL character".into() };
        let source = CString::new(source).map_err(nul)?;
        let options: Vec<CString> = options
            .iter()
            .map(|&option| CString::new(option))
            .collect::<Result<_, _>>()
            .map_err(nul)?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(options.len()).unwrap_or(0);

        let mut program = Program { api: self, handle: ptr::null_mut() };
        // SAFETY: the source is a live text that ends with NUL, and there are no headers.
        let code = unsafe {
            (self.create)(
                &mut program.handle,
                source.as_ptr(),
                c"dualfit.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        self.check("nvrtcCreateProgram", code).map_err(unavailable)?;
        // SAFETY: the program was created just now, and `options` has `count` live texts.
        let code = unsafe { (self.compile)(program.handle, count, options.as_ptr()) };
        let log = program.take("nvrtcGetProgramLog", self.log).map_err(unavailable)?;
        let log = String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n']).to_owned();
        if code == REFUSED {
            return Err(CompileError::Refused { log });
        }
        self.check("nvrtcCompileProgram", code)
            .map_err(|reason| unavailable(format!("{reason} {log}").trim_end().to_owned()))?;
        let bytes = match target {
            Target::Machine(_) => program.take("nvrtcGetCUBIN", self.cubin),
            Target::Portable(_) => program.take("nvrtcGetPTX", self.ptx).map(|mut text| {
                while text.pop_if(|byte| *byte == 0).is_some() {}
                text
            }),
        };
        let bytes = bytes.map_err(unavailable)?;
        match bytes.is_empty() {
            true => Err(unavailable("NVRTC made an empty image".into())),
            false => Ok(Image { bytes, log }),
        }
    }

    fn check(&self, call: &str, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the function returns a constant text of the library for any code, or null.
        let text = unsafe {
            let text = (self.error_string)(code);
            if text.is_null() { "unknown".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        Err(format!("{call} returned {code} ({text})"))
    }
}

/// Returns a function of the library.
///
/// # Safety
/// `F` must be the type of the function with this name.
unsafe fn find<'lib, F>(
    library: &'lib Library,
    name: &str,
) -> Result<libloading::Symbol<'lib, F>, String> {
    // SAFETY: by the contract of this function.
    unsafe { library.get(name) }.map_err(|_| format!("it has no function `{name}`"))
}

/// A program of NVRTC, destroyed on drop.
struct Program<'api> {
    api: &'api NvrtcApi,
    handle: Handle,
}

impl Program<'_> {
    /// Returns the output of a pair of functions: `size` returns its length and `copy` its bytes.
    fn take(&self, call: &str, (size, copy): (Measure, Copy)) -> Result<Vec<u8>, String> {
        let mut bytes = 0;
        // SAFETY: the program is alive, and the pointer refers to a live number.
        self.api.check(call, unsafe { size(self.handle, &mut bytes) })?;
        let mut taken = vec![0_u8; bytes];
        if bytes > 0 {
            // SAFETY: the function writes as many bytes as `size` returned.
            self.api.check(call, unsafe { copy(self.handle, taken.as_mut_ptr().cast()) })?;
        }
        Ok(taken)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the program was created by this NVRTC and is destroyed once.
            unsafe { (self.api.destroy)(&mut self.handle) };
        }
    }
}
