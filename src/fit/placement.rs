//! Choice of the backend of a fit, with a reason: the CPU, or devices if the caller requests them or if they are
//! likely to be faster. Single fits, batches and streams share it; each creates its own device data.

use super::stats::Stats;
use crate::backend::choice::{Costs, Devices, Workload};
use crate::backend::cpu::kernels;
use crate::backend::cuda::batch::arrays::Resident;
use crate::backend::cuda::cache::Origin;
use crate::backend::cuda::device::{Device, LoadError};
use crate::backend::cuda::device_points::DevicePoints;
use crate::backend::cuda::devices;
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::machine;
use crate::backend::{Backend, Processor};
use crate::error::{Error, Result};
use crate::solver::evaluator::Evaluator;
use crate::threads::{self, lock};
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

/// Fraction of a device's free memory that data may take.
pub(super) const FILL: f64 = 0.9;

/// Estimated seconds on the CPU below which no device is considered.
const SOON: f64 = 5e-4;

/// Backend requested by the caller.
#[derive(Clone, Copy)]
pub(crate) struct PlacementRequest<'a> {
    pub(crate) backend: Backend,
    pub(crate) costs: Costs,
    /// Devices that the caller supplies; they are used instead of the devices that `backend` would open.
    pub(crate) given: Option<GivenDevice<'a>>,
}

/// Devices that compute every fit of a model, independent of its backend. Tests assign doubles of devices.
#[derive(Clone, Default)]
pub(crate) struct AssignedDevices {
    /// Empty if the backend chooses among the devices of the machine.
    pub(crate) devices: Vec<Arc<Device>>,
    /// If true, the CPU continues a fit after all devices have failed.
    pub(crate) take_over: bool,
}

/// Devices that the caller supplied.
#[derive(Clone, Copy)]
pub(crate) struct GivenDevice<'a> {
    /// At least one device.
    pub(crate) devices: &'a [Arc<Device>],
    pub(crate) uploaded: Uploaded<'a>,
    /// If true, the CPU continues the fit if the device fails.
    pub(crate) take_over: bool,
}

/// Data of a fit that are already on a device.
#[derive(Clone, Copy)]
pub(crate) enum Uploaded<'a> {
    None,
    Points(&'a Arc<DevicePoints>),
    Batch(&'a Resident),
}

impl<'a> PlacementRequest<'a> {
    pub(super) fn uploaded(&self) -> Uploaded<'a> {
        self.given.map_or(Uploaded::None, |given| given.uploaded)
    }
}

/// Reason why a device cannot or need not compute a fit.
pub(super) enum Obstacle {
    /// There is no kernel for this feature; the second string is the remedy.
    Refused(&'static str, &'static str),
    /// There is nothing to compute on a device, for this reason.
    Idle(&'static str),
}

const ALL_FIXED: Obstacle = Obstacle::Idle("all parameters are fixed");
const ERRORS_IN_X: Obstacle = Obstacle::Refused("errors in x", "use Backend::Cpu");
const NATIVE: Obstacle =
    Obstacle::Refused("a native model", "trace the model, or use Backend::Cpu");

/// Returns `model`, from which the kernels are generated, if devices can compute the fit. `free`: number of free
/// parameters. Each kind of fit adds its own obstacles.
///
/// # Errors
/// The first obstacle: no free parameters, errors in x, or a native model (`model` is `None`).
pub(super) fn kernels_of<M>(
    model: Option<&M>,
    free: usize,
    is_x_exact: bool,
) -> std::result::Result<&M, Obstacle> {
    match model {
        _ if free == 0 => Err(ALL_FIXED),
        _ if !is_x_exact => Err(ERRORS_IN_X),
        None => Err(NATIVE),
        Some(model) => Ok(model),
    }
}

/// Function from a device and a number of devices like it to the estimated seconds of a fit on them.
type SecondsOnDevices<'e> = dyn Fn(&Device, usize) -> f64 + 'e;

/// Estimated seconds of a fit.
pub(super) struct Estimate<'e> {
    pub(super) on_cpu: f64,
    /// Seconds to compile the kernels.
    pub(super) compile: f64,
    /// Returns true if the kernels are loaded on the device.
    pub(super) is_loaded: Box<dyn Fn(&Device) -> bool + 'e>,
    /// Seconds on devices that have already loaded the kernels.
    pub(super) on_devices: Box<SecondsOnDevices<'e>>,
    /// Maximum number of devices that the work can occupy.
    pub(super) most_devices: usize,
}

