//! Where a fit is computed, and why there: on the CPU, or on a device where that is asked for or likely to end
//! sooner. One room for single fits, batches, streams and joint fits; what each needs on a device it makes itself.

use super::stats::Stats;
use crate::backend::choice::{Costs, Workload};
use crate::backend::cpu::kernels;
use crate::backend::cuda::batch::arrays::Resident;
use crate::backend::cuda::cache::Origin;
use crate::backend::cuda::device::{self, Device, LoadError};
use crate::backend::cuda::device_points::DevicePoints;
use crate::backend::cuda::driver::DriverError;
use crate::backend::devices::Devices;
use crate::backend::{Backend, Processor};
use crate::error::{Error, Result};
use crate::solver::evaluator::Evaluator;
use crate::threads::{self, lock};
use std::sync::{Arc, Mutex};

/// The part of a device's free memory that data may take.
pub(super) const FILL: f64 = 0.9;

/// What is estimated to take less than this on the CPU is not worth looking for a device.
const SOON: f64 = 5e-4;

/// What a caller says of the place.
#[derive(Clone, Copy)]
pub(crate) struct PlacementRequest<'a> {
    pub(crate) backend: Backend,
    pub(crate) costs: Costs,
    /// A device that takes the place of the registered ones.
    pub(crate) given: Option<GivenDevice<'a>>,
}

/// A device that the caller holds, or some.
#[derive(Clone, Copy)]
pub(crate) struct GivenDevice<'a> {
    pub(crate) device: &'a Arc<Device>,
    pub(crate) others: &'a [Arc<Device>],
    pub(crate) uploaded: Uploaded<'a>,
    /// Whether the CPU goes on if the device fails.
    pub(crate) take_over: bool,
}

/// The data of a fit that are on a device already.
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

/// Why a device cannot compute a fit, or need not.
pub(super) enum Obstacle {
    /// It has no kernel for this; and what to do instead.
    Refused(&'static str, &'static str),
    /// There is nothing to compute there, for this reason.
    Idle(&'static str),
}

pub(super) const NATIVE: Obstacle =
    Obstacle::Refused("a native model", "trace the model, or use Backend::Cpu");
pub(super) const ERRORS_IN_X: Obstacle = Obstacle::Refused("errors in x", "use Backend::Cpu");
pub(super) const ALL_FIXED: Obstacle = Obstacle::Idle("all parameters are fixed");

/// Seconds of a fit on so many devices like this one.
type SecondsOnDevices<'e> = dyn Fn(&Device, usize) -> f64 + 'e;

/// Seconds that a fit is estimated to take.
pub(super) struct Estimate<'e> {
    pub(super) on_cpu: f64,
    /// Until kernels are compiled.
    pub(super) compile: f64,
    /// Whether a device has the kernels.
    pub(super) is_loaded: Box<dyn Fn(&Device) -> bool + 'e>,
    /// Seconds once they have.
    pub(super) on_devices: Box<SecondsOnDevices<'e>>,
    /// How many devices have something to do at most.
    pub(super) most_devices: usize,
}

impl<'e> Estimate<'e> {
    /// Of a fit by passes over points, which devices make `slower` times as slowly as over points that stay.
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

/// What is estimated for so many threads, of which there are as many as there are; of so little that it is the same
/// whatever they are, for one: asking for their number would start them.
pub(super) fn on_threads(seconds: impl Fn(usize) -> f64) -> f64 {
    let alone = seconds(1);
    if alone < SOON { alone } else { seconds(threads::count()) }
}

/// The chosen place: what a fit has on a device, if it is computed there, and the reason in one sentence.
pub(crate) struct Placement<T> {
    pub(crate) reason: String,
    pub(crate) device: Option<T>,
}

/// Devices with the kernels of a fit.
pub(crate) struct Loaded {
    /// One at least.
    pub(crate) devices: Vec<Arc<Device>>,
    /// Those that failed, by their numbers in `devices`, and why.
    pub(crate) lost: Mutex<Vec<(usize, String)>>,
    /// Whether the CPU goes on if all of them fail.
    pub(crate) take_over: bool,
    pub(crate) upload_seconds: f64,
    /// For the kernels of the fit's own loss.
    pub(crate) compile_seconds: f64,
    pub(crate) origin: Origin,
}

impl Loaded {
    /// None of which has had anything to do yet.
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

    /// The first, which has everything where nothing is divided.
    pub(crate) fn first(&self) -> &Arc<Device> {
        &self.devices[0]
    }

    /// Whether a device has failed.
    pub(super) fn is_lost(&self, device: usize) -> bool {
        lock(&self.lost).iter().any(|(lost, _)| *lost == device)
    }

    /// What is to be said of those that failed, as long as others do their work.
    fn taken_over(&self) -> Vec<String> {
        let lost = lock(&self.lost);
        let said = |(device, why): &(usize, String)| taken_over(&self.devices[*device], why);
        match lost.len() < self.devices.len() {
            true => lost.iter().map(said).collect(),
            false => Vec::new(),
        }
    }

    /// The devices that have not failed, by their numbers.
    pub(super) fn working(&self) -> impl Iterator<Item = usize> {
        (0..self.devices.len()).filter(|&device| !self.is_lost(device))
    }

    /// The error of a fit of whose devices none works any more.
    pub(super) fn all_lost(&self) -> Error {
        let said = lock(&self.lost).iter().map(|(_, why)| why.clone()).collect::<Vec<_>>();
        Error::DeviceFailed { name: names(&self.devices), message: said.join("; ") }
    }

