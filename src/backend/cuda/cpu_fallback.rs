//! Passes on a device with the CPU as a fallback: for diagnostics, and to continue if the device
//! fails and the caller did not insist on it.

use super::driver::DriverError;
use super::evaluator::Cuda;
use super::source::FEW_PARAMETERS;
use crate::backend::cpu::Cpu;
use crate::normal::{BlockRow, Normal, RFactor};
use crate::solver::evaluator::{DeviceUse, Evaluator, ResidualSample};
use crate::solver::outcome::{BadPoint, Fault};

/// An evaluator whose passes run on a device. The CPU computes what the device does not: residuals, bad points, heavy
/// points, and the magnitudes of the partials.
pub(crate) struct WithCpuFallback<'a> {
    /// The passes on the device; `None` after a failure, which also releases their memory.
    device: Option<Cuda<'a>>,
    cpu: Cpu<'a>,
    /// True if the fit continues on the CPU after a failure of the device.
    take_over: bool,
    failed: Option<String>,
}

impl<'a> WithCpuFallback<'a> {
    pub(crate) fn new(device: Cuda<'a>, cpu: Cpu<'a>, take_over: bool) -> WithCpuFallback<'a> {
        WithCpuFallback { device: Some(device), cpu, take_over, failed: None }
    }

    /// Creates an evaluator for a device that failed before the first pass. `failed`: the reason.
    pub(crate) fn without_device(cpu: Cpu<'a>, failed: String) -> WithCpuFallback<'a> {
        WithCpuFallback { device: None, cpu, take_over: true, failed: Some(failed) }
    }

    /// Runs a pass on the device. Returns false if the CPU must run it.
    fn on_device(
        &mut self,
        pass: impl FnOnce(&mut Cuda<'a>) -> Result<(), DriverError>,
    ) -> Result<bool, Fault> {
        let Some(device) = &mut self.device else { return Ok(false) };
        match pass(device) {
            Ok(()) => Ok(true),
            Err(error) => self.abandon_device(error).map(|()| false),
        }
    }

    /// Drops the failed device, or returns an error if the CPU must not take over.
    fn abandon_device(&mut self, error: DriverError) -> Result<(), Fault> {
        if !self.take_over {
            return Err(Fault::Device(error));
        }
        self.failed = Some(error.to_string());
        self.device = None;
        Ok(())
    }
}

impl Evaluator for WithCpuFallback<'_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        match self.on_device(|device| device.pass(params, columns, out))? {
            true => Ok(()),
            false => self.cpu.normal(params, columns, out),
        }
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        // The device does not store the rows of models with many parameters, therefore the CPU computes their R factor.
        let done = out.n <= FEW_PARAMETERS
            && self.on_device(|device| device.pass(params, columns, out))?;
        if done { Ok(()) } else { self.cpu.factor(params, columns, out) }
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        self.cpu.magnitudes(params, out)
    }

    fn threads(&self) -> usize {
        self.cpu.threads()
    }

    fn scratch_bytes(&self) -> usize {
        self.cpu.scratch_bytes()
    }

    fn residuals(
        &mut self,
        params: &[f64],
        visit: &mut dyn FnMut(&ResidualSample),
    ) -> Result<(), Fault> {
        self.cpu.residuals(params, visit)
    }

    fn take_time(&mut self) {
        self.cpu.take_time();
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.cpu.first_bad_point(params)
    }

    fn heaviest(&mut self, count: usize, level: f64) -> Vec<f64> {
        self.cpu.heaviest(count, level)
    }

    /// Continues on the CPU, because passes on a device cannot limit weights.
    fn limit_weights(&mut self, most: f64) -> Option<f64> {
        if self.device.take().is_some() {
            self.failed = Some("a few points outweigh all others by far".to_owned());
        }
        self.cpu.limit_weights(most)
    }

    fn heavy_rows(&mut self, params: &[f64], columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        self.cpu.heavy_rows(params, columns)
    }

    fn offset(&mut self) -> f64 {
        self.cpu.offset()
    }

    fn is_exact(&mut self, params: &[f64]) -> Result<bool, Fault> {
        self.cpu.is_exact(params)
    }

    fn device(&self) -> Option<DeviceUse> {
        Some(DeviceUse {
            bytes: self.device.as_ref().map_or(0, Cuda::bytes),
            chunks: self.device.as_ref().map_or(1, Cuda::chunks),
            failed: self.failed.clone(),
        })
    }
}
