//! Closest points of curves that bend within the errors of x: against a dense scan of x, and the endings and coverage of
//! fits with them.

use dualfit::{BatchData, CurveFit, Data, GlobalFit, Sigma};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A kind of random experiment.
struct Family {
    name: &'static str,
    curve: CurveFit,
    /// The curve in f64: x, one number per variable, and the parameters.
    value: fn(&[f64], &[f64]) -> f64,
    /// The parameters of an experiment, of six numbers from 0 to 1.
    truth: fn([f64; 6]) -> Vec<f64>,
    points: usize,
    /// Of each variable, from 0.
    range: f64,
    variables: usize,
    x_sigma: f64,
    sigma: f64,
    /// If true, each standard deviation is between 0.03 and 3 times the one above.
    uneven: bool,
}

/// An experiment.
struct Measured {
    truth: Vec<f64>,
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    x_sigma: Vec<Vec<f64>>,
    sigma: Vec<f64>,
}

fn sine(x: &[f64], p: &[f64]) -> f64 {
    p[0] * (p[1] * x[0] + p[2]).sin() + p[3]
}

fn gaussian(x: &[f64], p: &[f64]) -> f64 {
    p[0] * (-0.5 * ((x[0] - p[1]) / p[2]).powi(2)).exp() + p[3]
}

fn step(x: &[f64], p: &[f64]) -> f64 {
    p[0] * ((x[0] - p[1]) / p[2]).tanh() + p[3]
}

fn decay(x: &[f64], p: &[f64]) -> f64 {
    p[0] * (-p[1] * x[0]).exp() + p[2]
}

fn spot(x: &[f64], p: &[f64]) -> f64 {
    let square = (x[0] - p[1]).powi(2) + (x[1] - p[2]).powi(2);
    p[0] * (-0.5 * square / (p[3] * p[3])).exp() + p[4]
}

fn wave(x: &[f64], p: &[f64]) -> f64 {
    p[0] * (p[1] * x[0] + p[2] * x[1] + p[3]).sin() + p[4]
}

fn families() -> Vec<Family> {
    let sines = || CurveFit::new(|x, [a, w, p, c]| a * (w * x + p).sin() + c);
    let peaks = || CurveFit::new(|x, [h, m, s, b]| h * (((x - m) / s).powi(2) * -0.5).exp() + b);
    let steps = || CurveFit::new(|x, [a, m, w, b]| a * ((x - m) / w).tanh() + b);
    let decays = || CurveFit::new(|x, [a, k, c]| a * (-k * x).exp() + c);
    let common = Family {
        name: "gentle sine",
        curve: sines(),
        value: sine,
        truth: |u| vec![1.0, 1.0, 6.0 * u[0], 0.2],
        points: 30,
        range: 10.0,
        variables: 1,
        x_sigma: 0.1,
        sigma: 0.1,
        uneven: false,
    };
    let hard: fn([f64; 6]) -> Vec<f64> =
        |u| vec![1.0 + 4.0 * u[1], 1.0 + 2.0 * u[2], 6.0 * u[0], 0.2];
    let peak: fn([f64; 6]) -> Vec<f64> = |u| vec![3.0 + 5.0 * u[0], 4.0 + 2.0 * u[1], 0.64, 0.3];
    vec![
        Family { name: "sine", truth: hard, x_sigma: 0.3, curve: sines(), ..common },
        Family {
            name: "sine of uneven points",
            truth: hard,
            uneven: true,
            curve: sines(),
            ..common
        },
        Family {
            name: "narrow peak",
            truth: peak,
            x_sigma: 0.3,
            curve: peaks(),
            value: gaussian,
            ..common
        },
        Family {
            name: "step",
            truth: |u| vec![2.0, 4.0 + 2.0 * u[0], 0.5, 0.3],
            x_sigma: 0.3,
            curve: steps(),
            value: step,
            ..common
        },
        Family {
            name: "decay",
            truth: |u| vec![3.0, 0.3 + 0.7 * u[0], 0.5],
            curve: decays(),
            value: decay,
            range: 6.0,
            sigma: 0.05,
            uneven: true,
            ..common
        },
        Family {
            name: "spot",
            truth: |u| vec![3.0 + 5.0 * u[0], 2.0 + u[1], 2.0 + u[2], 0.8, 0.3],
            points: 100,
            range: 5.0,
            variables: 2,
            x_sigma: 0.2,
            curve: CurveFit::multivariate(|[u, v], [h, a, b, s, c]| {
                h * (((u - a).powi(2) + (v - b).powi(2)) / (s * s) * -0.5).exp() + c
            }),
            value: spot,
            ..common
        },
        Family {
            name: "wave",
            truth: |u| vec![1.0, 1.5, 1.0, 6.0 * u[0], 0.2],
            points: 100,
            range: 5.0,
            variables: 2,
            x_sigma: 0.2,
            curve: CurveFit::multivariate(|[u, v], [a, p, q, f, c]| {
                a * (p * u + q * v + f).sin() + c
            }),
            value: wave,
            ..common
        },
        common,
    ]
}

