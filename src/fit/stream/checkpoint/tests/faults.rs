//! Tests on the real file system. Every call of a save, a load and a removal fails, in every way, and
//! kills occur between any two calls. Afterwards the old or the new checkpoint must be found.

use super::faulty::{Fault, Faulty};
use super::*;
use std::fs;

/// Error numbers ENOSPC, EIO, EROFS, EACCES.
const ERRORS: [i32; 4] = [28, 5, 30, 13];

fn on_disk(fault: Option<Fault>) -> Faulty<Disk> {
    Faulty::new(Disk, fault).quick()
}

/// State before the save.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Nothing,
    One,
    Two,
    DamagedAndOlder,
    OlderOnly,
    StaleBeside,
}

impl Before {
    const ALL: [Before; 6] = [
        Before::Nothing,
        Before::One,
        Before::Two,
        Before::DamagedAndOlder,
        Before::OlderOnly,
        Before::StaleBeside,
    ];

    fn make(self) -> (TempDir, Store) {
        let (folder, store) = store();
        let [old, older] = [&b"old"[..], b"older"].map(|c| file_of(&identity(), c));
        let newest = |bytes: &[u8]| fs::write(&store.newest, bytes).unwrap();
        match self {
            Before::Nothing => {}
            Before::One => newest(&old),
            Before::Two => {
                newest(&old);
                fs::write(&store.older, older).unwrap();
            }
            Before::DamagedAndOlder => {
                newest(&old[..old.len() - 1]);
                fs::write(&store.older, older).unwrap();
            }
            Before::OlderOnly => fs::write(&store.older, older).unwrap(),
            Before::StaleBeside => {
                newest(&old);
                fs::write(&store.beside, b"FIT").unwrap();
            }
        }
        (folder, store)
    }

    /// Contents that are loaded while there is no new checkpoint.
    fn contents(self) -> Option<Vec<u8>> {
        match self {
            Before::Nothing | Before::OlderOnly => None,
            Before::One | Before::Two | Before::StaleBeside => Some(b"old".to_vec()),
            Before::DamagedAndOlder => Some(b"older".to_vec()),
        }
    }

    /// Returns the names of the calls of a save.
    fn calls(self) -> Vec<&'static str> {
        let (_folder, store) = self.make();
        let fs = on_disk(None);
        Store::on(&fs, &store.newest).save(&identity(), b"new").unwrap();
        fs.calls()
    }
}

/// Saves with a fault. Returns the folder, the store and the result.
fn save(before: Before, fault: Fault) -> (TempDir, Store, Result<(), CheckpointError>) {
    let (folder, store) = before.make();
    let faulty = on_disk(Some(fault));
    let saved = Store::on(faulty, &store.newest).save(&identity(), b"new");
    (folder, store, saved)
}

#[test]
fn the_calls_of_a_save_are_few() {
    let expected = [
        &["open", "sync_folder", "list", "create", "write", "sync"][..],
        &["open", "remove", "link", "rename", "sync_folder"],
    ];
    let mut calls = Before::Two.calls();
    calls.retain(|call| *call != "read");
    assert_eq!(calls, expected.concat());
}

#[test]
fn a_save_that_fails_leaves_what_was_there() {
    let mut failed = 0;
    for before in Before::ALL {
        let calls = before.calls();
        for (at, call) in calls.iter().copied().enumerate() {
            for errno in ERRORS {
                for lasts in [false, true] {
                    let bytes = if lasts { 7 } else { 0 };
                    let place = format!("{before:?}, {call} ({at}), error {errno}, {lasts}");
                    let (_folder, store, saved) = save(before, Fault { at, errno, lasts, bytes });
                    let loaded = store.load(&identity()).expect(&place);
                    let is_new = loaded.as_deref() == Some(b"new");
                    match &saved {
                        // Without links the file is copied. Temporary files of killed processes need not
                        // be removed.
                        Ok(()) => {
                            let left = before == Before::StaleBeside && call == "remove";
                            let harmless = ["link", "list", "is_abandoned"].contains(&call) || left;
                            assert!(harmless && !lasts && is_new, "{place}");
                        }
                        Err(error) => {
                            failed += 1;
                            let says = io::Error::from_raw_os_error(errno).to_string();
                            assert!(error.to_string().contains(&says), "{place}: {error}");
                            let is_not_read = before == Before::DamagedAndOlder
                                && ["open", "read"].contains(&call);
                            assert!(
                                matches!(error, CheckpointError::NotWritten { .. }) || is_not_read,
                                "{place}: {error}"
                            );
                            let last = at + 1 == calls.len();
                            assert_eq!(is_new, last, "{place}");
                            assert!(is_new || loaded == before.contents(), "{place}: {loaded:?}");
                        }
                    }
                    if !lasts && saved.is_err() && before != Before::StaleBeside {
                        assert!(!has_parts(&store), "{place}: something was left");
                    }
                    let mut after = Store::on(on_disk(None), &store.newest);
                    after.save(&identity(), b"next").expect(&place);
                    let next = store.load(&identity()).expect(&place);
                    assert_eq!(next.as_deref(), Some(&b"next"[..]), "{place}");
                    assert!(!has_parts(&store), "{place}: something is left");
                }
            }
        }
    }
    println!("{failed} saves failed");
    assert!(failed > 400);
}

