//! Matrices with one row per parameter, which store the factor of the covariance and the undetermined directions.
//!
//! In a fit of many sets, the row of a set's own parameter has entries only in the columns of the set and in the common
//! columns. Therefore the memory grows with the number of sets, and not with its square.

use nalgebra::DMatrix;

/// A matrix of p rows: common columns, in which all rows may have entries, and blocks of some rows with own columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BlockMatrix {
    pub(super) common: DMatrix<f64>,
    pub(super) blocks: Vec<Block>,
    /// Block of each row, and position in this block; empty without blocks.
    places: Vec<Option<(usize, usize)>>,
}

/// The rows of a block in its own columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// Positions of the rows in the matrix.
    pub(super) rows: Vec<usize>,
    pub(super) values: DMatrix<f64>,
}

/// Returns the product; 0 if `a` is 0, even if `b` is infinite or NaN.
fn product(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a * b }
}

impl From<DMatrix<f64>> for BlockMatrix {
    fn from(common: DMatrix<f64>) -> BlockMatrix {
        BlockMatrix { common, blocks: Vec::new(), places: Vec::new() }
    }
}

impl BlockMatrix {
    /// Creates a matrix; no two blocks may have a row in common.
    pub(super) fn of(common: DMatrix<f64>, blocks: Vec<Block>) -> BlockMatrix {
        let mut places = vec![None; if blocks.is_empty() { 0 } else { common.nrows() }];
        for (b, block) in blocks.iter().enumerate() {
            block.rows.iter().enumerate().for_each(|(i, &k)| places[k] = Some((b, i)));
        }
        BlockMatrix { common, blocks, places }
    }

    /// Returns the number of columns: those of all blocks and the common ones.
    pub(crate) fn ncols(&self) -> usize {
        self.blocks.iter().map(|block| block.values.ncols()).sum::<usize>() + self.common.ncols()
    }

    /// Returns the matrix multiplied by `factor`.
    pub(super) fn times(&self, factor: f64) -> BlockMatrix {
        let block =
            |block: &Block| Block { rows: block.rows.clone(), values: &block.values * factor };
        BlockMatrix {
            common: &self.common * factor,
            blocks: self.blocks.iter().map(block).collect(),
            places: self.places.clone(),
        }
    }

    #[cfg(feature = "json")]
    pub(crate) fn is_finite(&self) -> bool {
        let parts = self.blocks.iter().map(|block| &block.values).chain([&self.common]);
        parts.flat_map(DMatrix::iter).all(|v| v.is_finite())
    }

    fn place(&self, k: usize) -> Option<(usize, usize)> {
        self.places.get(k).copied().flatten()
    }

    /// Returns the entries of row k in the columns in which row i can have entries, too.
    fn shared(&self, k: usize, i: usize) -> impl Iterator<Item = f64> {
        let own = self.place(k).filter(|(block, _)| self.place(i).is_some_and(|p| p.0 == *block));
        let own = own.into_iter().flat_map(|(b, r)| {
            let values = &self.blocks[b].values;
            (0..values.ncols()).map(move |c| values[(r, c)])
        });
        own.chain((0..self.common.ncols()).map(move |c| self.common[(k, c)]))
    }

    /// Returns all entries of row k that can differ from 0.
    pub(super) fn row(&self, k: usize) -> Vec<f64> {
        self.shared(k, k).collect()
    }

    /// Returns the cosine of the angle between rows i and j, whose lengths are a and b.
    pub(super) fn cosine(&self, (i, a): (usize, f64), (j, b): (usize, f64)) -> f64 {
        let pairs = self.shared(i, j).zip(self.shared(j, i));
        pairs.map(|(x, y)| (x / a) * (y / b)).sum::<f64>().clamp(-1.0, 1.0)
    }

