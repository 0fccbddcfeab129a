//! Robust losses over a block of residuals.
//!
//! With z = (r/C)², the loss of a point is ½C²ρ(z), its gradient ρ'·Jᵀr, and its Gauss-Newton matrix
//! (ρ' + 2zρ'')·JᵀJ. If the row of the point is scaled by s = √(ρ' + 2zρ'') and its residual by ρ'/s, the
//! ordinary normal equations contain this gradient and matrix (Triggs et al. 2000). s² is max(ρ' + 2zρ'', floor·ρ',
//! 2⁻⁵²). In normal equations the floor is 0.1, so that outliers still contribute to the step. In R factors the floor
//! is 0, as in SciPy. R factors determine the covariance, and the steps of ill-conditioned problems.

use super::gram::{LANES, collapse};
use crate::data::loss::Loss;
use crate::math::lane;
use crate::normal::Influence;

/// Minimum of s², the square of a row factor.
const LEAST: f64 = f64::EPSILON;

/// Partial sums over points, one per lane.
#[derive(Clone, Copy, Default)]
pub(super) struct RobustSums {
    /// Sums of the loss, ½C²ρ.
    pub(super) costs: [f64; LANES],
    /// Sums of an [`Influence`]. They are computed only if the floor is 0, since only R factors need them, and not for
    /// Poisson data.
    influence: [[f64; LANES]; Influence::SUMS],
}

impl RobustSums {
    /// Returns the influence sums over all points.
    pub(super) fn influence(&self) -> Influence {
        let mut sums = [0.0; Influence::SUMS];
        collapse(self.influence.as_flattened(), &mut sums);
        Influence::of(sums)
    }

    #[inline(always)]
    fn add(&mut self, l: usize, cost: f64, influence: &Influence, of_factor: bool) {
        self.costs[l] += cost;
        if of_factor {
            for (sums, value) in self.influence.iter_mut().zip(influence.sums()) {
                sums[l] += value;
            }
        }
    }
}

/// ρ, ρ' and ρ' + 2zρ'' at z.
type LossTerms = (f64, f64, f64);

/// Replaces each residual r by ρ'r/s and sets `row` to s. Adds losses and, if the floor is 0, influences to `sums`.
/// Both slices contain one value per point of the block.
#[inline(always)]
pub(super) fn correct(
    loss: Loss,
    floor: f64,
    residual: &mut [f64],
    row: &mut [f64],
    sums: &mut RobustSums,
) {
    match loss {
        // `loss_rows.rs` evaluates custom losses.
        Loss::Linear | Loss::Custom { .. } => row.fill(1.0),
        Loss::SoftL1 { scale } => each(scale, floor, residual, row, sums, |z| {
            let t = 1.0 + z;
            let root = t.sqrt();
            (2.0 * z / (1.0 + root), 1.0 / root, 1.0 / (t * root))
        }),
        Loss::Huber { scale } => each(scale, floor, residual, row, sums, |z| {
            let root = z.sqrt();
            let outside = z > 1.0;
            (
                if outside { 2.0 * root - 1.0 } else { z },
                if outside { 1.0 / root } else { 1.0 },
                if outside { 0.0 } else { 1.0 },
            )
        }),
        Loss::Cauchy { scale } => each(scale, floor, residual, row, sums, |z| {
            let t = 1.0 / (1.0 + z);
            (lane::ln_1p(z), t, (1.0 - z) * t * t)
        }),
        Loss::Arctan { scale } => each(scale, floor, residual, row, sums, |z| {
            let t = 1.0 / (1.0 + z * z);
            (lane::atan(z), t, (1.0 - 3.0 * z * z) * t * t)
        }),
        Loss::Tukey { scale } => each(scale, floor, residual, row, sums, |z| {
            let within = if z < 1.0 { z } else { 1.0 };
            let u = 1.0 - within;
            // Equal to (1 − u³)/3, without its cancellation for small z.
            (within * (u + within * within / 3.0), u * u, u * (1.0 - 5.0 * z))
        }),
    }
}

/// Like [`correct`], for a custom loss. The three slices are ρ, dρ/du and d²ρ/du² at u = residual/scale.
pub(super) fn by_formula(
    (scale, floor): (f64, f64),
    [value, first, second]: [&[f64]; 3],
    residual: &mut [f64],
    row: &mut [f64],
    sums: &mut RobustSums,
) {
    let half_square = 0.5 * scale * scale;
    for (i, (r, s)) in residual.iter_mut().zip(row).enumerate() {
        let (u, curvature) = (*r / scale, 0.5 * second[i]);
        // The limit of the quotient for a residual of 0.
        let gradient = if u == 0.0 { curvature } else { 0.5 * first[i] / u };
        let terms = (value[i], gradient, curvature);
        let (rho, influence) = point(scale, floor, r, s, &|_| terms);
        sums.add(i % LANES, half_square * rho, &influence, floor == 0.0);
    }
}

#[inline(always)]
fn each(
    scale: f64,
    floor: f64,
    residual: &mut [f64],
    row: &mut [f64],
    sums: &mut RobustSums,
    terms: impl Fn(f64) -> LossTerms,
) {
    match floor == 0.0 {
        true => each_point::<true>((scale, floor), residual, row, sums, terms),
        false => each_point::<false>((scale, floor), residual, row, sums, terms),
    }
}

#[inline(always)]
fn each_point<const OF_FACTOR: bool>(
    (scale, floor): (f64, f64),
    residual: &mut [f64],
    row: &mut [f64],
    sums: &mut RobustSums,
    terms: impl Fn(f64) -> LossTerms,
) {
    let half_square = 0.5 * scale * scale;
    let (r_groups, r_rest) = residual.as_chunks_mut::<LANES>();
    let (s_groups, s_rest) = row.as_chunks_mut::<LANES>();
    for (r, s) in r_groups.iter_mut().zip(s_groups) {
        for l in 0..LANES {
            let (rho, influence) = point(scale, floor, &mut r[l], &mut s[l], &terms);
            sums.add(l, half_square * rho, &influence, OF_FACTOR);
        }
    }
    for (l, (r, s)) in r_rest.iter_mut().zip(s_rest).enumerate() {
        let (rho, influence) = point(scale, floor, r, s, &terms);
        sums.add(l, half_square * rho, &influence, OF_FACTOR);
    }
}

/// Corrects one point, and returns ρ and the influence sums of the point.
#[inline(always)]
fn point(
    scale: f64,
    floor: f64,
    r: &mut f64,
    s: &mut f64,
    terms: &impl Fn(f64) -> LossTerms,
) -> (f64, Influence) {
    let z = (*r / scale) * (*r / scale);
    let (rho, gradient, curvature) = terms(z);
    let least = floor * gradient;
    let square = if curvature > least { curvature } else { least };
    let square = if square > LEAST { square } else { LEAST };
    *s = square.sqrt();
    let psi = *r * gradient;
    // Computed from `r`, so that a NaN residual remains NaN: the comparisons above drop NaN.
    *r = psi / *s;
    (rho, Influence::of([gradient, psi * psi, curvature, curvature * curvature, square]))
}
