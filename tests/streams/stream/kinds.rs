//! Every kind of points, weights, losses and models: a stream gives the fit that memory gives.

use crate::stream::support::{linspace, noise};
use dualfit::arrays::Values;
use dualfit::source::SliceSource;
use dualfit::{Backend, CurveFit, Data, Estimator, Fit, Loss, Missing, Sigma, Stream};

const POINTS: usize = 40_003;

/// Relative difference of parameters where fits begin at different points, and so end at others: the solver
/// makes no further evaluation where a step would be this small.
const FROM_A_SAMPLE: f64 = 2e-11;
/// The same of errors and costs, which are those of the last evaluation: a step away from the end.
const ERRORS_FROM_A_SAMPLE: f64 = 3e-8;

/// Points, their settings, and a model.
#[derive(Clone)]
struct Case {
    name: String,
    model: CurveFit,
    start: Vec<f64>,
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    /// True if the columns are f32.
    single: bool,
    sigma: Option<Vec<f64>>,
    worth: Sigma<'static>,
    missing: Missing,
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
        .names(["a", "b", "c"])
        .backend(Backend::Cpu)
}

/// A decay with noise, and nothing more.
fn plain(name: impl Into<String>) -> Case {
    let (x, e) = (linspace(0.0, 10.0, POINTS), noise(POINTS, 0.1, 41));
    let y = x.iter().zip(&e).map(|(x, e)| 2.0 * (-0.5 * x).exp() + 0.3 + e).collect();
    Case {
        name: name.into(),
        model: decay(),
        start: vec![1.8, 0.6, 0.2],
        x: vec![x],
        y,
        single: false,
        sigma: None,
        worth: Sigma::Unknown,
        missing: Missing::Error,
    }
}

/// Standard deviations that grow along the points.
fn deviations() -> Option<Vec<f64>> {
    Some(linspace(0.05, 0.3, POINTS))
}

/// The pieces of columns where missing points are: the first chunk, the last one, and a whole one.
fn with_gaps(mut case: Case) -> Case {
    case.missing = Missing::Omit;
    for i in [0, 5, 100, POINTS - 1].into_iter().chain(8192..12_300) {
        case.y[i] = f64::NAN;
    }
    case.x[0][77] = f64::INFINITY;
    case
}

fn weighted() -> Vec<Case> {
    let sigma = deviations();
    let mut infinite = plain("infinite sigma");
    infinite.sigma.clone_from(&sigma);
    infinite.sigma.iter_mut().for_each(|s| s[4096..8192].fill(f64::INFINITY));
    let mut gaps = with_gaps(plain("gaps, weights"));
    gaps.sigma.clone_from(&sigma);
    vec![
        Case { sigma: sigma.clone(), ..plain("relative") },
        Case { sigma: sigma.clone(), worth: Sigma::AbsoluteColumn, ..plain("absolute") },
        Case { worth: Sigma::Constant(0.1), ..plain("constant") },
        with_gaps(plain("gaps")),
        gaps,
        infinite,
    ]
}

fn robust() -> Vec<Case> {
    let case = |loss: Loss| {
        let mut case = plain(format!("{loss:?}"));
        case.y.iter_mut().skip(3).step_by(25).for_each(|y| *y += 2.0);
        Case { model: decay().loss(loss), ..case }
    };
    Loss::robust(0.6).into_iter().map(case).collect()
}

fn models() -> Vec<Case> {
    let mut planes = plain("two columns");
    planes.model = CurveFit::multivariate(|[x, z], [a, b, c, d]| a * (-b * x).exp() + c + d * z);
    planes.x.push((0..POINTS).map(|i| ((i * 37) % 101) as f64 / 50.0).collect());
    planes.y.iter_mut().zip(&planes.x[1]).for_each(|(y, z)| *y += 0.7 * z);
    planes.start = vec![1.8, 0.6, 0.2, 0.5];
    let native = CurveFit::native(3, |x, p| p[0] * (-p[1] * x).exp() + p[2]);
    let mut counts = plain("counts");
    counts.y.iter_mut().for_each(|y| *y = (40.0 * *y).round().max(0.0));
    counts.start = vec![70.0, 0.6, 8.0];
    counts.model = decay().estimator(Estimator::Poisson);
    let bounds = [(0.0, 1.9), (0.0, 5.0), (0.0, 1.0)];
    vec![
        planes,
        counts,
        Case { model: native, ..plain("native") },
        Case { model: decay().bounds(bounds), ..plain("active bound") },
        Case { model: decay().fix("b"), ..plain("fixed") },
    ]
}

fn extremes() -> Vec<Case> {
    let scaled = |name: &str, size: f64| {
        let mut case = plain(name);
        case.y.iter_mut().for_each(|y| *y *= size);
        case.start = vec![1.8 * size, 0.6, 0.2 * size];
        case
    };
    vec![
        Case { single: true, ..plain("single") },
        Case { single: true, sigma: deviations(), ..plain("single, weights") },
        scaled("tiny", 1e-200),
        scaled("huge", 1e200),
    ]
}

