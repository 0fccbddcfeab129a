//! Joint fits whose sets a device sums up together: the emulated one of this crate's own tests, and real ones.
//!
//! The oracles are the same fits on the CPU.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use dualfit::device::Processor;
use dualfit::{Backend, BatchData, CurveFit, Data, Estimator, GlobalFit, JointFit, Loss, Sigma};

/// The tests, each handed to `$on_device`, which calls it with a [`Place`] or skips it.
macro_rules! joints_on {
    ($on_device:ident) => {
        #[test]
        fn sets_of_all_lengths_fit_as_on_the_cpu() {
            $on_device(joints::sets_of_all_lengths_fit_as_on_the_cpu);
        }
        #[test]
        fn sets_of_a_batch_fit_as_on_the_cpu() {
            $on_device(joints::sets_of_a_batch_fit_as_on_the_cpu);
        }
        #[test]
        fn sets_with_outliers_fit_as_on_the_cpu() {
            $on_device(joints::sets_with_outliers_fit_as_on_the_cpu);
        }
        #[test]
        fn sets_of_counts_fit_as_on_the_cpu() {
            $on_device(joints::sets_of_counts_fit_as_on_the_cpu);
        }
        #[test]
        fn sets_of_several_models_fit_as_on_the_cpu() {
            $on_device(joints::sets_of_several_models_fit_as_on_the_cpu);
        }
        #[test]
        fn sets_of_many_parameters_fit_as_on_the_cpu() {
            $on_device(joints::sets_of_many_parameters_fit_as_on_the_cpu);
        }
    };
}
pub(crate) use joints_on;

/// Sends a fit to the device under test.
pub type Place<'a> = &'a dyn Fn(CurveFit) -> CurveFit;

/// Sets of one point and of more than a group of lanes takes at once, and one that is too long to go with the others.
pub const LENGTHS: [usize; 12] = [1, 2, 3, 31, 32, 33, 64, 7, 200, 129, 40, 4000];

/// A decay of `a`, `rate` and `c`.
pub fn decay() -> CurveFit {
    CurveFit::new(|x, [a, r, c]| a * (-r * x).exp() + c).names(["a", "rate", "c"])
}

/// For each length x from 0 to 10 and y: decays with a rate of 0.8, amplitudes and levels of their own, and a scatter that looks
/// like noise.
pub fn decays(lengths: &[usize]) -> Vec<[Vec<f64>; 2]> {
    let decay = |(k, &n): (usize, &usize)| {
        let (a, c) = (2.0 + 0.37 * k as f64, 0.3 - 0.05 * k as f64);
        let scatter = |i: usize| {
            let i = (i + 1000 * k) as f64;
            0.05 * (12.9898 * i + 78.233).sin() * (4.1 * i).cos()
        };
        let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
        let y = x.iter().enumerate().map(|(i, x)| a * (-0.8 * x).exp() + c + scatter(i)).collect();
        [x, y]
    };
    lengths.iter().enumerate().map(decay).collect()
}

fn joint(curve: &CurveFit) -> GlobalFit {
    GlobalFit::new(curve).share(["rate"])
}

/// On the device and on the CPU.
fn both(place: Place<'_>, curve: &CurveFit, fit: impl Fn(&CurveFit) -> JointFit) {
    let (there, here) = (fit(&place(curve.clone())), fit(&curve.clone().backend(Backend::Cpu)));
    assert_same(&there, &here);
}

fn assert_same(there: &JointFit, here: &JointFit) {
    let (there, here) = (there.fit(), here.fit());
    let reason = &there.stats().reason;
    assert_eq!(there.stats().processor, Processor::Cuda, "{reason}");
    assert_eq!(here.stats().processor, Processor::Cpu);
    assert!(there.stats().device_bytes > 0 && there.converged() && here.converged(), "{reason}");
    // A bound may hold a parameter, and nothing determine one.
    let are_alike =
        |d: f64, c: f64, most: f64| d == c || (d.is_nan() && c.is_nan()) || (d - c).abs() <= most;
    for ((d, c), e) in there.params().iter().zip(here.params()).zip(here.std_errors()) {
        assert!(are_alike(*d, *c, 1e-7 * e), "{d:e} against {c:e} ± {e:e}");
    }
    for (d, c) in there.std_errors().into_iter().zip(here.std_errors()) {
        assert!(are_alike(d, c, 1e-6 * c), "error {d:e} against {c:e}");
    }
}

