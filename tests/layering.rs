//! Imports run one way: error → observe → threads → constants → math → model → data → normal → backend → solver → fit → front → models → plot → progress → bin.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, lowest first. A file may import from its own room and from those before it.
const ROOMS: [&str; 16] = [
    "error",
    "observe",
    "threads",
    "constants",
    "math",
    "model",
    "data",
    "normal",
    "backend",
    "solver",
    "fit",
    "curve_fit",
    "models",
    "plot",
    "progress",
    "bin",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn rank(room: &str) -> Option<usize> {
    ROOMS.iter().position(|r| *r == room)
}

#[test]
fn every_import_points_downwards() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let (mut imports, mut wrong) = (0, Vec::new());
    for file in files {
        let relative = file.strip_prefix(&src).unwrap();
        let first = relative.components().next().unwrap().as_os_str().to_str().unwrap();
        let room = first.trim_end_matches(".rs");
        if room == "lib" {
            continue;
        }
        let here = rank(room).unwrap_or_else(|| panic!("{room} is no room of the plan"));
        for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            let code = line.split("//").next().unwrap();
            for path in code.split("crate::").skip(1) {
                let name: String =
                    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let Some(there) = rank(&name) else { continue };
                imports += 1;
                if there > here {
                    wrong.push(format!(
                        "{}:{}: {room} imports {name}",
                        relative.display(),
                        number + 1
                    ));
                }
            }
        }
    }
    assert!(imports > 50, "only {imports} imports were recognised");
    assert!(wrong.is_empty(), "imports that point upwards:\n{}", wrong.join("\n"));
}

/// rayon panics where it gets no threads, so nothing is handed to it before they are asked for.
#[test]
fn threads_are_asked_for_before_they_are_used() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut users, mut wrong) = (Vec::new(), 0, Vec::new());
    sources(&src, &mut files);
    for file in files.into_iter().filter(|file| !file.ends_with("threads.rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod").next().unwrap();
        let is_test = file.components().any(|part| part.as_os_str() == "tests")
            || file.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"));
        let direct = ["rayon::join(", "rayon::current_num_threads("];
        let divides = shipped.contains("rayon::prelude");
        users += usize::from(divides);
        if !is_test
            && (direct.iter().any(|call| shipped.contains(call))
                || (divides && !shipped.contains("threads::ready()")))
        {
            wrong.push(file.display().to_string());
        }
    }
    assert!(users > 5, "only {users} files were recognised");
    assert!(wrong.is_empty(), "threads that were not asked for:\n{}", wrong.join("\n"));
}

#[test]
fn files_stay_small() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut lengths: Vec<(usize, PathBuf)> =
        files.into_iter().map(|f| (fs::read_to_string(&f).unwrap().lines().count(), f)).collect();
    lengths.sort();
    let (longest, file) = lengths.last().unwrap();
    assert!(*longest <= 500, "{} has {longest} lines", file.display());
    let median = lengths[lengths.len() / 2].0;
    assert!(median < 200, "the median file has {median} lines");
}
