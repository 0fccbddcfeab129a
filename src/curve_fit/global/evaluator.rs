//! Passes over all sets: the sums of each, added at the places of its parameters.

use crate::normal::small::{fold_few, fold_pivots};
use crate::normal::{
    Arrow, BlockRow, Normal, RFactor, Summary, heaviest_first, pair, pair_of_block,
};
use crate::solver::evaluator::{DeviceUse, Evaluator};
use crate::solver::outcome::{BadPoint, Fault};
use std::sync::Arc;

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

/// All sets; where the free parameters have blocks, the ones of set s are those of block s.
pub(super) struct JointEvaluator<'e> {
    pub(super) parts: Vec<SetEvaluator<'e>>,
    /// The blocks of the fit, if it has any.
    pub(super) shape: Option<Arc<Arrow>>,
    /// The cost from which on the next normal equations need no products.
    pub(super) worthless: f64,
}

/// Where the columns of a set are among those of a row of its block: its own ones, the common ones, r.
struct Places<'p> {
    free: &'p [usize],
    first: usize,
    own: usize,
    /// Of the first common parameter.
    common: usize,
    residual: usize,
}

impl<'p> Places<'p> {
    /// In `shape`; without blocks all are common.
    fn of(set: usize, free: &'p [usize], shape: Option<&Arrow>, n: usize) -> Places<'p> {
        let Some(shape) = shape else {
            return Places { free, first: 0, own: 0, common: 0, residual: n };
        };
        let own = shape.block(set);
        let (common, residual) = (shape.first_common(), own.len() + shape.common());
        Places { free, first: own.start, own: own.len(), common, residual }
    }

    /// Of the model's free parameter i; r is the one behind the last.
    fn place(&self, i: usize) -> usize {
        match self.free.get(i) {
            None => self.residual,
            Some(&j) if j < self.common => j - self.first,
            Some(&j) => self.own + j - self.common,
        }
    }

    /// Adds the products of [J r] of the set.
    fn add(&self, products: &[f64], square: f64, block: &mut [f64], corner: &mut [f64]) {
        let own = self.own;
        for j in 0..=self.free.len() {
            for i in 0..=j {
                let (a, b) = (self.place(i), self.place(j));
                let (a, b) = (a.min(b), a.max(b));
                let to = match a < own {
                    true => &mut block[pair_of_block(a, b, own)],
                    false => &mut corner[pair(a - own, b - own)],
                };
                *to += products[pair(i, j)] * square;
            }
        }
    }

    /// Folds the rows of the set's factor in.
    fn fold(&self, set: usize, factor: &RFactor, unit: f64, out: &mut RFactor) {
        let (k, rows) = (self.residual + 1, factor.n + 1);
        let mut spread = vec![0.0; k * rows];
        for j in 0..rows {
            let column = &mut spread[self.place(j) * rows..][..=j];
            column.iter_mut().enumerate().for_each(|(i, v)| *v = factor.at(i, j) * unit);
        }
        if out.shape().is_none() {
            return out.fold(&mut spread, rows);
        }
        let (block, corner) = out.block_mut(set);
        fold_pivots(block, self.own, k, &mut spread, rows);
        fold_few(corner, k - self.own, &mut spread[self.own * rows..], rows);
    }
}

impl SetEvaluator<'_> {
    fn take(&mut self, params: &[f64], columns: &[f64]) {
        self.own.iter_mut().zip(self.params).for_each(|(own, &k)| *own = params[k]);
        self.columns.iter_mut().zip(self.free).for_each(|(own, &j)| *own = columns[j]);
    }
}

impl JointEvaluator<'_> {
    /// Adds the sums of the sets at the places of their parameters.
    fn join(&self, out: &mut Normal) {
        let shape = out.shape().cloned();
        let n = out.n;
        let (mut blocks, corner) = out.parts_mut();
        for (set, part) in self.parts.iter().enumerate() {
            let block = blocks.next().map_or(&mut [][..], |(_, block)| block);
            let places = Places::of(set, part.free, shape.as_ref(), n);
            places.add(&part.normal.products, part.factor * part.factor, block, corner);
        }
    }

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
            let square = *factor * *factor;
            // What the sets before leave of it.
            if worthless < f64::INFINITY {
                evaluator.expect_below((worthless - out.cost) / square);
            }
            evaluator.normal(own, columns, normal).map_err(|f| Self::joint(f, set, params))?;
            out.cost += normal.cost * square;
        }
        self.join(out);
        Ok(())
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        out.clear();
        let (shape, n) = (out.arrow(), out.n);
        let shape = (!shape.is_full()).then_some(&*shape);
        for (set, part) in self.parts.iter_mut().enumerate() {
            part.take(params, columns);
            let SetEvaluator { evaluator, own, columns, free, factor: unit, .. } = part;
            let mut factor = RFactor::zero(columns.len());
            evaluator.factor(own, columns, &mut factor).map_err(|f| Self::joint(f, set, params))?;
            out.influence.add(&factor.influence, *unit);
            let places = Places::of(set, free, shape, n);
            places.fold(set, &factor, *unit, out);
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

    fn heavy_rows(&mut self, params: &[f64], columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        let (shape, n) = (self.shape.clone(), columns.len());
        let mut rows = Vec::new();
        for (set, part) in self.parts.iter_mut().enumerate() {
            part.take(params, columns);
            let SetEvaluator { evaluator, own, columns, free, factor, .. } = part;
            let found = evaluator.heavy_rows(own, columns);
            let places = Places::of(set, free, shape.as_deref(), n);
            for row in found.map_err(|f| Self::joint(f, set, params))? {
                let mut values = vec![0.0; places.residual + 1];
                for (i, value) in row.values.iter().enumerate() {
                    values[places.place(i)] = value * *factor;
                }
                rows.push(BlockRow { block: set, values });
            }
        }
        Ok(heaviest_first(rows))
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
