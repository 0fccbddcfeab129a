//! How often a start that is found leads to the fit that the truth leads to.

use super::{decays, diode, dose, growth, physics, relaxation, saturation};
use crate::model::Expression;
use crate::models::definition::Definition;
use crate::{CurveFit, Data, Observations};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// A model, what its points are like, and how many fits of a hundred must succeed.
struct Trial {
    definition: &'static Definition,
    /// x, and the parameters in the order of the definition.
    draw: fn(&mut StdRng) -> (Vec<f64>, Vec<f64>),
    /// The deviation of the noise over the range of y, at least and at most.
    noise: (f64, f64),
}

fn between(rng: &mut StdRng, low: f64, high: f64) -> f64 {
    rng.random_range(low..high)
}

/// Equal chances for equal ratios.
fn log_between(rng: &mut StdRng, low: f64, high: f64) -> f64 {
    between(rng, low.ln(), high.ln()).exp()
}

fn sign(rng: &mut StdRng) -> f64 {
    if rng.random_range(0..2) == 0 { -1.0 } else { 1.0 }
}

/// 40 to 200 points between two values: half the time in equal steps, else at random.
fn spread(rng: &mut StdRng, low: f64, high: f64) -> Vec<f64> {
    let n = rng.random_range(40..=200);
    let even = rng.random_range(0..2) == 0;
    let mut x: Vec<f64> = (0..n)
        .map(|i| if even { f64::from(i) / f64::from(n - 1) } else { rng.random_range(0.0..1.0) })
        .map(|u| low + (high - low) * u)
        .collect();
    for i in (1..x.len()).rev() {
        x.swap(i, rng.random_range(0..=i));
    }
    x
}

/// The same in equal ratios.
fn log_spread(rng: &mut StdRng, low: f64, high: f64) -> Vec<f64> {
    spread(rng, low.ln(), high.ln()).into_iter().map(f64::exp).collect()
}

/// The parameters in the order of the parsed formula.
fn ordered(definition: &Definition, names: &[String], values: &[f64]) -> Vec<f64> {
    let place = |name: &String| definition.parameters.iter().position(|p| p.name == name).unwrap();
    names.iter().map(|name| values[place(name)]).collect()
}

fn model(definition: &Definition) -> CurveFit {
    let parsed = CurveFit::parse(definition.formula, definition.variables).unwrap();
    definition.parameters.iter().fold(parsed, |fit, p| fit.bound(p.name, p.bounds.0..=p.bounds.1))
}

impl Trial {
    /// Fits from a start that is found that end no higher than those from the truth, of `runs`.
    fn successes(&self, runs: u64) -> (u64, Vec<String>) {
        let model = model(self.definition);
        let formula =
            Expression::parse(self.definition.formula, self.definition.variables).unwrap();
        let names = model.parameters().to_vec();
        let (mut good, mut bad) = (0, Vec::new());
        for seed in 0..runs {
            let mut rng = StdRng::seed_from_u64(1000 + seed);
            let (x, truth) = (self.draw)(&mut rng);
            let p = ordered(self.definition, &names, &truth);
            let clean: Vec<f64> = x.iter().map(|&x| formula.evaluate(&[x], &p)).collect();
            let (low, high) =
                clean.iter().fold((f64::MAX, f64::MIN), |(l, h), &y| (l.min(y), h.max(y)));
            let sigma = between(&mut rng, self.noise.0, self.noise.1) * (high - low);
            let noisy = |y: &f64| {
                let normal: f64 = StandardNormal.sample(&mut rng);
                y + sigma * normal
            };
            let y: Vec<f64> = clean.iter().map(noisy).collect();
            let points = Observations { columns: vec![x.clone()], y: y.clone() };
            let start = (self.definition.estimate)(&points);
            let fit = |start: &[f64]| {
                let data = Data::new(&x, &y).unwrap();
                model.fit(data, ordered(self.definition, &names, start))
            };
            let Ok(best) = fit(&truth) else {
                bad.push(format!("{seed}: truth {truth:?} cannot be fitted"));
                continue;
            };
            match fit(&start) {
                Ok(fit) if fit.converged() && fit.cost() <= best.cost() * (1.0 + 1e-6) => good += 1,
                Ok(fit) => bad.push(format!(
                    "{seed}: truth {truth:?}, start {start:?}, {:?} ended at {} over {} ({:?})\n    {:?}\n    {:?}",
                    fit.termination(),
                    fit.cost(),
                    best.cost(),
                    best.termination(), fit.params(), best.params()
                )),
                Err(error) => bad.push(format!("{seed}: truth {truth:?}, start {start:?}: {error}")),
            }
        }
        (good, bad)
    }
}

