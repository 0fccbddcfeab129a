//! Fits drawn by a seed and a number: the same on every machine, each by itself.

use crate::converged::dd::Dd;
use crate::converged::models::{INSTRUMENT, KINDS, Kind, Tie};
use crate::converged::problem::{Aim, Problem};
use dualfit::{CurveFit, Data, Estimator, Fit, Loss, Result, Sigma};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A fit to be made.
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) problem: Problem,
    /// All parameters, tied ones too.
    pub(crate) start: Vec<f64>,
    /// Of all parameters.
    bounds: Vec<(f64, f64)>,
    sigma: Meaning,
    sigmas: Vec<f64>,
    /// Generator for draws after the case.
    pub(crate) random: Xoshiro256PlusPlus,
    /// Description of the start, for messages.
    words: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Unknown,
    Relative,
    Absolute,
}

/// Draws for one case.
struct Drawn(Xoshiro256PlusPlus);

impl Drawn {
    fn within(&mut self, low: f64, high: f64) -> f64 {
        self.0.random_range(low..high)
    }

    fn power(&mut self, low: f64, high: f64) -> f64 {
        10f64.powf(self.within(low, high))
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.0.random_bool(probability)
    }

    fn sign(&mut self) -> f64 {
        if self.chance(0.5) { 1.0 } else { -1.0 }
    }

    fn index(&mut self, count: usize) -> usize {
        self.0.random_range(0..count)
    }

    fn one_of(&mut self, of: &[f64]) -> f64 {
        of[self.index(of.len())]
    }

    fn normal(&mut self) -> f64 {
        Normal::new(0.0, 1.0).unwrap().sample(&mut self.0)
    }
}

impl Case {
    pub(crate) fn draw(seed: u64, number: u64) -> Case {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number);
        let mut drawn = Drawn(Xoshiro256PlusPlus::seed_from_u64(mixed));
        let counts = drawn.chance(0.12);
        let kind = match counts {
            true => [Kind::Line, Kind::Decay, Kind::Peak, Kind::TwoDecays, Kind::Logistic]
                [drawn.index(5)],
            false => KINDS[drawn.index(KINDS.len())],
        };
        let tie = (kind.params() > 2 && drawn.chance(0.15)).then(|| match drawn.index(3) {
            1 if !counts => Tie::Product,
            2 if !counts => Tie::Difference,
            _ => Tie::Half,
        });
        let free = kind.params() - usize::from(tie.is_some());
        let n = free + (drawn.within(0.0, 1.0).powi(2) * (61 - free) as f64) as usize;
        let x = abscissae(kind, n, &mut drawn);
        let mut truth = truth(kind, counts, &mut drawn);
        if let Some(tie) = tie {
            truth[free] = tie.value(truth[0].into(), truth[1].into()).0.f64();
        }
        let y = ordinates(kind, &truth, &x, counts, &mut drawn);
        let (sigma, sigmas) = match counts {
            true => (Meaning::Unknown, Vec::new()),
            false => sigmas(n, &mut drawn),
        };
        let mut bounds = bounds(&truth, counts, &mut drawn);
        bounds[free..].fill((f64::NEG_INFINITY, f64::INFINITY));
        let (start, words) = start(kind, &truth, &bounds, counts, &mut drawn);
        let weight = |i: usize| match sigmas.get(i) {
            Some(&sigma) => Dd::ONE / Dd::from(sigma),
            None => Dd::ONE,
        };
        let mut problem = Problem {
            kind,
            tie,
            x,
            y,
            weights: (0..n).map(weight).collect(),
            aim: if counts { Aim::Counts } else { Aim::Squares(Loss::Linear) },
            bounds: bounds[..free].to_vec(),
        };
        if !counts && drawn.chance(0.6) {
            problem.aim = Aim::Squares(loss(&problem, &start, &mut drawn));
        }
        Case { kind, problem, start, bounds, sigma, sigmas, random: drawn.0, words }
    }

    pub(crate) fn fit(&self) -> Result<Fit> {
        let mut curve: CurveFit = self.kind.curve().bounds(&self.bounds);
        if let Some(tie) = self.problem.tie {
            curve = curve.tie(self.kind.names()[self.problem.free()], tie.formula());
        }
        curve = match self.problem.aim {
            Aim::Squares(loss) => curve.loss(loss),
            Aim::Counts => curve.estimator(Estimator::Poisson),
        };
        let data = Data::new(&self.problem.x, &self.problem.y)?;
        let data = match self.sigma {
            Meaning::Unknown => data,
            Meaning::Relative => data.sigma(Sigma::Relative(&self.sigmas))?,
            Meaning::Absolute => data.sigma(Sigma::Absolute(&self.sigmas))?,
        };
        curve.fit(data, &self.start)
    }

    /// Description of the case in one line.
    pub(crate) fn words(&self) -> String {
        let Problem { kind, tie, x, aim, .. } = &self.problem;
        let tie = tie.map_or(String::new(), |tie| format!(", last = {}", tie.formula()));
        let bounded = match self.problem.bounds.iter().any(|b| b.0.is_finite() || b.1.is_finite()) {
            true => format!(", bounds {:?}", self.problem.bounds),
            false => String::new(),
        };
        format!(
            "{kind:?}{tie}, {} points, {aim:?}, {:?} sigmas apart by {:.0e}{bounded}, {} {:?}",
            x.len(),
            self.sigma,
            self.problem.spread(),
            self.words,
            self.start
        )
    }
}

