//! Batches of few fits with very many points on devices: each fit runs alone, as a single fit does. Its points are
//! uploaded, all multiprocessors of the device run its passes, and the host takes the steps. The kernel for batches would
//! compute such a fit in one warp, while the rest of the device is idle.

use super::arrays::BatchPart;
use super::pipeline::FitQueue;
use super::request::BatchRequest;
use super::status::FitStatus;
use super::workspace::FitWorkspace;
use crate::backend::Backend;
use crate::backend::choice::Costs;
use crate::backend::cuda::compiled_model::CompiledModel;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::source::Arithmetic;
use crate::error::Result;
use crate::fit::execution::{Execution, variant};
use crate::fit::placement::{GivenDevice, PlacementRequest, Uploaded};
use crate::fit::spec::FitSpec;
use std::slice::from_ref;
use std::sync::Arc;

/// The kernels of single fits, for fits that run one by one.
#[derive(Clone)]
pub(crate) struct SingleFits {
    pub(super) costs: Costs,
    pub(super) printed: Arc<CompiledModel>,
}

impl SingleFits {
    /// Returns true if the device has already loaded the kernels for the first fit.
    pub(super) fn are_loaded(&self, request: &BatchRequest<'_>, device: &Device) -> bool {
        let mut columns = Vec::new();
        request.points(0, &mut columns, None).is_ok_and(|points| {
            let variant = variant(&points, request.spec.loss, Arithmetic::Double);
            self.printed.is_loaded(device, &variant)
        })
    }

    /// Computes fits of the queue on a device, one after the other, until the queue is empty, the batch is cancelled, or
    /// `hand_over`, which receives each fit, returns false. After an error or a cancellation, the fit returns to the
    /// queue.
    ///
    /// # Errors
    /// The failure of the device.
    pub(super) fn run<'b>(
        &self,
        request: &BatchRequest<'_>,
        device: &Arc<Device>,
        queue: &FitQueue<'b>,
        mut hand_over: impl FnMut(BatchPart<'b>) -> bool,
    ) -> Result<()> {
        // No other fit needs the threads of the CPU.
        let spec = FitSpec { on_one_thread: false, ..request.spec.clone() };
        let request = &BatchRequest { spec: &spec, ..*request };
        let devices = from_ref(device);
        let given = GivenDevice { devices, uploaded: Uploaded::None, take_over: false };
        let wanted =
            PlacementRequest { backend: Backend::Auto, costs: self.costs, given: Some(given) };
        let rules = (spec.loss, request.precision);
        let kernels = (Some(&self.printed), spec.prepared.free.len());
        let mut bench = FitWorkspace::for_devices(request);
        while let Some(mut part) = queue.take(|_| 1) {
            // A start that could not be computed has decided the fit.
            let made = match part.statuses[0] {
                FitStatus::NotRun => bench.fit_on(request, 0, &mut part, |points| {
                    Execution::of(&wanted, rules, kernels, points)
                }),
                _ => Ok(()),
            };
            if made.is_err() || part.statuses[0] == FitStatus::NotRun {
                queue.put_back(part);
                return made;
            }
            if !hand_over(part) || spec.is_cancelled() {
                break;
            }
        }
        Ok(())
    }
}
