//! Dense linear algebra on P×P matrices; P is the number of parameters.
//!
//! | file | factor | used for |
//! |---|---|---|
//! | `cholesky` | `A = RᵀR` | the normal equations, and triangular solves |
//! | `householder` | `[R; D] = Q S`, `[R; few rows] = Q R'` | the damped step, merging of factors |
//! | `fold_rows` | `[R; rows] = Q R'` | the pass over the data |
//! | `householder` | `[R; row] = Q R'` (rotations) | rows of very different size |
//! | `jacobi_svd` | `A = U Σ Vᵀ` | covariance and rank |
//!
//! Every matrix is a slice of `n * n` numbers, column-major: element (i, j) is at `j * n + i`.
//! No function allocates. No function panics because of a value, finite or not. A slice shorter than its documented
//! shape is a bug of the caller and causes a panic. Products outside the pass over the data do not use fused
//! multiply-add, so that results do not depend on the instruction set.

/// Evaluates `$call` with `$n` as a compile-time constant for small matrices, so that loops are unrolled. For five
/// parameters, factorisation and solution are 5x as fast. The operations and their order, and therefore the bits, are
/// the same for any size.
macro_rules! by_size {
    ($n:ident => $call:expr) => {
        match $n {
            1 => {
                let $n = 1;
                $call
            }
            2 => {
                let $n = 2;
                $call
            }
            3 => {
                let $n = 3;
                $call
            }
            4 => {
                let $n = 4;
                $call
            }
            5 => {
                let $n = 5;
                $call
            }
            6 => {
                let $n = 6;
                $call
            }
            7 => {
                let $n = 7;
                $call
            }
            8 => {
                let $n = 8;
                $call
            }
            _ => $call,
        }
    };
}
pub(crate) use by_size;

mod cholesky;
mod fold_rows;
mod householder;
mod jacobi_svd;
#[cfg(test)]
mod tests;

pub(crate) use cholesky::{cholesky, is_regular, solve_upper, solve_upper_transposed};
pub(crate) use fold_rows::fold_rows;
pub(crate) use householder::{damped, fold_few, fold_pivots, rotate_in};
pub(crate) use jacobi_svd::jacobi_svd;

/// Returns `xᵀy` of two vectors of equal length. Four running sums, added in a fixed order, let long columns use the
/// vector units of any processor.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    if x.len() < 4 {
        return x.iter().zip(y).fold(0.0, |sum, (p, q)| sum + p * q);
    }
    let (x4, x_rest) = x.as_chunks::<4>();
    let (y4, y_rest) = y.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (p, q) in x4.iter().zip(y4) {
        for l in 0..4 {
            sums[l] += p[l] * q[l];
        }
    }
    let mut total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (p, q) in x_rest.iter().zip(y_rest) {
        total += p * q;
    }
    total
}

/// Returns the largest magnitude in `x`; infinite if any element is infinite or NaN.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(
        0.0,
        |most: f64, value| {
            if value.is_finite() { most.max(value.abs()) } else { f64::INFINITY }
        },
    )
}

/// Returns the power of two that scales a finite positive number to near 1. The power and its reciprocal are normal
/// numbers, so multiplication by them is exact for results above the subnormal range.
fn power_of_two_near_reciprocal(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff).clamp(1, 2045);
    f64::from_bits((2046 - exponent) << 52)
}
