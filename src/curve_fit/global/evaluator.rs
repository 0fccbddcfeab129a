//! Passes over all sets: the sums of each, added at the places of its parameters.

use crate::normal::{Normal, RFactor, Summary, heaviest_first, pair};
use crate::solver::evaluator::{DeviceUse, Evaluator};
use crate::solver::outcome::{BadPoint, Fault};

/// One set.
pub(super) struct SetEvaluator<'e> {
    pub(super) evaluator: Box<dyn Evaluator + 'e>,
    /// The position in the joint fit of each of the model's parameters.
    pub(super) params: &'e [usize],
    /// The position among the free parameters of the joint fit of each of the model's free ones.
    pub(super) free: &'e [usize],
    /// By which rows are multiplied to be in the joint row unit.
    pub(super) factor: f64,
    /// Room for the set's own parameters, columns and sums.
    pub(super) own: Vec<f64>,
    pub(super) columns: Vec<f64>,
    pub(super) normal: Normal,
}

/// All sets.
pub(super) struct JointEvaluator<'e> {
    pub(super) parts: Vec<SetEvaluator<'e>>,
    /// The cost from which on the next normal equations need no products.
    pub(super) worthless: f64,
}

impl SetEvaluator<'_> {
    fn take(&mut self, params: &[f64], columns: &[f64]) {
        self.own.iter_mut().zip(self.params).for_each(|(own, &k)| *own = params[k]);
        self.columns.iter_mut().zip(self.free).for_each(|(own, &j)| *own = columns[j]);
    }

    /// Adds the set's sums to those of a joint fit of `n` free parameters.
    fn add_normal(&self, out: &mut Normal) {
        let square = self.factor * self.factor;
        let place = |j: usize| if j == self.free.len() { out.n } else { self.free[j] };
        for j in 0..=self.free.len() {
            for i in 0..=j {
                let (a, b) = (place(i), place(j));
                out.products[pair(a.min(b), a.max(b))] += self.normal.products[pair(i, j)] * square;
            }
        }
        out.cost += self.normal.cost * square;
    }

    /// Folds the rows of the set's factor into that of a joint fit.
    fn fold(&self, factor: &RFactor, out: &mut RFactor) {
        let (k, rows) = (out.n + 1, factor.n + 1);
        let mut spread = vec![0.0; k * rows];
        for j in 0..rows {
            let column = if j == factor.n { out.n } else { self.free[j] };
            for i in 0..=j {
                spread[column * rows + i] = factor.at(i, j) * self.factor;
            }
        }
        out.influence.add(&factor.influence, self.factor);
        out.fold(&mut spread, rows);
    }
}

impl JointEvaluator<'_> {
    /// A fault of a set, in the words of the joint fit.
    fn joint(fault: Fault, set: usize, params: &[f64]) -> Fault {
        match fault {
            Fault::Panicked { message, point, .. } => {
                let point = point.map(|(index, x)| (index, with_set(set, x)));
                Fault::Panicked { message, point, params: params.to_vec() }
            }
            other => other,
        }
    }
}

/// The coordinates of a point: its set, counted from 1, and its own.
fn with_set(set: usize, x: Vec<f64>) -> Vec<f64> {
    std::iter::once((set + 1) as f64).chain(x).collect()
}