impl<'e> Estimate<'e> {
    /// Estimates the time of a fit from its passes over the points. `slower`: time of a pass on a device divided by the
    /// time of a pass over resident points.
    pub(super) fn of_passes(
        costs: Costs,
        work: Workload,
        (slower, most_devices): (f64, usize),
        is_loaded: impl Fn(&Device) -> bool + 'e,
    ) -> Estimate<'e> {
        let share =
            move |devices: usize| Workload { points: work.points.div_ceil(devices), ..work };
        Estimate {
            on_cpu: on_threads(|threads| costs.on_cpu(&work, threads)),
            compile: costs.compile_seconds,
            is_loaded: Box::new(is_loaded),
            on_devices: Box::new(move |device, devices| {
                slower * costs.on_device(&share(devices), device.properties())
            }),
            most_devices,
        }
    }
}

/// Returns the estimate for all available threads. If one thread takes less than [`SOON`], returns the estimate for
/// one thread, because reading the number of threads would start them.
pub(super) fn on_threads(seconds: impl Fn(usize) -> f64) -> f64 {
    let alone = seconds(1);
    if alone < SOON { alone } else { seconds(threads::count()) }
}

/// Chosen backend, with the reason in one sentence. `device`: the fit's data on devices; `None` for the CPU.
pub(crate) struct Placement<T> {
    pub(crate) reason: Cow<'static, str>,
    pub(crate) device: Option<T>,
}

/// Devices with the kernels of a fit.
pub(crate) struct Loaded {
    /// At least one device.
    pub(crate) devices: Vec<Arc<Device>>,
    /// Failed devices: index in `devices` and error message.
    pub(crate) lost: Mutex<Vec<(usize, String)>>,
    /// If true, the CPU continues the fit if all devices fail.
    pub(crate) take_over: bool,
    pub(crate) upload_seconds: f64,
    /// Seconds to load or compile the kernels for the loss that the caller chose; kernels for other losses of the
    /// search are not included.
    pub(crate) compile_seconds: f64,
    pub(crate) origin: Origin,
}

impl Loaded {
    /// Creates a value without failed devices and with times of 0.
    pub(crate) fn new(devices: Vec<Arc<Device>>, take_over: bool) -> Loaded {
        let (upload_seconds, compile_seconds, origin) = (0.0, 0.0, Origin::Memory);
        Loaded {
            devices,
            lost: Mutex::default(),
            take_over,
            upload_seconds,
            compile_seconds,
            origin,
        }
    }

    /// Returns the first device, which holds all data if they are not divided.
    pub(crate) fn first(&self) -> &Arc<Device> {
        &self.devices[0]
    }

    /// Returns true if the device has failed.
    pub(super) fn is_lost(&self, device: usize) -> bool {
        lock(&self.lost).iter().any(|(lost, _)| *lost == device)
    }

    /// Returns one message per failed device whose work other devices have taken; empty if all devices failed.
    fn taken_over(&self) -> Vec<String> {
        let lost = lock(&self.lost);
        let said = |(device, why): &(usize, String)| taken_over(&self.devices[*device], why);
        match lost.len() < self.devices.len() {
            true => lost.iter().map(said).collect(),
            false => Vec::new(),
        }
    }

    /// Returns the indices of the devices that have not failed.
    pub(super) fn working(&self) -> impl Iterator<Item = usize> {
        (0..self.devices.len()).filter(|&device| !self.is_lost(device))
    }

    /// Returns the error of a fit after all its devices have failed.
    pub(super) fn all_lost(&self) -> Error {
        let said = lock(&self.lost).iter().map(|(_, why)| why.clone()).collect::<Vec<_>>();
        Error::DeviceFailed { name: names(&self.devices), message: said.join("; ") }
    }

    /// Marks a device as failed; the other devices take its share.
    pub(super) fn lose(&self, device: usize, error: &Error) {
        if !self.is_lost(device) {
            lock(&self.lost).push((device, error.to_string()));
        }
    }

    /// Recreates the share of a failed device with `make` on a working device; `None` if no device works. `error`: the
    /// failure of the device, if it has not been recorded yet.
    pub(super) fn moved<T>(
        &self,
        device: usize,
        error: Option<&Error>,
        make: impl Fn(usize) -> Result<T>,
    ) -> Option<T> {
        if let Some(error) = error {
            self.lose(device, error);
        }
        while let Some(other) = self.working().next() {
            match make(other) {
                Ok(made) => return Some(made),
                Err(error) => self.lose(other, &error),
            }
        }
        None
    }
}

