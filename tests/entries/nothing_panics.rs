//! Random requests, most of them invalid: the result is a fit with finite
//! parameters or an error with a text, never a panic.

use dualfit::source::SliceSource;
use dualfit::{
    BatchData, CurveFit, Data, Estimator, GlobalFit, Loss, Matrix, Missing, MultiStart, Options,
    Sigma, Stream,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const REQUESTS: usize = 20_000;
/// Of batches, streams, joint fits and many starts.
const OF_MANY: usize = 3_000;

/// Numbers at which arithmetic has borders.
const SPECIAL: [f64; 14] = [
    0.0,
    -0.0,
    1e-300,
    -1e300,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e-12,
    -1e12,
    1.0,
    -1.0,
];

struct Random(StdRng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn number(&mut self) -> f64 {
        match self.one_in(3) {
            true => SPECIAL[self.below(SPECIAL.len())],
            false => self.0.random_range(-10.0..10.0),
        }
    }

    /// `n` numbers, most of them `usual(i)`.
    fn numbers(&mut self, n: usize, usual: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n).map(|i| if self.one_in(4) { self.number() } else { usual(i) }).collect()
    }

    /// The same, and in two of three cases all of them.
    fn points(&mut self, n: usize, usual: impl Fn(usize) -> f64) -> Vec<f64> {
        if self.one_in(3) { self.numbers(n, usual) } else { (0..n).map(usual).collect() }
    }

    fn model(&mut self) -> CurveFit {
        match self.below(8) {
            0 => CurveFit::new(|x, [a, b]| a * (-b * x).exp()),
            1 => CurveFit::new(|x, [a, b]| a * x + b),
            2 => CurveFit::new(|x, [a, b]| a * x.powf(b)),
            3 => CurveFit::new(|x, [a, b]| (a * x + b).ln()),
            4 => CurveFit::new(|x, [a, b]| a / (x - b)),
            5 => CurveFit::new(|x, [a, b]| (x / b).erf() * a + (a * x).ln_gamma()),
            6 => CurveFit::new(|x, [a, b]| x.lt(a).select(b * x, (a * x).sin())),
            _ => CurveFit::native(2, |x, p| p[0] * (p[1] * x).tanh()),
        }
    }

    fn loss(&mut self) -> Loss {
        let scale = self.number();
        match self.below(6) {
            0 => Loss::Huber { scale },
            1 => Loss::Tukey { scale },
            2 => Loss::Cauchy { scale: 1.0 },
            3 => Loss::Arctan { scale: 1.0 },
            4 => Loss::SoftL1 { scale },
            _ => Loss::Linear,
        }
    }

    fn fitter(&mut self) -> CurveFit {
        let mut options = Options::default();
        if self.one_in(5) {
            options.ftol = self.number();
        }
        if self.one_in(6) {
            options.max_evaluations = Some(self.below(5));
        }
        let mut fitter = self.model().loss(self.loss()).options(options);
        if self.one_in(3) {
            fitter = fitter.bound("p0", self.number()..=self.number());
        }
        if self.one_in(3) {
            fitter = fitter.bound("p1", self.number()..);
        }
        if self.one_in(6) {
            fitter = fitter.fix("p0");
        }
        if self.one_in(7) {
            fitter = fitter.fix("p1");
        }
        fitter.clamp_start(self.one_in(3)).allow_underdetermined(self.one_in(3))
    }
}

/// Makes one request and uses all of the result; returns `Ok` if there was a fit.
fn request(random: &mut Random) -> Result<(), dualfit::Error> {
    let n = random.below(9);
    let x = random.numbers(n, |i| 0.5 * i as f64);
    let length = if random.one_in(20) { random.below(9) } else { n };
    let y = random.numbers(length, |i| (-0.4 * i as f64).exp());
    let sigma = random.numbers(n, |_| 0.5);
    let mask: Vec<bool> = (0..n).map(|_| !random.one_in(4)).collect();
    let matrix = Matrix::from_fn(n, n, |i, j| if i == j { random.number().abs() } else { 0.05 });
    let fitter = random.fitter();

    let mut data = Data::new(&x, &y)?.sigma(match random.below(6) {
        0 => Sigma::Relative(&sigma),
        1 => Sigma::Absolute(&sigma),
        2 => Sigma::Constant(random.number()),
        3 => Sigma::Covariance(&matrix),
        _ => Sigma::Unknown,
    })?;
    if random.one_in(3) {
        data = data.missing(Missing::Omit);
    }
    if random.one_in(4) {
        data = data.mask(&mask)?;
    }
    data = data.allow_infinite_x(random.one_in(8));

    let fit = fitter.fit(data.clone(), [random.number(), random.number()])?;
    assert!(fit.params().iter().all(|p| p.is_finite()), "{fit:?}");
    assert!(!fit.to_string().is_empty() && !fit.stats().to_string().is_empty());
    assert_eq!(fit.residuals(&data)?.len(), n);
    let _ = (fit.aic(), fit.bic(), fit.adjusted_r_squared(), fit.correlation(), fit.at_bound());
    Ok(())
}

