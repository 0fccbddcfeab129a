//! Sums over pieces of points as a binary tree. Its shape depends on the numbers of the pieces alone. Therefore the
//! result is the same to the last bit for any number of pieces at a time, any distribution of pieces over threads,
//! processes and machines, and any order of merging adjacent sums.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Sums of a pass over a set of points.
pub(crate) trait Summary: Send {
    /// Resets the sums to those of no points.
    fn clear(&mut self);
    /// Adds the points of `other`, whose contents may be consumed.
    fn merge(&mut self, other: &mut Self);
    /// Returns true if every sum is finite.
    fn is_finite(&self) -> bool;

    /// Returns true if the number of sums is the same as in `other`, so that both can be merged.
    fn is_like(&self, _other: &Self) -> bool {
        true
    }
}

/// Number of pieces of a group. The points of each part of a distributed fit begin with a group.
pub(crate) const GROUP: u64 = 256;

/// The sum of some consecutive pieces.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Node<S> {
    /// Number of the first piece.
    first: u64,
    pieces: u64,
    sum: S,
}

impl<S> Node<S> {
    fn end(&self) -> Option<u64> {
        self.first.checked_add(self.pieces)
    }

    /// Returns true for a full node of the tree: the number of its pieces is a power of two, and the number of its
    /// first piece is a multiple of it.
    fn is_complete(&self) -> bool {
        self.pieces.is_power_of_two() && self.first.is_multiple_of(self.pieces)
    }

    /// Returns true if `right` is the other half of the parent node.
    fn is_sibling(&self, right: &Node<S>) -> bool {
        let pair = self.pieces.checked_mul(2);
        self.pieces == right.pieces
            && self.is_complete()
            && pair.is_some_and(|pair| self.first.is_multiple_of(pair))
            && self.end() == Some(right.first)
    }
}

/// A sum over consecutive pieces.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tree<S> {
    /// Nodes in order. Siblings are always merged.
    nodes: Vec<Node<S>>,
    /// Number of the next piece.
    next: u64,
    /// Sums whose memory is reused.
    #[serde(skip, default = "Vec::new")]
    spare: Vec<S>,
}

impl<S> Default for Tree<S> {
    fn default() -> Tree<S> {
        Tree { nodes: Vec::new(), next: 0, spare: Vec::new() }
    }
}

impl<S: Summary + Clone> Tree<S> {
    /// Creates a tree without pieces. `next`: number of the first piece to be added.
    pub(crate) fn new(next: u64) -> Tree<S> {
        Tree { next, ..Tree::default() }
    }

    /// Returns true if this tree, which was read from bytes, is a valid sum of the pieces in `range`: the range begins
    /// with a group, and each sum satisfies `fits`.
    pub(crate) fn is_sound(&self, range: Range<u64>, fits: impl Fn(&S) -> bool) -> bool {
        let mut next = range.start;
        let mut follows = |node: &Node<S>| {
            let is_next = node.first == next && node.pieces > 0;
            next = node.end().unwrap_or(0);
            is_next && fits(&node.sum)
        };
        let follow = self.nodes.iter().all(&mut follows);
        let largest = self.nodes.windows(2).all(|pair| !pair[0].is_sibling(&pair[1]));
        let is_last = |node: &Node<S>| node.pieces < GROUP && node.first.is_multiple_of(GROUP);
        let in_place = match self.nodes.split_last() {
            None => true,
            Some((last, others)) => {
                others.iter().all(Node::is_complete) && (last.is_complete() || is_last(last))
            }
        };
        let begins = range.start.is_multiple_of(GROUP);
        begins && follow && largest && in_place && next == range.end && self.next == range.end
    }

    /// Returns the number of the next piece.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the sums of the nodes, in the order of their pieces.
    pub(crate) fn sums(&self) -> impl Iterator<Item = &S> {
        self.nodes.iter().map(|node| &node.sum)
    }

    /// Removes all pieces. `next`: number of the next piece.
    pub(crate) fn restart(&mut self, next: u64) {
        self.spare.extend(self.nodes.drain(..).map(|node| node.sum));
        self.next = next;
    }

    /// Adds a piece, whose contents are consumed.
    pub(crate) fn add(&mut self, piece: &mut S) {
        self.add_all(1, piece);
    }

    /// Adds the sum of `pieces` pieces, which form a full node of the tree or are the last pieces. The contents of
    /// `all` are consumed.
    pub(crate) fn add_all(&mut self, pieces: u64, all: &mut S) {
        let mut sum = self.spare.pop().unwrap_or_else(|| all.clone());
        std::mem::swap(&mut sum, all);
        self.push(Node { first: self.next, pieces, sum });
    }

    /// Moves the pieces of `other`, which must follow, into this tree.
    pub(crate) fn take(&mut self, other: &mut Tree<S>) {
        for node in other.nodes.drain(..) {
            self.push(node);
            // Return one spare sum per node, so that neither tree grows from pass to pass.
            other.spare.extend(self.spare.pop());
        }
    }

    /// Adds the next pieces, which are already summed in `other`. This tree must end at the end of a group, and `other`
    /// must begin there.
    ///
    /// # Errors
    /// A message if `other` does not follow, or if its sums have another shape.
    pub(crate) fn follow(&mut self, other: Tree<S>) -> Result<(), String> {
        let (ends, mut other) = (self.next, other);
        let begins = other.nodes.first().map_or(other.next, |node| node.first);
        if ends != begins || !ends.is_multiple_of(GROUP) {
            return Err(format!(
                "one ends before piece {ends}, the next begins with piece {begins}, and a group of them has {GROUP}"
            ));
        }
        if let (Some(mine), Some(more)) = (self.sums().next(), other.sums().next())
            && !mine.is_like(more)
        {
            return Err("their sums are not of one model".into());
        }
        self.take(&mut other);
        Ok(())
    }

    /// Merges the sums after the last whole group, which shortens the message of the part with the last points. No
    /// pieces can be added afterwards.
    pub(crate) fn close(&mut self) {
        let whole = self.nodes.iter().rposition(|node| node.pieces >= GROUP).map_or(0, |at| at + 1);
        while self.nodes.len() > whole + 1 {
            self.merge_last();
        }
    }

    /// Returns the sum of all pieces; `None` if there are no pieces.
    pub(crate) fn sum(mut self) -> Option<S> {
        self.merge_all();
        self.nodes.pop().map(|node| node.sum)
    }

    /// Stores the sum of all pieces in `out`, and removes all pieces.
    pub(crate) fn sum_into(&mut self, out: &mut S) {
        self.merge_all();
        match self.nodes.pop() {
            None => out.clear(),
            Some(mut node) => {
                std::mem::swap(out, &mut node.sum);
                self.spare.push(node.sum);
            }
        }
    }

    fn merge_all(&mut self) {
        while self.nodes.len() > 1 {
            self.merge_last();
        }
    }

    /// Merges the last two nodes.
    fn merge_last(&mut self) {
        let Some(mut right) = self.nodes.pop() else { return };
        let Some(left) = self.nodes.last_mut() else { return };
        left.sum.merge(&mut right.sum);
        left.pieces += right.pieces;
        self.spare.push(right.sum);
    }

    /// Appends the next node, and merges siblings.
    fn push(&mut self, node: Node<S>) {
        self.next = node.first + node.pieces;
        self.nodes.push(node);
        while let [.., left, right] = &self.nodes[..]
            && left.is_sibling(right)
        {
            self.merge_last();
        }
    }
}