impl Family {
    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> Measured {
        let truth = (self.truth)(std::array::from_fn(|_| random.random::<f64>()));
        let mut made = Measured {
            truth,
            x: vec![Vec::new(); self.variables],
            y: Vec::new(),
            x_sigma: vec![Vec::new(); self.variables],
            sigma: Vec::new(),
        };
        for i in 0..self.points {
            let spread = |sigma: f64, random: &mut Xoshiro256PlusPlus| match self.uneven {
                true => sigma * 10f64.powf(2.0 * random.random::<f64>() - 1.5),
                false => sigma,
            };
            let mut at = Vec::new();
            for k in 0..self.variables {
                let place = match self.variables {
                    1 => (i as f64 + 0.5) / self.points as f64,
                    _ => random.random::<f64>(),
                };
                at.push(self.range * place);
                let sigma = spread(self.x_sigma, random);
                let error: f64 = StandardNormal.sample(random);
                made.x_sigma[k].push(sigma);
                made.x[k].push(at[k] + sigma * error);
            }
            let sigma = spread(self.sigma, random);
            let error: f64 = StandardNormal.sample(random);
            made.sigma.push(sigma);
            made.y.push((self.value)(&at, &made.truth) + sigma * error);
        }
        made
    }

    /// The sum of the squares of all distances at `params`: each by a scan of x, and refined where that is least.
    fn least(&self, made: &Measured, params: &[f64]) -> f64 {
        let of_point = |i: usize| {
            let square = |shifts: &[f64]| {
                let at: Vec<f64> = (0..self.variables)
                    .map(|k| made.x[k][i] + shifts[k] * made.x_sigma[k][i])
                    .collect();
                let residual = ((self.value)(&at, params) - made.y[i]) / made.sigma[i];
                residual * residual + shifts.iter().map(|u| u * u).sum::<f64>()
            };
            let reach = square(&vec![0.0; self.variables]).sqrt();
            let side = if self.variables == 1 { 400 } else { 30 };
            let spacing = reach / f64::from(side);
            let along = || (-side..=side).map(|j| f64::from(j) * spacing);
            let mut places: Vec<(f64, Vec<f64>)> = match self.variables {
                1 => along().map(|u| vec![u]).map(|u| (square(&u), u)).collect(),
                _ => along()
                    .flat_map(|u| along().map(move |v| vec![u, v]))
                    .map(|u| (square(&u), u))
                    .collect(),
            };
            places.sort_by(|a, b| a.0.total_cmp(&b.0));
            // One of each neighbourhood.
            let mut kept: Vec<(f64, Vec<f64>)> = Vec::new();
            for place in places {
                let is_near = |other: &(f64, Vec<f64>)| {
                    other.1.iter().zip(&place.1).all(|(a, b)| (a - b).abs() < 20.0 * spacing)
                };
                if kept.len() < 8 && !kept.iter().any(is_near) {
                    kept.push(place);
                }
            }
            let refined = kept.into_iter().map(|(mut lowest, mut at)| {
                let mut step = spacing;
                while step > 1e-10 * reach {
                    let mut moved = false;
                    for turn in 0..12 {
                        let (sine, cosine) = (f64::from(turn) * 0.524).sin_cos();
                        let to: Vec<f64> =
                            at.iter().zip([cosine, sine]).map(|(u, s)| u + s * step).collect();
                        let there = square(&to);
                        if there < lowest {
                            (lowest, at, moved) = (there, to, true);
                        }
                    }
                    if !moved {
                        step *= 0.5;
                    }
                }
                lowest
            });
            refined.fold(f64::INFINITY, f64::min)
        };
        (0..self.points).map(of_point).sum()
    }
}

