//! CPU backend: a vectorised interpreter or machine code evaluates blocks of points; all cores share the pieces.

mod arrays;
#[cfg_attr(
    not(all(feature = "jit", target_arch = "x86_64")),
    allow(dead_code, reason = "requests of machine code, which this target does not generate")
)]
mod assembly;
mod blocks;
pub(crate) mod closest;
mod code;
mod costs;
mod expected;
mod flags;
mod gather;
mod gram;
pub(crate) mod kernels;
pub(crate) mod linearised;
mod loss_rows;
mod machine;
mod pieces;
mod points_alone;
mod poisson;
pub(crate) mod predict;
mod prepared;
mod residuals;
mod robust;
mod rows;
pub(crate) mod simd_batch;
mod sums;
#[cfg(test)]
mod tests;
mod whitened;
mod worker;

use crate::data::loss::Loss;
use crate::data::points::Points;
use crate::model::native::{Calls, Native};
use crate::model::precision::{Precisions, Signs};
use crate::normal::{BlockRow, Normal, RFactor, heaviest_first};
use crate::observe::span;
use crate::solver::evaluator::{Evaluator, ResidualSample};
use crate::solver::observe::Patience;
use crate::solver::outcome::{BadPoint, Fault};
use crate::threads::{self, lock};
use arrays::ArrayPass;
use code::BLOCK;
use kernels::Kernels;
use pieces::Pieces;
pub(crate) use prepared::Prepared;
use prepared::{Pass, PassNumbers, PreparedForm};
pub(crate) use robust::ITERATION_FLOOR;
use rows::Weighting;
use std::sync::Mutex;
pub(crate) use whitened::Whitened;
use worker::{Tasks, Worker};

/// Number of element operations from which a pass uses several threads. A shorter pass ends before they wake up.
pub(crate) const PARALLEL_WORK: usize = 400_000;

/// Evaluates a prepared model over the points of one fit.
pub(crate) struct Cpu<'a> {
    model: &'a Prepared,
    points: &'a Points<'a>,
    /// The loss with its scale in row units.
    loss: Loss,
    kernels: &'static Kernels,
    pieces: Pieces,
    parallel: bool,
    /// If true, passes use the calling thread only.
    alone: bool,
    /// Upper limit of the weight of a point in sums, in row units.
    most_weight: f64,
    /// If the cost is at least this value, the trial is rejected; therefore the next normal equations need no products.
    worthless: f64,
    /// Time limit of a pass of a native model.
    patience: Patience<'a>,
    scratch: Scratch,
    /// Receives the scratch memory when the evaluator is dropped.
    owner: Option<&'a Mutex<Scratch>>,
}

impl Drop for Cpu<'_> {
    fn drop(&mut self) {
        if let Some(owner) = self.owner {
            *lock(owner) = std::mem::take(&mut self.scratch);
        }
    }
}

/// Scratch memory of an evaluator, without the threads' registers. The fits of a batch reuse it, so that they need
/// not allocate.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Minimum magnitude of each parameter, for numerical partials.
    least: Vec<f64>,
    /// Precision of the values, for a model that is called with single points.
    precisions: Precisions,
    /// Signs of limited precision that the first pass has found.
    signs: Mutex<Signs>,
    /// If true, passes still look for these signs.
    looks_for_signs: bool,
    numbers: PassNumbers,
    arrays: ArrayPass,
    normals: Tasks<Normal>,
    factors: Tasks<RFactor>,
}

impl Scratch {
    /// Sets the magnitudes of the parameters from the starting point, and resets the precision of the values. Keeps
    /// both if this is another part of the points of the same fit, because the first part of a fit determines them.
    fn begin(&mut self, native: &Native, free: usize, (start, part): (&[f64], bool)) {
        let least = || native.least_sizes(start);
        if part && self.least.iter().copied().eq(least()) {
            return;
        }
        self.least.clear();
        self.least.extend(least());
        self.precisions.clear();
        self.arrays.precisions.clear();
        let differs = matches!(&native.calls, Calls::Points(calls) if calls.jacobian.is_none());
        self.looks_for_signs = differs;
        if differs {
            lock(&self.signs).restart(free);
        }
    }

