//! Code of a program for the block interpreter.
//!
//! Numbers that are the same at every point (uniform numbers) are computed once per pass. The other nodes become
//! instructions on blocks of points. Liveness analysis lets instructions share registers, so that the live values of a
//! block stay in the caches near the core.

use super::gram::LANES;
use crate::model::collect::{Collected, collect, is_safe};
use crate::model::op::{Binary, Id, Node, Unary};
use crate::model::program::Program;
use crate::model::tape::depends_on_point;

/// Number of points per block: enough to make dispatch cheap, and few enough for the caches. The registers of a model,
/// 4 kB each, stay in the L2 cache, and the registers of a step in the L1 cache. 256 points were slower, and 1024 were
/// not faster (measured).
pub(super) const BLOCK: usize = 512;

/// Location of the numbers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// The column of an independent variable.
    Column(usize),
    /// A register of the interpreter.
    Register(usize),
}

/// One step over a block. `out` is never a register that the step reads. `uniform` is an index into the uniform
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Instruction {
    Unary {
        op: Unary,
        a: Operand,
        out: usize,
    },
    Binary {
        op: Binary,
        a: Operand,
        b: Operand,
        out: usize,
    },
    /// a ∘ uniform
    WithRight {
        op: Binary,
        a: Operand,
        uniform: usize,
        out: usize,
    },
    /// uniform ∘ b
    WithLeft {
        op: Binary,
        uniform: usize,
        b: Operand,
        out: usize,
    },
    Select {
        mask: Operand,
        yes: Operand,
        no: Operand,
        out: usize,
    },
}

/// Straight-line code over blocks of points.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// One number per node: the value of a constant, NaN for other nodes.
    pub(super) constants: Vec<f64>,
    /// Indices of the numbers that steps and broadcasts read.
    #[cfg_attr(
        not(all(feature = "jit", target_arch = "x86_64")),
        expect(dead_code, reason = "only machine code asks")
    )]
    pub(super) read: Vec<usize>,
    /// The uniform nodes that are not constants, in order.
    uniform_nodes: Vec<(usize, Node)>,
    pub(super) steps: Vec<Instruction>,
    /// Registers that contain a uniform number in all lanes, as (uniform, register). They are filled once per chunk.
    pub(super) broadcasts: Vec<(usize, usize)>,
    pub(super) registers: usize,
    /// The value of the model, then its partials.
    pub(super) outputs: Vec<Operand>,
    /// Indices of the collected coefficients and their partial products. The code must not be used if one of these
    /// numbers is outside the range of [`is_safe`].
    coefficients: Vec<usize>,
    /// Number of columns up to and including the last one that is read.
    pub(super) columns: usize,
    /// Registers of the outputs that steps compute, without repetition.
    pub(super) computed: Vec<usize>,
}

impl Code {
    /// Compiles a program after [`collect`] has collected the constant factors of its partials.
    pub(super) fn collected(program: &Program) -> Code {
        let Collected { program, coefficients } = collect(program);
        let coefficients = coefficients.iter().map(|&id| id as usize).collect();
        Code { coefficients, ..Code::compile(&program) }
    }

    pub(super) fn compile(program: &Program) -> Code {
        let nodes = &program.nodes;
        let per_point = depends_on_point(nodes);
        let mut compiler = Compiler {
            last_use: last_uses(nodes, &program.outputs),
            sources: vec![None; nodes.len()],
            free: Vec::new(),
            registers: 0,
            broadcasts: Vec::new(),
        };
        let mut steps = Vec::new();
        for i in (0..nodes.len()).filter(|&i| per_point[i]) {
            if let Node::Column(c) = nodes[i] {
                compiler.sources[i] = Some(Operand::Column(c as usize));
            } else {
                steps.push(compiler.step(i, nodes[i], &per_point));
            }
        }
        let outputs: Vec<Operand> =
            program.outputs.iter().map(|&o| compiler.source(o, &per_point)).collect();
        let Compiler { broadcasts, registers, .. } = compiler;
        let constant = |node: &Node| match node {
            Node::Const(bits) => f64::from_bits(*bits),
            _ => f64::NAN,
        };
        let constants = nodes.iter().map(constant).collect();
        let uniform = |i: &usize| !per_point[*i] && !matches!(nodes[*i], Node::Const(_));
        let uniform_nodes = (0..nodes.len()).filter(uniform).map(|i| (i, nodes[i])).collect();
        let read = read(&steps, &broadcasts);
        let column = |node: &Node| match node {
            Node::Column(column) => *column as usize + 1,
            _ => 0,
        };
        Code {
            columns: nodes.iter().map(column).max().unwrap_or(0),
            computed: computed(&outputs, &broadcasts),
            coefficients: Vec::new(),
            constants,
            read,
            uniform_nodes,
            steps,
            broadcasts,
            registers,
            outputs,
        }
    }

    /// Computes the uniform numbers, one per node; the elements of other nodes are unspecified.
    /// Returns true if the code may be used with these numbers.
    pub(super) fn uniforms(&self, params: &[f64], values: &mut Vec<f64>) -> bool {
        values.clone_from(&self.constants);
        for &(i, node) in &self.uniform_nodes {
            values[i] = computed_from(node, params, |id| values[id as usize]);
        }
        self.coefficients.iter().all(|&i| is_safe(values[i]))
    }

