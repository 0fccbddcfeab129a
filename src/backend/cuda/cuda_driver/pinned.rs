//! Page-locked memory of the host: the device reads and writes it by itself, beside what the host does.

use super::context::{Context, UNTIMED, check};
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
        // SAFETY: so many bytes lie there, all with values; the device is done with them, and is told to use them by
        // calls on the thread that reads, if by any.
        unsafe { pinned.memory.add(first).copy_to_nonoverlapping(bytes.as_mut_ptr(), length) };
        Ok(())
    }

    /// Page-locked host memory, which the device reads and writes by itself.
    pub(super) fn pinned(&self, bytes: usize) -> Result<Pinned, DriverError> {
        let _current = self.enter()?;
        // SAFETY: the context is current; the memory is given back when `Pinned` is freed.
        let memory = unsafe { result::malloc_host(bytes, 0) };
        let memory = check("cuMemHostAlloc", 0, memory)?.cast::<u8>();
        // SAFETY: the memory is that many bytes; from here on they all have a value.
        unsafe { memory.write_bytes(0, bytes) };
        match check("cuEventCreate", 0, result::event::create(UNTIMED)) {
            Ok(event) => Ok(Pinned { memory, bytes, event, in_use: InUse::No }),
            Err(error) => {
                // SAFETY: allocated just now, used by no work.
                let _ = unsafe { result::free_host(memory.cast()) };
                Err(error)
            }
        }
    }

    /// The bytes of page-locked memory, when the device no longer uses them.
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
        // SAFETY: the memory is that many bytes with values, borrowed as `pinned` is, and the device
        // is done with it.
        Ok(unsafe { std::slice::from_raw_parts_mut(pinned.memory, pinned.bytes) })
    }

    /// Starts a copy of the first `bytes` of page-locked memory, which is in use until then.
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
        self.mark(pinned, queue)
    }

    /// Starts a copy to the first `bytes` of page-locked memory, which is in use until then.
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
        self.mark(pinned, queue)
    }

    /// Page-locked memory is in use until what a stream has got is done.
    fn mark(&self, pinned: &mut Pinned, queue: Queue) -> Result<(), DriverError> {
        // Without a mark there is only the end of all work to wait for.
        pinned.in_use = InUse::UntilEndOf(queue);
        // SAFETY: event and stream live, and the context is current.
        let marked = unsafe { result::event::record(pinned.event, self.stream(queue)) };
        check("cuEventRecord", 0, marked)?;
        pinned.in_use = InUse::UntilMark;
        Ok(())
    }

    /// Gives back page-locked memory that no work uses any more.
    pub(super) fn free_pinned(&self, pinned: Pinned) {
        let Ok(_current) = self.enter() else { return };
        // SAFETY: both were made by `pinned`, are given up by their owner, and all work has been
        // waited for; on a device that is lost there is none.
        unsafe {
            let _ = result::event::destroy(pinned.event);
            let _ = result::free_host(pinned.memory.cast());
        }
    }
}

/// Until when the device uses page-locked memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InUse {
    No,
    /// Until its event.
    UntilMark,
    /// Until all work of a stream is done.
    UntilEndOf(Queue),
}

/// Page-locked host memory with an event that tells when the device is done with it.
#[derive(Debug)]
pub(super) struct Pinned {
    memory: *mut u8,
    bytes: usize,
    event: sys::CUevent,
    in_use: InUse,
}

// SAFETY: it owns its memory, and the event is a name that the driver knows on every thread.
unsafe impl Send for Pinned {}
// SAFETY: what is shared of it only tells where it is and copies from there.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// The address, which is the same on the device: all 64-bit systems have one space of addresses.
    pub(super) fn address(&self) -> Address {
        Address(self.memory as u64)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