    /// A device has failed, and the others do what was its share.
    pub(super) fn lose(&self, device: usize, error: &Error) {
        if !self.is_lost(device) {
            lock(&self.lost).push((device, error.to_string()));
        }
    }

    /// What was a device's on another, as `make` makes it there, if there is one that works. `error`: why the device failed, unless
    /// that is known.
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

/// What a user should hear of a device that failed, whose work others do.
pub(super) fn taken_over(device: &Device, why: &str) -> String {
    format!("others took over from device {}, which failed: {why}", device.properties().ordinal)
}

/// The names of devices: as one where they are alike.
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
    pub(crate) fn on_cpu(reason: impl Into<String>) -> Placement<T> {
        Placement { reason: reason.into(), device: None }
    }

    /// On the CPU, because of an obstacle.
    ///
    /// # Errors
    /// [`Error::NotOnDevice`] if a device was asked for that has no kernel.
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

    /// Where a fit is likely to end sooner, or where it was asked for. `prepare`: makes what the fit needs on devices; told
    /// whether the CPU goes on where all of them fail.
    ///
    /// # Errors
    /// If devices were asked for: [`Error::CudaUnavailable`] and what they refused.
    pub(super) fn choose<'e>(
        wanted: &PlacementRequest<'_>,
        estimate: impl FnOnce() -> Estimate<'e>,
        prepare: impl FnOnce(Vec<Arc<Device>>, bool) -> Result<T>,
    ) -> Result<Placement<T>> {
        let (devices, take_over, reason) = match (wanted.given, wanted.backend) {
            (_, Backend::Cpu) => return Ok(Placement::on_cpu("asked for")),
            (Some(GivenDevice { device, others, take_over, .. }), _) => {
                let all = [device].into_iter().chain(others).cloned().collect();
                (all, take_over, "asked for".to_owned())
            }
            (None, Backend::Cuda(devices)) => (opened(devices)?, false, "asked for".to_owned()),
            (None, _) => match sooner(wanted.costs.startup_seconds, &estimate()) {
                Ok((devices, reason)) => (devices, true, reason),
                Err(reason) => return Ok(Placement::on_cpu(reason)),
            },
        };
        match prepare(devices, take_over) {
            Ok(prepared) => Ok(Placement { reason, device: Some(prepared) }),
            Err(error) if take_over => Ok(Placement::on_cpu(format!("the device failed: {error}"))),
            Err(error) => Err(error),
        }
    }

    /// What passes took, but for the counts of the solver. `loaded`: the device that was chosen.
    pub(super) fn stats(&self, loaded: Option<&Loaded>, evaluator: &dyn Evaluator) -> Stats {
        let (mut reason, used) = (self.reason.clone(), evaluator.device());
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

/// The devices that were asked for, with queues of their own.
///
/// # Errors
/// [`Error::CudaUnavailable`] if one of them is not there.
fn opened(devices: Devices) -> Result<Vec<Arc<Device>>> {
    let numbers = device::numbers(devices)
        .map_err(|reason| Error::CudaUnavailable { ordinal: None, reason })?;
    let open = |ordinal: usize| {
        device::open(ordinal)
            .map_err(|reason| Error::CudaUnavailable { ordinal: Some(ordinal), reason })
    };
    numbers.into_iter().map(open).collect()
}

/// The devices on which a fit is likely to end sooner, or why the CPU is the place for it: that of `DUALFIT_DEVICE`, or the first
/// and those like it. `startup`: seconds until a device is there.
fn sooner(
    startup: f64,
    estimate: &Estimate<'_>,
) -> std::result::Result<(Vec<Arc<Device>>, String), String> {
    let Estimate { on_cpu, compile, .. } = *estimate;
    if on_cpu < SOON {
        return Err("too little work to look for a device".to_owned());
    }
    let first = startup + compile;
    if !device::is_open() && on_cpu < first {
        return Err(format!(
            "about {on_cpu:.2} s on the CPU is less than the {first:.1} s in which a device begins"
        ));
    }
    let startup_of_first = if device::is_open() { 0.0 } else { startup };
    let device = device::preferred().map_err(|reason| reason.to_string())?;
    let compile = if (estimate.is_loaded)(&device) { 0.0 } else { compile };
    let seconds = |devices: usize| compile + (estimate.on_devices)(&device, devices);
    let mut others = device::beside(&device);
    others.truncate(estimate.most_devices.saturating_sub(1));
    let unopened = others.iter().filter(|&&other| !device::is_open_as(other)).count();
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
    // One that cannot be had is done without.
    let others = others.into_iter().filter_map(|other| device::open(other).ok());
    Ok(([device].into_iter().chain(others).collect(), estimate))
}

/// What a user should see of a device's failure.
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

/// What a user should see of kernels that cannot be had.
pub(crate) fn not_loaded(device: &Device, error: LoadError) -> Error {
    match error {
        LoadError::Driver(error) => failed(device, error),
        LoadError::Compile { error, source } => {
            Error::KernelNotCompiled { message: error.to_string(), source_text: source.to_string() }
        }
    }
}

/// What a user should see of a failure of the device that was chosen.
pub(super) fn failed_on(loaded: Option<&Loaded>, error: DriverError) -> Error {
    match loaded {
        Some(on) => failed(on.first(), error),
        None => Error::DeviceFailed { name: "no device".into(), message: error.to_string() },
    }
}
