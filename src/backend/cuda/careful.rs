//! Passes on a device, with the CPU at hand: for what only diagnoses, and to go on where the device
//! fails if the caller did not insist on it.

use super::driver::DriverError;
use super::evaluator::Cuda;
use super::source::FEW_PARAMETERS;
use crate::backend::cpu::Cpu;
use crate::backend::{BadPoint, DeviceUse, Evaluator, Fault};
use crate::normal::{Normal, RFactor};

/// An evaluator on a device that asks the CPU for bad points and magnitudes.
pub(crate) struct Careful<'a> {
    device: Cuda<'a>,
    cpu: Cpu<'a>,
    /// Whether a failure of the device is answered by going on with the CPU.
    take_over: bool,
    failed: Option<DriverError>,
}

impl<'a> Careful<'a> {
    pub(crate) fn new(device: Cuda<'a>, cpu: Cpu<'a>, take_over: bool) -> Careful<'a> {
        Careful { device, cpu, take_over, failed: None }
    }

    /// Whether a pass on the device answered; if not, the CPU must.
    fn answered(&mut self, pass: Result<(), DriverError>) -> Result<bool, Fault> {
        match pass {
            Ok(()) => Ok(true),
            Err(error) if self.take_over => {
                self.failed = Some(error);
                Ok(false)
            }
            Err(error) => Err(Fault::Device(error)),
        }
    }
}

impl Evaluator for Careful<'_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        if self.failed.is_none() {
            let pass = self.device.normal(params, columns, out);
            if self.answered(pass)? {
                return Ok(());
            }
        }
        self.cpu.normal(params, columns, out)
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        // The rows of many parameters are not kept on the device, so their factor comes from the CPU.
        if self.failed.is_none() && out.n <= FEW_PARAMETERS {
            let pass = self.device.factor(params, columns, out);
            if self.answered(pass)? {
                return Ok(());
            }
        }
        self.cpu.factor(params, columns, out)
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

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.cpu.first_bad_point(params)
    }

    fn device(&self) -> Option<DeviceUse> {
        Some(DeviceUse {
            bytes: self.device.bytes(),
            chunks: self.device.chunks(),
            failed: self.failed.as_ref().map(ToString::to_string),
        })
    }
}
