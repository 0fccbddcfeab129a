//! Block structure of the parameters: each row of J has entries only for the parameters of one block and for the
//! common parameters.
//!
//! In a fit of many sets, each set has its own parameters, and some parameters are common to all sets. If the
//! parameters are ordered set by set, with the common parameters last, JᵀJ has the shape of an arrow: a block for each
//! set, a border for the products of a set's own columns with the common columns, and a corner for the products of the
//! common columns. Its triangular factor has the same shape, because the elimination of a block's columns changes only
//! the border and the corner (Björck, Numerical Methods for Least Squares Problems, 1996, section 6.3: block angular
//! problems). A problem without this structure has no blocks: all its parameters are common.
//!
//! An upper triangle of this shape is one array: a trapezoid for each block, then the square of the common columns. The
//! trapezoid of a block is stored column by column, first the block's own columns, then the common columns. It has one
//! row per own column.

use std::ops::Range;
use std::sync::Arc;

/// Block structure of a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arrow {
    /// End of the parameter range of each block.
    ends: Vec<usize>,
    /// Cumulative sums of the squared block sizes, which determine the offsets of the rows of the blocks.
    squares: Vec<usize>,
    /// Number of common parameters. They follow the blocks and share rows with all other parameters.
    common: usize,
}

/// Returns the shape of `n` parameters without blocks.
pub(crate) fn full(n: usize) -> Arc<Arrow> {
    Arc::new(Arrow::full(n))
}

impl Arrow {
    /// Returns the shape of `n` parameters without blocks.
    pub(crate) fn full(n: usize) -> Arrow {
        Arrow { common: n, ..Arrow::default() }
    }

    /// Returns the shape of blocks with the given numbers of parameters, followed by `common` common parameters.
    pub(crate) fn of(blocks: impl IntoIterator<Item = usize>, common: usize) -> Arrow {
        let mut arrow = Arrow::full(common);
        blocks.into_iter().for_each(|own| arrow.push(own));
        arrow
    }

    fn push(&mut self, own: usize) {
        self.squares.push(self.squares.last().unwrap_or(&0) + own * own);
        self.ends.push(self.first_common() + own);
    }

    /// Returns the number of parameters.
    pub(crate) fn n(&self) -> usize {
        self.first_common() + self.common
    }

    pub(crate) fn common(&self) -> usize {
        self.common
    }

    /// Returns the position of the first common parameter.
    pub(crate) fn first_common(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the block of parameter j, or `None` if the parameter is common.
    pub(crate) fn block_of(&self, j: usize) -> Option<usize> {
        (j < self.first_common()).then(|| self.ends.partition_point(|&end| end <= j))
    }

    /// Returns the parameters of each block.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let firsts = std::iter::once(0).chain(self.ends.iter().copied());
        firsts.zip(&self.ends).map(|(first, &end)| first..end)
    }

    /// Returns the parameters of block b.
    pub(crate) fn block(&self, b: usize) -> Range<usize> {
        let first = if b == 0 { 0 } else { self.ends[b - 1] };
        first..self.ends[b]
    }

    /// Returns the length of a triangle of this shape with `further` extra columns after the common columns.
    pub(crate) fn room(&self, further: usize) -> usize {
        self.room_of_blocks(further) + (self.common + further).pow(2)
    }

    /// Returns the length of the part before the square of the common columns.
    pub(crate) fn room_of_blocks(&self, further: usize) -> usize {
        self.begin(self.ends.len(), further)
    }

    /// Returns the offset of the trapezoid of block b.
    pub(crate) fn begin(&self, b: usize, further: usize) -> usize {
        match b.checked_sub(1) {
            Some(before) => self.squares[before] + self.ends[before] * (self.common + further),
            None => 0,
        }
    }

    /// Returns the offset of the products of block b. Each block has the triangle of the products of its own columns,
    /// and the products of these columns with the common columns and r.
    pub(crate) fn begin_of_products(&self, b: usize) -> usize {
        match b.checked_sub(1) {
            Some(before) => {
                let own = self.ends[before];
                (self.squares[before] + own) / 2 + own * (self.common + 1)
            }
            None => 0,
        }
    }

    /// Returns the number of blocks.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    fn trapezoid(&self, own: usize, further: usize) -> usize {
        own * (own + self.common + further)
    }

    /// Returns the parameters and the trapezoid of each block of a triangle with `further` extra columns.
    pub(crate) fn trapezoids<'a>(
        &'a self,
        mut r: &'a [f64],
        further: usize,
    ) -> impl Iterator<Item = (Range<usize>, &'a [f64])> {
        self.blocks().map(move |own| {
            let part;
            (part, r) = r.split_at(self.trapezoid(own.len(), further));
            (own, part)
        })
    }

    /// Mutable version of [`trapezoids`](Self::trapezoids).
    pub(crate) fn trapezoids_mut<'a>(
        &'a self,
        mut r: &'a mut [f64],
        further: usize,
    ) -> impl Iterator<Item = (Range<usize>, &'a mut [f64])> {
        self.blocks().map(move |own| {
            let (part, rest) =
                std::mem::take(&mut r).split_at_mut(self.trapezoid(own.len(), further));
            r = rest;
            (own, part)
        })
    }

    /// Returns the square of the common columns of a triangle with `further` extra columns.
    pub(crate) fn corner<'a>(&self, r: &'a [f64], further: usize) -> &'a [f64] {
        &r[self.room_of_blocks(further)..]
    }

    /// Mutable version of [`corner`](Self::corner).
    pub(crate) fn corner_mut<'a>(&self, r: &'a mut [f64], further: usize) -> &'a mut [f64] {
        &mut r[self.room_of_blocks(further)..]
    }

    /// Sets the shape to the shape of the parameters `kept` (ascending) of a problem of shape `all`. A block remains
    /// even if it becomes empty.
    pub(crate) fn keep(&mut self, all: &Arrow, kept: &[usize]) {
        self.ends.clear();
        self.squares.clear();
        let mut before = 0;
        for &end in &all.ends {
            let own = kept[before..].partition_point(|&j| j < end);
            self.push(own);
            before += own;
        }
        self.common = kept.len() - before;
    }
}

#[cfg(test)]
mod tests {
    use super::Arrow;

    #[test]
    fn a_shape_knows_its_places() {
        let arrow = Arrow::of([2, 0, 1], 2);
        assert_eq!((arrow.n(), arrow.first_common(), arrow.common()), (5, 3, 2));
        assert_eq!(arrow.blocks().collect::<Vec<_>>(), [0..2, 2..2, 2..3]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|j| arrow.block_of(j)),
            [Some(0), Some(0), Some(2), None, None]
        );
        // 2 × 5, none, 1 × 4, 3 × 3.
        assert_eq!(arrow.room(1), 10 + 4 + 9);
        assert_eq!([0, 1, 2, 3].map(|b| arrow.begin(b, 1)), [0, 10, 10, 14]);
        // 3 + 2 × 3, none, 1 + 3.
        assert_eq!([0, 1, 2, 3].map(|b| arrow.begin_of_products(b)), [0, 9, 9, 13]);
        let mut some = Arrow::default();
        some.keep(&arrow, &[1, 2, 4]);
        assert_eq!(some, Arrow::of([1, 0, 1], 1));
        assert_eq!(Arrow::full(3).blocks().count(), 0);
    }
}
