//! Memory of a device: buffers that release themselves when dropped, and a pool that keeps released memory for reuse.
//!
//! An allocation takes tens of microseconds, and a release waits for all work of the device. A small resident fit
//! would spend more time on its few buffers than on its passes. Fits of one model allocate the same sizes repeatedly,
//! therefore the pool keeps memory by its exact size.

use super::driver::{
    Address, Driver, DriverError, Geometry, Mark, Memory, Module, Properties, Queue,
};
use crate::threads::lock;
use bytemuck::Pod;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Memory of `bytes` bytes on a device.
pub(crate) struct Buffer {
    driver: Arc<dyn Driver>,
    address: Address,
    bytes: usize,
    /// True if no transfer to this buffer is pending.
    idle: AtomicBool,
}

impl Buffer {
    /// Allocates memory for `count` values of type `T`, at least one; the contents are undefined.
    pub(crate) fn of<T: Pod>(
        driver: &Arc<dyn Driver>,
        count: usize,
    ) -> Result<Buffer, DriverError> {
        Buffer::items(driver, count, size_of::<T>())
    }

    /// Like [`of`](Buffer::of), but allocates mapped host memory, which kernels write and the host reads.
    pub(crate) fn mapped<T: Pod>(
        driver: &Arc<dyn Driver>,
        count: usize,
    ) -> Result<Buffer, DriverError> {
        Buffer::allocated(driver, count, size_of::<T>(), Kind::Mapped)
    }

    /// Allocates memory for `count` items of the given number of bytes, at least one; the contents are undefined.
    pub(crate) fn items(
        driver: &Arc<dyn Driver>,
        count: usize,
        bytes: usize,
    ) -> Result<Buffer, DriverError> {
        Buffer::allocated(driver, count, bytes, Kind::Device)
    }

    fn allocated(
        driver: &Arc<dyn Driver>,
        count: usize,
        bytes: usize,
        kind: Kind,
    ) -> Result<Buffer, DriverError> {
        let bytes = count.max(1).checked_mul(bytes);
        let bytes = bytes.ok_or(DriverError::OutOfMemory { requested: usize::MAX })?;
        let address = kind.allocate(&**driver, bytes)?;
        Ok(Buffer { driver: driver.clone(), address, bytes, idle: AtomicBool::new(false) })
    }

    /// Allocates a buffer and uploads `values` to it by the given queue.
    pub(crate) fn with<T: Pod>(
        driver: &Arc<dyn Driver>,
        queue: Queue,
        values: &[T],
    ) -> Result<Buffer, DriverError> {
        let buffer = Buffer::of::<T>(driver, values.len())?;
        buffer.write(queue, 0, values)?;
        Ok(buffer)
    }

    /// Writes `values` to the buffer, beginning at index `first`, by a queue of the driver. They must fit.
    pub(crate) fn write<T: Pod>(
        &self,
        queue: Queue,
        first: usize,
        values: &[T],
    ) -> Result<(), DriverError> {
        let offset = first * size_of::<T>();
        debug_assert!(offset + size_of_val(values) <= self.bytes);
        let to = Address(self.address.0 + offset as u64);
        self.driver.upload(to, bytemuck::cast_slice(values), queue)
    }

    /// Reads `out.len()` values, beginning at index `first`. Waits for the device as
    /// [`download`](Driver::download) by this queue does.
    pub(crate) fn read<T: Pod>(
        &self,
        queue: Queue,
        first: usize,
        out: &mut [T],
    ) -> Result<(), DriverError> {
        let offset = first * size_of::<T>();
        debug_assert!(offset + size_of_val(out) <= self.bytes);
        let from = Address(self.address.0 + offset as u64);
        self.driver.download(from, bytemuck::cast_slice_mut(out), queue)
    }

    /// Marks the buffer as idle: no transfer to it is pending or follows. Its release then needs no fence.
    pub(crate) fn rest(&self) {
        self.idle.store(true, Ordering::Relaxed);
    }