    /// Implements [`Evaluator::noise`].
    pub(crate) fn noise(&self) -> f64 {
        self.precisions.noise().max(self.arrays.precisions.noise())
    }
}

impl<'a> Cpu<'a> {
    /// Creates an evaluator. `start`: starting point of the fit, from which the magnitudes of the parameters are taken.
    pub(crate) fn new(
        model: &'a Prepared,
        points: &'a Points<'a>,
        loss: Loss,
        start: &[f64],
    ) -> Cpu<'a> {
        Cpu::over(Scratch::default(), model, points, loss, (start, false))
    }

    /// Like [`new`](Cpu::new), with the scratch of a previous evaluator of the same model. The evaluator returns it to
    /// `owner` when it is dropped.
    pub(crate) fn reusing(
        owner: &'a Mutex<Scratch>,
        model: &'a Prepared,
        points: &'a Points<'a>,
        loss: Loss,
        start: &[f64],
    ) -> Cpu<'a> {
        let scratch = std::mem::take(&mut *lock(owner));
        let mut cpu = Cpu::over(scratch, model, points, loss, (start, false));
        cpu.owner = Some(owner);
        cpu
    }

    /// Creates an evaluator with this scratch. `part`: if true, the scratch may come from another part of the points of
    /// the same fit.
    fn over(
        mut scratch: Scratch,
        model: &'a Prepared,
        points: &'a Points<'a>,
        loss: Loss,
        (start, part): (&[f64], bool),
    ) -> Cpu<'a> {
        let k = model.outputs();
        let (pieces, parallel) = match model.work_of_a_point() {
            Some(work) => {
                let work = work.saturating_mul(points.len());
                (Pieces::of_blocks(points.len()), work > PARALLEL_WORK)
            }
            // A model without known work uses several threads if there are several pieces.
            None => (Pieces::of_calls(points.len()), true),
        };
        if let PreparedForm::Native { native, .. } = &model.kind {
            scratch.begin(native, model.free.len(), (start, part));
            if native.takes_arrays() {
                scratch.arrays.load(&points.columns, points.len());
                scratch.arrays.clear(k);
            }
        }
        Cpu {
            model,
            points,
            loss: in_row_units(loss, points.units.row),
            kernels: kernels::detect(),
            pieces,
            parallel,
            alone: false,
            most_weight: f64::INFINITY,
            worthless: f64::INFINITY,
            patience: Patience::default(),
            scratch,
            owner: None,
        }
    }

    /// Like [`reusing`](Cpu::reusing), for a part of the points, which are summed in pieces of
    /// [`PIECE`](crate::data::validate_stream::PIECE) points.
    pub(crate) fn of_part(
        scratch: Scratch,
        model: &'a Prepared,
        points: &'a Points<'a>,
        loss: Loss,
        start: &[f64],
    ) -> Cpu<'a> {
        let mut cpu = Cpu::over(scratch, model, points, loss, (start, true));
        cpu.pieces = Pieces::of_blocks(points.len());
        cpu
    }

    /// Evaluates on the calling thread only. The result is the same.
    pub(crate) fn on_one_thread(mut self) -> Self {
        (self.parallel, self.alone) = (false, true);
        self
    }

    /// Aborts passes of a native model when this time limit is reached.
    pub(crate) fn within(mut self, patience: Patience<'a>) -> Self {
        self.patience = patience;
        self
    }

    /// Returns Σ w²y² of each piece of `piece` points, with the limited weights that the sums use.
    pub(crate) fn squares_of_limited(&self, piece: usize) -> impl Iterator<Item = f64> {
        self.points.squares_of_limited(self.most_weight, piece)
    }

    /// Sets the same limit as [`Evaluator::limit_weights`].
    pub(crate) fn with_weights_of(mut self, most: f64) -> Self {
        self.most_weight = most;
        self
    }

    /// Returns the scratch, for the next evaluator.
    pub(crate) fn into_scratch(mut self) -> Scratch {
        std::mem::take(&mut self.scratch)
    }

    /// Uses the given kernels instead of the best ones, for tests of the instruction sets.
    #[cfg(test)]
    pub(crate) fn with_kernels(mut self, kernels: &'static Kernels) -> Self {
        self.kernels = kernels;
        self
    }

    fn weighting<'w>(&'w self, columns: &'w [f64], floor: f64) -> Weighting<'w> {
        let most = self.most_weight;
        Weighting { points: self.points, loss: self.loss, floor, columns, most }
    }
}

