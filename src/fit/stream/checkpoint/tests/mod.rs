//! Faults of the files of a checkpoint, and the required state afterwards.

mod damage;
mod faults;
mod faulty;
mod memory;
mod power;
mod process;

use super::*;
use tempfile::TempDir;

/// Returns the bytes of a checkpoint.
fn file_of(identity: &Identity, contents: &[u8]) -> Vec<u8> {
    format::file(identity, contents).unwrap()
}

fn identity() -> Identity {
    Identity(vec![("model", "a exp(-b t)".to_owned()), ("start", "1, 2".to_owned())])
}

/// Creates a folder with a store.
fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(&folder.path().join("fit.checkpoint"));
    (folder, store)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns true if there are partial files next to the checkpoints of a store.
fn has_parts(store: &Store) -> bool {
    let beside = store.beside.file_name().unwrap().to_str().unwrap();
    names(folder_of(&store.newest)).iter().any(|name| name.starts_with(beside))
}

#[test]
fn what_is_saved_is_loaded_and_the_one_before_it_is_kept() {
    let (folder, mut store) = store();
    let identity = identity();
    assert_eq!(store.load(&identity), Ok(None));
    for contents in [&b"first"[..], b"", &[0; 100_000], b"last"] {
        store.save(&identity, contents).unwrap();
        assert_eq!(store.load(&identity).unwrap().as_deref(), Some(contents));
        let again = Store::new(&store.newest);
        assert_eq!(again.load(&identity).unwrap().as_deref(), Some(contents), "another process");
    }
    assert_eq!(names(folder.path()), ["fit.checkpoint", "fit.checkpoint.1"]);
    std::fs::remove_file(&store.newest).unwrap();
    assert_eq!(store.load(&identity), Ok(None), "a fit whose file was removed begins anew");
    store.save(&identity, b"next").unwrap();
    assert_eq!(store.load(&identity).unwrap().as_deref(), Some(&b"next"[..]));
    store.remove().unwrap();
    assert!(names(folder.path()).is_empty());
    assert_eq!(store.load(&identity), Ok(None));
    store.remove().unwrap();
}

#[test]
fn a_path_without_a_folder_is_in_the_present_one() {
    assert_eq!(folder_of(Path::new("fit")), Path::new("."));
    assert_eq!(folder_of(Path::new("a/fit")), Path::new("a"));
    assert_eq!(folder_of(Path::new("/fit")), Path::new("/"));
}

#[test]
fn files_of_a_killed_process_are_replaced() {
    let (folder, mut store) = store();
    for stale in [&b""[..], b"FITCK", &[0; 10_000]] {
        std::fs::write(&store.beside, stale).unwrap();
        assert!(store.load(&identity()).is_ok(), "what lies beside is no checkpoint");
        store.save(&identity(), b"contents").unwrap();
        assert_eq!(store.load(&identity()).unwrap().as_deref(), Some(&b"contents"[..]));
        assert!(!has_parts(&store));
    }
    std::fs::write(&store.beside, b"FITCK").unwrap();
    store.remove().unwrap();
    assert!(names(folder.path()).is_empty());
}

#[test]
fn files_that_are_being_written_and_those_of_others_are_left() {
    let (folder, mut store) = store();
    let beside = |rest: &str| {
        let mut path = store.beside.clone().into_os_string();
        path.push(rest);
        PathBuf::from(path)
    };
    let (live, dead, notes) = (beside("-1-0"), beside("-1-1"), beside(".txt"));
    let writing = Disk.create(&live).unwrap();
    [&dead, &notes].into_iter().for_each(|path| std::fs::write(path, b"FITCK").unwrap());
    let there = |paths: [&Path; 3]| paths.map(Path::exists);
    store.save(&identity(), b"contents").unwrap();
    assert_eq!(there([&live, &dead, &notes]), [true, false, true]);
    store.remove().unwrap();
    assert_eq!(there([&live, &dead, &notes]), [true, false, true]);
    drop(writing);
    store.remove().unwrap();
    assert_eq!(there([&live, &dead, &notes]), [false, false, true]);
    assert_eq!(names(folder.path()).len(), 1);
}

