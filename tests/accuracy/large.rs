//! A million points: the result uses all of them and is exact to the digits of doubles.
//!
//! The oracle is a Gauss-Newton iteration with hand-written partials and compensated sums.

use dualfit::{CurveFit, Data, Fit, Scalar, Sigma};
use nalgebra::{SMatrix, SVector};

const N: usize = 1_000_000;

fn peak<T: Scalar>(x: T, [a, c, s, d]: [T; 4]) -> T {
    a * (-((x - c) / s).powi(2) / 2.0).exp() + d
}

fn decay<T: Scalar>(x: T, [a, b, c]: [T; 3]) -> T {
    a * (-b * x).exp() + c
}

/// Standard normal numbers, the same on every machine: SplitMix (Steele et al. 2014), Box and Muller.
struct Normals(u64);

impl Normals {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / 2f64.powi(53)
    }

    fn next(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }
}

/// A compensated sum (Neumaier 1974).
#[derive(Clone, Copy, Default)]
struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, v: f64) {
        let next = self.total + v;
        let (large, small) =
            if self.total.abs() >= v.abs() { (self.total, v) } else { (v, self.total) };
        self.lost += (large - next) + small;
        self.total = next;
    }

    fn value(self) -> f64 {
        self.total + self.lost
    }
}

/// Parameters at the minimum, their covariance with unit σ², and the cost.
struct Answer<const P: usize> {
    params: [f64; P],
    inverse: SMatrix<f64, P, P>,
    cost: f64,
}

/// Gauss-Newton from `start`, which is near; `row` gives the value and the partials at x.
fn gauss_newton<const P: usize>(
    x: &[f64],
    y: &[f64],
    start: [f64; P],
    row: impl Fn(f64, &[f64; P]) -> (f64, [f64; P]),
) -> Answer<P> {
    let mut params = start;
    for _ in 0..60 {
        let mut jtj = [[Sum::default(); P]; P];
        let (mut jtr, mut rr) = ([Sum::default(); P], Sum::default());
        for (&x, &y) in x.iter().zip(y) {
            let (value, partials) = row(x, &params);
            let r = value - y;
            rr.add(r * r);
            for i in 0..P {
                jtr[i].add(partials[i] * r);
                for j in i..P {
                    jtj[i][j].add(partials[i] * partials[j]);
                }
            }
        }
        // Columns of unit length, so that the inverse has all its digits.
        let size: [f64; P] = std::array::from_fn(|i| jtj[i][i].value().sqrt());
        let scaled = SMatrix::<f64, P, P>::from_fn(|i, j| {
            jtj[i.min(j)][i.max(j)].value() / (size[i] * size[j])
        });
        let inverse = scaled.try_inverse().expect("a regular matrix");
        let step = inverse * SVector::<f64, P>::from_fn(|i, _| jtr[i].value() / size[i]);
        let mut largest = 0.0f64;
        for i in 0..P {
            let change = step[i] / size[i];
            params[i] -= change;
            largest = largest.max((change / params[i]).abs());
        }
        if largest < 1e-15 {
            let inverse = SMatrix::from_fn(|i, j| inverse[(i, j)] / (size[i] * size[j]));
            return Answer { params, inverse, cost: 0.5 * rr.value() };
        }
    }
    panic!("the oracle does not converge: {params:?}");
}

/// Parameters relative to max(|value|, standard error), the covariance relative to the errors, the cost.
fn assert_answer<const P: usize>(name: &str, fit: &Fit, answer: &Answer<P>, variance: f64) {
    assert!(fit.converged(), "{name}: {}", fit.termination());
    let error = |i: usize| (answer.inverse[(i, i)] * variance).sqrt();
    for i in 0..P {
        let (found, expected) = (fit.params()[i], answer.params[i]);
        let off = (found - expected).abs() / expected.abs().max(error(i));
        println!("{name}: parameter {i} {found} ± {:.2e}, off by {off:.1e}", error(i));
        assert!(off < 1e-9, "{name}: parameter {i} is {found}, not {expected}");
        assert!((found - expected).abs() < 1e-6 * error(i), "{name}: parameter {i}, in errors");
        for j in 0..P {
            let expected = answer.inverse[(i, j)] * variance;
            let off = (fit.covariance()[(i, j)] - expected).abs() / (error(i) * error(j));
            assert!(off < 1e-8, "{name}: covariance ({i}, {j}) off by {off:.1e}");
        }
    }
    // A value of 1e6 rounds to 1e-10, a million residuals of 1 average that to 1e-13 of their squares.
    let off = (fit.cost() / answer.cost - 1.0).abs();
    assert!(off < 1e-12, "{name}: cost off by {off:.1e}");
}

