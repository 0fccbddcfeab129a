//! Devices and handles of the driver. Handles are numbers that are never reused.

use super::faults::{
    CONTEXT_IS_DESTROYED, Calls, INVALID_CONTEXT, INVALID_DEVICE, INVALID_HANDLE, NO_DEVICE,
    NOT_INITIALIZED, UNKNOWN, is_sticky,
};
use super::mutants::Mutants;
use super::options::Options;
use super::report::{self, Left};
use super::resources::give_back;
use super::streams::{Mark, Stream};
use super::{Answer, say};
use crate::machine::Loaded;
use crate::machine::clock::Clock;
use crate::machine::memory::Memory;
use std::alloc::Layout;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::thread::{self, ThreadId};

/// Requirement of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// A driver that is initialised by `cuInit`.
    Start,
    /// A current context whose device is not lost.
    Context,
}

/// Object that a handle refers to.
#[derive(Debug)]
pub(crate) enum Object {
    Context,
    /// Its work is in [`Driver::streams`], which may outlive the handle.
    Stream,
    /// Its last record, if any.
    Event(Option<Mark>),
    /// `functions`: the handles of its kernels, by the kernels' indices.
    Module {
        loaded: Loaded,
        functions: HashMap<usize, u64>,
    },
    Function {
        module: u64,
        kernel: usize,
    },
}

/// Device, with the resources of its primary context.
#[derive(Debug, Default)]
pub(crate) struct Device {
    pub(crate) memory: Memory,
    /// Number of times that its context is retained.
    pub(crate) retained: u64,
    context: Option<u64>,
    /// If the device is lost, the code that all calls return.
    pub(crate) lost: Option<i32>,
    pub(crate) allocations: HashSet<u64>,
    pub(crate) page_locked: BTreeMap<u64, Layout>,
}

impl Device {
    fn new(number: usize) -> Device {
        Device { memory: Memory::of_device(number), ..Device::default() }
    }
}

/// State of the driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) options: Options,
    /// True if the options in the environment are valid.
    usable: bool,
    started: bool,
    pub(crate) calls: Calls,
    pub(crate) devices: Vec<Device>,
    /// Device and object of each handle.
    pub(crate) objects: HashMap<u64, (usize, Object)>,
    last_handle: u64,
    pub(crate) streams: HashMap<u64, Stream>,
    /// Stack of pushed contexts of each thread.
    current: HashMap<ThreadId, Vec<u64>>,
    /// Number of modules whose PTX was written to a file.
    pub(crate) dumped: u32,
    /// Resources that existed when their contexts were released.
    pub(crate) left_behind: Left,
    pub(crate) races: u64,
    /// Counts of each kernel, if `SOFT_CUDA_CLOCK` is set.
    pub(crate) clocks: BTreeMap<String, Clock>,
    pub(crate) mutants: Mutants,
}

impl Driver {
    /// Creates a driver that is not initialised yet.
    pub(crate) fn new(options: Options) -> Driver {
        Driver {
            calls: Calls::new(options.failures.clone()),
            devices: (0..options.devices).map(Device::new).collect(),
            mutants: Mutants::new(options.each_mutant),
            options,
            usable: true,
            started: false,
            objects: HashMap::new(),
            last_handle: 0xC0DA_0000,
            streams: HashMap::new(),
            current: HashMap::new(),
            dumped: 0,
            left_behind: Left::default(),
            races: 0,
            clocks: BTreeMap::new(),
        }
    }

    /// Creates a driver that cannot be initialised.
    pub(crate) fn unusable() -> Driver {
        Driver { usable: false, ..Driver::new(Options::default()) }
    }

    /// Initialises the driver if it has devices.
    pub(crate) fn start(&mut self) -> Answer {
        match (self.usable, self.devices.len()) {
            (false, _) => Err(UNKNOWN),
            (true, 0) => Err(NO_DEVICE),
            _ => {
                self.started = true;
                Ok(())
            }
        }
    }

    /// Counts a call, injects its fault if there is one, and checks its requirements.
    pub(crate) fn enter(&mut self, name: &'static str, needs: Needs) -> Answer {
        if let Err(code) = self.calls.count(name) {
            say(&format!("{name} fails with {code}, as SOFT_CUDA_FAIL says"));
            if is_sticky(code)
                && let Ok(device) = self.current_device()
            {
                self.lose(device, code, "SOFT_CUDA_FAIL says so");
            }
            return Err(code);
        }
        match needs {
            Needs::Nothing => Ok(()),
            _ if !self.started => Err(NOT_INITIALIZED),
            Needs::Start => Ok(()),
            Needs::Context => self.state_of(self.current_device()?),
        }
    }

    /// Returns the code of a lost device as an error.
    pub(crate) fn state_of(&self, device: usize) -> Answer {
        self.devices[device].lost.map_or(Ok(()), Err)
    }

    /// Marks the device as lost. All later calls on it fail with this code.
    pub(crate) fn lose(&mut self, device: usize, code: i32, what: &str) {
        if self.devices[device].lost.is_none() {
            self.devices[device].lost = Some(code);
            say(&format!("device {device} is lost ({code}): {what}"));
        }
    }

