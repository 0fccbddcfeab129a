//! An emulated device for tests. Kernels are compiled as C++ and run on the CPU. Accesses beyond the end of a buffer
//! fault, and all calls are counted.
//!
//! [`Emulator`] is both the compiler and the driver. If a kernel has undefined behaviour
//! or accesses foreign memory, the device is lost: the launch and every later call return [`DriverError::Lost`].
//! Uploads ahead (uploads in `Queue::Ahead`) overlap with kernels on a real device. Here they run as late as possible:
//! at the next fence or release. Misuse by the host (a second release, a copy beyond a buffer) panics, because a real
//! device would not report it.
//!
//! `DUALFIT_ROUNDING=other` emulates a card that rounds differently. Use it with the tests that every device must pass
//! (`cargo test --lib curve_fit::emulated`). Tests that compare with the host's bits then fail.
//!
//! `DUALFIT_SANITIZE=1` compiles the kernels with the sanitizers of addresses and undefined
//! behaviour; their runtime must be loaded first:
//! `LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
//! ASAN_OPTIONS=detect_leaks=0 cargo test --lib`.

pub(crate) mod bench;
mod entries;
mod library;
mod memory;
mod tests;
mod toolchain;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::driver::{
    Address, Driver, DriverError, Geometry, Mark, Memory, Module, Properties, Queue,
};
use crate::backend::cuda::driver::{CompileError, Compiler, Image};
use library::{Failure, Library};
use memory::Heap;
pub(crate) use toolchain::{NoToolchain, Toolchain};

/// Properties of the emulated device.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Number of multiprocessors. It is small, so that small grids fill the device.
    pub(crate) multiprocessors: u32,
    pub(crate) memory_bytes: usize,
    /// Order of blocks and threads: natural order if 0, otherwise a random order with this seed.
    pub(crate) seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { multiprocessors: 4, memory_bytes: 1 << 30, seed: 0 }
    }
}

/// Numbers of calls, including calls that returned an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) allocations: usize,
    pub(crate) releases: usize,
    pub(crate) uploads: usize,
    pub(crate) uploaded_bytes: usize,
    /// Number of uploads ahead; `uploaded_bytes` includes their bytes.
    pub(crate) uploads_ahead: usize,
    pub(crate) fences: usize,
    pub(crate) downloads: usize,
    pub(crate) downloaded_bytes: usize,
    pub(crate) clears: usize,
    pub(crate) loads: usize,
    pub(crate) launches: BTreeMap<String, usize>,
    /// Number of switches between threads of a block.
    pub(crate) switches: u64,
}

#[derive(Default)]
struct State {
    heap: Heap,
    modules: HashMap<u64, Arc<Library>>,
    /// Uploads ahead that no fence has completed yet.
    ahead: Vec<(Address, Vec<u8>)>,
    calls: Calls,
    lost: Option<DriverError>,
}

/// The device and its compiler.
pub(crate) struct Emulator {
    toolchain: &'static Toolchain,
    properties: Properties,
    settings: Settings,
    seed: AtomicU64,
    state: Mutex<State>,
}

impl Emulator {
    pub(crate) fn new(settings: Settings) -> Result<Emulator, NoToolchain> {
        let properties = Properties {
            ordinal: 0,
            name: "emulated device".into(),
            capability: (9, 0),
            multiprocessors: settings.multiprocessors,
            clock_hertz: 1e9,
            memory_bytes_per_second: 1e11,
            driver_version: (13, 0),
            has_time_limit: false,
        };
        let seed = AtomicU64::new(settings.seed);
        let toolchain = Toolchain::shared()?;
        Ok(Emulator { toolchain, properties, settings, seed, state: Mutex::default() })
    }

    /// Sets the order of blocks and threads of later launches.
    pub(crate) fn set_seed(&self, seed: u64) {
        self.seed.store(seed, Ordering::Relaxed);
    }

    pub(crate) fn calls(&self) -> Calls {
        self.state().calls.clone()
    }

    /// Returns the number of allocations that were not released.
    pub(crate) fn live(&self) -> usize {
        self.state().heap.live()
    }

    pub(crate) fn live_bytes(&self) -> usize {
        self.state().heap.live_bytes
    }

