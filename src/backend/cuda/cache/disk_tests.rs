//! Tests of the disk cache with files that are truncated, modified, foreign, accessed concurrently, or too many.

use super::*;
use std::env;
use std::process::Command;
use tempfile::TempDir;

fn key(number: u8) -> Key {
    Key([number; 32])
}

fn disk(limit: u64) -> (TempDir, DiskCache) {
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskCache::new(folder.path().to_owned(), limit);
    (folder, disk)
}

/// Payload of an entry that fills `length` bytes.
fn filling(length: usize, byte: u8) -> Vec<u8> {
    vec![byte; length - entry(b"", &key(0)).len()]
}

#[test]
fn what_is_written_is_read() {
    let (_folder, disk) = disk(LIMIT);
    assert_eq!(disk.read(&key(1)), None);
    for payload in [&b""[..], b"x", &[7; 100_000]] {
        disk.write(&key(1), payload);
        assert_eq!(disk.read(&key(1)).as_deref(), Some(payload));
    }
    disk.remove(&key(1));
    assert_eq!(disk.read(&key(1)), None);
}

#[test]
fn every_truncation_and_every_flipped_bit_is_found() {
    let (_folder, disk) = disk(LIMIT);
    disk.write(&key(1), b"an image of a kernel");
    let path = disk.path(&key(1));
    let sound = fs::read(&path).unwrap();
    assert_eq!(sound, entry(b"an image of a kernel", &key(1)));
    let is_refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        disk.read(&key(1)).is_none()
    };
    for length in 0..sound.len() {
        assert!(is_refused(&sound[..length]), "cut to {length} bytes");
    }
    for bit in 0..8 * sound.len() {
        let mut wrong = sound.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert!(is_refused(&wrong), "bit {bit}");
    }
    assert!(is_refused(&[&sound[..], b"\0"].concat()), "a byte too many");
    assert!(!is_refused(&sound));
}

#[test]
fn entries_of_others_are_refused() {
    let (_folder, disk) = disk(LIMIT);
    fs::write(disk.path(&key(1)), entry(b"payload", &key(2))).unwrap();
    assert_eq!(disk.read(&key(1)), None, "of another key");
    fs::remove_file(disk.path(&key(1))).unwrap();
    fs::create_dir(disk.path(&key(1))).unwrap();
    assert_eq!(disk.read(&key(1)), None, "a folder");
    disk.write(&key(1), b"payload");
    assert_eq!(disk.read(&key(1)), None, "a folder is in the way");
    assert_eq!(fs::read_dir(&disk.folder).unwrap().count(), 1, "a part was left");
}

#[test]
fn a_folder_that_cannot_be_written_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    // A folder below a file cannot exist, for any user.
    let below = DiskCache::new(file.join("cache"), LIMIT);
    below.write(&key(1), b"payload");
    below.remove(&key(1));
    assert_eq!(below.read(&key(1)), None);
    let full = DiskCache::new(PathBuf::from("/dev/full/cache"), LIMIT);
    full.write(&key(1), b"payload");
    assert_eq!(full.read(&key(1)), None);
}

