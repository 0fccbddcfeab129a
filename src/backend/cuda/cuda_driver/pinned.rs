//! Page-locked memory of the host, which the device reads and writes concurrently with the host.

use super::context::{Context, UNTIMED, check, record};
use crate::backend::cuda::driver::{Address, DriverError, Queue};
use cudarc::driver::{result, sys};

impl Context {
    /// Waits for all work and copies from page-locked memory, from byte `first` on.
    pub(super) fn read_pinned(
        &self,
        pinned: &Pinned,
        first: usize,
        bytes: &mut [u8],
    ) -> Result<(), DriverError> {
        self.synchronize(Queue::Work)?;
        let length = bytes.len().min(pinned.bytes.saturating_sub(first));
        // SAFETY: `length` bytes from `first` on are inside the memory and initialised; the device does not use them
        // any more, and only the thread that reads can start new work that uses them.
        unsafe { pinned.memory.add(first).copy_to_nonoverlapping(bytes.as_mut_ptr(), length) };
        Ok(())
    }

    /// Allocates page-locked host memory, which the device reads and writes directly.
    pub(super) fn pinned(&self, bytes: usize) -> Result<Pinned, DriverError> {
        let _current = self.enter()?;
        // SAFETY: the context is current; `free_pinned` releases the memory.
        let memory = unsafe { result::malloc_host(bytes, 0) };
        let memory = check("cuMemHostAlloc", 0, memory)?.cast::<u8>();
        // SAFETY: the memory has `bytes` bytes; this call initialises all of them.
        unsafe { memory.write_bytes(0, bytes) };
        match check("cuEventCreate", 0, result::event::create(UNTIMED)) {
            Ok(event) => Ok(Pinned { memory, bytes, event, in_use: InUse::No }),
            Err(error) => {
                // SAFETY: the memory was allocated just now and no work uses it.
                let _ = unsafe { result::free_host(memory.cast()) };
                Err(error)
            }
        }
    }

    /// Waits until the device no longer uses the page-locked memory and returns its bytes.
    pub(super) fn claim<'a>(&self, pinned: &'a mut Pinned) -> Result<&'a mut [u8], DriverError> {
        match pinned.in_use {
            InUse::No => {}
            InUse::UntilMark => {
                let _current = self.enter()?;
                // SAFETY: the event lives as long as `pinned` and has been recorded.
                let done = unsafe { result::event::synchronize(pinned.event) };
                check("cuEventSynchronize", 0, done)?;
            }
            InUse::UntilEndOf(queue) => self.synchronize(queue)?,
        }
        pinned.in_use = InUse::No;
        // SAFETY: the memory has `bytes` initialised bytes, is borrowed as `pinned` is, and the device
        // does not use it any more.
        Ok(unsafe { std::slice::from_raw_parts_mut(pinned.memory, pinned.bytes) })
    }

    /// Starts a copy of the first `bytes` of page-locked memory, which is in use until the copy is complete.
    pub(super) fn upload_pinned(
        &self,
        to: Address,
        pinned: &mut Pinned,
        bytes: usize,
        queue: Queue,
    ) -> Result<(), DriverError> {
        let (source, stream) = (&self.claim(pinned)?[..bytes], self.stream(queue));
        let _current = self.enter()?;
        // SAFETY: `to` is device memory of this length by the contract of the driver seam; the source
        // is not written before `claim` has waited for the copy, nor freed before.
        let started = unsafe { result::memcpy_htod_async(to.0, source, stream) };
        check("cuMemcpyHtoDAsync", 0, started)?;
        self.mark_use(pinned, queue)
    }

    /// Starts a copy to the first `bytes` of page-locked memory, which is in use until the copy is complete.
    pub(super) fn download_pinned(
        &self,
        from: Address,
        pinned: &mut Pinned,
        bytes: usize,
        queue: Queue,
    ) -> Result<(), DriverError> {
        let (target, stream) = (&mut self.claim(pinned)?[..bytes], self.stream(queue));
        let _current = self.enter()?;
        // SAFETY: `from` is device memory of this length by the contract of the driver seam; the target
        // is not read before `claim` has waited for the copy, nor freed before.
        let started = unsafe { result::memcpy_dtoh_async(target, from.0, stream) };
        check("cuMemcpyDtoHAsync", 0, started)?;
        self.mark_use(pinned, queue)
    }

    /// Marks page-locked memory as in use until the current work of a stream is complete.
    fn mark_use(&self, pinned: &mut Pinned, queue: Queue) -> Result<(), DriverError> {
        // If no event can be recorded, `claim` waits for the end of all work of the queue.
        pinned.in_use = InUse::UntilEndOf(queue);
        record(pinned.event, self.stream(queue))?;
        pinned.in_use = InUse::UntilMark;
        Ok(())
    }

    /// Releases page-locked memory that no work uses any more.
    pub(super) fn free_pinned(&self, pinned: Pinned) {
        let Ok(_current) = self.enter() else { return };
        // SAFETY: the method `pinned` created event and memory, their owner passes them by value, and the caller
        // has waited for all work; a lost device has no work.
        unsafe {
            let _ = result::event::destroy(pinned.event);
            let _ = result::free_host(pinned.memory.cast());
        }
    }
}

/// Time until which the device uses page-locked memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InUse {
    No,
    /// Until the event of the memory.
    UntilMark,
    /// Until all work of a stream is complete.
    UntilEndOf(Queue),
}

/// Page-locked host memory with an event for the end of its use by the device.
#[derive(Debug)]
pub(super) struct Pinned {
    memory: *mut u8,
    bytes: usize,
    event: sys::CUevent,
    in_use: InUse,
}

// SAFETY: `Pinned` owns its memory, and the event is a handle that is valid on every thread.
unsafe impl Send for Pinned {}
// SAFETY: methods with a shared reference only return the address and the size or copy from the memory.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Returns the address. It is the same on the device, because 64-bit systems have a unified address space.
    pub(super) fn address(&self) -> Address {
        Address(self.memory as u64)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