    /// Sets every byte to 0.
    pub(crate) fn clear(&self) -> Result<(), DriverError> {
        self.driver.clear(self.address, self.bytes)
    }

    /// Returns the address as an argument of a kernel.
    pub(crate) fn address(&self) -> u64 {
        self.address.0
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match self.idle.load(Ordering::Relaxed) {
            true => self.driver.release_idle(self.address),
            false => self.driver.release(self.address),
        }
    }
}

/// Location of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Device,
    /// Mapped host memory, which the device writes.
    Mapped,
}

impl Kind {
    fn allocate(self, driver: &dyn Driver, bytes: usize) -> Result<Address, DriverError> {
        match self {
            Kind::Device => driver.allocate(bytes),
            Kind::Mapped => driver.allocate_mapped(bytes),
        }
    }
}

/// Maximum size of the pool, in bytes. Memory beyond it is released to the driver.
const MOST_KEPT: usize = 256 << 20;

/// A driver that reuses released memory.
pub(crate) struct Pooled {
    driver: Arc<dyn Driver>,
    /// Maximum size of the pool, in bytes.
    most_kept: usize,
    pool: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    /// Kind and size of each allocation in use.
    used: HashMap<u64, (Kind, usize)>,
    /// Addresses of free memory, by kind and size.
    kept: HashMap<(Kind, usize), Vec<Address>>,
    /// Bytes of free memory of each [`Kind`].
    kept_bytes: [usize; 2],
    /// Pending calls of each [`Queue`].
    tallies: [CopyTally; 3],
    /// The last mark, and the number of calls that were queued in [`Queue::Work`] before it.
    last_mark: Option<(Mark, u64)>,
}

/// Calls in a queue: number of queued calls, and number of settled calls. A settled call is complete or precedes a
/// fence, therefore it cannot overlap with calls of the next owner of its memory.
#[derive(Clone, Copy, Default)]
struct CopyTally {
    queued: u64,
    settled: u64,
}

impl CopyTally {
    fn settle(&mut self, queued: u64) {
        self.settled = self.settled.max(queued);
    }

    fn is_settled(&self) -> bool {
        self.settled >= self.queued
    }
}

impl Pooled {
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Pooled {
        Pooled::keeping(driver, MOST_KEPT)
    }

    /// Creates a pool that keeps at most `most_kept` bytes.
    pub(crate) fn keeping(driver: Arc<dyn Driver>, most_kept: usize) -> Pooled {
        Pooled { driver, most_kept, pool: Mutex::default() }
    }

    /// Counts a call in a queue.
    fn note(&self, queue: Queue) {
        lock(&self.pool).tallies[queue as usize].queued += 1;
    }

    /// Takes memory from the pool or allocates it. If the device is out of memory, releases the pool and tries again.
    fn allocate_of(&self, kind: Kind, bytes: usize) -> Result<Address, DriverError> {
        let waiting = lock(&self.pool).take(kind, bytes);
        let address = match waiting {
            Some(address) => address,
            None => match kind.allocate(&*self.driver, bytes) {
                Err(DriverError::OutOfMemory { .. }) if self.empty() => {
                    kind.allocate(&*self.driver, bytes)?
                }
                allocated => allocated?,
            },
        };
        lock(&self.pool).used.insert(address.0, (kind, bytes));
        Ok(address)
    }

    /// Puts memory into the pool if the pool is not full and `is_ordered` is true, that is, if pending work cannot
    /// overlap with the next use of the memory. Otherwise releases the memory to the driver.
    fn keep(&self, address: Address, is_ordered: bool) {
        let mut pool = lock(&self.pool);
        let of = pool.used.remove(&address.0);
        let kept: usize = pool.kept_bytes.iter().sum();
        match of {
            Some((kind, bytes))
                if is_ordered && kept + bytes <= self.most_kept && !self.driver.is_lost() =>
            {
                pool.kept_bytes[kind as usize] += bytes;
                pool.kept.entry((kind, bytes)).or_default().push(address);
            }
            _ => {
                drop(pool);
                self.driver.release(address);
            }
        }
    }