/// Another process saves, or ends the fit, between any two calls of a save.
#[test]
fn others_that_save_or_remove_meanwhile_are_no_hindrance() {
    let (folder, mut store) = store();
    store.save(&identity(), b"older").unwrap();
    store.save(&identity(), b"old").unwrap();
    let remove = |path: &Path| unless_absent(std::fs::remove_file(path)).unwrap();
    // If the newest checkpoint is missing, another process has already kept it.
    remove(&store.newest);
    store.keep_newest().unwrap();
    store.save(&identity(), b"new").unwrap();
    std::fs::write(&store.older, file_of(&identity(), b"other's")).unwrap();
    assert_eq!(
        Disk.link(&store.newest, &store.older).unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    store.keep_newest().unwrap();
    // A file that is being written looks abandoned before it is locked.
    let thief = Thief { left: 2.into() };
    Store::on(&thief, &store.newest).save(&identity(), b"next").unwrap();
    assert_eq!(thief.left.get(), 0);
    assert_eq!(store.load(&identity()).unwrap().as_deref(), Some(&b"next"[..]));
    assert_eq!(names(folder.path()), ["fit.checkpoint", "fit.checkpoint.1"]);
    // If all tries fail, the save returns an error.
    let thief = Thief { left: 1000.into() };
    let stolen = Store::on(&thief, &store.newest).save(&identity(), b"last");
    assert!(matches!(stolen, Err(CheckpointError::NotWritten { .. })), "{stolen:?}");
}

/// A disk on which another process removes files as soon as they are created.
struct Thief {
    left: std::cell::Cell<usize>,
}

impl Fs for &Thief {
    fn open(&self, path: &Path) -> io::Result<fs::Readable<'_>> {
        Disk.open(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn fs::Writable + '_>> {
        drop(Disk.create(path)?);
        let stolen = std::fs::OpenOptions::new().write(true).open(path)?;
        if self.left.get() > 0 {
            self.left.set(self.left.get() - 1);
            std::fs::remove_file(path)?;
        }
        Ok(Box::new(stolen))
    }

    fn unique(&self) -> String {
        Disk.unique()
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        Disk.list(folder)
    }

    fn is_abandoned(&self, path: &Path) -> io::Result<bool> {
        Disk.is_abandoned(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        Disk.sync_folder(folder)
    }
}

#[test]
fn another_fit_is_refused_by_name_and_not_overwritten() {
    let (_folder, mut store) = store();
    let other = Identity(vec![("model", "a exp(-b t)".to_owned()), ("start", "1, 3".to_owned())]);
    store.save(&other, b"older").unwrap();
    store.save(&identity(), b"newest").unwrap_err();
    store.save(&other, b"newest").unwrap();
    let before = std::fs::read(&store.newest).unwrap();
    let expected = CheckpointError::Mismatch {
        path: store.newest.clone(),
        field: "start".to_owned(),
        found: "1, 3".to_owned(),
        expected: "1, 2".to_owned(),
    };
    assert_eq!(store.load(&identity()), Err(expected.clone()));
    assert_eq!(store.save(&identity(), b"contents"), Err(expected));
    assert_eq!(std::fs::read(&store.newest).unwrap(), before);

    // The previous checkpoint is ours, but the newer file is not ignored.
    std::fs::write(&store.older, file_of(&identity(), b"ours")).unwrap();
    let error = store.load(&identity()).unwrap_err();
    assert!(matches!(error, CheckpointError::Mismatch { .. }), "{error}");

    // The newest file is damaged, and the previous checkpoint belongs to another fit.
    std::fs::copy(&store.newest, &store.older).unwrap();
    std::fs::write(&store.newest, &before[..before.len() - 1]).unwrap();
    let error = store.load(&identity()).unwrap_err();
    assert!(matches!(&error, CheckpointError::Corrupt { path, .. } if *path == store.newest));
    assert!(error.to_string().contains("(start: 1, 3 there, 1, 2 here)"), "{error}");

    // If the file is removed, the fit begins anew, even if the previous checkpoint exists.
    std::fs::remove_file(&store.newest).unwrap();
    assert_eq!(store.load(&identity()), Ok(None));
    for contents in [&b"first"[..], b"second"] {
        store.save(&identity(), contents).unwrap();
        assert_eq!(store.load(&identity()).unwrap().as_deref(), Some(contents));
    }
    assert_eq!(std::fs::read(&store.older).unwrap(), file_of(&identity(), b"first"));
}

#[test]
fn other_versions_are_refused_by_number() {
    let (_folder, mut store) = store();
    for version in [0_u32, 1, 2, u32::MAX] {
        let mut file = file_of(&identity(), b"contents");
        file[8..12].copy_from_slice(&version.to_le_bytes());
        // Another version may write any bytes after the length.
        let end = file.len() - format::DIGEST;
        file[format::HEADER..end].fill(0xff);
        sign(&mut file);
        std::fs::write(&store.newest, file).unwrap();
        std::fs::write(&store.older, file_of(&identity(), b"older")).unwrap();
        let error = store.load(&identity()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the checkpoint {} belongs to another fit (version of the format: {version} there, 7 here); \
                 to begin anew remove it and the one before it, {}, or give another path",
                store.newest.display(),
                store.older.display()
            )
        );
        assert_eq!(store.save(&identity(), b"contents"), Err(error));
    }
}

/// Recomputes the digest of a changed file.
fn sign(file: &mut [u8]) {
    use sha2::{Digest, Sha256};
    let (body, digest) = file.split_last_chunk_mut::<{ format::DIGEST }>().unwrap();
    digest.copy_from_slice(&Sha256::digest(body));
}

#[test]
fn the_format_is_fixed() {
    let identity = Identity(vec![("model", "m".to_owned())]);
    let file = file_of(&identity, b"xyz");
    let expected = [
        &b"FITCKPT1"[..],
        &[7, 0, 0, 0],
        &[12, 0, 0, 0, 0, 0, 0, 0],
        &[1],
        &[5],
        b"model",
        &[1],
        b"m",
        b"xyz",
    ];
    assert_eq!(file[..file.len() - 32], expected.concat());
}
