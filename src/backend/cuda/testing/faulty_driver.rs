//! Test double of the driver interface. It forwards every call to a driver, records it, and fails on request.
//!
//! The record contains the number of calls of each kind, the allocations in use, and the errors that a device would
//! not tolerate: memory used beyond its end or after its release, a release of memory that is not allocated.

use crate::backend::cuda::driver::{
    Address, Driver, DriverError, Geometry, Mark, Memory, Module, Properties, Queue,
};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The calls of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Call {
    Memory,
    Allocate,
    Release,
    Upload,
    UploadAhead,
    Fence,
    Mark,
    Wait,
    Download,
    Clear,
    Load,
    Unload,
    Launch,
}

/// A fault that is injected once; calls are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Injected {
    Nothing,
    /// This allocation fails for lack of memory; later allocations may succeed.
    OutOfMemory {
        allocation: usize,
    },
    /// This fence has no effect.
    Unfenced {
        fence: usize,
    },
    /// This launch returns an error.
    Refused {
        launch: usize,
    },
    /// The device is lost at this call, counted over all calls that can fail, and stays lost.
    Lost {
        call: usize,
    },
}

#[derive(Debug, Default)]
struct Books {
    counts: BTreeMap<Call, usize>,
    /// Number of calls that can fail.
    fallible: usize,
    /// Bytes of each allocation by its address.
    held: BTreeMap<u64, usize>,
    modules: HashSet<Module>,
    bytes: usize,
    peak_bytes: usize,
    has_fired: bool,
    is_lost: bool,
    misuse: Vec<String>,
}

/// A driver that records calls and fails at one call.
#[derive(Debug)]
pub(crate) struct Faulty<D> {
    inner: D,
    injected: Injected,
    /// Size of the device memory, in bytes.
    limit: usize,
    books: Mutex<Books>,
}

impl<D: Driver> Faulty<D> {
    pub(crate) fn new(inner: D, injected: Injected) -> Faulty<D> {
        Faulty { inner, injected, limit: usize::MAX, books: Mutex::default() }
    }

    /// Sets a smaller memory than the memory of the inner driver.
    pub(crate) fn with_memory(mut self, bytes: usize) -> Faulty<D> {
        self.limit = bytes;
        self
    }

    /// Returns true if the injected fault has happened. A test that injects the fault at each call in turn ends when
    /// this is false.
    pub(crate) fn has_fired(&self) -> bool {
        self.books().has_fired
    }

    pub(crate) fn count(&self, call: Call) -> usize {
        self.books().counts.get(&call).copied().unwrap_or(0)
    }

    /// Returns the number of calls that can fail, of all kinds.
    pub(crate) fn calls(&self) -> usize {
        self.books().fallible
    }

    /// Returns the maximum number of bytes that were allocated at one time.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.books().peak_bytes
    }

    /// Returns the numbers of current allocations and modules.
    pub(crate) fn held(&self) -> (usize, usize) {
        let books = self.books();
        (books.held.len(), books.modules.len())
    }

    /// Panics unless all memory and modules were released once and no call was a misuse.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.held(), (0, 0), "allocations and modules that were not given back");
        self.assert_proper();
    }

    /// Panics if a call was a misuse.
    pub(crate) fn assert_proper(&self) {
        let misuse = self.books().misuse.join("\n");
        assert!(misuse.is_empty(), "{misuse}");
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that can fail, and returns the injected error if it is due.
    fn enter(&self, call: Call, bytes: usize) -> Result<MutexGuard<'_, Books>, DriverError> {
        let mut books = self.books();
        let number = books.fallible;
        books.fallible += 1;
        let of_kind = books.counts.entry(call).or_default();
        let (nth, name) = (*of_kind, name(call));
        *of_kind += 1;
        if self.injected == (Injected::Lost { call: number }) {
            (books.has_fired, books.is_lost) = (true, true);
        }
        if books.is_lost {
            return Err(DriverError::Lost { call: name, code: 719, text: "injected".into() });
        }
        match self.injected {
            Injected::OutOfMemory { allocation } if call == Call::Allocate && nth == allocation => {
                books.has_fired = true;
                Err(DriverError::OutOfMemory { requested: bytes })
            }
            Injected::Refused { launch } if call == Call::Launch && nth == launch => {
                books.has_fired = true;
                Err(DriverError::Failed { call: name, code: 701, text: "injected".into() })
            }
            _ => Ok(books),
        }
    }

    /// Calls [`enter`](Self::enter) for a call that uses memory, and records a misuse if this memory is not allocated.
    fn enter_memory(&self, call: Call, at: Address, bytes: usize) -> Result<(), DriverError> {
        let mut books = self.enter(call, 0)?;
        let allocation = books.held.range(..=at.0).next_back();
        let inside = allocation.is_some_and(|(&start, &length)| {
            (at.0 - start).checked_add(bytes as u64).is_some_and(|end| end <= length as u64)
        });
        if inside || bytes == 0 {
            return Ok(());
        }
        books.misuse.push(format!("{call:?} of {bytes} bytes at {:#x}, which are not held", at.0));
        Err(DriverError::Failed { call: name(call), code: 1, text: "outside of memory".into() })
    }
}

