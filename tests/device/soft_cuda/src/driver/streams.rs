//! Streams: enqueued work is done lazily, when a caller waits for it.
//!
//! Synchronising a stream or an event does only the work that it depends on. Before memory is freed or a module is
//! unloaded, all work of the device is done. An event records a position in a stream's work, therefore recording an
//! event enqueues no work.

use super::Answer;
use super::faults::{INVALID_HANDLE, INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES};
use super::mutants::Launch;
use super::state::{Driver, Object};
use crate::machine::Fault;
use std::collections::VecDeque;

/// Maximum number of threads per block.
pub(crate) const MOST_THREADS: u32 = 1024;
/// Maximum number of blocks per grid.
pub(crate) const MOST_BLOCKS: u32 = i32::MAX as u32;

/// Stream: its pending work and its progress.
#[derive(Debug)]
pub(crate) struct Stream {
    device: usize,
    queue: VecDeque<Work>,
    /// Number of work items that were ever enqueued.
    queued: u64,
    /// Number of work items that are done or in progress.
    begun: u64,
    /// True if the handle is destroyed; pending work is still done.
    destroyed: bool,
}

/// Position in a stream: after its first `after` work items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    stream: u64,
    after: u64,
}

/// Work item. Memory of the host is stored as its address.
#[derive(Debug)]
enum Work {
    Upload { to: u64, from: usize, bytes: usize },
    Download { to: usize, from: u64, bytes: usize },
    Fill { at: u64, value: u8, bytes: usize },
    Launch { module: u64, kernel: usize, blocks: u32, threads: u32, arguments: Vec<Vec<u8>> },
    Wait(Mark),
}

impl Driver {
    /// Creates a stream. Returns its handle.
    pub(crate) fn create_stream(&mut self, device: usize) -> u64 {
        let stream = self.register(device, Object::Stream);
        let queue = VecDeque::new();
        let new = Stream { device, queue, queued: 0, begun: 0, destroyed: false };
        self.streams.insert(stream, new);
        stream
    }

    /// Destroys the handle of a stream. Enqueued work is still done when it is needed.
    pub(crate) fn destroy_stream(&mut self, device: usize, stream: u64) -> Answer {
        self.stream(device, stream)?.destroyed = true;
        self.objects.remove(&stream);
        self.forget_if_done(stream);
        Ok(())
    }

    /// Does all enqueued work of the stream.
    pub(crate) fn synchronize_stream(&mut self, device: usize, stream: u64) -> Answer {
        let after = self.stream(device, stream)?.queued;
        self.reach(Mark { stream, after });
        self.state_of(device)
    }

    /// Makes the event mark the work that is enqueued in the stream so far.
    pub(crate) fn record_event(&mut self, device: usize, event: u64, stream: u64) -> Answer {
        let after = self.stream(device, stream)?.queued;
        match self.object_mut(device, event)? {
            Object::Event(mark) => *mark = Some(Mark { stream, after }),
            _ => return Err(INVALID_HANDLE),
        }
        Ok(())
    }

    /// Does the work up to the event's last mark. Returns at once if the event was never recorded.
    pub(crate) fn synchronize_event(&mut self, device: usize, event: u64) -> Answer {
        let &Object::Event(mark) = self.object(device, event)? else { return Err(INVALID_HANDLE) };
        if let Some(mark) = mark {
            self.reach(mark);
        }
        self.state_of(device)
    }

    /// Makes later work of the stream begin after the event's current mark. The event may belong to another device.
    pub(crate) fn wait_for_event(&mut self, device: usize, stream: u64, event: u64) -> Answer {
        self.stream(device, stream)?;
        match self.objects.get(&event) {
            Some(&(_, Object::Event(Some(mark)))) => self.queue(device, stream, Work::Wait(mark)),
            Some((_, Object::Event(None))) => Ok(()),
            _ => Err(INVALID_HANDLE),
        }
    }

    /// Enqueues a copy from the host.
    ///
    /// # Safety
    /// `bytes` bytes at `from` can be read until the caller knows that the copy is done.
    pub(crate) unsafe fn upload(
        &mut self,
        device: usize,
        to: u64,
        from: *const u8,
        bytes: usize,
        stream: u64,
    ) -> Answer {
        self.check_range(device, to, bytes)?;
        self.queue(device, stream, Work::Upload { to, from: from as usize, bytes })
    }

    /// Enqueues a copy to the host.
    ///
    /// # Safety
    /// `bytes` bytes at `to` can be written until the caller knows that the copy is done.
    pub(crate) unsafe fn download(
        &mut self,
        device: usize,
        to: *mut u8,
        from: u64,
        bytes: usize,
        stream: u64,
    ) -> Answer {
        self.check_range(device, from, bytes)?;
        self.queue(device, stream, Work::Download { to: to as usize, from, bytes })
    }

    /// Enqueues the assignment of `value` to bytes.
    pub(crate) fn fill(
        &mut self,
        device: usize,
        at: u64,
        value: u8,
        bytes: usize,
        stream: u64,
    ) -> Answer {
        self.check_range(device, at, bytes)?;
        self.queue(device, stream, Work::Fill { at, value, bytes })
    }

