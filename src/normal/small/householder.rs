//! Orthogonal updates of a triangular factor: Householder reflections that fold in damping or a few rows, and
//! rotations that add a single row.
//!
//! Rows are appended to an upper triangular R: damping or few rows by this module, data rows by `fold_rows`. One
//! Householder reflection per column restores the triangle. Column j of R is zero below its diagonal, so its reflector
//! changes only row j of R and the appended rows. Let `α = r_jj`, `v` the appended part of column j,
//! `β = −sign(α) √(α² + vᵀv)` and `u = [α − β; v]`, where `α − β` has no cancellation. Then `uᵀu = −2 β (α − β)`, and
//! the reflection (Golub & Van Loan, 4th ed., §5.1)
//!
//! ```text
//! H = I − 2 u uᵀ / uᵀu = I + u uᵀ / (β (α − β))
//! ```
//!
//! maps `[α; v]` to `[β; 0]`. It maps a column `[ρ; a]` to the right to `[ρ'; a']` with
//!
//! ```text
//! ρ' = (α ρ + vᵀa) / β,        a' = a + f v   with   f = (ρ + vᵀa / (α − β)) / β.
//! ```
//!
//! The first formula is the first row of H, `[α, vᵀ] / β`. The textbook form `ρ' = ρ + (α − β) f` is equal in exact
//! arithmetic but has an absolute error of `ε |ρ|`. If `|α| ≪ |v|`, as with heavy damping, the true ρ' is much smaller
//! than this error, and the direction of the step would be lost.

use super::{dot, largest, power_of_two_near_reciprocal};

/// Reflection of one column: the coefficients of `ρ' = keep ρ + bring vᵀa` and `f = bring ρ + turn vᵀa`. Scaling of v
/// (and α, β) by a power of two does not change H.
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
    /// Computes the reflection for `[alpha; v]`. `squares`: `vᵀv`. H is I if v is zero, or so small relative to alpha
    /// that `squares` underflows.
    ///
    /// If squares are outside the range of `f64`, a cold path scales v in place.
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

    /// Returns `(ρ', f)`, given ρ and `vᵀa`.
    #[inline(always)]
    pub(super) fn mix(&self, rho: f64, product: f64) -> (f64, f64) {
        (self.keep * rho + self.bring * product, self.bring * rho + self.turn * product)
    }
}

/// Transforms the least-squares problem of a damped step, the minimum of `|R x − z|² + |D x|²`, to a triangular system
/// `S x = t` with the same solution.
///
/// - `r`: n×n; only the upper triangle is read.
/// - `d`: n, the diagonal of D, which is √λ times the scaling.
/// - `z`: n.
/// - `s`: n×n, receives the triangular factor of `[R; D]` with zeros below its diagonal. Diagonal elements can have
///   either sign.
/// - `t`: n, receives the first n elements of `Qᵀ [z; 0]`.
/// - `work`: n² + n, overwritten.
///
/// The method is equivalent to MINPACK's `qrsolv` (Moré 1978, §3), with reflections instead of plane rotations. When
/// step j begins, column j of the appended rows has nonzero elements in rows `0..=j` only. Step j therefore changes
/// row j of R and these j + 1 rows, one column after the other; all steps cost 2/3 n³ flops. If d is zero and R is
/// singular, S is also singular, and a solve divides by zero.
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

/// Folds a small number `m` of rows into a factor, like [`fold_rows`](super::fold_rows). `rows`: column j is at
/// `rows[j * m..][..m]`. Products are not fused, since only the loops over data are compiled for fused multiply-add
/// instructions.
pub(crate) fn fold_few(r: &mut [f64], k: usize, rows: &mut [f64], m: usize) {
    fold_pivots(r, k, k, rows, m);
}

/// Folds rows like [`fold_few`], but into a trapezoid: the first `pivots` rows of a triangle of k columns. The
/// transformed rows remain in `rows`. Their first `pivots` columns are zero, but the array contains the reflectors
/// there.
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

/// Adds one row by rotations. `r`: the first `pivots` rows of an upper triangle with `row.len()` columns, column by
/// column. Replaces R by the triangular factor of `[R; row]`; `row` then has zeros in the first `pivots` columns. If a
/// row of R is zero, the rest of `row` is moved there unchanged, and `row` becomes zero.
///
/// Each rotation combines `row` with one row of R only. If that row of R is much larger than `row`, `row` receives a
/// small multiple of it, so that both rows have rounding errors relative to their own size. A reflection of several
/// rows at once would spread the rounding error of the largest row to all rows (Powell and Reid 1969; Golub and Van
/// Loan, section 5.1.8).
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
