//! Cholesky factor of the normal matrix, and the triangular solves for all factors.

use super::dot;

/// Computes the Cholesky factor. `a`: n×n, symmetric, only its upper triangle is read. `r`: n×n, receives the upper
/// triangular factor of `A = RᵀR` with a positive diagonal, zeros below it.
///
/// Column j of `A = RᵀR` is `a_ij = Σ_{l≤i} r_li r_lj`. Solving for the last term of the sum, from top to bottom,
/// yields column j of R from the columns before it:
///
/// ```text
/// r_ij = (a_ij − Σ_{l<i} r_li r_lj) / r_ii   for i < j,      r_jj = √(a_jj − Σ_{l<j} r_lj²)
/// ```
///
/// The sums are dot products of the contiguous tops of two columns (Golub & Van Loan, 4th ed., §4.2).
///
/// # Errors
///
/// Returns `Err(k)` if pivot k (the radicand of r_kk) is not above `n ε a_kk`, or not finite. Columns `k..` of `r` are
/// then undefined. The computed pivot has an error of about `n ε a_kk` (Higham, *Accuracy and Stability*, 2nd ed.,
/// theorem 10.3: `|ΔA| ≤ γ_{n+1} |Rᵀ||R|`, and the diagonal of `|Rᵀ||R|` equals the diagonal of A). A smaller pivot is
/// noise: to working precision, column k is linearly dependent on its predecessors. The test is independent of the
/// scale of rows and columns.
pub(crate) fn cholesky(a: &[f64], n: usize, r: &mut [f64]) -> Result<(), usize> {
    by_size!(n => factor(&a[..n * n], n, &mut r[..n * n]))
}

#[inline(always)]
fn factor(a: &[f64], n: usize, r: &mut [f64]) -> Result<(), usize> {
    let noise = n as f64 * f64::EPSILON;
    for j in 0..n {
        let (done, rest) = r.split_at_mut(j * n);
        let column = &mut rest[..n];
        column[..=j].copy_from_slice(&a[j * n..j * n + j + 1]);
        column[j + 1..].fill(0.0);
        for i in 0..j {
            let earlier = &done[i * n..i * n + i + 1];
            column[i] = (column[i] - dot(&earlier[..i], &column[..i])) / earlier[i];
        }
        let diagonal = column[j];
        let pivot = diagonal - dot(&column[..j], &column[..j]);
        let positive = pivot > noise * diagonal; // false for NaN
        if !(positive && pivot.is_finite()) {
            return Err(j);
        }
        column[j] = pivot.sqrt();
    }
    Ok(())
}

/// Solves `R x = b`. `r`: n×n; only the upper triangle is read. `b`: n; replaced by x.
///
/// If a diagonal element is zero, the result contains infinities or NaN according to the IEEE rules for division.
pub(crate) fn solve_upper(r: &[f64], n: usize, b: &mut [f64]) {
    by_size!(n => backwards(&r[..n * n], n, &mut b[..n]))
}

#[inline(always)]
fn backwards(r: &[f64], n: usize, b: &mut [f64]) {
    for j in (0..n).rev() {
        let column = &r[j * n..j * n + j + 1];
        let x = b[j] / column[j];
        b[j] = x;
        for (value, factor) in b[..j].iter_mut().zip(column) {
            *value -= x * factor;
        }
    }
}

/// Solves `Rᵀ x = b`. `r`: n×n; only the upper triangle is read. `b`: n; replaced by x.
///
/// If a diagonal element is zero, the result contains infinities or NaN according to the IEEE rules for division.
pub(crate) fn solve_upper_transposed(r: &[f64], n: usize, b: &mut [f64]) {
    by_size!(n => forwards(&r[..n * n], n, &mut b[..n]))
}

#[inline(always)]
fn forwards(r: &[f64], n: usize, b: &mut [f64]) {
    for j in 0..n {
        let column = &r[j * n..j * n + j + 1];
        b[j] = (b[j] - dot(&column[..j], &b[..j])) / column[j];
    }
}

/// Returns true if R is numerically nonsingular: no column is, within rounding, in the span of its predecessors.
pub(crate) fn is_regular(r: &[f64], n: usize) -> bool {
    by_size!(n => all_regular(&r[..n * n], n))
}

#[inline(always)]
fn all_regular(r: &[f64], n: usize) -> bool {
    (0..n).all(|j| {
        let column = &r[j * n..j * n + j + 1];
        let norm = column.iter().map(|v| v * v).sum::<f64>().sqrt();
        column[j].abs() > 8.0 * n as f64 * f64::EPSILON * norm
    })
}
