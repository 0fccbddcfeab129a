//! Summaries of a set of points: the normal equations, which are sums over the points, and the triangular factor of
//! their rows.

use super::Summary;
use super::arrow::{Arrow, full};
use super::influence::Influence;
use super::small::fold_few;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// JᵀJ, Jᵀr, rᵀr and the cost of a set of points. J has one row per point and one column per free parameter. Rows of J
/// and residuals are weighted by 1/σ. Under a loss and for counts, JᵀJ is the Gauss-Newton matrix of the cost, Jᵀr is its
/// gradient (`docs/mathematics.md`, section 2), and rᵀr is not used: on the CPU it is 0, or NaN if the gradient of a point
/// is not finite.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Normal {
    /// Number of free parameters.
    pub(crate) n: usize,
    /// Upper triangle, packed by columns, of the Gram matrix of the n + 1 columns [J r]: the product of columns i ≤ j
    /// is at [`pair`]`(i, j)`. If the [shape](super::arrow) has blocks, the array begins with one part per block: the
    /// products of the block's own columns with each other, with the common columns and with r, at [`pair_of_block`].
    /// The triangle of the common columns and r follows.
    pub(crate) products: Vec<f64>,
    /// Half the sum of the squared residuals or, with a robust loss, of their losses.
    pub(crate) cost: f64,
    /// Block structure, if any. Saved and transmitted summaries do not contain it.
    #[serde(skip)]
    shape: Option<Arc<Arrow>>,
}

impl Normal {
    /// Returns true if a deserialized summary is valid for `n` free parameters.
    pub(crate) fn is_of(&self, n: usize) -> bool {
        self.n == n && n < self.products.len() && self.products.len() == pair(0, n + 1)
    }
}

impl Clone for Normal {
    fn clone(&self) -> Normal {
        let (n, cost, shape) = (self.n, self.cost, self.shape.clone());
        Normal { n, products: self.products.clone(), cost, shape }
    }

    /// Reuses the existing memory; the derived method would allocate.
    fn clone_from(&mut self, source: &Normal) {
        (self.n, self.cost) = (source.n, source.cost);
        self.products.clone_from(&source.products);
        self.shape.clone_from(&source.shape);
    }
}

/// Returns the position of the product of columns i ≤ j in [`Normal::products`].
pub(crate) const fn pair(i: usize, j: usize) -> usize {
    debug_assert!(i <= j);
    j * (j + 1) / 2 + i
}

/// Returns the position of the product of columns i ≤ j in a block of `own` columns. Column i is an own column;
/// column j may be an own column, a common column or r.
pub(crate) const fn pair_of_block(i: usize, j: usize, own: usize) -> usize {
    if j < own { pair(i, j) } else { pair(0, own) + (j - own) * own + i }
}

impl Normal {
    /// Creates the summary of no points, for `n` free parameters.
    pub(crate) fn zero(n: usize) -> Normal {
        Normal::of(n, vec![0.0; pair(0, n + 1)], 0.0)
    }

    /// Creates a summary from given sums, for `n` free parameters.
    pub(crate) fn of(n: usize, products: Vec<f64>, cost: f64) -> Normal {
        Normal { n, products, cost, shape: None }
    }

    /// Creates the summary of no points, for free parameters of this shape.
    pub(crate) fn shaped(shape: &Arc<Arrow>) -> Normal {
        if shape.is_full() {
            return Normal::zero(shape.n());
        }
        let room = shape.begin_of_products(shape.count()) + pair(0, shape.common() + 1);
        Normal { n: shape.n(), products: vec![0.0; room], cost: 0.0, shape: Some(shape.clone()) }
    }

    /// Returns the block structure, if any.
    pub(crate) fn shape(&self) -> Option<&Arc<Arrow>> {
        self.shape.as_ref()
    }

    /// Returns (JᵀJ)ᵢⱼ. Valid only for parameters without blocks.
    pub(crate) fn jtj(&self, i: usize, j: usize) -> f64 {
        self.products[pair(i.min(j), i.max(j))]
    }

    /// Returns (Jᵀr)ᵢ.
    pub(crate) fn jtr(&self, i: usize) -> f64 {
        self.products[self.places(i)[1]]
    }

