//! Tests of the dense linear algebra. References: values recorded from mpmath with 120 digits, nalgebra, and identities
//! of the factors.

use super::*;
use nalgebra::{DMatrix, DVector};

mod cholesky;
mod fold_rows;
mod householder;
mod jacobi_svd;

/// Pseudorandom numbers, uniform on [-1, 1), equal in every run.
struct Noise(u64);

impl Noise {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 11
    }

    fn next(&mut self) -> f64 {
        self.bits() as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |_, _| self.next())
    }
}

fn upper(r: &[f64], n: usize) -> DMatrix<f64> {
    DMatrix::from_column_slice(n, n, r).upper_triangle()
}

fn folded(rows: &DMatrix<f64>, chunk: usize) -> DMatrix<f64> {
    let k = rows.ncols();
    let mut r = vec![0.0; k * k];
    for start in (0..rows.nrows()).step_by(chunk) {
        let m = chunk.min(rows.nrows() - start);
        let mut part = rows.rows(start, m).clone_owned();
        fold_rows(&mut r, k, part.as_mut_slice(), m, m);
    }
    upper(&r, k)
}

/// Returns the largest `|x_ij − y_ij|` of two Gram matrices, relative to the product of the column norms i and j.
fn gram_distance(x: &DMatrix<f64>, y: &DMatrix<f64>, norms: &[f64]) -> f64 {
    let mut worst: f64 = 0.0;
    for j in 0..x.ncols() {
        for i in 0..x.nrows() {
            worst = worst.max((x[(i, j)] - y[(i, j)]).abs() / (norms[i] * norms[j]));
        }
    }
    worst
}

fn norms(a: &DMatrix<f64>) -> Vec<f64> {
    a.column_iter().map(|column| column.norm()).collect()
}

/// Runs the SVD and checks properties of every finite matrix; returns σ and V.
fn checked_svd(a: &DMatrix<f64>) -> (Vec<f64>, DMatrix<f64>) {
    let n = a.ncols();
    let (mut scratch, mut sigma, mut v) =
        (a.as_slice().to_vec(), vec![f64::NAN; n], vec![f64::NAN; n * n]);
    assert!(jacobi_svd(&mut scratch, n, &mut sigma, &mut v), "n = {n}");
    assert!(sigma.windows(2).all(|pair| pair[0] >= pair[1]), "{sigma:?}");
    let v = DMatrix::from_column_slice(n, n, &v);
    let orthogonality = (v.tr_mul(&v) - DMatrix::identity(n, n)).amax();
    assert!(orthogonality <= 1e-14 * n as f64, "n = {n}: {orthogonality:e}");
    let image = a * &v;
    for j in 0..n {
        if sigma[0] > 0.0 {
            let error = ((image.column(j) / sigma[0]).norm() - sigma[j] / sigma[0]).abs();
            assert!(error <= 1e-15 * n as f64, "n = {n}: σ_{j} is off by {error:e} σ_0");
        }
    }
    (sigma, v)
}

#[track_caller]
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    let error = ((found - expected) / expected).abs();
    assert!(error <= tolerance, "{found:e} for {expected:e}: {error:e}");
}

#[test]
fn no_value_makes_anything_panic() {
    let values =
        [0.0, -0.0, 1.0, -3.0, 5e-324, 1e-310, 1e-160, 1e160, f64::MAX, f64::NAN, f64::INFINITY];
    let mut noise = Noise(13);
    for round in 0..4000 {
        let n = round % 7;
        let count = if round % 2 == 0 { 9 } else { values.len() };
        let mut some = |length: usize| -> Vec<f64> {
            (0..length).map(|_| values[noise.bits() as usize % count]).collect()
        };
        let (a, d, z) = (some(n * n), some(n), some(n));
        let (mut r, mut s, mut t) = (vec![0.0; n * n], vec![0.0; n * n], z.clone());
        if cholesky(&a, n, &mut r).is_ok() {
            assert!((0..n).all(|j| r[j * n + j] > 0.0));
        }
        solve_upper(&a, n, &mut t);
        solve_upper_transposed(&a, n, &mut t);
        damped(&a, n, &d, &z, &mut s, &mut t, &mut vec![0.0; n * n + n]);
        let m = round % 19;
        fold_rows(&mut r, n, &mut some(n * m), m, m);

        let (mut sigma, mut v) = (vec![0.0; n], vec![0.0; n * n]);
        let finite = a.iter().all(|x| x.is_finite());
        assert_eq!(jacobi_svd(&mut a.clone(), n, &mut sigma, &mut v), finite, "{a:?}");
        assert!(sigma.iter().chain(&v).all(|x| x.is_nan() != finite));
        if finite {
            let v = DMatrix::from_column_slice(n, n, &v);
            assert!((v.tr_mul(&v) - DMatrix::identity(n, n)).iter().all(|x| x.abs() <= 1e-13));
        }
    }
}
