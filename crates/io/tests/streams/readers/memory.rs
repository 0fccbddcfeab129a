//! Sources of slices and functions.

use crate::readers::points::{Point, check};
use dualfit::source::{FnSource, SliceSource, Source, Width};

#[test]
fn slices_give_their_values() {
    let x: Vec<f64> = (0..23).map(f64::from).collect();
    let z: Vec<f64> = x.iter().map(|x| 0.1 * x).collect();
    let y: Vec<f32> = (0..23).map(|i| 0.3 * i as f32).collect();
    let sigma: Vec<f64> = x.iter().map(|x| 1.0 + x).collect();
    let expected: Vec<Point> =
        (0..23).map(|i| (vec![x[i], z[i]], f64::from(y[i]), Some(sigma[i]))).collect();
    let source = SliceSource::new([&x, &z], &y).unwrap().sigma(&sigma).unwrap();
    assert_eq!(source.shape().x, [Width::F64, Width::F64]);
    assert_eq!(source.shape().y, Width::F32);
    check(source, &expected);
    check(SliceSource::new(&x[..1], &y[..1]).unwrap(), &[(vec![0.0], 0.0, None)]);
    check(SliceSource::new(&x[..0], &y[..0]).unwrap(), &[]);
}

#[test]
fn slices_of_different_lengths_are_refused() {
    let said = SliceSource::new(&[1.0; 3], &[1.0; 4]).unwrap_err().to_string();
    assert!(said.contains("column x 0: it has 3 values and y has 4"), "{said}");
    let said = SliceSource::new(&[1.0; 4], &[1.0; 4]).unwrap().sigma(&[1.0]).unwrap_err();
    assert!(said.to_string().contains("column sigma: it has 1 values"), "{said}");
}

#[test]
fn fingerprints_tell_slices_apart() {
    let (a, mut b) = (vec![1.0; 100], vec![1.0; 100]);
    let of = |x: &[f64]| SliceSource::new(x, &a).unwrap().fingerprint().unwrap();
    assert_eq!(of(&a), of(&b));
    b[50] = 2.0;
    assert_ne!(of(&a), of(&b));
    let swapped = SliceSource::new(&a, &b).unwrap().fingerprint().unwrap();
    assert_ne!(swapped, of(&b));
    assert_ne!(of(&a), SliceSource::new(&a, &a).unwrap().sigma(&a).unwrap().fingerprint().unwrap());
}

#[test]
fn functions_give_their_points() {
    let plain = |i: u64| (i as f64, 2.0 * i as f64);
    let expected: Vec<Point> = (0..23).map(|i| (vec![i as f64], 2.0 * i as f64, None)).collect();
    check(FnSource::new(23, plain), &expected);
    check(FnSource::new(0, plain), &[]);
    let full = |i: u64| ([i as f64, 0.5], 2.0 * i as f64, 1.0 + i as f64);
    let expected: Vec<Point> = (0..23)
        .map(|i| (vec![f64::from(i), 0.5], 2.0 * f64::from(i), Some(1.0 + f64::from(i))))
        .collect();
    check(FnSource::new(23, full), &expected);
    let huge = FnSource::new(u64::MAX, plain);
    assert_ne!(huge.fingerprint(), FnSource::new(u64::MAX - 1, plain).fingerprint());
}