    /// Returns the positions of the products of column j with itself and with r.
    fn places(&self, j: usize) -> [usize; 2] {
        let Some(shape) = self.shape() else { return [pair(j, j), pair(j, self.n)] };
        let common = shape.common();
        match shape.block_of(j) {
            Some(b) => {
                let (own, begin) = (shape.block(b), shape.begin_of_products(b));
                let (i, m) = (j - own.start, own.len());
                [pair(i, i), pair_of_block(i, m + common, m)].map(|place| begin + place)
            }
            None => {
                let (i, begin) =
                    (j - shape.first_common(), self.products.len() - pair(0, common + 1));
                [pair(i, i), pair(i, common)].map(|place| begin + place)
            }
        }
    }

    /// Adds a row that has an entry in at most one column, and the residual of this row.
    pub(crate) fn add_row(&mut self, column: Option<(usize, f64)>, residual: f64) {
        self.cost += 0.5 * residual * residual;
        let last = self.products.len() - 1;
        self.products[last] += residual * residual;
        if let Some((j, partial)) = column {
            let [square, slope] = self.places(j);
            self.products[square] += partial * partial;
            self.products[slope] += partial * residual;
        }
    }

    /// Returns (JᵀJ)ⱼⱼ and (Jᵀr)ⱼ for all j.
    pub(crate) fn lengths_and_slopes(&self) -> impl Iterator<Item = (f64, f64)> {
        let common = self.shape().map_or(self.n, |shape| shape.common());
        let own = self.blocks().flat_map(move |(own, products)| {
            let m = own.len();
            let at = move |i: usize, j: usize| products[pair_of_block(i, j, m)];
            (0..m).map(move |j| (at(j, j), at(j, m + common)))
        });
        let corner = self.corner();
        own.chain((0..common).map(move |j| (corner[pair(j, j)], corner[pair(j, common)])))
    }

    /// Returns the parameters and the products of each block.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (Range<usize>, &[f64])> {
        let mut rest = &self.products[..];
        let shape = self.shape.as_deref();
        let common = shape.map_or(self.n, Arrow::common);
        shape.into_iter().flat_map(Arrow::blocks).map(move |own| {
            let part;
            (part, rest) = rest.split_at(pair_of_block(0, own.len() + common + 1, own.len()));
            (own, part)
        })
    }

    /// Returns the products of each block, and the products of the common columns and r.
    pub(crate) fn parts_mut(
        &mut self,
    ) -> (impl Iterator<Item = (Range<usize>, &mut [f64])>, &mut [f64]) {
        let shape = self.shape.as_deref();
        let common = shape.map_or(self.n, Arrow::common);
        let begin = self.products.len() - pair(0, common + 1);
        let (mut rest, corner) = self.products.split_at_mut(begin);
        let blocks = shape.into_iter().flat_map(Arrow::blocks).map(move |own| {
            let room = pair_of_block(0, own.len() + common + 1, own.len());
            let (part, others) = std::mem::take(&mut rest).split_at_mut(room);
            rest = others;
            (own, part)
        });
        (blocks, corner)
    }

    /// Returns the products of the common columns and r.
    pub(crate) fn corner(&self) -> &[f64] {
        let common = self.shape().map_or(self.n, |shape| shape.common());
        &self.products[self.products.len() - pair(0, common + 1)..]
    }
}

impl Summary for Normal {
    fn clear(&mut self) {
        self.products.fill(0.0);
        self.cost = 0.0;
    }

    fn merge(&mut self, other: &mut Normal) {
        for (sum, part) in self.products.iter_mut().zip(&other.products) {
            *sum += part;
        }
        self.cost += other.cost;
    }

    fn is_finite(&self) -> bool {
        self.cost.is_finite() && self.products.iter().all(|s| s.is_finite())
    }

    fn is_like(&self, other: &Normal) -> bool {
        self.n == other.n && self.shape == other.shape
    }
}

/// The upper triangular matrix R with RᵀR = [J r]ᵀ[J r]. Its first n columns are the R factor of J. The last column
/// contains Qᵀr and, on the diagonal, the norm of the part of r that is orthogonal to the columns of J. R is equivalent
/// to the normal equations, but its condition number is not squared (Golub and Van Loan, Matrix Computations,
/// section 5.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RFactor {
    /// Number of free parameters.
    pub(crate) n: usize,
    /// R as a matrix of (n + 1) × (n + 1), column-major; if the shape has blocks, a triangle of this shape with one
    /// extra column for r.
    pub(crate) r: Vec<f64>,
    /// Sums for a robust loss; zeros without a robust loss.
    pub(crate) influence: Influence,
    /// Block structure, if any. Saved and transmitted summaries do not contain it.
    #[serde(skip)]
    pub(super) shape: Option<Arc<Arrow>>,
}

