//! Tests of singular values and V: recorded values, nalgebra, and rank.

use super::*;

/// Returns B D with `b_ij = ((7 i + 3 j) mod 5 + 1) / 8` above a diagonal of 2, and D = 2^e; exact in f64.
fn graded() -> DMatrix<f64> {
    let exponents = [0, -30, 20, -60, 45, -7];
    DMatrix::from_fn(6, 6, |i, j| {
        let b = match i.cmp(&j) {
            std::cmp::Ordering::Less => ((7 * i + 3 * j) % 5 + 1) as f64 / 8.0,
            std::cmp::Ordering::Equal => 2.0,
            std::cmp::Ordering::Greater => 0.0,
        };
        b * 2_f64.powi(exponents[j])
    })
}

/// Compares with values of mpmath 1.3, `mp.dps = 120`: `svd_r(R, compute_uv=False)` and `(R.T * R)**-1`.
#[test]
fn graded_matrix_keeps_every_singular_value_and_the_covariance() {
    let r = graded();
    let (sigma, v) = checked_svd(&r);
    let expected = [
        77435599470066.48,
        2134294.8729431005,
        1.9628155893400745,
        0.015662060401449754,
        1.7459335830616562e-9,
        1.6798438547649463e-18,
    ];
    for (found, expected) in sigma.iter().zip(expected) {
        assert_close(*found, expected, 2e-15);
    }
    let covariance = |i: usize, j: usize| -> f64 {
        (0..6).map(|l| v[(i, l)] / sigma[l] * (v[(j, l)] / sigma[l])).sum()
    };
    let diagonal = [
        0.285076379776001,
        3.280634834027807e17,
        2.585154312839677e-13,
        3.54374260595002e35,
        2.145701662201152e-28,
        4096.0,
    ];
    let beside = [-56384512.0, -53.359375, -59861106688.0, -1920.0, -2.2737367544323206e-13];
    for (i, expected) in diagonal.into_iter().enumerate() {
        assert_close(covariance(i, i), expected, 1e-14);
    }
    for (i, expected) in beside.into_iter().enumerate() {
        let size = (diagonal[i] * diagonal[i + 1]).sqrt();
        assert!((covariance(i, i + 1) - expected).abs() <= 1e-14 * size);
    }
}

/// Compares with values of mpmath, recorded in the same way from the elements rounded to f64. No scaling of columns
/// improves the Hilbert matrix: the error is ε κ(B), κ(B) about 1e10.
#[test]
fn hilbert_matrix_keeps_absolute_accuracy() {
    let hilbert = DMatrix::from_fn(8, 8, |i, j| 1.0 / (i + j + 1) as f64);
    let expected = [
        1.6959389969219494,
        0.2981252113169307,
        0.026212843578119052,
        0.001467688117741847,
        5.4369433697508964e-5,
        1.2943320918741794e-6,
        1.7988737460063012e-8,
        1.1115389694888083e-10,
    ];
    for (found, expected) in checked_svd(&hilbert).0.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-15);
    }
}

#[test]
fn random_matrices_agree_with_nalgebra_and_are_rebuilt() {
    let mut noise = Noise(10);
    for n in [0, 1, 2, 3, 4, 6, 11, 16, 33, 80] {
        for triangular in [true, false] {
            let full = noise.matrix(n, n);
            let a = if triangular { full.upper_triangle() } else { full };
            let (sigma, v) = checked_svd(&a);
            if n == 0 {
                continue;
            }
            let mut expected = a.singular_values().as_slice().to_vec();
            expected.sort_by(|x, y| y.total_cmp(x));
            for (found, expected) in sigma.iter().zip(expected) {
                assert!((found - expected).abs() <= 1e-14 * n as f64 * sigma[0]);
            }
            // U from an independent computation: the left vectors of a matrix are the right vectors of its transpose.
            let (_, u) = checked_svd(&a.transpose());
            let core = u.tr_mul(&a) * v;
            for j in 0..n {
                for i in 0..n {
                    let expected = if i == j { sigma[j] } else { 0.0 };
                    assert!((core[(i, j)].abs() - expected).abs() <= 1e-13 * n as f64 * sigma[0]);
                }
            }
        }
    }
}

#[test]
fn deficient_rank_leaves_v_orthogonal() {
    let mut noise = Noise(11);
    let n = 9;
    assert!(checked_svd(&DMatrix::zeros(n, n)).0.iter().all(|s| *s == 0.0));
    let rank_one = noise.matrix(n, 1) * noise.matrix(1, n);
    assert!(checked_svd(&rank_one).0[1] <= 1e-14);
    let rank_four = noise.matrix(n, 4) * noise.matrix(4, n);
    let (sigma, _) = checked_svd(&rank_four.qr().r());
    assert!(sigma[3] > 1e-3 && sigma[4] <= 1e-14);
    let mut gaps = noise.matrix(n, n).upper_triangle();
    gaps.column_mut(0).fill(0.0);
    gaps.column_mut(5).fill(0.0);
    let (sigma, _) = checked_svd(&gaps);
    assert!(sigma[n - 1] <= 1e-15 && sigma[n - 2] <= 1e-15);
    let ones = DMatrix::from_element(n, n, 1.0);
    let (sigma, _) = checked_svd(&ones);
    assert_close(sigma[0], n as f64, 1e-15);
    assert!(sigma[1] <= 1e-15);
}

#[test]
fn scaling_by_a_power_of_two_changes_no_bit_but_the_exponent() {
    let a = Noise(12).matrix(7, 7);
    let (plain, plain_v) = checked_svd(&a);
    for exponent in [-900, -40, 3, 900] {
        let scale = 2_f64.powi(exponent);
        let (sigma, v) = checked_svd(&a.map(|x| x * scale));
        assert!(sigma.iter().zip(&plain).all(|(x, y)| *x == y * scale));
        assert_eq!(v, plain_v);
    }
    let far = DMatrix::from_row_slice(2, 2, &[1e120, 1e-120, 0.0, 1e-130]);
    let (sigma, v) = checked_svd(&far);
    assert_close(sigma[1], 1e-130, 1e-15);
    assert_close(v[(1, 0)], 1e-240, 1e-13);
    let tiny_pair =
        DMatrix::from_row_slice(3, 3, &[1.0, 0.0, 0.0, 0.0, 3e-200, 3e-200, 0.0, 0.0, 4e-200]);
    let (sigma, _) = checked_svd(&tiny_pair);
    assert_close(sigma[1] * 1e200 * (sigma[2] * 1e200), 12.0, 1e-14);
}