    /// Computes Aᵀg: the blocks, then the common columns. Entries of 0 contribute 0 for any g.
    pub(crate) fn along(&self, g: &[f64]) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.ncols());
        for Block { rows, values } in &self.blocks {
            let entry = |column: usize| {
                let column = values.column(column);
                column.iter().zip(rows).map(|(a, &k)| product(*a, g[k])).sum::<f64>()
            };
            all.extend((0..values.ncols()).map(entry));
        }
        all.extend(
            self.common
                .column_iter()
                .map(|column| column.iter().zip(g).map(|(a, g)| product(*a, *g)).sum::<f64>()),
        );
        all
    }

    /// Computes A·v for a vector in the order of [`along`](BlockMatrix::along). Entries of 0 contribute 0.
    pub(super) fn apply(&self, v: &[f64]) -> Vec<f64> {
        let (own, common) = v.split_at(v.len() - self.common.ncols());
        let dot = |row: &mut dyn Iterator<Item = &f64>, v: &[f64]| -> f64 {
            row.zip(v).map(|(a, v)| product(*a, *v)).sum()
        };
        let mut all: Vec<f64> =
            self.common.row_iter().map(|row| dot(&mut row.iter(), common)).collect();
        let mut first = 0;
        for Block { rows, values } in &self.blocks {
            let part = &own[first..first + values.ncols()];
            first += values.ncols();
            for (row, &k) in values.row_iter().zip(rows) {
                all[k] += dot(&mut row.iter(), part);
            }
        }
        all
    }

    /// Returns the rows `keep`, restricted to the columns in which they can have entries.
    pub(super) fn select_rows(&self, keep: &[usize]) -> DMatrix<f64> {
        let mut blocks: Vec<usize> = keep.iter().filter_map(|&k| Some(self.place(k)?.0)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let own: usize = blocks.iter().map(|&b| self.blocks[b].values.ncols()).sum();
        let mut out = DMatrix::zeros(keep.len(), own + self.common.ncols());
        for (i, &k) in keep.iter().enumerate() {
            if let Some((b, r)) = self.place(k) {
                let before = blocks.iter().take_while(|&&other| other < b);
                let first: usize = before.map(|&b| self.blocks[b].values.ncols()).sum();
                let row = self.blocks[b].values.row(r);
                row.iter().enumerate().for_each(|(c, &value)| out[(i, first + c)] = value);
            }
            let row = self.common.row(k);
            row.iter().enumerate().for_each(|(c, &value)| out[(i, own + c)] = value);
        }
        out
    }

    /// Sets row t to a weighted sum of other rows. Row t then belongs to the block of the other rows. If these belong
    /// to several blocks, all columns become common.
    pub(super) fn combine(&mut self, t: usize, weights: &[(usize, f64)]) {
        let mut block = None;
        for &(k, weight) in weights {
            let Some((b, _)) = self.place(k).filter(|_| weight != 0.0) else { continue };
            if block.is_some_and(|other| other != b) {
                *self = BlockMatrix::from(self.filled());
                block = None;
                break;
            }
            block = Some(b);
        }
        for c in 0..self.common.ncols() {
            let terms = weights.iter().map(|&(k, w)| product(self.common[(k, c)], w));
            self.common[(t, c)] = terms.sum();
        }
        let Some(b) = block else { return };
        let own = weights
            .iter()
            .filter_map(|&(k, w)| Some((self.place(k).filter(|place| place.0 == b)?.1, w)));
        let own: Vec<(usize, f64)> = own.collect();
        let Block { rows, values } = &mut self.blocks[b];
        let at = values.nrows();
        let grown = std::mem::replace(values, DMatrix::zeros(0, 0)).insert_row(at, 0.0);
        *values = grown;
        for c in 0..values.ncols() {
            values[(at, c)] = own.iter().map(|&(r, w)| product(values[(r, c)], w)).sum();
        }
        rows.push(t);
        self.places[t] = Some((b, at));
    }

    /// Returns the same matrix without blocks: all columns are common.
    fn filled(&self) -> DMatrix<f64> {
        let mut out = DMatrix::zeros(self.common.nrows(), self.ncols());
        let mut first = 0;
        for Block { rows, values } in &self.blocks {
            for (i, &k) in rows.iter().enumerate() {
                (0..values.ncols()).for_each(|c| out[(k, first + c)] = values[(i, c)]);
            }
            first += values.ncols();
        }
        out.columns_mut(first, self.common.ncols()).copy_from(&self.common);
        out
    }
}