/// Returns the message about a failed device whose work other devices have taken.
pub(super) fn taken_over(device: &Device, why: &str) -> String {
    format!("others took over from device {}, which failed: {why}", device.properties().ordinal)
}

/// Returns the names of the devices, as `n × name` if all names are equal.
pub(crate) fn names<'d>(devices: impl IntoIterator<Item = &'d Arc<Device>>) -> String {
    let names: Vec<&str> = devices.into_iter().map(|device| &*device.properties().name).collect();
    match &names[..] {
        [first, others @ ..] if !others.is_empty() && others.iter().all(|name| name == first) => {
            format!("{} \u{d7} {first}", names.len())
        }
        _ => names.join(", "),
    }
}

impl<T> Placement<T> {
    pub(crate) fn on_cpu(reason: impl Into<Cow<'static, str>>) -> Placement<T> {
        Placement { reason: reason.into(), device: None }
    }

    /// Places the fit on the CPU because of an obstacle.
    ///
    /// # Errors
    /// [`Error::NotOnDevice`] if the caller requires a device and there is no kernel.
    pub(super) fn hindered(
        wanted: &PlacementRequest<'_>,
        obstacle: &Obstacle,
    ) -> Result<Placement<T>> {
        let asked = wanted.given.is_some() || matches!(wanted.backend, Backend::Cuda(_));
        match *obstacle {
            _ if wanted.backend == Backend::Cpu => Ok(Placement::on_cpu("asked for")),
            Obstacle::Idle(reason) => Ok(Placement::on_cpu(reason)),
            Obstacle::Refused(what, remedy) if asked => Err(Error::NotOnDevice { what, remedy }),
            Obstacle::Refused(what, _) => Ok(Placement::on_cpu(format!("{what} is for the CPU"))),
        }
    }

    /// Chooses the requested backend, or the backend that is likely to be faster. `kernels`: the kernels of the fit, or
    /// the obstacle. `prepare` creates the fit's data on the devices; its last argument is true if the CPU continues
    /// the fit after all devices have failed.
    ///
    /// # Errors
    /// If the caller requires devices: [`Error::NotOnDevice`], [`Error::CudaUnavailable`] and errors of `prepare`.
    pub(super) fn choose<'e, K: Clone>(
        wanted: &PlacementRequest<'_>,
        kernels: std::result::Result<K, Obstacle>,
        estimate: impl FnOnce(K) -> Estimate<'e>,
        prepare: impl FnOnce(K, Vec<Arc<Device>>, bool) -> Result<T>,
    ) -> Result<Placement<T>> {
        let kernels = match kernels {
            Ok(kernels) => kernels,
            Err(obstacle) => return Placement::hindered(wanted, &obstacle),
        };
        let (devices, take_over, reason) = match (wanted.given, wanted.backend) {
            (_, Backend::Cpu) => return Ok(Placement::on_cpu("asked for")),
            (Some(GivenDevice { devices, take_over, .. }), _) => {
                (devices.to_vec(), take_over, "asked for".to_owned())
            }
            (None, Backend::Cuda(devices)) => (opened(devices)?, false, "asked for".to_owned()),
            (None, _) => match sooner(wanted.costs.startup_seconds, &estimate(kernels.clone())) {
                Ok((devices, reason)) => (devices, true, reason),
                Err(reason) => return Ok(Placement::on_cpu(reason)),
            },
        };
        machine::has_device();
        match prepare(kernels, devices, take_over) {
            Ok(prepared) => Ok(Placement { reason: reason.into(), device: Some(prepared) }),
            Err(error) if take_over => Ok(Placement::on_cpu(format!("the device failed: {error}"))),
            Err(error) => Err(error),
        }
    }

    /// Returns statistics of the passes, without the solver's counts. `loaded`: the chosen devices.
    pub(super) fn stats(&self, loaded: Option<&Loaded>, evaluator: &dyn Evaluator) -> Stats {
        let (mut reason, used) = (self.reason.to_string(), evaluator.device());
        for taken_over in loaded.map(Loaded::taken_over).unwrap_or_default() {
            reason = format!("{reason}; {taken_over}");
        }
        let failed = used.as_ref().and_then(|used| used.failed.as_ref());
        let working = loaded.filter(|_| failed.is_none());
        Stats {
            processor: if working.is_some() { Processor::Cuda } else { Processor::Cpu },
            instruction_set: match working {
                Some(on) => on.first().architecture(),
                None => kernels::detect().name.to_owned(),
            },
            reason: match failed {
                None => reason.clone(),
                Some(why) => format!("{reason}; the CPU went on where the device failed: {why}"),
            },
            device: loaded.map(|on| names(&on.devices)),
            threads: evaluator.threads(),
            upload_seconds: loaded.map_or(0.0, |on| on.upload_seconds),
            compile_seconds: loaded.map_or(0.0, |on| on.compile_seconds),
            kernels: loaded.map(|on| on.origin),
            scratch_bytes: evaluator.scratch_bytes(),
            device_bytes: used.as_ref().map_or(0, |used| used.bytes),
            chunks: used.as_ref().map_or(1, |used| used.chunks),
            ..Stats::default()
        }
    }
}

