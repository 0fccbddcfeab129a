//! The driver calls for one device: the lowest layer, which contains the unsafe code.
//!
//! Each call makes the device's primary context current on the calling thread and restores the
//! thread's context afterwards. Therefore a program that uses CUDA itself keeps its own device. Work is queued on one
//! of three streams, in the order of the calls.
//!
//! Nothing here may be called before [`probe`](crate::backend::cuda::probe) has found every function.

use crate::backend::cuda::driver::{
    Address, DriverError, Geometry, Mark, Memory, Properties, Queue,
};
use crate::threads::lock;
use cudarc::driver::{result, sys};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of events for marks. A mark whose event was recorded again waits for the later mark.
const MARKS: usize = 16;

/// A device's primary context with a stream for each queue.
#[derive(Debug)]
pub(super) struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
    /// The stream of each [`Queue`]; null if opening failed before it was created.
    streams: [sys::CUstream; 3],
    /// Events that a fence records, for [`Queue::Work`] and [`Queue::Ahead`].
    fences: [sys::CUevent; 2],
    /// Locked while the events of a fence are recorded and waits for them are queued.
    fencing: Mutex<()>,
    /// Events of marks, used in turn.
    marks: [sys::CUevent; MARKS],
    /// Number of marks so far.
    marked: AtomicU64,
}

// SAFETY: the handles are valid on every thread, and the driver's functions may be
// called from any thread; each call sets the current context.
unsafe impl Send for Context {}
// SAFETY: as for `Send`.
unsafe impl Sync for Context {}

/// Returns the properties of device `ordinal` and its memory in bytes. Creates no context, because a context takes
/// memory of the device, and another process may prevent its creation.
pub(super) fn describe(
    ordinal: usize,
    driver_version: (u32, u32),
) -> Result<(Properties, usize), DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let device = device(ordinal)?;
    let attribute = |attribute| {
        // SAFETY: the device comes from `cuDeviceGet`.
        let value = unsafe { result::device::get_attribute(device, attribute) };
        // Attributes that the driver does not know are 0.
        value.map_or(0, |value| value.max(0) as u32)
    };
    let kilohertz = |clock| 1e3 * f64::from(attribute(clock));
    let bus = f64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
    // SAFETY: the device comes from `cuDeviceGet`.
    let total = check("cuDeviceTotalMem", 0, unsafe { result::device::total_mem(device) })?;
    let properties = Properties {
        ordinal,
        name: name(device),
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        ),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        clock_hertz: kilohertz(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        // Two transfers per clock, times the width of the bus in bits.
        memory_bytes_per_second: 2.0
            * kilohertz(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
            * bus
            / 8.0,
        driver_version,
        has_time_limit: attribute(Attribute::CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT) != 0,
    };
    Ok((properties, total))
}

fn device(ordinal: usize) -> Result<sys::CUdevice, DriverError> {
    check("cuInit", 0, result::init())?;
    let ordinal = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
    check("cuDeviceGet", 0, result::device::get(ordinal))
}

fn name(device: sys::CUdevice) -> String {
    let mut name: [c_char; 256] = [0; 256];
    // SAFETY: the buffer is longer than the length passed, therefore its last byte stays 0.
    match unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), 255, device) } {
        sys::CUresult::CUDA_SUCCESS => {
            // SAFETY: the text is inside `name`, which ends with a NUL.
            unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()
        }
        _ => "CUDA device".into(),
    }
}

/// A loaded module.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModuleHandle(sys::CUmodule);
// SAFETY: a handle that is valid on every thread.
unsafe impl Send for ModuleHandle {}

/// A kernel of a loaded module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel(sys::CUfunction);
// SAFETY: a handle that is valid on every thread.
unsafe impl Send for Kernel {}

/// Flag of events that record completion only, without a time.
pub(super) const UNTIMED: sys::CUevent_flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;

/// Makes a context current on this thread until it is dropped.
pub(super) struct Current;

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: pops the context that was pushed on this thread when `self` was created. If this fails because
        // the context is lost, the next call reports it.
        let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    }
}

