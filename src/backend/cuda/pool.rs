//! Memory of a device that is kept for the next fit instead of being given back.
//!
//! Allocating takes a driver tens of microseconds and releasing waits for all work of the device: a
//! small resident fit would spend more time on its handful of buffers than on its passes. Fits of one
//! model ask for the same sizes again and again, so memory is kept by its exact size.

use super::driver::{Address, Driver, DriverError, Geometry, Memory, Module, Properties};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes kept at most; a release beyond that gives back to the driver.
const MOST_KEPT: usize = 256 << 20;

/// A driver whose released memory is used again.
pub(crate) struct Pooled {
    driver: Arc<dyn Driver>,
    pool: Mutex<Pool>,
    work: Tally,
    uploads_ahead: Tally,
}

/// Calls of a kind, and those of them that nothing of a later owner of their memory can meet.
#[derive(Default)]
struct Tally {
    queued: AtomicU64,
    settled: AtomicU64,
}

impl Tally {
    /// Counts a call that was made.
    fn add(&self) {
        self.queued.fetch_add(1, Ordering::AcqRel);
    }

    fn queued(&self) -> u64 {
        self.queued.load(Ordering::Acquire)
    }

    /// The first so many are done, or before a fence.
    fn settle(&self, queued: u64) {
        self.settled.fetch_max(queued, Ordering::AcqRel);
    }

    fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire) >= self.queued()
    }
}

#[derive(Default)]
struct Pool {
    /// Sizes of what is in use.
    used: HashMap<u64, usize>,
    /// Addresses that wait, by size.
    kept: HashMap<usize, Vec<Address>>,
    kept_bytes: usize,
}

impl Pooled {
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Pooled {
        let (work, uploads_ahead) = Default::default();
        Pooled { driver, pool: Mutex::default(), work, uploads_ahead }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back all that waits. Returns whether there was anything.
    fn empty(&self) -> bool {
        let kept = {
            let mut pool = self.pool();
            pool.kept_bytes = 0;
            std::mem::take(&mut pool.kept)
        };
        let any = !kept.is_empty();
        kept.into_values().flatten().for_each(|address| self.driver.release(address));
        any
    }
}

impl Pool {
    fn take(&mut self, bytes: usize) -> Option<Address> {
        let waiting = self.kept.get_mut(&bytes)?;
        let address = waiting.pop()?;
        if waiting.is_empty() {
            self.kept.remove(&bytes);
        }
        self.kept_bytes -= bytes;
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

    /// What waits counts as free.
    fn memory(&self) -> Result<Memory, DriverError> {
        let Memory { free, total } = self.driver.memory()?;
        Ok(Memory { free: free + self.pool().kept_bytes, total })
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        let waiting = self.pool().take(bytes);
        let address = match waiting {
            Some(address) => address,
            None => match self.driver.allocate(bytes) {
                Err(DriverError::OutOfMemory { .. }) if self.empty() => {
                    self.driver.allocate(bytes)?
                }
                allocated => allocated?,
            },
        };
        self.pool().used.insert(address.0, bytes);
        Ok(address)
    }

    fn release(&self, address: Address) {
        // What an owner leaves on its way, as one that failed does, must not meet uploads of the next.
        let is_settled = self.work.is_settled() && self.uploads_ahead.is_settled();
        let is_ordered = is_settled || self.fence().is_ok();
        let mut pool = self.pool();
        let bytes = pool.used.remove(&address.0);
        match bytes {
            Some(bytes)
                if is_ordered && pool.kept_bytes + bytes <= MOST_KEPT && !self.driver.is_lost() =>
            {
                pool.kept_bytes += bytes;
                pool.kept.entry(bytes).or_default().push(address);
            }
            _ => {
                drop(pool);
                self.driver.release(address);
            }
        }
    }

    fn upload(&self, to: Address, bytes: &[u8]) -> Result<(), DriverError> {
        let queued = self.driver.upload(to, bytes);
        self.work.add();
        queued
    }

    fn upload_ahead(&self, to: Address, bytes: &[u8]) -> Result<(), DriverError> {
        let queued = self.driver.upload_ahead(to, bytes);
        self.uploads_ahead.add();
        queued
    }

    fn fence(&self) -> Result<(), DriverError> {
        let (work, uploads_ahead) = (self.work.queued(), self.uploads_ahead.queued());
        self.driver.fence()?;
        self.work.settle(work);
        self.uploads_ahead.settle(uploads_ahead);
        Ok(())
    }

    fn download(&self, from: Address, bytes: &mut [u8]) -> Result<(), DriverError> {
        let work = self.work.queued();
        self.driver.download(from, bytes)?;
        self.work.settle(work);
        Ok(())
    }

    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError> {
        let queued = self.driver.clear(at, bytes);
        self.work.add();
        queued
    }

    fn load(&self, image: &[u8]) -> Result<Module, DriverError> {
        self.driver.load(image)
    }

    fn unload(&self, module: Module) {
        self.driver.unload(module);
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
        self.work.add();
        queued
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_KEPT, Pooled};
    use crate::backend::cuda::double::{Call, Faulty, Idle, Injected};
    use crate::backend::cuda::driver::Driver;
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

    /// The next owner of the memory knows nothing of what is on its way there.
    #[test]
    fn what_is_on_its_way_is_fenced_before_memory_is_used_again() {
        let (driver, pool) = pooled(Faulty::new(Idle::new(), Injected::Nothing));
        let first = pool.allocate(1000).unwrap();
        pool.upload_ahead(first, &[0; 10]).unwrap();
        pool.release(first);
        assert_eq!(driver.count(Call::Fence), 1);
        let second = pool.allocate(1000).unwrap();
        pool.upload_ahead(second, &[0; 10]).unwrap();
        pool.fence().unwrap();
        pool.release(second);
        assert_eq!((second, driver.count(Call::Fence)), (first, 2), "once is enough");
        let third = pool.allocate(1000).unwrap();
        pool.clear(third, 1000).unwrap();
        pool.download(third, &mut [0; 8]).unwrap();
        pool.release(third);
        assert_eq!(driver.count(Call::Fence), 2, "what was waited for is done");
        let fourth = pool.allocate(1000).unwrap();
        pool.clear(fourth, 1000).unwrap();
        pool.release(fourth);
        assert_eq!(driver.count(Call::Fence), 3);
        drop(pool);
        driver.assert_clean();
        let (driver, pool) = pooled(Faulty::new(Idle::new(), Injected::Lost { call: 2 }));
        let first = pool.allocate(1000).unwrap();
        pool.upload_ahead(first, &[0; 10]).unwrap();
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
