//! Tests of folding rows: Gram matrices, QR of nalgebra, chunks, gaps, range, instruction sets.

use super::*;

#[test]
fn folding_in_any_chunks_and_any_order_gives_one_gram_matrix() {
    let mut noise = Noise(3);
    for (m, k) in
        [(1, 1), (2, 3), (7, 2), (9, 4), (64, 5), (300, 6), (517, 7), (700, 11), (260, 33)]
    {
        let mut rows = noise.matrix(m, k);
        for j in 0..k {
            rows.column_mut(j).scale_mut(10_f64.powi((j as i32 * 29) % 100 - 50));
        }
        let gram = rows.tr_mul(&rows);
        let norms = norms(&rows);
        let mut shuffled = rows.clone();
        for i in (1..m).rev() {
            shuffled.swap_rows(i, noise.bits() as usize % (i + 1));
        }
        for chunk in [1, 3, 8, 13, 64, 256, 1024] {
            for data in [&rows, &shuffled] {
                let r = folded(data, chunk);
                let distance = gram_distance(&r.tr_mul(&r), &gram, &norms);
                assert!(distance <= 1e-13, "m {m}, k {k}, chunk {chunk}: {distance:e}");
            }
        }
    }
}

#[test]
fn folding_agrees_with_qr_up_to_signs() {
    let rows = Noise(4).matrix(100, 9);
    let (found, expected) = (folded(&rows, 37), rows.qr().r());
    for j in 0..9 {
        for i in 0..=j {
            let signs = found[(i, i)].signum() * expected[(i, i)].signum();
            assert!((found[(i, j)] - signs * expected[(i, j)]).abs() <= 1e-13);
        }
    }
}

#[test]
fn folding_reads_only_its_rows_and_leaves_the_lower_triangle_clean() {
    let mut noise = Noise(5);
    let (m, k, stride) = (13, 4, 16);
    let rows = noise.matrix(m, k);
    let mut padded = vec![f64::NAN; (k - 1) * stride + m];
    for j in 0..k {
        padded[j * stride..][..m].copy_from_slice(&rows.as_slice()[j * m..][..m]);
    }
    let mut r = vec![0.0; k * k];
    fold_rows(&mut r, k, &mut padded, stride, m);
    assert_eq!(DMatrix::from_column_slice(k, k, &r), folded(&rows, m));
    assert!(
        (0..k - 1).all(|j| { padded[j * stride + m..(j + 1) * stride].iter().all(|x| x.is_nan()) })
    );

    let before = r.clone();
    fold_rows(&mut r, k, &mut padded, stride, 0);
    fold_rows(&mut r, k, &mut [0.0; 20], 5, 5);
    assert_eq!(r, before);
    fold_rows(&mut [], 0, &mut [], 0, 5);
}

#[test]
fn folding_survives_zero_columns_and_squares_out_of_range() {
    let mut noise = Noise(6);
    let plain = noise.matrix(40, 5);
    let expected = folded(&plain, 40);
    for exponent in [-1000, -600, 600, 990] {
        let scale = 2_f64.powi(exponent);
        let r = folded(&plain.map(|x| x * scale), 40) / scale;
        assert!((r - &expected).amax() <= 1e-13, "2^{exponent}");
    }
    let mut gaps = plain.clone();
    gaps.column_mut(0).fill(0.0);
    gaps.column_mut(3).fill(0.0);
    let r = folded(&gaps, 17);
    assert!(r.iter().all(|x| x.is_finite()));
    assert!((r.tr_mul(&r) - gaps.tr_mul(&gaps)).amax() <= 1e-13);
    assert!(folded(&DMatrix::zeros(9, 3), 4).iter().all(|x| *x == 0.0));

    let mut spoiled = plain;
    spoiled[(11, 2)] = f64::NAN;
    let r = folded(&spoiled, 40);
    assert!((0..2).all(|j| r.column(j) == expected.column(j)));
    assert!((2..5).all(|j| r[(j, j)].is_nan()));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn folding_gives_the_same_bits_on_every_instruction_set() {
    #[target_feature(enable = "avx2,fma")]
    fn avx2(r: &mut [f64], k: usize, rows: &mut [f64], m: usize) {
        fold_rows(r, k, rows, m, m);
    }
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
    fn avx512(r: &mut [f64], k: usize, rows: &mut [f64], m: usize) {
        fold_rows(r, k, rows, m, m);
    }
    let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let has_avx512 = has_avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq");
    if !has_avx512 {
        println!("skipped in part: avx2 {has_avx2}, avx512 {has_avx512}");
    }
    let mut noise = Noise(7);
    for (m, k) in [(5, 3), (131, 6), (256, 11)] {
        let rows = noise.matrix(m, k);
        let plain = folded(&rows, m);
        for (present, set) in [(has_avx2, false), (has_avx512, true)] {
            if present {
                let (mut r, mut rows) = (vec![0.0; k * k], rows.as_slice().to_vec());
                // SAFETY: the features were detected above.
                unsafe {
                    if set {
                        avx512(&mut r, k, &mut rows, m)
                    } else {
                        avx2(&mut r, k, &mut rows, m)
                    }
                }
                assert_eq!(upper(&r, k), plain);
            }
        }
    }
}