    /// Releases all memory of the pool to the driver. Returns true if there was any.
    fn empty(&self) -> bool {
        let kept = {
            let mut pool = lock(&self.pool);
            pool.kept_bytes = [0; 2];
            std::mem::take(&mut pool.kept)
        };
        let any = !kept.is_empty();
        kept.into_values().flatten().for_each(|address| self.driver.release(address));
        any
    }
}

impl Pool {
    fn take(&mut self, kind: Kind, bytes: usize) -> Option<Address> {
        let waiting = self.kept.get_mut(&(kind, bytes))?;
        let address = waiting.pop()?;
        if waiting.is_empty() {
            self.kept.remove(&(kind, bytes));
        }
        self.kept_bytes[kind as usize] -= bytes;
        Some(address)
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.empty();
    }
}

impl Driver for Pooled {
    fn properties(&self) -> &Properties {
        self.driver.properties()
    }

    /// Returns the memory of the device; pooled memory counts as free.
    fn memory(&self) -> Result<Memory, DriverError> {
        let Memory { free, total } = self.driver.memory()?;
        Ok(Memory { free: free + lock(&self.pool).kept_bytes[Kind::Device as usize], total })
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        self.allocate_of(Kind::Device, bytes)
    }

    fn allocate_mapped(&self, bytes: usize) -> Result<Address, DriverError> {
        self.allocate_of(Kind::Mapped, bytes)
    }

    fn release(&self, address: Address) {
        // Pending transfers of an owner, for example after a failure, must not overlap with uploads of the next owner.
        let is_settled = lock(&self.pool).tallies.iter().all(CopyTally::is_settled);
        self.keep(address, is_settled || self.fence().is_ok());
    }

    fn release_idle(&self, address: Address) {
        self.keep(address, true);
    }

    fn upload(&self, to: Address, bytes: &[u8], queue: Queue) -> Result<(), DriverError> {
        let queued = self.driver.upload(to, bytes, queue);
        self.note(queue);
        queued
    }

    fn fence(&self) -> Result<(), DriverError> {
        let before = lock(&self.pool).tallies;
        self.driver.fence()?;
        let mut pool = lock(&self.pool);
        pool.tallies.iter_mut().zip(before).for_each(|(tally, before)| tally.settle(before.queued));
        Ok(())
    }

    fn mark(&self) -> Result<Mark, DriverError> {
        let before = lock(&self.pool).tallies[Queue::Work as usize].queued;
        let mark = self.driver.mark()?;
        lock(&self.pool).last_mark = Some((mark, before));
        Ok(mark)
    }

    fn wait(&self, mark: Mark) -> Result<(), DriverError> {
        self.driver.wait(mark)?;
        let mut pool = lock(&self.pool);
        if let Some((last, before)) = pool.last_mark
            && last == mark
        {
            pool.tallies[Queue::Work as usize].settle(before);
        }
        Ok(())
    }

    fn download(&self, from: Address, bytes: &mut [u8], queue: Queue) -> Result<(), DriverError> {
        let before = lock(&self.pool).tallies[queue as usize];
        self.driver.download(from, bytes, queue)?;
        lock(&self.pool).tallies[queue as usize].settle(before.queued);
        Ok(())
    }

    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError> {
        let queued = self.driver.clear(at, bytes);
        self.note(Queue::Work);
        queued
    }

    fn load(&self, image: &[u8]) -> Result<Module, DriverError> {
        self.driver.load(image)
    }

    fn unload(&self, module: Module) {
        self.driver.unload(module);
    }

    fn prefer_shared(&self, module: Module, kernel: &str, percent: u8) {
        self.driver.prefer_shared(module, kernel, percent);
    }

    fn resident_blocks(&self, module: Module, kernel: &str, threads: u32) -> Option<u32> {
        self.driver.resident_blocks(module, kernel, threads)
    }

    fn is_lost(&self) -> bool {
        self.driver.is_lost()
    }

