//! Which parameters meet in the rows of a problem: those of a block meet each other and the common ones.
//!
//! In a fit of many sets each set has parameters of its own, and all share some. Ordered set by set, the common ones
//! last, JᵀJ has the shape of an arrow: a block for each set, a border, and a corner. Its triangular factor has the
//! same shape, since what eliminates a block's columns touches the border and the corner alone (Björck, Numerical
//! Methods for Least Squares Problems, 1996, section 6.3: block angular problems). A problem without such a structure
//! has no blocks and common parameters only.
//!
//! An upper triangle of this shape is one array: for each block its rows, a trapezoid of as many rows as it has
//! columns of its own, those in front, column by column; then the square of the common columns.

use std::ops::Range;
use std::sync::Arc;

/// The shape of a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arrow {
    /// Where the parameters of each block end.
    ends: Vec<usize>,
    /// The sum of the squares of their numbers in each block and those before it, which says where its rows begin.
    squares: Vec<usize>,
    /// Parameters behind those of all blocks, which meet all others.
    common: usize,
}

/// Of `n` parameters that all meet each other.
pub(crate) fn full(n: usize) -> Arc<Arrow> {
    Arc::new(Arrow::full(n))
}

impl Arrow {
    /// Of `n` parameters that all meet each other.
    pub(crate) fn full(n: usize) -> Arrow {
        Arrow { common: n, ..Arrow::default() }
    }

    /// Of blocks of so many parameters, and `common` ones behind them.
    pub(crate) fn of(blocks: impl IntoIterator<Item = usize>, common: usize) -> Arrow {
        let mut arrow = Arrow::full(common);
        blocks.into_iter().for_each(|own| arrow.push(own));
        arrow
    }

    fn push(&mut self, own: usize) {
        self.squares.push(self.squares.last().unwrap_or(&0) + own * own);
        self.ends.push(self.first_common() + own);
    }

    /// Parameters.
    pub(crate) fn n(&self) -> usize {
        self.first_common() + self.common
    }

    pub(crate) fn common(&self) -> usize {
        self.common
    }

    /// The position of the first common parameter.
    pub(crate) fn first_common(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.ends.is_empty()
    }

    /// The block that parameter j belongs to, if it is no common one.
    pub(crate) fn block_of(&self, j: usize) -> Option<usize> {
        (j < self.first_common()).then(|| self.ends.partition_point(|&end| end <= j))
    }

    /// The parameters of each block.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let firsts = std::iter::once(0).chain(self.ends.iter().copied());
        firsts.zip(&self.ends).map(|(first, &end)| first..end)
    }

    /// The parameters of block b.
    pub(crate) fn block(&self, b: usize) -> Range<usize> {
        let first = if b == 0 { 0 } else { self.ends[b - 1] };
        first..self.ends[b]
    }

    /// Numbers of a triangle of this shape with `further` columns behind the common ones.
    pub(crate) fn room(&self, further: usize) -> usize {
        self.room_of_blocks(further) + (self.common + further).pow(2)
    }

    /// Those before the square of the common columns.
    pub(crate) fn room_of_blocks(&self, further: usize) -> usize {
        self.begin(self.ends.len(), further)
    }

    /// Where the trapezoid of block b begins.
    pub(crate) fn begin(&self, b: usize, further: usize) -> usize {
        match b.checked_sub(1) {
            Some(before) => self.squares[before] + self.ends[before] * (self.common + further),
            None => 0,
        }
    }

    /// Numbers of the triangles of the products of the blocks before b, each of its own columns, with their
    /// products with the common ones and r.
    pub(crate) fn begin_of_products(&self, b: usize) -> usize {
        match b.checked_sub(1) {
            Some(before) => {
                let own = self.ends[before];
                (self.squares[before] + own) / 2 + own * (self.common + 1)
            }
            None => 0,
        }
    }

    /// Blocks.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    fn trapezoid(&self, own: usize, further: usize) -> usize {
        own * (own + self.common + further)
    }

    /// The parameters and the trapezoid of each block, of a triangle with `further` columns.
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

    /// As [`trapezoids`](Self::trapezoids).
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

    /// The square of the common columns of such a triangle.
    pub(crate) fn corner<'a>(&self, r: &'a [f64], further: usize) -> &'a [f64] {
        &r[self.room_of_blocks(further)..]
    }

    /// As [`corner`](Self::corner).
    pub(crate) fn corner_mut<'a>(&self, r: &'a mut [f64], further: usize) -> &'a mut [f64] {
        &mut r[self.room_of_blocks(further)..]
    }

    /// Becomes the shape of the parameters `kept`, block by block, of the problem of shape `all`.
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
