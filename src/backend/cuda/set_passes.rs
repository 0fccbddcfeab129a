//! Passes over several sets of points on a device, each set at parameters of its own: one launch, in which a group of lanes sums
//! up a set.

use super::batch::unit::{BatchShape, MOST_PARAMETERS, bench_bytes, set_unit};
use super::compiled_model::CompiledModel;
use super::device::LoadedKernels;
use super::driver::{DriverError, Geometry, Queue};
use super::memory::Buffer;
use super::passes::{PassKind, width};
use super::set_points::SetPoints;
use super::source::{Arithmetic, Spec, Storage, Weighting};
use crate::backend::choice::Costs;
use crate::backend::cpu::ITERATION_FLOOR;
use crate::data::loss::{Estimator, Loss};
use std::sync::Arc;

/// How the sets of a fit are summed up, whichever device has them.
pub(crate) struct SetKernels {
    printed: Arc<CompiledModel>,
    columns: usize,
    weights: Weighting,
    estimator: Estimator,
    shape: BatchShape,
}

impl SetKernels {
    /// For sets of about `points` points each; `None` for fits that have no room in shared memory.
    pub(crate) fn new(
        printed: &Arc<CompiledModel>,
        (columns, weights, estimator): (usize, Weighting, Estimator),
        points: usize,
    ) -> Option<SetKernels> {
        let shape = BatchShape { lanes: 1, threads: 1 };
        let printed = printed.clone();
        let mut kernels = SetKernels { printed, columns, weights, estimator, shape };
        if !(1..=MOST_PARAMETERS).contains(&kernels.printed.free()) {
            return None;
        }
        kernels.shape = BatchShape::new(points, bench_bytes(&kernels.spec(Loss::Linear)))?;
        Some(kernels)
    }

    fn spec(&self, loss: Loss) -> Spec<'_> {
        Spec {
            program: &self.printed.program,
            free: self.printed.free(),
            columns: vec![Storage::F64; self.columns],
            response: Storage::F64,
            weights: self.weights,
            loss,
            estimator: self.estimator,
            arithmetic: Arithmetic::Double,
        }
    }

    /// Their text for a loss.
    pub(crate) fn text(&self, loss: Loss) -> Arc<str> {
        set_unit(&self.spec(loss), self.shape).into()
    }

    pub(crate) fn weights(&self) -> Weighting {
        self.weights
    }

    /// Parameters of the model, fixed ones included, and how many are free.
    fn size(&self) -> (usize, usize) {
        (self.printed.program.params.len(), self.printed.free())
    }
}

/// Sets on a device, with kernels and their memory.
pub(crate) struct SetPasses {
    loaded: Arc<LoadedKernels>,
    points: Arc<SetPoints>,
    batch: Buffer,
    params: Buffer,
    out: Buffer,
    found: Vec<f64>,
    shape: BatchShape,
    free: usize,
    /// Points that a launch goes over at most.
    most_points: usize,
}

impl SetPasses {
    /// `loaded`: the kernels, loaded. `loss_scale`: of the loss that they were printed for.
    pub(crate) fn new(
        kernels: &SetKernels,
        loaded: Arc<LoadedKernels>,
        points: Arc<SetPoints>,
        loss_scale: f64,
    ) -> Result<SetPasses, DriverError> {
        let driver = &loaded.driver;
        let ((params, free), sets) = (kernels.size(), points.sets());
        let most_points =
            Costs::default().points_of_launch(kernels.printed.units, driver.properties());
        Ok(SetPasses {
            batch: Buffer::with(driver, Queue::Work, &points.batch(loss_scale, (params, free)))?,
            params: Buffer::of::<f64>(driver, sets * params)?,
            out: Buffer::of::<f64>(driver, sets * width(free))?,
            found: Vec::new(),
            shape: kernels.shape,
            free,
            most_points,
            loaded,
            points,
        })
    }

    /// Queues a pass over all sets, each at its parameters in `params`.
    pub(crate) fn queue(&self, kind: PassKind, params: &[f64]) -> Result<(), DriverError> {
        self.params.write(Queue::Work, 0, params)?;
        let darkest = self.points.darkest.as_ref().map_or(0, Buffer::address);
        let mut first = 0;
        while first < self.points.sets() {
            let sets = self.points.launch(first, self.most_points);
            let blocks = sets.len().div_ceil(self.shape.fits());
            let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
            let geometry = Geometry { blocks, threads: self.shape.threads as u32 };
            let (floor, out) = (ITERATION_FLOOR.to_bits(), self.out.address());
            let (batch, params) = (self.batch.address(), self.params.address());
            let mut words = vec![batch, darkest, params, sets.start as u64, sets.end as u64];
            let kernel = match kind {
                PassKind::Normal => {
                    words.push(floor);
                    "sum_sets"
                }
                PassKind::Factor => "factor_sets",
            };
            words.push(out);
            let arguments: Vec<&[u8]> = words.iter().map(bytemuck::bytes_of).collect();
            self.loaded.launch(kernel, geometry, &arguments)?;
            first = sets.end;
        }
        Ok(())
    }

    /// Waits for the pass and returns what it left of each set: the products and the cost, or the factor and the sums of its
    /// influence.
    pub(crate) fn collect(
        &mut self,
        kind: PassKind,
    ) -> Result<impl Iterator<Item = &[f64]>, DriverError> {
        let width = kind.width(self.free);
        self.found.resize(self.points.sets() * width, 0.0);
        self.out.read(Queue::Work, 0, &mut self.found)?;
        Ok(self.found.chunks_exact(width))
    }

    /// Bytes of device memory held, points included.
    pub(crate) fn bytes(&self) -> usize {
        let own = [&self.batch, &self.params, &self.out].map(Buffer::bytes);
        own.into_iter().sum::<usize>() + self.points.bytes()
    }
}