    /// Enqueues a kernel. `arguments`: the bytes of each parameter.
    pub(crate) fn launch(
        &mut self,
        device: usize,
        function: u64,
        (blocks, threads): (u32, u32),
        arguments: Vec<Vec<u8>>,
        stream: u64,
    ) -> Answer {
        let most = self.function(device, function)?.most_threads;
        if !(1..=MOST_BLOCKS).contains(&blocks) || !(1..=MOST_THREADS).contains(&threads) {
            return Err(INVALID_VALUE);
        }
        if most.is_some_and(|most| threads > most) {
            return Err(LAUNCH_OUT_OF_RESOURCES);
        }
        let &Object::Function { module, kernel } = self.object(device, function)? else {
            return Err(INVALID_HANDLE);
        };
        self.queue(device, stream, Work::Launch { module, kernel, blocks, threads, arguments })
    }

    /// Does all work of a device.
    pub(crate) fn finish(&mut self, device: usize) -> Answer {
        let of_device = self.streams.iter().filter(|(_, stream)| stream.device == device);
        let mut marks: Vec<_> =
            of_device.map(|(&stream, of)| Mark { stream, after: of.queued }).collect();
        marks.sort_by_key(|mark| mark.stream);
        marks.into_iter().for_each(|mark| self.reach(mark));
        self.state_of(device)
    }

    /// Returns the stream of a handle.
    fn stream(&mut self, device: usize, stream: u64) -> Answer<&mut Stream> {
        match self.object(device, stream)? {
            Object::Stream => self.streams.get_mut(&stream).ok_or(INVALID_HANDLE),
            _ => Err(INVALID_HANDLE),
        }
    }

    /// Returns an error unless the range is not empty and is in one region of the device's memory.
    fn check_range(&self, device: usize, address: u64, bytes: usize) -> Answer {
        let is_there = bytes > 0 && self.devices[device].memory.contains(address, bytes);
        if is_there { Ok(()) } else { Err(INVALID_VALUE) }
    }

    /// Appends work to a stream. With the option `eager`, does it at once.
    fn queue(&mut self, device: usize, stream: u64, work: Work) -> Answer {
        let of = self.stream(device, stream)?;
        of.queue.push_back(work);
        of.queued += 1;
        let after = of.queued;
        if self.options.eager {
            self.reach(Mark { stream, after });
        }
        self.state_of(device)
    }

    /// Does a stream's work up to a mark, including the work that it waits for. A mark is always older than the waits
    /// for it, therefore no stream waits for itself.
    fn reach(&mut self, mark: Mark) {
        while let Some(stream) = self.streams.get_mut(&mark.stream)
            && stream.begun < mark.after
            && let Some(work) = stream.queue.pop_front()
        {
            stream.begun += 1;
            let device = stream.device;
            if self.devices[device].lost.is_none()
                && let Err(fault) = self.perform(device, work)
            {
                self.lose(device, fault.code, &fault.what);
            }
        }
        self.forget_if_done(mark.stream);
    }

    /// Removes a stream if its handle is destroyed and its work is done.
    fn forget_if_done(&mut self, stream: u64) {
        if self.streams.get(&stream).is_some_and(|of| of.destroyed && of.queue.is_empty()) {
            self.streams.remove(&stream);
        }
    }

    /// Does one work item.
    fn perform(&mut self, device: usize, work: Work) -> Result<(), Fault> {
        let memory = &mut self.devices[device].memory;
        match work {
            Work::Upload { to, from, bytes } => {
                let mut copy = vec![0; bytes];
                // SAFETY: the bytes can be read by the contract of `upload`.
                unsafe { (from as *const u8).copy_to(copy.as_mut_ptr(), bytes) };
                memory.write(to, &copy)
            }
            Work::Download { to, from, bytes } => {
                let mut copy = vec![0; bytes];
                memory.read(from, &mut copy)?;
                // SAFETY: the bytes can be written by the contract of `download`.
                unsafe { (to as *mut u8).copy_from(copy.as_ptr(), bytes) };
                Ok(())
            }
            Work::Fill { at, value, bytes } => memory.fill(at, value, bytes),
            Work::Launch { module, kernel, blocks, threads, arguments } => {
                let Some((_, Object::Module { loaded, .. })) = self.objects.get(&module) else {
                    return Ok(());
                };
                let settings = &self.options.settings;
                let grid = (blocks, threads);
                let launch = Launch { module, loaded, kernel, grid, arguments: &arguments };
                let report = match self.options.mutants {
                    true => self.mutants.try_all(&launch, memory, settings)?,
                    false => launch.make(memory, settings)?,
                };
                if let Some(counts) = &report.counts {
                    let functions = &loaded.module.functions;
                    let clock = self.clocks.entry(functions[kernel].name.clone()).or_default();
                    let warps = u64::from(blocks) * u64::from(threads.div_ceil(32));
                    clock.add(warps, functions, counts);
                }
                self.note_races(&report.races);
                Ok(())
            }
            Work::Wait(mark) => {
                self.reach(mark);
                Ok(())
            }
        }
    }
}
