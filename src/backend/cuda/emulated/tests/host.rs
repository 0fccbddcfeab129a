//! Tests of the host side: memory is counted and limited, misuse makes a test fail, and a missing
//! compiler is reported.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::backend::cuda::driver::{Address, Driver, DriverError, Queue};
use crate::backend::cuda::driver::{CompileError, Compiler};
use crate::backend::cuda::emulated::bench::{Bench, argument};
use crate::backend::cuda::emulated::{NoToolchain, Settings, Toolchain, emulator_or_skip};

fn panics(action: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(action)).expect_err("nothing panicked");
    panic.downcast_ref::<String>().expect("a text").clone()
}

#[test]
fn memory_is_counted_and_bounded() {
    let settings = Settings { memory_bytes: 1000, ..Settings::default() };
    let Some(device) = emulator_or_skip(settings) else { return };
    let a = device.allocate(600).unwrap();
    assert_eq!(device.memory().unwrap().free, 400);
    assert_eq!(device.allocate(401), Err(DriverError::OutOfMemory { requested: 401 }));
    let b = device.allocate(0).unwrap();
    assert_eq!((a.0 % 16, b.0 % 16), (0, 0));
    assert_ne!(a, b);
    let mut fresh = [0u8; 600];
    device.download(a, &mut fresh, Queue::Work).unwrap();
    assert_eq!(fresh, [0xff; 600]);
    device.upload(Address(a.0 + 10), &[1, 2, 3], Queue::Work).unwrap();
    device.clear(Address(a.0 + 12), 2).unwrap();
    device.download(Address(a.0 + 9), &mut fresh[..6], Queue::Work).unwrap();
    assert_eq!(fresh[..6], [0xff, 1, 2, 0, 0, 0xff]);
    device.release(a);
    assert_eq!((device.live(), device.live_bytes(), device.peak_bytes()), (1, 0, 600));
    device.release(b);
    let calls = device.calls();
    assert_eq!((calls.allocations, calls.releases), (3, 2));
    assert_eq!((calls.uploads, calls.uploaded_bytes), (1, 3));
    assert_eq!((calls.downloads, calls.downloaded_bytes, calls.clears), (2, 606, 1));
}

#[test]
fn misuse_of_memory_is_a_failed_test() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let a = device.allocate(100).unwrap();
    assert!(panics(|| drop(device.upload(a, &[0; 101], Queue::Work))).contains("101 bytes at"));
    assert!(
        panics(|| drop(device.download(Address(a.0 + 1), &mut [0; 100], Queue::Work)))
            .contains("leave")
    );
    assert!(panics(|| drop(device.clear(Address(a.0 - 1), 1))).contains("1 bytes before a buffer"));
    assert!(panics(|| device.release(Address(a.0 + 8))).contains("byte 8 of a buffer of 100"));
    device.release(a);
    assert!(panics(|| device.release(a)).contains("is no buffer"));
}

#[test]
fn writes_beside_a_buffer_are_found_at_its_release() {
    let text = "extern \"C\" __global__ void write(unsigned char* a, int at) { a[at] = 0; }";
    let Some(bench) = Bench::new(text) else { return };
    for at in [100i32, 111, -1, -16] {
        let a = bench.room::<u32>(25);
        bench.launch("write", 1, 1, &[argument(a), argument(at)]).unwrap();
        assert!(panics(|| bench.device.release(a)).contains("just outside the buffer"), "{at}");
    }
}

#[test]
fn a_text_is_compiled_once() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    assert!(device.identity().len() > "emulation by ".len());
    // A compiler that logs its calls.
    let folder = tempfile::tempdir().unwrap();
    let (calls, program) = (folder.path().join("calls"), folder.path().join("compiler"));
    let text =
        format!("#!/bin/sh\necho \"$@\" >> {}\nexec ${{CXX:-c++}} \"$@\"\n", calls.display());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let Ok(toolchain) = Toolchain::find(vec![program.into()]) else { panic!("no compiler") };
    let units = || std::fs::read_to_string(&calls).unwrap().matches("unit0.cpp").count();

    let text = "extern \"C\" __global__ void once(int* out) { int unused; *out = 1; }";
    let first = toolchain.compile(text).unwrap();
    assert!(first.log.contains("unused"), "{}", first.log);
    assert_eq!(units(), 1);
    assert_eq!(toolchain.compile(text).unwrap(), first);
    assert_eq!(units(), 1);
}

#[test]
fn a_text_that_is_wrong_is_refused_with_its_line() {
    let Some(device) = emulator_or_skip(Settings::default()) else { return };
    let text = "\n\nextern \"C\" __global__ void wrong(int* out) { *out = nothing; }";
    let Err(CompileError::Refused { log }) = device.compile(text, (9, 0)) else { panic!() };
    assert!(log.contains("unit.cu:3:"), "{log}");
    let empty = device.compile("int x;", (9, 0));
    assert!(matches!(empty, Err(CompileError::Refused { .. })));
    assert!(matches!(device.load(b"no library"), Err(DriverError::Failed { .. })));
}

#[test]
fn a_missing_compiler_is_a_reason() {
    let looked_for: Vec<std::ffi::OsString> = vec!["no-such-compiler".into(), "/no/such".into()];
    let Err(reason) = Toolchain::find(looked_for.clone()) else { panic!() };
    assert_eq!(reason, NoToolchain::NoCompiler { looked_for });
    assert_eq!(reason.to_string(), "no C++ compiler: looked for no-such-compiler, /no/such");
}