    /// Returns the index of the device with this ordinal, if it exists.
    pub(crate) fn device(&self, ordinal: i32) -> Answer<usize> {
        let device = usize::try_from(ordinal).ok();
        device.filter(|&device| device < self.devices.len()).ok_or(INVALID_DEVICE)
    }

    /// Creates a handle for an object.
    pub(crate) fn register(&mut self, device: usize, object: Object) -> u64 {
        self.last_handle += 1;
        self.objects.insert(self.last_handle, (device, object));
        self.last_handle
    }

    /// Returns the object of a handle, which must belong to `device`. NVIDIA's driver accepts some handles while the
    /// context of another device is current; here this is an error.
    pub(crate) fn object(&self, device: usize, handle: u64) -> Answer<&Object> {
        match self.objects.get(&handle) {
            Some((on, object)) if *on == device => Ok(object),
            _ => Err(INVALID_HANDLE),
        }
    }

    /// As [`object`](Driver::object), but mutable.
    pub(crate) fn object_mut(&mut self, device: usize, handle: u64) -> Answer<&mut Object> {
        match self.objects.get_mut(&handle) {
            Some((on, object)) if *on == device => Ok(object),
            _ => Err(INVALID_HANDLE),
        }
    }

    /// Destroys the handle of an event. Enqueued waits keep their marks.
    pub(crate) fn destroy_event(&mut self, device: usize, event: u64) -> Answer {
        let Object::Event(_) = self.object(device, event)? else { return Err(INVALID_HANDLE) };
        self.objects.remove(&event);
        Ok(())
    }
}

/// Contexts.
impl Driver {
    /// Retains the primary context of a device; the first call creates it.
    pub(crate) fn retain(&mut self, device: usize) -> Answer<u64> {
        self.state_of(device)?;
        let context = match self.devices[device].context {
            Some(context) => context,
            None => self.register(device, Object::Context),
        };
        self.devices[device].context = Some(context);
        self.devices[device].retained += 1;
        Ok(context)
    }

    /// Releases the primary context of a device. The last release finishes its work and destroys it with all its
    /// resources.
    pub(crate) fn release(&mut self, device: usize) -> Answer {
        let was_lost = self.devices[device].lost.is_some();
        match self.devices[device].retained {
            0 => return Err(INVALID_CONTEXT),
            1 => {}
            _ => {
                self.devices[device].retained -= 1;
                return Ok(());
            }
        }
        let finished = self.finish(device);
        self.left_behind = report::sum(self.left_behind, self.left_on(device));
        let handles = self.objects.iter().filter(|(_, (on, _))| *on == device);
        let handles: Vec<u64> = handles.map(|(&handle, _)| handle).collect();
        for handle in handles {
            self.streams.remove(&handle);
            if let Some((_, Object::Module { loaded, .. })) = self.objects.remove(&handle) {
                loaded.unload(&mut self.devices[device].memory);
            }
        }
        let of = &mut self.devices[device];
        for address in of.allocations.drain() {
            of.memory.free(address);
        }
        for (address, layout) in std::mem::take(&mut of.page_locked) {
            give_back(&mut of.memory, address, layout);
        }
        (of.retained, of.context, of.lost) = (0, None, None);
        if was_lost { Ok(()) } else { finished }
    }

    /// Returns the device whose context is current on this thread.
    pub(crate) fn current_device(&self) -> Answer<usize> {
        match self.objects.get(&self.current_context()) {
            Some((device, Object::Context)) => Ok(*device),
            _ if self.current_context() == 0 => Err(INVALID_CONTEXT),
            _ => Err(CONTEXT_IS_DESTROYED),
        }
    }

    /// Returns the current context of this thread, or 0.
    pub(crate) fn current_context(&self) -> u64 {
        let pushed = self.current.get(&thread::current().id());
        pushed.and_then(|pushed| pushed.last()).copied().unwrap_or(0)
    }

    /// Makes a context current on this thread.
    pub(crate) fn push_context(&mut self, context: u64) -> Answer {
        let Some((_, Object::Context)) = self.objects.get(&context) else {
            return Err(INVALID_CONTEXT);
        };
        self.current.entry(thread::current().id()).or_default().push(context);
        Ok(())
    }

    /// Pops the current context of this thread.
    pub(crate) fn pop_context(&mut self) -> Answer<u64> {
        let thread = thread::current().id();
        let pushed = self.current.get_mut(&thread).ok_or(INVALID_CONTEXT)?;
        let popped = pushed.pop();
        if pushed.is_empty() {
            self.current.remove(&thread);
        }
        popped.ok_or(INVALID_CONTEXT)
    }

    /// Replaces the current context of this thread; 0 removes it.
    pub(crate) fn set_context(&mut self, context: u64) -> Answer {
        if context != 0 && !matches!(self.objects.get(&context), Some((_, Object::Context))) {
            return Err(INVALID_CONTEXT);
        }
        let _ = self.pop_context();
        if context == 0 { Ok(()) } else { self.push_context(context) }
    }
}
