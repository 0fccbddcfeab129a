//! The block interpreter: executes the code of a program over up to [`BLOCK`] points at a time.

use super::assembly::{Assembled, Outputs, Same, Shared, Table, in_a_row};
use super::code::{BLOCK, Code, Instruction, Operand};
use super::gram::LANES;
use super::kernels::Kernels;
use crate::data::values::Values;

/// One number per point of a block, aligned to cache lines.
#[repr(align(64))]
#[derive(Clone)]
pub(super) struct Lanes(pub(super) [f64; BLOCK]);

/// A register. It is `None` while a step writes to it, so that the step can borrow its operands.
pub(super) type Register = Option<Box<Lanes>>;

pub(super) fn register() -> Register {
    Some(Box::new(Lanes([0.0; BLOCK])))
}

/// The points of one block.
#[derive(Clone, Copy)]
pub(super) enum Block<'a> {
    /// Consecutive points from the given index on.
    Run(usize),
    /// Points with these indices.
    Picked(&'a [usize]),
}

/// Uniform numbers, which are the same at every point.
#[derive(Clone, Copy)]
pub(super) enum Uniforms<'a> {
    /// The numbers of one fit.
    OfOne(&'a [f64]),
    /// The numbers of fits in lanes, one fit per lane.
    OfLanes(&'a [[f64; LANES]]),
}

/// Registers and gathered columns of one thread.
#[derive(Default)]
pub(super) struct Machine {
    pub(super) registers: Vec<Register>,
    columns: Vec<Register>,
    /// Uniform numbers in the layout for machine code.
    pub(super) table: Table,
}

/// Independent variables of a block. Consecutive f64 values are read in place; all other values are gathered.
pub(super) struct Inputs<'a> {
    pub(super) columns: &'a [Values<'a>],
    block: Block<'a>,
    len: usize,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(columns: &'a [Values<'a>], block: Block<'a>, len: usize) -> Self {
        Inputs { columns, block, len }
    }
}

impl Machine {
    /// Allocates at least `registers` registers and `columns` gathered columns.
    pub(super) fn reserve(&mut self, registers: usize, columns: usize) {
        self.registers.resize_with(self.registers.len().max(registers), register);
        self.columns.resize_with(self.columns.len().max(columns), register);
    }

    /// Fills the registers that contain a uniform number, for blocks of up to `points` points.
    pub(super) fn broadcast(&mut self, code: &Code, uniforms: Uniforms<'_>, points: usize) {
        let points = points.next_multiple_of(LANES).min(BLOCK);
        for &(uniform, r) in &code.broadcasts {
            let Some(lanes) = &mut self.registers[r] else { continue };
            match uniforms {
                Uniforms::OfOne(numbers) => lanes.0[..points].fill(numbers[uniform]),
                Uniforms::OfLanes(numbers) => {
                    lanes.0[..points].as_chunks_mut().0.fill(numbers[uniform]);
                }
            }
        }
    }

    /// Gathers the columns that cannot be read in place.
    pub(super) fn load(&mut self, inputs: &Inputs<'_>) {
        for (values, register) in inputs.columns.iter().zip(&mut self.columns) {
            let Some(lanes) = register else { continue };
            gather(values, inputs.block, &mut lanes.0[..inputs.len]);
        }
    }

    /// Executes all steps over the block, with machine code if possible.
    pub(super) fn run(
        &mut self,
        code: &Assembled,
        kernels: &Kernels,
        uniforms: Uniforms<'_>,
        inputs: &Inputs<'_>,
    ) {
        if !self.run_assembled(code, kernels, uniforms, inputs) {
            self.interpret(code, kernels, uniforms, inputs);
        }
    }