impl Context {
    pub(super) fn open(ordinal: usize) -> Result<Context, DriverError> {
        let device = device(ordinal)?;
        // SAFETY: the device comes from `cuDeviceGet`.
        let context = unsafe { result::primary_ctx::retain(device) };
        let context = check("cuDevicePrimaryCtxRetain", 0, context)?;
        let mut opened = Context {
            device,
            context,
            streams: [ptr::null_mut(); 3],
            fences: [ptr::null_mut(); 2],
            fencing: Mutex::new(()),
            marks: [ptr::null_mut(); MARKS],
            marked: AtomicU64::new(0),
        };
        let current = opened.enter()?;
        for stream in &mut opened.streams {
            let created = result::stream::create(result::stream::StreamKind::NonBlocking);
            *stream = check("cuStreamCreate", 0, created)?;
        }
        for event in opened.fences.iter_mut().chain(&mut opened.marks) {
            *event = check("cuEventCreate", 0, result::event::create(UNTIMED))?;
        }
        drop(current);
        Ok(opened)
    }

    pub(super) fn stream(&self, queue: Queue) -> sys::CUstream {
        self.streams[queue as usize]
    }

    pub(super) fn enter(&self) -> Result<Current, DriverError> {
        // SAFETY: the context is retained as long as `self` lives.
        let pushed = unsafe { sys::cuCtxPushCurrent_v2(self.context) }.result();
        check("cuCtxPushCurrent", 0, pushed).map(|()| Current)
    }