/// The same of entries that make several fits or take their points in parts, up to hundreds of points.
fn request_of_many(random: &mut Random) -> Result<(), dualfit::Error> {
    let n = if random.one_in(8) { random.below(300) } else { random.below(20) };
    let x = random.points(n, |i| 0.5 * i as f64);
    let start = random.points(2, |_| 0.5);
    let start = [start[0], start[1]];
    let mut fitter = random.fitter();
    if random.one_in(5) {
        fitter = fitter.estimator(Estimator::Poisson);
    }
    let usual = |i: usize| (-0.4 * (i % n.max(1)) as f64).exp();
    match random.below(4) {
        0 => {
            let fits = random.below(7);
            let stack = random.points(n * fits, usual);
            let mut data = BatchData::shared(&x, &stack)?;
            if random.one_in(3) {
                data = data.sigma(Sigma::Constant(random.number()))?;
            }
            if random.one_in(3) {
                data = data.missing(Missing::Omit);
            }
            let batch = fitter.keep_covariance(random.one_in(2)).fit_batch(&data, start)?;
            assert_eq!((batch.n_fits(), batch.params().len()), (fits, 2 * fits));
            for fit in batch.iter() {
                let is_made = fit.status().is_determined();
                assert!(
                    !is_made || fit.params().iter().all(|p| p.is_finite()),
                    "{:?}",
                    fit.params()
                );
            }
            assert!(!batch.to_string().is_empty());
        }
        1 => {
            let y = random.points(n, usual);
            let stream = Stream::new(SliceSource::new(&x, &y)?)
                .chunk_points(1 + random.below(40))
                .subsample(random.one_in(2));
            let fit = fitter.fit_stream(stream, start)?;
            assert!(fit.params().iter().all(|p| p.is_finite()), "{fit:?}");
            assert!(!fit.to_string().is_empty());
        }
        2 => {
            let (y, z) = (random.points(n, usual), random.points(n, |i| 2.0 * usual(i)));
            let sets = [Data::new(&x, &y)?, Data::new(&x, &z)?];
            let shared = if random.one_in(2) { "p0" } else { "p1" };
            let start = [("p0", start[0]), ("p1", start[1])];
            let joint = GlobalFit::new(&fitter).share([shared]).fit(sets, start)?;
            assert!(joint.fit().params().iter().all(|p| p.is_finite()), "{:?}", joint.fit());
            assert!(!joint.fit().to_string().is_empty());
        }
        _ => {
            let y = random.points(n, usual);
            let starts =
                MultiStart::new(random.below(5)).range("p0", -2.0..=2.0).range("p1", 0.1..=2.0);
            let optima = fitter.multi_start(Data::new(&x, &y)?, start, &starts)?;
            assert!(optima.best().params().iter().all(|p| p.is_finite()), "{optima}");
            assert!(!optima.to_string().is_empty());
        }
    }
    Ok(())
}

#[test]
fn every_request_of_many_fits_has_an_answer() {
    count(OF_MANY, request_of_many);
}

#[test]
fn every_request_has_an_answer() {
    count(REQUESTS, request);
}

fn count(requests: usize, request: impl Fn(&mut Random) -> Result<(), dualfit::Error>) {
    let mut random = Random(StdRng::seed_from_u64(20_261_121));
    let (mut fits, mut errors) = (0, 0);
    for _ in 0..requests {
        match request(&mut random) {
            Ok(()) => fits += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                errors += 1;
            }
        }
    }
    println!("{fits} fits, {errors} errors");
    assert!(fits > requests / 20 && errors > requests / 4, "{fits} fits, {errors} errors");
}
