//! A problem of many sets, as a joint fit and as an ordinary one.

use dualfit::result::Diagnostics;
use dualfit::{CurveFit, Data, Fit, GlobalFit, JointFit, Options, Sigma, Warning};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

/// The model of a set, with its partials.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Over `x`.
    pub(super) text: &'static str,
    pub(super) names: &'static [&'static str],
    pub(super) shared: &'static [&'static str],
    pub(super) value: fn(f64, &[f64]) -> f64,
    pub(super) partials: fn(f64, &[f64], &mut [f64]),
}

pub(super) const DECAY: Form = Form {
    text: "a*exp(-k*x) + b*x + c",
    names: &["a", "k", "b", "c"],
    shared: &["k", "b"],
    value: |x, p| p[0] * (-p[1] * x).exp() + p[2] * x + p[3],
    partials: |x, p, out| {
        let part = (-p[1] * x).exp();
        out.copy_from_slice(&[part, -p[0] * x * part, x, 1.0]);
    },
};

#[derive(Clone)]
pub(super) struct Set {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) sigma: Vec<f64>,
}

impl Set {
    /// With its sigma, in its own proportion or absolute.
    fn data(&self, absolute: Option<bool>) -> Data<'_> {
        with_sigma(Data::new(&self.x, &self.y).unwrap(), &self.sigma, absolute)
    }
}

fn with_sigma<'d>(data: Data<'d>, sigma: &'d [f64], absolute: Option<bool>) -> Data<'d> {
    match absolute {
        None => data,
        Some(false) => data.sigma(Sigma::Relative(sigma)).unwrap(),
        Some(true) => data.sigma(Sigma::Absolute(sigma)).unwrap(),
    }
}

/// Parameter settings: by names in the joint fit, or by names in the model of every set.
#[derive(Clone)]
pub(super) enum Said {
    Bound(String, f64, f64),
    Fix(String),
    /// In every set.
    Prior(&'static str, f64, f64),
    /// In every set.
    Tie(&'static str, &'static str),
}

#[derive(Clone)]
pub(super) struct Problem {
    pub(super) form: Form,
    pub(super) sets: Vec<Set>,
    /// `None` without sigma; true if it is absolute.
    pub(super) absolute: Option<bool>,
    /// Of the model's parameters, in every set.
    pub(super) start: Vec<f64>,
    /// For each set, by which the starts of its own parameters are multiplied.
    pub(super) units: Vec<f64>,
    pub(super) said: Vec<Said>,
    /// Loss, estimator and options.
    pub(super) with: fn(CurveFit) -> CurveFit,
    /// True if the model of the sets is traced, not native.
    pub(super) traced: bool,
}

/// To the last digits, from a start within the bounds.
pub(super) fn exact(curve: CurveFit) -> CurveFit {
    curve.options(Options::default().ftol(1e-15).xtol(1e-14).gtol(1e-14)).clamp_start(true)
}

/// Sums of uniform numbers, of variance 1.
pub(super) fn normal_numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

pub(super) const RATE: f64 = 0.8;

/// Decays of different lengths, amplitudes and levels.
pub(super) fn decays(sets: usize, noise: f64) -> Vec<Set> {
    let mut random = normal_numbers(11);
    let set = |s: usize| {
        let n = 6 + (7 * s) % 9;
        let x: Vec<f64> = (0..n).map(|i| 0.45 * i as f64 + 0.01 * (s % 7) as f64).collect();
        let (a, c) = (1.0 + (s % 5) as f64, 0.3 * (s % 3) as f64 - 0.2);
        let sigma: Vec<f64> = (0..n).map(|i| 0.04 + 0.01 * (i % 4) as f64).collect();
        let clean = x.iter().map(|&x| (DECAY.value)(x, &[a, RATE, 0.05, c]));
        let y = clean.zip(&sigma).map(|(y, s)| y + noise * s * random()).collect();
        Set { x, y, sigma }
    };
    (0..sets).map(set).collect()
}

impl Problem {
    pub(super) fn new(form: Form, sets: Vec<Set>, start: &[f64]) -> Problem {
        let units = vec![1.0; sets.len()];
        Problem {
            form,
            sets,
            absolute: Some(true),
            start: start.to_vec(),
            units,
            said: Vec::new(),
            with: exact,
            traced: false,
        }
    }

