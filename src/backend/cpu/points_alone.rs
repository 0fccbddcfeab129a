//! Evaluation point by point: points without a finite value, points above the weight limit, and the check for an exact
//! fit.

use super::arrays::Differences;
use super::closest::BlockPoints;
use super::poisson::terms;
use super::worker::Worker;
use super::{Cpu, Pass};
use crate::data::loss::Estimator;
use crate::data::values::Values;
use crate::solver::outcome::{BadPoint, Fault};

/// Maximum relative difference between model and y that counts as equal.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Location of the evaluation, if x has errors.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// At the closest points of the curve.
    Closest,
    /// At the measured x.
    Given,
}

impl Cpu<'_> {
    /// Calls `visit` for every used point with its index and its outputs, the value first. Ends when `visit` returns
    /// false.
    fn each_point(
        &mut self,
        (params, at): (&[f64], At),
        mut visit: impl FnMut(usize, &dyn Fn(usize) -> f64) -> bool,
    ) -> Result<(), Fault> {
        self.fill_arrays(params, Differences::Central)?;
        let mut numbers = std::mem::take(&mut self.scratch.numbers);
        // These passes are rare, so they use the plain code, which is valid at all parameters.
        let mut pass = Pass::plain(self.model, params, &mut numbers);
        if at == At::Given {
            pass.slopes = None;
        }
        let mut goes_on = true;
        let each = |worker: &mut Worker, points: BlockPoints<'_>| {
            let output = |&output| worker.machine.source(output, points.inputs);
            let outputs: Vec<&[f64]> = pass.outputs.iter().map(output).collect();
            let mut i = 0;
            while goes_on && i < outputs[0].len() {
                goes_on = visit(points.block.index(i), &|o| outputs[o][i]);
                i += 1;
            }
        };
        Worker::with(|worker| self.blocks(pass, (0, self.points.len()), worker, each))
    }

    /// Computes the largest weighted partials, for
    /// [`Evaluator::magnitudes`](crate::solver::evaluator::Evaluator::magnitudes).
    pub(super) fn largest_partials(
        &mut self,
        params: &[f64],
        out: &mut [f64],
    ) -> Result<(), Fault> {
        out.fill(0.0);
        let points = self.points;
        let most = points.darkest().recip();
        self.each_point((params, At::Closest), |i, output| {
            let weight = match points.estimator {
                Estimator::LeastSquares => points.weight(i),
                Estimator::Poisson => {
                    let [first, second] = terms(output(0), points.y.at(i), most).factors;
                    first.sqrt() * second.sqrt()
                }
            };
            let larger = |(o, largest): (usize, &mut f64)| {
                *largest = largest.max((output(1 + o) * weight).abs());
            };
            out.iter_mut().enumerate().for_each(larger);
            true
        })
    }

    pub(super) fn first_not_finite(&mut self, params: &[f64]) -> Option<BadPoint> {
        let (points, outputs) = (self.points, self.model.outputs());
        let mut found = None;
        let visit = |i: usize, output: &dyn Fn(usize) -> f64| {
            let impossible = !points.allows(i, output(0));
            let bad = (0..outputs).find(|&o| !output(o).is_finite() || (o == 0 && impossible));
            found = bad.map(|o| BadPoint {
                index: i,
                x: points.columns.iter().map(|c| c.at(i)).collect(),
                value: output(o),
                partial: o.checked_sub(1),
            });
            found.is_none()
        };
        self.each_point((params, At::Closest), visit).ok()?;
        found
    }

    /// Returns the rows of [`Evaluator::heavy_rows`](crate::solver::evaluator::Evaluator::heavy_rows), in the order of
    /// the points, so that the rows of adjacent parts can be concatenated.
    pub(crate) fn rows_beyond(
        &mut self,
        params: &[f64],
        columns: &[f64],
    ) -> Result<Vec<f64>, Fault> {
        let (points, most) = (self.points, self.most_weight);
        if most == f64::INFINITY {
            return Ok(Vec::new());
        }
        let mut rows = Vec::new();
        self.each_point((params, At::Closest), |i, output| {
            let weight = points.weight(i);
            if weight > most {
                // The sums already include `most`² of the squared weight; the row contains the rest.
                let weight = ((weight - most) * (weight + most)).sqrt();
                let partial = |(j, column): (usize, &f64)| output(1 + j) * column * weight;
                rows.extend(columns.iter().enumerate().map(partial));
                rows.push((output(0) - points.y.at(i)) * weight);
            }
            true
        })?;
        Ok(rows)
    }

    /// Returns the largest max |x| / (max x − min x) of the columns that vary, over the used points; 0 if no column
    /// varies.
    pub(super) fn distance_in_ranges(&self) -> f64 {
        let of_column = |column: &Values<'_>| {
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for x in self.points.kept().map(|i| column.at(i)) {
                (low, high) = (low.min(x), high.max(x));
            }
            if high > low { low.abs().max(high.abs()) / (high - low) } else { 0.0 }
        };
        self.points.columns.iter().map(of_column).fold(0.0, f64::max)
    }

    /// Implements [`Evaluator::is_exact`](crate::solver::evaluator::Evaluator::is_exact).
    pub(super) fn passes_through(&mut self, params: &[f64]) -> Result<bool, Fault> {
        let (points, free) = (self.points, &self.model.free);
        let mut exact = true;
        self.each_point((params, At::Given), |i, output| {
            let (f, y) = (output(0), points.y.at(i));
            let off = (f - y).abs();
            let terms =
                || (1..).zip(free).map(|(o, &k)| (output(o) * params[k]).abs()).sum::<f64>();
            exact = off <= ROUNDING * y.abs() || off <= ROUNDING * terms().max(f64::MIN_POSITIVE);
            exact
        })?;
        Ok(exact)
    }
}
