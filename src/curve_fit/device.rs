//! Handles of devices, data that are copied to a device once for many fits, and the types of data that fits accept.

use crate::backend::choice::Costs;
use crate::backend::cuda::batch::arrays::Resident;
use crate::backend::cuda::device::Device as Cuda;
use crate::backend::cuda::device_points::DevicePoints;
use crate::backend::cuda::machine;
use crate::data::Data;
use crate::data::batch::BatchData;
use crate::data::loss::Estimator;
use crate::data::points::Points;
use crate::data::x_sigma::XSigma;
use crate::error::{Error, Result};
use crate::fit::placement::{GivenDevice, Uploaded, failed};
use std::borrow::Cow;
use std::fmt;
use std::slice::from_ref;
use std::sync::{Arc, OnceLock};

/// A CUDA device. Opening a device that is already open costs nothing.
///
/// ```no_run
/// # let (x, y) = (vec![0.0; 1000], vec![0.0; 1000]);
/// use dualfit::device::Device;
/// use dualfit::{CurveFit, Data};
/// let device = Device::open(0)?;
/// let data = device.upload(Data::new(&x, &y)?)?;
/// let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
/// for rate in [0.1, 1.0, 10.0] {
///     println!("{}", decay.fit(&data, [1.0, rate, 0.0])?);
/// }
/// # Ok::<(), dualfit::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    pub(super) device: Arc<Cuda>,
}

impl Device {
    /// Opens the device with this number, counted from 0 in the order of the driver.
    ///
    /// # Errors
    /// [`Error::CudaUnavailable`] with the reason and the software to install.
    pub fn open(ordinal: usize) -> Result<Device> {
        match machine::open(ordinal) {
            Ok(device) => Ok(Device { device }),
            Err(reason) => Err(Error::CudaUnavailable { ordinal: Some(ordinal), reason }),
        }
    }

    /// Validates the data and copies all used points to the device, where they stay until the result is dropped. Masks,
    /// sigma and missing values are applied here. The data can be used by any model with the same number of independent
    /// variables and with any loss. Data without sigma can also be fitted as counts.
    ///
    /// # Errors
    /// The errors of [`CurveFit::fit`](crate::CurveFit::fit) for invalid data; [`Error::NotOnDevice`] for a covariance
    /// matrix of y; [`Error::DeviceOutOfMemory`].
    pub fn upload<'a>(&self, data: impl Into<Data<'a>>) -> Result<DeviceData<'a>> {
        let data = data.into();
        let points = Points::validate(&data)?;
        if points.correlation.is_some() {
            let (what, remedy) = ("a covariance matrix of y", "use Backend::Cpu");
            return Err(Error::NotOnDevice { what, remedy });
        }
        exact_x(&data.x_sigma)?;
        let segment = Costs::default().segment();
        let all = (0..points.len(), segment);
        let resident = DevicePoints::of(&self.device.driver, &points, all, usize::MAX);
        let resident = Arc::new(resident.map_err(|error| failed(&self.device, error))?);
        Ok(DeviceData { device: self.device.clone(), points, counts: OnceLock::new(), resident })
    }

    /// Copies the data of a batch unchanged to the device, where they stay until the result is dropped. They can be
    /// used by any model with the same number of independent variables, from any start and with any loss.
    ///
    /// # Errors
    /// [`Error::BatchLayout`](crate::Error::BatchLayout) if the assignment of samples to fits is missing;
    /// [`Error::DeviceOutOfMemory`](crate::Error::DeviceOutOfMemory).
    pub fn upload_batch<'a>(&self, data: &BatchData<'a>) -> Result<DeviceBatch<'a>> {
        data.check_layout()?;
        exact_x(&data.x_sigma)?;
        let resident = Resident::of(&self.device.driver, data);
        let resident = resident.map_err(|error| failed(&self.device, error))?;
        Ok(DeviceBatch { device: self.device.clone(), data: data.clone(), resident })
    }
}

/// Checks that x has no errors.
///
/// # Errors
/// [`Error::NotOnDevice`] if x has errors.
fn exact_x(x_sigma: &XSigma<'_>) -> Result<()> {
    match x_sigma.is_exact() {
        true => Ok(()),
        false => Err(Error::NotOnDevice { what: "errors in x", remedy: "use Backend::Cpu" }),
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

/// Points on a device, returned by [`Device::upload`].
pub struct DeviceData<'a> {
    device: Arc<Cuda>,
    points: Points<'a>,
    /// The same points as counts, computed on first use.
    counts: OnceLock<Result<Points<'a>>>,
    resident: Arc<DevicePoints>,
}

impl fmt::Debug for DeviceData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = self.resident.points;
        write!(f, "DeviceData({points} points, {} bytes)", self.resident.bytes())
    }
}