    pub(super) fn decays(sets: usize) -> Problem {
        Problem::new(DECAY, decays(sets, 1.0), &[1.5, 1.0, 0.0, 0.0])
    }

    pub(super) fn said(mut self, said: impl IntoIterator<Item = Said>) -> Problem {
        self.said.extend(said);
        self
    }

    /// The name in the joint fit.
    pub(super) fn name(&self, own: &str, set: usize) -> String {
        match self.form.shared.contains(&own) {
            true => own.to_owned(),
            false => format!("{own}_{}", set + 1),
        }
    }

    fn curve(&self) -> CurveFit {
        let Form { text, names, value, partials, .. } = self.form;
        let curve = match self.traced {
            true => CurveFit::parse(text, ["x"]).unwrap(),
            false => CurveFit::native(names.len(), value).jacobian(partials).names(names),
        };
        assert_eq!(curve.parameters(), names);
        let curve = self.said.iter().fold(curve, |curve, said| match said {
            Said::Prior(name, mean, sigma) => curve.prior(name, *mean, *sigma),
            Said::Tie(name, formula) => curve.tie(name, formula),
            _ => curve,
        });
        (self.with)(curve)
    }

    pub(super) fn global(&self) -> GlobalFit {
        let global = GlobalFit::new(&self.curve()).share(self.form.shared);
        self.said.iter().fold(global, |global, said| match said {
            Said::Bound(name, lower, upper) => global.bound(name, *lower..=*upper),
            Said::Fix(name) => global.fix(name),
            _ => global,
        })
    }

    /// The names of all parameters, and for each set where those of its model are.
    pub(super) fn places(&self) -> (Vec<String>, Vec<Vec<usize>>) {
        let names = self.global().parameters(self.sets.len()).unwrap();
        let place = |name: String| names.iter().position(|n| *n == name).unwrap();
        let of_set =
            |s: usize| self.form.names.iter().map(|own| place(self.name(own, s))).collect();
        let places = (0..self.sets.len()).map(of_set).collect();
        (names, places)
    }

    fn start(&self) -> Vec<f64> {
        let (names, places) = self.places();
        let mut start = vec![0.0; names.len()];
        for (of_set, unit) in places.iter().zip(&self.units) {
            for (i, &k) in of_set.iter().enumerate() {
                let is_own = !self.form.shared.contains(&self.form.names[i]);
                start[k] = self.start[i] * if is_own { *unit } else { 1.0 };
            }
        }
        start
    }

    pub(super) fn joint(&self) -> JointFit {
        let data = self.sets.iter().map(|set| set.data(self.absolute));
        self.global().fit(data, self.start()).unwrap()
    }

    /// The model of all parameters: the set, counted from 1, and x.
    fn of_all(&self) -> CurveFit {
        let (names, places) = self.places();
        let (places, count) = (Arc::new(places), names.len());
        let Form { value, partials, .. } = self.form;
        let own =
            |of_set: &[usize], p: &[f64]| -> Vec<f64> { of_set.iter().map(|&k| p[k]).collect() };
        let sets = places.clone();
        let curve = CurveFit::native_multivariate(2, count, move |x, p| {
            value(x[1], &own(&sets[x[0] as usize - 1], p))
        });
        curve.names(&names).jacobian_multivariate(move |x, p, out| {
            let of_set = &places[x[0] as usize - 1];
            let mut found = vec![0.0; of_set.len()];
            partials(x[1], &own(of_set, p), &mut found);
            out.fill(0.0);
            of_set.iter().zip(found).for_each(|(&k, partial)| out[k] = partial);
        })
    }

