//! Tests of the exported functions, each on a driver of its own.

mod contexts;
mod order;

use super::api::*;
use super::faults::{Failure, UNKNOWN};
use super::options::Options;
use super::state::{Driver, Needs};
use super::{call, with_driver};
use std::cell::RefCell;
use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::thread;

const PTX: &CStr = c".version 7.5
.target sm_75
.address_size 64
.visible .entry add(.param .u64 add_0, .param .u32 add_1) { ret; }
.visible .entry narrow() .maxntid 64, 1, 1 { ret; }
";

thread_local! {
    static INSTEAD: RefCell<Option<Arc<Mutex<Driver>>>> = const { RefCell::new(None) };
}

/// Returns the driver that this thread uses in place of the driver of the process.
pub(super) fn instead() -> Option<Arc<Mutex<Driver>>> {
    INSTEAD.with_borrow(Clone::clone)
}

/// Returns the output of a call, or its error code.
fn ask<T>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> c_int) -> Result<T, c_int> {
    let mut place = MaybeUninit::uninit();
    match call(Some(&mut place)) {
        // SAFETY: a successful call has written its output.
        0 => Ok(unsafe { place.assume_init() }),
        code => Err(code),
    }
}

/// Makes this thread use a new driver, and initialises it.
fn begin(options: Options) {
    INSTEAD.set(Some(Arc::new(Mutex::new(Driver::new(options)))));
    assert_eq!(cuInit(0), 0);
}

/// As [`begin`], and makes the context of the first device current.
fn begin_on_device(options: Options) -> u64 {
    begin(options);
    let context = ask(|out| cuDevicePrimaryCtxRetain(out, 0)).unwrap();
    assert_eq!(cuCtxPushCurrent_v2(context), 0);
    context
}

fn failing(failures: &[&str]) -> Options {
    let failures = failures.iter().map(|failure| Failure::parse(failure).unwrap()).collect();
    Options { failures, ..Options::default() }
}

fn stream() -> u64 {
    ask(|out| cuStreamCreate(out, 1)).unwrap()
}

fn event() -> u64 {
    ask(|out| cuEventCreate(out, 2)).unwrap()
}

fn allocate(bytes: usize) -> u64 {
    ask(|out| cuMemAlloc_v2(out, bytes)).unwrap()
}

fn page_locked(bytes: usize) -> *mut u8 {
    ask(|out| cuMemHostAlloc(out, bytes, 0)).unwrap().cast()
}

fn upload(to: u64, from: *const u8, bytes: usize, stream: u64) -> c_int {
    // SAFETY: tests keep their memory until the work is done.
    unsafe { cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream) }
}

fn download(to: *mut u8, from: u64, bytes: usize, stream: u64) -> c_int {
    // SAFETY: as in `upload`.
    unsafe { cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, stream) }
}

fn byte(at: *const u8) -> u8 {
    // SAFETY: tests only pass memory that they own.
    unsafe { at.read_volatile() }
}

fn load(text: &CStr) -> Result<u64, c_int> {
    // SAFETY: the text ends with a NUL.
    ask(|out| unsafe { cuModuleLoadData(out, text.as_ptr()) })
}

fn function(module: u64, name: &CStr) -> Result<u64, c_int> {
    // SAFETY: as in `load`.
    ask(|out| unsafe { cuModuleGetFunction(out, module, name.as_ptr()) })
}

/// Launches a kernel with at most two parameters of at most eight bytes.
fn launch(function: u64, grid: [u32; 3], block: [u32; 3], stream: u64) -> c_int {
    let argument = 0_u64;
    let arguments = [ptr::from_ref(&argument).cast::<u8>(); 2];
    let ([x, y, z], [i, j, k]) = (grid, block);
    // SAFETY: no kernel has more than two parameters, or parameters of more than eight bytes.
    unsafe {
        cuLaunchKernel(function, x, y, z, i, j, k, 0, stream, arguments.as_ptr(), ptr::null())
    }
}

/// Enqueues work on memory that is then freed without the knowledge of the driver. The device is lost when the work
/// runs.
fn lose_by_work(stream: u64) {
    let at = allocate(8);
    assert_eq!(cuMemsetD8Async(at, 0, 8, stream), 0);
    with_driver(|driver| driver.devices[0].memory.free(at));
}

fn left() -> Vec<String> {
    let report = with_driver(|driver| driver.report());
    let nonzero = |line: &&str| !line.ends_with(" 0") && line.starts_with("left ");
    report.lines().filter(nonzero).map(|line| line[5..].to_owned()).collect()
}

