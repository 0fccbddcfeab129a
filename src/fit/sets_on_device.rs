//! Sets of points of one model that devices sum up together: a launch for all of a device's, not one for each.

use super::placement::{
    Estimate, FILL, Loaded, Placement, PlacementRequest, failed, failed_on, not_loaded,
};
use super::stats::Stats;
use crate::backend::choice::Workload;
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::driver::DriverError;
use crate::backend::cuda::passes::PassKind;
use crate::backend::cuda::set_passes::{SetKernels, SetPasses};
use crate::backend::cuda::set_points::{SetPoints, bytes_per_point, weighting};
use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::solver::evaluator::{DeviceUse, Evaluator};
use crate::solver::outcome::Fault;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Devices with sets of points.
pub(crate) struct SetsOnDevice<'a> {
    loaded: Loaded,
    kernels: Arc<SetKernels>,
    sets: Vec<&'a Points<'a>>,
    /// The sets by devices, in their order.
    shares: Vec<HeldSets>,
}

/// Consecutive sets on a device.
#[derive(Clone)]
struct HeldSets {
    /// The number of the device among those of the fit.
    device: usize,
    range: Range<usize>,
    held: Arc<SetPoints>,
}

impl<'a> SetsOnDevice<'a> {
    /// Of sets of one estimator, of ordinary size and with exact x, one at least; `None` where they have to be by themselves.
    ///
    /// # Errors
    /// As [`Placement::choose`].
    pub(crate) fn place(
        wanted: &PlacementRequest<'_>,
        printed: &Arc<CompiledModel>,
        sets: Vec<&'a Points<'a>>,
        loss: Loss,
    ) -> Result<Option<Placement<SetsOnDevice<'a>>>> {
        let first = sets[0];
        let points = sets.iter().map(|points| points.used).sum::<usize>();
        let kind = (first.columns.len(), weighting(&sets), first.estimator);
        let Some(kernels) = SetKernels::new(printed, kind, points / sets.len()) else {
            return Ok(None);
        };
        let work = Workload {
            points,
            bytes_per_point: bytes_per_point(kind.0, kind.1),
            units: printed.units,
            uploaded: false,
        };
        let (kernels, most) = (Arc::new(kernels), (1.0, sets.len()));
        let texts = kernels.clone();
        let is_loaded = move |device: &Device| device.is_loaded(&texts.text(loss));
        let estimate = || Estimate::of_passes(wanted.costs, work, most, is_loaded);
        let mut has_room = true;
        let placed = Placement::choose(wanted, estimate, |devices, take_over| {
            let loaded = Loaded::new(devices, take_over);
            let mut on = SetsOnDevice { loaded, kernels, sets, shares: Vec::new() };
            let ready = on.fill(loss);
            has_room = !matches!(ready, Err(Error::DeviceOutOfMemory { .. }));
            ready.map(|()| on)
        });
        // By themselves they can go through a device in chunks.
        if has_room { placed.map(Some) } else { Ok(None) }
    }

    /// Brings the points to the devices, and the kernels for this loss. A device that fails is done without, as long as there are
    /// others.
    fn fill(&mut self, loss: Loss) -> Result<()> {
        let text = self.kernels.text(loss);
        loop {
            let devices: Vec<usize> = self.loaded.working().collect();
            let device = |share: usize| devices[share.min(devices.len() - 1)];
            let shares = devices.len().min(self.sets.len());
            let begin = |share: usize| self.sets.len() * share / shares;
            let begun = Instant::now();
            let held = (0..shares).map(|share| {
                let range = begin(share)..begin(share + 1);
                self.hold(device(share), range).map_err(|error| (device(share), error))
            });
            let held = held.collect::<std::result::Result<Vec<_>, _>>();
            self.loaded.upload_seconds += begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            let ready = held.and_then(|held| {
                let origin = self.loaded.devices[device(0)].kernels(&text);
                let failed = |error| not_loaded(&self.loaded.devices[device(0)], error);
                let (_, origin) = origin.map_err(|error| (device(0), failed(error)))?;
                Ok((held, origin))
            });
            self.loaded.compile_seconds += begun.elapsed().as_secs_f64();
            match ready {
                Ok((shares, origin)) => {
                    (self.shares, self.loaded.origin) = (shares, origin);
                    return Ok(());
                }
                Err((device, error)) if devices.len() > 1 => self.loaded.lose(device, &error),
                Err((_, error)) => return Err(error),
            }
        }
    }

    /// The points of some sets on a device.
    fn hold(&self, device: usize, range: Range<usize>) -> Result<HeldSets> {
        let on = &self.loaded.devices[device];
        let held = on.driver.memory().and_then(|memory| {
            let most_bytes = (FILL * memory.free as f64) as usize;
            let sets = &self.sets[range.clone()];
            SetPoints::of(&on.driver, sets, self.kernels.weights(), most_bytes)
        });
        let held = Arc::new(held.map_err(|error| failed(on, error))?);
        Ok(HeldSets { device, range, held })
    }

    /// Passes over held sets under a loss.
    fn passes(&self, held: &HeldSets, loss: Loss) -> Result<SetPasses> {
        let on = &self.loaded.devices[held.device];
        let (loaded, _) =
            on.kernels(&self.kernels.text(loss)).map_err(|error| not_loaded(on, error))?;
        // What is dark among counts is each set's own.
        let scale = self.sets[0].overview().kernel_scale(loss);
        SetPasses::new(&self.kernels, loaded, held.held.clone(), scale)
            .map_err(|error| failed(on, error))
    }

    /// What a user should see of a failure of the devices.
    pub(crate) fn failed(&self, error: DriverError) -> Error {
        failed_on(Some(&self.loaded), error)
    }

    /// The passes over all sets under a loss.
    ///
    /// # Errors
    /// What the devices refused, where the CPU is not to go on.
    pub(crate) fn at_work(&self, loss: Loss) -> Result<SetsAtWork<'_>> {
        let mut work = SetsAtWork { on: self, loss, shares: Vec::new(), failed: None };
        for held in &self.shares {
            let made = match self.loaded.is_lost(held.device) {
                true => Err(None),
                false => self.passes(held, loss).map_err(Some),
            };
            let share = match made {
                Ok(passes) => Some(Share { held: held.clone(), passes }),
                Err(error) => work.moved(held, error.as_ref()),
            };
            match share {
                Some(share) => work.shares.push(share),
                None => {
                    let error = self.loaded.all_lost();
                    if !self.loaded.take_over {
                        return Err(error);
                    }
                    work.stop(error.to_string());
                    return Ok(work);
                }
            }
        }
        Ok(work)
    }
}

