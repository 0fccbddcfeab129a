//! Files of the feature `chrome-trace`. One process can have one subscriber, so tests that need their own
//! process start this program as a child.
#![cfg(feature = "chrome-trace")]

use crate::turn;
use dualfit::error::TraceError;
use dualfit::{Backend, BatchData, ChromeTrace, CurveFit, Data, Error};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn fit() {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.3).collect();
    let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu);
    decay.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.0]).unwrap();
}

fn events(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let file: Value = serde_json::from_str(&text).expect("JSON");
    file.as_array().expect("an array").clone()
}

/// Number of spans with this name that begin.
fn begins(events: &[Value], name: &str) -> usize {
    events.iter().filter(|e| e["ph"] == "B" && e["name"] == name).count()
}

/// Checks that each span ends, innermost first, not before it begins, on each thread.
fn assert_nested(events: &[Value]) {
    let mut open: std::collections::HashMap<u64, Vec<&Value>> = Default::default();
    for event in events {
        let Some(thread) = event["tid"].as_u64() else { panic!("{event}") };
        let stack = open.entry(thread).or_default();
        match event["ph"].as_str() {
            Some("B") => stack.push(event),
            Some("E") => {
                let begin = stack.pop().expect("an end has a beginning");
                assert_eq!(begin["name"], event["name"]);
                assert!(begin["ts"].as_f64() <= event["ts"].as_f64());
            }
            _ => assert_eq!(event["name"], "thread_name"),
        }
    }
    assert!(open.values().all(Vec::is_empty));
}

#[test]
fn a_record_has_what_happened_between_its_ends() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fit();
    let trace = ChromeTrace::to_file(path("one")).unwrap();
    fit();
    drop(trace);
    fit();
    let first = events(&path("one"));
    for name in ["trace", "fit", "validate", "prepare", "differentiate", "covariance"] {
        assert_eq!(begins(&first, name), 1, "{name}");
    }
    assert!(begins(&first, "step") > 3 && begins(&first, "pass") > 3);
    assert_nested(&first);
    let fit_begins = first.iter().find(|e| e["name"] == "fit").unwrap();
    assert_eq!(
        (&fit_begins["args"]["points"], &fit_begins["cat"]),
        (&"60".into(), &"dualfit".into())
    );

    // The same process records again, from all threads, old ones and new.
    let trace = ChromeTrace::to_file(path("two")).unwrap();
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.3).collect();
    let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).backend(Backend::Cpu);
    let all = y.repeat(4000);
    decay.fit_batch(BatchData::shared(&x, &all).unwrap(), [1.0, 1.0, 0.0]).unwrap();
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(fit)));
    });
    trace.finish().unwrap();
    let second = events(&path("two"));
    assert_eq!((begins(&second, "batch"), begins(&second, "fit")), (1, 4));
    assert!(begins(&second, "portion") > 4);
    assert_nested(&second);
    let lanes: std::collections::HashSet<_> =
        second.iter().filter(|e| e["ph"] == "B").map(|e| e["tid"].as_u64()).collect();
    assert!(lanes.len() >= 5, "{lanes:?}");
    assert_eq!(events(&path("one")), first, "a closed file is left alone");
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("no such folder").join("trace.json");
    match ChromeTrace::to_file(&nowhere) {
        Err(Error::Trace(TraceError::NotWritten { path, message })) => {
            assert_eq!(path, nowhere);
            assert!(!message.is_empty());
        }
        other => panic!("{other:?}"),
    }
    let first = ChromeTrace::to_file(folder.path().join("first")).unwrap();
    let second = ChromeTrace::to_file(folder.path().join("second"));
    assert_eq!(second.unwrap_err(), Error::Trace(TraceError::Recording));
    assert!(!folder.path().join("second").exists());
    first.finish().unwrap();
    ChromeTrace::to_file(folder.path().join("second")).unwrap().finish().unwrap();
}

/// A full disk is reported at the end and does not affect the fits.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said_at_the_end() {
    let _turn = turn();
    let trace = ChromeTrace::to_file("/dev/full").unwrap();
    (0..200).for_each(|_| fit());
    match trace.finish() {
        Err(Error::Trace(TraceError::NotWritten { path, .. })) => {
            assert_eq!(path, Path::new("/dev/full"));
        }
        other => panic!("{other:?}"),
    }
    let trace = ChromeTrace::to_file("/dev/full").unwrap();
    (0..200).for_each(|_| fit());
    drop(trace);
    let folder = tempfile::tempdir().unwrap();
    let trace = ChromeTrace::to_file(folder.path().join("after")).unwrap();
    fit();
    trace.finish().unwrap();
    assert_eq!(begins(&events(&folder.path().join("after")), "fit"), 1);
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child_with_another_subscriber() {
    tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, "mine").unwrap();
    let error = ChromeTrace::to_file(&path).unwrap_err();
    assert_eq!(error, Error::Trace(TraceError::OtherSubscriber));
    assert!(error.to_string().contains("already"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    fit();
}

#[test]
fn another_subscriber_is_left_alone() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "chrome_trace::child_with_another_subscriber", "--ignored"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}
