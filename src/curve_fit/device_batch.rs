//! The data of a batch put on a device once, for many batches of fits.

use super::CurveFit;
use super::device::Device;
use crate::backend::cuda::batch::arrays::Resident;
use crate::backend::cuda::device::Device as Cuda;
use crate::data::batch::{BatchData, Starts};
use crate::error::Result;
use crate::fit::batch::BatchFit;
use crate::fit::placement::{Handed, Uploaded, failed};
use std::fmt;
use std::sync::Arc;

impl Device {
    /// Copies the data of a batch to the device as they are, where they stay until the result is dropped. They
    /// serve any model with as many independent variables, any start, and any loss.
    ///
    /// # Errors
    /// [`Error::BatchLayout`](crate::Error::BatchLayout) if it has not been said which samples are whose;
    /// [`Error::DeviceOutOfMemory`](crate::Error::DeviceOutOfMemory).
    pub fn upload_batch<'a>(&self, data: &BatchData<'a>) -> Result<DeviceBatch<'a>> {
        data.check_layout()?;
        let resident = Resident::of(&self.device.driver, data);
        let resident = resident.map_err(|error| failed(&self.device, error))?;
        Ok(DeviceBatch { device: self.device.clone(), data: data.clone(), resident })
    }
}

/// The data of a batch on a device, made by [`Device::upload_batch`]. The caller's arrays stay borrowed: the CPU
/// makes the fits that are not as usual.
pub struct DeviceBatch<'a> {
    device: Arc<Cuda>,
    data: BatchData<'a>,
    resident: Resident,
}

impl fmt::Debug for DeviceBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBatch({} fits, {} bytes)", self.n_fits(), self.bytes())
    }
}

impl DeviceBatch<'_> {
    /// Number of fits.
    pub fn n_fits(&self) -> usize {
        self.data.n_fits()
    }

    /// Bytes of device memory that the data take.
    pub fn bytes(&self) -> usize {
        self.resident.bytes()
    }
}

impl CurveFit {
    /// Makes a batch of fits to data that are on a device already, whatever
    /// [`backend`](CurveFit::backend) says.
    ///
    /// # Errors
    /// As [`fit_batch`](CurveFit::fit_batch), and what the device refuses.
    pub fn fit_batch_uploaded<'s>(
        &self,
        data: &DeviceBatch<'_>,
        starts: impl Into<Starts<'s>>,
    ) -> Result<BatchFit> {
        let (device, uploaded) = (&data.device, Uploaded::Batch(&data.resident));
        let handed = Handed { device, uploaded, take_over: false };
        self.fit_all(&data.data, &starts.into(), Some(handed))
    }
}
