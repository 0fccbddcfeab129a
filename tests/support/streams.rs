//! Streams on every device: the emulated one of this crate's own tests, and real ones.
//!
//! The oracles are streams on the CPU, which are compared with fits in memory.

#![allow(dead_code, reason = "each test takes its own part of this")]
#![allow(unreachable_pub, reason = "a test includes this as a private module")]

#[path = "decoded.rs"]
mod decoded;

use decoded::Decoded;
use dualfit::device::Processor;
use dualfit::source::SliceSource;
use dualfit::{Backend, CurveFit, Error, Estimator, Fit, Loss, Sigma, Stream};

/// The tests, each handed to `$on_device`, which calls it with a [`Place`] or skips it.
macro_rules! streams_on {
    ($on_device:ident) => {
        #[test]
        fn streams_are_those_of_the_cpu() {
            $on_device(streams::streams_are_those_of_the_cpu);
        }
        #[test]
        fn decoded_points_are_kept() {
            $on_device(streams::decoded_points_are_kept);
        }
        #[test]
        fn a_native_model_is_no_stream_for_a_device() {
            $on_device(streams::a_native_model_is_no_stream_for_a_device);
        }
    };
}
pub(crate) use streams_on;

/// Sends a stream to the device under test.
pub type Place<'a> = &'a dyn Fn(CurveFit) -> CurveFit;

pub const START: [f64; 3] = [2.5, 0.8, 0.1];
const POINTS: usize = 20_000;

pub fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

pub fn data() -> [Vec<f64>; 3] {
    let x: Vec<f64> = (0..POINTS).map(|i| 10.0 * i as f64 / POINTS as f64).collect();
    let y = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3 + 0.02 * (3.7e3 * x).sin()).collect();
    let sigma = x.iter().map(|x| 0.1 + 0.01 * x).collect();
    [x, y, sigma]
}

/// In chunks of 8192 points.
pub fn stream<'a>([x, y, sigma]: &'a [Vec<f64>; 3], sigmas: bool) -> Stream<'a> {
    let source = SliceSource::new(x, y).unwrap();
    let source = if sigmas { source.sigma(sigma).unwrap() } else { source };
    let kind = if sigmas { Sigma::AbsoluteColumn } else { Sigma::Unknown };
    Stream::new(source).sigma(kind).unwrap().chunk_points(8192).subsample(false)
}

pub fn assert_same(there: &Fit, here: &Fit) {
    assert_eq!(there.converged(), here.converged());
    for ((d, c), e) in there.params().iter().zip(here.params()).zip(here.std_errors()) {
        assert!((d - c).abs() <= 1e-8 * e, "{d:e} against {c:e} ± {e:e}");
    }
    let ratio = there.effective_points() / here.effective_points();
    assert!((ratio - 1.0).abs() < 1e-6, "{} points count", there.effective_points());
    for (d, c) in there.std_errors().iter().zip(here.std_errors()) {
        assert!((d / c - 1.0).abs() < 1e-6, "error {d:e} against {c:e}");
    }
}

pub fn streams_are_those_of_the_cpu(place: Place<'_>) {
    let all = data();
    for loss in [Loss::Linear, Loss::Cauchy { scale: 0.5 }, Loss::Arctan { scale: 3.0 }] {
        for sigmas in [false, true] {
            let model = decay().loss(loss);
            let here = model.clone().backend(Backend::Cpu).fit_stream(stream(&all, sigmas), START);
            let there = place(model.clone()).fit_stream(stream(&all, sigmas), START).unwrap();
            assert_eq!(there.stats().processor, Processor::Cuda);
            assert!(there.stats().device_bytes > 0 && there.stats().passes > 2);
            assert_same(&there, &here.unwrap());
        }
    }
    let [x, y, _] = &all;
    let counts: Vec<f32> = y.iter().map(|y| (20.0 * y).round() as f32).collect();
    let model = decay().estimator(Estimator::Poisson);
    let source = || Stream::new(SliceSource::new(x, &counts).unwrap()).chunk_points(4096);
    let start = [50.0, 0.8, 2.0];
    let here = model.clone().backend(Backend::Cpu).fit_stream(source(), start).unwrap();
    let there = place(model.clone()).fit_stream(source(), start).unwrap();
    assert_eq!(there.stats().processor, Processor::Cuda);
    assert_same(&there, &here);
}

pub fn decoded_points_are_kept(place: Place<'_>) {
    let all = data();
    let [x, y, _] = &all;
    let model = place(decay());
    let kept = |fit: &Fit| fit.stats().stream.as_ref().unwrap().kept_points;
    let none = model.fit_stream(stream(&all, false), START).unwrap();
    assert_eq!(kept(&none), 0);
    for (limit, most) in [(600_000, 1), (256_000_000, POINTS as u64)] {
        let source = Decoded { source: SliceSource::new(x, y).unwrap(), is_slow: true };
        let stream = Stream::new(source).chunk_points(8192).prefetch(0).subsample(false);
        let fit = model.fit_stream(stream.memory_limit(limit), START).unwrap();
        assert_eq!(fit.stats().processor, Processor::Cuda);
        assert!(kept(&fit) >= most && (most > 1 || kept(&fit) < POINTS as u64), "{}", kept(&fit));
        let bits = |fit: &Fit| -> Vec<u64> {
            fit.params().iter().copied().chain(fit.std_errors()).map(f64::to_bits).collect()
        };
        assert_eq!(bits(&fit), bits(&none), "{limit} bytes");
    }
}

pub fn a_native_model_is_no_stream_for_a_device(place: Place<'_>) {
    let native = CurveFit::native(3, |x: f64, p: &[f64]| p[0] * (-p[1] * x).exp() + p[2]);
    let error = place(native).fit_stream(stream(&data(), false), START).unwrap_err();
    assert!(matches!(error, Error::NotOnDevice { .. }), "{error}");
}
