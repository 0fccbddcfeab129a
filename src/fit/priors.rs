//! What is known of parameters before the fit: rows beside those of the points.
//!
//! A prior p ~ N(mean, σ²) adds ((p − mean)/σ)²/2 to the cost, as a measurement of p would. Its row has 1/σ in
//! the column of p, so that it enters steps, errors and degrees of freedom as a point does. It is not
//! subject to a loss, and is never called heavy: unlike a point's it is the same row everywhere.

use crate::normal::small::rotate_in;
use crate::normal::{Normal, RFactor, pair};
use crate::solver::evaluator::{DeviceUse, Evaluator};
use crate::solver::outcome::{BadPoint, Fault};
use serde::{Deserialize, Serialize};
use std::ops::DerefMut;

/// A normal prior.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prior {
    /// Position among all parameters.
    pub(crate) param: usize,
    pub(crate) mean: f64,
    pub(crate) sigma: f64,
}

/// Points, and priors of the parameters.
pub(crate) struct WithPriors<'e, P> {
    /// What holds the evaluator of the points.
    pub(crate) points: P,
    pub(crate) priors: &'e [Prior],
    /// Positions of the free parameters.
    pub(crate) free: &'e [usize],
    pub(crate) row_unit: f64,
}

/// A prior's row: the column of its parameter, if that is free, with the partial in column units, and the residual
/// in row units.
struct Row {
    column: Option<(usize, f64)>,
    residual: f64,
}

impl<P> WithPriors<'_, P> {
    fn rows(&self, params: &[f64], columns: &[f64]) -> impl Iterator<Item = Row> {
        self.priors.iter().map(move |prior| {
            let weight = self.row_unit / prior.sigma;
            let column = self.free.iter().position(|&k| k == prior.param);
            Row {
                column: column.map(|j| (j, columns[j] * weight)),
                residual: (params[prior.param] - prior.mean) * weight,
            }
        })
    }
}

impl<'p, P: DerefMut<Target = dyn Evaluator + 'p>> Evaluator for WithPriors<'_, P> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        self.points.normal(params, columns, out)?;
        let n = out.n;
        for Row { column, residual } in self.rows(params, columns) {
            out.cost += 0.5 * residual * residual;
            out.products[pair(n, n)] += residual * residual;
            if let Some((j, partial)) = column {
                out.products[pair(j, j)] += partial * partial;
                out.products[pair(j, n)] += partial * residual;
            }
        }
        Ok(())
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        self.points.factor(params, columns, out)?;
        let k = out.n + 1;
        for Row { column, residual } in self.rows(params, columns) {
            let mut row = vec![0.0; k];
            row[k - 1] = residual;
            if let Some((j, partial)) = column {
                row[j] = partial;
            }
            rotate_in(&mut out.r, k, &mut row);
        }
        Ok(())
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        self.points.magnitudes(params, out)?;
        for Row { column, .. } in self.rows(params, &vec![1.0; out.len()]) {
            if let Some((j, partial)) = column {
                // NaN must not be lost.
                out[j] = if partial > out[j] { partial } else { out[j] };
            }
        }
        Ok(())
    }

    fn expect_below(&mut self, cost: f64) {
        self.points.expect_below(cost);
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

    fn heavy_rows(&mut self, params: &[f64], columns: &[f64]) -> Result<Vec<f64>, Fault> {
        self.points.heavy_rows(params, columns)
    }

    fn is_exact(&mut self, params: &[f64]) -> Result<bool, Fault> {
        let at_means = self.priors.iter().all(|prior| params[prior.param] == prior.mean);
        Ok(at_means && self.points.is_exact(params)?)
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