impl Measured {
    fn data(&self) -> Data<'_> {
        let x: Vec<&[f64]> = self.x.iter().map(Vec::as_slice).collect();
        let x_sigma: Vec<&[f64]> = self.x_sigma.iter().map(Vec::as_slice).collect();
        let data = Data::new(x, &self.y).unwrap().sigma(Sigma::Absolute(&self.sigma)).unwrap();
        data.x_sigma(x_sigma).unwrap()
    }
}

/// Curves that bend within the errors of x. With local minima of the distances about half of the fits of these sines found
/// no step that lowers the cost, and a fifth ended above the sum of squares of the closest points.
#[test]
fn distances_are_those_of_the_closest_points() {
    for (seed, family) in families().into_iter().enumerate() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed as u64);
        let fits = if family.variables == 1 { 20 } else { 5 };
        for number in 0..fits {
            let made = family.draw(&mut random);
            let fit = family.curve.fit(made.data(), &made.truth).unwrap();
            let what = format!("{}, fit {number}", family.name);
            assert!(fit.converged(), "{what}: {fit}");
            let least = family.least(&made, fit.params());
            let excess = fit.chi_square() - least;
            assert!(excess < 1e-6 * least.max(1.0), "{what}: {excess} above {least}");
            // The sum of squares is that of the points that are named.
            let closest = fit.closest(made.data()).unwrap();
            let mut sum = 0.0;
            for i in 0..family.points {
                let at: Vec<f64> = closest.iter().map(|column| column[i]).collect();
                let fitted = (family.value)(&at, fit.params());
                sum += ((fitted - made.y[i]) / made.sigma[i]).powi(2);
                for k in 0..family.variables {
                    sum += ((at[k] - made.x[k][i]) / made.x_sigma[k][i]).powi(2);
                }
            }
            let chi_square = fit.chi_square();
            assert!((sum - chi_square).abs() < 1e-8 * sum, "{what}: {sum} for {chi_square}");
        }
    }
}

/// Batches and joint fits find the same minima of the sine.
#[test]
fn entries_find_the_closest_points() {
    let family = families().swap_remove(0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(99);
    for _ in 0..20 {
        let made = family.draw(&mut random);
        let fit = family.curve.fit(made.data(), &made.truth).unwrap();
        let (x, y) = (&made.x[0], &made.y);
        let batch = BatchData::own(x, y).unwrap().points_per_fit(family.points).unwrap();
        let batch = batch.sigma(Sigma::Constant(family.sigma)).unwrap();
        let x_sigma = [family.x_sigma];
        let batch = batch.x_sigma(&x_sigma).unwrap();
        let batch = family.curve.fit_batch(batch, &made.truth).unwrap();
        let joint = GlobalFit::new(&family.curve).fit([made.data()], &made.truth).unwrap();
        let least = family.least(&made, fit.params());
        let costs = [fit.chi_square(), batch.fit(0).chi_square(), joint.fit().chi_square()];
        for chi_square in costs {
            assert!((chi_square - least).abs() < 1e-6 * least, "{costs:?} for {least}");
        }
    }
}