    /// Computes the outputs with machine code. Returns false if the interpreter has to compute them.
    fn run_assembled(
        &mut self,
        code: &Assembled,
        kernels: &Kernels,
        uniforms: Uniforms<'_>,
        inputs: &Inputs<'_>,
    ) -> bool {
        let same = match uniforms {
            Uniforms::OfOne(numbers) => Same::OfOne(numbers, Shared::default()),
            Uniforms::OfLanes(numbers) => Same::ByLane(numbers),
        };
        if !code.is_worthwhile(inputs.len) {
            return false;
        }
        let registers = code
            .computed
            .iter()
            .map(|&register| self.registers[register].as_mut().map(|lanes| lanes.0.as_mut_ptr()));
        let Some(outputs) = in_a_row(registers) else { return false };
        let mut table = std::mem::take(&mut self.table);
        let columns = (0..code.columns).map(|c| Some(self.source(Operand::Column(c), inputs)));
        let done = in_a_row(columns).is_some_and(|columns| {
            let arrays = Outputs { columns: &columns, outputs: &outputs, points: inputs.len };
            code.write_outputs(kernels.vectors, same, &mut table, &arrays)
        });
        self.table = table;
        done
    }

    /// Interprets all steps over the block, one after the other.
    fn interpret(
        &mut self,
        code: &Code,
        kernels: &Kernels,
        uniforms: Uniforms<'_>,
        inputs: &Inputs<'_>,
    ) {
        let n = inputs.len;
        for &step in &code.steps {
            let Some(mut lanes) = self.registers[step.out()].take() else { continue };
            let out = &mut lanes.0[..n];
            let at = |source: Operand| self.source(source, inputs);
            match step {
                Instruction::Unary { op, a, .. } => kernels.unary(op, at(a), out),
                Instruction::Binary { op, a, b, .. } => kernels.binary(op, at(a), at(b), out),
                Instruction::WithRight { op, a, uniform, .. } => match uniforms {
                    Uniforms::OfOne(all) => kernels.with_right(op, at(a), all[uniform], out),
                    Uniforms::OfLanes(all) => kernels.with_rights(op, at(a), &all[uniform], out),
                },
                Instruction::WithLeft { op, uniform, b, .. } => match uniforms {
                    Uniforms::OfOne(all) => kernels.with_left(op, all[uniform], at(b), out),
                    Uniforms::OfLanes(all) => kernels.with_lefts(op, &all[uniform], at(b), out),
                },
                Instruction::Select { mask, yes, no, .. } => {
                    kernels.select(at(mask), at(yes), at(no), out);
                }
            }
            self.registers[step.out()] = Some(lanes);
        }
    }

    /// Returns the numbers of `source`, one per point of the block.
    pub(super) fn source<'s>(&'s self, source: Operand, inputs: &'s Inputs<'_>) -> &'s [f64] {
        match source {
            Operand::Register(r) => lanes(&self.registers[r], inputs.len),
            Operand::Column(c) => match (inputs.columns[c], inputs.block) {
                (Values::F64(v), Block::Run(start)) => &v[start..start + inputs.len],
                _ => lanes(&self.columns[c], inputs.len),
            },
        }
    }
}

/// Returns the first `n` numbers of a register.
pub(super) fn lanes(register: &Register, n: usize) -> &[f64] {
    register.as_ref().map_or(&[], |lanes| &lanes.0[..n])
}

/// Copies the values of the points of a block to `out`, unless they can be read in place.
fn gather(values: &Values<'_>, block: Block<'_>, out: &mut [f64]) {
    match (values, block) {
        (Values::F64(_), Block::Run(_)) => {}
        _ => copy(values, block, out),
    }
}

/// Copies the values of the points of a block to `out`.
pub(super) fn copy(values: &Values<'_>, block: Block<'_>, out: &mut [f64]) {
    match block {
        Block::Run(start) => values.copy_to(start, out),
        Block::Picked(index) => values.pick(index, out),
    }
}

impl<'a> Block<'a> {
    /// Returns the index, among all points, of point `i` of the block.
    pub(super) fn index(&self, i: usize) -> usize {
        match self {
            Block::Run(start) => start + i,
            Block::Picked(index) => index[i],
        }
    }
}
