//! Robust losses over a block of residuals.
//!
//! With z = (r/C)², the loss of a point is ½C²ρ(z), its gradient ρ'·Jᵀr, and its Gauss-Newton matrix s²·JᵀJ with
//! s² = ρ' + 2zρ''. Normal equations sum these products directly. If the row of the point is scaled by s and its
//! residual by ρ'/s, a factor of the rows contains the same gradient and matrix (Triggs et al. 2000). s² is
//! max(ρ' + 2zρ'', floor·ρ', 2⁻⁵²). In normal equations the floor is 0.1, so that outliers still contribute to the step.
//! In R factors the floor is 0, as in SciPy. R factors determine the covariance, and the steps of ill-conditioned
//! problems.

use super::costs::{BlockCosts, Product};
use super::gram::{LANES, collapse};
use crate::data::loss::Loss;
use crate::math::arithmetic::{Lane, Truth};
use crate::normal::Influence;

/// Minimum weight of an outlier in JᵀJ during iterations, relative to its weight in the gradient.
pub(crate) const ITERATION_FLOOR: f64 = 0.1;

/// Minimum of s², the square of a row factor.
const LEAST: f64 = f64::EPSILON;

/// A loss whose formula is part of this crate. `loss_rows.rs` evaluates custom losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    SoftL1,
    Huber,
    Cauchy,
    Arctan,
    Tukey,
}

impl Shape {
    /// Returns the formula and the scale of a robust loss; `None` for the linear loss and for custom losses.
    pub(super) fn of(loss: Loss) -> Option<(Shape, f64)> {
        match loss {
            Loss::Linear | Loss::Custom { .. } => None,
            Loss::SoftL1 { scale } => Some((Shape::SoftL1, scale)),
            Loss::Huber { scale } => Some((Shape::Huber, scale)),
            Loss::Cauchy { scale } => Some((Shape::Cauchy, scale)),
            Loss::Arctan { scale } => Some((Shape::Arctan, scale)),
            Loss::Tukey { scale } => Some((Shape::Tukey, scale)),
        }
    }

    /// Returns the product from which the costs of several points are computed together.
    pub(super) fn product(self) -> Option<Product> {
        match self {
            Shape::Cauchy => Some(Product::Real),
            Shape::Arctan => Some(Product::Complex),
            _ => None,
        }
    }

    /// Returns the terms of the loss at u = r/C.
    #[cfg(all(feature = "jit", target_arch = "x86_64"))]
    pub(super) fn terms<L: Lane>(self, u: L) -> LossTerms<L> {
        match self {
            Shape::SoftL1 => soft_l1(u),
            Shape::Huber => huber(u),
            Shape::Cauchy => cauchy(u),
            Shape::Arctan => arctan(u),
            Shape::Tukey => tukey(u),
        }
    }
}

/// Terms of a point: a number for its cost, ρ' and ρ' + 2zρ''.
#[derive(Clone, Copy)]
pub(super) struct LossTerms<L> {
    /// ρ; z for a loss with a [`Product`], from which [`BlockCosts`] computes the sums of ρ.
    pub(super) cost: L,
    pub(super) gradient: L,
    pub(super) curvature: L,
}

#[inline(always)]
fn soft_l1<L: Lane>(u: L) -> LossTerms<L> {
    let z = u * u;
    let root = (z + 1.0).sqrt();
    // 1/root and 2z/(root + 1) from one division. A quarter of root + 1 cannot make their denominator overflow.
    let quarter = root.mul_add(0.25, 0.25);
    let quotient = L::from(1.0) / (root * quarter);
    let gradient = quarter * quotient;
    LossTerms {
        cost: z * 0.5 * (root * quotient),
        gradient,
        curvature: gradient * gradient * gradient,
    }
}

#[inline(always)]
fn huber<L: Lane>(u: L) -> LossTerms<L> {
    let size = u.abs();
    let outside = size.gt(1.0);
    LossTerms {
        cost: outside.select(size + size - 1.0, u * u),
        gradient: outside.select(L::from(1.0) / size, 1.0),
        curvature: outside.select(0.0, 1.0),
    }
}

#[inline(always)]
fn cauchy<L: Lane>(u: L) -> LossTerms<L> {
    let z = u * u;
    let t = L::from(1.0) / (z + 1.0);
    LossTerms { cost: z, gradient: t, curvature: (L::from(1.0) - z) * t * t }
}

#[inline(always)]
fn arctan<L: Lane>(u: L) -> LossTerms<L> {
    let z = u * u;
    let square = z * z;
    let t = L::from(1.0) / (square + 1.0);
    let curvature = (L::from(1.0) - square * 3.0) * t * t;
    LossTerms { cost: z, gradient: t, curvature }
}

#[inline(always)]
fn tukey<L: Lane>(u: L) -> LossTerms<L> {
    let z = u * u;
    let within = z.lt(1.0).select(z, 1.0);
    let rest = L::from(1.0) - within;
    LossTerms {
        // ρ = (1 − rest³)/3, without its cancellation for small z.
        cost: within * (within * within * (1.0 / 3.0) + rest),
        gradient: rest * rest,
        curvature: rest * (L::from(1.0) - z * 5.0),
    }
}