pub fn sets_of_all_lengths_fit_as_on_the_cpu(place: Place<'_>) {
    let sets = decays(&LENGTHS);
    let sigma: Vec<f64> = (0..4000).map(|i| 0.03 + 0.01 * f64::from(i % 5)).collect();
    let mask: Vec<bool> = (0..4000).map(|i| i % 7 != 3).collect();
    type Kind<'k> = &'k dyn Fn(usize, Data<'k>) -> Data<'k>;
    let kinds: [Kind<'_>; 5] = [
        &|_, data| data,
        &|k, data| data.sigma(Sigma::Absolute(&sigma[..LENGTHS[k]])).unwrap(),
        &|k, data| data.sigma(Sigma::Constant(0.03 + 0.01 * k as f64)).unwrap(),
        &|k, data| data.mask(&mask[..LENGTHS[k]]).unwrap(),
        &|k, data| {
            let data = data.sigma(Sigma::Absolute(&sigma[..LENGTHS[k]])).unwrap();
            if k % 2 == 0 { data.mask(&mask[..LENGTHS[k]]).unwrap() } else { data }
        },
    ];
    // All, two, without those of fewer points than parameters.
    for range in [0..12, 5..7, 3..11] {
        for kind in kinds {
            let data = || {
                let set = |k: usize| kind(k, Data::new(&sets[k][0], &sets[k][1]).unwrap());
                range.clone().map(set).collect::<Vec<_>>()
            };
            both(place, &decay(), |curve| joint(curve).fit(data(), [("rate", 0.5)]).unwrap());
        }
    }
}

pub fn sets_of_a_batch_fit_as_on_the_cpu(place: Place<'_>) {
    const POINTS: usize = 50;
    let sets = decays(&[POINTS; 33]);
    let stack: Vec<f64> = sets.iter().flat_map(|[_, y]| y.iter().copied()).collect();
    let single: Vec<f32> = stack.iter().map(|&y| y as f32).collect();
    let counts: Vec<u16> = stack.iter().map(|&y| (1000.0 * y.max(0.0)).round() as u16).collect();
    let x = &sets[0][0];
    let start = [("rate", 0.5)];
    both(place, &decay(), |curve| {
        joint(curve).over(&BatchData::shared(x, &stack).unwrap(), start).unwrap()
    });
    both(place, &decay(), |curve| {
        joint(curve).over(&BatchData::shared(x, &single).unwrap(), start).unwrap()
    });
    both(place, &decay(), |curve| {
        joint(curve).over(&BatchData::shared(x, &counts).unwrap(), start).unwrap()
    });
}

pub fn sets_with_outliers_fit_as_on_the_cpu(place: Place<'_>) {
    let mut sets = decays(&[40, 55, 70, 33, 90]);
    for [_, y] in &mut sets {
        y.iter_mut().step_by(11).for_each(|y| *y += 3.0);
    }
    let scale = 0.1;
    let losses = [
        Loss::SoftL1 { scale },
        Loss::Huber { scale },
        Loss::Cauchy { scale },
        Loss::Tukey { scale: 0.5 },
    ];
    for loss in losses {
        let curve = decay().loss(loss);
        let data = || sets.iter().map(|[x, y]| Data::new(x, y).unwrap());
        both(place, &curve, |curve| joint(curve).fit(data(), [("rate", 0.7)]).unwrap());
    }
}

pub fn sets_of_counts_fit_as_on_the_cpu(place: Place<'_>) {
    let sets = decays(&[40, 55, 70, 33, 90]);
    // Sets of many and of few events, so that the dark parts differ.
    let counts = |(k, [x, y]): (usize, &[Vec<f64>; 2])| {
        let size = if k % 2 == 0 { 20.0 } else { 0.4 };
        [x.clone(), y.iter().map(|y| (size * y.max(0.0)).round()).collect::<Vec<_>>()]
    };
    let sets: Vec<[Vec<f64>; 2]> = sets.iter().enumerate().map(counts).collect();
    let data = || sets.iter().map(|[x, y]| Data::new(x, y).unwrap());
    let curve = CurveFit::new(|x, [a, r, c]| a * (-r * x).exp() + c)
        .names(["a", "rate", "c"])
        .estimator(Estimator::Poisson)
        .bound("a", 0.0..)
        .bound("c", 1e-6..);
    both(place, &curve, |curve| {
        joint(curve).fit(data(), [("rate", 0.5), ("a", 5.0), ("c", 1.0)]).unwrap()
    });
}

/// Two models by turns, and one that has a set of its own.
pub fn sets_of_several_models_fit_as_on_the_cpu(place: Place<'_>) {
    let sets = decays(&[40, 55, 70, 33, 90]);
    let data = || sets.iter().map(|[x, y]| Data::new(x, y).unwrap());
    let named = |k: usize| [format!("a{k}"), "rate".to_owned(), format!("c{k}")];
    let with_level = CurveFit::new(|x, [a, r, c]| a * (-r * x).exp() + c);
    let with_slope = CurveFit::new(|x, [a, r, c]| a * (-r * x).exp() + c * (1.0 - 0.01 * x));
    let of = |place: Place<'_>| {
        let curves: Vec<CurveFit> = (0..5)
            .map(|k| {
                let curve = if k % 2 == 0 { &with_level } else { &with_slope };
                place(curve.clone().names(named(k)))
            })
            .collect();
        let ones = (0..5).flat_map(|k| [(format!("a{k}"), 1.0), (format!("c{k}"), 0.1)]);
        let start: Vec<(String, f64)> = ones.chain([("rate".to_owned(), 0.5)]).collect();
        GlobalFit::of(&curves).fit(data(), start).unwrap()
    };
    assert_same(&of(place), &of(&|curve| curve.backend(Backend::Cpu)));
}

/// The most parameters that fit into registers, one more, the most that fit into shared memory, and one more.
pub fn sets_of_many_parameters_fit_as_on_the_cpu(place: Place<'_>) {
    let sets = decays(&[60, 75, 90]);
    let data = || sets.iter().map(|[x, y]| Data::new(x, y).unwrap());
    for waves in [6, 7, 14, 15] {
        let names: Vec<String> = (0..waves).map(|k| format!("w{k}")).collect();
        let waves =
            names.iter().enumerate().map(|(k, w)| format!(" + {w}*cos({}*x)", 0.31 * k as f64));
        let curve = CurveFit::parse(&format!("a*exp(-rate*x){}", waves.collect::<String>()), ["x"]);
        both(place, &curve.unwrap(), |curve| joint(curve).fit(data(), [("rate", 0.8)]).unwrap());
    }
}
