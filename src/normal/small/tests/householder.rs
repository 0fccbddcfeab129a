//! Tests of the damped step: the stacked problem, and damping much larger than R.

use super::*;

/// Returns S, t and x of the damped problem.
fn damp(r: &DMatrix<f64>, d: &[f64], z: &[f64]) -> (DMatrix<f64>, Vec<f64>, Vec<f64>) {
    let n = d.len();
    let (mut s, mut t) = (vec![f64::NAN; n * n], vec![f64::NAN; n]);
    let mut work = vec![f64::NAN; n * n + n];
    damped(r.as_slice(), n, d, z, &mut s, &mut t, &mut work);
    let mut x = t.clone();
    solve_upper(&s, n, &mut x);
    (DMatrix::from_column_slice(n, n, &s), t, x)
}

#[test]
fn damped_solves_the_stacked_problem() {
    let mut noise = Noise(8);
    for n in [0, 1, 2, 3, 7, 10, 40] {
        let r = noise.matrix(n, n).upper_triangle() + 2.0 * DMatrix::<f64>::identity(n, n);
        let z: Vec<f64> = (0..n).map(|_| noise.next()).collect();
        for strength in [0.0, 1e-8, 0.3, 1.0, 50.0, 1e8] {
            let d: Vec<f64> = (0..n).map(|_| strength * (1.5 + noise.next())).collect();
            let (s, t, x) = damp(&r, &d, &z);
            assert_eq!(s, s.upper_triangle());
            let diagonal = DMatrix::from_diagonal(&DVector::from_row_slice(&d));
            let gram = r.tr_mul(&r) + &diagonal * &diagonal;
            let norms: Vec<f64> = gram.diagonal().iter().map(|x| x.sqrt()).collect();
            assert!(gram_distance(&s.tr_mul(&s), &gram, &norms) <= 1e-14 * (n + 3) as f64);
            // Sᵀ t = Rᵀ z; each element is compared with the product of its norms.
            let left = s.tr_mul(&DVector::from_row_slice(&t));
            let right = r.tr_mul(&DVector::from_row_slice(&z));
            let z_norm = DVector::from_row_slice(&z).norm();
            for j in 0..n {
                assert!((left[j] - right[j]).abs() <= 1e-14 * (n + 3) as f64 * norms[j] * z_norm);
            }
            if strength == 1.0 {
                let inverse = gram.try_inverse().expect("regular");
                let expected = inverse * right;
                for j in 0..n {
                    assert!((x[j] - expected[j]).abs() <= 1e-12 * (1.0 + expected[j].abs()));
                }
            }
        }
    }
}

/// For λ → ∞ the step is `D⁻² Rᵀ z`; its direction must not be lost in rounding of size `ε |z|`.
#[test]
fn heavy_damping_keeps_every_digit_of_the_direction() {
    let mut noise = Noise(9);
    let n = 6;
    let r = noise.matrix(n, n).upper_triangle() + 2.0 * DMatrix::<f64>::identity(n, n);
    let z: Vec<f64> = (0..n).map(|_| noise.next()).collect();
    let d: Vec<f64> = (0..n).map(|j| 10_f64.powi(20 + 3 * j as i32)).collect();
    let (_, _, x) = damp(&r, &d, &z);
    let gradient = r.tr_mul(&DVector::from_row_slice(&z));
    for j in 0..n {
        assert_close(x[j], gradient[j] / (d[j] * d[j]), 1e-13);
    }
}
