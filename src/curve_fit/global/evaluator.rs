//! Passes over all sets. The sums of each set are added at the positions of its parameters.

use super::places::Places;
use super::sets::{SetEvaluator, SetGroup};
use crate::normal::{Arrow, BlockRow, Normal, RFactor, Summary, heaviest_first};
use crate::solver::evaluator::{Evaluator, ResidualSample};
use crate::solver::outcome::{BadPoint, Fault};
use crate::threads;
use std::sync::Arc;

/// Evaluator of all sets. If the free parameters have blocks, block s contains the parameters of set s.
pub(super) struct JointEvaluator<'e> {
    pub(super) groups: Vec<SetGroup<'e>>,
    /// The blocks of the fit, if it has any.
    pub(super) shape: Option<Arc<Arrow>>,
    /// True if threads process groups in parallel.
    pub(super) parallel: bool,
    /// The next trial is rejected if its cost is at least this value; its products are then not needed.
    pub(super) worthless: f64,
}

impl<'e> JointEvaluator<'e> {
    fn sets(&self) -> impl Iterator<Item = &SetEvaluator<'e>> {
        self.groups.iter().flat_map(|group| &group.sets)
    }

    fn sets_mut(&mut self) -> impl Iterator<Item = &mut SetEvaluator<'e>> {
        self.groups.iter_mut().flat_map(|group| &mut group.sets)
    }

    /// Returns the results of `work` for each group, in order.
    ///
    /// # Errors
    /// The fault of the first set that fails, converted to parameters of the joint fit.
    fn by_groups<R: Send>(
        &mut self,
        params: &[f64],
        work: impl Fn(&mut SetGroup<'e>) -> Result<R, (usize, Fault)> + Sync,
    ) -> Result<Vec<R>, Fault> {
        let made: Vec<_> = match self.parallel {
            true => threads::map(&mut self.groups, work),
            false => self.groups.iter_mut().map(work).collect(),
        };
        let joint = |made: Result<R, (usize, Fault)>| {
            made.map_err(|(set, fault)| joint(fault, set, params))
        };
        made.into_iter().map(joint).collect()
    }

    /// Adds the sums of all sets at the positions of their parameters.
    fn join(&self, out: &mut Normal) {
        let shape = out.shape().cloned();
        let n = out.n;
        out.cost = self.sets().map(SetEvaluator::cost).sum();
        let (blocks, corner) = out.parts_mut();
        let mut blocks = blocks.enumerate();
        for part in self.sets() {
            // Sets without points have no block.
            let block = blocks.find(|(set, _)| *set == part.set);
            let block = block.map_or(&mut [][..], |(_, (_, products))| products);
            let places = Places::of(part.set, part.free, shape.as_deref(), n);
            places.add(&part.normal.products, part.factor * part.factor, block, corner);
        }
    }
}

/// Converts a fault of a set to a fault of the joint fit.
fn joint(fault: Fault, set: usize, params: &[f64]) -> Fault {
    match fault {
        Fault::Panicked { message, point, .. } => {
            let point = point.map(|(index, x)| (index, with_set(set, x)));
            Fault::Panicked { message, point, params: params.to_vec() }
        }
        other => other,
    }
}

/// Returns the coordinates of a point in the joint fit: the set, counted from 1, and x.
fn with_set(set: usize, x: Vec<f64>) -> Vec<f64> {
    std::iter::once((set + 1) as f64).chain(x).collect()
}

