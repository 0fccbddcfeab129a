//! Each meaning of sigma with each loss, estimator and entry: the errors are those of formulas that are written out
//! here, or the combination is refused. No combination leaves an option without effect.

use crate::support::losses::rho;
use dualfit::error::{GlobalError, UncertaintyError};
use dualfit::parts::Part;
use dualfit::result::{NewPoint, Resample};
use dualfit::source::SliceSource;
use dualfit::{
    BatchData, Bootstrap, CurveFit, Data, Error, Estimator, Fit, GlobalFit, Loss, Matrix, Sigma,
    Stream,
};
use nalgebra::{DMatrix, DVector};

const N: usize = 24;
const START: [f64; 2] = [1.0, 1.0];
/// The one standard deviation of [`Form::Constant`] and [`Form::PerFit`].
const SIGMA: f64 = 0.15;

/// Kind of sigma that the caller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Unknown,
    Constant,
    PerFit,
    Relative,
    Absolute,
    RelativeColumn,
    AbsoluteColumn,
    Covariance,
    RelativeCovariance,
}

const FORMS: [Form; 9] = [
    Form::Unknown,
    Form::Constant,
    Form::PerFit,
    Form::Relative,
    Form::Absolute,
    Form::RelativeColumn,
    Form::AbsoluteColumn,
    Form::Covariance,
    Form::RelativeCovariance,
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    Fit,
    Batch,
    Stream,
    Joint,
    Parts,
}

const ENTRIES: [Entry; 5] = [Entry::Fit, Entry::Batch, Entry::Stream, Entry::Joint, Entry::Parts];

/// Points about a line. `matrix`: their covariance, with the squares of `sigma` on its diagonal.
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    counts: Vec<f64>,
    sigma: Vec<f64>,
    matrix: Matrix,
}

impl Points {
    /// The scatter is 1.7 times that of sigma, so that scaled errors differ from absolute ones, and two points are
    /// outliers.
    fn new() -> Points {
        let x: Vec<f64> = (0..N).map(|i| 0.25 * i as f64).collect();
        let sigma: Vec<f64> = (0..N).map(|i| 0.1 + 0.05 * (0.9 * i as f64).sin()).collect();
        let error = |i: usize| {
            1.7 * 1.4 * (7.1 * (i * i) as f64).sin() + if i % 13 == 5 { 9.0 } else { 0.0 }
        };
        let y = (0..N).map(|i| 1.5 + 0.7 * x[i] + sigma[i] * error(i)).collect();
        let counts =
            (0..N).map(|i| (20.0 + 9.0 * x[i] + 4.0 * error(i)).round().max(0.0)).collect();
        let correlation = |i: usize, j: usize| 0.5_f64.powi(i.abs_diff(j) as i32);
        let matrix = Matrix::from_fn(N, N, |i, j| sigma[i] * sigma[j] * correlation(i, j));
        Points { x, y, counts, sigma, matrix }
    }

    fn y(&self, estimator: Estimator) -> &[f64] {
        if estimator == Estimator::Poisson { &self.counts } else { &self.y }
    }

    fn sigma(&self, form: Form) -> Sigma<'_> {
        match form {
            Form::Unknown => Sigma::Unknown,
            Form::Constant => Sigma::Constant(SIGMA),
            Form::PerFit => Sigma::PerFit(&[SIGMA, SIGMA]),
            Form::Relative => Sigma::Relative(&self.sigma),
            Form::Absolute => Sigma::Absolute(&self.sigma),
            Form::RelativeColumn => Sigma::RelativeColumn,
            Form::AbsoluteColumn => Sigma::AbsoluteColumn,
            Form::Covariance => Sigma::Covariance(&self.matrix),
            Form::RelativeCovariance => Sigma::RelativeCovariance(&self.matrix),
        }
    }

    fn data(&self, form: Form, estimator: Estimator) -> Result<Data<'_>, Error> {
        Data::new(&self.x, self.y(estimator))?.sigma(self.sigma(form))
    }

    /// Rows of the Jacobian and y, both multiplied by the inverse factor of the covariance of y that `form` says, and
    /// whether that is absolute.
    fn rows(&self, form: Form) -> (DMatrix<f64>, DVector<f64>, bool) {
        let factor = match form {
            Form::Unknown => DMatrix::identity(N, N),
            Form::Constant | Form::PerFit => DMatrix::identity(N, N) * SIGMA,
            Form::Relative | Form::Absolute | Form::RelativeColumn | Form::AbsoluteColumn => {
                DMatrix::from_diagonal(&DVector::from_column_slice(&self.sigma))
            }
            Form::Covariance | Form::RelativeCovariance => {
                DMatrix::from_row_slice(N, N, self.matrix.as_slice())
                    .cholesky()
                    .expect("a covariance")
                    .l()
            }
        };
        let absolute = !matches!(
            form,
            Form::Unknown | Form::Relative | Form::RelativeColumn | Form::RelativeCovariance
        );
        let inverse = factor.try_inverse().expect("a factor");
        let jacobian = DMatrix::from_fn(N, 2, |i, k| if k == 0 { 1.0 } else { self.x[i] });
        (&inverse * jacobian, &inverse * DVector::from_column_slice(&self.y), absolute)
    }
}