static TRIALS: &[Trial] = &[
    Trial {
        definition: &decays::EXPONENTIAL,
        draw: |rng| {
            let low = between(rng, -1.0, 3.0);
            let tau = log_between(rng, 0.05, 2.0);
            (spread(rng, low, low + 1.0), vec![sign(rng) * log_between(rng, 0.1, 100.0), tau])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &decays::EXPONENTIAL_OFFSET,
        draw: |rng| {
            let height = sign(rng) * log_between(rng, 0.1, 100.0);
            let offset = height * between(rng, -5.0, 5.0);
            (spread(rng, 0.0, 10.0), vec![height, log_between(rng, 0.3, 7.0), offset])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &decays::BIEXPONENTIAL,
        draw: |rng| {
            let (slow, a) = (between(rng, 3.0, 10.0), log_between(rng, 1.0, 100.0));
            let fast = slow / between(rng, 8.0, 20.0);
            let b = a * between(rng, 0.5, 2.0);
            (spread(rng, 0.0, 20.0), vec![b, fast, a, slow])
        },
        noise: (0.02, 0.03),
    },
    Trial {
        definition: &decays::TRIEXPONENTIAL,
        draw: |rng| {
            let (slow, a) = (between(rng, 30.0, 50.0), log_between(rng, 1.0, 100.0));
            let middle = slow / between(rng, 10.0, 15.0);
            let fast = middle / between(rng, 10.0, 15.0);
            let (b, c) = (a * between(rng, 0.7, 1.5), a * between(rng, 0.7, 1.5));
            (log_spread(rng, 0.02, 100.0), vec![c, fast, b, middle, a, slow])
        },
        noise: (0.02, 0.02001),
    },
    Trial {
        definition: &decays::STRETCHED_EXPONENTIAL,
        draw: |rng| {
            let height = sign(rng) * log_between(rng, 0.1, 100.0);
            (spread(rng, 0.0, 10.0), vec![height, between(rng, 0.5, 4.0), between(rng, 0.4, 2.0)])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &growth::GROWTH,
        draw: |rng| {
            let rate = sign(rng) * log_between(rng, 0.05, 2.0);
            (spread(rng, 0.0, 10.0), vec![sign(rng) * log_between(rng, 0.1, 100.0), rate])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &growth::POWER_LAW,
        draw: |rng| {
            let exponent = sign(rng) * between(rng, 0.3, 4.0);
            (spread(rng, 0.5, 10.0), vec![sign(rng) * log_between(rng, 0.1, 100.0), exponent])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &growth::LOGISTIC_GROWTH,
        draw: |rng| {
            let (rate, middle) = (sign(rng) * log_between(rng, 0.5, 5.0), between(rng, 2.0, 8.0));
            (spread(rng, 0.0, 10.0), vec![log_between(rng, 0.1, 100.0), rate, middle])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &growth::GOMPERTZ,
        draw: |rng| {
            let (rate, middle) = (sign(rng) * log_between(rng, 0.5, 5.0), between(rng, 2.0, 8.0));
            (spread(rng, 0.0, 10.0), vec![log_between(rng, 0.1, 100.0), rate, middle])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &growth::WEIBULL,
        draw: |rng| {
            let (scale, shape) = (between(rng, 1.0, 6.0), log_between(rng, 0.5, 8.0));
            (spread(rng, 0.0, 10.0), vec![log_between(rng, 0.1, 100.0), scale, shape])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &saturation::MICHAELIS_MENTEN,
        draw: |rng| {
            (
                spread(rng, 0.0, 10.0),
                vec![log_between(rng, 0.1, 100.0), log_between(rng, 0.2, 10.0)],
            )
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &saturation::LANGMUIR,
        draw: |rng| {
            let x = spread(rng, 0.0, 1e5);
            (x, vec![log_between(rng, 0.1, 100.0), log_between(rng, 1e-5, 1e-3)])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &saturation::FREUNDLICH,
        draw: |rng| {
            (spread(rng, 0.0, 10.0), vec![log_between(rng, 0.1, 100.0), between(rng, 0.7, 6.0)])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &dose::HILL,
        draw: |rng| {
            let (ec50, hill) = (log_between(rng, 0.1, 10.0), between(rng, 0.6, 4.0));
            (log_spread(rng, 1e-3, 1e3), vec![log_between(rng, 0.1, 100.0), ec50, hill])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &dose::LOGISTIC4,
        draw: |rng| {
            let (ec50, hill) = (log_between(rng, 1e-7, 1e-5), sign(rng) * between(rng, 0.6, 4.0));
            let mut x = log_spread(rng, 1e-9, 1e-3);
            x[..4].fill(0.0);
            let bottom = between(rng, -1.0, 50.0);
            (x, vec![bottom, bottom + log_between(rng, 0.1, 100.0), ec50, hill])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &dose::LOGISTIC4_LOG,
        draw: |rng| {
            let (ec50, hill) = (between(rng, -7.0, -5.0), sign(rng) * between(rng, 0.6, 4.0));
            let bottom = between(rng, -1.0, 50.0);
            let top = bottom + log_between(rng, 0.1, 100.0);
            (spread(rng, -9.0, -3.0), vec![bottom, top, ec50, hill])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &dose::LOGISTIC5,
        draw: |rng| {
            let (ec50, hill) = (log_between(rng, 0.3, 3.0), sign(rng) * between(rng, 1.0, 3.0));
            let bottom = between(rng, -1.0, 50.0);
            let top = bottom + log_between(rng, 0.1, 100.0);
            let asymmetry = log_between(rng, 0.5, 2.0);
            (log_spread(rng, 1e-3, 1e3), vec![bottom, top, ec50, hill, asymmetry])
        },
        noise: (0.02, 0.03),
    },
    Trial {
        definition: &relaxation::INVERSION_RECOVERY,
        draw: |rng| {
            let t1 = log_between(rng, 100.0, 2000.0);
            let m0 = sign(rng) * log_between(rng, 1.0, 1000.0);
            (spread(rng, 20.0, 5000.0), vec![m0, between(rng, 1.6, 2.0), t1])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &relaxation::INVERSION_RECOVERY_MAGNITUDE,
        draw: |rng| {
            let t1 = log_between(rng, 300.0, 2000.0);
            let x = spread(rng, 20.0, 5000.0);
            (x, vec![log_between(rng, 1.0, 1000.0), between(rng, 1.6, 2.0), t1])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &relaxation::SATURATION_RECOVERY,
        draw: |rng| {
            let t1 = log_between(rng, 100.0, 4000.0);
            (spread(rng, 0.0, 5000.0), vec![log_between(rng, 1.0, 1000.0), t1])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &relaxation::VARIABLE_FLIP_ANGLE,
        draw: |rng| {
            let t1 = log_between(rng, 5.0, 500.0);
            (spread(rng, 0.02, 0.6), vec![log_between(rng, 1.0, 1000.0), t1])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &physics::ARRHENIUS,
        draw: |rng| {
            let energy = log_between(rng, 1e4, 1.5e5);
            let amplitude = log_between(rng, 0.1, 100.0) * (energy / (8.314 * 350.0)).exp();
            (spread(rng, 280.0, 400.0), vec![amplitude, energy])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &physics::PLANCK,
        draw: |rng| {
            (spread(rng, 0.3, 5.0), vec![log_between(rng, 0.01, 1.0), between(rng, 1000.0, 8000.0)])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &physics::LENNARD_JONES,
        draw: |rng| {
            let sigma = between(rng, 2.0, 4.0);
            let low = sigma * between(rng, 0.92, 1.02);
            let x = spread(rng, low, 3.0 * sigma);
            (x, vec![log_between(rng, 1e-3, 10.0), sigma])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &physics::MORSE,
        draw: |rng| {
            let (center, width) = (between(rng, 1.0, 3.0), between(rng, 0.2, 0.6));
            let low = center - width * between(rng, 0.4, 0.8);
            let x = spread(rng, low, center + 5.0 * width);
            (x, vec![log_between(rng, 1e-3, 10.0), center, width])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &diode::DIODE,
        draw: |rng| {
            let nvt = between(rng, 0.025, 0.06);
            let i0 = log_between(rng, 1e-15, 1e-8);
            let top = nvt * (log_between(rng, 1e-4, 1e-1) / i0).ln();
            (spread(rng, -0.2, top), vec![i0, nvt])
        },
        noise: (0.02, 0.05),
    },
    Trial {
        definition: &diode::DIODE_SERIES_RESISTANCE,
        draw: |rng| {
            let (nvt, i0) = (between(rng, 0.025, 0.06), log_between(rng, 1e-13, 1e-8));
            let (largest, drop) = (log_between(rng, 1e-3, 1e-1), between(rng, 1.0, 12.0));
            let top = nvt * ((largest / i0).ln() + drop);
            (spread(rng, -0.1, top), vec![i0, nvt, nvt * drop / largest])
        },
        noise: (0.02, 0.05),
    },
];

#[test]
fn starts_that_are_found_lead_where_the_truth_leads() {
    let mut table = String::new();
    let mut failed = false;
    for trial in TRIALS {
        let begun = std::time::Instant::now();
        let (good, bad) = trial.successes(100);
        table += &format!("{:.2} s ", begun.elapsed().as_secs_f64());
        table += &format!("{:32} {good:3}\n", trial.definition.name);
        for line in bad.iter().take(4) {
            table += &format!("  {line}\n");
        }
        failed |= good < 95;
    }
    println!("{table}");
    assert!(!failed, "fewer than 95 of 100:\n{table}");
}
