//! Errors of parameters that are tied to others.
//!
//! With T the partials of the tied parameters by the free ones, their covariance is T C Tᵀ, and with
//! the free ones T C. Where C = H Hᵀ is known by its half H, that of all parameters has the rows of H
//! and those of T H: nothing is squared, and what cancels does so exactly.

use super::covariance::{Covariance, norm};
use crate::model::ties::Ties;
use nalgebra::DMatrix;

impl Covariance {
    /// Gives tied parameters their errors and correlations. `params`: all values at the solution.
    pub(crate) fn tie(&mut self, ties: &Ties, params: &[f64]) {
        if ties.is_empty() {
            return;
        }
        let rows = ties.partials(params);
        for (t, row) in &rows {
            self.errors[*t] = error(self, row);
            let scaled: Vec<f64> = row.iter().zip(&self.units).map(|(g, u)| g * u).collect();
            let unit = norm(&scaled);
            let along = |matrix: &DMatrix<f64>, weights: &[f64], unit: f64| -> Vec<f64> {
                let entry = |c: usize| {
                    let column = matrix.column(c);
                    let terms = column.iter().zip(weights);
                    terms.map(|(m, w)| if *m == 0.0 { 0.0 } else { m * (w / unit) }).sum()
                };
                (0..matrix.ncols()).map(entry).collect()
            };
            let (half, unscaled) = (along(&self.half, row, 1.0), along(&self.unscaled, row, 1.0));
            let null = match unit > 0.0 {
                true => along(&self.null, &scaled, unit),
                false => vec![0.0; self.null.ncols()],
            };
            for (matrix, values) in
                [(&mut self.half, half), (&mut self.unscaled, unscaled), (&mut self.null, null)]
            {
                values.iter().enumerate().for_each(|(c, &value)| matrix[(*t, c)] = value);
            }
            self.units[*t] = unit;
        }
        for &(t, _) in &rows {
            for k in 0..params.len() {
                let value = self.cosine(t, k);
                self.correlation[(t, k)] = value;
                self.correlation[(k, t)] = value;
            }
        }
        for &(t, _) in &rows {
            for k in 0..params.len() {
                let value = match (self.errors[t], self.errors[k]) {
                    (a, b) if a == 0.0 || b == 0.0 => 0.0,
                    (a, _) if k == t => a * a,
                    (a, b) => self.correlation[(t, k)] * (a * b),
                };
                self.matrix[(t, k)] = value;
                self.matrix[(k, t)] = value;
            }
        }
    }

    /// The correlation of two parameters from their halves.
    fn cosine(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (self.errors[i], self.errors[j]);
        match a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite() {
            true if i == j => 1.0,
            true => {
                let entry = |c: usize| (self.half[(i, c)] / a) * (self.half[(j, c)] / b);
                (0..self.half.ncols()).map(entry).sum::<f64>().clamp(-1.0, 1.0)
            }
            false => f64::NAN,
        }
    }
}

/// The error of a tied parameter with these partials. One that depends on parameters at bounds, and on
/// no other that was estimated, has no error to give, as they have none.
fn error(covariance: &Covariance, row: &[f64]) -> f64 {
    let enters = |k: &usize| row[*k] != 0.0;
    let mut others = (0..row.len()).filter(enters).map(|k| covariance.errors[k]).peekable();
    let none = others.peek().is_some();
    if none && others.all(|e| e.is_nan() || e == 0.0) {
        let held = (0..row.len()).filter(enters).any(|k| covariance.errors[k].is_nan());
        return if held { f64::NAN } else { 0.0 };
    }
    covariance.error_of(row)
}
