//! Implements the driver interface for `Arc` of a driver. Therefore a test double can wrap a shared driver.

use crate::backend::cuda::driver::{
    Address, Driver, DriverError, Geometry, Mark, Memory, Module, Properties, Queue,
};
use std::sync::Arc;

impl<D: Driver + ?Sized> Driver for Arc<D> {
    fn properties(&self) -> &Properties {
        (**self).properties()
    }

    fn memory(&self) -> Result<Memory, DriverError> {
        (**self).memory()
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        (**self).allocate(bytes)
    }

    fn allocate_mapped(&self, bytes: usize) -> Result<Address, DriverError> {
        (**self).allocate_mapped(bytes)
    }

    fn release(&self, address: Address) {
        (**self).release(address);
    }

    fn release_idle(&self, address: Address) {
        (**self).release_idle(address);
    }

    fn upload(&self, to: Address, bytes: &[u8], queue: Queue) -> Result<(), DriverError> {
        (**self).upload(to, bytes, queue)
    }

    fn fence(&self) -> Result<(), DriverError> {
        (**self).fence()
    }

    fn mark(&self) -> Result<Mark, DriverError> {
        (**self).mark()
    }

    fn wait(&self, mark: Mark) -> Result<(), DriverError> {
        (**self).wait(mark)
    }

    fn download(&self, from: Address, bytes: &mut [u8], queue: Queue) -> Result<(), DriverError> {
        (**self).download(from, bytes, queue)
    }

    fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError> {
        (**self).clear(at, bytes)
    }

    fn load(&self, image: &[u8]) -> Result<Module, DriverError> {
        (**self).load(image)
    }

    fn unload(&self, module: Module) {
        (**self).unload(module);
    }

    fn prefer_shared(&self, module: Module, kernel: &str, percent: u8) {
        (**self).prefer_shared(module, kernel, percent);
    }

    fn resident_blocks(&self, module: Module, kernel: &str, threads: u32) -> Option<u32> {
        (**self).resident_blocks(module, kernel, threads)
    }

    fn is_lost(&self) -> bool {
        (**self).is_lost()
    }

    fn launch(
        &self,
        module: Module,
        kernel: &str,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        (**self).launch(module, kernel, geometry, arguments)
    }
}