impl RFactor {
    /// Returns true if a deserialized factor is valid for `n` free parameters.
    pub(crate) fn is_of(&self, n: usize) -> bool {
        self.n == n && n < self.r.len() && self.r.len() == (n + 1) * (n + 1)
    }

    /// Creates the factor of no points, for `n` free parameters.
    pub(crate) fn zero(n: usize) -> RFactor {
        RFactor::of(n, vec![0.0; (n + 1) * (n + 1)], Influence::default())
    }

    /// Creates a factor from a given triangle, for `n` free parameters.
    pub(crate) fn of(n: usize, r: Vec<f64>, influence: Influence) -> RFactor {
        RFactor { n, r, influence, shape: None }
    }

    /// Creates the factor of no points, for free parameters of this shape.
    pub(crate) fn shaped(shape: &Arc<Arrow>) -> RFactor {
        if shape.is_full() {
            return RFactor::zero(shape.n());
        }
        let (n, r) = (shape.n(), vec![0.0; shape.room(1)]);
        RFactor { n, r, influence: Influence::default(), shape: Some(shape.clone()) }
    }

    /// Returns the block structure, if any.
    pub(crate) fn shape(&self) -> Option<&Arc<Arrow>> {
        self.shape.as_ref()
    }

    /// Returns the shape of the free parameters; it has no blocks if there is no block structure.
    pub(crate) fn arrow(&self) -> Arc<Arrow> {
        self.shape.clone().unwrap_or_else(|| full(self.n))
    }

    /// Returns the rows of each block, and the triangle of the common columns and r.
    pub(crate) fn parts_mut(
        &mut self,
    ) -> (impl Iterator<Item = (Range<usize>, &mut [f64])>, &mut [f64]) {
        let shape = self.shape.as_deref();
        let begin = shape.map_or(0, |shape| shape.room_of_blocks(1));
        let (blocks, corner) = self.r.split_at_mut(begin);
        (shape.map(|shape| shape.trapezoids_mut(blocks, 1)).into_iter().flatten(), corner)
    }

    /// Immutable version of [`parts_mut`](Self::parts_mut).
    pub(crate) fn parts(&self) -> (impl Iterator<Item = (Range<usize>, &[f64])>, &[f64]) {
        let shape = self.shape.as_deref();
        let begin = shape.map_or(0, |shape| shape.room_of_blocks(1));
        let (blocks, corner) = self.r.split_at(begin);
        (shape.map(|shape| shape.trapezoids(blocks, 1)).into_iter().flatten(), corner)
    }

    /// Returns Rᵢⱼ of the factor of J, or (Qᵀr)ᵢ if j = n; only for parameters without blocks.
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.r[j * (self.n + 1) + i]
    }

    /// Folds `m` rows into the factor; column j is at `rows[j * m..][..m]`. The contents of `rows` are undefined
    /// afterwards. If the factor is zero and the rows are a triangle, they are copied unchanged.
    pub(crate) fn fold(&mut self, rows: &mut [f64], m: usize) {
        let k = self.n + 1;
        let below = |j: usize| rows[j * k + j + 1..(j + 1) * k].iter().all(|&v| v == 0.0);
        if m == k && self.r.iter().all(|&v| v == 0.0) && (0..k).all(below) {
            self.r.copy_from_slice(rows);
        } else {
            fold_few(&mut self.r, k, rows, m);
        }
    }
}

impl Summary for RFactor {
    fn clear(&mut self) {
        self.r.fill(0.0);
        self.influence = Influence::default();
    }

    fn merge(&mut self, other: &mut RFactor) {
        self.influence.add(&other.influence, 1.0);
        self.fold(&mut other.r, self.n + 1);
    }

    fn is_finite(&self) -> bool {
        self.r.iter().all(|v| v.is_finite())
    }

    fn is_like(&self, other: &RFactor) -> bool {
        self.n == other.n
    }
}
