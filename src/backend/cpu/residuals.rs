//! Residuals in an order in which neighbours are close in x, for tests of the goodness of the fit.

use super::closest::{BlockPoints, Distances};
use super::code::BLOCK;
use super::loss_rows::FormulaMachine;
use super::machine::Block;
use super::robust::RobustSums;
use super::worker::Worker;
use super::{Cpu, Pass, PreparedForm};
use crate::data::loss::expected_deviance;
use crate::data::loss::{Estimator, Loss};
use crate::data::sample::{LEAST_SAMPLE, drawn};
use crate::data::values::Values;
use crate::math::bits::ascending;
use crate::model::native::{Calls, PointCalls};
use crate::model::program::panic_message;
use crate::solver::evaluator::{MeanDeviance, ResidualSample};
use crate::solver::outcome::Fault;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Relative spacing of f32 numbers.
const SINGLE: f64 = f32::EPSILON as f64;
/// Margin for the mean over a sample, in standard deviations of the mean.
const MARGIN: f64 = 3.0;

impl Cpu<'_> {
    /// Returns the residuals of at most [`LEAST_SAMPLE`] points, for
    /// [`Evaluator::residuals`](crate::solver::evaluator::Evaluator::residuals).
    pub(super) fn residual_sample(&mut self, params: &[f64]) -> Result<ResidualSample, Fault> {
        let (mut values, mut picks) = Worker::with(|worker| {
            (std::mem::take(&mut worker.residuals), std::mem::take(&mut worker.sampled))
        });
        values.clear();
        self.pick(&mut picks);
        let mut sample =
            ResidualSample { values, points: self.points.used, ..ResidualSample::default() };
        let mut expected = Vec::new();
        let points = self.points;
        let counts = points.estimator == Estimator::Poisson;
        self.values_at(params, &picks, |i, value, distance| {
            let (y, mut weight) = (points.y.at(i), points.weight(i));
            if counts {
                weight = value.sqrt().recip();
                expected.push(expected_deviance(value));
            }
            sample.values.push(distance.unwrap_or((value - y) * weight));
            sample.square += (y * weight).powi(2);
            sample.rounding += (spacing(&points.y, y) * weight).powi(2) / 12.0;
        })?;
        if self.loss != Loss::Linear {
            // The correction replaces residuals r by ψ/s, where ψ = ρ'r, and sets rows to s. Their product is ψ.
            let mut row = vec![1.0; sample.values.len()];
            let (rule, sums) = ((self.loss, 0.0), &mut RobustSums::default());
            let formulas = &mut FormulaMachine::default();
            formulas.correct(self.kernels, rule, &mut sample.values, &mut row, sums);
            sample.values.iter_mut().zip(row).for_each(|(r, row)| *r *= row);
        }
        sample.deviance = counts.then(|| mean_deviance(&expected));
        sample.by_x = self.by_x(&picks);
        Worker::with(|worker| worker.sampled = picks);
        Ok(sample)
    }

    /// Picks the points of the sample, in the order of the data. A stream picks the same points.
    pub(super) fn pick(&self, picks: &mut Vec<usize>) {
        let n = self.points.len();
        picks.clear();
        if n <= LEAST_SAMPLE && !self.points.is_filtered() {
            picks.extend(0..n);
        } else {
            picks.extend(drawn(self.points, LEAST_SAMPLE).0);
        }
    }

    /// Returns true if x only rises or only falls from point to point, or if there are several variables, which have no
    /// order.
    fn is_ordered(&self, picks: &[usize]) -> bool {
        let [x] = &self.points.columns[..] else { return true };
        let (mut rises, mut falls) = (true, true);
        for pair in picks.windows(2) {
            let (a, b) = (x.at(pair[0]), x.at(pair[1]));
            (rises, falls) = (rises && a <= b, falls && a >= b);
        }
        rises || falls
    }

    /// Returns the positions of these points in ascending order of x. Returns `None` if x already rises or falls from
    /// point to point, or if there are several variables.
    fn by_x(&self, picks: &[usize]) -> Option<Vec<usize>> {
        let [x] = &self.points.columns[..] else { return None };
        if self.is_ordered(picks) {
            return None;
        }
        Some(ascending(&picks.iter().map(|&i| x.at(i)).collect::<Vec<f64>>()))
    }

    /// Calls `visit` for each of these points with its index, the value of the model and, if x has errors, the signed
    /// distance from the curve.
    fn values_at(
        &mut self,
        params: &[f64],
        picks: &[usize],
        mut visit: impl FnMut(usize, f64, Option<f64>),
    ) -> Result<(), Fault> {
        if let PreparedForm::Native { native, .. } = &self.model.kind {
            match &native.calls {
                Calls::Points(calls) => {
                    for &i in picks {
                        self.patience.check()?;
                        visit(i, self.value_of(calls, params, i)?, None);
                    }
                }
                Calls::Arrays(_) => {
                    self.call_arrays(params, |arrays, request| arrays.values(request))?;
                    let values = &self.scratch.arrays.outputs[0];
                    picks.iter().for_each(|&i| visit(i, values[i], None));
                }
            }
            return Ok(());
        }
        self.values_of_blocks(params, picks, |values, points| {
            let distance = |of: Distances<'_>, i: usize| of.distance[i];
            for (i, value) in values.iter().enumerate() {
                let distance = points.distances.map(|distances| distance(distances, i));
                visit(points.block.index(i), *value, distance);
            }
        })
    }

    /// Calls `visit` for each block of these points with the values of the traced model.
    pub(super) fn values_of_blocks(
        &mut self,
        params: &[f64],
        picks: &[usize],
        mut visit: impl FnMut(&[f64], BlockPoints<'_>),
    ) -> Result<(), Fault> {
        let mut numbers = std::mem::take(&mut self.scratch.numbers);
        let pass = Pass::new(self.model, params, &mut numbers);
        let mut each = |worker: &mut Worker, points: BlockPoints<'_>| {
            visit(worker.machine.source(pass.outputs[0], points.inputs), points);
        };
        let done = Worker::with(|worker| {
            self.begin(pass, worker, picks.len());
            let mut blocks = picks.chunks(BLOCK);
            blocks.try_for_each(|block| {
                let len = block.len();
                let is_run = block[len - 1] - block[0] + 1 == len;
                let block = if is_run { Block::Run(block[0]) } else { Block::Picked(block) };
                self.block(pass, (block, len), None, worker, &mut each)
            })
        });
        self.scratch.numbers = numbers;
        done
    }

    /// Returns the value at point `i` of a model that is called with single points.
    fn value_of(&self, calls: &PointCalls, params: &[f64], i: usize) -> Result<f64, Fault> {
        let x: Vec<f64> = self.points.columns.iter().map(|c| c.at(i)).collect();
        let call = AssertUnwindSafe(|| (calls.value)(&x, params));
        catch_unwind(call).map_err(|panic| Fault::Panicked {
            message: panic_message(&*panic),
            point: Some((i, x.clone())),
            params: params.to_vec(),
        })
    }
}

/// Returns the spacing of numbers of the type of y near `y`; 0 for f64, whose rounding is negligible.
fn spacing(values: &Values<'_>, y: f64) -> f64 {
    match values {
        Values::F64(_) => 0.0,
        Values::F32(_) => SINGLE * y.abs(),
        _ => 1.0,
    }
}

/// Returns the mean and variance of the deviance of one count, averaged over the counts, and the margin of the mean.
fn mean_deviance(expected: &[[f64; 2]]) -> MeanDeviance {
    let n = expected.len() as f64;
    let of_each = |k: usize| expected.iter().map(|moments| moments[k]).sum::<f64>() / n;
    let (mean, variance) = (of_each(0), of_each(1));
    let scatter = expected.iter().map(|moments| (moments[0] - mean).powi(2)).sum::<f64>() / n;
    MeanDeviance { mean, variance, margin: MARGIN * (scatter / n).sqrt() }
}
