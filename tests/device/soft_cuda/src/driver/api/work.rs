//! Functions on the device whose context is current: memory, streams, events, modules and kernels.
//!
//! There is no default stream: its handle, 0, is invalid.

use super::{Handle, Out, check_pointer, place};
use crate::driver::call_on_device;
use crate::driver::faults::{INVALID_VALUE, NOT_FOUND};
use crate::driver::state::Object;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::slice;

/// Returns the free memory and the total memory, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetInfo_v2(free: Out<'_, usize>, total: Out<'_, usize>) -> c_int {
    call_on_device("cuMemGetInfo_v2", |driver, device| {
        let (free, total) = (place(free)?, place(total)?);
        free.write(driver.free_bytes(device));
        total.write(driver.options.memory);
        Ok(())
    })
}

/// Allocates memory of the device.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(address: Out<'_, u64>, bytes: usize) -> c_int {
    call_on_device("cuMemAlloc_v2", |driver, device| {
        let address = place(address)?;
        address.write(driver.allocate(device, bytes)?);
        Ok(())
    })
}

/// Frees memory of the device.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    call_on_device("cuMemFree_v2", |driver, device| driver.free(device, address))
}

/// Allocates page-locked memory of the host.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostAlloc(
    address: Out<'_, *mut c_void>,
    bytes: usize,
    _flags: c_uint,
) -> c_int {
    call_on_device("cuMemHostAlloc", |driver, device| {
        let address = place(address)?;
        address.write(driver.allocate_host(device, bytes)?.cast());
        Ok(())
    })
}

/// Frees page-locked memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(address: u64) -> c_int {
    call_on_device("cuMemFreeHost", |driver, device| driver.free_host(device, address))
}

/// Returns the device's address of page-locked memory, which equals the host's.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostGetDevicePointer_v2(
    address: Out<'_, u64>,
    host: u64,
    flags: c_uint,
) -> c_int {
    call_on_device("cuMemHostGetDevicePointer_v2", |driver, device| {
        let address = place(address)?;
        if flags != 0 || !driver.is_page_locked(device, host) {
            return Err(INVALID_VALUE);
        }
        address.write(host);
        Ok(())
    })
}

/// Enqueues a copy to the device.
///
/// # Safety
/// `from` is null, or `bytes` bytes there can be read until the caller knows that the copy is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: u64,
    from: *const c_void,
    bytes: usize,
    stream: Handle,
) -> c_int {
    call_on_device("cuMemcpyHtoDAsync_v2", |driver, device| {
        check_pointer(from)?;
        // SAFETY: the contract is the same.
        unsafe { driver.upload(device, to, from.cast(), bytes, stream) }
    })
}

/// Enqueues a copy from the device.
///
/// # Safety
/// `to` is null, or `bytes` bytes there can be written until the caller knows that the copy is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    bytes: usize,
    stream: Handle,
) -> c_int {
    call_on_device("cuMemcpyDtoHAsync_v2", |driver, device| {
        check_pointer(to)?;
        // SAFETY: the contract is the same.
        unsafe { driver.download(device, to.cast(), from, bytes, stream) }
    })
}

/// Enqueues the assignment of `value` to bytes of the device.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(at: u64, value: u8, bytes: usize, stream: Handle) -> c_int {
    call_on_device("cuMemsetD8Async", |driver, device| {
        driver.fill(device, at, value, bytes, stream)
    })
}

/// Creates a stream. With either flag it runs independently of all other streams.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreate(stream: Out<'_, Handle>, flags: c_uint) -> c_int {
    call_on_device("cuStreamCreate", |driver, device| {
        let stream = place(stream)?;
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        stream.write(driver.create_stream(device));
        Ok(())
    })
}

/// Waits until all work of a stream is done.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: Handle) -> c_int {
    call_on_device("cuStreamSynchronize", |driver, device| {
        driver.synchronize_stream(device, stream)
    })
}

/// Destroys a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: Handle) -> c_int {
    call_on_device("cuStreamDestroy_v2", |driver, device| driver.destroy_stream(device, stream))
}

/// Makes all later work of a stream wait for the last record of an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> c_int {
    call_on_device("cuStreamWaitEvent", |driver, device| match flags {
        0 | 1 => driver.wait_for_event(device, stream, event),
        _ => Err(INVALID_VALUE),
    })
}