fn name(call: Call) -> &'static str {
    match call {
        Call::Memory => "memory",
        Call::Allocate => "allocate",
        Call::Release => "release",
        Call::Upload => "upload",
        Call::UploadAhead => "upload_ahead",
        Call::Fence => "fence",
        Call::Mark => "mark",
        Call::Wait => "wait",
        Call::Download => "download",
        Call::Clear => "clear",
        Call::Load => "load",
        Call::Unload => "unload",
        Call::Launch => "launch",
    }
}

impl<D: Driver> Driver for Faulty<D> {
    fn properties(&self) -> &Properties {
        self.inner.properties()
    }

    fn memory(&self) -> Result<Memory, DriverError> {
        let held = self.enter(Call::Memory, 0)?.bytes;
        let Memory { free, total } = self.inner.memory()?;
        let left = self.limit.saturating_sub(held);
        Ok(Memory { free: free.min(left), total: total.min(self.limit) })
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        let mut books = self.enter(Call::Allocate, bytes)?;
        if books.bytes.checked_add(bytes).is_none_or(|bytes| bytes > self.limit) {
            return Err(DriverError::OutOfMemory { requested: bytes });
        }
        let address = self.inner.allocate(bytes)?;
        books.held.insert(address.0, bytes);
        books.bytes += bytes;
        books.peak_bytes = books.peak_bytes.max(books.bytes);
        Ok(address)
    }

    fn release(&self, address: Address) {
        let mut books = self.books();
        *books.counts.entry(Call::Release).or_default() += 1;
        match books.held.remove(&address.0) {
            Some(bytes) => {
                books.bytes -= bytes;
                self.inner.release(address);
            }
            None => books.misuse.push(format!("release of {:#x}, which is not held", address.0)),
        }
    }

    fn upload(&self, to: Address, bytes: &[u8], queue: Queue) -> Result<(), DriverError> {
        let call = match queue {
            Queue::Ahead => Call::UploadAhead,
            Queue::Work | Queue::Results => Call::Upload,
        };
        self.enter_memory(call, to, bytes.len())?;
        self.inner.upload(to, bytes, queue)
    }

    fn fence(&self) -> Result<(), DriverError> {
        let mut books = self.enter(Call::Fence, 0)?;
        if self.injected == (Injected::Unfenced { fence: books.counts[&Call::Fence] - 1 }) {
            books.has_fired = true;
            return Ok(());
        }
        drop(books);
        self.inner.fence()
    }

    fn mark(&self) -> Result<Mark, DriverError> {
        drop(self.enter(Call::Mark, 0)?);
        self.inner.mark()
    }

    fn wait(&self, mark: Mark) -> Result<(), DriverError> {
        drop(self.enter(Call::Wait, 0)?);
        self.inner.wait(mark)
    }

    fn download(&self, from: Address, bytes: &mut [u8], queue: Queue) -> Result<(), DriverError> {
        self.enter_memory(Call::Download, from, bytes.len())?;
        self.inner.download(from, bytes, queue)
    }

    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError> {
        self.enter_memory(Call::Clear, at, bytes)?;
        self.inner.clear(at, bytes)
    }

    fn load(&self, image: &[u8]) -> Result<Module, DriverError> {
        let mut books = self.enter(Call::Load, 0)?;
        let module = self.inner.load(image)?;
        books.modules.insert(module);
        Ok(module)
    }

    fn unload(&self, module: Module) {
        let mut books = self.books();
        *books.counts.entry(Call::Unload).or_default() += 1;
        match books.modules.remove(&module) {
            true => self.inner.unload(module),
            false => books.misuse.push(format!("unload of {module:?}, which is not held")),
        }
    }

    fn launch(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        let mut books = self.enter(Call::Launch, 0)?;
        if !books.modules.contains(&module) {
            books.misuse.push(format!("launch of {kernel} of {module:?}, which is not held"));
        }
        if geometry.blocks == 0 || geometry.threads == 0 || geometry.threads > 1024 {
            books.misuse.push(format!("launch of {kernel} with {geometry:?}"));
        }
        drop(books);
        self.inner.launch(module, kernel, geometry, arguments)
    }
}

/// A device with 1 GiB of memory that does nothing.
#[derive(Debug)]
pub(crate) struct Idle {
    properties: Properties,
    next: Mutex<u64>,
}

impl Idle {
    pub(crate) fn new() -> Idle {
        let properties = Properties {
            ordinal: 0,
            name: "idle".into(),
            capability: (9, 0),
            multiprocessors: 1,
            clock_hertz: 1e9,
            memory_bytes_per_second: 1e9,
            driver_version: (13, 0),
            has_time_limit: false,
        };
        Idle { properties, next: Mutex::new(4096) }
    }
}

impl Driver for Idle {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<Memory, DriverError> {
        Ok(Memory { free: 1 << 30, total: 1 << 30 })
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next += bytes as u64 + 256;
        Ok(Address(*next - bytes as u64))
    }

