//! Orthogonal updates of a triangular factor: the reflection, damping folded into R by it, and one row more
//! by rotations.
//!
//! Folding damping or a few rows in, here, and rows of data, in `fold_rows`, all append rows to an upper triangular R and restore the triangle by one Householder reflection
//! per column. Above the appended rows a column of R has zeros below its diagonal, so that the
//! reflector of column j touches `r_jj` and the appended rows only. With `α = r_jj` and `v` the
//! appended part of column j, let `β = −sign(α) √(α² + vᵀv)` and `u = [α − β; v]`, a sum without
//! cancellation. Then `uᵀu = −2 β (α − β)`, and the reflection (Golub & Van Loan, 4th ed., §5.1)
//!
//! ```text
//! H = I − 2 u uᵀ / uᵀu = I + u uᵀ / (β (α − β))
//! ```
//!
//! sends `[α; v]` to `[β; 0]`. A column `[ρ; a]` to the right becomes
//!
//! ```text
//! ρ' = (α ρ + vᵀa) / β,        a' = a + f v   with   f = (ρ + vᵀa / (α − β)) / β.
//! ```
//!
//! The first is the first row of H, which is `[α, vᵀ] / β`. The textbook `ρ' = ρ + (α − β) f` is the
//! same number with an absolute error of `ε |ρ|`; where `|α| ≪ |v|`, as under heavy damping, the true
//! ρ' is much smaller than that, and the direction of the step would be lost.

use super::{dot, largest, power_of_two_near_reciprocal};

/// The reflection that one column asks for, as the coefficients of `ρ' = keep ρ + bring vᵀa` and
/// `f = bring ρ + turn vᵀa`. Scaling v (and α, β) by a power of two leaves H as it is.
pub(super) struct Reflector {
    /// `α / β`.
    keep: f64,
    /// `1 / β`.
    bring: f64,
    /// `1 / (β (α − β))`.
    turn: f64,
    /// β in the units of R: the new diagonal element.
    pub(super) diagonal: f64,
}

impl Reflector {
    /// For `[alpha; v]`, where `squares` is `vᵀv`; H = I if v is zero, or nothing beside alpha.
    ///
    /// Squares that leave the range of `f64` are mended by scaling v in place, on a cold path.
    #[inline(always)]
    pub(super) fn new(alpha: f64, squares: f64, v: &mut [f64]) -> Self {
        let total = alpha * alpha + squares;
        if !(total > 1e-280 && total < 1e280) {
            return Self::rescued(alpha, v);
        }
        if squares == 0.0 {
            return Self::identity(alpha);
        }
        Self::from_total(alpha, total)
    }

    #[inline(always)]
    fn from_total(alpha: f64, total: f64) -> Self {
        let beta = -total.sqrt().copysign(alpha);
        let bring = 1.0 / beta;
        Self { keep: alpha * bring, bring, turn: bring / (alpha - beta), diagonal: beta }
    }

    fn identity(alpha: f64) -> Self {
        Self { keep: 1.0, bring: 0.0, turn: 0.0, diagonal: alpha }
    }

    #[cold]
    #[inline(never)]
    fn rescued(alpha: f64, v: &mut [f64]) -> Self {
        let size = largest(v);
        if size == 0.0 && alpha.is_finite() {
            return Self::identity(alpha);
        }
        let size = size.max(largest(&[alpha]));
        if size == f64::INFINITY {
            let nan = f64::NAN;
            return Self { keep: nan, bring: nan, turn: nan, diagonal: nan };
        }
        let scale = power_of_two_near_reciprocal(size);
        v.iter_mut().for_each(|value| *value *= scale);
        let alpha = alpha * scale;
        let scaled = Self::from_total(alpha, alpha * alpha + dot(v, v));
        Self { diagonal: scaled.diagonal / scale, ..scaled }
    }

    /// `(ρ', f)` from ρ and `vᵀa`.
    #[inline(always)]
    pub(super) fn mix(&self, rho: f64, product: f64) -> (f64, f64) {
        (self.keep * rho + self.bring * product, self.bring * rho + self.turn * product)
    }
}