impl Evaluator for JointEvaluator<'_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        out.clear();
        let worthless = std::mem::replace(&mut self.worthless, f64::INFINITY);
        for (set, part) in self.parts.iter_mut().enumerate() {
            part.take(params, columns);
            let SetEvaluator { evaluator, own, columns, normal, factor, .. } = part;
            // What the sets before leave of it.
            if worthless < f64::INFINITY {
                evaluator.expect_below((worthless - out.cost) / (*factor * *factor));
            }
            evaluator.normal(own, columns, normal).map_err(|f| Self::joint(f, set, params))?;
            part.add_normal(out);
        }
        Ok(())
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        out.clear();
        for (set, part) in self.parts.iter_mut().enumerate() {
            part.take(params, columns);
            let SetEvaluator { evaluator, own, columns, .. } = part;
            let mut factor = RFactor::zero(columns.len());
            evaluator.factor(own, columns, &mut factor).map_err(|f| Self::joint(f, set, params))?;
            part.fold(&factor, out);
        }
        Ok(())
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        out.fill(0.0);
        for (set, part) in self.parts.iter_mut().enumerate() {
            part.own.iter_mut().zip(part.params).for_each(|(own, &k)| *own = params[k]);
            let mut found = vec![0.0; part.free.len()];
            let SetEvaluator { evaluator, own, .. } = part;
            evaluator.magnitudes(own, &mut found).map_err(|f| Self::joint(f, set, params))?;
            for (&j, magnitude) in part.free.iter().zip(found) {
                let magnitude = magnitude * part.factor;
                // NaN must not be lost.
                if magnitude > out[j] || magnitude.is_nan() {
                    out[j] = magnitude;
                }
            }
        }
        Ok(())
    }

    fn expect_below(&mut self, cost: f64) {
        self.worthless = cost;
    }

    fn threads(&self) -> usize {
        self.parts.iter().map(|part| part.evaluator.threads()).max().unwrap_or(1)
    }

    fn scratch_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.evaluator.scratch_bytes()).sum()
    }

    fn heaviest(&mut self, count: usize, _level: f64) -> Vec<f64> {
        let mut all = Vec::new();
        for part in &mut self.parts {
            // How heavy they are beside those of other sets is not known in a set.
            let own = part.evaluator.heaviest(count, f64::INFINITY);
            all.extend(own.into_iter().map(|weight| weight * part.factor));
        }
        all.sort_by(|a, b| b.total_cmp(a));
        all.truncate(count);
        all
    }

    fn limit_weights(&mut self, most: f64) -> Option<f64> {
        let limit = |part: &mut SetEvaluator<'_>| {
            let square = part.evaluator.limit_weights(most / part.factor);
            square.map(|square| square * part.factor * part.factor)
        };
        self.parts.iter_mut().map(limit).sum()
    }

    fn heavy_rows(&mut self, params: &[f64], columns: &[f64]) -> Result<Vec<f64>, Fault> {
        let k = columns.len() + 1;
        let mut rows = Vec::new();
        for (set, part) in self.parts.iter_mut().enumerate() {
            part.take(params, columns);
            let SetEvaluator { evaluator, own, columns, free, factor, .. } = part;
            let found = evaluator.heavy_rows(own, columns);
            for row in found.map_err(|f| Self::joint(f, set, params))?.chunks(free.len() + 1) {
                let mut spread = vec![0.0; k];
                for (j, value) in row.iter().enumerate() {
                    spread[free.get(j).copied().unwrap_or(k - 1)] = value * *factor;
                }
                rows.extend(spread);
            }
        }
        Ok(heaviest_first(&rows, k))
    }

    fn is_exact(&mut self, params: &[f64]) -> Result<bool, Fault> {
        for (set, part) in self.parts.iter_mut().enumerate() {
            part.own.iter_mut().zip(part.params).for_each(|(own, &k)| *own = params[k]);
            let exact = part.evaluator.is_exact(&part.own);
            if !exact.map_err(|f| Self::joint(f, set, params))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_time(&mut self) {
        self.parts.iter_mut().for_each(|part| part.evaluator.take_time());
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.parts.iter_mut().enumerate().find_map(|(set, part)| {
            part.own.iter_mut().zip(part.params).for_each(|(own, &k)| *own = params[k]);
            let bad = part.evaluator.first_bad_point(&part.own)?;
            Some(BadPoint {
                x: with_set(set, bad.x),
                partial: bad.partial.map(|j| part.free[j]),
                ..bad
            })
        })
    }

    fn device(&self) -> Option<DeviceUse> {
        let each = self.parts.iter().filter_map(|part| part.evaluator.device());
        each.reduce(|a, b| DeviceUse {
            bytes: a.bytes + b.bytes,
            chunks: a.chunks.max(b.chunks),
            failed: a.failed.or(b.failed),
        })
    }
}
