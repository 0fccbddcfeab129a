//! Tests of the probe with fake driver libraries: files that are not libraries, and small libraries compiled by the
//! system's C compiler that lack a function or return a possible result of a driver.

use super::*;
use crate::backend::cuda::testing::fake_driver::{Fake, compiler_is_there};
use std::path::PathBuf;

fn refused(fake: &Fake) -> NoCuda {
    probe(&[fake.library()]).unwrap_err()
}

#[test]
fn no_library_is_said_with_the_names_that_were_tried() {
    let names = ["libcuda-of-no-one.so", "libcuda-of-nobody.so.1"];
    let reason = probe(&names).unwrap_err();
    let searched = names.map(String::from).into();
    let in_container = is_container(Path::new("/"));
    assert_eq!(reason, NoCuda::DriverLibraryNotFound { searched, in_container });
    assert!(reason.to_string().contains("libcuda-of-nobody.so.1 cannot be loaded"), "{reason}");
}

#[test]
fn a_file_that_is_no_library_is_none() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in
        [("empty.so", &b""[..]), ("text.so", b"text"), ("cut.so", b"\x7fELF\x02\x01")]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let reason = probe(&[path]).unwrap_err();
        assert!(matches!(reason, NoCuda::DriverLibraryNotFound { .. }), "{reason}");
    }
    let reason = probe(&[folder.path()]).unwrap_err();
    assert!(matches!(reason, NoCuda::DriverLibraryNotFound { .. }), "{reason}");
}

#[test]
fn a_driver_with_devices_is_found() {
    if !compiler_is_there() {
        return;
    }
    let fake = Fake::new(&["VERSION=13010", "DEVICES=3"]);
    let missing = fake.library().with_file_name("missing.so");
    let found = probe(&[missing, fake.library()]).unwrap();
    assert_eq!(found, StartedDriver { driver_version: (13, 1), devices: 3 });
}

#[test]
fn a_library_without_functions_is_not_the_driver() {
    if !compiler_is_there() {
        return;
    }
    let reason = refused(&Fake::new(&["EMPTY"]));
    let NoCuda::SymbolMissing { symbol, library } = &reason else { panic!("{reason}") };
    assert_eq!(symbol, "cuInit");
    assert!(PathBuf::from(library).is_absolute());
}

#[test]
fn each_missing_function_is_named() {
    if !compiler_is_there() {
        return;
    }
    // Every third symbol is enough; when functions are added, the selection shifts to other symbols.
    for symbol in SYMBOLS.iter().step_by(3) {
        let without = format!("WITHOUT_{symbol}");
        let reason = refused(&Fake::new(&[&without]));
        assert!(
            matches!(&reason, NoCuda::SymbolMissing { symbol: s, .. } if s == symbol),
            "{reason}"
        );
        assert!(reason.to_string().contains(&format!("has no function `{symbol}`")), "{reason}");
    }
}

#[test]
fn what_the_driver_answers_is_told() {
    if !compiler_is_there() {
        return;
    }
    let cases: [(&[&str], NoCuda, &str); 7] = [
        (
            &["VERSION=10020"],
            NoCuda::DriverTooOld { driver: (10, 2), needs: (11, 2) },
            "speaks CUDA 10.2 but 11.2 is needed; install a newer driver",
        ),
        (
            // The probe reads the version first, because the initialisation of an old driver may fail.
            &["VERSION=10020", "INIT=803"],
            NoCuda::DriverTooOld { driver: (10, 2), needs: (11, 2) },
            "install a newer driver",
        ),
        (&["INIT=100"], no_device(), "sees no device"),
        (&["DEVICES=0"], no_device(), "sees no device"),
        (&["DEVICES=-1"], no_device(), "sees no device"),
        (
            &["INIT=803"],
            NoCuda::InitFailed { code: 803, text: "fake error 803 in cuInit".into() },
            "failed with code 803, fake error 803 in cuInit; reboot, or reload",
        ),
        (
            &["INIT=999", "SILENT"],
            NoCuda::InitFailed {
                code: 999,
                text: "a code that the driver does not explain in cuInit".into(),
            },
            "see whether `nvidia-smi` works",
        ),
    ];
    for (definitions, expected, words) in cases {
        let reason = refused(&Fake::new(definitions));
        assert_eq!(reason, expected, "{definitions:?}");
        assert!(reason.to_string().contains(words), "{reason}");
    }
}

