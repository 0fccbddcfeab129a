//! Tests that copies for machine code contain the values of the used points, with every instruction set.

use super::config;
use crate::Sigma;
use crate::backend::cpu::gather::{COPY, gather_used};
use crate::backend::cpu::kernels;
use crate::data::points::Points;
use crate::data::values::Values;
use crate::data::{Data, Missing};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn copies_contain_the_values_of_the_used_points(
        points in proptest::collection::vec((0.0..1.0, -9.0..9.0_f64, any::<u16>()), 1..1200),
        left_out in prop_oneof![Just(0.0), Just(0.01), Just(1.0), 0.0..1.0],
        missing in prop_oneof![Just(0.0), 0.0..0.5],
        (start, length) in (0..1200_usize, 0..1200_usize),
    ) {
        let mut mask: Vec<bool> = points.iter().map(|point| point.0 >= left_out).collect();
        // At least one point is used.
        mask[0] = true;
        let is_missing = |i: usize, draw: f64| i > 0 && (7.0 * draw).fract() < missing;
        let x: Vec<f64> = points.iter().enumerate().map(|(i, &(draw, x, _))| {
            if is_missing(i, draw) { f64::NAN } else { x }
        }).collect();
        let y: Vec<u16> = points.iter().map(|point| point.2).collect();
        let sigma: Vec<f64> = points.iter().map(|point| point.0 + 0.5).collect();
        let data = Data::new(&x, &y).expect("data").mask(&mask).expect("a mask");
        let data = data.sigma(Sigma::Absolute(&sigma)).expect("sigma").missing(Missing::Omit);
        let valid = Points::validate(&data).expect("points");
        let start = start.min(points.len());
        let span = (start, points.len().min(start + length));
        let used: Vec<usize> = (span.0..span.1).filter(|&i| mask[i] && x[i].is_finite()).collect();
        let arrays = [Values::F64(&x), Values::U16(&y), Values::F64(&sigma)];
        let expected = arrays.map(|array| used.iter().map(|&i| array.at(i)).collect::<Vec<f64>>());
        for kernels in kernels::available() {
            let mut out = vec![f64::NAN; arrays.len() * COPY];
            let count = gather_used(kernels.vectors, &valid, span, &arrays, &mut out);
            prop_assert_eq!(count, used.len(), "{}", kernels.name);
            for (copy, expected) in out.chunks(COPY).zip(&expected) {
                prop_assert_eq!(&copy[..count], &expected[..], "{}", kernels.name);
            }
        }
        for last in 0..used.len() {
            let first = valid.last_used(span.1, last);
            prop_assert_eq!((first..span.1).filter(|i| used.contains(i)).count(), last);
        }
    }
}
