//! Optimisation of a tape before it becomes a program.
//!
//! Tracing has already folded constants and shared equal operations, and it never records partials that are known to
//! be 0 or 1. The remaining steps remove operations that no output needs, and find the operations that are the same at
//! every point, which a pass computes once.

use super::op::{Id, Node};

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
