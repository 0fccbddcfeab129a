//! Correction of the rows of a block for a loss. The formula of a custom loss is evaluated like a model.

use super::assembly::Assembled;
use super::code::{BLOCK, Code};
use super::gram::LANES;
use super::kernels::Kernels;
use super::machine::{Block, Inputs, Machine, Register, Uniforms, lanes, register};
use super::robust::{self, RobustSums};
use crate::data::loss::Loss;
use crate::data::loss_formula::LossFormula;
use crate::data::values::Values;
use crate::threads;
use std::sync::{Arc, Mutex};

/// Corrections of the rows of a block, and their sums over a chunk.
#[derive(Default)]
pub(super) struct LossRows {
    pub(super) sums: RobustSums,
    /// Factor of each row due to the loss.
    row: Register,
    formulas: FormulaMachine,
}

impl LossRows {
    pub(super) fn reserve(&mut self) {
        self.row = self.row.take().or_else(register);
    }

    /// Replaces weighted residuals by ψ and sets the weights s² of the products, for normal equations.
    pub(super) fn weigh(
        &mut self,
        kernels: &Kernels,
        rule: (Loss, f64),
        residual: &mut [f64],
        weight: &mut [f64],
    ) {
        self.formulas.weigh(kernels, rule, residual, weight, &mut self.sums.costs);
    }

    /// Corrects weighted residuals and the factors of their rows, for R factors. `weighted`: true if the rows already
    /// have factors. Returns true if the corrected rows have factors.
    pub(super) fn correct(
        &mut self,
        kernels: &Kernels,
        rule: (Loss, f64),
        weighted: bool,
        residual: &mut [f64],
        factor: &mut [f64],
    ) -> bool {
        let Some(row) = self.row.as_mut().filter(|_| rule.0 != Loss::Linear) else {
            return weighted;
        };
        let row = &mut row.0[..residual.len()];
        self.formulas.correct(kernels, rule, residual, row, &mut self.sums);
        match weighted {
            true => factor.iter_mut().zip(row.iter()).for_each(|(f, s)| *f *= s),
            false => factor.copy_from_slice(row),
        }
        true
    }
}

/// Code of a formula, and its uniform numbers.
struct Compiled {
    of: LossFormula,
    code: Assembled,
    uniforms: Vec<f64>,
}

/// Cache of compiled formulas, one per formula used in this process.
static COMPILED: Mutex<Vec<Arc<Compiled>>> = Mutex::new(Vec::new());

impl Compiled {
    fn of(formula: LossFormula) -> Arc<Compiled> {
        let mut known = threads::lock(&COMPILED);
        if let Some(compiled) = known.iter().find(|compiled| compiled.of == formula) {
            return compiled.clone();
        }
        let code = Assembled::from(Code::compile(formula.program()));
        let mut uniforms = Vec::new();
        code.uniforms(&[], &mut uniforms);
        let compiled = Arc::new(Compiled { of: formula, code, uniforms });
        known.push(compiled.clone());
        compiled
    }
}

/// Evaluator of loss formulas, one per worker.
#[derive(Default)]
pub(super) struct FormulaMachine {
    compiled: Option<Arc<Compiled>>,
    machine: Machine,
    /// Residuals divided by the scale.
    ratios: Register,
}

impl FormulaMachine {
    /// Computes the terms of normal equations for any number of residuals, like [`Kernels::robust`], but also for custom
    /// losses.
    fn weigh(
        &mut self,
        kernels: &Kernels,
        (loss, floor): (Loss, f64),
        residual: &mut [f64],
        weight: &mut [f64],
        costs: &mut [f64; LANES],
    ) {
        let Loss::Custom { scale, formula } = loss else {
            return kernels.robust(loss, floor, residual, weight, costs);
        };
        self.by_block(kernels, (scale, formula), residual, weight, |terms, residual, weight| {
            robust::weigh_by_formula((scale, floor), terms, residual, weight, costs);
        });
    }

    /// Corrects any number of residuals, like [`Kernels::robust_rows`], but also for custom losses.
    pub(super) fn correct(
        &mut self,
        kernels: &Kernels,
        (loss, floor): (Loss, f64),
        residual: &mut [f64],
        row: &mut [f64],
        sums: &mut RobustSums,
    ) {
        let Loss::Custom { scale, formula } = loss else {
            return kernels.robust_rows(loss, floor, residual, row, sums);
        };
        self.by_block(kernels, (scale, formula), residual, row, |terms, residual, row| {
            robust::correct_by_formula((scale, floor), terms, residual, row, sums);
        });
    }

    /// Calls `visit` for each block of residuals with ρ, dρ/du and d²ρ/du² at u = residual/scale, and with the residuals
    /// and the numbers of `row` of the block.
    fn by_block(
        &mut self,
        kernels: &Kernels,
        (scale, formula): (f64, LossFormula),
        residual: &mut [f64],
        row: &mut [f64],
        mut visit: impl FnMut([&[f64]; 3], &mut [f64], &mut [f64]),
    ) {
        let compiled = match self.compiled.take() {
            Some(compiled) if compiled.of == formula => compiled,
            _ => Compiled::of(formula),
        };
        let Compiled { code, uniforms, .. } = &*compiled;
        for (residual, row) in residual.chunks_mut(BLOCK).zip(row.chunks_mut(BLOCK)) {
            self.ratios = self.ratios.take().or_else(register);
            let ratios = self.ratios.iter_mut().flat_map(|ratios| &mut ratios.0);
            ratios.zip(residual.iter()).for_each(|(u, r)| *u = r / scale);
            let columns = [Values::F64(lanes(&self.ratios, residual.len()))];
            let uniforms = Uniforms::OfOne(uniforms);
            let inputs = Inputs::new(&columns, Block::Run(0), residual.len());
            self.machine.reserve(code.registers, columns.len());
            self.machine.broadcast(code, uniforms, residual.len());
            self.machine.run(code, kernels, uniforms, &inputs);
            let output = |k: usize| self.machine.source(code.outputs[k], &inputs);
            visit([0, 1, 2].map(output), residual, row);
        }
        self.compiled = Some(compiled);
    }
}
