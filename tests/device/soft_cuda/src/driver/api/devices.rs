//! Functions that need no context: they concern the driver itself, devices, and contexts.

use super::{Handle, Out, check_pointer, place};
use crate::driver::faults::{INVALID_VALUE, NOT_FOUND, texts};
use crate::driver::state::Needs;
use crate::driver::streams::{MOST_BLOCKS, MOST_THREADS};
use crate::driver::{Answer, call, say};
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr;

/// Initialises the driver.
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> c_int {
    call("cuInit", Needs::Nothing, |driver| match flags {
        0 => driver.start(),
        _ => Err(INVALID_VALUE),
    })
}

/// Returns the version of CUDA: 1000 × major + 10 × minor.
#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: Out<'_, c_int>) -> c_int {
    call("cuDriverGetVersion", Needs::Nothing, |driver| {
        place(version)?.write(driver.options.version);
        Ok(())
    })
}

/// Returns the text of an error code; null for an unknown code.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(code: c_int, text: Out<'_, *const c_char>) -> c_int {
    call("cuGetErrorString", Needs::Nothing, |_| write_text(text, texts(code).map(|text| text.1)))
}

/// Returns the name of an error code; null for an unknown code.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(code: c_int, name: Out<'_, *const c_char>) -> c_int {
    call("cuGetErrorName", Needs::Nothing, |_| write_text(name, texts(code).map(|text| text.0)))
}

fn write_text(out: Out<'_, *const c_char>, text: Option<&'static CStr>) -> Answer {
    place(out)?.write(text.map_or(ptr::null(), CStr::as_ptr));
    text.map(|_| ()).ok_or(INVALID_VALUE)
}

/// Returns the number of devices.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: Out<'_, c_int>) -> c_int {
    call("cuDeviceGetCount", Needs::Start, |driver| {
        place(count)?.write(c_int::try_from(driver.devices.len()).unwrap_or(c_int::MAX));
        Ok(())
    })
}

/// Returns the device with an ordinal; devices are represented by their ordinals.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(device: Out<'_, c_int>, ordinal: c_int) -> c_int {
    call("cuDeviceGet", Needs::Start, |driver| {
        let device = place(device)?;
        driver.device(ordinal)?;
        device.write(ordinal);
        Ok(())
    })
}

/// Returns the name of a device, truncated to the buffer's length.
///
/// # Safety
/// `name` is null or can be written for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) -> c_int {
    call("cuDeviceGetName", Needs::Start, |driver| {
        check_pointer(name)?;
        let room = usize::try_from(length).unwrap_or(0).checked_sub(1).ok_or(INVALID_VALUE)?;
        let text = format!("Soft CUDA {}", driver.device(device)?);
        let text = &text.as_bytes()[..room.min(text.len())];
        // SAFETY: the text and its NUL are not longer than `length`, by the contract of this function.
        unsafe {
            name.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            name.add(text.len()).write(0);
        }
        Ok(())
    })
}

/// Returns the memory of a device, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<'_, usize>, device: c_int) -> c_int {
    call("cuDeviceTotalMem_v2", Needs::Start, |driver| {
        let bytes = place(bytes)?;
        driver.device(device)?;
        bytes.write(driver.options.memory);
        Ok(())
    })
}

/// Returns an attribute of a device; 0 for an unknown attribute.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(
    value: Out<'_, c_int>,
    attribute: c_int,
    device: c_int,
) -> c_int {
    call("cuDeviceGetAttribute", Needs::Start, |driver| {
        let value = place(value)?;
        driver.device(device)?;
        value.write(attribute_value(attribute));
        Ok(())
    })
}

/// Returns the value of an attribute. The compute capability, 9.9, is unknown to all compilers, therefore programs are
/// compiled to PTX.
fn attribute_value(attribute: c_int) -> c_int {
    match attribute {
        // Maximum number of threads per block, in total and in x; in y and z.
        1 | 2 => MOST_THREADS as c_int,
        3 | 4 => 1,
        // Maximum number of blocks of a grid in x; in y and z.
        5 => MOST_BLOCKS as c_int,
        6 | 7 => 1,
        // Shared memory per block in bytes; lanes of a warp.
        8 => 48 << 10,
        10 => 32,
        // Clock rate in kHz; number of multiprocessors.
        13 => 1_755_000,
        16 => 2,
        // Page-locked memory is mapped into the device at the same address.
        19 | 41 => 1,
        // Clock rate of the memory in kHz; width of its bus in bits.
        36 => 2_619_000,
        37 => 5120,
        // Maximum number of threads per multiprocessor.
        39 => 2048,
        // Compute capability, major and minor.
        75 | 76 => 9,
        _ => 0,
    }
}

/// Retains the primary context of a device. It exists until it was released as often as it was retained.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: Out<'_, Handle>, device: c_int) -> c_int {
    call("cuDevicePrimaryCtxRetain", Needs::Start, |driver| {
        let context = place(context)?;
        context.write(driver.retain(driver.device(device)?)?);
        Ok(())
    })
}

/// Releases a primary context.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int {
    call("cuDevicePrimaryCtxRelease_v2", Needs::Start, |driver| {
        driver.release(driver.device(device)?)
    })
}

/// Makes a context current on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: Handle) -> c_int {
    call("cuCtxPushCurrent_v2", Needs::Start, |driver| driver.push_context(context))
}

/// Pops the current context of this thread. `context` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(context: Out<'_, Handle>) -> c_int {
    call("cuCtxPopCurrent_v2", Needs::Start, |driver| {
        let popped = driver.pop_context()?;
        if let Some(context) = context {
            context.write(popped);
        }
        Ok(())
    })
}

/// Returns the current context of this thread, or null.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(context: Out<'_, Handle>) -> c_int {
    call("cuCtxGetCurrent", Needs::Start, |driver| {
        place(context)?.write(driver.current_context());
        Ok(())
    })
}

/// Replaces the current context of this thread; null removes it.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: Handle) -> c_int {
    call("cuCtxSetCurrent", Needs::Start, |driver| driver.set_context(context))
}

/// Table of functions that `cuda.h` does not declare.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    bytes: usize,
    functions: [extern "C" fn() -> c_int; 127],
}

static TABLE: Table = Table { bytes: size_of::<Table>(), functions: [nothing; 127] };

/// Function that all entries of the table refer to.
extern "C" fn nothing() -> c_int {
    NOT_FOUND
}

/// Returns a table of functions that do nothing. NVRTC 12 requests such tables from the driver.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetExportTable(table: Out<'_, &'static Table>, id: Option<&[u8; 16]>) -> c_int {
    call("cuGetExportTable", Needs::Nothing, |driver| {
        let table = place(table)?;
        let id = id.ok_or(INVALID_VALUE)?;
        if driver.options.trace {
            say(&format!("the export table {id:02x?}"));
        }
        table.write(&TABLE);
        Ok(())
    })
}
