//! Imports run one way: error → host → observe → threads → constants → saved → math → model → data → normal → solver → backend → fit → curve_fit → models → progress.

use super::paths::Crate;
use crate::{files, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules, lowest first. A file may import from its own module and from those before it.
const ROOMS: [&str; 17] = [
    "error",
    "host",
    "observe",
    "threads",
    "setters",
    "constants",
    "saved",
    "math",
    "model",
    "data",
    "normal",
    "solver",
    "backend",
    "fit",
    "curve_fit",
    "models",
    "progress",
];

/// Modules of `lib.rs` that only re-export items, for users and for other crates.
const OFFERED: [&str; 7] = ["arrays", "device", "parts", "program", "result", "source", "text"];

fn rank(room: &str) -> Option<usize> {
    ROOMS.iter().position(|r| *r == room)
}

fn src() -> PathBuf {
    root().join("src")
}

#[test]
fn every_import_points_downwards() {
    let all = Crate::read(&src());
    let (mut imports, mut wrong) = (0, Vec::new());
    for (module, named) in all.0.iter().flat_map(|(path, m)| m.named.iter().map(move |n| (path, n)))
    {
        let Some(room) = module.first() else { continue };
        // Suites that the crate's own tests share with those outside.
        if room == "support" {
            continue;
        }
        let first = named.path.first().map_or("", String::as_str);
        if OFFERED.contains(&room.as_str()) {
            continue;
        }
        if OFFERED.contains(&first) && !named.in_tests {
            let path = named.path.join("::");
            wrong.push(format!("{}, line {}: {path} is for users", module.join("::"), named.line));
        }
        let here = rank(room).unwrap_or_else(|| panic!("{room} is no room of the plan"));
        let Some(there) = named.path.first().and_then(|name| rank(name)) else { continue };
        imports += 1;
        if there > here {
            let path = named.path.join("::");
            wrong.push(format!("{}, line {}: {path}", module.join("::"), named.line));
        }
    }
    assert!(imports > 1000, "only {imports} imports were recognised");
    assert!(wrong.is_empty(), "imports that point upwards:\n{}", wrong.join("\n"));
}

/// The files that one needs, directly or through others.
fn reached<'a>(needs: &'a BTreeMap<String, BTreeSet<String>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        let next = needs.get(file).into_iter().flatten().map(String::as_str);
        open.extend(next.filter(|file| found.insert(*file)));
    }
    found
}

/// Files of which each needs the others, directly or through further ones.
fn circles(needs: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        needs.keys().map(|file| (file.as_str(), reached(needs, file))).collect();
    let of = |file: &&str| -> Vec<&str> {
        let there = reached[file].iter().copied();
        there.filter(|other| reached.get(other).is_some_and(|back| back.contains(file))).collect()
    };
    let mut all: Vec<Vec<&str>> =
        reached.keys().map(of).filter(|circle| circle.len() > 1).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn no_file_needs_itself_through_others() {
    let src = src();
    let all = Crate::read(&src);
    let name = |file: &Path| file.strip_prefix(&src).unwrap().display().to_string();
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for module in all.0.values() {
        for named in module.named.iter().filter(|named| !named.in_tests && !named.is_offered) {
            let Some(file) = all.file(&named.path) else { continue };
            if file != module.file {
                needs.entry(name(&module.file)).or_default().insert(name(file));
            }
        }
    }
    assert!(needs.len() > 50, "only {} files were recognised", needs.len());
    let found = circles(&needs);
    assert!(found.is_empty(), "files that need each other: {found:#?}");
}

/// rayon panics if it cannot create threads. Therefore a single file calls it, after it has checked for threads.
#[test]
fn threads_are_asked_for_in_one_place() {
    let mut users = Vec::new();
    for file in files(&src(), &["rs"], &[]) {
        let text = fs::read_to_string(&file).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod").next().unwrap();
        let is_test = file.components().any(|part| part.as_os_str() == "tests")
            || file.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"));
        let code = |line: &str| line.contains("rayon::") && !line.trim_start().starts_with("//");
        if !is_test && shipped.lines().any(code) {
            users.push(file.strip_prefix(src()).unwrap().display().to_string());
        }
    }
    assert_eq!(users, ["threads.rs"], "they hand work to rayon by themselves");
}

#[test]
fn files_stay_small() {
    let files = files(&src(), &["rs"], &[]);
    let length = |file: &PathBuf| fs::read_to_string(file).unwrap().lines().count();
    let (longest, file) = files.iter().map(|file| (length(file), file)).max().unwrap();
    assert!(longest <= 500, "{} has {longest} lines", file.display());
}

/// `tests/map.txt` has a line for each module of `src`, each folder of `tests` with a test program, and names programs that exist.
#[test]
fn every_module_has_its_tests_in_the_map() {
    let root = root();
    let text = fs::read_to_string(root.join("tests/map.txt")).unwrap();
    let lines: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(": ").unwrap_or_else(|| panic!("no `: ` in {line}")))
        .collect();
    let is_listed = |path: &str| lines.iter().any(|(listed, _)| *listed == path);
    for room in ROOMS.iter().filter(|room| src().join(room).is_dir()) {
        assert!(is_listed(&format!("src/{room}")), "src/{room} is missing");
    }
    for entry in fs::read_dir(root.join("tests")).unwrap() {
        let path = entry.unwrap().path();
        if path.join("main.rs").exists() {
            let name = format!("tests/{}", path.file_name().unwrap().to_str().unwrap());
            assert!(is_listed(&name), "{name} is missing");
        }
    }
    for (path, runs) in &lines {
        assert!(root.join(path).exists(), "{path} does not exist");
        for program in
            runs.split("--test ").skip(1).map(|rest| rest.split([' ', ';']).next().unwrap())
        {
            let base = root.join("tests").join(program);
            let exists = base.join("main.rs").exists() || base.with_extension("rs").exists();
            assert!(exists, "there is no test program {program}");
        }
    }
}
