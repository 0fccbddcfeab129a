//! What is asked of points one by one: bad ones, heavy ones, whether the model passes through all.

use super::arrays::Differences;
use super::closest::BlockPoints;
use super::sums::Worker;
use super::{Cpu, Pass};
use crate::data::values::Values;
use crate::solver::outcome::{BadPoint, Fault};

/// Units in the last place within which a value of the model is that of a point.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Where the model is evaluated, if x has errors.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// At the points that are closest.
    Closest,
    /// As x was measured.
    Given,
}

impl Cpu<'_> {
    /// Calls `visit` for every point that counts, with its index and the outputs there, the value first;
    /// as long as it returns true.
    fn each_point(
        &mut self,
        (params, at): (&[f64], At),
        mut visit: impl FnMut(usize, &dyn Fn(usize) -> f64) -> bool,
    ) -> Result<(), Fault> {
        self.fill_arrays(params, Differences::Central)?;
        let mut numbers = std::mem::take(&mut self.scratch.numbers);
        // Rare passes take the surer way.
        let mut pass = Pass::plain(self.model, params, &mut numbers);
        if at == At::Given {
            pass.slopes = None;
        }
        let mut goes_on = true;
        let each = |worker: &mut Worker, points: BlockPoints<'_>| {
            let output = |o: usize| worker.machine.source(pass.outputs[o], points.inputs);
            let mut i = 0;
            while goes_on && i < output(0).len() {
                goes_on = visit(points.block.index(i), &|o| output(o)[i]);
                i += 1;
            }
        };
        Worker::with(|worker| self.blocks(pass, (0, self.points.len()), worker, each))
    }

    /// The largest weighted partials; as [`Evaluator::magnitudes`](crate::solver::evaluator::Evaluator::magnitudes).
    pub(super) fn largest_partials(
        &mut self,
        params: &[f64],
        out: &mut [f64],
    ) -> Result<(), Fault> {
        out.fill(0.0);
        let points = self.points;
        self.each_point((params, At::Closest), |i, output| {
            let weight = points.weight(i);
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

    /// The rows of [`Evaluator::heavy_rows`](crate::solver::evaluator::Evaluator::heavy_rows), in the order of the points, so
    /// that those of neighbours go together.
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
                // The sums have the rest of the square.
                let weight = ((weight - most) * (weight + most)).sqrt();
                let partial = |(j, column): (usize, &f64)| output(1 + j) * column * weight;
                rows.extend(columns.iter().enumerate().map(partial));
                rows.push((output(0) - points.y.at(i)) * weight);
            }
            true
        })?;
        Ok(rows)
    }

    /// The largest max |x| / (max x − min x) of the columns that vary, over the points that count; 0 if none varies.
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

    /// As [`Evaluator::is_exact`](crate::solver::evaluator::Evaluator::is_exact).
    pub(super) fn passes_through(&mut self, params: &[f64]) -> Result<bool, Fault> {
        let (points, free) = (self.points, &self.model.free);
        let mut exact = true;
        self.each_point((params, At::Given), |i, output| {
            let (f, y) = (output(0), points.y.at(i));
            let terms: f64 = (1..).zip(free).map(|(o, &k)| (output(o) * params[k]).abs()).sum();
            let size = y.abs().max(terms).max(f64::MIN_POSITIVE);
            exact = (f - y).abs() <= ROUNDING * size;
            exact
        })?;
        Ok(exact)
    }
}
