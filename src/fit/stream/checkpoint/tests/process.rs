//! Tests with real processes: killed at random moments, reading while another process writes, on a full disk, and
//! without permission.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

/// Environment variable with the task and the path of a child process.
const TASK: &str = "DUALFIT_TEST_CHECKPOINT";
const CHILD: &str = "fit::stream::checkpoint::tests::process::child";

/// Returns contents that include `number` and whose length depends on it.
fn contents(number: u64) -> Vec<u8> {
    let length = 100 + number as usize % 7 * 50;
    number.to_le_bytes().into_iter().cycle().take(8 * length).collect()
}

/// Returns the number in complete contents.
fn number(loaded: &[u8]) -> u64 {
    let number = u64::from_le_bytes(loaded[..8].try_into().unwrap());
    assert_eq!(loaded, contents(number));
    number
}

/// Runs the task of a child process of these tests.
#[test]
fn child() {
    let Ok(task) = env::var(TASK) else { return };
    let (task, path) = task.split_once(' ').unwrap();
    match task {
        "save" => save_for_ever(Path::new(path)),
        "full" => fill(Path::new(path)),
        "together" => save_together(Path::new(path)),
        #[cfg(unix)]
        "limited" => save_beyond_the_limit(Path::new(path)),
        task => panic!("{task}"),
    }
}

fn save_for_ever(path: &Path) {
    let mut store = Store::new(path);
    let first = store.load(&identity()).unwrap().map_or(0, |loaded| number(&loaded));
    for next in first + 1.. {
        store.save(&identity(), &contents(next)).unwrap();
        println!("\nsaved {next}");
    }
}

/// Returns the command that runs this test program with a task.
fn program(task: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", CHILD, "--nocapture"]);
    command.env(TASK, format!("{task} {}", path.display()));
    command
}

/// Returns the number in a line of the saving process.
fn saved(line: &str) -> Option<u64> {
    line.strip_prefix("saved ").map(|number| number.parse().unwrap())
}

#[test]
fn a_killed_process_loses_no_checkpoint_that_it_had_saved() {
    let (folder, store) = store();
    let (mut seed, mut last) = (1_u64, 0);
    for round in 0..20 {
        let mut command = program("save", &store.newest);
        let mut child: Child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.by_ref().find_map(|line| saved(&line.unwrap())).unwrap();
        assert_eq!(first, last + 1, "round {round}");
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        thread::sleep(Duration::from_micros((seed >> 33) % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        // The last line may be incomplete.
        let said: Vec<String> = lines.map_while(Result::ok).collect();
        let complete = said.iter().filter(|line| line.len() > "saved ".len());
        let reported = complete.filter_map(|line| saved(line)).max().unwrap_or(first);
        last = number(&store.load(&identity()).unwrap().unwrap());
        assert!(last >= reported && last <= reported + 1, "{last} is there, {reported} was saved");
    }
    println!("{last} saves in 20 processes");
    store.remove().unwrap();
    assert!(names(folder.path()).is_empty());
}

#[test]
fn readers_see_whole_files_while_another_writes() {
    let (_folder, store) = store();
    store.clone().save(&identity(), &contents(0)).unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut last, mut loads) = (0, 0);
                while !is_done.load(Ordering::Relaxed) {
                    let next = number(&store.load(&identity()).unwrap().unwrap());
                    assert!(next >= last, "{next} after {last}");
                    last = next;
                    loads += 1;
                }
                println!("{loads} loads");
            });
        }
        let mut writer = store.clone();
        for i in 1..=100 {
            writer.save(&identity(), &contents(i)).unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(store.load(&identity()).unwrap(), Some(contents(100)));
}

/// Saves at the same time as other processes, and sometimes removes the files.
fn save_together(path: &Path) {
    let mut store = Store::new(path);
    for next in 1..=30 {
        store.save(&identity(), &contents(next)).unwrap();
        store.load(&identity()).unwrap().iter().for_each(|loaded| {
            number(loaded);
        });
        if next % 10 == 0 {
            store.remove().unwrap();
        }
    }
}