fn line(loss: Loss, estimator: Estimator) -> CurveFit {
    CurveFit::new(|x, [a, b]| a + b * x).names(["a", "b"]).loss(loss).estimator(estimator)
}

/// Least squares, and each robust loss at twice the size of a typical residual.
fn losses(form: Form) -> Vec<Loss> {
    let scale = if form == Form::Unknown { 0.4 } else { 3.0 };
    [Loss::Linear].into_iter().chain(Loss::robust(scale)).collect()
}

/// ρ' and ρ' + 2zρ'' of a residual.
fn terms(loss: Loss, residual: f64) -> (f64, f64) {
    let z = loss.scale().map_or(0.0, |scale| (residual / scale).powi(2));
    let [_, first, second] = rho(loss, z);
    (first, first + 2.0 * z * second)
}

/// Parameters and their standard errors.
type Found = (Vec<f64>, Vec<f64>);

fn found(fit: &Fit) -> Found {
    (fit.params().to_vec(), fit.std_errors())
}

/// Fits the points through an entry.
fn fitted(
    entry: Entry,
    points: &Points,
    form: Form,
    curve: &CurveFit,
    estimator: Estimator,
) -> Result<Found, Error> {
    let y = points.y(estimator);
    match entry {
        Entry::Fit => curve.fit(points.data(form, estimator)?, START).map(|fit| found(&fit)),
        Entry::Batch => {
            let stack = [y, y].concat();
            let data = BatchData::shared(&points.x, &stack)?.sigma(points.sigma(form))?;
            let batch = curve.fit_batch(data, START)?;
            Ok((batch.params()[2..].to_vec(), batch.std_errors()[2..].to_vec()))
        }
        Entry::Stream => {
            let has_column = matches!(form, Form::RelativeColumn | Form::AbsoluteColumn);
            let source = SliceSource::new(&points.x, y).expect("a source");
            let source =
                if has_column { source.sigma(&points.sigma).expect("a source") } else { source };
            let stream = Stream::new(source).sigma(points.sigma(form))?;
            curve.fit_stream(stream, START).map(|fit| found(&fit))
        }
        Entry::Joint => {
            let data = points.data(form, estimator)?;
            let joint = GlobalFit::new(curve).share(["a", "b"]).fit([data.clone(), data], START)?;
            Ok(found(joint.fit()))
        }
        Entry::Parts => {
            let mut part = Part::new(curve, points.data(form, estimator)?, 0)?;
            curve.fit_parts(|question: &[u8]| part.answer(question), START).map(|fit| found(&fit))
        }
    }
}

fn is_suited(entry: Entry, form: Form) -> bool {
    match form {
        Form::Unknown | Form::Constant => true,
        Form::Relative | Form::Absolute => entry != Entry::Stream,
        Form::PerFit => entry == Entry::Batch,
        Form::RelativeColumn | Form::AbsoluteColumn => entry == Entry::Stream,
        Form::Covariance | Form::RelativeCovariance => matches!(entry, Entry::Fit | Entry::Joint),
    }
}

/// Holds a least-squares or robust fit to the definition of its loss: the weighted residuals are orthogonal to the
/// partials, and the errors are Huber's.
fn assert_by_definition(
    points: &Points,
    (form, entry): (Form, Entry),
    loss: Loss,
    (params, errors): &Found,
) {
    let (mut rows, mut y, absolute) = points.rows(form);
    if entry == Entry::Joint {
        // Two sets of the same points.
        rows = DMatrix::from_fn(2 * N, 2, |i, k| rows[(i % N, k)]);
        y = DVector::from_fn(2 * N, |i, _| y[i % N]);
    }
    let what = format!("{entry:?} {form:?} {loss:?}: {params:?} {errors:?}");
    let n = y.len();
    let residuals = &y - &rows * DVector::from_column_slice(params);
    let (mut hessian, mut gradient, mut size) =
        (DMatrix::zeros(2, 2), DVector::zeros(2), DVector::zeros(2));
    let (mut squares, mut slopes, mut slope_squares, mut row_squares) = (0.0, 0.0, 0.0, 0.0);
    for i in 0..n {
        let (row, r) = (rows.row(i).transpose(), residuals[i]);
        let (first, slope) = terms(loss, r);
        gradient += &row * (first * r);
        size += row.abs() * (first * r).abs();
        hessian += &row * row.transpose() * slope.max(0.0);
        squares += (first * r).powi(2);
        slopes += slope;
        slope_squares += slope * slope;
        row_squares += slope.max(0.0);
    }
    assert!((0..2).all(|k| gradient[k].abs() < 1e-6 * size[k]), "{what}: {gradient}");
    let (n, rank) = (n as f64, 2.0);
    let mean = slopes / n;
    let spread = 1.0 + rank / n * (slope_squares / n / (mean * mean) - 1.0);
    let scatter = spread * squares / (n - rank) / mean * (row_squares / slopes);
    let variance = match (absolute, loss) {
        (false, _) => scatter,
        (true, Loss::Linear) => 1.0,
        (true, _) => scatter.max(1.0),
    };
    let inverse = hessian.try_inverse().expect("two parameters");
    for k in 0..2 {
        let expected = (variance * inverse[(k, k)]).sqrt();
        assert!((errors[k] / expected - 1.0).abs() < 1e-5, "{what}: {k} {expected}");
    }
}

