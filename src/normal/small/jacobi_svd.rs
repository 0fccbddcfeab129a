//! Singular values and right singular vectors by one-sided Jacobi, for the covariance.
//!
//! Pairs of columns of A are rotated until all columns are orthogonal: `A V = U Σ`. Then σ_j is the norm of column j,
//! and V is the product of the rotations.
//!
//! **Why Jacobi.** Parameters have different units. Therefore A = B D with a diagonal D of large range. One-sided
//! Jacobi finds *every* singular value with a relative error of about `ε κ(B)`, for any D (Demmel & Veselić 1992, §4);
//! bidiagonalisation loses all singular values below `ε σ₁`.
//!
//! **Why the columns of A, not of Aᵀ.** The theorem is about scaled columns. V is a product of rotations and therefore
//! stays orthogonal to working precision even if A is zero. If the columns of Aᵀ were rotated, V would consist of the
//! normalised rotated columns, which are meaningless if σ is rounding noise. Elements of V can be small because of the
//! ratio of two scales; their errors are relative to this ratio. The covariance `V Σ⁻² Vᵀ` needs this accuracy, because
//! small elements are multiplied by large `σ⁻²`. A preceding QR decomposition would reduce the number of sweeps but
//! lose this accuracy.

use super::{dot, largest, power_of_two_near_reciprocal};
use crate::constants::{MAX_SWEEPS, SAFE};

/// Computes the decomposition. `a`: n×n, any square matrix; overwritten. `sigma`: n singular values, descending.
/// `v`: n×n, right singular vectors in columns, in the order of `sigma`, orthogonal to about `n ε`.
///
/// Returns false, with `sigma` and `v` NaN, if `a` contains a non-finite value. Returns false, with the current values,
/// if the columns are not orthogonal after 60 sweeps. Zero columns are allowed (σ = 0); a column that falls below
/// 1e-290 of the largest element counts as zero.
///
/// Two columns count as orthogonal if their cosine is at most `ε max(4, √n)`. This stopping test achieves the relative
/// accuracy above (Demmel & Veselić 1992). Pairs of columns are visited row-cyclically, the longest remaining column
/// first (de Rijk 1989).
pub(crate) fn jacobi_svd(a: &mut [f64], n: usize, sigma: &mut [f64], v: &mut [f64]) -> bool {
    let (a, v, sigma) = (&mut a[..n * n], &mut v[..n * n], &mut sigma[..n]);
    let size = largest(a);
    if size == f64::INFINITY {
        sigma.fill(f64::NAN);
        v.fill(f64::NAN);
        return false;
    }
    v.fill(0.0);
    for j in 0..n {
        v[j * n + j] = 1.0;
    }
    let scale = if size > 0.0 { power_of_two_near_reciprocal(size) } else { 1.0 };
    a.iter_mut().for_each(|value| *value *= scale);
    for j in 0..n {
        sigma[j] = norm_or_clear(&mut a[j * n..(j + 1) * n]);
    }

    let tolerance = f64::EPSILON * (n as f64).sqrt().max(4.0);
    let mut converged = false;
    for _ in 0..MAX_SWEEPS {
        converged = !sweep(a, n, sigma, v, tolerance);
        if converged {
            break;
        }
    }
    for p in 0..n {
        bring_longest(p, a, n, sigma, v);
        sigma[p] /= scale;
    }
    converged
}

/// Visits every pair of columns once. Returns true if any pair was rotated. `norms`: the lengths of the columns.
fn sweep(a: &mut [f64], n: usize, norms: &mut [f64], v: &mut [f64], tolerance: f64) -> bool {
    let mut rotated = false;
    for p in 0..n {
        bring_longest(p, a, n, norms, v);
        for q in p + 1..n {
            if norms[q] == 0.0 || norms[p] == 0.0 {
                continue;
            }
            let (x, y) = two_columns(a, n, p, q);
            let cosine = cosine(x, norms[p], y, norms[q]);
            if cosine.abs() <= tolerance {
                continue;
            }
            rotated = true;
            let (c, s) = rotation(norms[p], norms[q], cosine);
            rotate(x, y, c, s);
            norms[p] = norm_or_clear(x);
            norms[q] = norm_or_clear(y);
            let (x, y) = two_columns(v, n, p, q);
            rotate(x, y, c, s);
        }
    }
    rotated
}