    pub(super) fn by_hand(&self) -> Fit {
        let mut curve = self.of_all();
        for said in &self.said {
            curve = match said {
                Said::Bound(name, lower, upper) => curve.bound(name, *lower..=*upper),
                Said::Fix(name) => curve.fix(name),
                Said::Prior(own, mean, sigma) => {
                    let mut names: Vec<String> = self.each_set(|s| self.name(own, s));
                    names.dedup();
                    names.iter().fold(curve, |curve, name| curve.prior(name, *mean, *sigma))
                }
                Said::Tie(own, formula) => {
                    let mut ties = self.each_set(|s| (self.name(own, s), self.formula(formula, s)));
                    ties.dedup();
                    ties.iter().fold(curve, |curve, (name, formula)| curve.tie(name, formula))
                }
            };
        }
        self.with_all_points(|data| (self.with)(curve).fit(data, self.start()).unwrap())
    }

    pub(super) fn diagnostics_by_hand(&self, hand: &Fit) -> Diagnostics {
        self.with_all_points(|data| hand.diagnostics(data).unwrap())
    }

    /// Of one set.
    pub(super) fn data(&self, set: usize) -> Data<'_> {
        self.sets[set].data(self.absolute)
    }

    fn with_all_points<T>(&self, then: impl FnOnce(Data<'_>) -> T) -> T {
        let column: Vec<f64> = self.column();
        let join = |of: fn(&Set) -> &Vec<f64>| self.sets.iter().flat_map(of).copied().collect();
        let (x, y, sigma): (Vec<f64>, Vec<f64>, Vec<f64>) =
            (join(|set| &set.x), join(|set| &set.y), join(|set| &set.sigma));
        then(with_sigma(Data::new([&column, &x], &y).unwrap(), &sigma, self.absolute))
    }

    fn each_set<T>(&self, of: impl Fn(usize) -> T) -> Vec<T> {
        (0..self.sets.len()).map(of).collect()
    }

    fn column(&self) -> Vec<f64> {
        let each = self.sets.iter().enumerate();
        each.flat_map(|(s, set)| vec![s as f64 + 1.0; set.x.len()]).collect()
    }

    /// A formula of one letter names, in those of the joint fit.
    pub(super) fn formula(&self, text: &str, set: usize) -> String {
        let name = |letter: char| {
            let own = letter.to_string();
            if self.form.names.contains(&own.as_str()) { self.name(&own, set) } else { own }
        };
        text.chars().map(name).collect()
    }

    fn has_priors(&self) -> bool {
        self.said.iter().any(|said| matches!(said, Said::Prior(..)))
    }

    /// Of chi-square, relative: a residual is known to rounding of y.
    fn rounding(&self) -> f64 {
        let heaviest = self.sets.iter().flat_map(|set| set.y.iter().zip(&set.sigma));
        let heaviest = heaviest.fold(0.0, |most: f64, (y, sigma)| most.max(y.abs() / sigma));
        1e-12 + (f64::EPSILON * heaviest).powi(2)
    }

    pub(super) fn both(&self) -> (JointFit, Fit) {
        (self.joint(), self.by_hand())
    }
}

/// The largest differences of two fits of one problem.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Differences {
    /// In standard errors, beyond rounding of the parameter.
    pub(super) params: f64,
    /// Relative.
    pub(super) errors: f64,
    pub(super) correlations: f64,
    /// Relative.
    pub(super) chi_square: f64,
}

/// Allowed differences of two fits.
pub(super) const USUAL: Differences =
    Differences { params: 1e-9, errors: 1e-8, correlations: 1e-8, chi_square: 1e-12 };

