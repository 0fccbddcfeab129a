//! What the driver's result codes mean for the caller.

use crate::backend::cuda::driver::DriverError;
use cudarc::driver::result;
use cudarc::driver::sys::CUresult;

/// Codes after which nothing more can be done with the context: the kernel or the device failed, or
/// the context is gone. CUDA's documentation calls most of them errors that leave the process in an
/// inconsistent state.
const LOST: [CUresult; 21] = [
    CUresult::CUDA_ERROR_DEINITIALIZED,
    CUresult::CUDA_ERROR_INVALID_CONTEXT,
    CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
    CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUresult::CUDA_ERROR_CONTAINED,
    CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
    CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
    CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
    CUresult::CUDA_ERROR_ASSERT,
    CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
    CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUresult::CUDA_ERROR_INVALID_PC,
    CUresult::CUDA_ERROR_LAUNCH_FAILED,
    CUresult::CUDA_ERROR_MPS_CONNECTION_FAILED,
    CUresult::CUDA_ERROR_MPS_RPC_FAILURE,
    CUresult::CUDA_ERROR_MPS_CLIENT_TERMINATED,
    CUresult::CUDA_ERROR_EXTERNAL_DEVICE,
    CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE,
    CUresult::CUDA_ERROR_UNKNOWN,
];

/// The result of `call`, which asked for `bytes` bytes of device memory, 0 if for none.
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
            CUresult::CUDA_ERROR_OUT_OF_MEMORY if bytes > 0 => {
                DriverError::OutOfMemory { requested: bytes }
            }
            lost if LOST.contains(&lost) => DriverError::Lost { call, code, text: text() },
            _ => DriverError::Failed { call, code, text: text() },
        }
    })
}
