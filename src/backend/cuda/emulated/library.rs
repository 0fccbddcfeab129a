//! A loaded library of kernels: runs launches and handles memory faults.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};

use crate::backend::cuda::driver::Geometry;

/// `cuda_on_cpu::Request` of `kernels/host/launch.h`.
#[repr(C)]
struct Request {
    blocks: u32,
    threads: u32,
    seed: u64,
    chosen: *const u32,
    chosen_count: u64,
    arguments: *const *const u8,
    argument_bytes: *const u64,
    argument_count: u64,
}

/// `cuda_on_cpu::Outcome` of `kernels/host/block.h`.
#[repr(C)]
struct Outcome {
    code: i32,
    address: u64,
    switches: u64,
    text: [c_char; 1024],
}

type Launch = unsafe extern "C" fn(*const Request, *mut Outcome);
type Fault = unsafe extern "C" fn(u64, *const c_char);

/// Failure of a launch: a code of `cuda.h` and a text.
pub(super) struct Failure {
    pub(super) code: i32,
    pub(super) text: String,
    /// Address of an access that faulted.
    pub(super) address: Option<u64>,
}

/// One copy of a library with its own state. It runs one launch at a time; concurrent launches use
/// other copies.
pub(super) struct Library {
    loaded: Loaded,
    fault: Fault,
    running: Mutex<()>,
}

impl Library {
    /// Loads the file and removes it.
    pub(super) fn open(path: &Path) -> Result<Library, String> {
        // SAFETY: the file is an image of the emulation's compiler, whose initialisers do nothing,
        // and the symbol has this type in launch.h.
        let (loaded, fault) = unsafe {
            let loaded = Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL);
            let loaded = loaded.map_err(|e| e.to_string())?;
            let fault = loaded.get::<Fault>(b"cuda_on_cpu__fault").map_err(|e| e.to_string())?;
            let fault = *fault;
            (loaded, fault)
        };
        fs::remove_file(path).map_err(|e| e.to_string())?;
        Ok(Library { loaded, fault, running: Mutex::new(()) })
    }

    /// Runs `kernel` over all blocks or the chosen blocks. Returns the number of switches between threads,
    /// or `None` if there is no such kernel.
    pub(super) fn launch(
        &self,
        kernel: &str,
        geometry: Geometry,
        chosen: Option<&[u32]>,
        seed: u64,
        arguments: &[&[u8]],
    ) -> Option<Result<u64, Failure>> {
        // SAFETY: every kernel has an entry of this type, which CUDA_ON_CPU_KERNEL defines.
        let launch =
            unsafe { self.loaded.get::<Launch>(format!("{kernel}__launch").as_bytes()) }.ok()?;
        let pointers: Vec<*const u8> = arguments.iter().map(|a| a.as_ptr()).collect();
        let lengths: Vec<u64> = arguments.iter().map(|a| a.len() as u64).collect();
        let request = Request {
            blocks: geometry.blocks,
            threads: geometry.threads,
            seed,
            chosen: chosen.map_or(std::ptr::null(), <[u32]>::as_ptr),
            chosen_count: chosen.map_or(0, |c| c.len() as u64),
            arguments: pointers.as_ptr(),
            argument_bytes: lengths.as_ptr(),
            argument_count: arguments.len() as u64,
        };
        let mut outcome = Outcome { code: 0, address: 0, switches: 0, text: [0; 1024] };
        let _alone = self.running.lock().unwrap();
        catch_faults();
        FAULT.set(Some(self.fault));
        // SAFETY: the request's pointers outlive the call, and the entry checks the lengths of the
        // arguments before it reads them. If the kernel accesses a protected page, the handler below
        // ends the launch.
        unsafe { launch(&request, &mut outcome) };
        FAULT.set(None);
        if outcome.code == 0 {
            return Some(Ok(outcome.switches));
        }
        // SAFETY: the library terminates its text with a zero within the array.
        let text = unsafe { CStr::from_ptr(outcome.text.as_ptr()) };
        let text = format!("{kernel}, {}", text.to_string_lossy());
        let address = (outcome.address != 0).then_some(outcome.address);
        Some(Err(Failure { code: outcome.code, text, address }))
    }
}

thread_local! {
    /// Target of the handler's jump when the launch that runs on this thread faults.
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// Signals for errors that a real device reports as a fault or does not notice.
const SIGNALS: [(c_int, &CStr); 4] = [
    (libc::SIGSEGV, c"illegal address"),
    (libc::SIGBUS, c"illegal address"),
    (libc::SIGFPE, c"an integer was divided by zero"),
    (libc::SIGILL, c"illegal instruction"),
];

/// Previous action of each signal.
static BEFORE: OnceLock<Vec<libc::sigaction>> = OnceLock::new();

/// Installs the handler, once per process.
fn catch_faults() {
    BEFORE.get_or_init(|| {
        let install = |&(signal, _): &(c_int, &CStr)| {
            // SAFETY: plain old data that the call fills. The handler runs on the signal stack that Rust's
            // standard library creates for every thread, because the stack that faulted may be full. The
            // handler does not return from a fault of a kernel; therefore the signal must not stay blocked.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut before: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                libc::sigaction(signal, &action, &mut before);
                before
            }
        };
        SIGNALS.iter().map(install).collect()
    });
}

unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    let Some(known) = SIGNALS.iter().position(|(s, _)| *s == signal) else { return };
    if let Some(fault) = FAULT.get() {
        // SAFETY: the signal came on the thread that runs the launch. The call abandons the stack
        // that faulted together with this frame, which owns nothing; it returns only if the
        // fault was not a kernel's.
        unsafe { fault((*info).si_addr() as u64, SIGNALS[known].1.as_ptr()) };
    }
    // Not a fault of a kernel: the instruction runs again under the previous action.
    let before = BEFORE.get().map_or(std::ptr::null(), |all| &raw const all[known]);
    // SAFETY: the action was stored when this handler was installed; without it nothing changes.
    unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
}
