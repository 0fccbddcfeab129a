//! Observers, limits and settings of fits, on every device: the emulated one of this crate's own tests, and real ones.
//!
//! The oracles are the same fits on the CPU.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

use dualfit::device::Processor;
use dualfit::models::{exponential_gaussian, gaussian, linear, voigt};
use dualfit::{Backend, CurveFit, Data, Error, Fit, GlobalFit, Start};

/// The tests, each handed to `$on_device`, which calls it with a [`Place`] or skips it.
macro_rules! around_on {
    ($on_device:ident) => {
        #[test]
        fn joint_fits_require_the_cpu() {
            $on_device(around::joint_fits_require_the_cpu);
        }
        #[test]
        fn models_with_special_functions_fit_as_on_the_cpu() {
            $on_device(around::models_with_special_functions_fit_as_on_the_cpu);
        }
        #[test]
        fn ties_hold_as_on_the_cpu() {
            $on_device(around::ties_hold_as_on_the_cpu);
        }
    };
}
pub(crate) use around_on;

/// Sends a fit to the device under test.
pub type Place<'a> = &'a dyn Fn(CurveFit) -> CurveFit;

fn assert_same(there: &Fit, here: &Fit) {
    assert_eq!(
        (there.stats().processor, here.stats().processor),
        (Processor::Cuda, Processor::Cpu)
    );
    assert!(there.converged() && here.converged());
    for ((d, c), e) in there.params().iter().zip(here.params()).zip(here.std_errors()) {
        assert!((d - c).abs() <= 1e-7 * e, "{d:e} against {c:e} ± {e:e}");
    }
    for (d, c) in there.std_errors().iter().zip(here.std_errors()) {
        assert!((d - c).abs() <= 1e-6 * c, "error {d:e} against {c:e}");
    }
}

/// n points of `curve` over 0 to 10, with a scatter that looks like noise of this size.
fn points(n: usize, size: f64, curve: impl Fn(f64) -> f64) -> [Vec<f64>; 2] {
    let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
    let scatter = |i: usize| size * (12.9898 * i as f64 + 78.233).sin() * (4.1 * i as f64).cos();
    let y = x.iter().enumerate().map(|(i, &x)| curve(x) + scatter(i)).collect();
    [x, y]
}

pub fn joint_fits_require_the_cpu(place: Place<'_>) {
    let sets = [
        points(700, 0.05, |x| 2.0 * (-0.8 * x).exp() + 0.3),
        points(911, 0.05, |x| 5.0 * (-0.8 * x).exp() - 0.5),
    ];
    let data = || sets.iter().map(|[x, y]| Data::new(x, y).unwrap());
    let decay = CurveFit::new(|x, [a, r, c]| a * (-r * x).exp() + c).names(["a", "rate", "c"]);
    let fit = |model: CurveFit| GlobalFit::new(&model).share(["rate"]).fit(data(), [("rate", 0.5)]);
    let error = fit(place(decay.clone())).unwrap_err();
    assert!(matches!(error, Error::NotOnDevice { what: "a joint fit", .. }), "{error}");
    let chosen = fit(decay).unwrap();
    assert_eq!(chosen.fit().stats().processor, Processor::Cpu);
    assert_eq!(chosen.fit().stats().reason, "a joint fit is for the CPU");
}

pub fn models_with_special_functions_fit_as_on_the_cpu(place: Place<'_>) {
    let peak = |x: f64| 3.0 / (1.0 + (x - 4.0).powi(2) / 0.2) + 0.1 * x;
    let [x, y] = points(800, 0.05, peak);
    for model in [voigt("") + linear("bg_"), exponential_gaussian("") + linear("bg_")] {
        let fit = |curve: CurveFit| curve.fit(Data::new(&x, &y).unwrap(), Start::Guess).unwrap();
        let curve = CurveFit::from(model);
        assert_same(&fit(place(curve.clone())), &fit(curve.backend(Backend::Cpu)));
    }
}

pub fn ties_hold_as_on_the_cpu(place: Place<'_>) {
    let two = |x: f64| 3.0 * (-(x - 3.0).powi(2) / 0.5).exp() + (-(x - 6.0).powi(2) / 2.0).exp();
    let [x, y] = points(800, 0.05, two);
    let curve = CurveFit::from(gaussian("g1_") + gaussian("g2_")).tie("g2_sigma", "2*g1_sigma");
    let start = [("g1_sigma", 0.4), ("g1_center", 3.1), ("g2_center", 5.9)];
    let fit = |curve: CurveFit| curve.fit(Data::new(&x, &y).unwrap(), start).unwrap();
    let there = fit(place(curve.clone()));
    assert_same(&there, &fit(curve.backend(Backend::Cpu)));
    assert_eq!(there.param("g2_sigma").unwrap(), 2.0 * there.param("g1_sigma").unwrap());
}