impl Evaluator for JointEvaluator<'_> {
    fn normal(&mut self, params: &[f64], columns: &[f64], out: &mut Normal) -> Result<(), Fault> {
        out.clear();
        let worthless = std::mem::replace(&mut self.worthless, f64::INFINITY);
        self.by_groups(params, |group| group.normal(params, columns, worthless))?;
        self.join(out);
        Ok(())
    }

    fn factor(&mut self, params: &[f64], columns: &[f64], out: &mut RFactor) -> Result<(), Fault> {
        out.clear();
        let (shape, n) = (out.shape().cloned(), out.n);
        let factors = self.by_groups(params, |group| group.factors(params, columns))?;
        for (part, factor) in self.sets().zip(factors.into_iter().flatten()) {
            out.influence.add(&factor.influence, part.factor);
            Places::of(part.set, part.free, shape.as_deref(), n).fold(
                part.set,
                &factor,
                part.factor,
                out,
            );
        }
        Ok(())
    }

    fn magnitudes(&mut self, params: &[f64], out: &mut [f64]) -> Result<(), Fault> {
        out.fill(0.0);
        for part in self.sets_mut() {
            part.take_params(params);
            let mut found = vec![0.0; part.free.len()];
            let SetEvaluator { set, evaluator, own, .. } = part;
            evaluator.magnitudes(own, &mut found).map_err(|f| joint(f, *set, params))?;
            for (&j, magnitude) in part.free.iter().zip(found) {
                let magnitude = magnitude * part.factor;
                // A comparison alone would lose NaN.
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

    fn noise(&self) -> f64 {
        self.sets().map(|part| part.evaluator.noise()).fold(0.0, f64::max)
    }

    fn look_for_noise(&mut self, params: &[f64]) -> Result<(), Fault> {
        self.sets_mut().try_for_each(|part| {
            part.take_params(params);
            part.evaluator.look_for_noise(&part.own).map_err(|fault| joint(fault, part.set, params))
        })
    }

    fn threads(&self) -> usize {
        let several = if self.parallel { threads::count().min(self.groups.len()) } else { 1 };
        self.sets().map(|part| part.evaluator.threads()).fold(several, usize::max)
    }

    fn scratch_bytes(&self) -> usize {
        let abreast = self.groups.iter().filter_map(|group| group.abreast.as_ref());
        let abreast: usize = abreast.map(|abreast| abreast.bytes()).sum();
        let sums: usize = self.sets().map(|part| part.normal.products.len()).sum();
        // Scratch memory is allocated per thread, not per set.
        let each = self.sets().map(|part| part.evaluator.scratch_bytes()).max();
        abreast + sums * size_of::<f64>() + self.threads() * each.unwrap_or(0)
    }

    fn heaviest(&mut self, count: usize, _level: f64) -> Vec<f64> {
        let mut all = Vec::new();
        for part in self.sets_mut() {
            // A set cannot compare its weights with the weights of other sets. An infinite level disables the
            // comparison.
            let own = part.evaluator.heaviest(count, f64::INFINITY);
            all.extend(own.into_iter().map(|weight| weight * part.factor));
        }
        all.sort_by(f64::total_cmp);
        all.reverse();
        all.truncate(count);
        all
    }

    fn limit_weights(&mut self, most: f64) -> Option<f64> {
        // The evaluation in lanes does not support limited weights.
        self.groups.iter_mut().for_each(|group| group.abreast = None);
        let limit = |part: &mut SetEvaluator<'_>| {
            let square = part.evaluator.limit_weights(most / part.factor);
            square.map(|square| square * part.factor * part.factor)
        };
        self.sets_mut().map(limit).sum()
    }

    fn heavy_rows(&mut self, params: &[f64], columns: &[f64]) -> Result<Vec<BlockRow>, Fault> {
        let (shape, n) = (self.shape.clone(), columns.len());
        let mut rows = Vec::new();
        for part in self.sets_mut() {
            part.take(params, columns);
            let SetEvaluator { set, evaluator, own, columns, free, factor, .. } = part;
            let found = evaluator.heavy_rows(own, columns);
            let places = Places::of(*set, free, shape.as_deref(), n);
            for row in found.map_err(|f| joint(f, *set, params))? {
                let mut values = vec![0.0; places.residual + 1];
                for (i, value) in row.values.iter().enumerate() {
                    values[places.place(i)] = value * *factor;
                }
                rows.push(BlockRow { block: *set, values });
            }
        }
        Ok(heaviest_first(rows))
    }

    fn offset(&mut self) -> f64 {
        self.sets_mut().map(|part| part.evaluator.offset()).fold(0.0, f64::max)
    }

    fn is_exact(&mut self, params: &[f64]) -> Result<bool, Fault> {
        for part in self.sets_mut() {
            part.take_params(params);
            let exact = part.evaluator.is_exact(&part.own);
            if !exact.map_err(|f| joint(f, part.set, params))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn residuals(
        &mut self,
        params: &[f64],
        visit: &mut dyn FnMut(&ResidualSample),
    ) -> Result<(), Fault> {
        for part in self.sets_mut() {
            part.take_params(params);
            let (set, evaluator) = (part.set, &mut part.evaluator);
            let seen = evaluator.residuals(&part.own, &mut |sample| {
                visit(&ResidualSample { set, ..sample.clone() });
            });
            seen.map_err(|f| joint(f, set, params))?;
        }
        Ok(())
    }

    fn expected_normal(
        &mut self,
        (params, variance): (&[f64], f64),
        columns: &[f64],
        out: &mut Normal,
    ) -> Result<(), Fault> {
        out.clear();
        self.by_groups(params, |group| {
            group.sets.iter_mut().try_for_each(|part| {
                part.take(params, columns);
                let SetEvaluator { set, evaluator, own, columns, normal, .. } = part;
                let done = evaluator.expected_normal((own, variance), columns, normal);
                done.map_err(|fault| (*set, fault))
            })
        })?;
        self.join(out);
        Ok(())
    }

    fn take_time(&mut self) {
        self.sets_mut().for_each(|part| part.evaluator.take_time());
    }

    fn first_bad_point(&mut self, params: &[f64]) -> Option<BadPoint> {
        self.sets_mut().find_map(|part| {
            part.take_params(params);
            let bad = part.evaluator.first_bad_point(&part.own)?;
            Some(BadPoint {
                x: with_set(part.set, bad.x),
                partial: bad.partial.map(|j| part.free[j]),
                ..bad
            })
        })
    }
}