/// Checks that the words and integers of both fits are equal, and returns the other differences.
pub(super) fn differences(joint: &Fit, hand: &Fit) -> Differences {
    assert_eq!(joint.names(), hand.names());
    assert_eq!(joint.converged(), hand.converged(), "{joint}\n{hand}");
    if !joint.converged() {
        assert_eq!(joint.termination(), hand.termination());
    }
    assert_eq!((joint.rank(), joint.estimated()), (hand.rank(), hand.estimated()));
    assert_eq!(joint.undetermined(), hand.undetermined());
    assert_eq!(joint.at_bound(), hand.at_bound());
    assert_eq!(
        (joint.points(), joint.degrees_of_freedom()),
        (hand.points(), hand.degrees_of_freedom())
    );
    assert_eq!(kinds(joint), kinds(hand), "{:?} {:?}", joint.warnings(), hand.warnings());
    let ratio = joint.condition() / hand.condition();
    let both_open = [joint, hand].iter().all(|fit| fit.condition() == f64::INFINITY);
    assert!(both_open || (0.5..2.0).contains(&ratio), "{} {}", joint.condition(), hand.condition());
    let mut most = Differences::default();
    let (errors, expected) = (joint.std_errors(), hand.std_errors());
    for (i, (error, by_hand)) in errors.iter().zip(&expected).enumerate() {
        let (value, value_by_hand) = (joint.params()[i], hand.params()[i]);
        if by_hand.is_finite() && *by_hand > 0.0 {
            let rounding = 4.0 * f64::EPSILON * value_by_hand.abs();
            let difference = (value - value_by_hand).abs() - rounding;
            most.params = most.params.max(difference / by_hand);
            most.errors = most.errors.max((error / by_hand - 1.0).abs());
        } else {
            // At a bound or fixed; undetermined parameters may have any value.
            assert!(*by_hand == f64::INFINITY || value == value_by_hand, "{}", joint.names()[i]);
            assert_eq!(error.to_bits(), by_hand.to_bits(), "{}", joint.names()[i]);
        }
    }
    let (found, by_hand) = (joint.correlation(), hand.correlation());
    for (a, b) in found.as_slice().iter().zip(by_hand.as_slice()) {
        assert_eq!(a.is_nan(), b.is_nan());
        most.correlations = most.correlations.max((a - b).abs());
    }
    let (found, by_hand) = (joint.covariance(), hand.covariance());
    for (i, a) in errors.iter().enumerate() {
        for (j, b) in errors.iter().enumerate() {
            let (found, by_hand) = (found[(i, j)], by_hand[(i, j)]);
            assert_eq!(found.is_finite(), by_hand.is_finite(), "{found} {by_hand}");
            if found.is_finite() && a * b > 0.0 {
                most.correlations = most.correlations.max((found / a / b - by_hand / a / b).abs());
            }
        }
    }
    most.chi_square = (joint.chi_square() / hand.chi_square() - 1.0).abs();
    most
}

/// Kinds of warnings. R² is about each set's mean in a joint fit, and about that of all by hand.
fn kinds(fit: &Fit) -> Vec<Discriminant<Warning>> {
    // Residuals are tested set by set, or in the order of the points.
    let compared =
        |w: &&Warning| !matches!(w, Warning::PoorFit { .. } | Warning::CorrelatedResiduals { .. });
    fit.warnings().iter().filter(compared).map(discriminant).collect()
}

#[track_caller]
pub(super) fn within(found: Differences, most: Differences, what: &str) {
    let is_within = found.params <= most.params
        && found.errors <= most.errors
        && found.correlations <= most.correlations
        && found.chi_square <= most.chi_square;
    assert!(is_within, "{what}: {found:?}");
}

/// Checks that both fits of the problem agree.
#[track_caller]
pub(super) fn agree(problem: &Problem, most: Differences, what: &str) -> (JointFit, Fit) {
    let (joint, hand) = problem.both();
    let found = differences(joint.fit(), &hand);
    within(found, most, what);
    let sum: f64 = joint.chi_squares().iter().sum();
    let difference = (sum / joint.fit().chi_square() - 1.0).abs();
    assert!(difference <= problem.rounding() || problem.has_priors(), "{what}: {difference:e}");
    (joint, hand)
}
