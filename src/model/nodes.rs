//! Nodes as they are written down, equal ones once.

use super::op::{Id, Node};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Operations in their order.
#[derive(Default)]
pub(crate) struct Nodes {
    pub(crate) list: Vec<Node>,
    known: FxHashMap<Node, Id>,
}

impl Nodes {
    /// With room for so many.
    pub(crate) fn with_room(nodes: usize) -> Nodes {
        let known = FxHashMap::with_capacity_and_hasher(nodes, Default::default());
        Nodes { list: Vec::with_capacity(nodes), known }
    }

    /// Appends a node, or finds the equal one that is there.
    pub(crate) fn push(&mut self, node: Node) -> Id {
        match self.known.entry(node) {
            Entry::Occupied(there) => *there.get(),
            Entry::Vacant(room) => {
                self.list.push(node);
                *room.insert(self.list.len() as Id - 1)
            }
        }
    }
}