fn abscissae(kind: Kind, n: usize, drawn: &mut Drawn) -> Vec<f64> {
    let (low, high) = match kind {
        Kind::Cubic | Kind::Cosh => (-2.0, 2.0),
        Kind::Width => (-3.0, 3.0),
        Kind::Decay => (0.0, 5.0),
        Kind::TwoDecays => (0.0, 6.0),
        _ => (0.0, 10.0),
    };
    let even = drawn.chance(0.5);
    let place = |i: usize| (i as f64 + 0.5) / n as f64;
    (0..n)
        .map(|i| low + (high - low) * if even { place(i) } else { drawn.within(0.0, 1.0) })
        .collect()
}

/// Parameters that data are made of; where squares stand in the model they are signed.
fn truth(kind: Kind, counts: bool, drawn: &mut Drawn) -> Vec<f64> {
    let mut truth = match kind {
        Kind::Line if counts => vec![drawn.within(0.0, 2.0), drawn.within(0.1, 5.0)],
        Kind::Line => {
            vec![drawn.sign() * drawn.power(-2.0, 2.0), drawn.sign() * drawn.power(-2.0, 2.0)]
        }
        Kind::Cubic => (0..4).map(|_| drawn.within(-3.0, 3.0)).collect(),
        Kind::Decay => {
            vec![drawn.within(0.5, 20.0), drawn.within(0.2, 2.0), drawn.within(-3.0, 3.0)]
        }
        Kind::Peak => vec![
            drawn.within(1.0, 20.0),
            drawn.within(2.0, 8.0),
            drawn.within(0.4, 2.0),
            drawn.within(-2.0, 2.0),
        ],
        Kind::Rational => {
            vec![drawn.within(-3.0, 3.0), drawn.within(0.5, 3.0), drawn.within(0.1, 1.5)]
        }
        Kind::Width => vec![drawn.within(1.0, 20.0), drawn.within(-0.2, 1.0)],
        Kind::Squares => vec![drawn.within(-1.0, 3.0), drawn.within(-2.0, 6.0)],
        Kind::Cosh => vec![drawn.within(0.5, 5.0), drawn.within(-0.3, 1.0)],
        Kind::TwoDecays => vec![
            drawn.within(1.0, 10.0),
            drawn.within(0.2, 0.8),
            drawn.within(1.0, 10.0),
            drawn.within(1.5, 4.0),
        ],
        Kind::Logistic => {
            vec![drawn.within(1.0, 20.0), drawn.within(0.5, 3.0), drawn.within(3.0, 7.0)]
        }
    };
    if counts {
        // As many counts as that, on a background that may be none.
        let size = drawn.power(-0.5, 4.5);
        truth.iter_mut().for_each(|v| *v = v.abs());
        let scaled: &[usize] = match kind {
            Kind::Line => &[0, 1],
            Kind::Decay | Kind::TwoDecays => &[0, 2],
            Kind::Peak => &[0, 3],
            _ => &[0],
        };
        scaled.iter().for_each(|&i| truth[i] *= size);
    }
    truth
}

/// The curve that data scatter about.
fn curve(kind: Kind, t: &[f64], x: f64) -> f64 {
    match kind {
        Kind::Line => t[0] * x + t[1],
        Kind::Cubic => t[0] + x * (t[1] + x * (t[2] + x * t[3])),
        Kind::Decay => t[0] * (-t[1] * x).exp() + t[2],
        Kind::Peak => t[0] * (-0.5 * ((x - t[1]) / t[2]).powi(2)).exp() + t[3],
        Kind::Rational => (t[0] + t[1] * x) / (1.0 + t[2] * x),
        Kind::Width => t[0] * (-x * x / (2.0 * (INSTRUMENT + t[1]))).exp(),
        Kind::Squares => t[0] * x + t[1],
        Kind::Cosh if t[1] > 0.0 => t[0] * (t[1] * x).cosh(),
        Kind::Cosh => t[0] * (t[1] * x).cos(),
        Kind::TwoDecays => t[0] * (-t[1] * x).exp() + t[2] * (-t[3] * x).exp(),
        Kind::Logistic => t[0] / (1.0 + (-t[1] * (x - t[2])).exp()),
    }
}

