//! Fits and batches that devices alike share have the bits of one of them.

#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use super::batches::{START, abscissae, decay, decays};
use dualfit::device::{Costs, Processor};
use dualfit::{BatchData, CurveFit, Data, Estimator, Fit, Loss, Missing, Precision, Sigma};

/// The tests, each handed to `$on_devices`, which calls it with a [`Shared`] or skips it.
macro_rules! several_on {
    ($on_devices:ident) => {
        #[test]
        fn fits_that_devices_share_have_the_bits_of_one() {
            $on_devices(several::fits_that_devices_share_have_the_bits_of_one);
        }

        #[test]
        fn batches_that_devices_share_have_the_bits_of_one() {
            $on_devices(several::batches_that_devices_share_have_the_bits_of_one);
        }
    };
}
pub(crate) use several_on;

/// Sends a fit to a number of equal devices; `None` if there are fewer.
pub type Shared<'a> = &'a dyn Fn(CurveFit, usize) -> Option<CurveFit>;

/// Points of a segment.
pub const SEGMENT: usize = 1000;

/// The model with few points per segment, so that devices share small fits.
pub fn in_segments(model: CurveFit) -> CurveFit {
    model.costs(Costs::default().segment_points(SEGMENT))
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// All that a fit found, as bits.
pub fn of_fit(fit: &Fit) -> Vec<u64> {
    [fit.params(), &fit.std_errors(), &[fit.cost(), fit.evaluations() as f64]]
        .concat()
        .iter()
        .map(|number| number.to_bits())
        .collect()
}

fn same(shared: Shared<'_>, model: CurveFit, data: &Data<'_>, start: &[f64], what: &str) {
    let on = |devices: usize| {
        let model = shared(in_segments(model.clone()), devices)?;
        let fit = model.fit(data, start).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(fit.stats().processor, Processor::Cuda, "{what}: {}", fit.stats().reason);
        assert!(fit.converged(), "{what}: {:?}", fit.termination());
        let name = fit.stats().device.clone().unwrap_or_default();
        assert_eq!(name.contains('\u{d7}'), devices > 1, "{what}: {name}");
        Some(of_fit(&fit))
    };
    let alone = on(1).expect("a device");
    for devices in [2, 3] {
        if let Some(shared) = on(devices) {
            assert_eq!(shared, alone, "{what} on {devices} devices");
        }
    }
}

pub fn fits_that_devices_share_have_the_bits_of_one(shared: Shared<'_>) {
    for points in [SEGMENT, SEGMENT + 1, 2 * SEGMENT, 5 * SEGMENT - 300] {
        let x = abscissae(points);
        let y = decays(&x, 1);
        let sigma: Vec<f64> = x.iter().map(|x| 0.2 + 0.05 * x).collect();
        let data = Data::new(&x, &y).unwrap();
        let what = |name: &str| format!("{name}, {points} points");
        same(shared, decay(), &data, &START, &what("plain"));
        let weighed = data.clone().sigma(Sigma::Relative(&sigma)).unwrap();
        same(shared, decay(), &weighed, &START, &what("relative errors"));
        // The first segment has no point that counts, the others have holes.
        if points > 2 * SEGMENT {
            let mask: Vec<bool> = (SEGMENT..SEGMENT + points).map(|i| i % 5 != 0).collect();
            let mask: Vec<bool> =
                mask.iter().enumerate().map(|(i, &m)| m && i >= SEGMENT).collect();
            let mut y = y.clone();
            y[SEGMENT + 2] = f64::NAN;
            let holes = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
            let holes = holes.mask(&mask).unwrap().missing(Missing::Omit);
            same(shared, decay(), &holes, &START, &what("holes"));
        }
        for loss in [Loss::Cauchy { scale: 0.3 }, Loss::Tukey { scale: 1.5 }] {
            same(shared, decay().loss(loss), &data, &START, &what(&format!("{loss:?}")));
        }
        let inside = [(0.0, f64::INFINITY), (0.0, 0.8), (-1.0, 9.0)];
        let bounded = decay().names(["a", "b", "c"]).bounds(inside).fix("c");
        same(shared, bounded, &data, &[15.0, 0.7, 5.0], &what("on a bound"));
        same(shared, decay().precision(Precision::Mixed), &data, &START, &what("mixed"));
        let single: [Vec<f32>; 2] = [&x, &y].map(|v| v.iter().map(|&v| v as f32).collect());
        let single = Data::new(&single[0], &single[1]).unwrap();
        same(shared, decay(), &single, &START, &what("f32"));
        let counts: Vec<f64> = y.iter().map(|y| y.round().max(0.0)).collect();
        let counts = Data::new(&x, &counts).unwrap();
        let counting = decay().estimator(Estimator::Poisson);
        same(shared, counting, &counts, &START, &what("counts"));
    }
    // Rows of many parameters are multiplied in the device's memory.
    let x = abscissae(2 * SEGMENT + 500);
    let y = decays(&x, 1);
    let wide = CurveFit::dynamic(35, |x, p| {
        let terms = p.iter().enumerate().map(|(k, p)| *p * (x * (0.7 * k as f64)).cos());
        terms.reduce(|sum, term| sum + term).expect("a parameter")
    });
    same(shared, wide, &Data::new(&x, &y).unwrap(), &[0.1; 35], "35 parameters");
}

pub fn batches_that_devices_share_have_the_bits_of_one(shared: Shared<'_>) {
    for (fits, points) in [(1, 30), (3, 30), (9, 40), (200, 25)] {
        let x = abscissae(points);
        let mut stack = decays(&x, fits);
        stack[points / 2] = f64::NAN;
        let data = BatchData::shared(&x, &stack).unwrap();
        let on = |devices: usize| {
            let model = shared(decay().loss(Loss::Huber { scale: 0.5 }), devices)?;
            let batch = model.keep_covariance(true).fit_batch(&data, START).unwrap();
            assert_eq!(batch.processor(), Processor::Cuda, "{}", batch.reason());
            assert_eq!(batch.converged(), fits - 1);
            let covariance = (0..fits).flat_map(|fit| batch.covariance(fit).unwrap().to_vec());
            let covariance: Vec<f64> = covariance.collect();
            let numbers = [batch.params(), batch.std_errors(), batch.costs(), &covariance].concat();
            Some((bits(&numbers), batch.statuses().to_vec()))
        };
        let alone = on(1).expect("a device");
        for devices in [2, 3] {
            if let Some(shared) = on(devices) {
                assert_eq!(shared, alone, "{fits} fits on {devices} devices");
            }
        }
    }
}