impl<L: Lane> LossTerms<L> {
    /// Returns s², the weight of the point in JᵀJ.
    #[inline(always)]
    pub(super) fn square(self, floor: f64) -> L {
        let least = self.gradient * floor;
        let square = self.curvature.gt(least).select(self.curvature, least);
        square.gt(LEAST).select(square, LEAST)
    }
}

/// Partial sums over points, one per lane.
#[derive(Clone, Copy, Default)]
pub(super) struct RobustSums {
    /// Sums of the loss, ½C²ρ.
    pub(super) costs: [f64; LANES],
    /// Sums of an [`Influence`]. They are computed only for R factors, and not for Poisson data.
    influence: [[f64; LANES]; Influence::SUMS],
}

impl RobustSums {
    /// Returns the influence sums over all points.
    pub(super) fn influence(&self) -> Influence {
        let mut sums = [0.0; Influence::SUMS];
        collapse(self.influence.as_flattened(), &mut sums);
        Influence::of(sums)
    }
}

/// Number of points of a loop that the compiler vectorises.
pub(super) const GROUP: usize = 8 * LANES;

/// Terms of up to [`GROUP`] consecutive points. Those of points after the end of a block are not used.
struct GroupTerms {
    costs: [f64; GROUP],
    gradients: [f64; GROUP],
    curvatures: [f64; GROUP],
}

impl GroupTerms {
    fn new() -> Self {
        let [costs, gradients, curvatures] = [[0.0; GROUP]; 3];
        GroupTerms { costs, gradients, curvatures }
    }

    /// Sets the terms of a loss with the scale 1/`inverse`.
    #[inline(always)]
    fn set(&mut self, (shape, inverse): (Shape, f64), residuals: &[f64; GROUP]) {
        let ratios = &residuals.map(|residual| residual * inverse);
        match shape {
            Shape::SoftL1 => self.set_each(ratios, soft_l1),
            Shape::Huber => self.set_each(ratios, huber),
            Shape::Cauchy => self.set_each(ratios, cauchy),
            Shape::Arctan => self.set_each(ratios, arctan),
            Shape::Tukey => self.set_each(ratios, tukey),
        }
    }

    #[inline(always)]
    fn set_each(&mut self, ratios: &[f64; GROUP], mut terms: impl FnMut(f64) -> LossTerms<f64>) {
        for i in 0..GROUP {
            let LossTerms { cost, gradient, curvature } = terms(ratios[i]);
            (self.costs[i], self.gradients[i], self.curvatures[i]) = (cost, gradient, curvature);
        }
    }

    fn point(&self, i: usize) -> LossTerms<f64> {
        let [cost, gradient, curvature] = [self.costs[i], self.gradients[i], self.curvatures[i]];
        LossTerms { cost, gradient, curvature }
    }
}

/// Creates the sums of the costs of a block. `sums_of`: [`Product::sums`] with the instruction set of the caller.
#[inline(always)]
fn costs_of(
    (shape, scale): (Shape, f64),
    sums_of: impl Fn(Product, &[[f64; LANES]]) -> [f64; LANES],
) -> BlockCosts<impl Fn(&[[f64; LANES]]) -> [f64; LANES]> {
    let product = shape.product().map(|product| move |squares: &_| sums_of(product, squares));
    BlockCosts::new(0.5 * scale * scale, product)
}

/// Replaces each residual r by ψ = ρ'r and sets `weight` to s², for normal equations. Adds losses to `costs`. Both slices
/// contain one value per point of the block.
#[inline(always)]
pub(super) fn weigh(
    loss: Loss,
    floor: f64,
    residual: &mut [f64],
    weight: &mut [f64],
    costs: &mut [f64; LANES],
    sums_of: impl Fn(Product, &[[f64; LANES]]) -> [f64; LANES],
) {
    let Some((shape, scale)) = Shape::of(loss) else {
        return weight.fill(1.0);
    };
    let (block, inverse) = (costs_of((shape, scale), sums_of), 1.0 / scale);
    weigh_groups(block, floor, residual, weight, costs, |terms, residuals| {
        terms.set((shape, inverse), residuals);
    });
}

/// Weighs the points of a block. `set_terms(terms, residuals)` sets the terms of the next group of points.
#[inline(always)]
fn weigh_groups(
    mut block: BlockCosts<impl Fn(&[[f64; LANES]]) -> [f64; LANES]>,
    floor: f64,
    residual: &mut [f64],
    weight: &mut [f64],
    costs: &mut [f64; LANES],
    mut set_terms: impl FnMut(&mut GroupTerms, &[f64; GROUP]),
) {
    let mut terms = GroupTerms::new();
    for (residual, weight) in residual.chunks_mut(GROUP).zip(weight.chunks_mut(GROUP)) {
        let len = residual.len();
        let [mut r, mut w] = [[0.0; GROUP]; 2];
        r[..len].copy_from_slice(residual);
        set_terms(&mut terms, &r);
        for i in 0..GROUP {
            let of_point = terms.point(i);
            w[i] = of_point.square(floor);
            // A product with the residual, so that a NaN stays NaN: the comparisons of `square` drop NaN.
            r[i] *= of_point.gradient;
        }
        residual.copy_from_slice(&r[..len]);
        weight.copy_from_slice(&w[..len]);
        block.add(&terms.costs[..len]);
    }
    block.add_to(costs);
}

