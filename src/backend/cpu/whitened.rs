//! Correlated data: residuals and partials of all points are whitened before they are summed.
//!
//! Each whitened row depends on several points, so the Jacobian is stored: n · (P + 1) numbers
//! in addition to the n²/2 numbers of the Cholesky factor of the covariance.

use super::arrays::Differences;
use super::closest::BlockPoints;
use super::code::BLOCK;
use super::loss_rows::FormulaMachine;
use super::robust::RobustSums;
use super::rows::STRIDE;
use super::worker::Worker;
use super::{Cpu, ITERATION_FLOOR, Pass};
use crate::data::correlated::Correlation;
use crate::data::loss::Loss;
use crate::normal::{Influence, Normal, RFactor, Summary, pair};
use crate::observe::span;
use crate::solver::evaluator::{Evaluator, ResidualSample};
use crate::solver::outcome::{BadPoint, Fault};

/// Evaluator of points with a covariance matrix.
pub(crate) struct Whitened<'a> {
    inner: Cpu<'a>,
    correlation: &'a Correlation,
    /// The columns of [J r], with one number per used point.
    columns: Vec<Vec<f64>>,
    row: Vec<f64>,
    cost: f64,
    /// Influence sums of a robust loss.
    influence: Influence,
    formulas: FormulaMachine,
}

impl<'a> Whitened<'a> {
    pub(crate) fn new(inner: Cpu<'a>, correlation: &'a Correlation) -> Self {
        let n = correlation.index.len();
        let columns = vec![vec![0.0; n]; inner.model.outputs()];
        Whitened {
            inner,
            correlation,
            columns,
            row: vec![1.0; n],
            cost: 0.0,
            influence: Influence::default(),
            formulas: FormulaMachine::default(),
        }
    }

    /// Computes the whitened and scaled columns at `params`, corrected for the loss.
    fn evaluate(&mut self, params: &[f64], scales: &[f64], floor: f64) -> Result<(), Fault> {
        let _span = span!(TRACE, "pass", points = self.inner.points.used);
        self.whiten(params, scales)?;
        self.correct(floor);
        Ok(())
    }

    /// Computes the whitened and scaled columns at `params`.
    fn whiten(&mut self, params: &[f64], scales: &[f64]) -> Result<(), Fault> {
        self.inner.fill_arrays(params, Differences::Central)?;
        let mut numbers = std::mem::take(&mut self.inner.scratch.numbers);
        // Whitening takes much longer than the model, so the plain code suffices.
        let pass = Pass::plain(self.inner.model, params, &mut numbers);
        let columns = &mut self.columns;
        let k = columns.len();
        let inner = &self.inner;
        let mut done = 0;
        let visit = |worker: &mut Worker, points: BlockPoints<'_>| {
            let BlockPoints { inputs, block, .. } = points;
            let value = worker.machine.source(pass.outputs[0], inputs);
            for (i, v) in value.iter().enumerate() {
                let point = block.index(i);
                columns[k - 1][done + i] = (v - inner.points.y.at(point)) * inner.points.units.row;
            }
            for j in 0..k - 1 {
                let partial = worker.machine.source(pass.outputs[1 + j], inputs);
                for (i, v) in partial.iter().enumerate() {
                    columns[j][done + i] = v * scales[j] * inner.points.units.row;
                }
            }
            done += value.len();
        };
        let all = (0, inner.points.len());
        Worker::with(|worker| inner.blocks(pass, all, worker, visit))?;
        self.inner.scratch.numbers = numbers;
        self.columns.iter_mut().for_each(|column| self.correlation.whiten(column));
        Ok(())
    }

    fn correct(&mut self, floor: f64) {
        let k = self.columns.len();
        if self.inner.loss == Loss::Linear {
            self.cost = 0.5 * self.columns[k - 1].iter().map(|r| r * r).sum::<f64>();
            return;
        }
        let mut sums = RobustSums::default();
        let (partials, residual) = self.columns.split_at_mut(k - 1);
        let rule = (self.inner.loss, floor);
        let (kernels, residual) = (self.inner.kernels, &mut residual[0]);
        self.formulas.correct(kernels, rule, residual, &mut self.row, &mut sums);
        for column in partials {
            column.iter_mut().zip(&self.row).for_each(|(v, s)| *v *= s);
        }
        self.cost = sums.costs.iter().sum();
        self.influence = sums.influence();
    }
}

impl Evaluator for Whitened<'_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        self.evaluate(params, columns, ITERATION_FLOOR)?;
        out.cost = self.cost;
        for (j, right) in self.columns.iter().enumerate() {
            for (i, left) in self.columns[..=j].iter().enumerate() {
                out.products[pair(i, j)] = left.iter().zip(right).map(|(a, b)| a * b).sum();
            }
        }
        Ok(())
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        self.evaluate(params, columns, 0.0)?;
        out.clear();
        out.influence = self.influence;
        let (n, k) = (self.row.len(), self.columns.len());
        let mut rows = vec![0.0; STRIDE * k];
        for start in (0..n).step_by(BLOCK) {
            let m = BLOCK.min(n - start);
            for (j, column) in self.columns.iter().enumerate() {
                rows[j * STRIDE..j * STRIDE + m].copy_from_slice(&column[start..start + m]);
            }
            self.inner.kernels.fold(&mut out.r, k, &mut rows, STRIDE, m);
        }
        Ok(())
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        // The magnitudes before whitening do not determine the magnitudes after whitening.
        self.whiten(params, &vec![1.0; out.len()])?;
        for (largest, column) in out.iter_mut().zip(&self.columns) {
            *largest = column.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        }
        Ok(())
    }

    fn noise(&self) -> f64 {
        self.inner.noise()
    }

    fn look_for_noise(&mut self, params: &[f64]) -> Result<(), Fault> {
        self.inner.look_for_noise(params)
    }

    fn threads(&self) -> usize {
        1
    }

    fn scratch_bytes(&self) -> usize {
        let numbers = (self.columns.len() + 1) * self.row.len();
        self.inner.scratch_bytes() + self.correlation.bytes() + numbers * size_of::<f64>()
    }

    /// Visits the whitened residuals. Each is a combination of points, so there is no order in x.
    fn residuals(
        &mut self,
        params: &[f64],
        visit: &mut dyn FnMut(&ResidualSample),
    ) -> Result<(), Fault> {
        self.evaluate(params, &vec![1.0; self.inner.model.free.len()], 0.0)?;
        let residuals = &self.columns[self.columns.len() - 1];
        let factor = |i: usize| if self.inner.loss == Loss::Linear { 1.0 } else { self.row[i] };
        let values = residuals.iter().enumerate().map(|(i, r)| r * factor(i)).collect();
        let points = self.inner.points.used;
        let square = self.inner.points.summary.square;
        visit(&ResidualSample { values, square, points, ..ResidualSample::default() });
        Ok(())
    }

    fn take_time(&mut self) {
        self.inner.take_time();
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.inner.first_bad_point(params)
    }

    fn offset(&mut self) -> f64 {
        self.inner.offset()
    }

    fn is_exact(&mut self, params: &[f64]) -> Result<bool, Fault> {
        self.inner.is_exact(params)
    }
}