    /// Returns the maximum number of bytes that were allocated at one time.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.state().heap.peak_bytes
    }

    /// Launches a grid but runs only these blocks, in this order. This allows tests of grids that are too large to
    /// run.
    pub(crate) fn launch_blocks(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        chosen: Option<&[u32]>,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        let library = {
            let mut state = self.alive()?;
            *state.calls.launches.entry(kernel.to_owned()).or_default() += 1;
            state.modules.get(&module.0).cloned()
        };
        let library = library.unwrap_or_else(|| panic!("{module:?} is not loaded"));
        let seed = self.seed.load(Ordering::Relaxed);
        let Some(result) = library.launch(kernel, geometry, chosen, seed, arguments) else {
            let text = format!("there is no kernel `{kernel}`");
            return Err(DriverError::Failed { call: "cuModuleGetFunction", code: 500, text });
        };
        let mut state = self.state();
        match result {
            Ok(switches) => {
                state.calls.switches += switches;
                Ok(())
            }
            Err(failure) => Err(state.fail(failure)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns the state, or an error if the device is lost.
    fn alive(&self) -> Result<MutexGuard<'_, State>, DriverError> {
        let state = self.state();
        match &state.lost {
            Some(lost) => Err(lost.clone()),
            None => Ok(state),
        }
    }
}

impl State {
    /// Runs the pending uploads ahead.
    fn catch_up(&mut self) -> Result<(), String> {
        for (to, bytes) in std::mem::take(&mut self.ahead) {
            self.heap.bytes(to.0, bytes.len())?.copy_from_slice(&bytes);
        }
        Ok(())
    }

    /// Returns the error of a failed launch. The device is lost if a kernel faulted, but usable if the launch could
    /// not start.
    fn fail(&mut self, Failure { code, mut text, address }: Failure) -> DriverError {
        if let Some(address) = address {
            text += &format!(" at {address:#x}, {}", self.heap.describe(address));
        }
        let call = "cuLaunchKernel";
        if !(700..800).contains(&code) || code == 701 {
            return DriverError::Failed { call, code, text };
        }
        let lost = DriverError::Lost { call, code, text };
        self.lost = Some(lost.clone());
        lost
    }
}

impl Compiler for Emulator {
    fn identity(&self) -> String {
        format!("emulation by {}", self.toolchain.version)
    }

    fn compile(&self, source: &str, _: (u32, u32)) -> Result<Image, CompileError> {
        self.toolchain.compile(source)
    }
}

impl Driver for Emulator {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<Memory, DriverError> {
        let total = self.settings.memory_bytes;
        Ok(Memory { free: total - self.alive()?.heap.live_bytes, total })
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        let mut state = self.alive()?;
        state.calls.allocations += 1;
        let free = self.settings.memory_bytes - state.heap.live_bytes;
        let address = (bytes <= free).then(|| state.heap.allocate(bytes)).flatten();
        address.map(Address).ok_or(DriverError::OutOfMemory { requested: bytes })
    }

    fn release(&self, address: Address) {
        let mut state = self.state();
        state.calls.releases += 1;
        let released = state.catch_up().and_then(|()| state.heap.release(address.0));
        drop(state);
        if let (Err(wrong), false) = (released, std::thread::panicking()) {
            panic!("{wrong}");
        }
    }

    fn upload(&self, to: Address, bytes: &[u8], queue: Queue) -> Result<(), DriverError> {
        let mut state = self.alive()?;
        state.calls.uploaded_bytes += bytes.len();
        if queue == Queue::Ahead {
            state.calls.uploads_ahead += 1;
            state.ahead.push((to, bytes.to_vec()));
            return Ok(());
        }
        state.calls.uploads += 1;
        let there = state.heap.bytes(to.0, bytes.len());
        there.unwrap_or_else(|wrong| panic!("{wrong}")).copy_from_slice(bytes);
        Ok(())
    }

    fn fence(&self) -> Result<(), DriverError> {
        let mut state = self.alive()?;
        state.calls.fences += 1;
        state.catch_up().unwrap_or_else(|wrong| panic!("{wrong}"));
        Ok(())
    }

    fn mark(&self) -> Result<Mark, DriverError> {
        self.alive().map(|_| Mark(0))
    }

    fn wait(&self, _: Mark) -> Result<(), DriverError> {
        self.alive().map(drop)
    }

    fn download(&self, from: Address, bytes: &mut [u8], _: Queue) -> Result<(), DriverError> {
        let mut state = self.alive()?;
        state.calls.downloads += 1;
        state.calls.downloaded_bytes += bytes.len();
        let there = state.heap.bytes(from.0, bytes.len());
        bytes.copy_from_slice(there.unwrap_or_else(|wrong| panic!("{wrong}")));
        Ok(())
    }

    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError> {
        let mut state = self.alive()?;
        state.calls.clears += 1;
        state.heap.bytes(at.0, bytes).unwrap_or_else(|wrong| panic!("{wrong}")).fill(0);
        Ok(())
    }

    fn load(&self, image: &[u8]) -> Result<Module, DriverError> {
        static LOADED: AtomicU64 = AtomicU64::new(0);
        self.alive()?.calls.loads += 1;
        let number = LOADED.fetch_add(1, Ordering::Relaxed);
        let path = self.toolchain.copy(image, number).map_err(|e| e.to_string());
        let library = path.and_then(|path| Library::open(&path));
        let library = library.map_err(|text| DriverError::Failed {
            call: "cuModuleLoadData",
            code: 200,
            text,
        })?;
        self.alive()?.modules.insert(number, Arc::new(library));
        Ok(Module(number))
    }

    fn unload(&self, module: Module) {
        let known = self.state().modules.remove(&module.0).is_some();
        assert!(known || std::thread::panicking(), "{module:?} is not loaded");
    }

    fn launch(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        self.launch_blocks(module, kernel, geometry, None, arguments)
    }
}

/// Returns an emulator. Without a C++ compiler, prints the reason and returns `None`, or panics if
/// `DUALFIT_REQUIRE` contains `cxx`.
pub(crate) fn emulator_or_skip(settings: Settings) -> Option<Arc<Emulator>> {
    match Emulator::new(settings) {
        Ok(emulator) => Some(Arc::new(emulator)),
        Err(reason) => {
            let required = std::env::var("DUALFIT_REQUIRE").unwrap_or_default();
            assert!(!required.contains("cxx"), "{reason}");
            eprintln!("SKIP ({reason})");
            None
        }
    }
}