#[test]
fn each_meaning_of_sigma_has_its_errors_under_each_loss_in_each_entry() {
    let points = Points::new();
    let mut combinations = 0;
    for (form, entry) in FORMS.into_iter().flat_map(|form| ENTRIES.map(|entry| (form, entry))) {
        for loss in losses(form) {
            let curve = line(loss, Estimator::LeastSquares);
            match fitted(entry, &points, form, &curve, Estimator::LeastSquares) {
                Ok(fit) if is_suited(entry, form) => {
                    assert_by_definition(&points, (form, entry), loss, &fit);
                    combinations += 1;
                }
                Err(Error::UnsuitedSigma { .. }) if !is_suited(entry, form) => {}
                Err(Error::ModelKind { .. })
                    if entry == Entry::Parts && !is_suited(entry, form) => {}
                other => panic!("{entry:?} {form:?} {loss:?}: {other:?}"),
            }
        }
    }
    assert_eq!(combinations, 25 * 6);
}

#[test]
fn counts_take_no_sigma_and_no_robust_loss() {
    let points = Points::new();
    for (form, entry) in FORMS.into_iter().flat_map(|form| ENTRIES.map(|entry| (form, entry))) {
        for loss in losses(form) {
            let curve = line(loss, Estimator::Poisson);
            let result = match fitted(entry, &points, form, &curve, Estimator::Poisson) {
                Err(Error::Global(GlobalError::InSet { set: 1, error })) => Err(*error),
                result => result,
            };
            let what = format!("{entry:?} {form:?} {loss:?}: {result:?}");
            match result {
                Ok((params, errors)) => {
                    assert!(form == Form::Unknown && loss == Loss::Linear, "{what}");
                    let sets = if entry == Entry::Joint { 2.0 } else { 1.0 };
                    let mut information = DMatrix::zeros(2, 2);
                    for x in &points.x {
                        let row = DVector::from_column_slice(&[1.0, *x]);
                        information +=
                            &row * row.transpose() * (sets / (params[0] + params[1] * x));
                    }
                    let inverse = information.try_inverse().expect("two parameters");
                    let near = |k: usize| (errors[k] / inverse[(k, k)].sqrt() - 1.0).abs() < 1e-6;
                    assert!(near(0) && near(1), "{what} {inverse}");
                }
                Err(Error::NotForCounts { .. }) => {
                    assert!(form != Form::Unknown || loss != Loss::Linear, "{what}")
                }
                Err(Error::UnsuitedSigma { .. } | Error::ModelKind { .. }) => {
                    assert!(!is_suited(entry, form), "{what}");
                }
                // The part reports errors of its data.
                Err(Error::Source(source)) => {
                    assert!(form != Form::Unknown && source.message.contains("Poisson"), "{what}");
                }
                Err(_) => panic!("{what}"),
            }
        }
    }
}

/// Of errors in x, which need errors of y that they can be weighed against.
#[test]
fn errors_in_x_take_standard_deviations_only() {
    let points = Points::new();
    let curve = line(Loss::Linear, Estimator::LeastSquares);
    for form in FORMS.into_iter().filter(|&form| is_suited(Entry::Fit, form)) {
        let data = points.data(form, Estimator::LeastSquares).unwrap().x_sigma(&[0.1]).unwrap();
        let refused = matches!(curve.fit(data.clone(), START), Err(Error::UnsuitedSigma { .. }));
        let suits = matches!(form, Form::Constant | Form::Relative | Form::Absolute);
        assert_eq!(refused, !suits, "{form:?}");
        // Counts reject errors in x for every kind of sigma, before any other error.
        let counts = curve.clone().estimator(Estimator::Poisson).fit(data, START);
        assert!(
            matches!(counts, Err(Error::NotForCounts { what: "x_sigma" })),
            "{form:?}: {counts:?}"
        );
    }
}

