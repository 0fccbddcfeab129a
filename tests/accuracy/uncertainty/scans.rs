//! Ends of profiles against scans: with one parameter held, the linear ones are solved for and the other
//! nonlinear one is looked for over a wide grid, so that no branch of the cost is missed.

use dualfit::error::UncertaintyError;
use dualfit::result::ProfileEnd;
use dualfit::{CurveFit, Data, Error, Options};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A model as text, with its terms: each linear parameter times a shape that nonlinear ones make.
struct Family {
    text: &'static str,
    /// Names of the linear parameters, one per shape; "" for a shape without one, times 1.
    linear: &'static [&'static str],
    nonlinear: &'static [Kind],
    shapes: fn(f64, &[f64]) -> [f64; 3],
    /// Drawn between these, in the order of the nonlinear and then of the linear ones.
    truths: &'static [(f64, f64)],
}

/// A nonlinear parameter, and where its values may be.
#[derive(Clone, Copy)]
enum Kind {
    /// Of either sign and any size.
    Rate(&'static str),
    /// Of any size.
    Width(&'static str),
    /// Of any size, in small steps.
    Frequency(&'static str),
    /// Values at and somewhat beyond the points.
    Place(&'static str),
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Rate(name) | Kind::Width(name) | Kind::Frequency(name) | Kind::Place(name) => {
                name
            }
        }
    }

    fn grid(self, x: &[f64]) -> Vec<f64> {
        let (low, high) = (x[0], x[x.len() - 1]);
        let sizes = (0..=350).map(|i| 10f64.powf(-4.0 + f64::from(i) / 50.0));
        match self {
            Kind::Width(_) => sizes.collect(),
            Kind::Frequency(_) => (1..=4000).map(|i| 0.002 * f64::from(i)).collect(),
            Kind::Rate(_) => {
                let sizes: Vec<f64> = sizes.collect();
                let negative = sizes.iter().rev().map(|v| -v);
                negative.chain([0.0]).chain(sizes.iter().copied()).collect()
            }
            Kind::Place(_) => {
                let span = high - low;
                (0..=300).map(|i| low - 2.0 * span + 5.0 * span * f64::from(i) / 300.0).collect()
            }
        }
    }
}

const FAMILIES: [Family; 8] = [
    Family {
        text: "a*exp(-k*x) + c",
        linear: &["a", "c"],
        nonlinear: &[Kind::Rate("k")],
        shapes: |x, p| [(-p[0] * x).exp(), 1.0, 0.0],
        truths: &[(0.2, 1.5), (1.0, 5.0), (-1.0, 2.0)],
    },
    Family {
        text: "a*exp(-k*x) + b*exp(-l*x)",
        linear: &["a", "b"],
        nonlinear: &[Kind::Rate("k"), Kind::Rate("l")],
        shapes: |x, p| [(-p[0] * x).exp(), (-p[1] * x).exp(), 0.0],
        truths: &[(0.05, 0.6), (0.5, 3.0), (1.0, 4.0), (1.0, 4.0)],
    },
    Family {
        text: "a*(1 - exp(-k*x))",
        linear: &["a"],
        nonlinear: &[Kind::Rate("k")],
        shapes: |x, p| [1.0 - (-p[0] * x).exp(), 0.0, 0.0],
        truths: &[(0.1, 1.5), (1.0, 20.0)],
    },
    Family {
        text: "a*exp(-((x - m)/s)^2)",
        linear: &["a"],
        nonlinear: &[Kind::Place("m"), Kind::Width("s")],
        shapes: |x, p| [(-((x - p[0]) / p[1]).powi(2)).exp(), 0.0, 0.0],
        truths: &[(2.0, 5.0), (0.8, 3.0), (1.0, 5.0)],
    },
    Family {
        text: "a*sin(w*x) + c",
        linear: &["a", "c"],
        nonlinear: &[Kind::Frequency("w")],
        shapes: |x, p| [(p[0] * x).sin(), 1.0, 0.0],
        truths: &[(0.3, 2.0), (1.0, 3.0), (-1.0, 1.0)],
    },
    Family {
        text: "a*(x + 0.5)^p + c",
        linear: &["a", "c"],
        nonlinear: &[Kind::Rate("p")],
        shapes: |x, p| [(x + 0.5).powf(p[0]), 1.0, 0.0],
        truths: &[(-1.5, 2.5), (1.0, 4.0), (-1.0, 1.0)],
    },
    Family {
        text: "a/(1 + exp(-k*(x - m)))",
        linear: &["a"],
        nonlinear: &[Kind::Rate("k"), Kind::Place("m")],
        shapes: |x, p| [1.0 / (1.0 + (-p[0] * (x - p[1])).exp()), 0.0, 0.0],
        truths: &[(0.5, 4.0), (2.0, 5.0), (1.0, 5.0)],
    },
    Family {
        text: "a*exp(-k*x) + b*x + c",
        linear: &["a", "b", "c"],
        nonlinear: &[Kind::Rate("k")],
        shapes: |x, p| [(-p[0] * x).exp(), x, 1.0],
        truths: &[(0.4, 2.0), (1.0, 5.0), (-0.5, 0.5), (-1.0, 1.0)],
    },
];

/// The least sum of squares of y less combinations of shapes, by orthogonalising twice.
fn rest(y: &[f64], shapes: &[Vec<f64>]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let clear = |v: &mut Vec<f64>, basis: &[Vec<f64>]| {
        for b in basis.iter().chain(basis) {
            let part = dot(v, b);
            v.iter_mut().zip(b).for_each(|(v, b)| *v -= part * b);
        }
    };
    for shape in shapes {
        let largest = shape.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        if !shape.iter().all(|s| s.is_finite()) {
            return f64::INFINITY;
        }
        if largest == 0.0 {
            continue;
        }
        let mut v: Vec<f64> = shape.iter().map(|s| s / largest).collect();
        let before = dot(&v, &v).sqrt();
        v.iter_mut().for_each(|v| *v /= before);
        clear(&mut v, &basis);
        let length = dot(&v, &v).sqrt();
        if length > 1e-13 {
            v.iter_mut().for_each(|v| *v /= length);
            basis.push(v);
        }
    }
    let mut residual = y.to_vec();
    clear(&mut residual, &basis);
    dot(&residual, &residual)
}

struct Problem {
    family: &'static Family,
    x: Vec<f64>,
    y: Vec<f64>,
    truth: Vec<(&'static str, f64)>,
}

impl Problem {
    fn new(seed: u64) -> Problem {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let family = &FAMILIES[(seed % FAMILIES.len() as u64) as usize];
        let names = family.nonlinear.iter().map(|kind| kind.name());
        let names: Vec<&str> = names.chain(family.linear.iter().copied()).collect();
        let drawn: Vec<f64> = family
            .truths
            .iter()
            .map(|&(low, high)| low + (high - low) * rng.random::<f64>())
            .collect();
        let n = names.len() + 2 + (rng.random::<f64>() * 5.0) as usize;
        let x: Vec<f64> = (0..n).map(|i| 7.0 * i as f64 / (n - 1) as f64).collect();
        let q = family.nonlinear.len();
        let clean = |x: &f64| -> f64 {
            let shapes = (family.shapes)(*x, &drawn[..q]);
            drawn[q..].iter().zip(shapes).map(|(c, s)| c * s).sum()
        };
        let clean: Vec<f64> = x.iter().map(clean).collect();
        let size = clean.iter().fold(0.0, |m: f64, y| m.max(y.abs()));
        let noise = size * 10f64.powf(-2.0 + 1.3 * rng.random::<f64>());
        let y = clean.iter().map(|y| {
            let e: f64 = StandardNormal.sample(&mut rng);
            y + noise * e
        });
        let y = y.collect();
        Problem { family, x, y, truth: names.into_iter().zip(drawn).collect() }
    }

    /// The least sum of squares with `name` held; `None` where that is no scan in one dimension.
    fn held(&self, name: &str, value: f64) -> Option<f64> {
        let family = self.family;
        let free: Vec<usize> =
            (0..family.nonlinear.len()).filter(|&i| family.nonlinear[i].name() != name).collect();
        let count = family.linear.len();
        let at = |moved: f64| {
            let p: Vec<f64> = (0..family.nonlinear.len())
                .map(|i| if free.contains(&i) { moved } else { value })
                .collect();
            let columns: Vec<Vec<f64>> = (0..count)
                .map(|j| self.x.iter().map(|&x| (family.shapes)(x, &p)[j]).collect())
                .collect();
            match family.linear.iter().position(|n| *n == name) {
                None => rest(&self.y, &columns),
                Some(h) => {
                    let y: Vec<f64> =
                        self.y.iter().zip(&columns[h]).map(|(y, s)| y - value * s).collect();
                    if y.iter().any(|y| !y.is_finite()) {
                        return f64::INFINITY;
                    }
                    let others: Vec<Vec<f64>> =
                        (0..count).filter(|&j| j != h).map(|j| columns[j].clone()).collect();
                    rest(&y, &others)
                }
            }
        };
        match free[..] {
            [] => Some(at(0.0)),
            [i] => Some(least(&family.nonlinear[i].grid(&self.x), at)),
            _ => None,
        }
    }
}

/// The least value of a function: at each local minimum on the grid, by golden sections.
fn least(grid: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let values: Vec<f64> = grid.iter().map(|&g| of(g)).collect();
    let value = |i: usize| values.get(i).copied().unwrap_or(f64::INFINITY);
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let mut found = lowest;
    let inner = |i: &usize| {
        let lower = if *i == 0 { f64::INFINITY } else { value(i - 1) };
        value(*i) <= lower && value(*i) <= value(i + 1)
    };
    let mut places: Vec<usize> = (0..grid.len()).filter(inner).collect();
    places.sort_by(|&i, &j| value(i).total_cmp(&value(j)));
    for &i in places.iter().take(6) {
        let (mut a, mut b) = (grid[i.saturating_sub(1)], grid[(i + 1).min(grid.len() - 1)]);
        let ratio = 0.5 * (5f64.sqrt() - 1.0);
        let (mut c, mut d) = (b - ratio * (b - a), a + ratio * (b - a));
        let (mut fc, mut fd) = (of(c), of(d));
        for _ in 0..45 {
            if fc < fd {
                (b, d, fd) = (d, c, fc);
                c = b - ratio * (b - a);
                fc = of(c);
            } else {
                (a, c, fc) = (c, d, fd);
                d = a + ratio * (b - a);
                fd = of(d);
            }
        }
        found = found.min(fc).min(fd);
    }
    found
}

/// Of its distance from the best value, what an end may be off.
const ACCURACY: f64 = 2e-6;
const LEVELS: [f64; 3] = [0.6827, 0.95, 0.99];

/// Result of a comparison.
#[derive(Debug, Default)]
struct Found {
    /// Ends that were compared.
    ends: usize,
    /// Descriptions of the errors.
    wrong: Vec<String>,
    /// True if the profile found a better minimum.
    better: bool,
}

/// Compares the profile of `name`, to each level and on both sides. Nothing is where the fit itself is not
/// at the lowest minimum.
fn check(problem: &Problem, name: &str, levels: &[f64]) -> Found {
    let mut all = Found::default();
    let Problem { family, x, y, truth } = problem;
    let data = || Data::new(x, y).unwrap();
    let curve = CurveFit::parse(family.text, ["x"]).unwrap();
    let curve = curve.options(Options::default().ftol(1e-14).xtol(1e-12));
    let Ok(fit) = curve.fit(data(), truth.as_slice()) else { return all };
    if !fit.converged() {
        return all;
    }
    let best = fit.param(name).unwrap();
    let Some(lowest) = problem.held(name, best) else { return all };
    let (cost, dof) = (fit.chi_square(), fit.degrees_of_freedom() as f64);
    if cost == 0.0 || (lowest / cost - 1.0).abs() > 1e-7 {
        return all;
    }
    let scatter = cost / dof;
    let excess = |value: f64| (problem.held(name, value).unwrap() - lowest) / scatter;
    let profile = match curve.profile(&fit, data(), name) {
        Ok(profile) => profile,
        Err(Error::Uncertainty(UncertaintyError::NoProfile { .. })) => return all,
        Err(error) => panic!("{error}"),
    };
    for &level in levels {
        let Ok(found) = profile.interval(level) else {
            all.better = true;
            return all;
        };
        let (lower, upper) = fit.confidence_intervals(level).unwrap()
            [fit.names().iter().position(|n| n == name).unwrap()];
        let t = 0.5 * (upper - lower) / fit.std_error(name).unwrap();
        let wanted = t * t;
        for (end, kind, sign) in
            [(found.lower, found.lower_end, -1.0), (found.upper, found.upper_end, 1.0)]
        {
            let place = format!("{name} to {level} ({sign:+}), best {best}");
            all.ends += 1;
            match kind {
                ProfileEnd::Found => {
                    let distance = sign * (end - best).abs();
                    let [inside, outside] =
                        [1.0 - ACCURACY, 1.0 + ACCURACY].map(|part| excess(best + part * distance));
                    let slack = 1e-8 * wanted;
                    if inside > wanted + slack || outside < wanted - slack {
                        all.wrong.push(format!(
                            "{place}: {end}, where the excess is {inside} and {outside}, not {wanted}"
                        ));
                    }
                    // Nothing reaches the level before.
                    let early = (1..40).find(|&i| {
                        excess(best + distance * f64::from(i) / 40.0) > wanted * (1.0 + 1e-6)
                    });
                    if let Some(early) = early {
                        all.wrong.push(format!("{place}: {end}, but reached at {early}/40 of it"));
                    }
                }
                ProfileEnd::Open | ProfileEnd::Failed => {
                    let size = fit.std_error(name).unwrap();
                    let values = (1..=80).map(|i| 10f64.powf(-1.0 + f64::from(i) / 20.0));
                    let mut values = values.map(|size_of| best + sign * size * size_of);
                    let reaches = |value: &f64| {
                        let there = excess(*value);
                        there > wanted * (1.0 + 1e-6) && there.is_finite()
                    };
                    match values.find(reaches) {
                        Some(value) => {
                            all.wrong.push(format!("{place}: {kind:?}, but reached at {value}"));
                        }
                        None if kind == ProfileEnd::Failed => {
                            all.wrong.push(format!("{place}: failed, and never reached"));
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }
    all
}

/// Seeds of problems and parameters where a walk from the best fit alone ended elsewhere: refits failed, or
/// their minimum was not the lowest.
const TELLING: [(u64, &str); 12] = [
    (9, "k"),
    (9, "l"),
    (32, "a"),
    (41, "k"),
    (48, "a"),
    (65, "k"),
    (71, "b"),
    (87, "b"),
    (135, "c"),
    (183, "a"),
    (193, "k"),
    (223, "c"),
];

#[test]
fn ends_of_profiles_are_where_scans_have_them() {
    for (seed, name) in TELLING {
        let problem = Problem::new(seed);
        let found = check(&problem, name, &LEVELS);
        assert!(found.wrong.is_empty() && !found.better, "{seed}: {found:?}");
        assert_eq!(found.ends, 6, "{seed}, {name}: all levels on both sides");
    }
}

#[test]
#[ignore = "by hand: looks for profiles that miss, SEEDS=from..to"]
fn random_profiles_against_scans() {
    let range = std::env::var("SEEDS").unwrap_or("0..240".into());
    let (from, to) = range.split_once("..").unwrap();
    let (mut profiles, mut missed, mut better) = (0, 0, 0);
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let problem = Problem::new(seed);
        for (name, _) in &problem.truth {
            let found = check(&problem, name, &LEVELS);
            profiles += 1;
            missed += usize::from(!found.wrong.is_empty());
            better += usize::from(found.better);
            let (text, n) = (problem.family.text, problem.x.len());
            for wrong in found.wrong {
                println!("{seed} {text}, {n} points: {wrong}");
            }
        }
    }
    println!("{profiles} profiles, {missed} miss, {better} found a better minimum");
}
