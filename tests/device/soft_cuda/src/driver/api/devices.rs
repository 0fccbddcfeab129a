//! The functions that need no context: of the driver itself, of devices, and of contexts.

use super::{Handle, Out, check_pointer, place};
use crate::driver::faults::{INVALID_VALUE, NOT_FOUND, texts};
use crate::driver::state::Needs;
use crate::driver::streams::{MOST_BLOCKS, MOST_THREADS};
use crate::driver::{Answer, call, say};
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr;

/// Starts the driver.
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> c_int {
    call("cuInit", Needs::Nothing, |driver| match flags {
        0 => driver.start(),
        _ => Err(INVALID_VALUE),
    })
}

/// The version of CUDA, 1000 times the major one and 10 times the minor one.
#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: Out<'_, c_int>) -> c_int {
    call("cuDriverGetVersion", Needs::Nothing, |driver| {
        place(version)?.write(driver.options.version);
        Ok(())
    })
}

/// What a code says; null for one that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(code: c_int, text: Out<'_, *const c_char>) -> c_int {
    call("cuGetErrorString", Needs::Nothing, |_| write_text(text, texts(code).map(|text| text.1)))
}

/// The name of a code; null for one that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(code: c_int, name: Out<'_, *const c_char>) -> c_int {
    call("cuGetErrorName", Needs::Nothing, |_| write_text(name, texts(code).map(|text| text.0)))
}

fn write_text(out: Out<'_, *const c_char>, text: Option<&'static CStr>) -> Answer {
    place(out)?.write(text.map_or(ptr::null(), CStr::as_ptr));
    text.map(|_| ()).ok_or(INVALID_VALUE)
}

/// The number of devices.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: Out<'_, c_int>) -> c_int {
    call("cuDeviceGetCount", Needs::Start, |driver| {
        place(count)?.write(c_int::try_from(driver.devices.len()).unwrap_or(c_int::MAX));
        Ok(())
    })
}

/// The device of a number, which is that number.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(device: Out<'_, c_int>, ordinal: c_int) -> c_int {
    call("cuDeviceGet", Needs::Start, |driver| {
        let device = place(device)?;
        driver.device(ordinal)?;
        device.write(ordinal);
        Ok(())
    })
}

/// The name of a device, as much of it as there is room for.
///
/// # Safety
/// `name` is null or has room for `length` characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) -> c_int {
    call("cuDeviceGetName", Needs::Start, |driver| {
        check_pointer(name)?;
        let room = usize::try_from(length).unwrap_or(0).checked_sub(1).ok_or(INVALID_VALUE)?;
        let text = format!("Soft CUDA {}", driver.device(device)?);
        let text = &text.as_bytes()[..room.min(text.len())];
        // SAFETY: there is room for the text and a NUL by the contract of this function.
        unsafe {
            name.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            name.add(text.len()).write(0);
        }
        Ok(())
    })
}

/// Bytes of memory of a device.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<'_, usize>, device: c_int) -> c_int {
    call("cuDeviceTotalMem_v2", Needs::Start, |driver| {
        let bytes = place(bytes)?;
        driver.device(device)?;
        bytes.write(driver.options.memory);
        Ok(())
    })
}

/// A property of a device; 0 for one that is not known.
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

/// The compute capability, 9.9, is one that no compiler knows, so that programs compile to PTX.
fn attribute_value(attribute: c_int) -> c_int {
    match attribute {
        // Threads of a block, in all and in its first dimension; in the others.
        1 | 2 => MOST_THREADS as c_int,
        3 | 4 => 1,
        // Blocks of a grid in its first dimension; in the others.
        5 => MOST_BLOCKS as c_int,
        6 | 7 => 1,
        // Bytes of shared memory of a block; lanes of a warp.
        8 => 48 << 10,
        10 => 32,
        // The clock in kHz; multiprocessors.
        13 => 1_755_000,
        16 => 2,
        // Page-locked memory is the device's too, at the same address.
        19 | 41 => 1,
        // The memory's clock in kHz; bits of its bus.
        36 => 2_619_000,
        37 => 5120,
        // Threads of a multiprocessor.
        39 => 2048,
        // The compute capability.
        75 | 76 => 9,
        _ => 0,
    }
}

/// The primary context of a device, which is there until it is released as often.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: Out<'_, Handle>, device: c_int) -> c_int {
    call("cuDevicePrimaryCtxRetain", Needs::Start, |driver| {
        let context = place(context)?;
        context.write(driver.retain(driver.device(device)?)?);
        Ok(())
    })
}

/// Gives a primary context up.
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

/// Takes the current context off this thread. The answer need not be asked for.
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

/// The context that is current on this thread, or null.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(context: Out<'_, Handle>) -> c_int {
    call("cuCtxGetCurrent", Needs::Start, |driver| {
        place(context)?.write(driver.current_context());
        Ok(())
    })
}

/// Puts a context, or none, in the place of the current one.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: Handle) -> c_int {
    call("cuCtxSetCurrent", Needs::Start, |driver| driver.set_context(context))
}

/// A table of functions that `cuda.h` does not name.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    bytes: usize,
    functions: [extern "C" fn() -> c_int; 127],
}

static TABLE: Table = Table { bytes: size_of::<Table>(), functions: [nothing; 127] };

/// What every function of a table does.
extern "C" fn nothing() -> c_int {
    NOT_FOUND
}

/// A table of functions that do nothing: NVRTC 12 asks the driver of the process for some.
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
