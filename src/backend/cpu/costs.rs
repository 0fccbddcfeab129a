//! Sums of the costs of points. Cauchy's and the arctan loss take one logarithm or arctangent for several points.

use super::gram::LANES;
use crate::math::arithmetic::{Lane, LaneBits, Truth};
use crate::math::lane;
use arrayvec::ArrayVec;
use std::f64::consts::PI;

/// Maximum number of points of a lane that share one logarithm or arctangent.
pub(super) const POINTS_PER_PRODUCT: usize = 16;

/// Number from which on arctangents are computed as those of this number, 2^60: they differ from π/2 by less than a
/// rounding, and the products of [`POINTS_PER_PRODUCT`] complex numbers do not overflow.
const LARGEST: f64 = 1_152_921_504_606_846_976.0;

/// Bits of 2^52. The bits of a small integer, added to them, are those of 2^52 plus this integer.
const INTEGER: u64 = 4_503_599_627_370_496.0_f64.to_bits();

/// A product over points, whose logarithm or angle is the sum of a function of z over these points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    /// Σ ln(1 + z) = ln(1 + p) with p = Π(1 + z) − 1. The recurrence p ← p (z + 1) + z has no negative terms. Therefore
    /// the relative error of p is at most two roundings per point, also for small z. Its only number is p.
    Real,
    /// Σ arctan z is the angle of Π(1 + iz) for z ≥ 0. A product with a negative real part is multiplied by −1, which is
    /// a half turn. Its numbers are the real part, the imaginary part, and the bits of the number of half turns.
    Complex,
}

/// Maximum number of numbers of a product.
pub(super) const PRODUCT_NUMBERS: usize = 3;
/// Numbers of a product; [`Product::Real`] uses only the first.
pub(super) type ProductNumbers<L> = [L; PRODUCT_NUMBERS];

impl Product {
    /// Returns the product of no points.
    #[inline(always)]
    pub(super) fn empty<L: Lane>(self) -> ProductNumbers<L> {
        match self {
            Product::Real => [0.0; PRODUCT_NUMBERS].map(L::from),
            Product::Complex => [1.0, 0.0, 0.0].map(L::from),
        }
    }

    /// Returns the product of the points of `numbers` and a further point.
    #[inline(always)]
    pub(super) fn times<L: Lane>(self, numbers: ProductNumbers<L>, z: L) -> ProductNumbers<L> {
        let [first, second, half_turns] = numbers;
        match self {
            Product::Real => [first.mul_add(z + 1.0, z), second, half_turns],
            Product::Complex => {
                // A NaN remains NaN.
                let z = L::from(LARGEST).lt(z).select(LARGEST, z);
                let re = (-second).mul_add(z, first).to_bits();
                let im = first.mul_add(z, second).to_bits();
                let sign = re & L::Bits::from(1 << 63);
                let half_turns = half_turns.to_bits().plus(re >> 63);
                [(re ^ sign).number(), (im ^ sign).number(), half_turns.number()]
            }
        }
    }

    /// Returns the sum of the function of z. It is infinite if the product overflows.
    #[inline(always)]
    pub(super) fn sum<L: Lane>(self, [first, second, half_turns]: ProductNumbers<L>) -> L {
        match self {
            Product::Real => lane::ln_1p(first),
            Product::Complex => {
                let half_turns = half_turns.to_bits().plus(INTEGER).number();
                let half_turns = half_turns - f64::from_bits(INTEGER);
                half_turns.mul_add(PI, lane::atan(second / first))
            }
        }
    }

    /// Returns the sums of the function of z over the points of each lane. Infinite if a product overflows.
    #[inline(always)]
    pub(super) fn sums(self, squares: &[[f64; LANES]]) -> [f64; LANES] {
        match self {
            Product::Real => Self::sums_of(Product::Real, squares),
            Product::Complex => Self::sums_of(Product::Complex, squares),
        }
    }

