//! Errors of points or models: a stream returns the error of the fit in memory, for the same point.

use dualfit::source::{FnSource, SliceSource};
use dualfit::{Backend, CurveFit, Data, Error, Estimator, Missing, Result, Sigma, Stream};

const POINTS: usize = 30_000;
/// A point of neither the first chunk nor the last.
const LATE: usize = 17_345;

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b]| a * (-b * x).exp()).backend(Backend::Cpu)
}

/// Points of a fit.
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    sigma: Option<Vec<f64>>,
    missing: Missing,
}

fn points() -> Points {
    let x: Vec<f64> = (0..POINTS).map(|i| 1e-4 * i as f64).collect();
    let y = x.iter().map(|x| 2.0 * (-0.5 * x).exp()).collect();
    Points { x, y, sigma: None, missing: Missing::Error }
}

fn errors(model: &CurveFit, start: &[f64], points: &Points) -> [Error; 2] {
    let Points { x, y, sigma, missing } = points;
    let memory = || -> Result<_> {
        let given = sigma.as_ref().map_or(Sigma::Unknown, |sigma| Sigma::Relative(sigma));
        model.fit(Data::new(x, y)?.sigma(given)?.missing(*missing), start)
    };
    let stream = || -> Result<_> {
        let source = SliceSource::new(x, y)?;
        let (source, worth) = match sigma {
            Some(sigma) => (source.sigma(sigma)?, Sigma::RelativeColumn),
            None => (source, Sigma::Unknown),
        };
        let stream = Stream::new(source).sigma(worth)?.missing(*missing).chunk_points(4096);
        model.fit_stream(stream, start)
    };
    [memory().unwrap_err(), stream().unwrap_err()]
}

/// Both must be the same, to the index and the text, but for the mask, which a stream does not have.
fn same(what: &str, model: &CurveFit, start: &[f64], points: &Points) -> Error {
    let [memory, stream] = errors(model, start, points);
    let memory = memory.to_string().replace(", mask it", "");
    assert_eq!(memory, stream.to_string(), "{what}");
    stream
}

#[test]
fn points_that_are_wrong_are_named_by_their_number_among_all() {
    let start = [1.0, 1.0];
    for value in [f64::NAN, f64::INFINITY] {
        let mut wrong = points();
        wrong.y[LATE] = value;
        let error = same("y", &decay(), &start, &wrong);
        assert!(matches!(error, Error::NonFinite { index: LATE, .. }), "{error}");
        let mut wrong = points();
        wrong.x[LATE] = value;
        let error = same("x", &decay(), &start, &wrong);
        assert!(matches!(error, Error::NonFinite { index: LATE, .. }), "{error}");
    }
    for value in [0.0, -1.0] {
        let mut wrong = points();
        let mut sigma = vec![1.0; POINTS];
        sigma[LATE] = value;
        wrong.sigma = Some(sigma);
        let error = same("sigma", &decay(), &start, &wrong);
        assert!(matches!(error, Error::SigmaNotPositive { index: LATE, .. }), "{error}");
    }
    let mut wrong = points();
    wrong.y[LATE] = -1.0;
    let counts = decay().estimator(Estimator::Poisson);
    let error = same("count", &counts, &start, &wrong);
    assert!(matches!(error, Error::NegativeCount { index: LATE, .. }), "{error}");
}

#[test]
fn models_that_fail_at_a_late_point_name_it() {
    let end = 1e-4 * LATE as f64;
    let wall = CurveFit::new(|x, [a, b]| b * (a - x).ln()).backend(Backend::Cpu);
    let error = same("value", &wall, &[end - 0.5e-4, 1.0], &points());
    assert!(matches!(error, Error::ModelNonFiniteAtStart { index: LATE, .. }), "{error}");
    let native = CurveFit::native(2, move |x, p| {
        assert!(x < end - 0.5e-4, "a bug");
        p[0] * (-p[1] * x).exp()
    });
    let [_, error] = errors(&native, &[1.0, 1.0], &points());
    let Error::ModelPanicked { message, place } = &error else { panic!("{error}") };
    // Threads meet any of the points from there on first.
    let index: usize = place.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(message.contains("a bug") && index >= LATE, "{error}");
    let x: f64 = 1e-4 * index as f64;
    assert!(place.contains(&format!("{}", x as f32)) || index < POINTS, "{error}");
}

