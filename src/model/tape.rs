//! Tapes, which record traced operations.
//!
//! A model is traced by calling it with variables whose operations append to a tape. Each thread has a
//! stack of tapes. Therefore [`Var`](super::var::Var) can be `Copy` without a lifetime, and a model
//! may itself trace another. A variable stores the identity of its tape. If it is used on
//! another tape, that tape is marked, and the trace returns an error instead of a wrong program.
//!
//! Tracing folds constants and shares equal operations, and never records partials that are known to be 0 or 1. Before
//! a tape becomes a program, operations that no output needs are removed.

use super::op::{Id, Node, Nodes, Unary};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identity of a tape, unique in the process.
pub(crate) type TapeId = u64;

/// The operations of one trace, each written once: equal operations share a node.
pub(crate) struct Tape {
    id: TapeId,
    pub(crate) nodes: Nodes,
    /// True if a variable of another tape was used.
    pub(crate) foreign: bool,
    /// True if a logarithm was recorded.
    logarithms: bool,
}

/// Initial capacity, in nodes: enough for most models with their partials.
const USUAL: usize = 48;

thread_local! {
    static TAPES: RefCell<Vec<Tape>> = const { RefCell::new(Vec::new()) };
}

/// Guard that removes the tape from the stack, also if the model panics.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        TAPES.with_borrow_mut(|tapes| tapes.pop());
    }
}

/// Runs `record` with a new tape on top of this thread's stack; returns its result and the tape.
pub(crate) fn record<R>(record: impl FnOnce(TapeId) -> R) -> (R, Tape) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let with = |nodes| Tape { id, nodes, foreign: false, logarithms: false };
    TAPES.with_borrow_mut(|tapes| tapes.push(with(Nodes::with_room(USUAL))));
    let guard = Guard;
    let result = record(id);
    let empty = || with(Nodes::default());
    let tape =
        TAPES.with_borrow_mut(|tapes| tapes.last_mut().map(|top| std::mem::replace(top, empty())));
    drop(guard);
    (result, tape.unwrap_or_else(empty))
}

/// Appends a node to the topmost tape, or finds the existing equal node. Returns the identity of the tape and the
/// node, or `None` outside any trace and if an operand belongs to another tape.
pub(crate) fn push(node: Node, operand_tapes: &[TapeId]) -> Option<(TapeId, Id)> {
    TAPES.with_borrow_mut(|tapes| {
        let tape = tapes.last_mut()?;
        if operand_tapes.iter().any(|&id| id != tape.id) {
            tape.foreign = true;
            return None;
        }
        tape.logarithms |= is_logarithm(node);
        Some((tape.id, tape.nodes.push(node)))
    })
}

/// Returns true if node `id` of the topmost tape depends on the logarithm of an expression with an independent
/// variable.
pub(crate) fn has_logarithm_of_column(id: Id) -> bool {
    TAPES.with_borrow(|tapes| {
        let Some(tape) = tapes.last().filter(|tape| tape.logarithms) else { return false };
        let nodes = tape.nodes.list.get(..=id as usize).unwrap_or_default();
        // Backwards from the node: `used` marks nodes that it depends on, `inside` nodes that it depends on through a
        // logarithm.
        let (mut used, mut inside) = (vec![false; nodes.len()], vec![false; nodes.len()]);
        if let Some(last) = used.last_mut() {
            *last = true;
        }
        for (i, &node) in nodes.iter().enumerate().rev() {
            if inside[i] && matches!(node, Node::Column(_)) {
                return true;
            }
            let within = inside[i] || used[i] && is_logarithm(node);
            for operand in node.operands().map(|operand| operand as usize) {
                used[operand] |= used[i];
                inside[operand] |= within;
            }
        }
        false
    })
}

fn is_logarithm(node: Node) -> bool {
    matches!(node, Node::Unary(Unary::Ln | Unary::Ln1p | Unary::Log2 | Unary::Log10, _))
}

/// Returns the nodes that `outputs` need, renumbered in the same order, and the new numbers of the outputs.
pub(crate) fn without_dead_code(nodes: &[Node], outputs: &[Id]) -> (Vec<Node>, Vec<Id>) {
    let mut live = vec![false; nodes.len()];
    for &output in outputs {
        live[output as usize] = true;
    }
    for (i, node) in nodes.iter().enumerate().rev() {
        if live[i] {
            node.operands().for_each(|id| live[id as usize] = true);
        }
    }
    let mut renumbered = vec![0; nodes.len()];
    let mut kept = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate().filter(|&(i, _)| live[i]) {
        renumbered[i] = kept.len() as Id;
        kept.push(node.with_operands(|id| renumbered[id as usize]));
    }
    let outputs = outputs.iter().map(|&o| renumbered[o as usize]).collect();
    (kept, outputs)
}

/// Returns one value per node: true if its value depends on an independent variable and can differ between points.
pub(crate) fn depends_on_point(nodes: &[Node]) -> Vec<bool> {
    let mut depends: Vec<bool> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let here =
            matches!(node, Node::Column(_)) || node.operands().any(|id| depends[id as usize]);
        depends.push(here);
    }
    depends
}