impl Placement<SetsOnDevice<'_>> {
    /// As [`Placement::stats`].
    pub(crate) fn stats_of_sets(&self, evaluator: &dyn Evaluator) -> Stats {
        self.stats(self.device.as_ref().map(|on| &on.loaded), evaluator)
    }
}

/// Some of the sets, with passes over them.
struct Share {
    held: HeldSets,
    passes: SetPasses,
}

/// Passes over sets on devices, until all of these have failed.
pub(crate) struct SetsAtWork<'e> {
    on: &'e SetsOnDevice<'e>,
    loss: Loss,
    /// None once the CPU has gone on.
    shares: Vec<Share>,
    failed: Option<String>,
}

impl SetsAtWork<'_> {
    /// Leaves all sets to the CPU from here on.
    pub(crate) fn stop(&mut self, reason: String) {
        if self.failed.is_none() {
            self.failed = Some(reason);
        }
        self.shares.clear();
    }

    /// Hands to `take` the numbers of each set at its parameters, of which `params` has those of all sets; nothing where the CPU
    /// has to do it.
    ///
    /// # Errors
    /// The failure of the last device, where the CPU is not to go on.
    pub(crate) fn pass(
        &mut self,
        kind: PassKind,
        params: &[f64],
        mut take: impl FnMut(usize, &[f64]),
    ) -> std::result::Result<(), Fault> {
        let width = params.len() / self.on.sets.len();
        let part = |held: &HeldSets| &params[held.range.start * width..held.range.end * width];
        // All devices are at work before one is waited for.
        let queue = |share: &Share| share.passes.queue(kind, part(&share.held));
        let mut queued: Vec<_> = self.shares.iter().map(queue).collect();
        for k in 0..self.shares.len() {
            let mut sent = std::mem::replace(&mut queued[k], Ok(()));
            while let Err(error) = self.shares[k].collect(sent, kind, &mut take) {
                match self.replaced(k, error)? {
                    true => sent = queue(&self.shares[k]),
                    false => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Whether another device has what was that of share k; the CPU has all of it otherwise.
    fn replaced(&mut self, k: usize, error: DriverError) -> std::result::Result<bool, Fault> {
        let held = self.shares[k].held.clone();
        let on = &self.on.loaded;
        let said = failed(&on.devices[held.device], error.clone());
        match self.moved(&held, Some(&said)) {
            Some(share) => self.shares[k] = share,
            None if on.take_over => self.stop(error.to_string()),
            None => return Err(Fault::Device(error)),
        }
        Ok(!self.shares.is_empty())
    }

    /// These sets on another device than that which failed, if there is one.
    fn moved(&self, held: &HeldSets, error: Option<&Error>) -> Option<Share> {
        self.on.loaded.moved(held.device, error, |other| {
            let held = self.on.hold(other, held.range.clone())?;
            Ok(Share { passes: self.on.passes(&held, self.loss)?, held })
        })
    }

    /// What the passes took.
    pub(crate) fn device(&self) -> DeviceUse {
        let bytes = self.shares.iter().map(|share| share.passes.bytes()).sum();
        DeviceUse { bytes, chunks: 1, failed: self.failed.clone() }
    }
}

impl Share {
    /// Hands over what a pass that was queued has found.
    fn collect(
        &mut self,
        queued: std::result::Result<(), DriverError>,
        kind: PassKind,
        take: &mut impl FnMut(usize, &[f64]),
    ) -> std::result::Result<(), DriverError> {
        queued?;
        let found = self.passes.collect(kind)?;
        self.held.range.clone().zip(found).for_each(|(set, numbers)| take(set, numbers));
        Ok(())
    }
}
