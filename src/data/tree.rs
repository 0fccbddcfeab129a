//! Sums over pieces of points as a binary tree whose leaves are groups of pieces. Its shape depends on the numbers of the
//! groups alone: it makes no difference to a bit how many pieces come at a time, who holds which groups, nor in which
//! order neighbours are brought together.

use serde::{Deserialize, Serialize};

/// What a pass over a set of points sums up.
pub(crate) trait Summary: Send {
    /// Forgets all points.
    fn clear(&mut self);
    /// Adds the points of `other`, whose contents may be used up.
    fn merge(&mut self, other: &mut Self);
    /// Whether every sum is a finite number.
    fn is_finite(&self) -> bool;
}

/// Pieces of a group: what a fit in memory has at most, so that up to that many the bits are the same.
pub(crate) const GROUP: u64 = 256;

/// The sum of the groups `index << level .. (index + 1) << level`, of which the last may be the last of all points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Node<S> {
    level: u32,
    index: u64,
    sum: S,
}

/// A sum over consecutive pieces, the first of which begins a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tree<S> {
    /// Of the complete groups, in their order: each as large as its place allows.
    nodes: Vec<Node<S>>,
    /// Of the pieces since then, and how many they are.
    open: S,
    pieces: u64,
    /// The number of their group.
    group: u64,
}

impl<S: Summary + Clone> Tree<S> {
    /// Of no pieces; `empty` is a summary of no points. `first`: the number of the first group.
    pub(crate) fn new(empty: S, first: u64) -> Tree<S> {
        Tree { nodes: Vec::new(), open: empty, pieces: 0, group: first }
    }

    /// Whether what was read from bytes can be a sum of the pieces in `range`, each of which `fits`.
    pub(crate) fn is_sound(&self, range: std::ops::Range<u64>, fits: impl Fn(&S) -> bool) -> bool {
        let mut next = range.start / GROUP;
        let follow = self.nodes.iter().all(|node| {
            let size = 1_u64.checked_shl(node.level).unwrap_or(0);
            let is_next = size > 0 && node.index.checked_mul(size) == Some(next);
            next = next.saturating_add(size);
            is_next && fits(&node.sum)
        });
        let largest = self.nodes.windows(2).all(|pair| !are_siblings(&pair[0], &pair[1]));
        let end = self.group.checked_mul(GROUP).and_then(|begin| begin.checked_add(self.pieces));
        let ends = self.group == next && self.pieces < GROUP && end == Some(range.end);
        range.start.is_multiple_of(GROUP) && follow && largest && ends && fits(&self.open)
    }

    /// One of its summaries, all of which are of a kind in one that is sound.
    pub(crate) fn first(&self) -> &S {
        &self.open
    }

    /// Adds a piece, whose contents may be used up.
    pub(crate) fn add(&mut self, piece: &mut S) {
        self.open.merge(piece);
        self.pieces += 1;
        if self.pieces == GROUP {
            let mut empty = self.open.clone();
            empty.clear();
            let sum = std::mem::replace(&mut self.open, empty);
            self.push(Node { level: 0, index: self.group, sum });
            (self.group, self.pieces) = (self.group + 1, 0);
        }
    }

    /// Adds the pieces that follow, if `other` begins with them: where this one ends with a group.
    pub(crate) fn follow(&mut self, other: Tree<S>) -> Result<(), String> {
        let begins = other.nodes.first().map_or(other.group, |node| node.index << node.level);
        if (self.pieces, self.group) != (0, begins) {
            let Tree { pieces, group, .. } = self;
            return Err(format!(
                "one ends {pieces} piece(s) into group {group}, and the next begins with group {begins}"
            ));
        }
        let Tree { nodes, open, pieces, group } = other;
        nodes.into_iter().for_each(|node| self.push(node));
        (self.open, self.pieces, self.group) = (open, pieces, group);
        Ok(())
    }

    /// The sum of all pieces.
    pub(crate) fn sum(mut self) -> S {
        let mut total = match (self.pieces, self.nodes.pop()) {
            (0, None) => return self.open,
            (0, Some(last)) => last.sum,
            (_, last) => {
                self.nodes.extend(last);
                self.open
            }
        };
        // Merging with nothing would cost a factor its last bits.
        while let Some(mut node) = self.nodes.pop() {
            node.sum.merge(&mut total);
            total = node.sum;
        }
        total
    }

    /// Appends the node that follows, and brings siblings together.
    fn push(&mut self, node: Node<S>) {
        let mut node = node;
        while let Some(mut left) = self.nodes.pop_if(|left| are_siblings(left, &node)) {
            left.sum.merge(&mut node.sum);
            node = Node { level: left.level + 1, index: left.index / 2, sum: left.sum };
        }
        self.nodes.push(node);
    }
}

fn are_siblings<S>(left: &Node<S>, right: &Node<S>) -> bool {
    left.level == right.level && left.index.is_multiple_of(2) && right.index == left.index + 1
}
