//! The polynomial through the nodes around a place, by Neville's scheme.

use super::walk::Node;

/// Nodes that a polynomial goes through: three on each side.
const NODES: usize = 6;

/// Values and excesses of neighbouring nodes.
pub(super) struct Local {
    nodes: Vec<(f64, f64)>,
}

/// Those around the interval from node `left` to the next one, `without` one of them.
pub(super) fn around(nodes: &[Node], left: usize, without: Option<usize>) -> Local {
    let kept: Vec<usize> = (0..nodes.len()).filter(|&i| Some(i) != without).collect();
    let place = kept.iter().position(|&i| i >= left).unwrap_or(0);
    let first = (place + 1).saturating_sub(NODES / 2).min(kept.len().saturating_sub(NODES));
    let window = kept.iter().skip(first).take(NODES);
    Local { nodes: window.map(|&i| (nodes[i].value, nodes[i].excess)).collect() }
}

impl Local {
    /// The polynomial's value.
    pub(super) fn at(&self, x: f64) -> f64 {
        let mut values: Vec<f64> = self.nodes.iter().map(|node| node.1).collect();
        let places = &self.nodes;
        for order in 1..values.len() {
            for i in 0..values.len() - order {
                let (a, b) = (places[i].0, places[i + order].0);
                let part = (x - a) / (b - a);
                values[i] = values[i] * (1.0 - part) + values[i + 1] * part;
            }
        }
        values.first().copied().unwrap_or(f64::NAN)
    }
}