#[test]
#[cfg(unix)]
fn a_folder_that_may_only_be_read_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, disk) = disk(LIMIT);
    disk.write(&key(1), b"payload");
    fs::set_permissions(disk.path(&key(1)), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    disk.write(&key(2), b"more");
    // The superuser may write in spite of the permissions.
    let writable = File::create_new(folder.path().join("probe")).is_ok();
    assert_eq!(disk.read(&key(2)).is_some(), writable);
    assert_eq!(disk.read(&key(1)).as_deref(), Some(&b"payload"[..]));
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_least_recently_used_go_when_the_limit_is_reached() {
    let (_folder, disk) = disk(1000);
    for number in 0..4 {
        disk.write(&key(number), &filling(250, number));
    }
    // A read of the oldest entry makes the second entry the oldest.
    assert!(disk.read(&key(0)).is_some());
    disk.write(&key(4), &filling(300, 4));
    let there = |number| disk.path(&key(number)).exists();
    assert_eq!([0, 1, 2, 3, 4].map(there), [true, false, false, true, true]);
    // An entry of the size of the limit replaces all others; a larger entry is not written.
    disk.write(&key(5), &filling(1000, 5));
    assert_eq!([0, 3, 4, 5].map(there), [false, false, false, true]);
    disk.write(&key(6), &filling(1001, 6));
    assert_eq!([5, 6].map(there), [true, false]);
}

#[test]
fn only_our_own_files_are_removed() {
    let (folder, disk) = disk(600);
    for (name, age) in [("notes.txt", 0), ("fresh.part", 10), ("old.part", 7200)] {
        let file = File::create(folder.path().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }
    disk.write(&key(1), &filling(500, 1));
    disk.write(&key(2), &filling(500, 2));
    let there = |name: &str| folder.path().join(name).exists();
    assert!(there("notes.txt") && there("fresh.part") && !there("old.part"));
    assert!(disk.read(&key(1)).is_none() && disk.read(&key(2)).is_some());
}

#[test]
fn the_environment_says_where_and_how_much() {
    let text = |text: &str| Some(OsString::from(text));
    let home = || Some(PathBuf::from("home"));
    let said = |folder, limit| settings(folder, limit, home).map(|disk| (disk.folder, disk.limit));
    assert_eq!(said(None, None), Some(("home/dualfit".into(), LIMIT)));
    assert_eq!(said(text("there"), text("1000")), Some(("there".into(), 1000)));
    assert_eq!(said(text("there"), text("much")), Some(("there".into(), LIMIT)));
    assert_eq!((said(text(""), None), said(text("off"), None)), (None, None));
    // Without a home directory the cache is in memory, unless a folder is named.
    assert!(settings(None, None, || None).is_none());
    assert!(settings(text("there"), None, || None).is_some());
}

/// Returns the payload of entry `number`. Each entry has a different length, therefore a mixture of two is detected.
fn of(number: u8) -> Vec<u8> {
    vec![number; 1000 + 100 * usize::from(number)]
}

/// Reads and writes the same entries from eight threads and checks that every entry that is read is complete.
fn hammer(disk: &DiskCache) {
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            scope.spawn(move || {
                for round in 0..40 {
                    let number = (thread.wrapping_mul(7).wrapping_add(round)) % 6;
                    disk.write(&key(number), &of(number));
                    for number in 0..6 {
                        if let Some(payload) = disk.read(&key(number)) {
                            assert!(payload == of(number), "entry {number} is not whole");
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn an_entry_that_others_write_again_is_always_whole() {
    let (_folder, disk) = disk(LIMIT);
    let payload = vec![9; 200_000];
    disk.write(&key(1), &payload);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..100).for_each(|_| disk.write(&key(1), &payload)));
        }
        for _ in 0..300 {
            assert!(disk.read(&key(1)).is_some_and(|read| read == payload));
        }
    });
}

/// Variable with the folder for the processes that [`eight_threads_and_four_processes_at_once`] starts.
const FOLDER: &str = "DUALFIT_TEST_CACHE_FOLDER";

#[test]
fn eight_threads_and_four_processes_at_once() {
    // The limit fits five of the six entries, therefore files are removed while others read them.
    let limit = (0..5).map(|number| entry(&of(number), &key(number)).len() as u64).sum();
    if let Some(folder) = env::var_os(FOLDER) {
        return hammer(&DiskCache::new(folder.into(), limit));
    }
    let (folder, disk) = disk(limit);
    let name = "backend::cuda::cache::disk_tests::eight_threads_and_four_processes_at_once";
    let start = |_| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", name, "--test-threads=1"]).env(FOLDER, folder.path());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let processes: Vec<_> = (0..4).map(start).collect();
    hammer(&disk);
    for process in processes {
        let output = process.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
    disk.write(&key(0), &of(0));
    assert_eq!(disk.read(&key(0)), Some(of(0)));
    let mut total = 0;
    for file in fs::read_dir(folder.path()).unwrap().flatten() {
        assert_eq!(file.path().extension(), Some(OsStr::new("image")), "a part was left");
        total += file.metadata().unwrap().len();
    }
    assert!(total <= limit, "{total} bytes are above the limit of {limit}");
}