    pub(super) fn memory(&self) -> Result<Memory, DriverError> {
        let _current = self.enter()?;
        let (free, total) = check("cuMemGetInfo", 0, result::mem_get_info())?;
        Ok(Memory { free, total })
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Address, DriverError> {
        let _current = self.enter()?;
        // SAFETY: the context is current. At least one byte is requested, because CUDA rejects 0 bytes.
        let address = unsafe { result::malloc_sync(bytes.max(1)) };
        check("cuMemAlloc", bytes.max(1), address).map(Address)
    }

    /// Waits for the work that may use the memory, then frees it.
    pub(super) fn free(&self, address: Address) -> Result<(), DriverError> {
        self.synchronize_all()?;
        let _current = self.enter()?;
        // SAFETY: the address comes from `allocate` by the contract of the driver seam, which requires
        // one release; no work is under way.
        check("cuMemFree", 0, unsafe { result::free_sync(address.0) })
    }

    /// Waits for all work of a stream.
    pub(super) fn synchronize(&self, queue: Queue) -> Result<(), DriverError> {
        let _current = self.enter()?;
        self.wait_for(queue)
    }

    /// Like `synchronize`, for callers that have made the context current.
    fn wait_for(&self, queue: Queue) -> Result<(), DriverError> {
        // SAFETY: the stream lives as long as `self`.
        let done = unsafe { result::stream::synchronize(self.stream(queue)) };
        check("cuStreamSynchronize", 0, done)
    }

    /// Waits for all work of all streams.
    pub(super) fn synchronize_all(&self) -> Result<(), DriverError> {
        let others = [Queue::Ahead, Queue::Results].map(|queue| self.synchronize(queue));
        others.into_iter().fold(self.synchronize(Queue::Work), Result::and)
    }

    /// Makes later work in [`Queue::Work`] and in [`Queue::Ahead`] wait for the work already queued in the other queue.
    pub(super) fn fence(&self) -> Result<(), DriverError> {
        let _one_at_a_time = lock(&self.fencing);
        let _current = self.enter()?;
        let streams = [Queue::Work, Queue::Ahead].map(|queue| self.stream(queue));
        for (event, stream) in self.fences.into_iter().zip(streams) {
            record(event, stream)?;
        }
        let [after_work, after_uploads] = self.fences;
        for (stream, event) in streams.into_iter().zip([after_uploads, after_work]) {
            let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            // SAFETY: event and stream live as long as `self`. The event was recorded; its stream does not wait for
            // work that is queued after this call.
            let waits = unsafe { result::stream::wait_event(stream, event, flags) };
            check("cuStreamWaitEvent", 0, waits)?;
        }
        Ok(())
    }

    /// Marks the work queued in [`Queue::Work`] so far.
    pub(super) fn mark(&self) -> Result<Mark, DriverError> {
        let mark = Mark(self.marked.fetch_add(1, Ordering::Relaxed));
        let _current = self.enter()?;
        record(self.event_of(mark), self.stream(Queue::Work)).map(|()| mark)
    }

    /// Waits for the work before a mark.
    pub(super) fn wait(&self, mark: Mark) -> Result<(), DriverError> {
        let _current = self.enter()?;
        // SAFETY: the event lives as long as `self`.
        let done = unsafe { result::event::synchronize(self.event_of(mark)) };
        check("cuEventSynchronize", 0, done)
    }

    fn event_of(&self, mark: Mark) -> sys::CUevent {
        self.marks[(mark.0 % MARKS as u64) as usize]
    }

    /// Copies from any host memory. Waits until the copy is done, because the driver may read `bytes` until then.
    pub(super) fn upload(
        &self,
        to: Address,
        bytes: &[u8],
        queue: Queue,
    ) -> Result<(), DriverError> {
        let current = self.enter()?;
        // SAFETY: `to` is device memory of this length by the contract of the driver seam, `bytes`
        // is borrowed until the copy is done.
        let started = unsafe { result::memcpy_htod_async(to.0, bytes, self.stream(queue)) };
        let started = check("cuMemcpyHtoDAsync", 0, started);
        drop(current);
        self.synchronize(queue).and(started)
    }

    /// Copies to ordinary host memory after the work of a stream, and waits for the copy.
    pub(super) fn download(
        &self,
        from: Address,
        bytes: &mut [u8],
        queue: Queue,
    ) -> Result<(), DriverError> {
        let _current = self.enter()?;
        // SAFETY: `from` is device memory of this length by the contract of the driver seam. A copy to ordinary
        // memory is done when the call returns.
        let started = unsafe { result::memcpy_dtoh_async(bytes, from.0, self.stream(queue)) };
        let started = check("cuMemcpyDtoHAsync", 0, started);
        self.wait_for(queue).and(started)
    }

    pub(super) fn clear(&self, at: Address, bytes: usize) -> Result<(), DriverError> {
        let _current = self.enter()?;
        let stream = self.stream(Queue::Work);
        // SAFETY: `at` is device memory of this length by the contract of the driver seam.
        let started = unsafe { result::memset_d8_async(at.0, 0, bytes, stream) };
        check("cuMemsetD8Async", 0, started)
    }

    pub(super) fn load(&self, image: &[u8]) -> Result<ModuleHandle, DriverError> {
        // The driver determines the length itself: from the header of machine code, or from the NUL at the end of
        // PTX, which is appended here. Words of 8 bytes align machine code as in a file.
        let mut words = vec![0_u64; image.len() / 8 + 1];
        for (word, bytes) in words.iter_mut().zip(image.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(padded);
        }
        let _current = self.enter()?;
        // SAFETY: the image comes from a compiler and ends with a NUL, and the driver copies it.
        let module = unsafe { result::module::load_data(words.as_ptr().cast()) };
        check("cuModuleLoadData", image.len(), module).map(ModuleHandle)
    }

    /// Waits for the work that may use a module, then unloads it.
    pub(super) fn unload(&self, module: ModuleHandle) -> Result<(), DriverError> {
        self.synchronize(Queue::Work)?;
        let _current = self.enter()?;
        // SAFETY: the module was loaded here, and its owner gives it up; no work is under way.
        check("cuModuleUnload", 0, unsafe { result::module::unload(module.0) })
    }

    pub(super) fn kernel(&self, module: ModuleHandle, name: &str) -> Result<Kernel, DriverError> {
        let call = "cuModuleGetFunction";
        let not_found = |_| result::DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND);
        let name = check(call, 0, CString::new(name).map_err(not_found))?;
        let _current = self.enter()?;
        // SAFETY: the module is loaded as long as its owner has it.
        check(call, 0, unsafe { result::module::get_function(module.0, name) }).map(Kernel)
    }

    pub(super) fn prefer_shared(&self, kernel: Kernel, percent: u8) -> Result<(), DriverError> {
        use sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT as CARVEOUT;
        let _current = self.enter()?;
        // SAFETY: the kernel's module is loaded as long as its owner has it.
        let set = unsafe {
            result::function::set_function_attribute(kernel.0, CARVEOUT, i32::from(percent))
        };
        check("cuFuncSetAttribute", 0, set)
    }