/// Opens the requested devices, each with its own queue.
///
/// # Errors
/// [`Error::CudaUnavailable`] if one of the devices cannot be opened.
fn opened(selected: Devices) -> Result<Vec<Arc<Device>>> {
    let numbers = devices::numbers(selected)
        .map_err(|reason| Error::CudaUnavailable { ordinal: None, reason })?;
    let open = |ordinal: usize| {
        machine::open(ordinal)
            .map_err(|reason| Error::CudaUnavailable { ordinal: Some(ordinal), reason })
    };
    numbers.into_iter().map(open).collect()
}

/// Returns the devices that are likely to be faster than the CPU, or the reason to use the CPU. The candidates are one
/// device (selected by `DUALFIT_DEVICE`, otherwise the first) and all devices like it. `startup`: seconds to start a
/// device.
fn sooner(
    startup: f64,
    estimate: &Estimate<'_>,
) -> std::result::Result<(Vec<Arc<Device>>, String), String> {
    let Estimate { on_cpu, compile, .. } = *estimate;
    if on_cpu < SOON {
        return Err("too little work to look for a device".to_owned());
    }
    let first = startup + compile;
    if !machine::is_open() && on_cpu < first {
        return Err(format!(
            "about {on_cpu:.2} s on the CPU is less than the {first:.1} s in which a device begins"
        ));
    }
    let startup_of_first = if machine::is_open() { 0.0 } else { startup };
    let device = machine::preferred().map_err(|reason| reason.to_string())?;
    let compile = if (estimate.is_loaded)(&device) { 0.0 } else { compile };
    let seconds = |devices: usize| compile + (estimate.on_devices)(&device, devices);
    let mut others = machine::beside(&device);
    others.truncate(estimate.most_devices.saturating_sub(1));
    let unopened = others.iter().filter(|&&other| !machine::is_open_as(other)).count();
    let starting = startup * unopened as f64;
    let (alone, shared) = (seconds(1), starting + seconds(1 + others.len()));
    if alone <= shared {
        others.clear();
    }
    let on_device = startup_of_first + alone.min(shared);
    let there = match others.len() {
        0 => "the device".to_owned(),
        others => format!("{} devices", others + 1),
    };
    let estimate = format!("estimated {on_device:.1e} s on {there}, {on_cpu:.1e} s on the CPU");
    if on_device >= on_cpu {
        return Err(estimate);
    }
    // Devices that cannot be opened are left out.
    let others = others.into_iter().filter_map(|other| machine::open(other).ok());
    Ok(([device].into_iter().chain(others).collect(), estimate))
}

/// Converts a failure of a device into the error for the user.
pub(crate) fn failed(device: &Device, error: DriverError) -> Error {
    let name = device.properties().name.clone();
    match error {
        DriverError::OutOfMemory { requested } => Error::DeviceOutOfMemory {
            name,
            requested,
            free: device.driver.memory().map_or(0, |m| m.free),
        },
        DriverError::Lost { .. } => Error::DeviceLost { name, message: error.to_string() },
        DriverError::Failed { .. } => Error::DeviceFailed { name, message: error.to_string() },
    }
}

/// Converts a failure to load kernels into the error for the user.
pub(crate) fn not_loaded(device: &Device, error: LoadError) -> Error {
    match error {
        LoadError::Driver(error) => failed(device, error),
        LoadError::Compile { error, source } => {
            Error::KernelNotCompiled { message: error.to_string(), source_text: source.to_string() }
        }
    }
}

/// Converts a failure of the chosen device into the error for the user.
pub(super) fn failed_on(loaded: Option<&Loaded>, error: DriverError) -> Error {
    match loaded {
        Some(on) => failed(on.first(), error),
        None => Error::DeviceFailed { name: "no device".into(), message: error.to_string() },
    }
}