fn ordinates(kind: Kind, truth: &[f64], x: &[f64], counts: bool, drawn: &mut Drawn) -> Vec<f64> {
    let clean: Vec<f64> = x.iter().map(|&x| curve(kind, truth, x)).collect();
    if counts {
        let count = |&f: &f64| Poisson::new(f).map_or(0.0, |p| p.sample(&mut drawn.0));
        return clean.iter().map(count).collect();
    }
    let size = clean.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let noise = size * drawn.one_of(&[0.0, 1e-12, 1e-6, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 10.0]);
    let outliers = if drawn.chance(0.3) { drawn.within(0.0, 0.25) } else { 0.0 };
    let mut noisy = |v: &f64| {
        let outlying =
            if drawn.chance(outliers) { drawn.sign() * size * drawn.power(-1.0, 3.0) } else { 0.0 };
        v + noise * drawn.normal() + outlying
    };
    clean.iter().map(&mut noisy).collect()
}

fn sigmas(n: usize, drawn: &mut Drawn) -> (Meaning, Vec<f64>) {
    let meaning = match drawn.index(3) {
        0 => return (Meaning::Unknown, Vec::new()),
        1 => Meaning::Relative,
        _ => Meaning::Absolute,
    };
    let unit = drawn.power(-2.0, 2.0);
    let spread = drawn.one_of(&[0.0, 0.3, 1.0]);
    let mut sigmas: Vec<f64> =
        (0..n).map(|_| unit * drawn.power(-spread - 1e-9, spread + 1e-9)).collect();
    if drawn.chance(0.5) {
        // One point, or a few, far better known than all others.
        let tight = unit / drawn.power(0.0, 18.0);
        for _ in 0..if drawn.chance(0.7) { 1 } else { 1 + drawn.index(4) } {
            sigmas[drawn.index(n)] = tight;
        }
    }
    (meaning, sigmas)
}

fn bounds(truth: &[f64], counts: bool, drawn: &mut Drawn) -> Vec<(f64, f64)> {
    let mut bounds = vec![(f64::NEG_INFINITY, f64::INFINITY); truth.len()];
    if counts && drawn.chance(0.5) {
        bounds.fill((0.0, f64::INFINITY));
    }
    if drawn.chance(0.6) {
        return bounds;
    }
    for (bound, &t) in bounds.iter_mut().zip(truth) {
        let size = t.abs().max(0.1);
        let lower = if counts { 0.0 } else { f64::NEG_INFINITY };
        *bound = match drawn.index(6) {
            0 => (t - 5.0 * size, t + 5.0 * size),
            1 => (t - size * drawn.within(0.0, 2.0), f64::INFINITY),
            2 => (lower, t + size * drawn.within(0.0, 2.0)),
            3 => (t + size * drawn.within(0.01, 0.5), t + 5.0 * size),
            4 => (t - 5.0 * size, t - size * drawn.within(0.01, 0.5)),
            _ => *bound,
        };
        if counts {
            *bound = (bound.0.max(lower), bound.1.max(0.1 * size));
        }
    }
    bounds
}

fn start(
    kind: Kind,
    truth: &[f64],
    bounds: &[(f64, f64)],
    counts: bool,
    drawn: &mut Drawn,
) -> (Vec<f64>, String) {
    let way = drawn.index(4);
    let root = matches!(kind, Kind::Squares | Kind::Width | Kind::Cosh);
    let mut start: Vec<f64> = Vec::new();
    for (i, &t) in truth.iter().enumerate() {
        // Of squares and even parameters a positive root.
        let squared = root && (kind == Kind::Squares || i == 1);
        let t = if squared { t.abs().max(0.01).sqrt() } else { t };
        start.push(match way {
            0 => t * (1.0 + 0.1 * drawn.within(-1.0, 1.0)),
            1 => t * (1.0 + 0.8 * drawn.within(-1.0, 1.0)),
            2 => t + t.abs().max(0.1) * drawn.within(-3.0, 3.0),
            _ => t * drawn.power(-1.5, 1.5) * if drawn.chance(0.1) { -1.0 } else { 1.0 },
        });
    }
    if counts {
        start.iter_mut().for_each(|v| *v = v.abs().max(1e-3));
    }
    let mut words = ["near", "about", "beside", "far"][way].to_owned();
    for (value, &(lower, upper)) in start.iter_mut().zip(bounds) {
        *value = value.clamp(lower, upper);
        let ends: Vec<f64> = [lower, upper].into_iter().filter(|b| b.is_finite()).collect();
        if !ends.is_empty() && drawn.chance(0.25) {
            *value = drawn.one_of(&ends);
            words = String::from("on a bound");
        }
    }
    (start, words)
}

/// A loss whose scale is up to 1e10 times smaller than the largest residual at the start.
fn loss(problem: &Problem, start: &[f64], drawn: &mut Drawn) -> Loss {
    let q: Vec<Dd> = start[..problem.free()].iter().map(|&v| v.into()).collect();
    let rows = problem.see(&q).rows;
    let largest = rows.iter().fold(0.0, |m: f64, r| m.max(r.f64().abs()));
    let scale = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
    let scale = scale / drawn.power(0.0, 10.0);
    Loss::robust(scale)[drawn.index(5)]
}
