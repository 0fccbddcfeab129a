//! File system in memory that computes all states that a loss of power may leave.
//!
//! Bytes that were not synced may be lost, truncated or zero. Changes of names that were not synced may be lost,
//! independently of each other and in any order, as in a journal without guarantees.

use super::super::fs::{Fs, Readable, Writable};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Contents of the visible files, by name.
pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;
/// Numbers of files by name.
type Names = BTreeMap<PathBuf, usize>;

/// Change of one name: the name, and the number of its file from now on, if any.
type Change = (PathBuf, Option<usize>);

#[derive(Clone, Debug, Default)]
struct File {
    bytes: Vec<u8>,
    synced: bool,
}

#[derive(Clone, Debug, Default)]
struct State {
    files: Vec<File>,
    names: Names,
    /// The names at the last sync of the folder.
    on_disk: Names,
    /// Changes since then. The changes of one entry happen together.
    pending: Vec<Vec<Change>>,
}

/// File system in memory. All folders are the same folder.
#[derive(Debug)]
pub(super) struct Memory {
    state: RefCell<State>,
    /// True if a file can have two names.
    links: bool,
    /// True if the two changes of a rename are atomic.
    atomic: bool,
    /// Number of names that temporary files have received.
    given: Cell<usize>,
}

impl State {
    fn get(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or(ErrorKind::NotFound.into())
    }

    fn change(&mut self, changes: Vec<Change>) {
        changes.iter().for_each(|change| apply(&mut self.names, change));
        self.pending.push(changes);
    }
}

fn apply(names: &mut Names, (name, file): &Change) {
    match file {
        Some(file) => drop(names.insert(name.clone(), *file)),
        None => drop(names.remove(name)),
    }
}

impl Memory {
    /// Creates the file system with `files` synced to the disk.
    pub(super) fn new(files: &Files, links: bool, atomic: bool) -> Memory {
        let mut state = State::default();
        for (number, (name, bytes)) in files.iter().enumerate() {
            state.files.push(File { bytes: bytes.clone(), synced: true });
            state.names.insert(name.clone(), number);
        }
        state.on_disk = state.names.clone();
        Memory { state: state.into(), links, atomic, given: 0.into() }
    }

    /// Returns all states that a loss of power at this moment may leave.
    pub(super) fn after_power_loss(&self) -> BTreeSet<Files> {
        let state = self.state.borrow();
        let groups: Vec<Vec<Change>> = if self.atomic {
            state.pending.clone()
        } else {
            state.pending.concat().into_iter().map(|change| vec![change]).collect()
        };
        let mut possible = BTreeSet::new();
        for subset in 0..1_u32 << groups.len() {
            let mut names = state.on_disk.clone();
            for (i, group) in groups.iter().enumerate() {
                if subset >> i & 1 == 1 {
                    group.iter().for_each(|change| apply(&mut names, change));
                }
            }
            possible.insert(names);
        }
        possible.iter().flat_map(|names| contents(&state.files, names)).collect()
    }
}

/// Returns every combination of contents that `names` may have.
fn contents(files: &[File], names: &Names) -> Vec<Files> {
    let mut all = vec![Files::new()];
    for (name, number) in names {
        let File { bytes, synced } = &files[*number];
        let mut versions = vec![bytes.clone()];
        if !synced {
            let half = bytes.len() / 2;
            versions.extend([0, half, bytes.len().saturating_sub(1)].map(|n| bytes[..n].to_vec()));
            versions.push(vec![0; bytes.len()]);
            versions.push([&vec![0; half][..], &bytes[half..]].concat());
        }
        let with = |files: &Files, version: Vec<u8>| {
            let mut files = files.clone();
            files.insert(name.clone(), version);
            files
        };
        all = all
            .iter()
            .flat_map(|files| versions.iter().map(|version| with(files, version.clone())))
            .collect();
    }
    all
}

struct Open<'a> {
    memory: &'a Memory,
    number: usize,
}

impl Writable for Open<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = &mut self.memory.state.borrow_mut().files[self.number];
        file.bytes.extend_from_slice(bytes);
        file.synced = false;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.memory.state.borrow_mut().files[self.number].synced = true;
        Ok(())
    }
}

impl Fs for Memory {
    fn open(&self, path: &Path) -> io::Result<Readable<'_>> {
        let state = self.state.borrow();
        let bytes = state.files[state.get(path)?].bytes.clone();
        let length = bytes.len() as u64;
        Ok(Readable { bytes: Box::new(io::Cursor::new(bytes)), length })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Writable + '_>> {
        let mut state = self.state.borrow_mut();
        if state.get(path).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let number = state.files.len();
        state.files.push(File::default());
        state.change(vec![(path.to_owned(), Some(number))]);
        Ok(Box::new(Open { memory: self, number }))
    }

    fn unique(&self) -> String {
        self.given.set(self.given.get() + 1);
        format!("-{}", self.given.get())
    }

    fn list(&self, _folder: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.state.borrow().names.keys().cloned().collect())
    }

    fn is_abandoned(&self, path: &Path) -> io::Result<bool> {
        self.state.borrow().get(path).map(|_| true)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        let file = state.get(from)?;
        match state.get(to) {
            _ if !self.links => Err(ErrorKind::Unsupported.into()),
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(_) => {
                state.change(vec![(to.to_owned(), Some(file))]);
                Ok(())
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        let file = state.get(from)?;
        state.change(vec![(to.to_owned(), Some(file)), (from.to_owned(), None)]);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        state.get(path)?;
        state.change(vec![(path.to_owned(), None)]);
        Ok(())
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        let state = &mut *self.state.borrow_mut();
        state.on_disk = state.names.clone();
        state.pending.clear();
        Ok(())
    }
}
