//! Test double of the driver interface. It runs queued work as late as a device may, and uploads of the queue `Ahead`
//! as early as a device may. If such an upload overwrites data that queued work still needs, the results are wrong.
//! (The emulated device is the other extreme: it runs work at once, and uploads ahead as late as possible.)

use crate::backend::cuda::driver::{
    Address, Driver, DriverError, Geometry, Mark, Memory, Module, Properties, Queue,
};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Queued work.
enum Work {
    Upload(Address, Vec<u8>),
    Clear(Address, usize),
    Launch(Module, String, Geometry, Vec<Vec<u8>>),
}

#[derive(Default)]
struct Waiting {
    work: VecDeque<Work>,
    /// Number of items that were run.
    done: u64,
    /// Number of items of the work that uploads ahead must wait for.
    fenced: usize,
}

/// Driver that defers the calls to a driver that runs its work at once.
pub(crate) struct Deferred<D> {
    inner: D,
    waiting: Mutex<Waiting>,
}

impl<D: Driver> Deferred<D> {
    pub(crate) fn new(inner: D) -> Deferred<D> {
        Deferred { inner, waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, work: Work) -> Result<(), DriverError> {
        self.waiting().work.push_back(work);
        Ok(())
    }

    /// Runs the first `count` items of the work.
    fn run(&self, waiting: &mut Waiting, count: usize) -> Result<(), DriverError> {
        waiting.fenced = waiting.fenced.saturating_sub(count);
        waiting.done += count as u64;
        let due: Vec<Work> = waiting.work.drain(..count).collect();
        due.into_iter().try_for_each(|work| match work {
            Work::Upload(to, bytes) => self.inner.upload(to, &bytes, Queue::Work),
            Work::Clear(at, bytes) => self.inner.clear(at, bytes),
            Work::Launch(module, kernel, geometry, arguments) => {
                let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
                self.inner.launch(module, &kernel, geometry, &arguments)
            }
        })
    }

    fn run_all(&self) -> Result<(), DriverError> {
        let mut waiting = self.waiting();
        let all = waiting.work.len();
        self.run(&mut waiting, all)
    }
}

impl<D: Driver> Driver for Deferred<D> {
    fn properties(&self) -> &Properties {
        self.inner.properties()
    }

    fn memory(&self) -> Result<Memory, DriverError> {
        self.inner.memory()
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        self.inner.allocate(bytes)
    }

    fn allocate_mapped(&self, bytes: usize) -> Result<Address, DriverError> {
        self.inner.allocate_mapped(bytes)
    }

    fn release(&self, address: Address) {
        let _ = self.run_all();
        self.inner.release(address);
    }

    fn upload(&self, to: Address, bytes: &[u8], queue: Queue) -> Result<(), DriverError> {
        if queue == Queue::Work {
            return self.queue(Work::Upload(to, bytes.to_vec()));
        }
        let mut waiting = self.waiting();
        let fenced = waiting.fenced;
        self.run(&mut waiting, fenced)?;
        self.inner.upload(to, bytes, queue)?;
        self.inner.fence()
    }

    fn fence(&self) -> Result<(), DriverError> {
        let mut waiting = self.waiting();
        waiting.fenced = waiting.work.len();
        Ok(())
    }

    fn mark(&self) -> Result<Mark, DriverError> {
        let waiting = self.waiting();
        Ok(Mark(waiting.done + waiting.work.len() as u64))
    }

    fn wait(&self, mark: Mark) -> Result<(), DriverError> {
        let mut waiting = self.waiting();
        let count = mark.0.saturating_sub(waiting.done) as usize;
        self.run(&mut waiting, count)
    }

    fn download(&self, from: Address, bytes: &mut [u8], queue: Queue) -> Result<(), DriverError> {
        if queue == Queue::Work {
            self.run_all()?;
        }
        self.inner.download(from, bytes, queue)
    }

    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError> {
        self.queue(Work::Clear(at, bytes))
    }

    fn load(&self, image: &[u8]) -> Result<Module, DriverError> {
        self.inner.load(image)
    }

    fn unload(&self, module: Module) {
        let _ = self.run_all();
        self.inner.unload(module);
    }

    fn is_lost(&self) -> bool {
        self.inner.is_lost()
    }

    fn launch(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        let arguments = arguments.iter().map(|argument| argument.to_vec()).collect();
        self.queue(Work::Launch(module, kernel.to_owned(), geometry, arguments))
    }
}
