//! What happens to a tape before it becomes a program.
//!
//! Constants were folded and equal operations shared while tracing, and the zeros and ones of dual
//! parts were never written down. What remains is to leave out the operations that no output needs,
//! and to say which operations are the same at every point, so that a pass computes them once.

use super::op::{Id, Node};

/// The nodes that `outputs` need, renumbered in the same order, and the outputs' new numbers.
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

/// For each node whether its value differs between points, because an independent variable enters it.
pub(crate) fn depends_on_point(nodes: &[Node]) -> Vec<bool> {
    let mut depends: Vec<bool> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let here =
            matches!(node, Node::Column(_)) || node.operands().any(|id| depends[id as usize]);
        depends.push(here);
    }
    depends
}