#[test]
fn what_cannot_be_fitted_is_refused_alike() {
    let start = [1.0, 1.0];
    let bounded = decay().bounds([(0.0, 0.5), (0.0, 9.0)]);
    let error = same("bounds", &bounded, &start, &points());
    assert!(matches!(error, Error::StartOutOfBounds { .. }), "{error}");
    let few = Points { x: vec![1.0], y: vec![1.0], sigma: None, missing: Missing::Error };
    let error = same("few", &decay(), &start, &few);
    assert!(matches!(error, Error::TooFewPoints { points: 1, parameters: 2 }), "{error}");
    let none = Points { x: Vec::new(), y: Vec::new(), sigma: None, missing: Missing::Error };
    let error = same("none", &decay(), &start, &none);
    assert!(matches!(error, Error::EmptyData { .. }), "{error}");
    let mut missing = points();
    missing.y.fill(f64::NAN);
    missing.missing = Missing::Omit;
    let error = same("missing", &decay(), &start, &missing);
    assert!(matches!(error, Error::EmptyData { omitted: POINTS, .. }), "{error}");
    let weightless = Points { sigma: Some(vec![f64::INFINITY; POINTS]), ..points() };
    let error = same("weightless", &decay(), &start, &weightless);
    assert!(matches!(error, Error::NoEffectiveData { points: POINTS }), "{error}");
    let counts = decay().estimator(Estimator::Poisson);
    let error = same(
        "not for counts",
        &counts,
        &start,
        &Points { sigma: Some(vec![1.0; POINTS]), ..points() },
    );
    assert!(matches!(error, Error::NotForCounts { .. }), "{error}");
    same("start", &decay(), &[1.0], &points());
    same("start", &decay(), &[1.0, f64::NAN], &points());
    let plane = CurveFit::multivariate(|[x, z], [a, b]| a * x + b * z);
    same("columns", &plane, &start, &points());
}

/// Errors that only streams have.
#[test]
fn streams_that_cannot_be_read_are_refused() {
    let source = || FnSource::new(POINTS as u64, |i| (1e-4 * i as f64, 1.0));
    let fit = |stream: Stream<'_>| decay().fit_stream(stream, [1.0, 1.0]);
    let error = fit(Stream::new(source()).memory_limit(100_000)).unwrap_err();
    let Error::MemoryLimit { limit: 100_000, needed } = error else { panic!("{error}") };
    fit(Stream::new(source()).memory_limit(needed)).unwrap();
    let error = fit(Stream::new(source()).memory_limit(needed - 64)).unwrap_err();
    assert!(matches!(error, Error::MemoryLimit { .. }), "{error}");
    let error = fit(Stream::new(source()).prefetch(usize::MAX)).unwrap_err();
    assert!(matches!(error, Error::MemoryLimit { .. }), "{error}");
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Stream::new(source()).sigma(Sigma::Constant(value)).map(drop).unwrap_err();
        assert!(matches!(error, Error::BadOption { .. }), "{value}: {error}");
    }
    for sigma in [Sigma::Absolute(&[1.0]), Sigma::Relative(&[1.0]), Sigma::PerFit(&[1.0])] {
        let error = Stream::new(source()).sigma(sigma).map(drop).unwrap_err();
        assert!(matches!(error, Error::UnsuitedSigma { entry: "a stream", .. }), "{error}");
    }
    for sigma in [Sigma::AbsoluteColumn, Sigma::RelativeColumn] {
        let error = fit(Stream::new(source()).sigma(sigma).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Source(_)), "{error}");
    }
    // The kind of sigma of a source is required.
    let weighted = || FnSource::new(100, |i| (i as f64, 1.0, 1.0));
    for sigma in [Sigma::Unknown, Sigma::Constant(1.0)] {
        let error = fit(Stream::new(weighted()).sigma(sigma).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Source(_)), "{error}");
    }
}
