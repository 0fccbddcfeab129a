//! File system that fails at call number k, or from this call on, as after a kill of the process.

use super::super::fs::{Fs, Readable, Writable};
use std::cell::{Cell, RefCell};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Fault at a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fault {
    /// Number of the call, from 0.
    pub(super) at: usize,
    /// Error number of the system.
    pub(super) errno: i32,
    /// If true, all later calls fail, too: nothing changes any more, as after a kill.
    pub(super) lasts: bool,
    /// Number of bytes that are written before a write fails.
    pub(super) bytes: usize,
}

#[derive(Debug)]
pub(super) struct Faulty<F> {
    inner: F,
    fault: Option<Fault>,
    /// If true, files are synced to disk, which takes milliseconds and matters only after a loss of power.
    syncs: bool,
    next: Cell<usize>,
    /// Names of the calls.
    calls: RefCell<Vec<&'static str>>,
}

impl<F> Faulty<F> {
    pub(super) fn new(inner: F, fault: Option<Fault>) -> Faulty<F> {
        Faulty { inner, fault, syncs: true, next: 0.into(), calls: RefCell::default() }
    }

    /// Returns the same file system without syncing.
    pub(super) fn quick(self) -> Faulty<F> {
        Faulty { syncs: false, ..self }
    }

    pub(super) fn calls(&self) -> Vec<&'static str> {
        self.calls.borrow().clone()
    }

    /// Counts this call, and returns the fault if the call must fail.
    fn call(&self, name: &'static str) -> Result<(), (io::Error, Fault)> {
        let number = self.next.replace(self.next.get() + 1);
        self.calls.borrow_mut().push(name);
        match self.fault {
            Some(fault) if number == fault.at || fault.lasts && number > fault.at => {
                let bytes = if number == fault.at { fault.bytes } else { 0 };
                Err((io::Error::from_raw_os_error(fault.errno), Fault { bytes, ..fault }))
            }
            _ => Ok(()),
        }
    }

    fn done(&self, name: &'static str) -> io::Result<()> {
        self.call(name).map_err(|(error, _)| error)
    }
}

struct Reading<'a, F> {
    bytes: Box<dyn Read + 'a>,
    fs: &'a Faulty<F>,
}

impl<F> Read for Reading<'_, F> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.fs.done("read")?;
        self.bytes.read(to)
    }
}

struct Writing<'a, F> {
    file: Box<dyn Writable + 'a>,
    fs: &'a Faulty<F>,
}

impl<F> Writable for Writing<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.fs.call("write") {
            Ok(()) => self.file.write(bytes),
            Err((error, fault)) => {
                self.file.write(&bytes[..fault.bytes.min(bytes.len())])?;
                Err(error)
            }
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.fs.done("sync")?;
        if self.fs.syncs { self.file.sync() } else { Ok(()) }
    }
}

impl<F: Fs> Fs for Faulty<F> {
    fn open(&self, path: &Path) -> io::Result<Readable<'_>> {
        self.done("open")?;
        let Readable { bytes, length } = self.inner.open(path)?;
        Ok(Readable { bytes: Box::new(Reading { bytes, fs: self }), length })
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Writable + '_>> {
        self.done("create")?;
        Ok(Box::new(Writing { file: self.inner.create(path)?, fs: self }))
    }

    fn unique(&self) -> String {
        self.inner.unique()
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.done("list")?;
        self.inner.list(folder)
    }

    fn is_abandoned(&self, path: &Path) -> io::Result<bool> {
        self.done("is_abandoned")?;
        self.inner.is_abandoned(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.done("link")?;
        self.inner.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.done("rename")?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.done("remove")?;
        self.inner.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.done("sync_folder")?;
        if self.syncs { self.inner.sync_folder(folder) } else { Ok(()) }
    }
}

impl<F: Fs> Fs for &F {
    fn open(&self, path: &Path) -> io::Result<Readable<'_>> {
        (**self).open(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Writable + '_>> {
        (**self).create(path)
    }

    fn unique(&self) -> String {
        (**self).unique()
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        (**self).list(folder)
    }

    fn is_abandoned(&self, path: &Path) -> io::Result<bool> {
        (**self).is_abandoned(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        (**self).link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (**self).rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        (**self).remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        (**self).sync_folder(folder)
    }
}