#[test]
fn nothing_is_given_back_twice_or_used_afterwards() {
    begin_on_device(Options::default());
    let (stream, mark, at, host) = (stream(), event(), allocate(8), page_locked(8) as u64);
    let module = load(PTX).unwrap();
    let kernel = function(module, c"add").unwrap();
    assert_eq!([cuMemFree_v2(at), cuMemFree_v2(at)], [0, 1]);
    assert_eq!([cuMemFreeHost(host), cuMemFreeHost(host)], [0, 1]);
    let shared_percent = |of, percent| cuFuncSetAttribute(of, 9, percent);
    assert_eq!(
        [(kernel, 100), (kernel, 101), (stream, 0)].map(|(k, p)| shared_percent(k, p)),
        [0, 1, 400]
    );
    let resident =
        |of, threads| ask(|out| cuOccupancyMaxActiveBlocksPerMultiprocessor(out, of, threads, 0));
    assert_eq!(
        [(kernel, 128), (kernel, 32), (kernel, 0), (stream, 32)].map(|(k, n)| resident(k, n)),
        [Ok(16), Ok(32), Err(1), Err(400)]
    );
    assert_eq!([cuModuleUnload(module), cuModuleUnload(module)], [0, 400]);
    assert_eq!(function(module, c"add"), Err(400));
    assert_eq!(launch(kernel, [1; 3], [1; 3], stream), 400);
    assert_eq!(cuMemsetD8Async(at, 0, 8, stream), 1);
    assert_eq!([cuStreamDestroy_v2(stream), cuStreamDestroy_v2(stream)], [0, 400]);
    assert_eq!(cuStreamSynchronize(stream), 400);
    assert_eq!(cuEventRecord(mark, stream), 400);
    assert_eq!([cuEventDestroy_v2(mark), cuEventDestroy_v2(mark)], [0, 400]);
    assert_eq!(cuEventSynchronize(mark), 400);
    assert_eq!(cuStreamSynchronize(0), 400);
    assert_eq!(left(), ["contexts 1"]);
}

#[test]
fn wrong_arguments_are_refused() {
    begin_on_device(Options::default());
    let (stream, at, host) = (stream(), allocate(8), page_locked(8));
    assert_eq!(cuMemAlloc_v2(None, 8), 1);
    assert_eq!(ask(|out| cuMemAlloc_v2(out, 0)), Err(1));
    assert_eq!(ask(|out| cuMemHostAlloc(out, 0, 0)), Err(1));
    assert_eq!(upload(at, host, 0, stream), 1);
    assert_eq!(upload(at, ptr::null(), 8, stream), 1);
    assert_eq!(upload(at, host, 9, stream), 1);
    assert_eq!(download(ptr::null_mut(), at, 8, stream), 1);
    assert_eq!(cuMemsetD8Async(at + 1, 0, 8, stream), 1);
    assert_eq!(cuMemFree_v2(at + 1), 1);
    assert_eq!(ask(|out| cuMemHostGetDevicePointer_v2(out, at, 0)), Err(1));
    let inside = host as u64 + 7;
    assert_eq!(ask(|out| cuMemHostGetDevicePointer_v2(out, inside, 0)), Ok(inside));
    assert_eq!(ask(|out| cuDeviceGet(out, 1)), Err(101));
    assert_eq!(ask(|out| cuDeviceGet(out, -1)), Err(101));
    assert_eq!(cuInit(1), 1);
}

#[test]
fn modules_and_launches_are_checked() {
    begin_on_device(Options::default());
    assert_eq!(load(c"\x7fELF\x02"), Err(209));
    assert_eq!(load(c"this is no PTX"), Err(218));
    let (stream, module) = (stream(), load(PTX).unwrap());
    assert_eq!(function(module, c"other"), Err(500));
    assert_eq!(function(stream, c"add"), Err(400));
    let [add, narrow] = [c"add", c"narrow"].map(|name| function(module, name).unwrap());
    assert_eq!(function(module, c"add"), Ok(add));
    for (grid, block, code) in [
        ([2, 1, 1], [1024, 1, 1], 0),
        ([0, 1, 1], [1, 1, 1], 1),
        ([1, 2, 1], [1, 1, 1], 1),
        ([1, 1, 1], [1, 1, 2], 1),
        ([1, 1, 1], [0, 1, 1], 1),
        ([1, 1, 1], [1025, 1, 1], 1),
        ([1 << 31, 1, 1], [1, 1, 1], 1),
    ] {
        assert_eq!(launch(add, grid, block, stream), code, "{grid:?} {block:?}");
    }
    assert_eq!(launch(narrow, [1; 3], [64, 1, 1], stream), 0);
    assert_eq!(launch(narrow, [1; 3], [65, 1, 1], stream), 701);
    assert_eq!(launch(add, [1; 3], [1; 3], add), 400);
    assert_eq!(cuModuleUnload(module), 0);
}

#[test]
fn calls_need_a_start_and_a_context() {
    INSTEAD.set(Some(Arc::new(Mutex::new(Driver::new(Options::default())))));
    assert_eq!(ask(|out| cuDriverGetVersion(out)), Ok(13000));
    assert_eq!(ask(|out| cuDeviceGetCount(out)), Err(3));
    assert_eq!(cuInit(0), 0);
    assert_eq!(ask(|out| cuDeviceGetCount(out)), Ok(1));
    assert_eq!(ask(|out| cuMemAlloc_v2(out, 8)), Err(201));
    assert_eq!(ask(|out| cuCtxPopCurrent_v2(out)), Err(201));
    assert_eq!(cuCtxPushCurrent_v2(5), 201);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 201);
    assert_eq!(ask(|out| cuCtxGetCurrent(out)), Ok(0));
    let context = ask(|out| cuDevicePrimaryCtxRetain(out, 0)).unwrap();
    assert_eq!(cuCtxSetCurrent(context), 0);
    assert_eq!(ask(|out| cuCtxGetCurrent(out)), Ok(context));
    let driver = instead();
    let elsewhere = thread::spawn(move || {
        INSTEAD.set(driver);
        ask(|out| cuMemAlloc_v2(out, 8))
    });
    assert_eq!(elsewhere.join().unwrap(), Err(201));
    assert_eq!(ask(|out| cuCtxPopCurrent_v2(out)), Ok(context));
    assert_eq!(cuStreamSynchronize(1), 201);
}
