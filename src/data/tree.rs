//! Sums over pieces of points as a binary tree. Its shape depends on the numbers of the pieces alone: it makes no difference
//! to a bit how many pieces come at a time, which thread, process or machine has which, nor in which order neighbours are
//! brought together.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Sums of a pass over a set of points.
pub(crate) trait Summary: Send {
    /// Forgets all points.
    fn clear(&mut self);
    /// Adds the points of `other`, whose contents may be used up.
    fn merge(&mut self, other: &mut Self);
    /// Returns true if every sum is finite.
    fn is_finite(&self) -> bool;

    /// Returns true if it has the same number of sums as `other`, so that they can be merged.
    fn is_like(&self, _other: &Self) -> bool {
        true
    }
}

/// Pieces of a group: what different processes hold begins with one.
pub(crate) const GROUP: u64 = 256;

/// The sum of some consecutive pieces.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Node<S> {
    /// The number of the first of them.
    first: u64,
    pieces: u64,
    sum: S,
}

impl<S> Node<S> {
    fn end(&self) -> Option<u64> {
        self.first.checked_add(self.pieces)
    }

    /// Returns true for a node of the tree: the number of its pieces is a power of two, and its position is a multiple of it.
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
    /// In their order, each as large as its place allows.
    nodes: Vec<Node<S>>,
    /// The number of the piece that follows.
    next: u64,
    /// Sums whose memory is used again.
    #[serde(skip, default = "Vec::new")]
    spare: Vec<S>,
}

impl<S> Default for Tree<S> {
    fn default() -> Tree<S> {
        Tree { nodes: Vec::new(), next: 0, spare: Vec::new() }
    }
}

impl<S: Summary + Clone> Tree<S> {
    /// Of no pieces, before number `next`.
    pub(crate) fn new(next: u64) -> Tree<S> {
        Tree { next, ..Tree::default() }
    }

    /// Returns true if a tree that was read from bytes can be a sum of the pieces in `range`, the first of which begins a group; each
    /// sum must satisfy `fits`.
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

    /// The number of the piece that follows.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The sums that it consists of, in the order of their pieces.
    pub(crate) fn sums(&self) -> impl Iterator<Item = &S> {
        self.nodes.iter().map(|node| &node.sum)
    }

    /// Forgets all pieces: the next one is number `next`.
    pub(crate) fn restart(&mut self, next: u64) {
        self.spare.extend(self.nodes.drain(..).map(|node| node.sum));
        self.next = next;
    }

    /// Adds a piece, whose contents are used up.
    pub(crate) fn add(&mut self, piece: &mut S) {
        self.add_all(1, piece);
    }

    /// Adds the sum of `pieces` pieces, which form a node of the tree or are the last; the contents of `all` are consumed.
    pub(crate) fn add_all(&mut self, pieces: u64, all: &mut S) {
        let mut sum = self.spare.pop().unwrap_or_else(|| all.clone());
        std::mem::swap(&mut sum, all);
        self.push(Node { first: self.next, pieces, sum });
    }

    /// Takes the pieces of `other`, which follow.
    pub(crate) fn take(&mut self, other: &mut Tree<S>) {
        for node in other.nodes.drain(..) {
            self.push(node);
            // As many sums as came, so that neither grows from pass to pass.
            other.spare.extend(self.spare.pop());
        }
    }

    /// Adds the pieces that follow, as others have summed them up: where this one ends with a group, and `other` begins there.
    ///
    /// # Errors
    /// In words, if they do not follow.
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

    /// Brings the sums behind the last group together: only nothing can follow. Those who hold the last points send less.
    pub(crate) fn close(&mut self) {
        let whole = self.nodes.iter().rposition(|node| node.pieces >= GROUP).map_or(0, |at| at + 1);
        while self.nodes.len() > whole + 1 {
            self.merge_last();
        }
    }

    /// The sum of all pieces; `None` if there are none.
    pub(crate) fn sum(mut self) -> Option<S> {
        self.merge_all();
        self.nodes.pop().map(|node| node.sum)
    }

    /// Puts the sum of all pieces into `out`, and forgets them.
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

    /// Appends the node that follows, and brings siblings together.
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
