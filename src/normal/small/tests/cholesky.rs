//! Tests of the Cholesky factor and the triangular solves: reconstruction, scale, failure.

use super::*;

#[test]
fn cholesky_rebuilds_the_matrix_and_the_solves_invert_it() {
    let mut noise = Noise(1);
    for n in [0, 1, 2, 3, 6, 10, 33, 120] {
        let scales: Vec<f64> = (0..n).map(|j| 10_f64.powi((j as i32 * 37) % 120 - 60)).collect();
        let mut j = noise.matrix(2 * n + 3, n);
        for (mut column, scale) in j.column_iter_mut().zip(&scales) {
            column *= *scale;
        }
        let a = j.tr_mul(&j);
        let mut r = vec![f64::NAN; n * n];
        assert_eq!(cholesky(a.as_slice(), n, &mut r), Ok(()));
        let r_matrix = DMatrix::from_column_slice(n, n, &r);
        assert_eq!(r_matrix, r_matrix.upper_triangle());
        assert!(gram_distance(&r_matrix.tr_mul(&r_matrix), &a, &norms(&j)) <= 1e-14);

        let x = DVector::from_fn(n, |i, _| noise.next() / scales[i]);
        let mut solved = (&r_matrix * &x).as_slice().to_vec();
        solve_upper(&r, n, &mut solved);
        let mut twice = r_matrix.tr_mul(&(&r_matrix * &x)).as_slice().to_vec();
        solve_upper_transposed(&r, n, &mut twice);
        solve_upper(&r, n, &mut twice);
        for i in 0..n {
            assert!((solved[i] - x[i]).abs() * scales[i] <= 1e-12);
            assert!((twice[i] - x[i]).abs() * scales[i] <= 1e-11);
        }
    }
}

#[test]
fn cholesky_reports_the_first_bad_pivot() {
    let mut noise = Noise(2);
    let mut j = noise.matrix(20, 5);
    let dependent = 3e7 * j.column(0) - 2e7 * j.column(2);
    j.set_column(3, &dependent);
    let a = j.tr_mul(&j);
    let mut r = vec![0.0; 25];
    assert_eq!(cholesky(a.as_slice(), 5, &mut r), Err(3));

    let mut good = noise.matrix(20, 3);
    good = good.tr_mul(&good);
    for (k, bad) in [(0, 0.0), (1, -1.0), (2, f64::NAN), (1, f64::INFINITY), (0, f64::NAN)] {
        let mut a = good.clone();
        a[(k, k)] = bad;
        assert_eq!(cholesky(a.as_slice(), 3, &mut r), Err(k));
    }
    let mut a = good;
    a[(0, 2)] = f64::INFINITY;
    assert_eq!(cholesky(a.as_slice(), 3, &mut r), Err(2));
}

#[test]
fn a_zero_on_the_diagonal_divides_by_zero() {
    let mut b = [1.0, 1.0];
    solve_upper(&[2.0, 0.0, 1.0, 0.0], 2, &mut b);
    assert_eq!(b, [f64::NEG_INFINITY, f64::INFINITY]);
    let mut b = [1.0, 1.0];
    solve_upper_transposed(&[2.0, 0.0, 1.0, 0.0], 2, &mut b);
    assert_eq!(b, [0.5, f64::INFINITY]);
}