impl Evaluator for Cpu<'_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        let _span = span!(TRACE, "pass", points = self.points.used);
        self.normal_of_all(params, columns, out)
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        let _span = span!(TRACE, "pass", points = self.points.used);
        self.factor_of_all(params, columns, out)
    }

    fn threads(&self) -> usize {
        // `threads::count` starts the threads, so it is called only if they are used.
        let several = self.parallel && self.pieces.count() > 1;
        if several { threads::count().min(self.pieces.count()) } else { 1 }
    }

    fn scratch_bytes(&self) -> usize {
        let k = self.model.outputs();
        let normals = self.scratch.normals.rooms() * (k * (k + 1) / 2 + 1);
        let factors = self.scratch.factors.rooms() * k * k;
        let registers = (self.model.registers() + self.points.columns.len() + 2 * k + 3) * BLOCK;
        let threads = self.threads();
        let arrays: usize = self.scratch.arrays.outputs.iter().map(Vec::len).sum();
        (normals + factors + threads * registers + arrays) * size_of::<f64>()
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        self.largest_partials(params, out)
    }

    fn take_time(&mut self) {
        self.patience.until = None;
    }

    fn expect_below(&mut self, cost: f64) {
        self.worthless = cost;
    }

    fn noise(&self) -> f64 {
        self.scratch.noise()
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.first_not_finite(params)
    }

    fn heaviest(&mut self, count: usize, level: f64) -> Vec<f64> {
        self.points.heaviest(count, level)
    }

    fn limit_weights(&mut self, most: f64) -> Option<f64> {
        self.most_weight = most;
        Some(self.points.square_of_limited(most))
    }

    fn heavy_rows(&mut self, params: &[f64], columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        let rows = self.rows_beyond(params, columns)?;
        Ok(heaviest_first(BlockRow::of_all(&rows, columns.len() + 1)))
    }

    fn expected_normal(
        &mut self,
        about: (&[f64], f64),
        columns: &[f64],
        out: &mut Normal,
    ) -> Result<(), Fault> {
        self.expected_of_sample(about, columns, out)
    }

    fn look_for_noise(&mut self, params: &[f64]) -> Result<(), Fault> {
        self.call_arrays(params, |arrays, request| arrays.look_for_noise(request))
    }

    fn is_exact(&mut self, params: &[f64]) -> Result<bool, Fault> {
        self.passes_through(params)
    }

    fn residuals(
        &mut self,
        params: &[f64],
        visit: &mut dyn FnMut(&ResidualSample),
    ) -> Result<(), Fault> {
        let sample = self.residual_sample(params)?;
        visit(&sample);
        // The next fit reuses this memory.
        Worker::with(|worker| worker.residuals = sample.values);
        Ok(())
    }

    fn offset(&mut self) -> f64 {
        self.distance_in_ranges()
    }
}

/// Returns the loss with its scale multiplied by the row unit.
fn in_row_units(loss: Loss, unit: f64) -> Loss {
    match loss {
        Loss::Linear => Loss::Linear,
        Loss::SoftL1 { scale } => Loss::SoftL1 { scale: scale * unit },
        Loss::Huber { scale } => Loss::Huber { scale: scale * unit },
        Loss::Cauchy { scale } => Loss::Cauchy { scale: scale * unit },
        Loss::Arctan { scale } => Loss::Arctan { scale: scale * unit },
        Loss::Tukey { scale } => Loss::Tukey { scale: scale * unit },
        Loss::Custom { scale, formula } => Loss::Custom { scale: scale * unit, formula },
    }
}
