//! A traced model: straight-line code in single-assignment form.
//!
//! A program contains the operations of a closure that was called once with [`Var`]s. It can be evaluated with
//! any [`Scalar`]: with `f64` it computes the model, with `Dual<Var>` it records the program of the
//! model and its partial derivatives.

use super::dual::Dual;
use super::op::{Binary, Id, Node, Unary};
use super::scalar::{Mask, Scalar};
use super::tape::{self, TapeId};
use super::var::Var;
use crate::error::{Error, Result};
use crate::observe::span;
use std::any::Any;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of partials recorded in one replay of a program. It is a compromise: models with hundreds of parameters
/// need few replays, and models with few parameters leave few partials unused.
const PARTIALS_PER_REPLAY: usize = 8;

/// A model as straight-line code, with its value as first output and, after
/// differentiation, partial derivatives as the other outputs.
///
/// `Display` prints one line per operation with the names of variables and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub(crate) columns: Vec<String>,
    pub(crate) params: Vec<String>,
    /// The operations; operands of a node are earlier nodes.
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<Id>,
    /// The parameter of each partial derivative: output 1 + i is the partial with respect to `partials[i]`.
    pub(crate) partials: Vec<usize>,
}

impl Program {
    /// Returns a key of the operations, independent of the names of variables and parameters.
    pub(crate) fn code(&self) -> impl Hash + Eq + '_ {
        (&self.nodes, &self.outputs, &self.partials, self.columns.len(), self.params.len())
    }

    /// Records the operations of `model` with `columns` independent variables and `params` parameters.
    ///
    /// # Errors
    /// Returns [`Error::ModelPanicked`] if the closure panics, [`Error::ForeignVariable`] if it uses a
    /// variable of another trace.
    pub(crate) fn trace(
        columns: usize,
        params: usize,
        model: impl FnOnce(&[Var], &[Var]) -> Var,
    ) -> Result<Program> {
        let _span = span!(DEBUG, "trace", columns = columns, parameters = params);
        let names = Program {
            columns: default_columns(columns),
            params: (0..params).map(|i| format!("p{i}")).collect(),
            nodes: Vec::new(),
            outputs: Vec::new(),
            partials: Vec::new(),
        };
        names.record(Vec::new(), |x, p| vec![model(x, p)])
    }

    /// Returns the program of the value and of its partial derivatives with respect to the parameters `by`, in that
    /// order.
    ///
    /// # Errors
    /// None in practice: replaying a program cannot panic.
    pub(crate) fn with_partials(&self, by: &[usize]) -> Result<Program> {
        let _span = span!(DEBUG, "differentiate", parameters = by.len());
        self.record(by.to_vec(), |x, p| {
            let mut outputs = Vec::with_capacity(1 + by.len());
            for group in by.chunks(PARTIALS_PER_REPLAY) {
                let dual = |i: usize, &v: &Var| {
                    let lane = group.iter().position(|&k| k == i).unwrap_or(PARTIALS_PER_REPLAY);
                    Dual::<Var, PARTIALS_PER_REPLAY>::variable(v, lane)
                };
                let columns: Vec<_> = x.iter().map(|&v| Dual::constant(v)).collect();
                let params: Vec<_> = p.iter().enumerate().map(|(i, v)| dual(i, v)).collect();
                let value = self.replay(&columns, &params);
                if outputs.is_empty() {
                    outputs.push(value.value);
                }
                outputs.extend(&value.partials[..group.len()]);
            }
            if outputs.is_empty() {
                outputs.push(self.replay(x, p));
            }
            outputs
        })
    }

    /// Returns the program of the value and of its partial derivatives with respect to the independent variables `by`.
    /// Outputs: the value, the first derivatives in the order of `by`, then the second derivatives ∂²f/∂xₖ∂xₗ row by
    /// row for k ≤ l.
    ///
    /// # Errors
    /// None in practice: replaying a program cannot panic.
    pub(crate) fn with_slopes(&self, by: &[usize]) -> Result<Program> {
        type Second = Dual<Dual<Var, 1>, 1>;
        self.record(Vec::new(), |x, p| {
            let params: Vec<Second> =
                p.iter().map(|&v| Dual::constant(Dual::constant(v))).collect();
            let twice = |k: usize, l: usize| {
                let column = |(i, &v): (usize, &Var)| {
                    let inner = Dual::variable(v, usize::from(i != k));
                    Dual { value: inner, partials: [Dual::constant(f64::from(i == l).into())] }
                };
                let columns: Vec<Second> = x.iter().enumerate().map(column).collect();
                self.replay(&columns, &params)
            };
            let (mut first, mut second) = (Vec::new(), Vec::new());
            for (position, &k) in by.iter().enumerate() {
                for &l in &by[position..] {
                    let found = twice(k, l);
                    if k == l {
                        first.extend(found.value.partials);
                    }
                    second.extend(found.partials[0].partials);
                }
            }
            [vec![self.replay(x, p)], first, second].concat()
        })
    }

    /// Records another model of the same variables and parameters, with the same names.
    ///
    /// # Errors
    /// Returns the same errors as [`trace`](Program::trace).
    pub(crate) fn rewritten(&self, model: impl FnOnce(&[Var], &[Var]) -> Var) -> Result<Program> {
        self.record(Vec::new(), |x, p| vec![model(x, p)])
    }

    /// Runs `model` on a new tape and keeps the nodes that its outputs need.
    fn record(
        &self,
        partials: Vec<usize>,
        model: impl FnOnce(&[Var], &[Var]) -> Vec<Var>,
    ) -> Result<Program> {
        let run = |current: TapeId| {
            let x: Vec<Var> = (0..self.columns.len() as u32).map(Var::column).collect();
            let p: Vec<Var> = (0..self.params.len() as u32).map(Var::param).collect();
            let outputs = catch_unwind(AssertUnwindSafe(|| model(&x, &p)));
            outputs.map(|o| o.iter().map(|v| v.node(current)).collect::<Option<Vec<Id>>>())
        };
        let (outputs, tape) = tape::record(run);
        let outputs = outputs.map_err(|panic| Error::ModelPanicked {
            message: panic_message(&*panic),
            place: "while the model was traced".into(),
        })?;
        let outputs = match outputs {
            Some(outputs) if !tape.foreign => outputs,
            _ => return Err(Error::ForeignVariable),
        };
        let (nodes, outputs) = tape::without_dead_code(&tape.nodes.list, &outputs);
        let (columns, params) = (self.columns.clone(), self.params.clone());
        Ok(Program { columns, params, nodes, outputs, partials })
    }

    /// Evaluates the model at one point: `x` has one value per column, `p` one per parameter.
    ///
    /// Missing values count as NaN.
    pub fn evaluate<S: Scalar>(&self, x: &[S], p: &[S]) -> S {
        self.replay(x, p)
    }

    /// Evaluates all outputs at one point, the value first.
    pub(crate) fn outputs(&self, x: &[f64], p: &[f64]) -> Vec<f64> {
        let slots = self.run(x, p);
        self.outputs.iter().map(|&o| slots[o as usize].value()).collect()
    }

    fn replay<S: Scalar>(&self, x: &[S], p: &[S]) -> S {
        self.run(x, p)[self.outputs[0] as usize].value()
    }

    fn run<S: Scalar>(&self, x: &[S], p: &[S]) -> Vec<Computed<S>> {
        let given = |values: &[S], i: u32| {
            Computed::Value(values.get(i as usize).copied().unwrap_or(f64::NAN.into()))
        };
        let mut slots: Vec<Computed<S>> = Vec::with_capacity(self.nodes.len());
        for &node in &self.nodes {
            let value = |id: Id| slots[id as usize].value();
            let mask = |id: Id| slots[id as usize].mask();
            slots.push(match node {
                Node::Const(bits) => Computed::Value(S::from(f64::from_bits(bits))),
                Node::Column(i) => given(x, i),
                Node::Param(i) => given(p, i),
                Node::Unary(Unary::Not, a) => Computed::Mask(mask(a).not()),
                Node::Unary(op, a) => Computed::Value(op.apply(value(a))),
                Node::Binary(Binary::Lt, a, b) => Computed::Mask(value(a).lt(value(b))),
                Node::Binary(Binary::Le, a, b) => Computed::Mask(value(a).le(value(b))),
                Node::Binary(Binary::Eq, a, b) => Computed::Mask(value(a).eq(value(b))),
                Node::Binary(Binary::And, a, b) => Computed::Mask(mask(a).and(mask(b))),
                Node::Binary(Binary::Or, a, b) => Computed::Mask(mask(a).or(mask(b))),
                Node::Binary(op, a, b) => Computed::Value(op.apply(value(a), value(b))),
                Node::Select(m, a, b) => Computed::Value(mask(m).select(value(a), value(b))),
            });
        }
        slots
    }

    /// Returns the program without its partials.
    pub(crate) fn value_only(&self) -> Program {
        let value = &self.outputs[..self.outputs.len().min(1)];
        let (nodes, outputs) = tape::without_dead_code(&self.nodes, value);
        let (columns, params) = (self.columns.clone(), self.params.clone());
        Program { columns, params, nodes, outputs, partials: Vec::new() }
    }

    /// Returns the names of the independent variables.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the names of the parameters.
    pub fn params(&self) -> &[String] {
        &self.params
    }

    /// Returns the number of operations, without inputs and constants.
    pub fn operations(&self) -> usize {
        self.nodes.iter().filter(|n| n.operands().next().is_some()).count()
    }

    /// Returns true if the model's value depends on parameter `index`. A product with the constant 0 depends on
    /// nothing.
    pub fn uses(&self, index: usize) -> bool {
        self.params_below(&self.outputs).get(index).is_some_and(|&occurs| occurs)
    }

    /// Returns one value per parameter: true if one of `nodes` depends on it. A product with the constant 0 depends on
    /// nothing.
    pub(super) fn params_below(&self, nodes: &[Id]) -> Vec<bool> {
        let is_zero = |id: Id| matches!(self.nodes[id as usize], Node::Const(bits) if f64::from_bits(bits) == 0.0);
        self.params_below_without(nodes, |id| is_product_with(&self.nodes[id as usize], is_zero))
    }

    /// Returns one value per parameter: true if one of `nodes` depends on it if all nodes for which `is_zero` is true
    /// are 0.
    pub(super) fn params_below_without(
        &self,
        nodes: &[Id],
        is_zero: impl Fn(Id) -> bool,
    ) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        nodes.iter().for_each(|&id| needed[id as usize] = true);
        let mut occurs = vec![false; self.params.len()];
        // Operands are earlier nodes.
        for (id, node) in self.nodes.iter().enumerate().rev() {
            if !needed[id] || is_zero(id as Id) {
                continue;
            }
            node.operands().for_each(|operand| needed[operand as usize] = true);
            if let Node::Param(i) = node
                && let Some(occurs) = occurs.get_mut(*i as usize)
            {
                *occurs = true;
            }
        }
        occurs
    }
}

