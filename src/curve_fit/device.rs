//! Devices that a caller holds, and data put on them once for many fits.

use super::CurveFit;
use crate::backend::cuda::device::Device as Cuda;
use crate::backend::cuda::device_points::DevicePoints;
use crate::backend::cuda::registry;
use crate::data::Data;
use crate::data::estimator::Estimator;
use crate::data::points::Points;
use crate::data::start::Start;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::engine::Spent;
use crate::fit::execution::{Handed, failed};
use crate::observe::span;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// A CUDA device. Opening one that is open already costs nothing.
///
/// ```no_run
/// # let (x, y) = (vec![0.0; 1000], vec![0.0; 1000]);
/// use dualfit::{CurveFit, Data, Device};
/// let device = Device::open(0)?;
/// let data = device.upload(&Data::new(&x, &y)?)?;
/// let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
/// for rate in [0.1, 1.0, 10.0] {
///     println!("{}", decay.fit_uploaded(&data, [1.0, rate, 0.0])?);
/// }
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    pub(super) device: Arc<Cuda>,
}

impl Device {
    /// The device of this number, counted from 0 as the driver does.
    ///
    /// # Errors
    /// [`Error::CudaUnavailable`] with the reason, and what to install.
    pub fn open(ordinal: usize) -> Result<Device> {
        match registry::open(ordinal) {
            Ok(device) => Ok(Device { device }),
            Err(reason) => Err(Error::CudaUnavailable { ordinal: Some(ordinal), reason }),
        }
    }

    /// Checks the data and copies all points that count to the device, where they stay until the
    /// result is dropped. Masks, sigma and missing values are settled here; the data serve any
    /// model with as many independent variables, under any loss, and without sigma as counts.
    ///
    /// # Errors
    /// What is wrong with the data, as [`CurveFit::fit`] says it; [`Error::NotOnDevice`] for a
    /// covariance matrix of y, and [`Error::DeviceOutOfMemory`].
    pub fn upload<'a>(&self, data: &Data<'a>) -> Result<DeviceData<'a>> {
        let points = Points::validate(data)?;
        if points.correlation.is_some() {
            let (what, remedy) = ("a covariance matrix of y", "use Backend::Cpu");
            return Err(Error::NotOnDevice { what, remedy });
        }
        let resident = DevicePoints::of(&self.device.driver, &points);
        let resident = resident.map_err(|error| failed(&self.device, error))?;
        Ok(DeviceData { device: self.device.clone(), points, counts: OnceLock::new(), resident })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device.properties();
        let ((major, minor), (cuda, patch)) = (device.capability, device.driver_version);
        write!(
            f,
            "device {}: {}, compute capability {major}.{minor}, {} multiprocessors, driver for CUDA {cuda}.{patch}",
            device.ordinal, device.name, device.multiprocessors
        )
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

/// Points on a device, made by [`Device::upload`].
pub struct DeviceData<'a> {
    device: Arc<Cuda>,
    points: Points<'a>,
    /// The same as counts, once asked for.
    counts: OnceLock<Result<Points<'a>>>,
    resident: DevicePoints,
}

impl fmt::Debug for DeviceData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = self.resident.points;
        write!(f, "DeviceData({points} points, {} bytes)", self.resident.bytes())
    }
}

impl DeviceData<'_> {
    /// Bytes of device memory that the points take.
    pub fn bytes(&self) -> usize {
        self.resident.bytes()
    }
}

impl CurveFit {
    /// Fits the model to points that are on a device already, whatever
    /// [`backend`](CurveFit::backend) says.
    ///
    /// # Errors
    /// As [`fit`](CurveFit::fit), and what the device refuses.
    pub fn fit_uploaded(&self, data: &DeviceData<'_>, start: impl Into<Start>) -> Result<Fit> {
        let _span = span!(INFO, "fit", points = data.points.len(), parameters = self.names.len());
        let begun = Instant::now();
        let start = start.into();
        self.accepts(data.points.columns.len(), &start)?;
        let place =
            Some(Handed { device: &data.device, points: Some(&data.resident), take_over: false });
        let points = match self.estimator {
            Estimator::LeastSquares => &data.points,
            Estimator::Poisson => {
                let counts = data.counts.get_or_init(|| {
                    let mut counts = data.points.clone();
                    counts.count_events().map(|()| counts)
                });
                counts.as_ref().map_err(Clone::clone)?
            }
        };
        let validating = begun.elapsed();
        let start = self.found(&start, points)?;
        let spent = Spent { validating, finding: start.took };
        self.request(points, start, place, spent, |request| request.fit())
    }
}
