//! Priors of the parameters: additional rows next to the rows of the points.
//!
//! A prior p ~ N(mean, σ²) adds ((p − mean)/σ)²/2 to the cost, as a measurement of p would. Its row has 1/σ in
//! the column of p; therefore it contributes to steps, errors and degrees of freedom like a point. No loss applies to
//! it. It is never a heavy row (a row that outweighs all others), because it is constant, unlike the row of a point.

use super::point_source::PointEvaluator;
use crate::normal::{BlockRow, Normal, RFactor};
use crate::solver::evaluator::{DeviceUse, Evaluator, ResidualSample};
use crate::solver::outcome::{BadPoint, Fault};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A normal prior.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prior {
    /// Position among all parameters.
    pub(crate) param: usize,
    pub(crate) mean: f64,
    pub(crate) sigma: f64,
}

/// Evaluator of points and of priors of the parameters.
pub(crate) struct WithPriors<'e> {
    points: PointEvaluator<'e>,
    priors: &'e [Prior],
    /// The column of each prior's parameter, if the parameter is free.
    columns: Vec<Option<usize>>,
    row_unit: f64,
}

impl<'e> WithPriors<'e> {
    /// Creates the evaluator. `free`: positions of the free parameters.
    pub(crate) fn new(
        points: PointEvaluator<'e>,
        priors: &'e [Prior],
        free: &[usize],
        row_unit: f64,
    ) -> Self {
        let places: HashMap<usize, usize> = free.iter().enumerate().map(|(j, &k)| (k, j)).collect();
        let columns = priors.iter().map(|prior| places.get(&prior.param).copied()).collect();
        WithPriors { points, priors, columns, row_unit }
    }
}

/// Row of a prior. `column`: column of its parameter and the scaled partial, if the parameter is free; `residual`:
/// weighted residual, multiplied by `row_unit`.
struct Row {
    column: Option<(usize, f64)>,
    residual: f64,
}

impl WithPriors<'_> {
    fn rows(&self, params: &[f64], columns: &[f64]) -> impl Iterator<Item = Row> {
        self.priors.iter().zip(&self.columns).map(move |(prior, column)| {
            let weight = self.row_unit / prior.sigma;
            Row {
                column: column.map(|j| (j, columns[j] * weight)),
                residual: (params[prior.param] - prior.mean) * weight,
            }
        })
    }
}

impl Evaluator for WithPriors<'_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        self.points.normal(params, columns, out)?;
        for Row { column, residual } in self.rows(params, columns) {
            out.add_row(column, residual);
        }
        Ok(())
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        self.points.factor(params, columns, out)?;
        for Row { column, residual } in self.rows(params, columns) {
            out.add_row(column, residual);
        }
        Ok(())
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        self.points.magnitudes(params, out)?;
        for Row { column, .. } in self.rows(params, &vec![1.0; out.len()]) {
            if let Some((j, partial)) = column {
                // The condition keeps a NaN that is already in `out`.
                out[j] = if partial > out[j] { partial } else { out[j] };
            }
        }
        Ok(())
    }

    fn expect_below(&mut self, cost: f64) {
        self.points.expect_below(cost);
    }

    fn noise(&self) -> f64 {
        self.points.noise()
    }

    fn look_for_noise(&mut self, params: &[f64]) -> Result<(), Fault> {
        self.points.look_for_noise(params)
    }

    fn threads(&self) -> usize {
        self.points.threads()
    }

    fn scratch_bytes(&self) -> usize {
        self.points.scratch_bytes()
    }

    fn heaviest(&mut self, count: usize, level: f64) -> Vec<f64> {
        self.points.heaviest(count, level)
    }

    fn limit_weights(&mut self, most: f64) -> Option<f64> {
        self.points.limit_weights(most)
    }

    fn heavy_rows(&mut self, params: &[f64], columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        self.points.heavy_rows(params, columns)
    }

    fn offset(&mut self) -> f64 {
        self.points.offset()
    }

    fn is_exact(&mut self, params: &[f64]) -> Result<bool, Fault> {
        let at_means = self.priors.iter().all(|prior| params[prior.param] == prior.mean);
        Ok(at_means && self.points.is_exact(params)?)
    }

    fn residuals(
        &mut self,
        params: &[f64],
        visit: &mut dyn FnMut(&ResidualSample),
    ) -> Result<(), Fault> {
        self.points.residuals(params, visit)
    }

    fn expected_normal(
        &mut self,
        about: (&[f64], f64),
        columns: &[f64],
        out: &mut Normal,
    ) -> Result<(), Fault> {
        self.points.expected_normal(about, columns, out)
    }

    fn take_time(&mut self) {
        self.points.take_time();
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.points.first_bad_point(params)
    }

    fn device(&self) -> Option<DeviceUse> {
        self.points.device()
    }
}
