//! Evaluation of eight small fits of one model in lanes: each SIMD lane belongs to one fit.
//!
//! A small fit has too few points for long blocks: the interpreter's dispatch, the ends of vectors and the sums across
//! lanes would take as long as the arithmetic. Here a block contains the points of eight fits: number i·8 + l is point
//! i of the fit in lane l. So every loop is long, every vector is full, and the sums of a lane are the sums of its fit.
//! The result of a lane does not depend on the other lanes.

use super::assembly::{Assembled, Estimate, Rows, Same, Shared, Weighted, in_a_row};
use super::closest::BlockPoints;
use super::code::BLOCK;
use super::gram::LANES;
use super::kernels::{self, Kernels};
use super::machine::{Block, Inputs, Uniforms};
use super::rows::{BlockValues, Target};
use super::worker::Worker;
use super::{ITERATION_FLOOR, Prepared, PreparedForm};
use crate::data::loss::{Estimator, Loss};
use crate::data::points::Points;
use crate::data::values::Values;
use crate::normal::abreast::ModelsAbreast;
use crate::normal::{Normal, Summary};
use std::sync::Arc;

/// Maximum number of points per fit: larger fits are as fast alone (measured; docs/benchmarks.md).
pub(crate) const MOST_POINTS: usize = 320;

/// Number of independent variables up to which a pass does not allocate.
const FEW: usize = 4;

/// Settings that are the same for all fits of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) loss: Loss,
    pub(crate) estimator: Estimator,
    /// If true, all fits have the same independent variables.
    pub(crate) shared: bool,
    /// If true, points have weights other than 1, or the numbers of points may differ between fits.
    pub(crate) weighted: bool,
}

/// Evaluator of up to eight fits, with their points.
pub(crate) struct SimdBatch {
    code: Arc<Assembled>,
    manner: Manner,
    kernels: &'static Kernels,
    /// Number of points of the fit in each lane; 0 before its first fit.
    lengths: [usize; LANES],
    /// One column per variable: eight lanes per point.
    columns: Vec<Vec<f64>>,
    y: Vec<f64>,
    weights: Vec<f64>,
    /// Poisson data: upper limit of the weight 1/f, one number per lane.
    most: [f64; LANES],
    /// Uniform numbers, which are the same at every point of a fit: eight lanes per number.
    uniforms: Vec<[f64; LANES]>,
    /// For each lane, true if the code is valid at its parameters.
    usable: [bool; LANES],
    /// Products of the columns, then the costs: eight lanes each.
    sums: Vec<f64>,
    models: ModelsAbreast,
}

impl SimdBatch {
    /// Creates an evaluator for a model of `columns` independent variables. Returns `None` if the model is not traced.
    pub(crate) fn new(model: &Prepared, columns: usize, manner: Manner) -> Option<SimdBatch> {
        let PreparedForm::Traced { collected: code, .. } = &model.kind else { return None };
        Some(SimdBatch {
            code: code.clone(),
            manner,
            kernels: kernels::detect(),
            lengths: [0; LANES],
            columns: vec![Vec::new(); columns],
            y: Vec::new(),
            weights: Vec::new(),
            most: [1.0; LANES],
            uniforms: Vec::new(),
            usable: [true; LANES],
            sums: Vec::new(),
            models: ModelsAbreast::default(),
        })
    }

    /// Loads the used points of another fit into a lane, in the order of the data. The row unit (the scale of the
    /// weighted residuals) must be 1. Without weights, all fits must have the same number of used points.
    pub(crate) fn load(&mut self, lane: usize, points: &Points<'_>) {
        let (n, room) = (points.used, self.y.len() / LANES);
        if n > room {
            self.grow(room, n);
        }
        if self.manner.estimator == Estimator::Poisson {
            self.most[lane] = points.darkest().recip();
        }
        let first = self.lengths == [0; LANES];
        self.lengths[lane] = n;
        let room = self.y.len() / LANES;
        let y = self.y.as_chunks_mut::<LANES>().0;
        points.y.visit(points.kept(), |i, value| y[i][lane] = value);
        if !self.manner.shared || first {
            for (column, values) in self.columns.iter_mut().zip(points.columns.iter()) {
                let column = column.as_chunks_mut::<LANES>().0;
                values.visit(points.kept(), |i, x| match self.manner.shared {
                    true => column[i] = [x; LANES],
                    false => column[i][lane] = x,
                });
            }
        }
        if self.manner.weighted {
            for (i, p) in points.kept().enumerate() {
                self.weights[i * LANES + lane] = points.weight(p);
            }
            self.pad(lane, n, room);
        }
    }

    /// Extends the buffers to `n` points per lane.
    fn grow(&mut self, room: usize, n: usize) {
        self.y.resize(n * LANES, 0.0);
        self.columns.iter_mut().for_each(|column| column.resize(n * LANES, 0.0));
        if self.manner.weighted {
            self.weights.resize(n * LANES, 0.0);
            for lane in 0..LANES {
                self.pad(lane, room.max(self.lengths[lane]), n);
            }
        }
    }

    /// Fills the points `from..to` of a lane with copies of its last point, with weight 0.
    fn pad(&mut self, lane: usize, from: usize, to: usize) {
        let Some(last) = self.lengths[lane].checked_sub(1) else { return };
        for i in from..to {
            self.weights[i * LANES + lane] = 0.0;
            self.y[i * LANES + lane] = self.y[last * LANES + lane];
            for column in &mut self.columns {
                column[i * LANES + lane] = column[last * LANES + lane];
            }
        }
    }