    pub(super) fn resident_blocks(&self, kernel: Kernel, threads: u32) -> Result<u32, DriverError> {
        let _current = self.enter()?;
        // SAFETY: the kernel's module is loaded as long as its owner has it.
        let found = unsafe {
            result::occupancy::max_active_block_per_multiprocessor(kernel.0, threads as i32, 0)
        };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", 0, found)
            .map(|blocks| blocks.max(0) as u32)
    }

    pub(super) fn launch(
        &self,
        kernel: Kernel,
        geometry: Geometry,
        arguments: &[&[u8]],
    ) -> Result<(), DriverError> {
        let mut pointers: Vec<*mut c_void> =
            arguments.iter().map(|argument| argument.as_ptr().cast_mut().cast()).collect();
        let _current = self.enter()?;
        // SAFETY: the kernel's module is loaded as long as its owner has it. By the contract of the
        // driver seam the arguments are the bytes of the kernel's parameters; the driver reads them
        // before it returns, and writes nothing to them.
        let started = unsafe {
            result::launch_kernel(
                kernel.0,
                (geometry.blocks, 1, 1),
                (geometry.threads, 1, 1),
                0,
                self.stream(Queue::Work),
                &mut pointers,
            )
        };
        check("cuLaunchKernel", 0, started)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let made = |stream: &sys::CUstream| !stream.is_null();
        if let Ok(_current) = self.enter() {
            // SAFETY: `open` created the streams and events. They are destroyed once, after the work of the
            // streams is complete.
            unsafe {
                for stream in self.streams.into_iter().filter(made) {
                    let _ = result::stream::synchronize(stream);
                }
                let events = self.fences.into_iter().chain(self.marks);
                for event in events.filter(|event| !event.is_null()) {
                    let _ = result::event::destroy(event);
                }
                for stream in self.streams.into_iter().filter(made) {
                    let _ = result::stream::destroy(stream);
                }
            }
        }
        // SAFETY: retained once by `open`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Records an event after the present work of a stream, both of the current context.
pub(super) fn record(event: sys::CUevent, stream: sys::CUstream) -> Result<(), DriverError> {
    // SAFETY: the callers pass an event and a stream that their context owns.
    check("cuEventRecord", 0, unsafe { result::event::record(event, stream) })
}

/// Error codes after which the context is unusable: the kernel or the device failed, or
/// the context was destroyed. According to CUDA's documentation, most of them leave the process in an
/// inconsistent state.
const LOST: [sys::CUresult; 21] = [
    sys::CUresult::CUDA_ERROR_DEINITIALIZED,
    sys::CUresult::CUDA_ERROR_INVALID_CONTEXT,
    sys::CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
    sys::CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE,
    sys::CUresult::CUDA_ERROR_CONTAINED,
    sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
    sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
    sys::CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
    sys::CUresult::CUDA_ERROR_ASSERT,
    sys::CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
    sys::CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    sys::CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
    sys::CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
    sys::CUresult::CUDA_ERROR_INVALID_PC,
    sys::CUresult::CUDA_ERROR_LAUNCH_FAILED,
    sys::CUresult::CUDA_ERROR_MPS_CONNECTION_FAILED,
    sys::CUresult::CUDA_ERROR_MPS_RPC_FAILURE,
    sys::CUresult::CUDA_ERROR_MPS_CLIENT_TERMINATED,
    sys::CUresult::CUDA_ERROR_EXTERNAL_DEVICE,
    sys::CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE,
    sys::CUresult::CUDA_ERROR_UNKNOWN,
];

/// Returns the result of `call`, which requested `bytes` bytes of device memory, or 0 if it requested none.
pub(super) fn check<T>(
    call: &'static str,
    bytes: usize,
    result: Result<T, result::DriverError>,
) -> Result<T, DriverError> {
    result.map_err(|error| {
        let code = error.0 as i32;
        let text = || match error.error_string() {
            Ok(text) => text.to_string_lossy().into_owned(),
            Err(_) => format!("{:?}", error.0),
        };
        match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY if bytes > 0 => {
                DriverError::OutOfMemory { requested: bytes }
            }
            lost if LOST.contains(&lost) => DriverError::Lost { call, code, text: text() },
            _ => DriverError::Failed { call, code, text: text() },
        }
    })
}