/// Replaces each residual r by ρ'r/s and sets `row` to s, for R factors and single rows. Adds losses and, if the floor
/// is 0, influences to `sums`. Both slices contain one value per point of the block.
#[inline(always)]
pub(super) fn correct(
    loss: Loss,
    floor: f64,
    residual: &mut [f64],
    row: &mut [f64],
    sums: &mut RobustSums,
    sums_of: impl Fn(Product, &[[f64; LANES]]) -> [f64; LANES],
) {
    let Some((shape, scale)) = Shape::of(loss) else {
        return row.fill(1.0);
    };
    let (block, inverse) = (costs_of((shape, scale), sums_of), 1.0 / scale);
    correct_groups(block, floor, residual, row, sums, |terms, residuals| {
        terms.set((shape, inverse), residuals);
    });
}

/// Corrects the points of a block. `set_terms(terms, residuals)` sets the terms of the next group of points.
#[inline(always)]
fn correct_groups(
    mut block: BlockCosts<impl Fn(&[[f64; LANES]]) -> [f64; LANES]>,
    floor: f64,
    residual: &mut [f64],
    row: &mut [f64],
    RobustSums { costs, influence }: &mut RobustSums,
    mut set_terms: impl FnMut(&mut GroupTerms, &[f64; GROUP]),
) {
    let mut terms = GroupTerms::new();
    for (residual, row) in residual.chunks_mut(GROUP).zip(row.chunks_mut(GROUP)) {
        let len = residual.len();
        let [mut r, mut s] = [[0.0; GROUP]; 2];
        r[..len].copy_from_slice(residual);
        set_terms(&mut terms, &r);
        let mut influences = [[0.0; GROUP]; Influence::SUMS];
        for i in 0..GROUP {
            let of_point @ LossTerms { gradient, curvature, .. } = terms.point(i);
            let square = of_point.square(floor);
            s[i] = square.sqrt();
            // ψ is computed from `r`, so that a NaN residual remains NaN: the comparisons of `square` drop NaN.
            let psi = r[i] * gradient;
            r[i] = psi / s[i];
            let influence =
                Influence::of([gradient, psi * psi, curvature, curvature * curvature, square]);
            for (values, value) in influences.iter_mut().zip(influence.sums()) {
                values[i] = value;
            }
        }
        if floor == 0.0 {
            for (sums, values) in influence.iter_mut().zip(&mut influences) {
                values[len..].fill(0.0);
                for of_points in values.as_chunks::<LANES>().0 {
                    sums.iter_mut().zip(of_points).for_each(|(sum, value)| *sum += value);
                }
            }
        }
        residual.copy_from_slice(&r[..len]);
        row.copy_from_slice(&s[..len]);
        block.add(&terms.costs[..len]);
    }
    block.add_to(costs);
}
/// Terms of a custom loss at the residual `r`, from ρ, dρ/du and d²ρ/du² at u = r/scale.
fn custom(scale: f64, r: f64, derivatives: Option<(&f64, (&f64, &f64))>) -> LossTerms<f64> {
    let Some((&cost, (&first, &second))) = derivatives else {
        return LossTerms { cost: f64::NAN, gradient: f64::NAN, curvature: f64::NAN };
    };
    let (u, curvature) = (r / scale, 0.5 * second);
    // The limit of the quotient for a residual of 0.
    let gradient = if u == 0.0 { curvature } else { 0.5 * first / u };
    LossTerms { cost, gradient, curvature }
}

/// Like [`weigh`], for a custom loss. The three slices are ρ, dρ/du and d²ρ/du² at u = residual/scale.
pub(super) fn weigh_by_formula(
    (scale, floor): (f64, f64),
    [value, first, second]: [&[f64]; 3],
    residual: &mut [f64],
    weight: &mut [f64],
    costs: &mut [f64; LANES],
) {
    let block = BlockCosts::of_points(0.5 * scale * scale);
    let mut points = value.iter().zip(first.iter().zip(second));
    weigh_groups(block, floor, residual, weight, costs, |terms, residuals| {
        terms.set_each(residuals, |r| custom(scale, r, points.next()));
    });
}

/// Like [`correct`], for a custom loss. The three slices are ρ, dρ/du and d²ρ/du² at u = residual/scale.
pub(super) fn correct_by_formula(
    (scale, floor): (f64, f64),
    [value, first, second]: [&[f64]; 3],
    residual: &mut [f64],
    row: &mut [f64],
    sums: &mut RobustSums,
) {
    let block = BlockCosts::of_points(0.5 * scale * scale);
    let mut points = value.iter().zip(first.iter().zip(second));
    correct_groups(block, floor, residual, row, sums, |terms, residuals| {
        terms.set_each(residuals, |r| custom(scale, r, points.next()));
    });
}