    /// Computes the normal equations of all lanes, each at its own parameters. `params`: `None` for lanes that are not
    /// needed.
    pub(crate) fn evaluate(&mut self, params: [Option<&[f64]>; LANES]) {
        let Some(any) = params.iter().flatten().next().copied() else { return };
        let of = |lane: usize| params[lane].filter(|_| self.lengths[lane] > 0);
        let points = (0..LANES).filter(|&l| of(l).is_some()).map(|l| self.lengths[l]).max();
        let points = points.unwrap_or(0);
        let params = params.map(|params| params.unwrap_or(any));
        self.uniforms.truncate(self.code.constants.len());
        self.usable = self.code.uniforms_abreast(params, &mut self.uniforms);
        let Manner { loss, estimator, .. } = self.manner;
        let most = self.most;
        let shared = |lane: usize| Shared::of(1.0, loss, estimator, most[lane]).numbers();
        let by_lane = |position: usize| std::array::from_fn(|lane| shared(lane)[position]);
        self.uniforms.extend((0..Shared::COUNT).map(by_lane));
        Worker::with(|worker| self.pass(points * LANES, worker));
    }

    fn pass(&mut self, numbers: usize, worker: &mut Worker) {
        worker.rows.reserve(self.code.outputs.len());
        worker.rows.clear();
        let done = self.assembled_sums(numbers, worker);
        let Worker { machine, rows, .. } = worker;
        let manner = self.manner;
        machine.reserve(self.code.registers, self.columns.len());
        let uniforms = Uniforms::OfLanes(&self.uniforms);
        machine.broadcast(&self.code, uniforms, numbers);
        // Avoids an allocation for models of few variables.
        let mut few = [Values::F64(&[]); FEW];
        let many: Vec<Values<'_>>;
        let columns = if self.columns.len() <= FEW {
            few.iter_mut().zip(&self.columns).for_each(|(v, column)| *v = Values::F64(column));
            &few[..self.columns.len()]
        } else {
            many = self.columns.iter().map(|c| Values::F64(c)).collect();
            &many
        };
        for start in (done..numbers).step_by(BLOCK) {
            let len = BLOCK.min(numbers - start);
            let inputs = Inputs::new(columns, Block::Run(start), len);
            machine.run(&self.code, self.kernels, uniforms, &inputs);
            let target = Target {
                y: &self.y[start..start + len],
                weights: manner.weighted.then(|| &self.weights[start..start + len]),
                loss: manner.loss,
                floor: ITERATION_FLOOR,
                estimator: manner.estimator,
                most: &self.most,
            };
            let block = Block::Run(start);
            let points = BlockPoints { inputs: &inputs, block, used: None, distances: None };
            let view = BlockValues { machine, points, outputs: &self.code.outputs };
            rows.add_products_of(self.kernels, &target, &view);
        }
        rows.copy_sums(self.code.outputs.len(), true, &mut self.sums);
    }

    /// Sets the sums of the leading numbers of the block (points times lanes) with machine code. Returns the count of
    /// these numbers.
    fn assembled_sums(&self, numbers: usize, worker: &mut Worker) -> usize {
        let Manner { loss, estimator, weighted, .. } = self.manner;
        let Some(estimate) = Estimate::of(loss, estimator) else { return 0 };
        if !self.code.is_worthwhile(numbers) {
            return 0;
        }
        let columns = self.columns[..self.code.columns.min(self.columns.len())].iter();
        let weights = weighted.then_some(&self.weights);
        let arrays = columns.chain([&self.y]).chain(weights);
        let arrays = arrays.map(|array| Some(Values::F64(&array[..numbers])));
        let Some(arrays) = in_a_row(arrays) else { return 0 };
        let weighted = if weighted { Weighted::Each } else { Weighted::Not };
        let same = Same::ByLane(&self.uniforms);
        let products = Rows { arrays: &arrays, has_flags: false, weighted, estimate, same };
        let Worker { machine, rows, sums, .. } = worker;
        let k = self.code.outputs.len();
        sums.clear();
        sums.resize(LANES * estimate.sums(k), 0.0);
        let done = self.code.add_sums(self.kernels.vectors, &products, &mut machine.table, sums);
        if done > 0 {
            rows.set_sums(k, sums);
        }
        done
    }

    /// Computes the linear models of all lanes from their sums.
    pub(crate) fn make_models(&mut self) {
        let free = self.code.outputs.len() - 1;
        self.kernels.models(self.sums.as_chunks().0, free, &mut self.models);
    }

    /// Returns the computed linear models.
    pub(crate) fn models(&self) -> &ModelsAbreast {
        &self.models
    }

    /// Returns the bytes of the points and sums.
    pub(crate) fn bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(Vec::len).sum();
        let numbers = columns + self.y.len() + self.weights.len() + self.sums.len();
        numbers * size_of::<f64>()
    }

    /// Copies the sums of a lane to `out`. Returns false if the lane cannot be evaluated here at its parameters.
    pub(crate) fn read(&self, lane: usize, out: &mut Normal) -> bool {
        let lanes = self.sums.as_chunks::<LANES>().0;
        for (sum, lanes) in out.products.iter_mut().zip(lanes) {
            *sum = lanes[lane];
        }
        let squares =
            self.manner.loss == Loss::Linear && self.manner.estimator == Estimator::LeastSquares;
        out.cost = match squares {
            true => 0.5 * out.products.last().copied().unwrap_or(0.0),
            false => lanes.last().map_or(f64::NAN, |costs| costs[lane]),
        };
        // A value that is not finite may be due to the collected factors of the partials (`model/collect.rs`). A fit
        // outside the batch can be evaluated without them.
        self.usable[lane] && out.is_finite()
    }
}