/// The least-squares problem of a damped step, made triangular: `S x = t` has the minimiser of
/// `|R x − z|² + |D x|²`.
///
/// `r`: n×n, upper triangle read. `d`: n, the diagonal of D, which is √λ times the scaling. `z`: n.
/// `s`: n×n, receives the triangular factor of `[R; D]`, zeros below its diagonal, whose elements
/// have either sign. `t`: n, the first n elements of `Qᵀ [z; 0]`. `work`: n² + n, overwritten.
///
/// What MINPACK's `qrsolv` does with plane rotations (Moré 1978, §3), by reflections: column j of
/// the appended rows has filled in to rows `0..=j` by the time it is eliminated, so that step j
/// reflects j + 2 rows, 2/3 n³ flops in all, along columns. Where d is zero and R is singular S is
/// singular too, and the solve divides by zero.
pub(crate) fn damped(
    r: &[f64],
    n: usize,
    d: &[f64],
    z: &[f64],
    s: &mut [f64],
    t: &mut [f64],
    work: &mut [f64],
) {
    let (lower, lower_z) = work[..n * n + n].split_at_mut(n * n);
    lower.fill(0.0);
    lower_z.fill(0.0);
    t[..n].copy_from_slice(&z[..n]);
    for j in 0..n {
        let column = &mut s[j * n..(j + 1) * n];
        column[..=j].copy_from_slice(&r[j * n..j * n + j + 1]);
        column[j + 1..].fill(0.0);
        lower[j * n + j] = d[j];
    }
    for j in 0..n {
        let (before, after) = lower.split_at_mut((j + 1) * n);
        let v = &mut before[j * n..j * n + j + 1];
        let reflector = Reflector::new(s[j * n + j], dot(v, v), v);
        s[j * n + j] = reflector.diagonal;
        for i in j + 1..n {
            let column = &mut after[(i - j - 1) * n..][..=j];
            reflect(&reflector, v, &mut s[i * n + j], column);
        }
        reflect(&reflector, v, &mut t[j], &mut lower_z[..=j]);
    }
}

/// What [`fold_rows`](super::fold_rows) does, of `m` rows that are few, column j at `rows[j * m..][..m]`: without fused
/// products, which only the loops over data are compiled for.
pub(crate) fn fold_few(r: &mut [f64], k: usize, rows: &mut [f64], m: usize) {
    fold_pivots(r, k, k, rows, m);
}

/// As [`fold_few`], into a trapezoid: the first `pivots` rows of a triangle of k columns. What is left of `rows` has
/// zeros in these columns, in place of which it has the reflectors.
pub(crate) fn fold_pivots(r: &mut [f64], pivots: usize, k: usize, rows: &mut [f64], m: usize) {
    if m == 0 {
        return;
    }
    for j in 0..pivots {
        let (before, after) = rows[..k * m].split_at_mut((j + 1) * m);
        let v = &mut before[j * m..];
        let reflector = Reflector::new(r[j * pivots + j], dot(v, v), v);
        r[j * pivots + j] = reflector.diagonal;
        for i in j + 1..k {
            reflect(&reflector, v, &mut r[i * pivots + j], &mut after[(i - j - 1) * m..][..m]);
        }
    }
}

fn reflect(reflector: &Reflector, v: &[f64], rho: &mut f64, a: &mut [f64]) {
    let (kept, factor) = reflector.mix(*rho, dot(v, a));
    *rho = kept;
    for (value, x) in a.iter_mut().zip(v) {
        *value += factor * x;
    }
}

/// `r`: the first `pivots` rows of an upper triangle of as many columns as `row` has numbers, column by column. Replaces R
/// by the triangular factor of `[R; row]`, in which `row` is left with zeros in the first `pivots` columns. A row of R
/// that is zero takes the rest of `row` as it is, and leaves none.
///
/// Each rotation mixes the row with one row of R. Where that is much larger, what it takes from the row is
/// small beside the row itself, so that its rounding is; a reflection of several rows at once would leave the
/// rounding of the largest in all (Powell and Reid 1969; Golub and Van Loan, section 5.1.8).
pub(crate) fn rotate_in(r: &mut [f64], pivots: usize, row: &mut [f64]) {
    let k = row.len();
    for j in 0..pivots {
        if row[j] == 0.0 {
            continue;
        }
        if (j..k).all(|l| r[l * pivots + j] == 0.0) {
            (j..k).for_each(|l| r[l * pivots + j] = std::mem::take(&mut row[l]));
            return;
        }
        let diagonal = r[j * pivots + j];
        let length = diagonal.hypot(row[j]);
        let (c, s) = (diagonal / length, row[j] / length);
        for l in j..k {
            let (above, below) = (r[l * pivots + j], row[l]);
            r[l * pivots + j] = c * above + s * below;
            row[l] = c * below - s * above;
        }
        r[j * pivots + j] = length;
        row[j] = 0.0;
    }
}