/// Creates an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(event: Out<'_, Handle>, _flags: c_uint) -> c_int {
    call_on_device("cuEventCreate", |driver, device| {
        let event = place(event)?;
        event.write(driver.register(device, Object::Event(None)));
        Ok(())
    })
}

/// Records an event, which then marks all work of the stream so far.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> c_int {
    call_on_device("cuEventRecord", |driver, device| driver.record_event(device, event, stream))
}

/// Waits until the work that an event marks is done.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: Handle) -> c_int {
    call_on_device("cuEventSynchronize", |driver, device| driver.synchronize_event(device, event))
}

/// Destroys an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: Handle) -> c_int {
    call_on_device("cuEventDestroy_v2", |driver, device| driver.destroy_event(device, event))
}

/// Loads a module from PTX.
///
/// # Safety
/// `image` is null or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: Out<'_, Handle>, image: *const c_char) -> c_int {
    call_on_device("cuModuleLoadData", |driver, device| {
        let module = place(module)?;
        check_pointer(image)?;
        // SAFETY: the image ends with a NUL by the contract of this function.
        let image = unsafe { CStr::from_ptr(image) };
        module.write(driver.load(device, image.to_bytes())?);
        Ok(())
    })
}

/// Sets the preferred share of shared memory of a kernel, in percent. The software driver has no use for it.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) -> c_int {
    const PREFERRED_SHARED_MEMORY_CARVEOUT: c_int = 9;
    call_on_device("cuFuncSetAttribute", |driver, device| {
        driver.function(device, function)?;
        match attribute == PREFERRED_SHARED_MEMORY_CARVEOUT && (-1..=100).contains(&value) {
            true => Ok(()),
            false => Err(INVALID_VALUE),
        }
    })
}

/// Returns the number of blocks that are resident on a multiprocessor with 2048 threads and 164 KiB of shared memory.
/// PTX has no machine registers, therefore they set no limit here.
#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: Out<'_, c_int>,
    function: Handle,
    threads: c_int,
    shared_bytes: usize,
) -> c_int {
    call_on_device("cuOccupancyMaxActiveBlocksPerMultiprocessor", |driver, device| {
        let blocks = place(blocks)?;
        let own_bytes = driver.shared_bytes(device, function)?;
        let threads = usize::try_from(threads).ok().filter(|&threads| threads > 0);
        let by_threads = 2048 / threads.ok_or(INVALID_VALUE)?;
        // The device needs 1 KiB of each block's shared memory for itself.
        let by_memory = (164 << 10) / (own_bytes + shared_bytes + 1024);
        blocks.write(by_threads.min(by_memory).min(32) as c_int);
        Ok(())
    })
}

/// Unloads a module.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: Handle) -> c_int {
    call_on_device("cuModuleUnload", |driver, device| driver.unload(device, module))
}

/// Returns a kernel of a module.
///
/// # Safety
/// `name` is null or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: Out<'_, Handle>,
    module: Handle,
    name: *const c_char,
) -> c_int {
    call_on_device("cuModuleGetFunction", |driver, device| {
        let function = place(function)?;
        check_pointer(name)?;
        // SAFETY: the name ends with a NUL by the contract of this function.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| NOT_FOUND)?;
        function.write(driver.find_function(device, module, name)?);
        Ok(())
    })
}

/// Enqueues a kernel. Grids and blocks have one dimension. Dynamic shared memory and `extra` are not supported.
///
/// # Safety
/// `parameters` is null or has a pointer for each parameter of the kernel. Each pointer is null or valid for the bytes
/// of its parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    blocks: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    shared_bytes: c_uint,
    stream: Handle,
    parameters: *const *const u8,
    extra: *const c_void,
) -> c_int {
    call_on_device("cuLaunchKernel", |driver, device| {
        let places = &driver.function(device, function)?.parameters;
        let is_flat = [blocks_y, blocks_z, threads_y, threads_z] == [1; 4];
        if !is_flat || shared_bytes != 0 || !extra.is_null() {
            return Err(INVALID_VALUE);
        }
        let mut arguments = Vec::new();
        for (i, place) in places.iter().enumerate() {
            check_pointer(parameters)?;
            // SAFETY: there is a pointer for each parameter by the contract of this function.
            let argument = unsafe { parameters.add(i).read() };
            check_pointer(argument)?;
            // SAFETY: it points to the parameter's bytes by the same contract.
            arguments.push(unsafe { slice::from_raw_parts(argument, place.bytes) }.to_vec());
        }
        driver.launch(device, function, (blocks, threads), arguments, stream)
    })
}