#[test]
fn many_processes_save_on_one_checkpoint() {
    let (folder, store) = store();
    let children: Vec<Child> = (0..4)
        .map(|_| {
            let mut command = program("together", &store.newest);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    store.remove().unwrap();
    assert!(names(folder.path()).is_empty());
}

/// Saves more bytes than a file of this process may have.
#[cfg(unix)]
fn save_beyond_the_limit(path: &Path) {
    let mut store = Store::new(path);
    store.save(&identity(), &contents(1)).unwrap();
    let limit = libc::rlimit { rlim_cur: 2048, rlim_max: 2048 };
    // SAFETY: `limit` is an initialised structure and is only read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
    for _ in 0..3 {
        let error = store.save(&identity(), &contents(6)).unwrap_err();
        assert!(error.to_string().contains("File too large"), "{error}");
        assert_eq!(store.load(&identity()).unwrap(), Some(contents(1)));
        assert_eq!(names(folder_of(path)), ["fit.checkpoint"]);
    }
    println!("\nthe file was too large");
}

#[cfg(unix)]
#[test]
fn a_limit_of_size_is_said_and_leaves_no_part() {
    let (_folder, store) = store();
    let output = program("limited", &store.newest).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(out.contains("\nthe file was too large\n"), "{:?}: {out}{err}", output.status);
}

/// Fills the disk of a folder, and saves.
fn fill(folder: &Path) {
    let mut store = Store::new(&folder.join("fit.checkpoint"));
    store.save(&identity(), &contents(1)).unwrap();
    store.save(&identity(), &contents(2)).unwrap();
    let ballast = folder.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[1; 1024]).is_ok() {}
    drop(file);
    for _ in 0..3 {
        let error = store.save(&identity(), &contents(3)).unwrap_err();
        assert!(error.to_string().contains("No space left"), "{error}");
        assert!(matches!(error, CheckpointError::NotWritten { .. }), "{error}");
        assert_eq!(store.load(&identity()).unwrap(), Some(contents(2)));
        assert_eq!(names(folder), ["ballast", "fit.checkpoint", "fit.checkpoint.1"]);
    }
    fs::remove_file(&ballast).unwrap();
    store.save(&identity(), &contents(4)).unwrap();
    assert_eq!(store.load(&identity()).unwrap(), Some(contents(4)));
    println!("\nthe disk was full");
}

/// Runs in a separate name space, in which a user may mount a disk in memory.
#[test]
fn a_full_disk_is_said_and_the_last_checkpoint_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let child = program("full", folder.path());
    let mount = "mount -t tmpfs -o size=64k none \"$0\" && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", mount]);
    command.arg(folder.path()).arg(child.get_program()).args(child.get_args());
    command.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return println!("skipped: no disk could be mounted: {error}"),
    };
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    if !out.contains("running 1 test") {
        return println!("skipped: no disk could be mounted: {err}");
    }
    assert!(out.contains("\nthe disk was full\n"), "{out}{err}");
}

#[cfg(unix)]
#[test]
fn what_is_forbidden_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, mut store) = store();
    let allow = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    store.save(&identity(), b"first").unwrap();
    allow(&store.newest, 0);
    if fs::read(&store.newest).is_ok() {
        return println!("skipped: this user may read everything");
    }
    let read = store.load(&identity()).unwrap_err();
    assert!(matches!(read, CheckpointError::NotRead { .. }), "{read}");
    allow(&store.newest, 0o600);
    allow(folder.path(), 0o500);
    let written = store.save(&identity(), b"second").unwrap_err();
    assert!(matches!(written, CheckpointError::NotWritten { .. }), "{written}");
    assert_eq!(store.load(&identity()).unwrap().as_deref(), Some(&b"first"[..]));
    allow(folder.path(), 0o700);
}
