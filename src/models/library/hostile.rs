//! Test of initial guesses for points that no model describes: they are numbers within the bounds, without a panic.

use super::{ALL, by_name};
use crate::Data;

fn ramp(n: usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..n).map(|i| f(i as f64)).collect()
}

#[test]
fn whatever_the_points_are_a_start_can_be_used() {
    let (n, zeros) = (12, vec![0.0; 12]);
    let scales = [1e-308, 1e-200, 1.0, 1e200, 1.7e308];
    let mut cases = vec![(vec![0.0], vec![0.0]), (zeros.clone(), zeros)];
    for x in scales {
        for y in scales {
            cases.push((vec![x], vec![-y]));
            cases.push((vec![x, -x], vec![y, y]));
            cases.push((vec![x; n], ramp(n, |i| (i - 5.0) / 6.0 * y)));
            cases.push((ramp(n, |i| (i - 6.0) / 6.0 * x), vec![y; n]));
            cases.push((ramp(n, |i| i / 12.0 * x), ramp(n, |i| if i > 8.0 { y } else { -y })));
            cases.push((ramp(n, |i| x - i / 12.0 * x), ramp(n, |i| (i * i * 7.0 % 5.0) / 5.0 * y)));
        }
    }
    for definition in ALL.iter().filter(|definition| definition.variables.len() == 1) {
        let model = by_name(definition.name).unwrap();
        let bounds = model.bounds();
        for (x, y) in &cases {
            let start = model.guess(Data::new(x, y).unwrap()).unwrap();
            let inside = |(value, (low, high)): (&f64, &(f64, f64))| low <= value && value <= high;
            let good = start.iter().all(|value| value.is_finite())
                && start.iter().zip(&bounds).all(inside);
            assert!(good, "{}: {start:?} of {x:?}, {y:?}", definition.name);
        }
    }
}