/// Returns true if the node is a product with a factor for which `is_factor` is true.
fn is_product_with(node: &Node, is_factor: impl Fn(Id) -> bool) -> bool {
    matches!(node, Node::Binary(Binary::Mul, a, b) if is_factor(*a) || is_factor(*b))
}

/// A computed node: a number or a truth value.
enum Computed<S: Scalar> {
    Value(S),
    Mask(S::Mask),
}

impl<S: Scalar> Computed<S> {
    /// Returns the number; a truth value counts as 1 or 0.
    fn value(&self) -> S {
        match *self {
            Computed::Value(v) => v,
            Computed::Mask(m) => m.select(1.0, 0.0),
        }
    }

    /// Returns the truth value; a number is true unless it is 0.
    fn mask(&self) -> S::Mask {
        match *self {
            Computed::Value(v) => v.eq(0.0).not(),
            Computed::Mask(m) => m,
        }
    }
}

/// Returns the default names: `x` for one independent variable, `x0, x1, …` for several.
pub(crate) fn default_columns(count: usize) -> Vec<String> {
    match count {
        1 => vec!["x".into()],
        n => (0..n).map(|i| format!("x{i}")).collect(),
    }
}

/// Returns the message of a panic, or a substitute if it has none.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    text.or(owned).unwrap_or("a panic without a message").to_owned()
}