#[test]
fn the_variables_mean_what_they_say() {
    let forced = |value: Option<&str>| is_forced(value.map(OsStr::new));
    assert!(forced(Some("1")) && forced(Some("yes")));
    assert!(!forced(None) && !forced(Some("")) && !forced(Some("0")));
    let number = |value: Option<&str>| ordinal(value.map(OsStr::new));
    assert_eq!((number(None), number(Some("")), number(Some(" 2"))), (Ok(0), Ok(0), Ok(2)));
    for wrong in ["-1", "gpu", "1.5", "99999999999999999999"] {
        let reason = number(Some(wrong)).unwrap_err();
        assert_eq!(reason, NoCuda::DeviceVariable { value: wrong.into() });
    }
}

#[test]
fn hidden_devices_are_said_to_be_hidden() {
    let hidden = NoCuda::NoDevice { visible: Some("-1".into()), in_container: true }.to_string();
    assert!(hidden.contains("CUDA_VISIBLE_DEVICES is `-1`; unset it"), "{hidden}");
    let visible = Some("0".to_owned());
    let beyond = NoCuda::OrdinalOutOfRange { ordinal: 1, count: 1, visible }.to_string();
    assert!(beyond.contains("or change CUDA_VISIBLE_DEVICES, which is `0`"), "{beyond}");
}

#[test]
fn the_remedy_is_for_where_the_process_runs_and_for_its_driver() {
    let searched = vec!["libcuda.so.1".to_owned()];
    for (in_container, words, others) in [
        (true, "`docker run --gpus all`", "install the driver"),
        (false, "install the driver", "--gpus"),
    ] {
        let searched = searched.clone();
        let text = NoCuda::DriverLibraryNotFound { searched, in_container }.to_string();
        assert!(text.contains(words) && !text.contains(others), "{text}");
        let text = NoCuda::NoDevice { visible: None, in_container }.to_string();
        assert_eq!(text.contains("--gpus all"), in_container, "{text}");
    }
    for (driver, package) in [
        ((11, 4), "`pip install nvidia-cuda-nvrtc-cu11`"),
        ((12, 2), "`pip install nvidia-cuda-nvrtc-cu12`"),
        ((13, 1), "`pip install \"nvidia-cuda-nvrtc==13.*\"`"),
    ] {
        let searched = searched.clone();
        let text = NoCuda::NvrtcNotFound { searched, driver }.to_string();
        assert!(text.contains(package), "{text}");
        let text = NoCuda::NvrtcTooNew { nvrtc: (14, 0), driver }.to_string();
        assert!(text.contains(package), "{text}");
    }
    for (code, is_lasting) in [(700, true), (719, true), (702, true), (999, false), (46, false)] {
        let text = NoCuda::InitFailed { code, text: "said".into() }.to_string();
        assert_eq!(text.contains("start a new process"), is_lasting, "{text}");
    }
}

#[test]
fn every_reason_is_one_sentence() {
    let reasons = [
        NoCuda::DriverLibraryNotFound {
            searched: vec!["a".into(), "b".into()],
            in_container: false,
        },
        NoCuda::DriverLibraryNotFound { searched: vec!["a".into()], in_container: true },
        NoCuda::SymbolMissing { symbol: "cuInit".into(), library: "libcuda.so".into() },
        NoCuda::DriverTooOld { driver: (10, 2), needs: OLDEST },
        NoCuda::DeviceTooOld { name: "a".into(), capability: (6, 1), needs: (7, 0) },
        NoCuda::InitFailed { code: 1, text: "invalid".into() },
        NoCuda::InitFailed { code: 702, text: "timeout".into() },
        NoCuda::NoDevice { visible: None, in_container: false },
        NoCuda::NoDevice { visible: None, in_container: true },
        NoCuda::OrdinalOutOfRange { ordinal: 3, count: 1, visible: None },
        NoCuda::DeviceVariable { value: "x".into() },
        NoCuda::NvrtcNotFound { searched: vec!["a".into()], driver: (12, 4) },
        NoCuda::NvrtcTooNew { nvrtc: (13, 5), driver: (12, 2) },
        NoCuda::CompilerFailed { reason: "out of memory".into() },
        NoCuda::ForcedCpu,
    ];
    for reason in reasons {
        let text = reason.to_string();
        assert!(!text.contains(". ") && !text.contains('\n') && !text.ends_with('.'), "{text}");
        // The text has the finding, then the remedy.
        assert!(text.contains("; "), "{text}");
    }
}

#[test]
fn marks_and_control_groups_tell_of_a_container() {
    let with = |file: &str, text: &str| {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        is_container(root.path())
    };
    assert!(with(".dockerenv", "") && with("run/.containerenv", "engine=\"podman-4\""));
    assert!(with("proc/1/cgroup", "0::/system.slice/docker-4f1c.scope\n"));
    assert!(with("proc/1/cgroup", "12:cpu:/kubepods/besteffort/pod1/2\n"));
    assert!(!with("proc/1/cgroup", "0::/init.scope\n") && !with("etc/hosts", "docker"));
}