    fn launch(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        let queued = self.driver.launch(module, kernel, geometry, arguments);
        self.note(Queue::Work);
        queued
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::{MOST_KEPT, Pooled};
    use crate::backend::cuda::driver::{Driver, Queue};
    use crate::backend::cuda::testing::faulty_driver::{Call, Faulty, Idle, Injected};
    use std::sync::Arc;

    fn pooled(driver: Faulty<Idle>) -> (Arc<Faulty<Idle>>, Pooled) {
        let driver = Arc::new(driver);
        (driver.clone(), Pooled::new(driver))
    }

    #[test]
    fn memory_of_the_same_size_is_used_again() {
        let (driver, pool) = pooled(Faulty::new(Idle::new(), Injected::Nothing));
        for _ in 0..10 {
            let (a, b) = (pool.allocate(1000).unwrap(), pool.allocate(1000).unwrap());
            assert_ne!(a, b);
            pool.release(a);
            pool.release(b);
        }
        assert_eq!(driver.count(Call::Allocate), 2);
        let other = pool.allocate(1008).unwrap();
        assert_eq!(driver.count(Call::Allocate), 3, "another size is another allocation");
        pool.release(other);
        drop(pool);
        driver.assert_clean();
    }

    #[test]
    fn what_waits_is_given_back_when_memory_runs_out() {
        let driver = Faulty::new(Idle::new(), Injected::Nothing).with_memory(10_000);
        let (driver, pool) = pooled(driver);
        let first = pool.allocate(8000).unwrap();
        assert!(pool.allocate(8001).is_err(), "the first is in use");
        pool.release(first);
        let free = pool.memory().unwrap().free;
        assert!(free >= 10_000, "what waits counts as free: {free}");
        let second = pool.allocate(8001).unwrap();
        pool.release(second);
        drop(pool);
        driver.assert_clean();
    }

    /// The next owner of the memory does not know of pending transfers to it.
    #[test]
    fn what_is_on_its_way_is_fenced_before_memory_is_used_again() {
        let (driver, pool) = pooled(Faulty::new(Idle::new(), Injected::Nothing));
        let first = pool.allocate(1000).unwrap();
        pool.upload(first, &[0; 10], Queue::Ahead).unwrap();
        pool.release(first);
        assert_eq!(driver.count(Call::Fence), 1);
        let second = pool.allocate(1000).unwrap();
        pool.upload(second, &[0; 10], Queue::Ahead).unwrap();
        pool.fence().unwrap();
        pool.release(second);
        assert_eq!((second, driver.count(Call::Fence)), (first, 2), "once is enough");
        let third = pool.allocate(1000).unwrap();
        pool.clear(third, 1000).unwrap();
        pool.download(third, &mut [0; 8], Queue::Work).unwrap();
        pool.release(third);
        assert_eq!(driver.count(Call::Fence), 2, "what was waited for is done");
        let marked = pool.allocate(1000).unwrap();
        pool.clear(marked, 1000).unwrap();
        let mark = pool.mark().unwrap();
        pool.wait(mark).unwrap();
        pool.release(marked);
        assert_eq!(driver.count(Call::Fence), 2, "work before a mark is done");
        let fourth = pool.allocate(1000).unwrap();
        pool.clear(fourth, 1000).unwrap();
        pool.release(fourth);
        assert_eq!(driver.count(Call::Fence), 3);
        drop(pool);
        driver.assert_clean();
        let (driver, pool) = pooled(Faulty::new(Idle::new(), Injected::Lost { call: 2 }));
        let first = pool.allocate(1000).unwrap();
        pool.upload(first, &[0; 10], Queue::Ahead).unwrap();
        pool.release(first);
        assert_eq!(driver.held().0, 0, "what cannot be fenced is not kept");
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let (driver, pool) = pooled(Faulty::new(Idle::new(), Injected::Nothing));
        let parts: Vec<_> = (0..3).map(|_| pool.allocate(MOST_KEPT / 2).unwrap()).collect();
        parts.into_iter().for_each(|address| pool.release(address));
        assert_eq!(driver.held().0, 2);
        drop(pool);
        driver.assert_clean();
    }
}
