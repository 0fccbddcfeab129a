//! Evaluation of a model block by block.

use super::closest::BlockPoints;
use super::code::BLOCK;
use super::machine::{Block, Inputs, Uniforms};
use super::worker::Worker;
use super::{Cpu, Pass, PreparedForm};
use crate::model::native::{Calls, PointCalls, Steps};
use crate::model::precision::SAMPLE;
use crate::model::program::panic_message;
use crate::solver::outcome::Fault;
use crate::threads::lock;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Cpu<'_> {
    /// Evaluates value and partials block by block over the used points of `start..end`.
    pub(super) fn blocks(
        &self,
        pass: Pass<'_>,
        (start, end): (usize, usize),
        worker: &mut Worker,
        visit: impl FnMut(&mut Worker, BlockPoints<'_>),
    ) -> Result<(), Fault> {
        self.remaining_blocks(pass, (start, end), None, worker, |_, (next, _)| next, visit)
    }

    /// Like [`blocks`](Cpu::blocks), but before each block calls `assembled` with the range of the remaining points. It
    /// returns the first of them that must be evaluated, or their end. `used`: the flags of `start..end`, if the model is
    /// evaluated at the points to leave out, too.
    pub(super) fn remaining_blocks(
        &self,
        pass: Pass<'_>,
        (start, end): (usize, usize),
        used: Option<&[u8]>,
        worker: &mut Worker,
        assembled: impl Fn(&mut Worker, (usize, usize)) -> usize,
        mut visit: impl FnMut(&mut Worker, BlockPoints<'_>),
    ) -> Result<(), Fault> {
        if start == end {
            return Ok(());
        }
        let mut picked = std::mem::take(&mut worker.picked);
        self.begin(pass, worker, end - start);
        let mut next = start;
        let mut outcome = Ok(());
        while next < end && outcome.is_ok() {
            next = assembled(worker, (next, end));
            if next == end {
                break;
            }
            let (block, len);
            let first = next;
            if self.picks_used(used) {
                picked.clear();
                next = self.points.pick_used(next, end, BLOCK, &mut picked);
                // Consecutive points are read in place.
                let gapless = |first: &usize| picked[picked.len() - 1] - first + 1 == picked.len();
                len = picked.len();
                block = match picked.first() {
                    Some(first) if gapless(first) => Block::Run(*first),
                    _ => Block::Picked(&picked),
                };
            } else {
                len = BLOCK.min(end - next);
                block = Block::Run(next);
                next += len;
            }
            if len > 0 {
                let used = used.map(|used| &used[first - start..][..len]);
                outcome = self.block(pass, (block, len), used, worker, &mut visit);
            }
        }
        worker.picked = picked;
        outcome
    }

    /// Returns true if a pass picks the used points, because some are left out and it has no flags for them.
    pub(super) fn picks_used(&self, used: Option<&[u8]>) -> bool {
        self.points.is_filtered() && used.is_none()
    }

    /// Prepares a worker for the blocks of a pass over `points` points.
    pub(super) fn begin(&self, pass: Pass<'_>, worker: &mut Worker, points: usize) {
        let registers = pass.code.map_or(self.model.registers(), |code| code.registers);
        worker.machine.reserve(registers, self.points.columns.len());
        worker.rows.reserve(self.model.outputs());
        if let Some(code) = pass.code {
            worker.machine.broadcast(code, Uniforms::OfOne(pass.uniforms), points);
        }
    }

    /// Evaluates value and partials at the points of a block.
    pub(super) fn block(
        &self,
        pass: Pass<'_>,
        (block, len): (Block<'_>, usize),
        used: Option<&[u8]>,
        worker: &mut Worker,
        visit: &mut impl FnMut(&mut Worker, BlockPoints<'_>),
    ) -> Result<(), Fault> {
        let uniforms = Uniforms::OfOne(pass.uniforms);
        let slopes = pass.slopes.filter(|_| !self.points.x_sigma.is_exact());
        let mut closest = worker.closest.take();
        let moved;
        let (inputs, distances) = match slopes {
            None => (Inputs::new(&self.points.columns, block, len), None),
            Some(slopes) => {
                let closest = closest.get_or_insert_default();
                closest.find(slopes, self.kernels, self.points, (block, len));
                moved = closest.columns();
                let distances = closest.distances(len);
                (Inputs::new(&moved, Block::Run(0), len), Some(distances))
            }
        };
        worker.machine.load(&inputs);
        let outcome = match (&self.model.kind, pass.code) {
            (PreparedForm::Native { native, bounds, .. }, _) => match &native.calls {
                Calls::Arrays(_) => {
                    self.scratch.arrays.copy(block, len, &mut worker.machine);
                    Ok(())
                }
                Calls::Points(calls) => {
                    let precisions = self.scratch.precisions.by();
                    let steps = Steps { bounds, least: &self.scratch.least, precisions };
                    self.call_native(calls, steps, pass.params, block, len, worker)
                }
            },
            (_, Some(code)) => {
                worker.machine.run(code, self.kernels, uniforms, &inputs);
                Ok(())
            }
            (_, None) => Ok(()),
        };
        if outcome.is_ok() {
            visit(worker, BlockPoints { inputs: &inputs, block, used, distances });
        }
        worker.closest = closest;
        outcome
    }

    /// Fills the output registers by calling a native model at each point.
    fn call_native(
        &self,
        calls: &PointCalls,
        steps: Steps<'_>,
        params: &[f64],
        block: Block<'_>,
        len: usize,
        worker: &mut Worker,
    ) -> Result<(), Fault> {
        let free = &self.model.free;
        let Worker { machine, x, p, partials, signs, .. } = worker;
        let looks = self.scratch.looks_for_signs;
        if looks {
            signs.restart(free.len());
        }
        p.resize(params.len(), 0.0);
        partials.resize(params.len(), 0.0);
        for i in 0..len {
            self.patience.check()?;
            let index = block.index(i);
            x.clear();
            x.extend(self.points.columns.iter().map(|c| c.at(index)));
            let call = || {
                let value = (calls.value)(x, params);
                match &calls.jacobian {
                    Some(jacobian) => {
                        // A partial that the model does not set must not keep the number of another point.
                        partials.fill(f64::NAN);
                        jacobian(x, params, partials);
                        // Free positions ascend, so gathering in place does not overwrite unread partials.
                        free.iter().enumerate().for_each(|(j, &k)| partials[j] = partials[k]);
                    }
                    None => {
                        let at = (&*calls.value, &x[..], value);
                        steps.differences(at, (params, free), p, partials, |j, values, whole| {
                            if looks {
                                signs.see(j, values, whole);
                            }
                        });
                    }
                }
                value
            };
            let value = catch_unwind(AssertUnwindSafe(call)).map_err(|panic| Fault::Panicked {
                message: panic_message(&*panic),
                point: Some((index, self.points.columns.iter().map(|c| c.at(index)).collect())),
                params: params.to_vec(),
            })?;
            for (j, number) in std::iter::once(&value).chain(&partials[..free.len()]).enumerate() {
                if let Some(lanes) = &mut machine.registers[j] {
                    lanes.0[i] = *number;
                }
            }
        }
        if looks {
            lock(&self.scratch.signs).merge(signs);
        }
        Ok(())
    }

    /// If a native model is called point by point, tests whether the first pass found evidence of imprecise values
    /// (`Signs`). If so, examines the precision and adapts the steps of the finite differences. Returns true if steps
    /// changed; the caller then repeats the pass.
    pub(super) fn settle_steps(&mut self, params: &[f64]) -> Result<bool, Fault> {
        let PreparedForm::Native { native, bounds, .. } = &self.model.kind else {
            return Ok(false);
        };
        let Calls::Points(calls) = &native.calls else { return Ok(false) };
        let looked = std::mem::take(&mut self.scratch.looks_for_signs);
        if !looked || !lock(&self.scratch.signs).is_suspicious() {
            return Ok(false);
        }
        let suspicions = lock(&self.scratch.signs).suspicions();
        let mut precisions = std::mem::take(&mut self.scratch.precisions);
        let points = self.points;
        let stride = points.len().div_ceil(SAMPLE).max(1);
        let sample = (0..points.len()).step_by(stride).filter(|&i| points.counts(i));
        let x_of = |i: usize| points.columns.iter().map(|c| c.at(i)).collect();
        let sample: Vec<(usize, Vec<f64>)> = sample.map(|i| (i, x_of(i))).collect();
        let steps = Steps { bounds, least: &self.scratch.least, precisions: &[] };
        let at = (params, &self.model.free[..]);
        let changed = precisions.examine(&suspicions, steps, at, |p| {
            let value = |(index, x): &(usize, Vec<f64>)| {
                self.patience.check()?;
                let call = AssertUnwindSafe(|| (calls.value)(x, p));
                catch_unwind(call).map_err(|panic| Fault::Panicked {
                    message: panic_message(&*panic),
                    point: Some((*index, x.clone())),
                    params: p.to_vec(),
                })
            };
            sample.iter().map(value).collect()
        });
        self.scratch.precisions = precisions;
        Ok(!changed?.is_empty())
    }
}