    #[inline(always)]
    fn sums_of(self, squares: &[[f64; LANES]]) -> [f64; LANES] {
        let mut products = self.empty().map(|number| [number; LANES]);
        for of_points in squares {
            for l in 0..LANES {
                let numbers = self.times(products.map(|numbers| numbers[l]), of_points[l]);
                products.iter_mut().zip(numbers).for_each(|(product, number)| product[l] = number);
            }
        }
        let mut sums = [0.0; LANES];
        for l in 0..LANES {
            sums[l] = self.sum(products.map(|numbers| numbers[l]));
        }
        sums
    }
}

/// Costs of the points of a block, in the order of the products ([`super::gram`]): the sums of the full groups of eight
/// points, one per lane, and the costs of the remaining points.
pub(super) struct BlockCosts<F> {
    unit: f64,
    groups: [f64; LANES],
    last: ArrayVec<f64, LANES>,
    /// z of the points of the present product, if costs are sums of products; computes [`Product::sums`].
    product: Option<(ArrayVec<[f64; LANES], POINTS_PER_PRODUCT>, F)>,
}

impl BlockCosts<fn(&[[f64; LANES]]) -> [f64; LANES]> {
    /// Creates the sums for costs that are not computed from products. `unit`: factor of all costs.
    #[inline(always)]
    pub(super) fn of_points(unit: f64) -> Self {
        BlockCosts::new(unit, None)
    }
}

impl<F: Fn(&[[f64; LANES]]) -> [f64; LANES]> BlockCosts<F> {
    /// Creates the sums. `unit`: factor of all costs; `product`: computes [`Product::sums`], if costs are computed from
    /// products.
    #[inline(always)]
    pub(super) fn new(unit: f64, product: Option<F>) -> Self {
        let (groups, last) = ([0.0; LANES], ArrayVec::new());
        let product = product.map(|sums| (ArrayVec::new(), sums));
        BlockCosts { unit, groups, last, product }
    }

    /// Adds the costs of consecutive points, or their z if costs are computed from products. Only the last points of a
    /// block may be no multiple of eight.
    #[inline(always)]
    pub(super) fn add(&mut self, costs: &[f64]) {
        let (groups, last) = costs.as_chunks::<LANES>();
        let Some((_, sums)) = &self.product else {
            groups.iter().for_each(|group| self.add_group(*group));
            self.last.extend(last.iter().copied());
            return;
        };
        if !last.is_empty() {
            let mut squares = [0.0; LANES];
            squares[..last.len()].copy_from_slice(last);
            let costs = sums(&[squares]);
            self.last.extend(costs[..last.len()].iter().copied());
        }
        for group in groups {
            self.add_squares(*group);
        }
    }

    #[inline(always)]
    fn add_group(&mut self, costs: [f64; LANES]) {
        let sums = self.groups.iter_mut().zip(costs);
        sums.for_each(|(sum, cost)| *sum = cost.mul_add(self.unit, *sum));
    }

    /// Adds z of eight points to the product. If the product is complete, adds its sums.
    #[inline(always)]
    fn add_squares(&mut self, of_points: [f64; LANES]) {
        let Some((squares, _)) = &mut self.product else { return };
        squares.push(of_points);
        if squares.is_full() {
            self.add_product();
        }
    }

    /// Adds the sums of the product, and begins the next product.
    #[inline(always)]
    fn add_product(&mut self) {
        let Some((squares, sums)) = &mut self.product else { return };
        if squares.is_empty() {
            return;
        }
        let mut costs = sums(squares);
        if costs.contains(&f64::INFINITY) {
            // Points of the lanes whose product overflows are added one by one.
            let mut of_points = [0.0; LANES];
            for square in &*squares {
                of_points.iter_mut().zip(sums(&[*square])).for_each(|(sum, cost)| *sum += cost);
            }
            for l in 0..LANES {
                if costs[l] == f64::INFINITY {
                    costs[l] = of_points[l];
                }
            }
        }
        squares.clear();
        self.add_group(costs);
    }

    /// Adds the sums of the block to the totals.
    #[inline(always)]
    pub(super) fn add_to(mut self, totals: &mut [f64; LANES]) {
        self.add_product();
        totals.iter_mut().zip(self.groups).for_each(|(total, sum)| *total += sum);
        let last = totals.iter_mut().zip(self.last);
        last.for_each(|(total, cost)| *total = cost.mul_add(self.unit, *total));
    }
}