/// Intervals, bands, diagnostics, replicates and files take sigma as the fit did.
#[test]
fn what_follows_from_a_fit_takes_sigma_as_the_fit_does() {
    let points = Points::new();
    for form in FORMS.into_iter().filter(|&form| is_suited(Entry::Fit, form)) {
        let curve = line(Loss::Linear, Estimator::LeastSquares);
        let data = points.data(form, Estimator::LeastSquares).unwrap();
        let fit = curve.fit(data.clone(), START).unwrap();
        let (rows, y, absolute) = points.rows(form);
        let inverse = (rows.transpose() * &rows).try_inverse().unwrap();
        let residuals = &y - &rows * DVector::from_column_slice(fit.params());
        let scatter = (residuals.norm_squared() / (N as f64 - 2.0)).sqrt();
        let unit = if absolute { 1.0 } else { scatter };

        let judged = fit.diagnostics(data.clone()).unwrap();
        for i in 0..N {
            let leverage = (rows.row(i) * &inverse * rows.row(i).transpose())[0];
            let expected = residuals[i] / (unit * (1.0 - leverage).sqrt());
            assert!((judged.standardized[i] - expected).abs() < 1e-7, "{form:?} {i}");
        }
        let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let expected = 1.482_602_218_505_602 * 0.5 * (sizes[N / 2 - 1] + sizes[N / 2]);
        assert!((judged.robust_scale / expected - 1.0).abs() < 1e-7, "{form:?}");

        // Of a linear model both intervals are the same.
        let profile =
            curve.profile_to(&fit, data.clone(), "b", 0.9).unwrap().interval(0.9).unwrap();
        let (lower, upper) = fit.confidence_intervals(0.9).unwrap()[1];
        let width = upper - lower;
        assert!(
            (profile.lower - lower).abs() < 1e-4 * width
                && (profile.upper - upper).abs() < 1e-4 * width,
            "{form:?}"
        );

        let x = [2.0];
        let at = DVector::from_column_slice(&[1.0, 2.0]);
        let curve_variance = unit * unit * (at.transpose() * &inverse * &at)[0];
        let band =
            |new: NewPoint<'_>| fit.prediction_band(&x, 0.9, new).map(|band| band.std_errors[0]);
        let near = |found: f64, sigma: f64| {
            (found / (curve_variance + sigma * sigma).sqrt() - 1.0).abs() < 1e-7
        };
        assert!(near(band(NewPoint::Constant(0.3)).unwrap(), 0.3), "{form:?}");
        let unknown = |found: Result<f64, Error>| {
            matches!(found, Err(Error::Uncertainty(UncertaintyError::NewPointUnknown { .. })))
        };
        match form {
            Form::Unknown => assert!(near(band(NewPoint::Fitted).unwrap(), scatter)),
            Form::Constant => assert!(near(band(NewPoint::Fitted).unwrap(), SIGMA)),
            _ => assert!(unknown(band(NewPoint::Fitted)), "{form:?}"),
        }
        let relative = band(NewPoint::Relative(&[0.3]));
        match absolute {
            false => assert!(near(relative.unwrap(), 0.3 * scatter), "{form:?}"),
            true => assert!(unknown(relative), "{form:?}"),
        }
        let each = matches!(form, Form::Relative | Form::RelativeCovariance);
        assert_eq!(fit.has_relative_sigma(), each, "{form:?}");

        let replicates = |how: Resample| {
            curve.bootstrap(&fit, data.clone(), &Bootstrap::new(2000).resample(how).seed(1))
        };
        let drawn = replicates(Resample::Parametric).unwrap().std_errors();
        for (k, error) in fit.std_errors().into_iter().enumerate() {
            assert!((error / (unit * inverse[(k, k)].sqrt()) - 1.0).abs() < 1e-7, "{form:?}");
            // Four standard errors of a standard deviation.
            assert!((drawn[k] / error - 1.0).abs() < 4.0 / 4000_f64.sqrt(), "{form:?} {drawn:?}");
        }
        let pairs = replicates(Resample::Pairs);
        match form {
            Form::Covariance | Form::RelativeCovariance => {
                let why = |error: &Error| {
                    matches!(error, Error::Uncertainty(UncertaintyError::NoBootstrap { .. }))
                };
                assert!(pairs.as_ref().is_err_and(why), "{form:?}");
            }
            _ => assert!(pairs.is_ok(), "{form:?}"),
        }

        #[cfg(feature = "json")]
        {
            let again = Fit::from_json(&fit.to_json().unwrap()).unwrap();
            assert_eq!(found(&again), found(&fit));
            assert_eq!(again.has_relative_sigma(), each);
            assert_eq!(again.to_string(), fit.to_string());
        }
    }
}
