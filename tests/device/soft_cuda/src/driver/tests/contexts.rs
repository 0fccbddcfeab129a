//! Tests of contexts, lost devices, injected faults, and options.

use super::*;

#[test]
fn a_fault_stays_until_the_context_is_new() {
    let context = begin_on_device(Options::default());
    let (stream, at) = (stream(), allocate(8));
    lose_by_work(stream);
    assert_eq!(cuMemsetD8Async(at, 0, 8, stream), 0, "nothing waited yet");
    assert_eq!(cuStreamSynchronize(stream), 700);
    assert_eq!(ask(|out| cuMemAlloc_v2(out, 8)), Err(700));
    assert_eq!(cuMemFree_v2(at), 700);
    assert_eq!(cuStreamDestroy_v2(stream), 700);
    assert_eq!(ask(|out| cuDevicePrimaryCtxRetain(out, 0)), Err(700));
    assert_eq!(left(), ["contexts 1"], "nothing could be given back");
    assert_eq!(ask(|out| cuCtxPopCurrent_v2(out)), Ok(context));
    assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
    assert_eq!(cuCtxPushCurrent_v2(context), 201);
    assert_eq!(left(), [""; 0]);

    let renewed = ask(|out| cuDevicePrimaryCtxRetain(out, 0)).unwrap();
    assert_ne!(renewed, context);
    assert_eq!(cuCtxPushCurrent_v2(renewed), 0);
    assert_eq!(ask(|out| cuMemGetInfo_v2(out, Some(&mut MaybeUninit::uninit()))), Ok(4096 << 20));
    assert_ne!(allocate(8), at);
    assert_eq!(cuStreamSynchronize(stream), 400);
}

#[test]
fn a_context_is_there_until_its_last_release() {
    let context = begin_on_device(Options::default());
    assert_eq!(ask(|out| cuDevicePrimaryCtxRetain(out, 0)), Ok(context));
    let (stream, at, target) = (stream(), allocate(1), page_locked(1));
    let mut copy = 0xFF_u8;
    assert_eq!(cuMemsetD8Async(at, 4, 1, stream), 0);
    assert_eq!(download(target, at, 1, stream), 0);
    assert_eq!(download(&raw mut copy, at, 1, stream), 0);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
    assert_eq!(byte(target), 0xFF);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
    assert_eq!(byte(&raw const copy), 4);
    assert_eq!(cuStreamSynchronize(stream), 709);
    assert_eq!(left(), ["streams 1", "device_allocations 1", "page_locked_allocations 1"]);
}

#[test]
fn calls_fail_where_that_is_asked_for() {
    begin_on_device(failing(&["cuMemAlloc_v2:2:2", "cuEventCreate:1:700", "*:7:999"]));
    let at = allocate(8);
    assert_eq!(ask(|out| cuMemAlloc_v2(out, 8)), Err(2));
    assert_eq!(cuMemFree_v2(at), 0);
    assert_eq!(cuMemFree_v2(at), 999, "the seventh call of all");
    assert_eq!(ask(|out| cuMemAlloc_v2(out, 8)).map(|_| ()), Ok(()));
    assert_eq!(ask(|out| cuEventCreate(out, 0)), Err(700));
    assert_eq!(ask(|out| cuStreamCreate(out, 0)), Err(700), "the device is lost");
    assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
}