impl Case {
    /// Columns and y in the precision that they have.
    fn with<R>(&self, call: impl FnOnce(Vec<Values<'_>>, Values<'_>) -> R) -> R {
        if !self.single {
            return call(self.x.iter().map(|x| Values::F64(x)).collect(), Values::F64(&self.y));
        }
        let narrow = |v: &Vec<f64>| v.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let (x, y): (Vec<Vec<f32>>, _) = (self.x.iter().map(narrow).collect(), narrow(&self.y));
        call(x.iter().map(|x| Values::F32(x)).collect(), Values::F32(&y))
    }

    fn in_memory(&self) -> Fit {
        let sigma = match (self.worth, &self.sigma) {
            (Sigma::Constant(value), _) => Sigma::Constant(value),
            (Sigma::AbsoluteColumn, Some(sigma)) => Sigma::Absolute(sigma),
            (_, Some(sigma)) => Sigma::Relative(sigma),
            (_, None) => Sigma::Unknown,
        };
        self.with(|x, y| {
            let data = Data::new(x, y).unwrap().sigma(sigma).unwrap().missing(self.missing);
            self.model.fit(data, &self.start).unwrap()
        })
    }

    fn streamed(&self, with: impl Fn(Stream<'_>) -> Stream<'_>) -> Fit {
        self.with(|x, y| {
            let source = SliceSource::new(x, y).unwrap();
            let source = match &self.sigma {
                Some(sigma) => source.sigma(sigma).unwrap(),
                None => source,
            };
            let worth = match self.worth {
                Sigma::Unknown if self.sigma.is_some() => Sigma::RelativeColumn,
                worth => worth,
            };
            let stream = with(Stream::new(source).sigma(worth).unwrap().missing(self.missing));
            self.model.fit_stream(stream, &self.start).unwrap()
        })
    }

    /// Compares streams of all kinds with the fit in memory.
    fn check(&self) {
        let (name, memory) = (&self.name, self.in_memory());
        assert!(memory.converged(), "{name}: {memory}");
        for chunk in [7, 5000, POINTS] {
            let fit = self.streamed(|stream| stream.chunk_points(chunk).subsample(false));
            // In memory, calls of a native model are shared out in other pieces.
            let tolerance = if name == "native" { 1e-12 } else { 0.0 };
            let apart = relative(fit.params(), memory.params());
            assert!(apart <= tolerance, "{name}, chunks of {chunk}: {apart:e}");
            self.compare(&fit, &memory, 1e-12 + 10.0 * tolerance);
        }
        for ahead in [0, 1, 5] {
            let fit = self.streamed(|s| s.memory_limit(2 << 20).chunk_points(4096).prefetch(ahead));
            let apart = relative(fit.params(), memory.params());
            let told = &fit.stats().stream.as_ref().unwrap().start;
            assert!(apart <= FROM_A_SAMPLE, "{name}, {ahead} ahead: {apart:e}, {told}");
            self.compare(&fit, &memory, ERRORS_FROM_A_SAMPLE);
        }
    }

    fn compare(&self, fit: &Fit, memory: &Fit, tolerance: f64) {
        let name = &self.name;
        let numbers = |fit: &Fit| {
            [fit.std_errors(), vec![fit.cost(), fit.r_squared().unwrap_or(0.0), fit.aic()]].concat()
        };
        let apart = relative(&numbers(fit), &numbers(memory));
        assert!(apart <= tolerance, "{name}: {:?}, {:?}", numbers(fit), numbers(memory));
        let counts = |fit: &Fit| [fit.points(), fit.omitted(), fit.ignored(), fit.rank()];
        assert_eq!(counts(fit), counts(memory), "{name}");
        let texts = |fit: &Fit| fit.warnings().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(fit), texts(memory), "{name}");
        assert_eq!(fit.at_bound(), memory.at_bound(), "{name}");
        assert!(fit.converged(), "{name}");
    }
}

/// The largest relative difference; none where both are no numbers.
fn relative(a: &[f64], b: &[f64]) -> f64 {
    let difference = |(a, b): (&f64, &f64)| match a.to_bits() == b.to_bits() || a == b {
        true => 0.0,
        false if a.is_nan() && b.is_nan() => 0.0,
        false => (a - b).abs() / a.abs().max(b.abs()),
    };
    a.iter().zip(b).map(difference).fold(0.0, |m, d| if d.is_nan() { d } else { m.max(d) })
}

#[test]
fn weights_and_gaps() {
    weighted().iter().for_each(Case::check);
}

#[test]
fn losses() {
    robust().iter().for_each(Case::check);
}

#[test]
fn models_and_parameters() {
    models().iter().for_each(Case::check);
}

#[test]
fn precisions_and_magnitudes() {
    extremes().iter().for_each(Case::check);
}