impl<'a> DeviceData<'a> {
    /// Returns the points for this estimator: as measurements with errors, or as counts.
    pub(super) fn points(&self, estimator: Estimator) -> Result<&Points<'a>> {
        match estimator {
            Estimator::LeastSquares => Ok(&self.points),
            Estimator::Poisson => {
                let counts = self.counts.get_or_init(|| {
                    let mut counts = self.points.clone();
                    counts.count_events().map(|()| counts)
                });
                counts.as_ref().map_err(Clone::clone)
            }
        }
    }

    /// Returns the size of the points in device memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.resident.bytes()
    }
}

/// The data of a fit: [`Data`] in host memory, by value or by reference, or [`DeviceData`] on a device. Data on a
/// device are fitted on this device, regardless of [`CurveFit::backend`](crate::CurveFit::backend).
#[derive(Debug)]
#[non_exhaustive]
pub enum FitData<'d, 'a> {
    /// Data in host memory.
    Memory(Cow<'d, Data<'a>>),
    /// Data on a device.
    Device(&'d DeviceData<'a>),
}

impl FitData<'_, '_> {
    /// Returns the number of columns of x.
    pub(super) fn columns(&self) -> usize {
        match self {
            FitData::Memory(data) => data.columns.len(),
            FitData::Device(data) => data.points.columns.len(),
        }
    }

    /// Returns the number of given points.
    #[cfg(feature = "tracing")]
    pub(super) fn len(&self) -> usize {
        match self {
            FitData::Memory(data) => data.y.len(),
            FitData::Device(data) => data.points.len(),
        }
    }

    /// Returns the device that contains the data; `None` for data in host memory.
    pub(super) fn given(&self) -> Option<GivenDevice<'_>> {
        let FitData::Device(DeviceData { device, resident, .. }) = self else { return None };
        let uploaded = Uploaded::Points(resident);
        Some(GivenDevice { devices: from_ref(device), uploaded, take_over: false })
    }
}

impl<'a> From<Data<'a>> for FitData<'_, 'a> {
    fn from(data: Data<'a>) -> Self {
        FitData::Memory(Cow::Owned(data))
    }
}

impl<'d, 'a> From<&'d Data<'a>> for FitData<'d, 'a> {
    fn from(data: &'d Data<'a>) -> Self {
        FitData::Memory(Cow::Borrowed(data))
    }
}

impl<'d, 'a> From<&'d DeviceData<'a>> for FitData<'d, 'a> {
    fn from(data: &'d DeviceData<'a>) -> Self {
        FitData::Device(data)
    }
}

/// The data of a batch on a device, returned by [`Device::upload_batch`]. The caller's arrays stay borrowed, because
/// fits that the kernel cannot complete are rerun on the CPU.
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
    /// Returns the number of fits.
    pub fn n_fits(&self) -> usize {
        self.data.n_fits()
    }

    /// Returns the size of the data in device memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.resident.bytes()
    }
}

/// The data of a batch of fits: [`BatchData`] in host memory, by value or by reference, or [`DeviceBatch`] on a
/// device. Data on a device are fitted on this device, regardless of
/// [`CurveFit::backend`](crate::CurveFit::backend).
#[derive(Debug)]
#[non_exhaustive]
pub enum BatchFitData<'d, 'a> {
    /// Data in host memory.
    Memory(Cow<'d, BatchData<'a>>),
    /// Data on a device.
    Device(&'d DeviceBatch<'a>),
}

impl<'a> BatchFitData<'_, 'a> {
    /// Returns the data in host memory and, if the data are on a device, the device.
    pub(super) fn parts(&self) -> (&BatchData<'a>, Option<GivenDevice<'_>>) {
        match self {
            BatchFitData::Memory(data) => (data, None),
            BatchFitData::Device(DeviceBatch { device, data, resident }) => {
                let uploaded = Uploaded::Batch(resident);
                let devices = from_ref(device);
                (data, Some(GivenDevice { devices, uploaded, take_over: false }))
            }
        }
    }
}

impl<'a> From<BatchData<'a>> for BatchFitData<'_, 'a> {
    fn from(data: BatchData<'a>) -> Self {
        BatchFitData::Memory(Cow::Owned(data))
    }
}

impl<'d, 'a> From<&'d BatchData<'a>> for BatchFitData<'d, 'a> {
    fn from(data: &'d BatchData<'a>) -> Self {
        BatchFitData::Memory(Cow::Borrowed(data))
    }
}

impl<'d, 'a> From<&'d DeviceBatch<'a>> for BatchFitData<'d, 'a> {
    fn from(data: &'d DeviceBatch<'a>) -> Self {
        BatchFitData::Device(data)
    }
}