    /// Computes the uniform numbers for fits in lanes, each at its own parameters. `values`: empty, or from an earlier
    /// call.
    pub(super) fn uniforms_abreast(
        &self,
        params: [&[f64]; LANES],
        values: &mut Vec<[f64; LANES]>,
    ) -> [bool; LANES] {
        if values.is_empty() {
            values.extend(self.constants.iter().map(|&constant| [constant; LANES]));
        }
        for &(i, node) in &self.uniform_nodes {
            values[i] = std::array::from_fn(|lane| {
                computed_from(node, params[lane], |id| values[id as usize][lane])
            });
        }
        std::array::from_fn(|lane| self.coefficients.iter().all(|&i| is_safe(values[i][lane])))
    }
}

/// Returns the number of a uniform node, computed from earlier nodes.
#[inline(always)]
fn computed_from(node: Node, params: &[f64], value: impl Fn(Id) -> f64) -> f64 {
    match node {
        Node::Param(k) => params[k as usize],
        Node::Unary(op, a) => op.apply(value(a)),
        Node::Binary(op, a, b) => op.apply(value(a), value(b)),
        Node::Select(mask, a, b) => value(if value(mask) != 0.0 { a } else { b }),
        Node::Const(_) | Node::Column(_) => f64::NAN,
    }
}

/// Returns for each node the index of the last node that reads it, or `usize::MAX` if it is an output.
fn last_uses(nodes: &[Node], outputs: &[Id]) -> Vec<usize> {
    let mut last = vec![0; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        node.operands().for_each(|id| last[id as usize] = i);
    }
    outputs.iter().for_each(|&o| last[o as usize] = usize::MAX);
    last
}

/// Returns the indices of the uniform numbers that are read during the evaluation of blocks.
fn read(steps: &[Instruction], broadcasts: &[(usize, usize)]) -> Vec<usize> {
    let of_step = |step: &Instruction| match *step {
        Instruction::WithRight { uniform, .. } | Instruction::WithLeft { uniform, .. } => {
            Some(uniform)
        }
        Instruction::Unary { .. } | Instruction::Binary { .. } | Instruction::Select { .. } => None,
    };
    let broadcast = broadcasts.iter().map(|&(uniform, _)| uniform);
    let mut all: Vec<usize> = steps.iter().filter_map(of_step).chain(broadcast).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the registers of the outputs that steps compute, without repetition.
fn computed(outputs: &[Operand], broadcasts: &[(usize, usize)]) -> Vec<usize> {
    let mut computed = Vec::new();
    for &output in outputs {
        if let Operand::Register(register) = output
            && !computed.contains(&register)
            && broadcasts.iter().all(|&(_, broadcast)| broadcast != register)
        {
            computed.push(register);
        }
    }
    computed
}

struct Compiler {
    last_use: Vec<usize>,
    sources: Vec<Option<Operand>>,
    free: Vec<usize>,
    registers: usize,
    broadcasts: Vec<(usize, usize)>,
}

impl Compiler {
    fn step(&mut self, i: usize, node: Node, per_point: &[bool]) -> Instruction {
        let uniform = |id: Id| !per_point[id as usize];
        let step = match node {
            Node::Binary(op, a, b) if takes_number(op) && uniform(b) => {
                let a = self.source(a, per_point);
                Instruction::WithRight { op, a, uniform: b as usize, out: self.allocate() }
            }
            Node::Binary(op, a, b) if takes_number(op) && uniform(a) => {
                let b = self.source(b, per_point);
                let (out, uniform) = (self.allocate(), a as usize);
                match op.commutes() {
                    true => Instruction::WithRight { op, a: b, uniform, out },
                    false => Instruction::WithLeft { op, uniform, b, out },
                }
            }
            Node::Unary(op, a) => {
                let a = self.source(a, per_point);
                Instruction::Unary { op, a, out: self.allocate() }
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.source(a, per_point), self.source(b, per_point));
                Instruction::Binary { op, a, b, out: self.allocate() }
            }
            Node::Select(m, a, b) => {
                let [mask, yes, no] = [m, a, b].map(|id| self.source(id, per_point));
                Instruction::Select { mask, yes, no, out: self.allocate() }
            }
            Node::Const(_) | Node::Column(_) | Node::Param(_) => {
                unreachable!("leaves are no steps")
            }
        };
        self.sources[i] = Some(Operand::Register(step.out()));
        let mut dying: Vec<Id> =
            node.operands().filter(|&id| self.last_use[id as usize] == i).collect();
        dying.sort_unstable();
        dying.dedup();
        for id in dying.into_iter().filter(|&id| per_point[id as usize]) {
            if let Some(Operand::Register(r)) = self.sources[id as usize] {
                self.free.push(r);
            }
        }
        step
    }

    /// Returns the location of node `id`. A uniform number gets its own register, which contains it during the chunk.
    fn source(&mut self, id: Id, per_point: &[bool]) -> Operand {
        let i = id as usize;
        if let Some(source) = self.sources[i] {
            return source;
        }
        debug_assert!(!per_point[i]);
        let register = self.registers;
        self.registers += 1;
        self.broadcasts.push((i, register));
        self.sources[i] = Some(Operand::Register(register));
        Operand::Register(register)
    }

    fn allocate(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.registers += 1;
            self.registers - 1
        })
    }
}

impl Instruction {
    pub(super) fn out(self) -> usize {
        match self {
            Instruction::Unary { out, .. }
            | Instruction::Binary { out, .. }
            | Instruction::WithRight { out, .. }
            | Instruction::WithLeft { out, .. }
            | Instruction::Select { out, .. } => out,
        }
    }
}

/// Returns true for operations that have a kernel with a number as one operand: the frequent ones.
fn takes_number(op: Binary) -> bool {
    use Binary::{Add, Div, Max, Min, Mul, Sub};
    matches!(op, Add | Sub | Mul | Div | Min | Max)
}