#[test]
fn devices_are_apart() {
    let first = begin_on_device(Options { devices: 2, ..Options::default() });
    assert_eq!(ask(|out| cuDeviceGetCount(out)), Ok(2));
    let second = ask(|out| cuDevicePrimaryCtxRetain(out, 1)).unwrap();
    let (stream_of_first, mark_of_first) = (stream(), event());
    let (at, target) = (allocate(1), page_locked(1));
    assert_eq!(cuMemsetD8Async(at, 1, 1, stream_of_first), 0);
    assert_eq!(download(target, at, 1, stream_of_first), 0);
    assert_eq!(cuEventRecord(mark_of_first, stream_of_first), 0);

    assert_eq!(cuCtxPushCurrent_v2(second), 0);
    let stream_of_second = stream();
    assert_eq!(cuStreamSynchronize(stream_of_first), 400);
    assert_eq!(cuEventRecord(mark_of_first, stream_of_second), 400);
    assert_eq!(cuStreamWaitEvent(stream_of_second, mark_of_first, 0), 0);
    assert_eq!(byte(target), 0xFF);
    assert_eq!(cuStreamSynchronize(stream_of_second), 0);
    assert_eq!(byte(target), 1);

    assert_eq!(ask(|out| cuCtxPopCurrent_v2(out)), Ok(second));
    lose_by_work(stream_of_first);
    assert_eq!(cuStreamSynchronize(stream_of_first), 700);
    assert_eq!(cuCtxSetCurrent(second), 0);
    assert_eq!(cuStreamSynchronize(stream_of_second), 0);
    assert_eq!(cuCtxSetCurrent(first), 0);
    assert_eq!(cuStreamSynchronize(stream_of_first), 700);

    let mut name = [1; 12];
    // SAFETY: the array has 12 characters.
    assert_eq!(unsafe { cuDeviceGetName(name.as_mut_ptr(), 12, 1) }, 0);
    // SAFETY: the text is NUL-terminated within the array.
    assert_eq!(unsafe { CStr::from_ptr(name.as_ptr()) }, c"Soft CUDA 1");
}

#[test]
fn memory_has_an_end() {
    begin_on_device(Options { memory: 1000, ..Options::default() });
    let at = allocate(600);
    assert_eq!(ask(|out| cuMemAlloc_v2(out, 401)), Err(2));
    assert_eq!(ask(|out| cuMemGetInfo_v2(out, Some(&mut MaybeUninit::uninit()))), Ok(400));
    assert_eq!(cuMemFree_v2(at), 0);
    assert_ne!(allocate(1000), at);
    assert_eq!(ask(|out| cuDeviceTotalMem_v2(out, 0)), Ok(1000));
}

#[test]
fn a_panic_does_not_leave_the_driver() {
    begin_on_device(Options::default());
    assert_eq!(call("test", Needs::Nothing, |_| panic!("on purpose")), UNKNOWN);
    assert_eq!(ask(|out| cuMemAlloc_v2(out, 8)), Err(UNKNOWN));
    assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
}

#[test]
fn codes_have_texts() {
    begin(Options::default());
    let name = ask(|out| cuGetErrorName(700, out)).unwrap();
    // SAFETY: the text is a constant.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"CUDA_ERROR_ILLEGAL_ADDRESS");
    let mut text = MaybeUninit::uninit();
    assert_eq!(cuGetErrorString(-5, Some(&mut text)), 1);
    // SAFETY: the call writes the output also if it fails.
    assert!(unsafe { text.assume_init() }.is_null());
    assert_eq!(ask(|out| cuDeviceGetAttribute(out, 75, 0)), Ok(9));
    assert!(ask(|out| cuGetExportTable(out, Some(&[0; 16]))).is_ok());
}

#[test]
fn the_environment_says_how() {
    let of = |pairs: &[(&str, &str)]| {
        Options::read(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
    };
    let options = of(&[
        ("SOFT_CUDA_DEVICES", "3"),
        ("SOFT_CUDA_MEGABYTES", "2"),
        ("SOFT_CUDA_EAGER", "1"),
        ("SOFT_CUDA_RACES", "0"),
        ("SOFT_CUDA_TRACE", ""),
        ("SOFT_CUDA_SEED", "9"),
        ("SOFT_CUDA_FAIL", "cuInit:1:999,*:17:700"),
    ]);
    let options = options.unwrap();
    assert_eq!((options.devices, options.memory, options.version), (3, 2 << 20, 13000));
    assert_eq!((options.eager, options.trace, options.settings.finds_races), (true, false, false));
    assert_eq!(options.settings.seed, 9);
    assert_eq!(options.failures[1], Failure { function: None, at: 17, code: 700 });
    assert!(of(&[("SOFT_CUDA_SEED", "many")]).is_err());
    assert!(of(&[("SOFT_CUDA_FAIL", "cuInit:1")]).is_err());
    INSTEAD.set(Some(Arc::new(Mutex::new(Driver::unusable()))));
    assert_eq!(cuInit(0), 999);
    begin_without_devices();
}

/// Checks that a driver without devices cannot be initialised.
fn begin_without_devices() {
    let options = Options { devices: 0, ..Options::default() };
    INSTEAD.set(Some(Arc::new(Mutex::new(Driver::new(options)))));
    assert_eq!(cuInit(0), 100);
}