#[test]
fn a_disk_that_is_full_after_any_number_of_bytes_leaves_what_was_there() {
    let length = file_of(&identity(), b"new").len();
    for before in Before::ALL {
        let at = before.calls().iter().position(|call| *call == "write").unwrap();
        for bytes in 0..=length {
            let place = format!("{before:?}, {bytes} bytes");
            let (_folder, store, saved) =
                save(before, Fault { at, errno: 28, lasts: false, bytes });
            assert!(matches!(saved, Err(CheckpointError::NotWritten { .. })), "{place}");
            assert!(!has_parts(&store), "{place}");
            assert_eq!(store.load(&identity()).unwrap(), before.contents(), "{place}");
        }
    }
}

#[test]
fn a_kill_between_any_two_calls_leaves_the_old_or_the_new() {
    for before in Before::ALL {
        let calls = before.calls();
        let last = calls.iter().rposition(|call| *call == "rename").unwrap();
        for at in 0..=calls.len() {
            for bytes in [0, 1, 8, 60, usize::MAX] {
                let place = format!("{before:?}, call {at}, {bytes} bytes");
                let fault = Fault { at, errno: 5, lasts: true, bytes };
                let (_folder, store, _) = save(before, fault);
                let loaded = store.load(&identity()).expect(&place);
                let expected = if at > last { Some(b"new".to_vec()) } else { before.contents() };
                assert_eq!(loaded, expected, "{place}");
                // The next process is killed, too, at any of its calls.
                for again in 0..calls.len() {
                    let fault = Fault { at: again, ..fault };
                    let mut next = Store::on(on_disk(Some(fault)), &store.newest);
                    let _ = next.save(&identity(), b"new");
                    let loaded = store.load(&identity()).expect(&place);
                    assert!(
                        loaded.as_deref() == Some(b"new") || loaded == before.contents(),
                        "{place}, call {again}: {loaded:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_load_that_fails_says_so_and_changes_nothing() {
    for before in Before::ALL {
        let (_folder, store) = before.make();
        let fs = on_disk(None);
        Store::on(&fs, &store.newest).load(&identity()).unwrap();
        for (at, call) in fs.calls().into_iter().enumerate() {
            for errno in ERRORS {
                let fault = Fault { at, errno, lasts: false, bytes: 0 };
                let fs = on_disk(Some(fault));
                let loaded = Store::on(fs, &store.newest).load(&identity());
                let place = format!("{before:?}, {call} ({at}), error {errno}: {loaded:?}");
                let error = loaded.expect_err(&place);
                let says = io::Error::from_raw_os_error(errno).to_string();
                assert!(error.to_string().contains(&says), "{place}");
                assert_eq!(
                    matches!(error, CheckpointError::NotRead { .. }),
                    before != Before::DamagedAndOlder || at < 2,
                    "{place}"
                );
                assert_eq!(store.load(&identity()).unwrap(), before.contents(), "{place}");
            }
        }
    }
}

#[test]
fn a_removal_that_fails_says_so_and_leaves_what_can_be_resumed() {
    for before in [Before::Nothing, Before::One, Before::Two, Before::StaleBeside] {
        let (_folder, store) = before.make();
        let fs = on_disk(None);
        Store::on(&fs, &store.newest).remove().unwrap();
        for at in 0..fs.calls().len() {
            let (folder, store) = before.make();
            let fault = Fault { at, errno: 30, lasts: true, bytes: 0 };
            let removed = Store::on(on_disk(Some(fault)), &store.newest).remove();
            assert!(matches!(removed, Err(CheckpointError::NotWritten { .. })), "{removed:?}");
            let loaded = store.load(&identity()).unwrap();
            assert!(loaded.is_none() || loaded == before.contents(), "{before:?}, {at}");
            store.remove().unwrap();
            assert!(names(folder.path()).is_empty());
        }
    }
}