/// Returns the cosine c and sine s for which the columns `c x − s y` and `s x + c y` are orthogonal. The arguments are
/// the lengths of columns x and y, and the cosine of their angle: `xᵀy = cosine |x| |y|`.
///
/// The product of the new columns is `(c² − s²) xᵀy + c s (|x|² − |y|²)`. It is zero if `τ = s/c` is a root of
/// `τ² − 2ζτ − 1`, where `2ζ = (|x|² − |y|²) / xᵀy`. The root of smaller magnitude rotates by at most 45° (Golub & Van
/// Loan, 4th ed., §8.5.2). The code uses the ratio of the lengths, because their squares could overflow or underflow.
fn rotation(x: f64, y: f64, cosine: f64) -> (f64, f64) {
    let zeta = (x / y - y / x) / (2.0 * cosine);
    let tangent = if zeta.abs() > 1e8 {
        -0.5 / zeta // the next term is 1/(4ζ²) of it, below ε; ζ² could overflow
    } else {
        -1.0_f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt())
    };
    let c = 1.0 / (1.0 + tangent * tangent).sqrt();
    (c, c * tangent)
}

fn rotate(x: &mut [f64], y: &mut [f64], c: f64, s: f64) {
    for (p, q) in x.iter_mut().zip(y) {
        (*p, *q) = (c * *p - s * *q, s * *p + c * *q);
    }
}

/// Returns `xᵀy / (|x| |y|)`, given the norms.
fn cosine(x: &[f64], x_norm: f64, y: &[f64], y_norm: f64) -> f64 {
    if x_norm * y_norm > SAFE {
        return dot(x, y) / (x_norm * y_norm);
    }
    let x_scale = power_of_two_near_reciprocal(x_norm);
    let y_scale = power_of_two_near_reciprocal(y_norm);
    let product: f64 = x.iter().zip(y).map(|(p, q)| (p * x_scale) * (q * y_scale)).sum();
    product / ((x_norm * x_scale) * (y_norm * y_scale))
}

/// Returns `|x|`. The elements are at most of order n, because the matrix is scaled. Sets the column to zero if it is
/// too short for its rotations to be representable.
fn norm_or_clear(x: &mut [f64]) -> f64 {
    let squares = dot(x, x);
    if squares > SAFE {
        return squares.sqrt();
    }
    let size = largest(x);
    if size < 1e-290 {
        x.fill(0.0);
        return 0.0;
    }
    let scale = power_of_two_near_reciprocal(size);
    let squares: f64 = x.iter().map(|value| (value * scale) * (value * scale)).sum();
    squares.sqrt() / scale
}

/// Swaps the longest of columns `p..` into position p, in `a`, `norms` and `v`.
fn bring_longest(p: usize, a: &mut [f64], n: usize, norms: &mut [f64], v: &mut [f64]) {
    let mut longest = p;
    for q in p + 1..n {
        if norms[q] > norms[longest] {
            longest = q;
        }
    }
    if longest != p {
        norms.swap(p, longest);
        for matrix in [a, v] {
            let (x, y) = two_columns(matrix, n, p, longest);
            x.swap_with_slice(y);
        }
    }
}

/// Returns columns p and q, with p < q.
fn two_columns(a: &mut [f64], n: usize, p: usize, q: usize) -> (&mut [f64], &mut [f64]) {
    let (before, after) = a.split_at_mut(q * n);
    (&mut before[p * n..(p + 1) * n], &mut after[..n])
}
