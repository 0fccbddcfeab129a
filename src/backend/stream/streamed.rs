//! A stream as the solver sees it: an evaluator whose every new question is a pass over all points.

use super::memo::Question;
use super::passes::{Evaluated, Passes};
use crate::backend::cuda::source::FEW_PARAMETERS;
use crate::backend::cuda::streamed::Streamed as Device;
use crate::backend::{BadPoint, DeviceUse, Evaluator, Fault};
use crate::normal::{Normal, RFactor};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A model over the points of a stream.
pub(crate) struct Streamed<'e, 'a> {
    passes: &'e Mutex<Passes<'a>>,
    evaluated: Evaluated<'e>,
    /// The device that passes run on, unless it failed.
    device: Option<Device>,
    /// Whether the CPU goes on where the device fails.
    take_over: bool,
    failed: Option<String>,
}

impl<'e, 'a> Streamed<'e, 'a> {
    pub(crate) fn new(passes: &'e Mutex<Passes<'a>>, evaluated: Evaluated<'e>) -> Self {
        Streamed { passes, evaluated, device: None, take_over: false, failed: None }
    }

    /// With passes on a device, or the reason why it failed before the first.
    pub(crate) fn on(
        mut self,
        device: std::result::Result<Device, String>,
        take_over: bool,
    ) -> Self {
        match device {
            Ok(device) => self.device = Some(device),
            Err(failed) => self.failed = Some(failed),
        }
        self.take_over = take_over;
        self
    }

    /// Whether the device did it; if not, the CPU must.
    fn on_device(
        &mut self,
        pass: impl FnOnce(&mut Passes<'a>, &mut Device) -> Result<(), Fault>,
    ) -> Result<bool, Fault> {
        let Some(device) = &mut self.device else { return Ok(false) };
        match pass(&mut locked(self.passes), device) {
            Ok(()) => Ok(true),
            Err(Fault::Device(error)) if self.take_over => {
                self.failed = Some(error.to_string());
                self.device = None;
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    fn question(&self, params: &[f64], columns: &[f64]) -> Question {
        let loss = self.evaluated.loss;
        Question { loss, params: params.to_vec(), columns: columns.to_vec() }
    }
}

/// The passes; whoever panicked while it had them left them as they were.
pub(crate) fn locked<'m, 'a>(passes: &'m Mutex<Passes<'a>>) -> MutexGuard<'m, Passes<'a>> {
    passes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Evaluator for Streamed<'_, '_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        let question = self.question(params, columns);
        if self.on_device(|passes, device| passes.answer_on(device, &question, out))? {
            return Ok(());
        }
        locked(self.passes).answer(self.evaluated, &question, out)
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        let question = self.question(params, columns);
        // The rows of many parameters are not kept on the device, so their factor comes from the CPU.
        let done = out.n <= FEW_PARAMETERS
            && self.on_device(|passes, device| passes.answer_on(device, &question, out))?;
        if done { Ok(()) } else { locked(self.passes).answer(self.evaluated, &question, out) }
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        let mut part = out.to_vec();
        out.fill(0.0);
        locked(self.passes).each_part(self.evaluated, 0, |cpu, _, _| {
            cpu.magnitudes(params, &mut part)?;
            out.iter_mut().zip(&part).for_each(|(o, &p)| *o = o.max(p));
            Ok(())
        })
    }

    fn threads(&self) -> usize {
        rayon::current_num_threads()
    }

    fn scratch_bytes(&self) -> usize {
        locked(self.passes).prefetch.bytes()
    }

    fn device(&self) -> Option<DeviceUse> {
        let (bytes, failed) = (self.device.as_ref().map(Device::bytes), self.failed.clone());
        (bytes.is_some() || failed.is_some()).then(|| DeviceUse {
            bytes: bytes.unwrap_or(0),
            chunks: 1,
            failed,
        })
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        let mut found = None;
        let outcome = locked(self.passes).each_part(self.evaluated, 0, |cpu, first, _| {
            found = cpu.first_bad_point(params);
            match &mut found {
                Some(point) => {
                    point.index += first as usize;
                    Err(Fault::Stopped)
                }
                None => Ok(()),
            }
        });
        if let (None, Err(fault)) = (&found, outcome) {
            locked(self.passes).failed = Some(fault);
        }
        found
    }
}
