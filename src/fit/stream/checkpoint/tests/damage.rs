//! Tests with truncated, changed, strange and foreign files: they are detected, and the previous checkpoint is used.

use super::*;
use std::fs;

/// Loads with `bytes` as the newest file, without and with a previous checkpoint.
fn is_found(store: &Store, bytes: &[u8]) -> bool {
    let path = &store.newest;
    fs::write(path, bytes).unwrap();
    let _ = fs::remove_file(&store.older);
    let alone = store.load(&identity());
    fs::write(&store.older, file_of(&identity(), b"older")).unwrap();
    let with_older = store.load(&identity()).unwrap();
    matches!(&alone, Err(CheckpointError::Corrupt { path: of, .. }) if of == path)
        && with_older.as_deref() == Some(b"older")
}

#[test]
fn every_truncation_every_flipped_bit_and_every_byte_too_many_is_found() {
    let (_folder, store) = store();
    let sound = file_of(&identity(), b"contents of a checkpoint");
    assert!(!is_found(&store, &sound));
    for length in 0..sound.len() {
        assert!(is_found(&store, &sound[..length]), "cut to {length} bytes");
        assert!(is_found(&store, &[&sound[..length], &vec![0; sound.len() - length]].concat()));
    }
    for bit in 0..8 * sound.len() {
        let mut wrong = sound.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert!(is_found(&store, &wrong), "bit {bit}");
    }
    assert!(is_found(&store, &[&sound[..], b"\0"].concat()));
    assert!(is_found(&store, &sound.repeat(2)));
    assert!(!is_found(&store, &sound));
}

#[test]
fn a_sound_file_whose_payload_lies_is_corrupt() {
    let (_folder, store) = store();
    let mut file = file_of(&identity(), b"");
    file[format::HEADER..format::HEADER + 8].fill(0xff);
    sign(&mut file);
    assert!(is_found(&store, &file));
}

#[test]
fn two_damaged_files_are_corrupt_and_said_to_be() {
    let (_folder, mut store) = store();
    fs::write(&store.newest, b"FITCKPT1").unwrap();
    fs::write(&store.older, b"some other file, longer than what surrounds a payload").unwrap();
    let error = store.load(&identity()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the checkpoint {} cannot be used: it has 8 bytes where a checkpoint has at least 52; \
             nor can the one before it, {}: it does not begin as a checkpoint does; remove it to \
             begin anew",
            store.newest.display(),
            store.older.display()
        )
    );
    assert_eq!(store.save(&identity(), b"contents"), Err(error));
    fs::remove_file(&store.newest).unwrap();
    assert_eq!(store.load(&identity()), Ok(None));
}

#[test]
fn a_damaged_file_does_not_take_the_place_of_the_sound_one_before_it() {
    let (_folder, mut store) = store();
    store.save(&identity(), b"first").unwrap();
    store.save(&identity(), b"second").unwrap();
    let mut file = fs::read(&store.newest).unwrap();
    file[30] ^= 1;
    fs::write(&store.newest, file).unwrap();
    store.save(&identity(), b"third").unwrap();
    assert_eq!(store.load(&identity()).unwrap().as_deref(), Some(&b"third"[..]));
    fs::rename(&store.older, &store.newest).unwrap();
    assert_eq!(store.load(&identity()).unwrap().as_deref(), Some(&b"first"[..]));
}

#[test]
fn files_of_something_else_are_left_alone() {
    let (folder, mut store) = store();
    let data = "t,y\n1,2\n".repeat(1000);
    let unchanged = |path: &Path| assert_eq!(fs::read_to_string(path).unwrap(), data);
    // The user's data at the path of the newest checkpoint.
    fs::write(&store.newest, &data).unwrap();
    assert!(matches!(store.load(&identity()), Err(CheckpointError::Corrupt { .. })));
    assert!(matches!(store.save(&identity(), b""), Err(CheckpointError::Corrupt { .. })));
    assert!(matches!(store.remove(), Err(CheckpointError::NotWritten { .. })));
    unchanged(&store.newest);
    fs::remove_file(&store.newest).unwrap();
    // The user's data at the path of the previous checkpoint, with and without a newest checkpoint.
    fs::write(&store.older, &data).unwrap();
    assert_eq!(store.load(&identity()), Ok(None));
    store.save(&identity(), b"first").unwrap();
    let error = store.save(&identity(), b"second").unwrap_err();
    assert!(error.to_string().contains("fit.checkpoint.1 is no checkpoint"), "{error}");
    assert_eq!(store.load(&identity()).unwrap().as_deref(), Some(&b"first"[..]));
    assert!(matches!(store.remove(), Err(CheckpointError::NotWritten { .. })));
    unchanged(&store.older);
    assert_eq!(names(folder.path()), ["fit.checkpoint", "fit.checkpoint.1"]);
}

#[test]
fn a_folder_in_the_place_of_a_file_is_said() {
    let (folder, mut store) = store();
    fs::create_dir(&store.newest).unwrap();
    let read = store.load(&identity()).unwrap_err();
    assert!(matches!(&read, CheckpointError::NotRead { path, .. } if *path == store.newest));
    let written = store.save(&identity(), b"").unwrap_err();
    assert!(matches!(written, CheckpointError::NotWritten { .. }), "{written}");
    fs::remove_dir(&store.newest).unwrap();

    fs::create_dir(&store.beside).unwrap();
    store.save(&identity(), b"").unwrap();
    store.remove().unwrap();
    fs::remove_dir(&store.beside).unwrap();

    store.save(&identity(), b"first").unwrap();
    fs::create_dir(&store.older).unwrap();
    let written = store.save(&identity(), b"second").unwrap_err();
    assert!(matches!(written, CheckpointError::NotWritten { .. }), "{written}");
    assert_eq!(store.load(&identity()).unwrap().as_deref(), Some(&b"first"[..]));
    assert_eq!(names(folder.path()), ["fit.checkpoint", "fit.checkpoint.1"]);

    let nowhere = Store::new(&folder.path().join("no/such/folder"));
    assert_eq!(nowhere.load(&identity()), Ok(None));
    let written = nowhere.clone().save(&identity(), b"").unwrap_err();
    assert!(matches!(written, CheckpointError::NotWritten { .. }), "{written}");
    let within = Store::new(&folder.path().join("fit.checkpoint/of"));
    let read = within.load(&identity()).unwrap_err();
    assert!(matches!(read, CheckpointError::NotRead { .. }), "{read}");
}

/// An endless file of the system, which a user may give by mistake.
#[cfg(unix)]
#[test]
fn a_device_is_no_file() {
    let store = Store::new(Path::new("/dev/zero"));
    let error = store.load(&identity()).unwrap_err();
    assert!(error.to_string().contains("it is no regular file"), "{error}");
    let error = store.clone().save(&identity(), b"").unwrap_err();
    assert!(matches!(error, CheckpointError::NotWritten { .. }), "{error}");
}

/// A large file that is not a checkpoint is not read into memory.
#[test]
fn no_more_is_read_than_needed() {
    struct Endless(u64, std::cell::Cell<u64>);
    impl std::io::Read for &Endless {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.1.set(self.1.get() + to.len() as u64);
            to.fill(b'x');
            Ok(to.len())
        }
    }
    let endless = Endless(1 << 40, 0.into());
    let readable = super::super::fs::Readable { bytes: Box::new(&endless), length: endless.0 };
    let found = format::read(readable, &identity()).unwrap();
    assert_eq!(found, FileContents::Damaged(Damage::Magic));
    assert!(endless.1.get() <= 64, "{} bytes were read", endless.1.get());
}
