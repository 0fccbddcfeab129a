//! Resources of a device: its own memory, page-locked memory of the host, and modules.

use super::faults::{
    INVALID_HANDLE, INVALID_IMAGE, INVALID_PTX, INVALID_VALUE, NO_BINARY_FOR_GPU, NOT_FOUND,
    OUT_OF_MEMORY,
};
use super::state::{Driver, Object};
use super::{Answer, say};
use crate::machine::Loaded;
use crate::machine::memory::Memory;
use crate::program::{Function, Module};
use crate::ptx;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;

/// Value of each byte of new memory. Floats read from there are NaN.
const FRESH: u8 = 0xFF;
/// Alignment of page-locked memory, in bytes.
const PAGE: usize = 4096;
/// First bytes of a module that is machine code.
const ELF: &[u8] = b"\x7fELF";

/// Memory.
impl Driver {
    /// Returns the free memory of a device, in bytes.
    pub(crate) fn free_bytes(&self, device: usize) -> usize {
        self.options.memory.saturating_sub(self.devices[device].memory.used())
    }

    /// Allocates memory. Returns its address.
    pub(crate) fn allocate(&mut self, device: usize, bytes: usize) -> Answer<u64> {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        if bytes > self.free_bytes(device) {
            return Err(OUT_OF_MEMORY);
        }
        let of = &mut self.devices[device];
        let address = of.memory.allocate(bytes, FRESH);
        of.allocations.insert(address);
        Ok(address)
    }

    /// Frees memory after all work of the device is done.
    pub(crate) fn free(&mut self, device: usize, address: u64) -> Answer {
        if !self.devices[device].allocations.contains(&address) {
            return Err(INVALID_VALUE);
        }
        self.finish(device)?;
        self.devices[device].allocations.remove(&address);
        self.devices[device].memory.free(address);
        Ok(())
    }

    /// Allocates page-locked memory, which has the same address on the device.
    pub(crate) fn allocate_host(&mut self, device: usize, bytes: usize) -> Answer<*mut u8> {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let layout = Layout::from_size_align(bytes, PAGE).map_err(|_| OUT_OF_MEMORY)?;
        // SAFETY: the size of the layout is not 0.
        let at = unsafe { alloc(layout) };
        if at.is_null() {
            return Err(OUT_OF_MEMORY);
        }
        let of = &mut self.devices[device];
        // SAFETY: `bytes` bytes were allocated at `at`. They stay allocated until `give_back` has removed them from the
        // device. The program does not access them while the device does, as required by every driver.
        unsafe {
            at.write_bytes(FRESH, bytes);
            of.memory.map_host(at, bytes);
        }
        of.page_locked.insert(at as u64, layout);
        Ok(at)
    }

    /// Frees page-locked memory after all work of the device is done.
    pub(crate) fn free_host(&mut self, device: usize, address: u64) -> Answer {
        if !self.devices[device].page_locked.contains_key(&address) {
            return Err(INVALID_VALUE);
        }
        self.finish(device)?;
        let of = &mut self.devices[device];
        if let Some(layout) = of.page_locked.remove(&address) {
            give_back(&mut of.memory, address, layout);
        }
        Ok(())
    }

    /// Returns true if an address is in page-locked memory.
    pub(crate) fn is_page_locked(&self, device: usize, address: u64) -> bool {
        let below = self.devices[device].page_locked.range(..=address).next_back();
        below.is_some_and(|(begin, layout)| address - begin < layout.size() as u64)
    }
}

/// Removes page-locked memory from the device, and deallocates it.
pub(super) fn give_back(memory: &mut Memory, address: u64, layout: Layout) {
    memory.forget_host(address);
    // SAFETY: `allocate_host` allocated the memory with this layout. The caller has removed its entry, therefore it is
    // deallocated once.
    unsafe { dealloc(address as *mut u8, layout) };
}

/// Modules.
impl Driver {
    /// Loads a module from PTX.
    pub(crate) fn load(&mut self, device: usize, image: &[u8]) -> Answer<u64> {
        if image.starts_with(ELF) {
            return Err(NO_BINARY_FOR_GPU);
        }
        let text = std::str::from_utf8(image).map_err(|_| INVALID_IMAGE)?;
        self.dump(text);
        let module = ptx::parse(text).map_err(|error| {
            say(&format!("PTX: {error}"));
            INVALID_PTX
        })?;
        let loaded = Loaded::new(module, &mut self.devices[device].memory);
        let module = self.register(device, Object::Module { loaded, functions: HashMap::new() });
        if let (true, Some((_, Object::Module { loaded, .. }))) =
            (self.options.mutants, self.objects.get(&module))
        {
            self.mutants.expect(module, loaded);
        }
        Ok(module)
    }

    /// Writes a text to the folder for PTX if this option is set.
    fn dump(&mut self, text: &str) {
        let Some(folder) = &self.options.dump else { return };
        let path = folder.join(format!("{}_{}.ptx", std::process::id(), self.dumped));
        self.dumped += 1;
        if let Err(error) = std::fs::write(&path, text) {
            say(&format!("no PTX in {}: {error}", path.display()));
        }
    }

    /// Unloads a module after all work of the device is done.
    pub(crate) fn unload(&mut self, device: usize, module: u64) -> Answer {
        let Object::Module { .. } = self.object(device, module)? else {
            return Err(INVALID_HANDLE);
        };
        self.finish(device)?;
        if let Some((_, Object::Module { loaded, functions })) = self.objects.remove(&module) {
            for function in functions.values() {
                self.objects.remove(function);
            }
            loaded.unload(&mut self.devices[device].memory);
        }
        Ok(())
    }

    /// Returns the handle of a kernel.
    pub(crate) fn find_function(&mut self, device: usize, module: u64, name: &str) -> Answer<u64> {
        let Object::Module { loaded, functions } = self.object(device, module)? else {
            return Err(INVALID_HANDLE);
        };
        let kernel = loaded.module.kernel(name).ok_or(NOT_FOUND)?;
        if let Some(&function) = functions.get(&kernel) {
            return Ok(function);
        }
        let function = self.register(device, Object::Function { module, kernel });
        if let Object::Module { functions, .. } = self.object_mut(device, module)? {
            functions.insert(kernel, function);
        }
        Ok(function)
    }

    /// Returns the kernel of a handle.
    pub(crate) fn function(&self, device: usize, function: u64) -> Answer<&Function> {
        let (module, kernel) = self.module_of(device, function)?;
        module.functions.get(kernel).ok_or(INVALID_HANDLE)
    }

    /// Returns the shared memory of a block of a kernel, in bytes.
    pub(crate) fn shared_bytes(&self, device: usize, function: u64) -> Answer<usize> {
        Ok(self.module_of(device, function)?.0.shared_bytes)
    }

    /// Returns the module of a kernel, and its index there.
    fn module_of(&self, device: usize, function: u64) -> Answer<(&Module, usize)> {
        let &Object::Function { module, kernel } = self.object(device, function)? else {
            return Err(INVALID_HANDLE);
        };
        match self.object(device, module)? {
            Object::Module { loaded, .. } => Ok((&loaded.module, kernel)),
            _ => Err(INVALID_HANDLE),
        }
    }
}
