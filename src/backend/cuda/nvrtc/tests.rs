//! Tests of NVRTC itself, if it is installed; they need no device. `DUALFIT_NVRTC` contains its path; several
//! paths are tried in their order. With `DUALFIT_REQUIRE=nvrtc` the tests fail without NVRTC.

use super::*;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

const KERNEL: &str =
    "extern \"C\" __global__ void scale(double* values, long long n, double factor) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) values[i] *= factor;
}
";

/// Version of a driver that loads the output of every NVRTC.
const NEWEST: Version = (99, 0);

/// Returns the NVRTC for a device. If there is none, writes a line to stderr, past the capture of output, or panics if
/// `DUALFIT_REQUIRE` contains `nvrtc`.
pub(crate) fn available(capability: Version) -> Option<Arc<Nvrtc>> {
    let required = std::env::var("DUALFIT_REQUIRE").unwrap_or_default();
    match Nvrtc::find(capability, NEWEST) {
        Ok(nvrtc) => Some(nvrtc),
        Err(reason) if required.contains("nvrtc") => panic!("NVRTC is required: {reason}"),
        Err(reason) => {
            let _ = writeln!(std::io::stderr(), "SKIP (no NVRTC: {reason})");
            None
        }
    }
}

/// Returns one NVRTC of each version that is found.
pub(crate) fn all() -> Vec<Nvrtc> {
    let mut all: Vec<Nvrtc> = Vec::new();
    for nvrtc in candidates().files.iter().filter_map(|file| Nvrtc::open(file).ok()) {
        if all.iter().all(|known| known.version != nvrtc.version) {
            all.push(nvrtc);
        }
    }
    if all.is_empty() {
        available((9, 0));
    }
    all
}

fn registers(log: &str) -> Option<u32> {
    log.split("Used ").nth(1)?.split(' ').next()?.parse().ok()
}

#[test]
fn each_compiles_machine_code_for_each_architecture_that_it_knows() {
    for nvrtc in all() {
        let begun = Instant::now();
        for &capability in &nvrtc.architectures {
            let image = nvrtc.compile(KERNEL, capability).unwrap();
            assert_eq!(&image.bytes[..4], b"\x7fELF", "{capability:?}");
            assert!(registers(&image.log).is_some_and(|n| (4..=64).contains(&n)), "{}", image.log);
            assert!(image.log.contains("0 bytes spill stores"), "{}", image.log);
        }
        let known: Vec<String> =
            nvrtc.architectures.iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
        println!("{}: {} in {:.2?}", nvrtc.identity(), known.join(" "), begun.elapsed());
        assert!(nvrtc.version >= (11, 2) && known.len() >= 5);
        // Only the images are compared, because the log contains the compile time.
        let again = || nvrtc.compile(KERNEL, nvrtc.architectures[0]).unwrap().bytes;
        assert!(again() == again(), "compilation is not deterministic");
    }
}

#[test]
fn a_device_newer_than_nvrtc_gets_portable_code() {
    for nvrtc in all() {
        let image = nvrtc.compile(KERNEL, (98, 7)).unwrap();
        let text = String::from_utf8(image.bytes).unwrap();
        let (major, minor) = nvrtc.architectures.last().unwrap();
        assert!(text.contains(&format!(".target sm_{major}{minor}")), "{text}");
        assert!(text.contains(".entry scale(") && text.ends_with(['}', '\n']), "{text}");
    }
}

#[test]
fn a_device_older_than_nvrtc_is_unknown() {
    for nvrtc in all() {
        let refused = nvrtc.compile(KERNEL, (3, 0)).unwrap_err();
        let identity = nvrtc.identity();
        assert_eq!(refused, CompileError::UnknownArchitecture { capability: (3, 0), identity });
    }
}

#[test]
fn a_refused_source_says_where_and_why() {
    for nvrtc in all() {
        let wrong = KERNEL.replace("factor;", "factr;");
        let CompileError::Refused { log } = nvrtc.compile(&wrong, (9, 0)).unwrap_err() else {
            panic!("another error");
        };
        assert!(log.contains("factr") && log.contains("(3)") && !log.contains('\0'), "{log}");
        let cut = nvrtc.compile("int a;\0int b;", (9, 0)).unwrap_err();
        assert!(matches!(cut, CompileError::Refused { log } if log.contains("NUL")));
    }
}

#[test]
fn eight_threads_compile_at_once() {
    let Some(nvrtc) = available((9, 0)) else { return };
    let image = || nvrtc.compile(KERNEL, (9, 0)).unwrap().bytes;
    let expected = image();
    std::thread::scope(|scope| {
        let images: Vec<_> = (0..8).map(|_| scope.spawn(image)).collect();
        assert!(images.into_iter().all(|image| image.join().unwrap() == expected));
    });
}

#[test]
fn the_one_is_chosen_that_knows_the_device_and_that_the_driver_can_load() {
    let chosen = |capability, driver| choose(candidates(), capability, driver).map(|n| n.version);
    let all = all();
    let versions: Vec<Version> = all.iter().map(|nvrtc| nvrtc.version).collect();
    for nvrtc in &all {
        // The first NVRTC in the search order is chosen that supports the device and that the driver can load.
        for &capability in &nvrtc.architectures {
            let knows = |n: &&Nvrtc| n.architectures.contains(&capability);
            let first = all.iter().find(knows).unwrap().version;
            assert_eq!(chosen(capability, NEWEST), Ok(first));
            let old = (nvrtc.version.0, 0);
            let first = all.iter().find(|n| knows(n) && n.version.0 <= old.0).unwrap().version;
            assert_eq!(chosen(capability, old), Ok(first));
        }
    }
    if !all.is_empty() {
        let refused = chosen((9, 0), (1, 0)).unwrap_err();
        assert!(matches!(refused, NoCuda::NvrtcTooNew { driver: (1, 0), .. }), "{refused}");
        let refused = chosen((1, 0), NEWEST).unwrap_err();
        assert!(refused.to_string().contains("has dropped devices of compute"), "{refused}");
        // A driver refuses portable code of a later version than its own.
        let newest = *versions.iter().max().unwrap();
        let oldest = *versions.iter().min().unwrap();
        assert!(chosen((98, 0), newest).is_ok());
        assert!(matches!(chosen((98, 0), (oldest.0, 0)), Err(NoCuda::NvrtcTooNew { .. })));
    }
}

#[test]
fn files_that_are_no_nvrtc_are_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("libnvrtc.so.12");
    std::fs::write(&text, "no library").unwrap();
    let files = vec![PathBuf::from("libnvrtc-of-no-one.so"), text.clone()];
    let list = Candidates { files, searched: vec!["somewhere".into()] };
    let refused = choose(list, (9, 0), NEWEST).unwrap_err();
    let NoCuda::NvrtcNotFound { searched, driver: NEWEST } = refused else {
        panic!("another reason");
    };
    assert_eq!(searched.len(), 2);
    assert!(searched[1].starts_with(&*text.to_string_lossy()), "{searched:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_library_without_the_functions_is_no_nvrtc() {
    let why = Nvrtc::open(Path::new("libc.so.6")).unwrap_err();
    assert_eq!(why, "it has no function `nvrtcVersion`");
}