    fn release(&self, _: Address) {}

    fn upload(&self, _: Address, _: &[u8], _: Queue) -> Result<(), DriverError> {
        Ok(())
    }

    fn fence(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn mark(&self) -> Result<Mark, DriverError> {
        Ok(Mark(0))
    }

    fn wait(&self, _: Mark) -> Result<(), DriverError> {
        Ok(())
    }

    fn download(&self, _: Address, _: &mut [u8], _: Queue) -> Result<(), DriverError> {
        Ok(())
    }

    fn clear(&self, _: Address, _: usize) -> Result<(), DriverError> {
        Ok(())
    }

    fn load(&self, _: &[u8]) -> Result<Module, DriverError> {
        Ok(Module(1))
    }

    fn unload(&self, _: Module) {}

    fn launch(&self, _: Module, _: &str, _: Geometry, _: &[&[u8]]) -> Result<(), DriverError> {
        Ok(())
    }
}

mod tests {
    use super::*;

    /// Allocates, works and releases; all memory is released even if a call fails.
    fn work(driver: &dyn Driver) -> Result<(), DriverError> {
        let address = driver.allocate(100)?;
        let with_memory = |module| {
            driver.upload(address, &[0; 100], Queue::Work)?;
            driver.upload(address, &[0; 100], Queue::Ahead)?;
            driver.fence()?;
            driver.launch(module, "k", Geometry { blocks: 1, threads: 32 }, &[])?;
            driver.clear(Address(address.0 + 50), 50)?;
            driver.wait(driver.mark()?)?;
            driver.download(address, &mut [0; 8], Queue::Work)
        };
        let done = driver.load(b"").and_then(|module| {
            let done = with_memory(module);
            driver.unload(module);
            done
        });
        driver.release(address);
        done
    }

    #[test]
    fn each_call_fails_in_its_turn_and_the_books_are_balanced() {
        let mut call = 0;
        loop {
            let driver = Faulty::new(Idle::new(), Injected::Lost { call });
            let done = work(&driver);
            driver.assert_clean();
            if !driver.has_fired() {
                assert_eq!((done, call, driver.calls()), (Ok(()), 10, 10));
                break;
            }
            assert!(matches!(done, Err(DriverError::Lost { .. })), "call {call}: {done:?}");
            assert!(matches!(driver.memory(), Err(DriverError::Lost { .. })), "lost for a while");
            call += 1;
        }
        let driver = Faulty::new(Idle::new(), Injected::OutOfMemory { allocation: 0 });
        assert_eq!(work(&driver), Err(DriverError::OutOfMemory { requested: 100 }));
        assert_eq!(work(&driver), Ok(()));
        let driver = Faulty::new(Idle::new(), Injected::Refused { launch: 1 });
        assert_eq!(work(&driver), Ok(()));
        assert!(matches!(work(&driver), Err(DriverError::Failed { call: "launch", .. })));
        assert_eq!((work(&driver), driver.count(Call::Launch)), (Ok(()), 3));
        driver.assert_clean();
    }

    #[test]
    fn memory_is_counted_to_its_limit() {
        let driver = Faulty::new(Idle::new(), Injected::Nothing).with_memory(250);
        let first = driver.allocate(200).unwrap();
        assert_eq!(driver.memory(), Ok(Memory { free: 50, total: 250 }));
        assert_eq!(driver.allocate(51), Err(DriverError::OutOfMemory { requested: 51 }));
        driver.release(first);
        driver.allocate(10).unwrap();
        assert_eq!((driver.peak_bytes(), driver.held()), (200, (1, 0)));
    }

    #[test]
    fn misuse_is_found() {
        let found = |misuse: &dyn Fn(&Faulty<Idle>, Address), words: &str| {
            let driver = Faulty::new(Idle::new(), Injected::Nothing);
            let address = driver.allocate(100).unwrap();
            misuse(&driver, address);
            let said = driver.books().misuse.join("\n");
            assert!(said.contains(words), "{words}: {said}");
        };
        let geometry = Geometry { blocks: 1, threads: 32 };
        found(&|d, a| drop(d.upload(a, &[0; 101], Queue::Work)), "Upload of 101 bytes");
        found(&|d, a| drop(d.upload(a, &[0; 101], Queue::Ahead)), "UploadAhead of 101 bytes");
        found(
            &|d, a| drop(d.download(Address(a.0 - 1), &mut [0; 1], Queue::Work)),
            "Download of 1 bytes",
        );
        found(&|d, a| drop(d.clear(Address(a.0 + 100), 1)), "Clear of 1 bytes");
        found(&|d, a| (0..2).for_each(|_| d.release(a)), "release of");
        found(&|d, _| d.unload(Module(7)), "unload of Module(7)");
        found(&|d, _| drop(d.launch(Module(7), "k", geometry, &[])), "launch of k of Module(7)");
        let none = Geometry { blocks: 0, threads: 32 };
        found(&|d, _| drop(d.launch(Module(7), "k", none, &[])), "blocks: 0");
    }
}