#[test]
fn a_narrow_peak_in_a_million_points_is_found_to_the_last_digits() {
    // Nine points in a million say anything of the peak; the offset comes from all the others.
    let truth = [50.0, 637_211.4, 4.0 / 2.354_820_045, 3.0];
    let mut normals = Normals(1);
    let x: Vec<f64> = (0..N).map(|i| i as f64).collect();
    let y: Vec<f64> = x.iter().map(|&x| peak(x, truth) + normals.next()).collect();
    let start = [30.0, 637_214.0, 3.0, 2.0];
    let answer = gauss_newton(&x, &y, truth, |x, &[a, c, s, d]| {
        let u = (x - c) / s;
        let e = (-0.5 * u * u).exp();
        (a * e + d, [e, a * e * u / s, a * e * u * u / s, 1.0])
    });
    let scatter = 2.0 * answer.cost / (N - 4) as f64;
    let model = CurveFit::new(peak);
    let fit = model.fit(Data::new(&x, &y).unwrap(), start).unwrap();
    assert_answer("peak", &fit, &answer, scatter);
    assert!(fit.evaluations() <= 40, "{}", fit.evaluations());
    // The same with a constant sigma, and with the peak's own neighbourhood in a mask.
    let fit = model.fit(Data::new(&x, &y).unwrap().sigma(Sigma::Constant(0.5)).unwrap(), start);
    let fit = fit.unwrap();
    let scaled = Answer { cost: answer.cost * 4.0, ..answer };
    assert_answer("peak, sigma", &fit, &scaled, 0.25);

    let near: Vec<usize> = (637_011..637_412).collect();
    let (few_x, few_y): (Vec<f64>, Vec<f64>) = near.iter().map(|&i| (x[i], y[i])).unzip();
    let mask: Vec<bool> = (0..N).map(|i| near.contains(&i)).collect();
    let masked = model.fit(Data::new(&x, &y).unwrap().mask(&mask).unwrap(), start).unwrap();
    let few = model.fit(Data::new(&few_x, &few_y).unwrap(), start).unwrap();
    assert_eq!(masked.points(), near.len());
    for i in 0..4 {
        let off = (masked.params()[i] - few.params()[i]).abs() / few.std_errors()[i];
        assert!(off < 1e-9, "masked parameter {i} off by {off:.1e} errors");
    }
    // The neighbourhood knows the peak nearly as well, and the offset much worse.
    for i in 0..3 {
        assert!((few.params()[i] - fit.params()[i]).abs() < few.std_errors()[i]);
    }
    assert!(few.std_errors()[3] > 20.0 * fit.std_errors()[3]);
}

#[test]
fn a_decay_of_a_million_points_recovers_the_truth() {
    let truth = [2.5, 1.3, 0.5];
    let noise = 0.2;
    let mut normals = Normals(7);
    let x: Vec<f64> = (0..N).map(|i| 5.0 * i as f64 / N as f64).collect();
    let y: Vec<f64> = x.iter().map(|&x| decay(x, truth) + noise * normals.next()).collect();
    let answer = gauss_newton(&x, &y, truth, |x, &[a, b, c]| {
        let e = (-b * x).exp();
        (a * e + c, [e, -a * x * e, 1.0])
    });
    let model = CurveFit::new(decay);
    let start = [1.0, 1.0, 0.0];
    let fit = model.fit(Data::new(&x, &y).unwrap(), start).unwrap();
    let scatter = 2.0 * answer.cost / (N - 3) as f64;
    assert_answer("decay", &fit, &answer, scatter);
    for (i, (p, e)) in fit.params().iter().zip(fit.std_errors()).enumerate() {
        assert!((p - truth[i]).abs() < 4.0 * e, "parameter {i}: {p} ± {e}");
    }
    // 1 % of scatter over a million points is 14 standard deviations of its own.
    let found = fit.residual_std_error().unwrap();
    assert!((found / noise - 1.0).abs() < 0.004, "{found}");

    // Relative weights that fall by 100: the same model, another result, still within errors.
    let sigma: Vec<f64> = x.iter().map(|x| noise * (-0.9 * x).exp()).collect();
    let mut normals = Normals(8);
    let y: Vec<f64> = (0..N).map(|i| decay(x[i], truth) + sigma[i] * normals.next()).collect();
    let data = Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap();
    let fit = model.fit(data, start).unwrap();
    assert!(fit.converged());
    for (i, (p, e)) in fit.params().iter().zip(fit.std_errors()).enumerate() {
        assert!((p - truth[i]).abs() < 4.0 * e, "weighted parameter {i}: {p} ± {e}");
    }
    assert!((fit.reduced_chi_square().unwrap() - 1.0).abs() < 0.006);
}

#[test]
fn sums_over_a_million_points_keep_their_digits() {
    // A line on epoch seconds, with an offset a million times its scatter.
    let mut normals = Normals(3);
    let x: Vec<f64> = (0..N).map(|i| 1.7e9 + i as f64).collect();
    let y: Vec<f64> = (0..N).map(|i| 1e6 + 3e-5 * i as f64 + normals.next()).collect();
    let line = CurveFit::new(|x, [a, b]| a + b * (x - 1.7e9));
    let fit = line.fit(Data::new(&x, &y).unwrap(), [0.0, 0.0]).unwrap();
    let centred: Vec<f64> = x.iter().map(|x| x - 1.7e9).collect();
    let answer = gauss_newton(&centred, &y, [1e6, 3e-5], |x, &[a, b]| (a + b * x, [1.0, x]));
    assert_answer("line", &fit, &answer, 2.0 * answer.cost / (N - 2) as f64);
    // Collinear to 3e-4 when the offset is taken at x = 0: six digits of slope are left.
    let raw = CurveFit::new(|x, [a, b]| a + b * x);
    let fit = raw.fit(Data::new(&x, &y).unwrap(), [0.0, 0.0]).unwrap();
    assert!(fit.converged(), "{}", fit.termination());
    let off = (fit.params()[1] / answer.params[1] - 1.0).abs();
    println!("slope on epoch seconds off by {off:.1e}, condition {:.1e}", fit.condition());
    assert!(off < 1e-6, "{off:.1e}");
    let error =
        fit.std_errors()[1] / (2.0 * answer.cost / (N - 2) as f64 * answer.inverse[(1, 1)]).sqrt();
    assert!((error - 1.0).abs() < 1e-6, "{error}");
}
